/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/desk/hung.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/vault.h"
#include "job/workshop.h"
#include "wire/limits.h"

#define FILE_NAME "hung-processes" /* in the vault */
#define MAX_OF_JOB 8u

struct Hung {
        int fd; /* owned: the rows, with zeros behind them; negative: they are in memory only */
        size_t n;
        HungProcess rows[LIMIT_HUNG_PROCESSES];
};

/* the file */

static int new_file(void) {
        const off_t n_bytes = (off_t) sizeof(((Hung *) NULL)->rows);
        _cleanup_(fd_closep) int fd = memfd_create("ctprof-hung", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || fchmod(fd, 0600) < 0 || ftruncate(fd, n_bytes) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* A daemon that cannot write it remembers for as long as it lives. */
static void store(Hung *hung) {
        memset(hung->rows + hung->n, 0, sizeof(hung->rows) - hung->n * sizeof(*hung->rows));
        if (hung->fd >= 0)
                (void) !pwrite(hung->fd, hung->rows, sizeof(hung->rows), 0);
}

/* Reads the rows of an earlier daemon. Its jobs are not ours, and nobody tells if they hang. */
static void load(Hung *hung) {
        uint64_t over_ns = clock_now_ns(CLOCK_BOOTTIME);

        if (pread(hung->fd, hung->rows, sizeof(hung->rows), 0) != (ssize_t) sizeof(hung->rows))
                return;
        while (hung->n < ELEMENTSOF(hung->rows) && hung->rows[hung->n].tgid != 0) {
                HungProcess *row = &hung->rows[hung->n++];

                if (row->state != HUNG_OVER)
                        row->over_boottime_ns = over_ns;
                row->state = HUNG_OVER;
                row->job = 0;
        }
}

int hung_new(Vault *vault, Hung **ret) {
        Hung *hung = calloc(1, sizeof(*hung));

        if (!hung)
                return -ENOMEM;
        hung->fd = vault_lend(vault, FILE_NAME);
        if (hung->fd >= 0)
                load(hung);
        else {
                hung->fd = new_file();
                if (hung->fd >= 0)
                        (void) !vault_put(vault, FILE_NAME, hung->fd);
        }
        *ret = hung;
        return 0;
}

Hung *hung_free(Hung *hung) {
        if (!hung)
                return NULL;
        hung->fd = fd_close(hung->fd);
        free(hung);
        return NULL;
}

/* rows */

static void forget(Hung *hung, size_t i) {
        memmove(&hung->rows[i], &hung->rows[i + 1], (hung->n - i - 1) * sizeof(*hung->rows));
        hung->n--;
}

/* The one that has been over for the longest time makes room. */
static bool make_room(Hung *hung) {
        size_t oldest = hung->n;

        if (hung->n < ELEMENTSOF(hung->rows))
                return true;
        for (size_t i = 0; i < hung->n; i++)
                if (hung->rows[i].state == HUNG_OVER &&
                    (oldest == hung->n ||
                     hung->rows[i].over_boottime_ns < hung->rows[oldest].over_boottime_ns))
                        oldest = i;
        if (oldest == hung->n)
                return false;
        forget(hung, oldest);
        return true;
}

void hung_add(Hung *hung, pid_t job, uint32_t tgid, uint64_t start_ticks, uint32_t owner) {
        size_t n_of_job = 0;

        for (size_t i = 0; i < hung->n; i++)
                n_of_job += hung->rows[i].job == job;
        if (tgid == 0 || n_of_job >= MAX_OF_JOB || !make_room(hung))
                return;
        hung->rows[hung->n++] = (HungProcess){
                .start_ticks = start_ticks,
                .since_realtime_ns = clock_now_ns(CLOCK_REALTIME),
                .tgid = tgid,
                .owner = owner,
                .job = job,
                .state = HUNG_SUSPECT,
        };
        store(hung);
}

/* False when it is to be forgotten. */
static bool follow(HungProcess *row, const Workshop *workshop) {
        bool is_stuck, is_there = workshop_look(workshop, row->job, &is_stuck);

        if (!is_there && row->state == HUNG_SUSPECT)
                return false;
        if (!is_there) {
                row->state = HUNG_OVER;
                row->over_boottime_ns = clock_now_ns(CLOCK_BOOTTIME);
                row->job = 0;
        } else if (is_stuck) {
                row->state = HUNG_NOW;
        }
        return true;
}

void hung_follow(Hung *hung, const Workshop *workshop) {
        if (hung->n == 0)
                return;
        for (size_t i = hung->n; i-- > 0;)
                if (hung->rows[i].state != HUNG_OVER && !follow(&hung->rows[i], workshop))
                        forget(hung, i);
        store(hung);
}

/* use */

static size_t count_of(const Hung *hung, uint32_t owner, uint64_t at_boottime_ns) {
        size_t n = 0;

        for (size_t i = 0; i < hung->n; i++) {
                const HungProcess *row = &hung->rows[i];

                n += row->owner == owner &&
                     (row->state != HUNG_OVER ||
                      at_boottime_ns - row->over_boottime_ns < HUNG_BARRED_NS);
        }
        return n;
}

size_t hung_get_barred(const Hung *hung, uint32_t *ret_owners, size_t n) {
        uint64_t at_ns = clock_now_ns(CLOCK_BOOTTIME);
        size_t n_owners = 0;

        for (size_t i = 0; i < hung->n && n_owners < n; i++) {
                uint32_t owner = hung->rows[i].owner;
                bool is_new = true;

                for (size_t k = 0; k < n_owners; k++)
                        is_new &= ret_owners[k] != owner;
                if (is_new && count_of(hung, owner, at_ns) >= HUNG_READS_TO_BAR)
                        ret_owners[n_owners++] = owner;
        }
        return n_owners;
}

void hung_add_to_order(const Hung *hung, MemoryOrder *order) {
        order->n_barred =
                (uint32_t) hung_get_barred(hung, order->barred, ELEMENTSOF(order->barred));
        order->n_hung = (uint32_t) hung->n;
        for (size_t i = 0; i < hung->n; i++)
                order->hung[i] = (OrderLife){ .start_ticks = hung->rows[i].start_ticks,
                                              .tgid = hung->rows[i].tgid };
}

const HungProcess *hung_next_of(const Hung *hung, pid_t job, size_t *at) {
        while (*at < hung->n) {
                const HungProcess *row = &hung->rows[(*at)++];

                if (row->job == job)
                        return row;
        }
        return NULL;
}
