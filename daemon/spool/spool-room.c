/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macro.h"
#include "base/number.h"
#include "spool/spool-directory.h"

#define DEFAULT_MAX_BYTES (UINT64_C(4) << 30)
#define DEFAULT_KEEP_FREE_BYTES (UINT64_C(4) << 30)
#define DEFAULT_MAX_PERCENT 10
#define DEFAULT_KEEP_FREE_PERCENT 15

SpoolLimits spool_default_limits(int dir_fd) {
        SpoolLimits limits = { .max_bytes = DEFAULT_MAX_BYTES };
        struct statvfs fs;
        uint64_t percent;

        if (fstatvfs(dir_fd, &fs) < 0)
                return limits;
        percent = number_multiply_saturating(fs.f_blocks, fs.f_frsize) / 100;
        limits.max_bytes = MIN_OF(limits.max_bytes, percent * DEFAULT_MAX_PERCENT);
        limits.keep_free_bytes =
                MIN_OF(DEFAULT_KEEP_FREE_BYTES, percent * DEFAULT_KEEP_FREE_PERCENT);
        /* 0 would mean no budget; a tiny file system gets a tiny one. */
        if (limits.max_bytes == 0)
                limits.max_bytes = 1;
        return limits;
}

/* The snapshots to remove; the plan is complete before anything is removed. */
typedef struct RoomPlan {
        const SpoolEntry *entries; /* newest first */
        bool *is_doomed;
        size_t n_entries;
        const char *replaces; /* NULL: none */
        uint64_t n_used;      /* bytes of all snapshots that stay */
        uint64_t n_freed;     /* bytes of the snapshots to remove */
        uint64_t n_wanted;    /* bytes of the new snapshot */
        uint64_t n_free;      /* free in the file system; the new snapshot has its bytes already */
        uint64_t n_expected;  /* bytes that will probably be written */
} RoomPlan;

static bool fits_budget(const RoomPlan *plan, const SpoolLimits *limits) {
        return limits->max_bytes == 0 ||
               number_add_saturating(plan->n_used, plan->n_wanted) <= limits->max_bytes;
}

static bool fits_file_system(const RoomPlan *plan, const SpoolLimits *limits) {
        return number_add_saturating(plan->n_free, plan->n_freed) >=
               number_add_saturating(limits->keep_free_bytes, plan->n_expected);
}

static void doom(RoomPlan *plan, size_t i) {
        plan->is_doomed[i] = true;
        plan->n_used -= plan->entries[i].head.size_bytes;
        plan->n_freed += plan->entries[i].head.size_bytes;
}

/* The new snapshot replaces it. */
static bool is_replaced(const RoomPlan *plan, const SpoolEntry *entry) {
        return plan->replaces && strcmp(entry->head.name, plan->replaces) == 0;
}

/* Tagged snapshots are kept for their owner; whether a damaged one is tagged is unknown. */
static bool may_rotate(const RoomPlan *plan, const SpoolEntry *entry) {
        return !entry->damaged && !entry->head.tagged && !is_replaced(plan, entry);
}

static bool is_expired(const SpoolEntry *entry, uint64_t max_age_ns, uint64_t now_ns) {
        return max_age_ns > 0 && entry->head.has_start_realtime &&
               now_ns > entry->head.start_realtime_ns &&
               now_ns - entry->head.start_realtime_ns > max_age_ns;
}

static void plan_rotation(RoomPlan *plan, const SpoolLimits *limits, uint64_t now_ns) {
        for (size_t i = 0; i < plan->n_entries; i++) {
                const SpoolEntry *entry = &plan->entries[i];

                *(is_replaced(plan, entry) ? &plan->n_freed : &plan->n_used) +=
                        entry->head.size_bytes;
        }
        for (size_t i = plan->n_entries; i-- > 0;)
                if (may_rotate(plan, &plan->entries[i]) &&
                    (is_expired(&plan->entries[i], limits->max_age_ns, now_ns) ||
                     !fits_budget(plan, limits) || !fits_file_system(plan, limits)))
                        doom(plan, i);
}

typedef struct Amount {
        char text[32];
} Amount;

/* For people: 1023B, 1.5KiB, 4.0GiB. */
static Amount amount_of(uint64_t bytes) {
        static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
        double value = (double) bytes;
        size_t unit = 0;
        Amount amount;

        if (bytes < 1024) {
                (void) snprintf(amount.text, sizeof(amount.text), "%uB", (unsigned) bytes);
                return amount;
        }
        value /= 1024;
        for (; value >= 1024 && unit + 1 < ELEMENTSOF(units); unit++)
                value /= 1024;
        (void) snprintf(amount.text, sizeof(amount.text), "%.1f%s", value, units[unit]);
        return amount;
}

static int complain_full(Spool *spool, const RoomPlan *plan, const SpoolLimits *limits) {
        if (!fits_budget(plan, limits))
                return spool_complain(
                        spool, SPOOL_E_FULL,
                        "is full: %s more do not fit into its budget of %s, because snapshots "
                        "that must stay use %s; remove some of them or raise it (MaxBytes=)",
                        amount_of(plan->n_wanted).text, amount_of(limits->max_bytes).text,
                        amount_of(plan->n_used).text);
        return spool_complain(spool, SPOOL_E_FULL,
                              "is full: its file system has %s free and %s must stay free; remove "
                              "snapshots, free space there, or lower that limit (KeepFree=)",
                              amount_of(plan->n_free).text,
                              amount_of(limits->keep_free_bytes).text);
}

static int carry_out(Spool *spool, const RoomPlan *plan, Buffer *rotated) {
        char file[SPOOL_FILE_BYTES];
        bool is_changed = false;
        int r;

        for (size_t i = plan->n_entries; i-- > 0;) {
                const char *name = plan->entries[i].head.name;
                size_t n_before = rotated->n;

                if (!plan->is_doomed[i] || !spool_file_name(name, file))
                        continue;
                /* Append the name first: a snapshot must not be removed without being reported. */
                buffer_append_text(rotated, name);
                r = buffer_append_byte(rotated, '\n');
                if (r == 0 && unlinkat(spool->dir_fd, file, 0) < 0 && errno != ENOENT)
                        r = -errno;
                if (r < 0) {
                        rotated->n = n_before;
                        return spool_explain(spool, r);
                }
                is_changed = true;
        }
        return is_changed ? spool_sync_fd(spool->dir_fd) : 0;
}

static int plan_and_carry_out(Spool *spool, RoomPlan *plan, const SpoolLimits *limits,
                              Buffer *rotated) {
        struct timespec now;
        struct statvfs fs;

        if (fstatvfs(spool->dir_fd, &fs) < 0)
                return -errno;
        plan->n_free = number_multiply_saturating(fs.f_bavail, fs.f_frsize);
        (void) clock_gettime(CLOCK_REALTIME, &now);
        plan_rotation(plan, limits, (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec);
        plan->n_expected = 0; /* an estimate is no reason to refuse */
        if (!fits_budget(plan, limits) || !fits_file_system(plan, limits))
                return complain_full(spool, plan, limits);
        return carry_out(spool, plan, rotated);
}

int spool_make_room(Spool *spool, const SpoolLimits *limits, uint64_t n_bytes, const char *replaces,
                    Buffer *rotated) {
        _cleanup_(fd_closep) int lock = -EBADF;
        RoomPlan plan = { .n_wanted = n_bytes, .replaces = replaces };
        SpoolEntry *entries = NULL;
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        r = spool_lock(spool, &lock);
        if (r != 0)
                return r;
        r = spool_list(spool, &entries, &plan.n_entries);
        if (r != 0)
                return r;
        plan.entries = entries;
        /* Nothing is written yet; estimate the size by that of the newest snapshot. */
        if (n_bytes == 0 && plan.n_entries > 0)
                plan.n_expected = entries[0].head.size_bytes;
        plan.is_doomed = calloc(plan.n_entries + 1, sizeof(*plan.is_doomed));
        r = plan.is_doomed ? plan_and_carry_out(spool, &plan, limits, rotated) : -ENOMEM;
        free(plan.is_doomed);
        spool_entries_free(entries, plan.n_entries);
        return r;
}
