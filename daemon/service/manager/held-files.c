/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/manager/held-files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "job/descriptor/timer.h"
#include "wire/limits.h"

#define CHECK_INTERVAL_NS (500 * NSEC_PER_MSEC)
#define CHECK_ACCURACY_US 250000
/* A file counts for this long if the kernel gives no leases. */
#define UNKNOWN_NS (60 * NSEC_PER_SEC)

/*
 * The kernel grants the lease when nobody else has the file open or mapped. A descriptor of O_PATH
 * does not count for it, but keeps the file in memory and can be opened again, so its bytes are
 * freed here: who opens it later finds it empty, and until then the lease makes them wait. The
 * signal about that would end this process, so it is one that is ignored.
 */
void held_files_take_back(HeldFiles *held) {
        for (size_t i = held->n_files; i-- > 0;) {
                HeldFile *file = &held->files[i];

                (void) fcntl(file->fd, F_SETSIG, SIGURG);
                if (fcntl(file->fd, F_SETLEASE, F_WRLCK) == 0) {
                        if (ftruncate(file->fd, 0) < 0)
                                continue;
                } else if (errno == EAGAIN ||
                           clock_now_ns(CLOCK_MONOTONIC) - file->since_ns <= UNKNOWN_NS) {
                        continue;
                }
                charge_end(&file->charge);
                (void) fd_close(file->fd);
                *file = held->files[--held->n_files];
        }
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata) {
        HeldFiles *held = userdata;

        held_files_take_back(held);
        if (held->n_files > 0)
                timer_start(source, CHECK_INTERVAL_NS);
        return 0;
}

int held_files_init(HeldFiles *held, sd_event *event, Users *users) {
        *held = (HeldFiles){ .users = users };
        return timer_new(event, &held->timer, "lent-files", CHECK_ACCURACY_US, on_timer, held);
}

void held_files_done(HeldFiles *held) {
        held_files_take_back(held); /* the kernel does not free what an O_PATH descriptor keeps */
        sd_event_source_disable_unref(held->timer);
        for (size_t i = 0; i < held->n_files; i++) {
                charge_end(&held->files[i].charge);
                (void) fd_close(held->files[i].fd);
        }
        free(held->files);
}

int held_file_new(int *ret) {
        int fd = memfd_create("ctprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0)
                return -errno;
        /* Otherwise everybody could open it to write, and so make it shorter. */
        if (fchmod(fd, 0644) < 0) {
                int r = -errno;

                (void) fd_close(fd);
                return r;
        }
        *ret = fd;
        return 0;
}

int held_files_add(HeldFiles *held, int file, uid_t uid) {
        _cleanup_(fd_closep) int fd = -EBADF;
        Charge charge = {};
        char path[64];
        struct stat st;
        int r;

        r = ARRAY_RESERVE(held->files, held->n_allocated, held->n_files + 1);
        if (r < 0)
                return r;
        /* F_SEAL_SHRINK would keep us, too, from freeing it. */
        if (fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL) < 0)
                return -errno;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        r = charge_begin(&charge, held->users, uid, USE_HELD,
                         MAX_OF((uint64_t) st.st_blocks * 512, (uint64_t) LIMIT_HELD_LEAST_BYTES));
        if (r < 0)
                return r;
        held->files[held->n_files++] = (HeldFile){
                .fd = TAKE_FD(fd),
                .charge = charge,
                .since_ns = clock_now_ns(CLOCK_MONOTONIC),
        };
        timer_start(held->timer, CHECK_INTERVAL_NS);
        return 0;
}
