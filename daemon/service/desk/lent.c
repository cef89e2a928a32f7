/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/desk/lent.h"

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
#include "base/clock.h"
#include "base/err.h"
#include "wire/limits.h"

#define CHECK_INTERVAL_US 500000
#define CHECK_ACCURACY_US 250000
/* A file counts for this long if the kernel gives no leases. */
#define UNKNOWN_NS (60 * NSEC_PER_SEC)

typedef struct LentFile {
        int fd; /* writable, and an open file of its own: the reader has another */
        Charge charge;
        uint64_t since_ns; /* CLOCK_MONOTONIC */
} LentFile;

struct Lent {
        Users *users; /* borrowed */
        LentFile *files;
        size_t n_files, n_allocated;
        sd_event_source *timer; /* runs while there are files */
};

/*
 * The kernel grants the lease when nobody else has the file open or mapped. A descriptor of O_PATH
 * does not count for it, but keeps the file in memory and can be opened again, so its bytes are
 * freed here: who opens it later finds it empty, and until then the lease makes them wait. The
 * signal about that would end this process, so it is one that is ignored.
 */
void lent_take_back(Lent *lent) {
        for (size_t i = lent->n_files; i-- > 0;) {
                LentFile *file = &lent->files[i];

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
                *file = lent->files[--lent->n_files];
        }
}

static void arm(Lent *lent) {
        if (lent->n_files == 0)
                return;
        (void) sd_event_source_set_time_relative(lent->timer, CHECK_INTERVAL_US);
        (void) sd_event_source_set_enabled(lent->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata) {
        Lent *lent = userdata;

        lent_take_back(lent);
        arm(lent);
        return 0;
}

int lent_new(sd_event *event, Users *users, Lent **ret) {
        _cleanup_(lent_freep) Lent *lent = calloc(1, sizeof(*lent));
        int r;

        if (!lent)
                return -ENOMEM;
        lent->users = users;
        r = sd_event_add_time_relative(event, &lent->timer, CLOCK_MONOTONIC, 0, CHECK_ACCURACY_US,
                                       on_timer, lent);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(lent->timer, "lent-files");
        (void) sd_event_source_set_enabled(lent->timer, SD_EVENT_OFF);
        *ret = TAKE_PTR(lent);
        return 0;
}

Lent *lent_free(Lent *lent) {
        if (!lent)
                return NULL;
        lent_take_back(lent); /* the kernel does not free what an O_PATH descriptor keeps */
        sd_event_source_disable_unref(lent->timer);
        for (size_t i = 0; i < lent->n_files; i++) {
                charge_end(&lent->files[i].charge);
                (void) fd_close(lent->files[i].fd);
        }
        free(lent->files);
        free(lent);
        return NULL;
}

int lent_file_new(int *ret) {
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

int lent_add(Lent *lent, int file, uid_t uid) {
        _cleanup_(fd_closep) int fd = -EBADF;
        Charge charge = {};
        char path[64];
        struct stat st;
        int r;

        r = ARRAY_RESERVE(lent->files, lent->n_allocated, lent->n_files + 1);
        if (r < 0)
                return r;
        /* F_SEAL_SHRINK would keep us, too, from freeing it. */
        if (fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL) < 0)
                return -errno;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        r = charge_begin(&charge, lent->users, uid, USE_LENT,
                         MAX_OF((uint64_t) st.st_blocks * 512, (uint64_t) LIMIT_LENT_LEAST_BYTES));
        if (r < 0)
                return r;
        lent->files[lent->n_files++] = (LentFile){
                .fd = TAKE_FD(fd),
                .charge = charge,
                .since_ns = clock_now_ns(CLOCK_MONOTONIC),
        };
        arm(lent);
        return 0;
}
