/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reference
 *
 * How a call names a snapshot: by its name in the spool, which is opened here, or by a descriptor
 * that came with the call. Jobs only get descriptors, and the daemon never opens a path that a
 * client names.
 */

#include <json-c/json.h>
#include "base/macro.h"
#include "base/name.h"
#include "json/json-writer.h"
#include "service/request/order.h"

typedef struct Reference {
        int fd;                                 /* owned */
        char name[SNAPSHOT_NAME_MAX_CHARS + 1]; /* in the spool; "" for a descriptor */
        const char *label; /* what to call it: @name, or the caller's own label; NULL for none */
} Reference;

#define REFERENCE_NONE ((Reference){ .fd = -EBADF })

void reference_done(Request *request, Reference *reference);

/*
 * Finds the name that @name, which may be "latest~N", stands for in the view of the request. 0,
 * REQUEST_ANSWERED, or a negative errno.
 */
_must_check_ int reference_find(Request *request, const char *name,
                                char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]);

/*
 * Opens the snapshot that @object, the parameter @key, refers to. Inside of the handler only,
 * because a descriptor is taken from the call. 0, REQUEST_ANSWERED, or a negative errno.
 */
_must_check_ int reference_open(Request *request, const char *key, json_object *object,
                                Reference *ret);
/* The same by name alone. */
_must_check_ int reference_open_name(Request *request, const char *name, Reference *ret);
/* The SnapshotRef object for a job; moves the descriptor into the order. */
_must_check_ int reference_write(Request *request, JsonWriter *writer, Reference *reference);
/* Both, as the member @key of the order. */
_must_check_ int reference_pass(Request *request, JsonWriter *writer, const char *key,
                                json_object *object);
/* The same for a SubjectRef: a snapshot, or both ends of an interval. */
_must_check_ int reference_pass_subject(Request *request, JsonWriter *writer, const char *key,
                                        json_object *object);
/*
 * The same as reference_pass() for every element of @array; an order has at most
 * LIMIT_SNAPSHOTS_PER_CALL.
 */
_must_check_ int reference_pass_all(Request *request, JsonWriter *writer, const char *key,
                                    json_object *array);
/* The same with a SubjectRef for each element. */
_must_check_ int reference_pass_subjects(Request *request, JsonWriter *writer, const char *key,
                                         json_object *array);
