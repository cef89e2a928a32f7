/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Fixture
 *
 * Files and directories of tests/fixtures, and prefixes of texts in memory of exactly
 * their size, so that reading past the end is seen.
 */

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/span.h"

#define FIXTURE_BYTES (64 * 1024)

static inline int fixture_open(const char *path) {
        char absolute[512];
        int fd;

        (void) snprintf(absolute, sizeof(absolute), "%s/fixtures/%s", TESTS_DIR, path);
        fd = open(absolute, O_RDONLY | O_CLOEXEC);
        ck_assert_msg(fd >= 0, "%s", absolute);
        return fd;
}

/* Owned by the caller; ends with the file. */
static inline Span fixture_read(const char *path) {
        char *bytes = malloc(FIXTURE_BYTES);
        int fd = fixture_open(path);
        ssize_t n;

        ck_assert_ptr_nonnull(bytes);
        n = read(fd, bytes, FIXTURE_BYTES);
        ck_assert_int_ge(n, 0);
        ck_assert_int_lt(n, FIXTURE_BYTES);
        (void) close(fd);
        bytes = realloc(bytes, n > 0 ? (size_t) n : 1);
        ck_assert_ptr_nonnull(bytes);
        return (Span){ bytes, (size_t) n };
}

/* The first @n bytes of @text, owned by the caller. */
static inline Span fixture_prefix(Span text, size_t n) {
        char *bytes = malloc(n > 0 ? n : 1);

        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, text.bytes, n);
        return (Span){ bytes, n };
}

static inline void fixture_free(Span text) {
        free((void *) (size_t) text.bytes);
}
