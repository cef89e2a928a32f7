/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Spool
 *
 * A directory of finished snapshots, NAME.ctprof.zst each. A snapshot enters whole or not at all:
 * it is written to an unnamed file, synced, and linked under its name. To replace a snapshot, the
 * new file is linked under a dot-name and renamed over the old one. Other files in the directory
 * are left alone. The main process only opens snapshots, which it finds in a SpoolIndex; jobs do
 * all the reading and writing.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "snapshot/head.h"
#include "spool/snapshot-file.h"
#include "spool/spool-directory.h"

/*
 * Bytes of a snapshot are those that the file system has allocated for it: a file of 140 bytes
 * takes a block, and one with holes takes less than its length.
 */
typedef struct SpoolLimits {
        /*
         * Budget of all snapshots; 0: none. While several users have snapshots, none may use more
         * than half of it.
         */
        uint64_t max_bytes;
        uint64_t keep_free_bytes; /* left free in the file system */
        uint64_t keep_free_files; /* inodes left free; of no effect where they are not counted */
        uint64_t max_age_ns;      /* of untagged snapshots; 0: none */
        uint64_t reserved_bytes;  /* that other jobs may still write */
        uint64_t max_snapshots;   /* however small they are; 0: no bound */
        uint64_t max_snapshots_per_uid;
} SpoolLimits;

/*
 * 4 GiB but at most a tenth of the file system; 15 % of it but at most 4 GiB kept free; 5 % of its
 * inodes but at most 1000 kept free; no age.
 */
SpoolLimits spool_default_limits(int dir_fd);

/* The free space of a file system, for processes without privileges. */
typedef struct SpoolFree {
        uint64_t n_bytes;
        bool has_files; /* btrfs and others make inodes as they are needed, and count none */
        uint64_t n_files;
} SpoolFree;

/* 0 or a negative errno. */
_must_check_ int spool_free_space(int dir_fd, SpoolFree *ret);

/* Room is made for this. */
typedef struct SpoolNeed {
        uint64_t
                n_bytes; /* as allocated for the file, which is synced; 0: nothing is written yet */
        uid_t uid;       /* of the owner */
        const char *replaces; /* the name of the snapshot it replaces, or NULL */
} SpoolNeed;

typedef struct SpoolEntry {
        Head head; /* its name is the file's name, and size_bytes is set */
        bool damaged;
        bool is_unread; /* by an error of the system, which may be gone when it is read again */
        SnapshotFault fault;
} SpoolEntry;

/* life */

/*
 * Looking up a name outside the grammar of snapshot names is SPOOL_E_NOT_FOUND, giving such a name
 * to a snapshot is -EINVAL. Callers check names first, because they can say what is wrong.
 */

/*
 * Opens the directory @path, which must exist, be a directory and not a symbolic link. On
 * SPOOL_E_UNAVAILABLE, *ret is a spool that answers every call with this error, so that a daemon
 * can go on and say why. Does not write; spool_clean() removes the leftovers of a crash.
 */
_must_check_ int spool_open(const char *path, Spool **ret);
/* Jobs use this: adopts a directory descriptor. @path is for messages. */
_must_check_ int spool_adopt(int dir_fd, const char *path, Spool **ret);
/*
 * Takes over a roll of spool_index_lend(), so that not every file has to be read to make room;
 * -EBADF: there is none. -ENOMEM, -EBADMSG, -errno.
 */
_must_check_ int spool_take_roll(Spool *spool, int fd);
Spool *spool_free(Spool *spool);
DEFINE_CLEANUP(Spool *, spool_free);

/*
 * Opens the path again when the directory did not exist or was removed, so that repairing a spool
 * does not need a restart of the daemon. True when it has opened the path; else @is_unavailable
 * tells how things are.
 */
bool spool_refresh(Spool *spool);

typedef enum SpoolAccess {
        SPOOL_ACCESS_PRIVATE,   /* only its owner can open the directory */
        SPOOL_ACCESS_TIGHTENED, /* so from now on */
        SPOOL_ACCESS_SHARED,    /* others can open it, and it is not ours to change */
} SpoolAccess;

/*
 * Takes the access of others to the directory away, when it belongs to this user: who can open it
 * can read every snapshot and can lock it.
 */
SpoolAccess spool_tighten(Spool *spool);

/* reading */

/*
 * All snapshots, in the order of publishing, newest first (damaged ones last, by name); free with
 * spool_entries_free().
 */
_must_check_ int spool_list(Spool *spool, SpoolEntry **ret, size_t *ret_n);
/*
 * Reads one of them; head_done() its head after 0. A file that cannot be read is damaged, with the
 * reason. SPOOL_E_NOT_FOUND when it is gone.
 */
_must_check_ int spool_read_entry(const Spool *spool, const char *name, SpoolEntry *ret);
void spool_entries_free(SpoolEntry *entries, size_t n_entries);
/*
 * "NAME", "latest" or "latest~N" to a name. The latest is what was captured here and published
 * last: an imported snapshot never is. SPOOL_E_NOT_FOUND.
 */
_must_check_ int spool_resolve(Spool *spool, Span reference,
                               char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]);
/* Opens a snapshot for reading by its exact name; *ret_head may be NULL. */
_must_check_ int spool_open_snapshot(Spool *spool, const char *name, int *ret_fd, Head *ret_head);
/*
 * Sets what the file system knows of a file in the spool: its size, the space it takes, and when it
 * was published. A value that cannot be read is absent: that is no reason to fail after a change
 * was made.
 */
void spool_describe(int fd, Head *head);

/*
 * True when spool_clean() could find something to remove, also where that cannot be told. It
 * lists the directory, so a main process that must not wait for the disk does not call it.
 */
_must_check_ bool spool_may_be_unclean(const Spool *spool);

/* writing: jobs only */

/* Removes dot-names that a crash left behind. */
_must_check_ int spool_clean(Spool *spool);
/*
 * Creates an unnamed file to write into: read-write, invisible until it is published. On a file
 * system without unnamed files it has a dot-name, which spool_discard() removes.
 */
_must_check_ int spool_temporary(Spool *spool, int *ret_fd);
/* Call before a temporary is closed (-EBADF: there is none). Does nothing to a published file. */
void spool_discard(const Spool *spool, int fd);
/*
 * Makes room for a snapshot. The part of it that is written is added to the budget, but not
 * subtracted from the free space, because the file system has done so already. With 0 bytes, before
 * anything is written, it also makes room for a snapshot as large as the newest.
 *
 * Removes untagged snapshots: those that are too old, then the oldest of the new one's owner, then
 * the oldest of whoever holds most. Nobody else's are removed for an owner who is above their share
 * of the budget or has as many snapshots as a user may have. The replaced snapshot counts as gone
 * and is left alone. SPOOL_E_FULL when this cannot be enough; then nothing was removed. Appends the
 * names of removed snapshots to @rotated, each with a '\n'.
 */
_must_check_ int spool_make_room(Spool *spool, const SpoolLimits *limits, const SpoolNeed *need,
                                 Buffer *rotated);
/*
 * Finds how long a file may become that is about to be written: what is free beyond what must stay
 * free and what other jobs may still write. 0 or a negative errno.
 */
_must_check_ int spool_find_room(const Spool *spool, const SpoolLimits *limits, uint64_t *ret);
/* The bytes that the file system has allocated for a file. 0 or a negative errno. */
_must_check_ int spool_allocated_bytes(int fd, uint64_t *ret);
/*
 * Syncs @fd, marks it as published now, links it as @name, syncs the directory. Marks rise from one
 * snapshot to the next, also when the clock is set back. Without @replace a taken name is
 * SPOOL_E_EXISTS; with it, only a snapshot whose owner is @uid (0: any) is replaced, else
 * SPOOL_E_NOT_OWNER. @ret_replaced may be NULL; it gets the head of the one that was replaced, only
 * the name if that cannot be read, and nothing if there was none. Call head_done() on it in any
 * case.
 */
_must_check_ int spool_publish(Spool *spool, int fd, const char *name, bool replace, uid_t uid,
                               Head *ret_replaced);
/*
 * A free name for an untagged snapshot: @name, "NAME-2", "NAME-3", ... The head contains the name,
 * so it is needed before the file is complete.
 */
_must_check_ int spool_free_name(Spool *spool, const char *name,
                                 char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]);
/*
 * Publishes @fd under the name in @head. When that name has been taken since it was found free,
 * publishes a copy instead, under the first variant of @name that is free, and changes @head.
 * Describes the published file in @head.
 */
_must_check_ int spool_publish_untagged(Spool *spool, int fd, const char *name, Head *head);
/*
 * Removes all snapshots that are named in @heads, or none of them unless the disk fails half-way:
 * only if each is there and belongs to @uid (0: any). The other members of each head are read from
 * the file before; of a damaged one there are none. *ret_culprit: which one an error is about.
 */
_must_check_ int spool_remove(Spool *spool, Head *heads, size_t n, uid_t uid, size_t *ret_culprit);
/*
 * Renames the snapshot @name and marks it as tagged: publishes a copy with a new head and the time
 * of publishing of the old file, then removes that, so a crash in between leaves both. Others can
 * change the spool while the copy is made; a snapshot that replaces @name meanwhile is renamed in
 * its place. Only for its owner (@uid 0: any). @ret_head may be NULL; call head_done() on it after
 * 0. SPOOL_E_NOT_FOUND, _EXISTS, _DAMAGED, _NOT_OWNER, _FULL, also when the copy does not fit.
 */
_must_check_ int spool_rename(Spool *spool, const SpoolLimits *limits, const char *name,
                              const char *new_name, uid_t uid, Head *ret_head);
/*
 * Translates a negative errno of writing in the spool to SPOOL_E_FULL or SPOOL_E_UNAVAILABLE and
 * sets its complaint. Returns any other @error unchanged.
 */
int spool_explain(Spool *spool, int error);
