/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolStamp
 *
 * The state of the spool's directory: every file that is added to it, renamed or removed changes
 * the stamp. Two changes within one tick of the kernel's clock may share one.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "base/macro.h"

typedef struct SpoolStamp {
        uint64_t device, inode;
        uint64_t change_ns; /* st_ctim */
} SpoolStamp;

/* @ret is set in any case. */
_must_check_ static inline int spool_stamp_read(int dir_fd, SpoolStamp *ret) {
        struct stat st;

        *ret = (SpoolStamp){};
        if (fstat(dir_fd, &st) < 0)
                return -errno;
        *ret = (SpoolStamp){
                .device = st.st_dev,
                .inode = st.st_ino,
                .change_ns =
                        (uint64_t) st.st_ctim.tv_sec * NSEC_PER_SEC + (uint64_t) st.st_ctim.tv_nsec,
        };
        return 0;
}

static inline bool spool_stamp_equal(const SpoolStamp *a, const SpoolStamp *b) {
        return a->device == b->device && a->inode == b->inode && a->change_ns == b->change_ns;
}
