/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view-words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int view_complain(char *ret_complaint, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(ret_complaint, VIEW_COMPLAINT_BYTES, format, arguments);
        va_end(arguments);
        return VIEW_E_INVALID;
}

/* Makes a word from outside safe to print: cut, and without bytes that a terminal would obey. */
const char *view_quote(Span word, char ret_quoted[static VIEW_QUOTED_BYTES]) {
        size_t n = MIN_OF(word.n, (size_t) VIEW_QUOTED_CHARS);

        for (size_t i = 0; i < n; i++)
                ret_quoted[i] = word.bytes[i] >= ' ' && word.bytes[i] <= '~' ? word.bytes[i] : '?';
        (void) snprintf(ret_quoted + n, 4, "%s", n < word.n ? "..." : "");
        return ret_quoted;
}

int view_complain_unknown(char *ret_complaint, const char *noun, Span word, const char *nearest,
                          const char *valid) {
        char quoted[VIEW_QUOTED_BYTES];

        return view_complain(ret_complaint, "Unknown %s \"%s\"%s%s%s Valid are %s.", noun,
                             view_quote(word, quoted), nearest ? ", did you mean \"" : ".",
                             nearest ? nearest : "", nearest ? "\"?" : "", valid);
}

Span view_trim(Span word) {
        while (word.n > 0 && (word.bytes[0] == ' ' || word.bytes[0] == '\t'))
                word = (Span){ word.bytes + 1, word.n - 1 };
        while (word.n > 0 && (word.bytes[word.n - 1] == ' ' || word.bytes[word.n - 1] == '\t'))
                word.n--;
        return word;
}

/* After the last entry @rest has no bytes pointer: an empty rest is one more, empty entry. */
bool view_next_entry(Span *rest, Span *ret) {
        const char *comma;

        if (!rest->bytes)
                return false;
        comma = memchr(rest->bytes, ',', rest->n);
        if (!comma) {
                *ret = view_trim(*rest);
                rest->bytes = NULL;
                return true;
        }
        *ret = view_trim((Span){ rest->bytes, (size_t) (comma - rest->bytes) });
        *rest = (Span){ comma + 1, rest->n - (size_t) (comma - rest->bytes) - 1 };
        return true;
}

/* All names are lower-case: folding the word makes the comparison ignore case. */
Span view_fold_case(Span word, char ret_folded[static VIEW_WORD_CHARS]) {
        if (word.n > VIEW_WORD_CHARS)
                return word;
        for (size_t i = 0; i < word.n; i++)
                ret_folded[i] = word.bytes[i] >= 'A' && word.bytes[i] <= 'Z'
                                        ? (char) (word.bytes[i] - 'A' + 'a')
                                        : word.bytes[i];
        return (Span){ ret_folded, word.n };
}
