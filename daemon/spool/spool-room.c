/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/macro.h"
#include "base/number.h"
#include "spool/spool-directory.h"
#include "spool/spool-index.h"
#include "wire/limits.h"

#define DEFAULT_MAX_BYTES (UINT64_C(4) << 30)
#define DEFAULT_KEEP_FREE_BYTES (UINT64_C(4) << 30)
#define DEFAULT_MAX_PERCENT 10
#define DEFAULT_KEEP_FREE_PERCENT 15
#define DEFAULT_KEEP_FREE_FILES 1000
#define DEFAULT_KEEP_FREE_FILES_PERCENT 5

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
        limits.keep_free_files =
                MIN_OF((uint64_t) DEFAULT_KEEP_FREE_FILES,
                       (uint64_t) fs.f_files / 100 * DEFAULT_KEEP_FREE_FILES_PERCENT);
        /* 0 would mean no budget; a tiny file system gets a tiny one. */
        if (limits.max_bytes == 0)
                limits.max_bytes = 1;
        return limits;
}

int spool_free_space(int dir_fd, SpoolFree *ret) {
        struct statvfs fs;

        *ret = (SpoolFree){};
        if (fstatvfs(dir_fd, &fs) < 0)
                return -errno;
        *ret = (SpoolFree){
                .n_bytes = number_multiply_saturating(fs.f_bavail, fs.f_frsize),
                .has_files = fs.f_files > 0,
                .n_files = fs.f_favail,
        };
        return 0;
}

int spool_find_room(const Spool *spool, const SpoolLimits *limits, uint64_t *ret) {
        uint64_t n_kept = number_add_saturating(limits->keep_free_bytes, limits->reserved_bytes);
        SpoolFree space;
        int r;

        r = spool_free_space(spool->dir_fd, &space);
        if (r == 0)
                *ret = space.n_bytes > n_kept ? space.n_bytes - n_kept : 0;
        return r;
}

int spool_allocated_bytes(int fd, uint64_t *ret) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        *ret = (uint64_t) st.st_blocks * SPOOL_BLOCK_BYTES;
        return 0;
}

/* the roll */

/* Reads every file in the spool, under the lock. */
static int collect_roll(Spool *spool, SpoolRoll **ret) {
        SpoolEntry *entries = NULL;
        SpoolRoll *roll;
        size_t n;
        int r;

        r = spool_list(spool, &entries, &n);
        if (r != 0)
                return r;
        roll = calloc(1, sizeof(*roll) + n * sizeof(*roll->entries));
        for (size_t i = 0; roll && i < n; i++)
                spool_entry_index(&entries[i], &roll->entries[roll->n++]);
        spool_entries_free(entries, n);
        *ret = roll;
        return roll ? 0 : -ENOMEM;
}

/* the plan */

/* The snapshots of one user, without those that are replaced or to be removed. */
typedef struct RoomUser {
        uid_t uid;
        uint64_t n_bytes;
        uint64_t n_snapshots;
} RoomUser;

/* One snapshot in the plan. */
typedef struct RoomEntry {
        const IndexEntry *entry;
        RoomUser *user; /* NULL: of a damaged snapshot, and of one without a user in its head */
        uint64_t n_bytes;
        bool is_replaced; /* by the new one */
        bool is_doomed;
} RoomEntry;

/* The snapshots to remove; the plan is complete before anything is removed. */
typedef struct RoomPlan {
        const SpoolLimits *limits;
        const SpoolNeed *need;
        RoomEntry *entries; /* newest first */
        size_t n_entries;
        RoomUser *users; /* the first is the new snapshot's */
        size_t n_users;
        uint64_t n_used;     /* bytes of all snapshots that stay */
        uint64_t n_freed;    /* bytes of the snapshots to remove */
        uint64_t n_removed;  /* their number */
        uint64_t n_kept;     /* the number of all that stay */
        SpoolFree free;      /* the new snapshot has what is written already */
        uint64_t n_expected; /* bytes that will probably be written */
} RoomPlan;

/* The bounds that may be exceeded, in the order in which users are told of them. */
enum {
        LACKS_NUMBER_OF_USER = 1 << 0,
        LACKS_NUMBER = 1 << 1,
        LACKS_SHARE = 1 << 2,
        LACKS_BUDGET = 1 << 3,
        LACKS_FILES = 1 << 4,
        LACKS_SPACE = 1 << 5,
        /* The owner alone can exceed these, and nobody else has to make room for it. */
        LACKS_OF_USER = LACKS_NUMBER_OF_USER | LACKS_SHARE,
};

static unsigned find_lacks(const RoomPlan *plan) {
        const SpoolLimits *limits = plan->limits;
        const uint64_t n_bytes = plan->need->n_bytes;
        bool has_others = false;
        unsigned lacks = 0;

        for (size_t i = 1; i < plan->n_users && !has_others; i++)
                has_others = plan->users[i].n_snapshots > 0;
        if (limits->max_snapshots_per_uid > 0 &&
            plan->users[0].n_snapshots >= limits->max_snapshots_per_uid)
                lacks |= LACKS_NUMBER_OF_USER;
        if (limits->max_snapshots > 0 && plan->n_kept >= limits->max_snapshots)
                lacks |= LACKS_NUMBER;
        if (limits->max_bytes > 0 && has_others &&
            number_add_saturating(plan->users[0].n_bytes, n_bytes) > limits->max_bytes / 2)
                lacks |= LACKS_SHARE;
        if (limits->max_bytes > 0 &&
            number_add_saturating(plan->n_used, n_bytes) > limits->max_bytes)
                lacks |= LACKS_BUDGET;
        if (plan->free.has_files &&
            number_add_saturating(plan->free.n_files, plan->n_removed) < limits->keep_free_files)
                lacks |= LACKS_FILES;
        if (number_add_saturating(plan->free.n_bytes, plan->n_freed) <
            number_add_saturating(limits->keep_free_bytes, plan->n_expected))
                lacks |= LACKS_SPACE;
        return lacks;
}

static void doom(RoomPlan *plan, RoomEntry *entry) {
        entry->is_doomed = true;
        plan->n_used -= entry->n_bytes;
        plan->n_freed += entry->n_bytes;
        plan->n_removed++;
        plan->n_kept--;
        if (entry->user) {
                entry->user->n_bytes -= entry->n_bytes;
                entry->user->n_snapshots--;
        }
}

/* Tagged snapshots are kept for their owner; whether a damaged one is tagged is unknown. */
static bool may_rotate(const RoomEntry *entry) {
        return !entry->is_doomed && !entry->is_replaced && !entry->entry->damaged &&
               !entry->entry->tagged;
}

/*
 * The oldest that may be removed of the user who holds most of what is scarce; what belongs to
 * nobody goes first.
 */
static RoomEntry *find_of_largest(const RoomPlan *plan, bool by_number) {
        RoomEntry *found = NULL;
        uint64_t most = 0;

        for (size_t i = plan->n_entries; i-- > 0;) {
                RoomEntry *entry = &plan->entries[i];
                uint64_t weight;

                if (!may_rotate(entry))
                        continue;
                if (!entry->user)
                        return entry;
                weight = by_number ? entry->user->n_snapshots : entry->user->n_bytes;
                if (found && weight <= most)
                        continue;
                found = entry;
                most = weight;
        }
        return found;
}

static void plan_rotation(RoomPlan *plan, uint64_t now_ns) {
        uint64_t max_age_ns = plan->limits->max_age_ns;
        unsigned lacks = 0;
        RoomEntry *entry;

        for (size_t i = plan->n_entries; i-- > 0 && max_age_ns > 0;) {
                const IndexEntry *found = plan->entries[i].entry;

                if (may_rotate(&plan->entries[i]) && found->has_start &&
                    now_ns > found->start_realtime_ns &&
                    now_ns - found->start_realtime_ns > max_age_ns)
                        doom(plan, &plan->entries[i]);
        }
        /* The oldest of the new snapshot's owner first. */
        for (size_t i = plan->n_entries; i-- > 0 && find_lacks(plan) != 0;)
                if (may_rotate(&plan->entries[i]) && plan->entries[i].user == plan->users)
                        doom(plan, &plan->entries[i]);
        while ((lacks = find_lacks(plan)) != 0 && !(lacks & LACKS_OF_USER) &&
               (entry = find_of_largest(plan, lacks & LACKS_NUMBER)))
                doom(plan, entry);
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

static int complain_full(Spool *spool, const RoomPlan *plan, unsigned lacks) {
        const SpoolLimits *limits = plan->limits;

        if (lacks & LACKS_NUMBER_OF_USER)
                return spool_complain(
                        spool, SPOOL_E_FULL,
                        "is full for uid %u: one user may have %" PRIu64 " snapshots, and %" PRIu64
                        " of this user must stay; remove some of them or raise the number "
                        "(MaxSnapshotsPerUser=)",
                        (unsigned) plan->need->uid, limits->max_snapshots_per_uid,
                        plan->users[0].n_snapshots);
        if (lacks & LACKS_NUMBER)
                return spool_complain(spool, SPOOL_E_FULL,
                                      "is full: it may have %" PRIu64 " snapshots, and %" PRIu64
                                      " must stay; remove some of them or raise the number "
                                      "(MaxSnapshots=)",
                                      limits->max_snapshots, plan->n_kept);
        if (lacks & LACKS_SHARE)
                return spool_complain(
                        spool, SPOOL_E_FULL,
                        "is full for uid %u: %s more do not fit into half of its budget of %s, "
                        "which is the share of one user while others have snapshots, because %s "
                        "of this user must stay; remove some of them or raise it (MaxBytes=)",
                        (unsigned) plan->need->uid, amount_of(plan->need->n_bytes).text,
                        amount_of(limits->max_bytes).text, amount_of(plan->users[0].n_bytes).text);
        if (lacks & LACKS_BUDGET)
                return spool_complain(
                        spool, SPOOL_E_FULL,
                        "is full: %s more do not fit into its budget of %s, because snapshots "
                        "that must stay use %s; remove some of them or raise it (MaxBytes=)",
                        amount_of(plan->need->n_bytes).text, amount_of(limits->max_bytes).text,
                        amount_of(plan->n_used).text);
        if (lacks & LACKS_FILES)
                return spool_complain(spool, SPOOL_E_FULL,
                                      "is full: its file system has %" PRIu64 " inodes free and "
                                      "%" PRIu64 " must stay free; remove snapshots or other files "
                                      "there",
                                      plan->free.n_files, limits->keep_free_files);
        return spool_complain(spool, SPOOL_E_FULL,
                              "is full: its file system has %s free and %s must stay free; remove "
                              "snapshots, free space there, or lower that limit (KeepFree=)",
                              amount_of(plan->free.n_bytes).text,
                              amount_of(limits->keep_free_bytes).text);
}

static int carry_out(Spool *spool, const RoomPlan *plan, Buffer *rotated) {
        char file[SPOOL_FILE_BYTES];
        bool is_changed = false;
        int r;

        for (size_t i = plan->n_entries; i-- > 0;) {
                const char *name = plan->entries[i].entry->name;
                size_t n_before = rotated->n;

                if (!plan->entries[i].is_doomed || !spool_file_name(name, file))
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
                spool_note(spool, &spool->change.removed, name);
        }
        return is_changed ? spool_sync_fd(spool->dir_fd) : 0;
}

/* Returned besides SPOOL_E_*: the roll may be wrong, and nothing was done. */
enum { ROOM_MISTAKEN = 1000 };

static RoomUser *find_user(RoomPlan *plan, uid_t uid) {
        for (size_t i = 0; i < plan->n_users; i++)
                if (plan->users[i].uid == uid)
                        return &plan->users[i];
        plan->users[plan->n_users] = (RoomUser){ .uid = uid };
        return &plan->users[plan->n_users++];
}

static int plan_init(RoomPlan *plan, const SpoolRoll *roll) {
        const char *replaces = plan->need->replaces;

        plan->entries = calloc(roll->n + 1, sizeof(*plan->entries));
        plan->users = calloc(roll->n + 1, sizeof(*plan->users));
        if (!plan->entries || !plan->users)
                return -ENOMEM;
        (void) find_user(plan, plan->need->uid);
        for (size_t i = 0; i < roll->n; i++) {
                const IndexEntry *found = &roll->entries[i];
                RoomEntry *entry = &plan->entries[plan->n_entries++];

                *entry = (RoomEntry){
                        .entry = found,
                        .n_bytes = found->allocated_bytes,
                        .is_replaced = replaces && strcmp(found->name, replaces) == 0,
                };
                if (entry->is_replaced) {
                        plan->n_freed += entry->n_bytes;
                        continue;
                }
                plan->n_used += entry->n_bytes;
                plan->n_kept++;
                if (found->damaged || !found->has_uid)
                        continue;
                entry->user = find_user(plan, found->uid);
                entry->user->n_bytes += entry->n_bytes;
                entry->user->n_snapshots++;
        }
        /* Nothing is written yet; estimate the size by that of the newest snapshot. */
        if (plan->need->n_bytes == 0 && roll->n > 0)
                plan->n_expected = plan->entries[0].n_bytes;
        return 0;
}

/* The file that @entry is about still is what it says, as far as that decides what may be done. */
static bool is_right(Spool *spool, const IndexEntry *entry) {
        SpoolEntry now = {};
        IndexEntry found;

        if (spool_read_entry(spool, entry->name, &now) != 0)
                return false;
        spool_entry_index(&now, &found);
        head_done(&now.head);
        return found.damaged == entry->damaged && found.tagged == entry->tagged &&
               found.has_uid == entry->has_uid && found.uid == entry->uid &&
               found.published_realtime_ns == entry->published_realtime_ns;
}

/*
 * By the roll of the main process the files have not been read. Two changes within one tick may
 * have one stamp, so what is to be removed is looked at then.
 */
static int make_room(Spool *spool, const SpoolRoll *roll, const SpoolLimits *limits,
                     const SpoolNeed *need, Buffer *rotated) {
        RoomPlan plan = { .limits = limits, .need = need };
        bool is_held = roll == spool->roll, is_mistaken;
        unsigned lacks;
        int r;

        r = plan_init(&plan, roll);
        if (r == 0)
                r = spool_free_space(spool->dir_fd, &plan.free);
        if (r == 0) {
                plan_rotation(&plan, clock_now_ns(CLOCK_REALTIME));
                plan.n_expected = 0; /* an estimate is no reason to refuse */
                lacks = find_lacks(&plan);
                is_mistaken = is_held && lacks != 0;
                for (size_t i = 0; i < plan.n_entries && is_held && !is_mistaken; i++)
                        is_mistaken = plan.entries[i].is_doomed &&
                                      !is_right(spool, plan.entries[i].entry);
                if (is_mistaken)
                        r = ROOM_MISTAKEN;
                else
                        r = lacks != 0 ? complain_full(spool, &plan, lacks)
                                       : carry_out(spool, &plan, rotated);
        }
        free(plan.entries);
        free(plan.users);
        return r;
}

int spool_make_room(Spool *spool, const SpoolLimits *limits, const SpoolNeed *need,
                    Buffer *rotated) {
        _cleanup_(fd_closep) int lock = -EBADF;
        _cleanup_(freep) SpoolRoll *roll = NULL;
        const SpoolRoll *held;
        int r;

        if (spool->is_unavailable)
                return SPOOL_E_UNAVAILABLE;
        r = spool_lock(spool, &lock);
        if (r != 0)
                return r;
        held = spool_current_roll(spool);
        r = held ? make_room(spool, held, limits, need, rotated) : ROOM_MISTAKEN;
        if (r != ROOM_MISTAKEN)
                return r;
        r = collect_roll(spool, &roll);
        return r == 0 ? make_room(spool, roll, limits, need, rotated) : r;
}
