/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reference
 *
 * A snapshot as the user names it: a name in the spool, "latest" or "latest~N", or the path of a
 * file, which contains a slash or ends in .zst. The daemon looks up names. Files are opened here,
 * with the rights of the user, and sent as descriptors.
 *
 * A subject is what a view can be about: a snapshot, or the interval between two, "A..B". If the
 * name in front of the dots or the one behind them is left out, it is that of the latest snapshot;
 * ".." alone is "latest~1..latest". The dots are the first two of the text. A text with a slash can
 * be a path with dots: in such a text, dots separate two snapshots only if the text in front of
 * them is a name, or a file whose name ends in .zst.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "session/session.h"

typedef struct Reference {
        const char *text; /* borrowed, as typed */
        bool is_file;
        int fd; /* of a file that was opened; else -EBADF */
} Reference;

#define REFERENCE_EMPTY ((Reference){ .fd = -EBADF })

/* NULL if @text is valid, else the reason, as the rest of a sentence that begins with @text. */
const char *reference_complaint(const char *text);
/* The same as that sentence, which quotes @shown. 0 or STATUS_USAGE. */
int reference_check(const char *text, const char *shown);

/*
 * Checks @text, and opens it if it is a file. 0, or an exit status after a sentence: 2 for an
 * invalid name, 1 for a file that cannot be read.
 */
int reference_open(const char *text, Reference *ret);
/* The same for an argument that is always a file. */
int reference_open_file(const char *path, Reference *ret);
void reference_done(Reference *reference);

#define SUBJECT_MAX_FILES 2

typedef struct SubjectReference {
        const char *text; /* borrowed, as typed */
        bool is_interval;
        Reference ends[2]; /* the second one only of an interval */
        char *texts[2];    /* owned: what the ends of an interval borrow */
} SubjectReference;

#define SUBJECT_EMPTY ((SubjectReference){ .ends = { REFERENCE_EMPTY, REFERENCE_EMPTY } })

/* Finds the dots of an interval in @text; NULL when it is one snapshot. */
const char *subject_find_dots(const char *text);
/*
 * Names and opens the snapshot, or both, as reference_open() does. After a failure @ret is still to
 * be freed. 0, or an exit status after a sentence.
 */
int subject_open(const char *text, SubjectReference *ret);
/*
 * The same also of another host, "HOST:NAME" or "HOST:A..B": HOST is named as for --host, but has
 * no port, as what follows the first colon is a snapshot. It is fetched through ssh, and from then
 * on is a file.
 */
int subject_open_anywhere(Session *session, const char *text, SubjectReference *ret);
void subject_done(SubjectReference *subject);
/* The SubjectRef object; descriptors of files are appended to @fds. */
void subject_write_json(JsonWriter *writer, const SubjectReference *subject, int *fds,
                        size_t *n_fds);

/* The SnapshotRef object; a file's descriptor is the first that is sent with the call. */
void reference_write_json(JsonWriter *writer, const Reference *reference);
/*
 * Fills in where @call goes, which is about @reference: a file is for the analysis job alone, and
 * its descriptor goes along. @reference must outlive the call.
 */
void reference_address_call(const Reference *reference, SessionCall *call);
/* The same and its parameters {"snapshot": REF}, to which members may be added. */
void reference_prepare_call(const Reference *reference, SessionCall *call);
