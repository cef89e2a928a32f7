/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/kernel-cmdline.h"

#include <strings.h>

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\n';
}

/* The next word with its quotes, and the blanks before it in *ret_gap. False after the last. */
static bool next_word(Span *rest, Span *ret_gap, Span *ret_word) {
        bool quoted = false;
        size_t start = 0, end;

        while (start < rest->n && is_blank(rest->bytes[start]))
                start++;
        for (end = start; end < rest->n && (quoted || !is_blank(rest->bytes[end])); end++)
                if (rest->bytes[end] == '"')
                        quoted = !quoted;

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

static bool is_at(Span text, size_t offset, const char *word) {
        size_t n = strlen(word);

        return n <= text.n - offset && strncasecmp(text.bytes + offset, word, n) == 0;
}

static bool is_secret(Span key) {
        static const char *const words[] = { "passw", "passphrase", "secret", "token",
                                             "credential" };

        for (size_t offset = 0; offset < key.n; offset++)
                for (size_t i = 0; i < ELEMENTSOF(words); i++)
                        if (is_at(key, offset, words[i]))
                                return true;
        return key.n >= 3 && is_at(key, key.n - 3, "key");
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
