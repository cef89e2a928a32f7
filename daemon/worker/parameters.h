/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Parameters
 *
 * The parameters of a call as a struct, by a table: every member has its type, required ones are
 * there, others may be missing or null, and there are no further ones. Text and objects are
 * borrowed from the call, descriptors are taken from the frame it came in.
 */

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "wire/frame.h"

enum {
        PARAMETERS_OK,
        PARAMETERS_E_INVALID, /* *ret_culprit names the member */
};

typedef enum ParameterType {
        PARAMETER_TEXT,       /* const char *: without NUL inside, as all JSON here */
        PARAMETER_BOOL,       /* bool */
        PARAMETER_U64,        /* uint64_t */
        PARAMETER_UID,        /* uid_t */
        PARAMETER_REAL,       /* double: any number */
        PARAMETER_DESCRIPTOR, /* int: the owned descriptor that the index stands for */
        PARAMETER_OBJECT,     /* json_object * */
        PARAMETER_ARRAY,      /* json_object * */
        _PARAMETER_TYPE_MAX,
} ParameterType;

typedef struct Parameter {
        const char *name;
        ParameterType type;
        bool required;
        size_t offset; /* in the struct; what is missing keeps the value it has there */
} Parameter;

#define PARAMETER_CULPRIT_BYTES 128

/*
 * @scope: what to write before a culprit's name ("snapshot."). The struct's descriptors must be
 * -EBADF before; those that were taken are in it also on failure.
 */
_must_check_ int parameters_decode(json_object *object, const Parameter *table, size_t n_table,
                                   const char *scope, FrameStream *stream, void *ret,
                                   char ret_culprit[static PARAMETER_CULPRIT_BYTES]);

/* A SnapshotRef as a job gets it. */
typedef struct SnapshotRef {
        int fd;            /* owned */
        const char *label; /* NULL when there is none */
} SnapshotRef;

#define SNAPSHOT_REF_NONE ((SnapshotRef){ .fd = -EBADF })

void snapshot_ref_done(SnapshotRef *ref);
/* @name: of the parameter that @object is the value of. */
_must_check_ int snapshot_ref_decode(json_object *object, const char *name, FrameStream *stream,
                                     SnapshotRef *ret,
                                     char ret_culprit[static PARAMETER_CULPRIT_BYTES]);
