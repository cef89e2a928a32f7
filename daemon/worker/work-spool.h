/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * WorkSpool
 *
 * The common parts of calls that write to the spool: the parameters that identify it, and the error
 * that each of its refusals becomes. The directory comes as a descriptor with the call; its path is
 * used in messages only.
 */

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "spool/spool.h"
#include "worker/work.h"

typedef struct SpoolParameters {
        int directory;       /* owned */
        int roll;            /* owned: what is in it, spool-directory.h; negative: the files tell */
        const char *path;    /* NULL when the call has none */
        json_object *limits; /* NULL for none */
} SpoolParameters;

#define SPOOL_PARAMETERS_NONE ((SpoolParameters){ .directory = -EBADF, .roll = -EBADF })

/* Rows of a table of Parameter, for a SpoolParameters that is the member @spool of @type. */
#define SPOOL_PARAMETERS(type, spool)                                                        \
        { JOB_KEY_DIRECTORY, PARAMETER_DESCRIPTOR, true, offsetof(type, spool.directory) },  \
                { JOB_KEY_SPOOL_PATH, PARAMETER_TEXT, false, offsetof(type, spool.path) }, { \
                JOB_KEY_ROLL, PARAMETER_DESCRIPTOR, false, offsetof(type, spool.roll)        \
        }
#define SPOOL_LIMITS_PARAMETER(type, spool) \
        { JOB_KEY_LIMITS, PARAMETER_OBJECT, false, offsetof(type, spool.limits) }

void spool_parameters_done(SpoolParameters *parameters);

/*
 * Takes over the directory and enters the sandbox of the job, without capabilities if the directory
 * and all files in it belong to us. An unusable spool is refused with SpoolUnavailable.
 */
_must_check_ int work_adopt_spool(Work *work, SpoolParameters *parameters, Spool **ret);
/*
 * Which capabilities a job needs in that directory: in one of its own it may change everything, and
 * reads everything unless another user, which can only be root, has put a file there. What cannot
 * be found out counts as such a file.
 */
uint64_t work_spool_capabilities(int directory);
/* Decodes the limits. Without them there are none; within them all members are required. */
_must_check_ int work_decode_limits(Work *work, const SpoolParameters *parameters,
                                    SpoolLimits *ret);

/* Refuses the call because of SPOOL_E_* @r about the snapshot @name. Passes on a negative @r. */
_must_check_ int work_refuse_spool(Work *work, Spool *spool, const char *name, int r);

/* The name of a snapshot without a tag: "20261120T153501.123Z", the time it begins at. */
_must_check_ int work_time_name(const Head *head,
                                char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]);

/*
 * Writes @file to the disk and checks that the peer is still there: -ECANCELED. Call it right
 * before publishing. Publishing syncs again, but then has nothing left to wait for; a peer that
 * hangs up is therefore noticed until a few system calls before the snapshot appears.
 */
_must_check_ int work_await_disk(Work *work, Spool *spool, int file);

/*
 * Tells the main process what this job did to the spool. To be called when that is done, before the
 * last reply is begun.
 */
_must_check_ int work_tell_change(Work *work, Spool *spool);

/* Writes the member "rotated", the names from spool_make_room(), unless there are none. */
void work_write_rotated(JsonWriter *writer, const Buffer *rotated);
