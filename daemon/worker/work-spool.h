/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * WorkSpool
 *
 * What captures have in common with jobs that change the spool: both open it by a descriptor of the
 * order, and refuse what it refuses.
 */

#include "base/macro.h"
#include "spool/spool.h"
#include "worker/work.h"

/*
 * Opens the spool; takes over the descriptors in any case. One that cannot be used is refused with
 * SpoolUnavailable.
 */
_must_check_ int work_open_spool(Work *work, const OrderSpool *order, int directory, int roll,
                                 Spool **ret);
/*
 * Which capabilities a job needs in that directory: in one of its own it may change everything, and
 * reads everything unless another user, which can only be root, has put a file there. What cannot
 * be found out counts as such a file.
 */
uint64_t work_spool_capabilities(int directory);

/* Refuses the call because of SPOOL_E_* @r about the snapshot @name. Passes on a negative @r. */
_must_check_ int work_refuse_spool(Work *work, Spool *spool, const char *name, int r);

/* The name of a snapshot without a tag: "20261120T153501.123Z", the time it begins at. */
_must_check_ int work_time_name(const Head *head,
                                char ret_name[static SNAPSHOT_NAME_MAX_CHARS + 1]);
