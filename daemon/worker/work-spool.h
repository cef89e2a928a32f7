/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * WorkSpool
 *
 * What the calls that write to the spool have in common: how they name it, and which error each of
 * its refusals becomes. The directory comes as a descriptor with the call; its path is for messages
 * only.
 */

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "spool/spool.h"
#include "worker/work.h"

typedef struct SpoolParameters {
        int directory;       /* owned */
        const char *path;    /* NULL when the call has none */
        json_object *limits; /* NULL for none */
} SpoolParameters;

#define SPOOL_PARAMETERS_NONE ((SpoolParameters){ .directory = -EBADF })

/* Rows of a table of Parameter, for a SpoolParameters that is the member @spool of @type. */
#define SPOOL_PARAMETERS(type, spool)                                                         \
        { JOB_KEY_DIRECTORY, PARAMETER_DESCRIPTOR, true, offsetof(type, spool.directory) }, { \
                JOB_KEY_SPOOL_PATH, PARAMETER_TEXT, false, offsetof(type, spool.path)         \
        }
#define SPOOL_LIMITS_PARAMETER(type, spool) \
        { JOB_KEY_LIMITS, PARAMETER_OBJECT, false, offsetof(type, spool.limits) }

void spool_parameters_done(SpoolParameters *parameters);

/* Takes the directory. SpoolUnavailable is refused here. */
_must_check_ int work_adopt_spool(Work *work, SpoolParameters *parameters, Spool **ret);
/* All members are required. */
_must_check_ int work_decode_limits(Work *work, const SpoolParameters *parameters,
                                    SpoolLimits *ret);

/* Refuses for the positive code @r about the snapshot @name; negative ones are passed on. */
_must_check_ int work_refuse_spool(Work *work, Spool *spool, const char *name, int r);

/*
 * Called right before @file is published: writes it to the disk and checks that the peer is still
 * there. Publishing syncs again but has nothing left to wait for, so a peer that hangs up is
 * noticed until a few system calls before the snapshot appears. -ECANCELED.
 */
_must_check_ int work_await_disk(Work *work, Spool *spool, int file);

/* Writes the member "rotated": the names of spool_make_room(). Nothing when there are none. */
void work_write_rotated(JsonWriter *writer, const Buffer *rotated);
