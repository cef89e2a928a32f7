/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/kernel-cmdline.h"

#include <strings.h>

/* The next word with its quotes, and the blanks before it in *ret_gap. False after the last. */
static bool next_word(Span *rest, Span *ret_gap, Span *ret_word) {
        static const char blanks[] = { ' ', '\t', '\n' };
        bool quoted = false;
        size_t start = 0, end;

        while (start < rest->n && memchr(blanks, rest->bytes[start], sizeof(blanks)))
                start++;
        for (end = start; end < rest->n; end++) {
                if (!quoted && memchr(blanks, rest->bytes[end], sizeof(blanks)))
                        break;
                quoted ^= rest->bytes[end] == '"';
        }

        *ret_gap = (Span){ rest->bytes, start };
        *ret_word = (Span){ rest->bytes + start, end - start };
        *rest = (Span){ rest->bytes + end, rest->n - end };
        return end > start;
}

/* The word up to its equals sign, or all of it, without an opening quote. */
static Span word_key(Span word) {
        const char *sign = memchr(word.bytes, '=', word.n);
        Span key = word;

        if (sign)
                key.n = (size_t) (sign - word.bytes);
        if (key.n > 0 && key.bytes[0] == '"') {
                key.bytes++;
                key.n--;
        }
        return key;
}

bool kernel_cmdline_has(Span text, const char *option) {
        Span gap, word;

        while (next_word(&text, &gap, &word)) {
                if (span_is(word, "--"))
                        return false;
                if (span_is(word_key(word), option))
                        return true;
        }
        return false;
}

static bool is_secret(Span key) {
        static const struct {
                Span word;
                bool is_end; /* of the key */
        } rows[] = {
                { SPAN_LITERAL("passw"), false },  { SPAN_LITERAL("passphrase"), false },
                { SPAN_LITERAL("secret"), false }, { SPAN_LITERAL("token"), false },
                { SPAN_LITERAL("key"), true },     { SPAN_LITERAL("credential"), false },
        };

        for (; key.n > 0; key.bytes++, key.n--)
                for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                        if (rows[i].word.n <= key.n &&
                            (!rows[i].is_end || rows[i].word.n == key.n) &&
                            strncasecmp(key.bytes, rows[i].word.bytes, rows[i].word.n) == 0)
                                return true;
        return false;
}

int kernel_cmdline_redact(Span text, Buffer *buffer) {
        Span gap, word;

        while (next_word(&text, &gap, &word)) {
                const char *sign = memchr(word.bytes, '=', word.n);
                bool is_quoted = false;

                (void) buffer_append(buffer, gap.bytes, gap.n);
                if (!sign || !is_secret(word_key(word))) {
                        (void) buffer_append(buffer, word.bytes, word.n);
                        continue;
                }
                word.n = (size_t) (sign + 1 - word.bytes);
                (void) buffer_append(buffer, word.bytes, word.n);
                for (size_t i = 0; i < word.n; i++)
                        is_quoted ^= word.bytes[i] == '"';
                /* A quote before the value is closed, or it would join the words after it. */
                (void) buffer_append_text(buffer, is_quoted ? "***\"" : "***");
        }
        return buffer_append(buffer, gap.bytes, gap.n);
}
