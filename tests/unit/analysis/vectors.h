/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Vectors
 *
 * Lines of a file of tests/data, without the comment on top.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"

/* Calls @check for every line; returns how many there were. */
static inline unsigned vectors_each(const char *file, void (*check)(const char *line)) {
        char path[4096], *line = NULL;
        size_t n_allocated = 0;
        unsigned n_lines = 0;
        FILE *stream;

        (void) snprintf(path, sizeof(path), "%s/data/%s", TESTS_DIR, file);
        stream = fopen(path, "re");
        ck_assert_msg(stream != NULL, "%s: %m", path);
        while (getline(&line, &n_allocated, stream) > 0) {
                line[strcspn(line, "\n")] = '\0';
                if (n_lines++ > 0) /* the first line names the columns */
                        check(line);
        }
        free(line);
        (void) fclose(stream);
        return n_lines - 1;
}

/* "<empty>" stands for no bytes at all. */
static inline Span vectors_word(const char *begin, size_t n) {
        Span word = { begin, n };

        return span_is(word, "<empty>") ? (Span){ begin, 0 } : word;
}
