/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Temporary
 *
 * A directory for one test, gone with what is in it when the test is done.
 */

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/macro.h"

#define TEMPORARY_PATH_BYTES 256

typedef struct Temporary {
        char path[64];
} Temporary;

static inline void temporary_init(Temporary *temporary) {
        (void) snprintf(temporary->path, sizeof(temporary->path), "/tmp/ctprof-unit-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(temporary->path));
}

static inline int temporary_remove(const char *path, const struct stat *st, int flag,
                                   struct FTW *walk) {
        return remove(path);
}

static inline void temporary_done(Temporary *temporary) {
        (void) nftw(temporary->path, temporary_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* @ret: the path of @name in it. */
static inline const char *temporary_path(const Temporary *temporary, const char *name,
                                         char ret[static TEMPORARY_PATH_BYTES]) {
        (void) snprintf(ret, TEMPORARY_PATH_BYTES, "%s/%s", temporary->path, name);
        return ret;
}
