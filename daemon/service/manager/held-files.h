/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeldFiles
 *
 * Files in memory that callers were given a descriptor of: conversions, and captures that nobody
 * named. Their memory is ours for as long as anybody has them open, so until then their bytes count
 * for the user who asked. The kernel tells when they are returned: it refuses a lease for writing
 * on a file that somebody else has open or mapped (fcntl(2)). Then they are made empty, because a
 * descriptor of O_PATH may still keep them.
 */

#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/macro.h"
#include "user/user.h"

typedef struct HeldFile {
        int fd; /* writable, and an open file of its own: the reader has another */
        Charge charge;
        uint64_t since_ns; /* CLOCK_MONOTONIC */
} HeldFile;

typedef struct HeldFiles {
        Users *users; /* borrowed */
        HeldFile *files;
        size_t n_files, n_allocated;
        sd_event_source *timer; /* runs while there are files */
} HeldFiles;

/* @users is borrowed. @held may be done also when this fails, or when it is all zeros. */
_must_check_ int held_files_init(HeldFiles *held, sd_event *event, Users *users);
void held_files_done(HeldFiles *held);

/* An empty file in memory, writable, close-on-exec. Other users can open it only to read. */
_must_check_ int held_file_new(int *ret);
/*
 * Seals @file, which is borrowed and written, and counts it for @uid until only this process has it
 * open; then frees its bytes. Its reader has to have it open already, for reading only and by an
 * open file of its own, and finds it unchanged as long as that is open or mapped: nobody can write
 * or make it longer, and only root and the user of this process could make it shorter.
 */
_must_check_ int held_files_add(HeldFiles *held, int file, uid_t uid);
/* Ends the charges of files that were returned, which otherwise happens soon. */
void held_files_take_back(HeldFiles *held);
