/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/name.h"

#include <stdbool.h>
#include <string.h>

#include "base/number.h"

const char *snapshot_name_complaint(Span name) {
        if (name.n == 0)
                return "is empty";
        if (name.n > SNAPSHOT_NAME_MAX_CHARS)
                return "is longer than 64 characters";
        if (name.bytes[0] == '.')
                return "starts with a dot";
        if (name.bytes[0] == '-')
                return "starts with a dash";
        for (size_t i = 0; i < name.n; i++) {
                char c = name.bytes[i];

                if (c == '/')
                        return "contains a slash";
                if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
                    c != '.' && c != '_' && c != '-')
                        return "has a character other than A-Z a-z 0-9 . _ -";
        }
        if (span_is(name, "latest"))
                return "is reserved for the newest snapshot";
        if (name.n >= 4 && memcmp(name.bytes + name.n - 4, ".zst", 4) == 0)
                return "ends in .zst, which marks a file";
        return NULL;
}

const char *snapshot_name_new_complaint(Span name) {
        const char *complaint = snapshot_name_complaint(name);

        if (complaint)
                return complaint;
        if (memmem(name.bytes, name.n, "..", 2))
                return "contains \"..\", which stands between the two snapshots of an interval";
        return name.bytes[name.n - 1] == '.' ? "ends in a dot" : NULL;
}

bool snapshot_name_is_relative(Span text, uint64_t *ret_back) {
        const Span latest = SPAN_LITERAL("latest");
        Span number;

        if (text.n < latest.n || memcmp(text.bytes, latest.bytes, latest.n) != 0)
                return false;
        if (text.n == latest.n) {
                *ret_back = 0;
                return true;
        }
        number = (Span){ text.bytes + latest.n + 1, text.n - latest.n - 1 };
        if (text.bytes[latest.n] != '~' || number.n == 0 ||
            (number.bytes[0] == '0' && number.n > 1))
                return false;
        for (size_t i = 0; i < number.n; i++)
                if (number.bytes[i] < '0' || number.bytes[i] > '9')
                        return false;
        if (!number_parse_u64(number, ret_back))
                *ret_back = UINT64_MAX;
        return true;
}

bool snapshot_name_is_file(const char *text) {
        size_t n = strlen(text);

        return strchr(text, '/') || (n >= 4 && strcmp(text + n - 4, ".zst") == 0);
}

Span snapshot_name_of_path(const char *path) {
        static const char *const suffixes[] = { SNAPSHOT_FILE_SUFFIX, ".zst" };
        const char *slash = strrchr(path, '/');
        Span base = span_of(slash ? slash + 1 : path);

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                size_t n = strlen(suffixes[i]);

                if (base.n >= n && memcmp(base.bytes + base.n - n, suffixes[i], n) == 0)
                        return (Span){ base.bytes, base.n > n ? base.n - n : base.n };
        }
        return base;
}

unsigned name_find(Span name, const char *const *names, unsigned n_names) {
        unsigned i = 0;

        while (i < n_names && !span_is(name, names[i]))
                i++;
        return i;
}

size_t utf8_character(Span text) {
        const unsigned char *b = (const unsigned char *) text.bytes;
        unsigned char low = 0x80, high = 0xbf;
        size_t n;

        if (text.n == 0)
                return 0;
        if (b[0] < 0x80)
                return 1;
        if (b[0] >= 0xc2 && b[0] <= 0xdf)
                n = 2;
        else if (b[0] >= 0xe0 && b[0] <= 0xef)
                n = 3;
        else if (b[0] >= 0xf0 && b[0] <= 0xf4)
                n = 4;
        else
                return 0;

        /*
         * The second byte carries the limits: no overlong form, no surrogate, nothing past
         * U+10FFFF.
         */
        if (b[0] == 0xe0)
                low = 0xa0;
        else if (b[0] == 0xed)
                high = 0x9f;
        else if (b[0] == 0xf0)
                low = 0x90;
        else if (b[0] == 0xf4)
                high = 0x8f;
        if (text.n < n || b[1] < low || b[1] > high)
                return 0;
        for (size_t i = 2; i < n; i++)
                if (b[i] < 0x80 || b[i] > 0xbf)
                        return 0;
        return n;
}

uint32_t utf8_code(Span character) {
        static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        const unsigned char *b = (const unsigned char *) character.bytes;
        uint32_t code = b[0] & masks[character.n];

        for (size_t i = 1; i < character.n; i++)
                code = code << 6 | (b[i] & 0x3f);
        return code;
}

bool utf8_is_valid(Span text) {
        while (text.n > 0) {
                size_t n = utf8_character(text);

                if (n == 0)
                        return false;
                text = (Span){ text.bytes + n, text.n - n };
        }
        return true;
}

/* U+EF00..U+EFFF is EE BC 80 .. EE BF BF. */
static bool is_escape_range(const char *bytes) {
        const unsigned char *b = (const unsigned char *) bytes;

        return b[0] == 0xee && b[1] >= 0xbc && b[1] <= 0xbf;
}

int name_escape_byte(Buffer *buffer, unsigned char byte) {
        const unsigned char encoded[] = { 0xee, 0xbc | byte >> 6, 0x80 | (byte & 0x3f) };

        return buffer_append(buffer, encoded, sizeof(encoded));
}

int name_escape(Buffer *buffer, Span bytes) {
        while (bytes.n > 0 && buffer_failure(buffer) == 0) {
                size_t n = utf8_character(bytes), plain = 0;

                /* Runs of ordinary characters go in one append: nearly every name is one. */
                while (n > 0 && !(n == 3 && is_escape_range(bytes.bytes + plain))) {
                        plain += n;
                        n = utf8_character((Span){ bytes.bytes + plain, bytes.n - plain });
                }
                buffer_append(buffer, bytes.bytes, plain);
                bytes = (Span){ bytes.bytes + plain, bytes.n - plain };
                if (bytes.n == 0)
                        break;

                n = n == 0 ? 1 : n;
                for (size_t i = 0; i < n; i++)
                        name_escape_byte(buffer, (unsigned char) bytes.bytes[i]);
                bytes = (Span){ bytes.bytes + n, bytes.n - n };
        }
        return buffer_failure(buffer);
}

int name_escape_controls(Buffer *buffer, Span bytes) {
        size_t run = 0;
        int r = 0;

        for (size_t i = 0; i < bytes.n && r == 0; i++) {
                unsigned char byte = (unsigned char) bytes.bytes[i];

                if (byte >= 0x20 && byte != 0x7f)
                        continue;
                r = name_escape(buffer, (Span){ bytes.bytes + run, i - run });
                name_escape_byte(buffer, byte);
                run = i + 1;
        }
        return r == 0 ? name_escape(buffer, (Span){ bytes.bytes + run, bytes.n - run }) : r;
}

static int unescape(Buffer *buffer, Span text, bool controls) {
        while (text.n > 0 && buffer_failure(buffer) == 0) {
                const unsigned char *b = (const unsigned char *) text.bytes;
                size_t n = utf8_character(text);
                unsigned char byte = 0;

                /* The escaped byte is the low eight bits of the code point. */
                if (n == 3 && is_escape_range(text.bytes))
                        byte = (unsigned char) ((b[1] & 0x03) << 6 | (b[2] & 0x3f));
                n = n == 0 ? 1 : n;
                if (byte >= 0x80 || (byte != 0 && controls && (byte < 0x20 || byte == 0x7f)))
                        buffer_append_byte(buffer, (char) byte);
                else
                        buffer_append(buffer, text.bytes, n);
                text = (Span){ text.bytes + n, text.n - n };
        }
        return buffer_failure(buffer);
}

int name_unescape(Buffer *buffer, Span text) {
        return unescape(buffer, text, false);
}

int name_unescape_controls(Buffer *buffer, Span text) {
        return unescape(buffer, text, true);
}

/*
 * Control characters, what turns or annotates text, and all that Unicode calls
 * Default_Ignorable_Code_Point, which fonts show as nothing.
 */
static const struct {
        uint32_t first, last;
} ranges[] = {
        { 0x0000, 0x001f },   /* C0 */
        { 0x007f, 0x009f },   /* DEL, C1 */
        { 0x00ad, 0x00ad },   /* soft hyphen */
        { 0x034f, 0x034f },   /* grapheme joiner */
        { 0x061c, 0x061c },   /* Arabic letter mark */
        { 0x115f, 0x1160 },   /* Hangul fillers */
        { 0x17b4, 0x17b5 },   /* Khmer vowels that are not shown */
        { 0x180b, 0x180f },   /* Mongolian variation selectors and vowel separator */
        { 0x200b, 0x200f },   /* zero widths, direction marks */
        { 0x2028, 0x202e },   /* line and paragraph separators, embeddings and overrides */
        { 0x2060, 0x206f },   /* joiners, isolates, shaping */
        { 0x3164, 0x3164 },   /* Hangul filler */
        { 0xfe00, 0xfe0f },   /* variation selectors */
        { 0xfeff, 0xfeff },   /* byte order mark */
        { 0xffa0, 0xffa0 },   /* halfwidth Hangul filler */
        { 0xfff0, 0xfffb },   /* reserved, annotations */
        { 0x1bca0, 0x1bca3 }, /* shorthand controls */
        { 0x1d173, 0x1d17a }, /* musical controls */
        { 0xe0000, 0xe0fff }, /* tags, variation selectors */
};

/* The first bytes of these in UTF-8: nearly all text is passed by without decoding it. */
// clang-format off
static const bool leads[256] = {
        [0x00 ... 0x1f] = true, [0x7f] = true, [0xc2] = true, [0xcd] = true,
        [0xd8] = true, [0xe1 ... 0xe3] = true, [0xef] = true, [0xf0] = true, [0xf3] = true,
};
// clang-format on

size_t hidden_character(Span text, uint32_t *ret_code) {
        uint32_t code;
        size_t n;

        if (text.n == 0 || !leads[(unsigned char) text.bytes[0]])
                return 0;
        n = utf8_character(text);
        if (n == 0)
                return 0;
        code = utf8_code((Span){ text.bytes, n });
        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                if (code >= ranges[i].first && code <= ranges[i].last) {
                        if (ret_code)
                                *ret_code = code;
                        return n;
                }
        return 0;
}
