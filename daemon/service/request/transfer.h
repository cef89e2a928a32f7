/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Transfer
 *
 * A file that a sandboxed job writes for a request: unnamed, in the file system of the spool, and
 * never into the space that is kept free; or in memory, for the caller alone. The job's reply
 * about the file is decoded here; the file itself never is.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/macro.h"
#include "base/name.h"
#include "service/request/order.h"

typedef struct Transfer {
        Request *request;   /* whose it is */
        const Spool *spool; /* borrowed; @file is there */
        int file;           /* owned; ours beside the job's own */
        int from;           /* owned: what to import */
        const char *label;
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];
} Transfer;

/* The request's state from now on. */
_must_check_ int transfer_new(Request *request, Transfer **ret);
/* "output" of the order: the file, made now. 0, REQUEST_ANSWERED, or a negative errno. */
_must_check_ int transfer_add_output(Request *request, JsonWriter *writer, Transfer *transfer);
/* "output" of the order: a file in memory, which is lent to the caller when it is written. */
_must_check_ int transfer_add_memory(Request *request, JsonWriter *writer, Transfer *transfer);
/* The same file again, as @key of another order. */
_must_check_ int transfer_add_file(Request *request, JsonWriter *writer, Transfer *transfer,
                                   const char *key);

/*
 * The member @key of a job's reply. *ret_whole owns it and is the caller's to put. -EBADMSG
 * when it is not there or of another type.
 */
_must_check_ int transfer_decode(Span frame, const char *key, json_type type,
                                 json_object **ret_whole, json_object **ret);
