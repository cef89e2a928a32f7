/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolIndex
 *
 * Tells the main process which snapshots are in the spool, without reading a file. A survey, made
 * by a job, fills it; the changes that jobs make keep it in step. The index remembers the change
 * time of the directory: while the directory still has that time, nobody else has changed it.
 *
 * A view is the list at one moment. It is shared and never changes; whoever holds it sees the same
 * snapshots until it is released. A file of a view may be gone when it is opened.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name.h"
#include "base/span.h"
#include "spool/spool.h"

/* views */

typedef struct SpoolView {
        unsigned n_refs; /* whoever keeps the view adds one, and takes it back by unref */
        size_t n, n_places;
        IndexEntry **entries; /* in the order of publishing, newest first; damaged last, by name */
        uint64_t size_bytes, allocated_bytes; /* of all files */
        size_t memory;                        /* that the view and its entries take, in bytes */
} SpoolView;

SpoolView *spool_view_unref(SpoolView *view);
DEFINE_CLEANUP(SpoolView *, spool_view_unref);

/* NULL when there is none. */
const IndexEntry *spool_view_find(const SpoolView *view, Span name);
/* "NAME", "latest" or "latest~N", as spool_resolve(); NULL when there is none. */
const IndexEntry *spool_view_resolve(const SpoolView *view, Span reference);

/* the index */

typedef struct SpoolIndex {
        SpoolView *view;    /* never NULL; empty before the first survey, another one after each */
        SpoolView *filling; /* by a survey, or NULL */
        SpoolStamp stamp;
        bool is_known; /* @view is what the directory held at @stamp */
} SpoolIndex;

_must_check_ int spool_index_new(SpoolIndex **ret);
SpoolIndex *spool_index_free(SpoolIndex *index);
DEFINE_CLEANUP(SpoolIndex *, spool_index_free);

/* True while the directory is as the index knows it. */
bool spool_index_is_current(const SpoolIndex *index, int dir_fd);
/*
 * The roll of the directory (spool-directory.h), by which a job makes room in it; the caller owns
 * *ret, which is -EBADF when the index is not current. -ENOMEM, -errno.
 */
_must_check_ int spool_index_lend(const SpoolIndex *index, int dir_fd, int *ret);
/* The index proved wrong: it is not current before the next survey. */
void spool_index_forget(SpoolIndex *index);

/*
 * A survey replaces the whole list: begin, add each entry, end. One that does not come to its end
 * leaves the index as it was. @entries: of spool_entry_pack(), one after the other; @stamp: a
 * SpoolStamp. 0, -ENOMEM, or -EBADMSG for malformed bytes.
 */
_must_check_ int spool_index_begin(SpoolIndex *index);
_must_check_ int spool_index_add(SpoolIndex *index, Span entries);
_must_check_ int spool_index_end(SpoolIndex *index, Span stamp);

/*
 * Follows what a job did to the directory, as spool_change_pack() tells it. A job that began with
 * another directory than the index knows makes it forget: somebody else changed it, too.
 */
void spool_index_follow(SpoolIndex *index, Span change);

/*
 * Writes the facts about a snapshot into *ret, without a text. @entry comes from
 * spool_read_entry().
 */
void spool_entry_index(const SpoolEntry *entry, IndexEntry *ret);

/* A job, which is the same program, tells by plain data: */

/* Appends an entry. NULL: one that the index refuses. */
_must_check_ int spool_entry_pack(Buffer *buffer, const SpoolEntry *entry);
/*
 * Appends what the functions of @spool changed since it was opened; nothing when that was nothing,
 * or when others changed the directory in between.
 */
_must_check_ int spool_change_pack(const Spool *spool, Buffer *buffer);
