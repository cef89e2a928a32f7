/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolDirectory
 *
 * Shared by the files of Spool: the directory, the names in it, and sentences about its failures.
 * Only its name makes a file a snapshot; other files in the directory are left alone.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name.h"

/*
 * The codes that functions of a spool return besides 0 and a negative errno. Each code is one error
 * of the protocol; spool-failure.c translates them.
 */
enum {
        SPOOL_OK,
        SPOOL_E_NOT_FOUND,
        SPOOL_E_EXISTS,
        SPOOL_E_DAMAGED,     /* the file is there and its head cannot be read */
        SPOOL_E_FULL,        /* budget, keep-free floor or ENOSPC: Spool has a complaint */
        SPOOL_E_UNAVAILABLE, /* no directory, not ours to write, read-only: Spool has a complaint */
        SPOOL_E_NOT_OWNER,
};

/*
 * The state of the spool's directory: every file that is added to it, renamed or removed changes
 * the stamp. Two changes within one tick of the kernel's clock may share one.
 */
typedef struct SpoolStamp {
        uint64_t device, inode;
        uint64_t change_ns; /* st_ctim */
} SpoolStamp;
_Static_assert(sizeof(SpoolStamp) == 3 * sizeof(uint64_t), "two are compared as bytes");

/* @ret is set in any case. */
_must_check_ int spool_stamp_read(int dir_fd, SpoolStamp *ret);

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
 * The facts about a snapshot that lists show, and those that are needed to make room for another
 * snapshot.
 */
typedef struct IndexEntry {
        unsigned n_refs; /* in a view; 0 elsewhere */
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
        /* As bool, but a job may write any byte. */
        uint8_t damaged, tagged, imported;
        uint8_t has_uid, has_start, has_offset;
        uid_t uid;
        uint64_t start_realtime_ns;
        uint64_t published_realtime_ns;
        uint64_t size_bytes;      /* of the file */
        uint64_t allocated_bytes; /* on the disk */
        uint64_t offset;          /* of the damage */
        size_t n_text;
        char *text; /* the HEAD object; of a damaged one a sentence about the damage; or NULL */
} IndexEntry;

/*
 * The roll: the entries of all snapshots, newest first, damaged ones last, without texts. The main
 * process writes it from its index for a job, so that the job need not open every file of the spool
 * to make room; it holds for as long as the directory has the stamp that it had then. Otherwise the
 * files tell.
 */
typedef struct SpoolRoll {
        SpoolStamp stamp;
        size_t n;
        IndexEntry entries[];
} SpoolRoll;

typedef struct Spool {
        int dir_fd; /* owned; negative while the directory is not available */
        char *path;
        bool is_unavailable;  /* @complaint says why */
        uint64_t patience_ns; /* for the lock of another process; tests shorten it */
        /* One sentence for the last SPOOL_E_FULL or SPOOL_E_UNAVAILABLE. */
        char complaint[SPOOL_COMPLAINT_BYTES];
        SpoolChange change;
        SpoolRoll *roll; /* owned: of the main process, or NULL */
} Spool;

/* Sets the complaint and returns @code. The sentence begins 'Spool "PATH" '. */
int spool_complain(Spool *spool, int code, const char *format, ...) _printf_(3, 4);

/* False for a name outside the grammar of snapshot names. */
bool spool_file_name(const char *name, char ret_file[static SPOOL_FILE_BYTES]);

/* The dot hides temporaries from lists; spool_clean() knows them by the whole prefix. */
#define DOT_PREFIX ".ctprof-new-"
#define DOT_RANDOM_CHARS 16
#define DOT_BYTES (sizeof(DOT_PREFIX) + DOT_RANDOM_CHARS)

typedef enum SpoolNames {
        SPOOL_NAMES_SNAPSHOTS,
        SPOOL_NAMES_TEMPORARIES, /* dot-names */
} SpoolNames;

/* The names in the directory, in no order, each with its NUL. -errno. */
_must_check_ int spool_names(const Spool *spool, SpoolNames kind, Buffer *ret);
bool spool_is_dot_name(const char *name);

/*
 * Taken before the directory is changed, and held until the descriptor is closed: nothing changes
 * between checking an owner or a free name and acting on it. When another process holds the lock
 * for too long, SPOOL_E_UNAVAILABLE and a complaint that names it.
 */
_must_check_ int spool_lock(Spool *spool, int *ret_fd);

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
/* The unit of st_blocks, the space that the file system has allocated; the same on all of them. */
#define SPOOL_BLOCK_BYTES UINT64_C(512)

/* fsync(2) that does not stop at a signal. */
_must_check_ int spool_sync_fd(int fd);
