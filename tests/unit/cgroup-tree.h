/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* A directory that a test has laid out like a hierarchy of cgroups. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "kernel/cgroupfs/cgroupfs.h"

/* @dir_fd stays the caller's. */
static inline int cgroupfs_open_directory(int dir_fd, Cgroupfs **ret) {
        *ret = malloc(sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        **ret = (Cgroupfs){ .root_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3), .root = "/" };
        return (*ret)->root_fd < 0 ? -errno : 0;
}
