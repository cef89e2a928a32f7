/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolDirectory
 *
 * Shared by the files of Spool: the directory, the names in it, and sentences about its failures.
 * Only its name makes a file a snapshot; other files in the directory are left alone.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name.h"
#include "spool/spool-outcome.h"
#include "spool/spool-stamp.h"

#define SPOOL_COMPLAINT_BYTES 1024
#define SPOOL_NAME_BYTES (SNAPSHOT_NAME_MAX_CHARS + 1)
#define SPOOL_FILE_BYTES (SPOOL_NAME_BYTES + sizeof(SNAPSHOT_FILE_SUFFIX))

/* A job notes here how it changed the directory, and tells the index of the main process. */
typedef struct SpoolChange {
        bool is_begun;
        bool is_unclear; /* others changed it, too */
        SpoolStamp before, after;
        Buffer removed, added; /* names, each with its NUL */
} SpoolChange;

/*
 * The roll: what has to be known of each snapshot to make room for another one. The main process
 * writes it from its index for a job, so that the job need not open every file of the spool; it
 * holds for as long as the directory has the stamp that it had then. Otherwise the files tell.
 */

typedef struct RollEntry {
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        bool damaged, tagged;
        bool has_uid, has_start;
        uid_t uid;
        uint64_t start_realtime_ns, published_realtime_ns;
        uint64_t allocated_bytes;
} RollEntry;

/* Zeroed: there is none. */
typedef struct SpoolRoll {
        SpoolStamp stamp;
        size_t n;
        RollEntry *entries; /* owned; newest first, damaged ones last */
} SpoolRoll;

typedef struct Spool {
        int dir_fd; /* owned; negative while the directory is not available */
        char *path;
        bool is_unavailable;  /* @complaint says why */
        uint64_t patience_ns; /* for the lock of another process; tests shorten it */
        /* One sentence for the last SPOOL_E_FULL or SPOOL_E_UNAVAILABLE. */
        char complaint[SPOOL_COMPLAINT_BYTES];
        SpoolChange change;
        SpoolRoll roll; /* of the main process; zeroed: there is none */
} Spool;

/* Sets the complaint and returns @code. The sentence begins 'Spool "PATH" '. */
int spool_complain(Spool *spool, int code, const char *format, ...) _printf_(3, 4);

/* False for a name outside the grammar of snapshot names. */
bool spool_file_name(const char *name, char ret_file[static SPOOL_FILE_BYTES]);

/* The names of all snapshots, in no order. */
typedef DIR *SpoolWalk;
static inline SpoolWalk spool_walk_free(SpoolWalk walk) {
        if (walk)
                (void) closedir(walk);
        return NULL;
}
DEFINE_CLEANUP(SpoolWalk, spool_walk_free);
_must_check_ int spool_walk_new(const Spool *spool, SpoolWalk *ret);
/* *ret_more is false at the end, and then there is no name. */
_must_check_ int spool_walk_next(SpoolWalk walk, char ret_name[static SPOOL_NAME_BYTES],
                                 bool *ret_more);

/*
 * Taken before the directory is changed, and held until the descriptor is closed: nothing changes
 * between checking an owner or a free name and acting on it. When another process holds the lock
 * for too long, SPOOL_E_UNAVAILABLE and a complaint that names it.
 */
_must_check_ int spool_lock(Spool *spool, int *ret_fd);

/* *ret is a file in memory, which is the caller's. -errno. */
_must_check_ int spool_roll_write(const SpoolRoll *roll, int *ret);
/* -ENOMEM, -EBADMSG, -errno. */
_must_check_ int spool_roll_read(int fd, SpoolRoll *ret);
void spool_roll_done(SpoolRoll *roll);
/* The roll of the main process, if it still tells what is in the directory; under the lock. */
const SpoolRoll *spool_current_roll(const Spool *spool);

/*
 * Notes a change, under the lock and right after it. @names are those of the spool's change that
 * get @name; NULL: the file is no snapshot.
 */
void spool_note(Spool *spool, Buffer *names, const char *name);

/* SPOOL_E_NOT_FOUND also when the name is not that of a regular file. @ret may be NULL. */
_must_check_ int spool_stat(const Spool *spool, const char *name, struct stat *ret);

/*
 * When a snapshot was published: the time of the file's last change, which publishing sets.
 * CLOCK_REALTIME in ns; a time before 1970 is 0.
 */
uint64_t spool_published_ns(const struct stat *st);
/* The space that the file system has allocated. */
uint64_t spool_bytes_of(const struct stat *st);

/* fsync(2) that does not stop at a signal. */
_must_check_ int spool_sync_fd(int fd);
