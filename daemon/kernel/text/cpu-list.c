/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/text/cpu-list.h"

#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "kernel/text/cursor.h"

int cpu_list_parse(Span text, unsigned long ret_mask[static CPU_LIST_MAX_WORDS], size_t *ret_n) {
        Span rest = text;
        size_t n = 0;

        memset(ret_mask, 0, CPU_LIST_MAX_WORDS * sizeof(ret_mask[0]));
        while (rest.n > 0) {
                const char *comma = memchr(rest.bytes, ',', rest.n), *dash;
                size_t n_token = comma ? (size_t) (comma - rest.bytes) : rest.n;
                Span token = text_trim((Span){ rest.bytes, n_token });
                uint32_t first, last;
                size_t n_first;

                rest.bytes += n_token + (comma ? 1 : 0);
                rest.n -= n_token + (comma ? 1 : 0);
                if (token.n == 0)
                        continue;
                /* "3" or "0-3" */
                dash = memchr(token.bytes, '-', token.n);
                n_first = dash ? (size_t) (dash - token.bytes) : token.n;
                if (!number_parse_u32(text_trim((Span){ token.bytes, n_first }), &first))
                        return TEXT_E_MALFORMED;
                last = first;
                if (dash &&
                    !number_parse_u32(text_trim((Span){ dash + 1, token.n - n_first - 1 }), &last))
                        return TEXT_E_MALFORMED;
                if (last >= CPU_LIST_MAX_CPUS || first > last)
                        return TEXT_E_MALFORMED;
                for (uint32_t cpu = first; cpu <= last; cpu++) {
                        unsigned long bit = 1UL << cpu % CPU_LIST_WORD_BITS;

                        n += !(ret_mask[cpu / CPU_LIST_WORD_BITS] & bit);
                        ret_mask[cpu / CPU_LIST_WORD_BITS] |= bit;
                }
        }
        if (n == 0)
                return TEXT_E_MALFORMED;
        *ret_n = n;
        return 0;
}

/* The first CPU at or after @from whose bit is @set; @n_bits when there is none. */
static size_t find_bit(const unsigned long *mask, size_t n_bits, size_t from, bool set) {
        for (size_t word = from / CPU_LIST_WORD_BITS; word * CPU_LIST_WORD_BITS < n_bits; word++) {
                unsigned long bits = set ? mask[word] : ~mask[word];

                if (word == from / CPU_LIST_WORD_BITS)
                        bits &= ~0UL << from % CPU_LIST_WORD_BITS;
                if (bits != 0)
                        return word * CPU_LIST_WORD_BITS + (size_t) __builtin_ctzl(bits);
        }
        return n_bits;
}

int cpu_list_format(const unsigned long *mask, size_t n_words, char *text, size_t size,
                    size_t *ret_chars, size_t *ret_n) {
        size_t n_bits = n_words * CPU_LIST_WORD_BITS, n_chars = 0, n_cpus = 0, end;

        for (size_t first = find_bit(mask, n_bits, 0, true); first < n_bits;
             first = find_bit(mask, n_bits, end, true)) {
                char range[2 * NUMBER_U64_CHARS + 2];
                size_t n = 0;

                end = find_bit(mask, n_bits, first, false);
                if (n_chars > 0)
                        range[n++] = ',';
                n += number_format_u64(first, range + n);
                if (end - first > 1) {
                        range[n++] = '-';
                        n += number_format_u64(end - 1, range + n);
                }
                if (n > size - n_chars)
                        return TEXT_E_TOO_LARGE;
                memcpy(text + n_chars, range, n);
                n_chars += n;
                n_cpus += end - first;
        }
        *ret_chars = n_chars;
        *ret_n = n_cpus;
        return 0;
}
