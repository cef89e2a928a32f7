/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * WaitShift
 *
 * What the threads of a group wait for instead of what they did in another interval: of two
 * intervals the time that moved from one part of the account (analysis/account) to another. Threads
 * that came to be or ended bring or take time of their own, which moved nowhere, so a part has
 * gained no more than the others together have lost.
 *
 * Of each group one shift is told, to a wait or away from one that nobody chooses to be in: for a
 * lock, in the kernel or for storage. Those come before the others, which may be idleness.
 */

#include "analysis/compare/group-account.h"
#include "analysis/group/group.h"
#include "base/macro.h"
#include "json/json-writer.h"
#include "view/view.h"

#define WAIT_SHIFTS_MAX 16 /* that are written, the largest */

/*
 * Writes an array of WaitShift of the interface, of the groups that pass the filter of the view. 0
 * or -ENOMEM, and then nothing was written.
 */
_must_check_ int wait_shifts_write(JsonWriter *writer, const GroupTable *table, const View *view);
