/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotSet
 *
 * The snapshots of one side as a user lists them: names, "latest~N", files, intervals between two
 * of these, and globs over the names of the spool, separated by commas. The matches of a glob are
 * in the order of their captures; nothing is in a set twice.
 *
 * "KEY=GLOB" chooses by a member of the head instead, as in "host=web-*,kernel=6.12*": what is
 * chosen fits one of the globs of each key that is there. It is chosen from the spool, or from the
 * snapshot files of each directory of the list, whose path ends in a slash; a directory without a
 * key stands for all of its files.
 */

#include <json-c/json.h>
#include <stddef.h>
#include "base/macro.h"
#include "json/json-writer.h"
#include "session/reference.h"
#include "session/session.h"
#include "wire/limits.h"

typedef struct SnapshotSet {
        const char *option; /* borrowed: "--before" */
        SubjectReference subjects[LIMIT_SNAPSHOTS_PER_CALL];
        char *texts[LIMIT_SNAPSHOTS_PER_CALL]; /* owned: the texts that the subjects borrow */
        size_t n;
} SnapshotSet;

/* The list of the spool, requested for the first glob. */
typedef struct SnapshotNames {
        Session *session;   /* borrowed */
        json_object *reply; /* owned; NULL: not requested yet */
} SnapshotNames;

void snapshot_names_done(SnapshotNames *names);

#define SNAPSHOT_SET_EMPTY ((SnapshotSet){ .n = 0 })

void snapshot_set_done(SnapshotSet *set);
/*
 * 0, or an exit status after a sentence: 2 for a malformed list, 1 for a file that cannot be read
 * and for a glob that matches nothing.
 */
int snapshot_set_parse(SnapshotNames *names, const char *option, const char *list,
                       SnapshotSet *ret);
/* Checks that no snapshot is in both and that they fit into one call. 0 or an exit status. */
int snapshot_set_check_pair(const SnapshotSet *before, const SnapshotSet *after);
