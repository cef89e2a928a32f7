/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Collector
 *
 * The side of a recording that reads what belongs to strangers: it unwinds the stacks that the
 * recording job sends, gives their frames names, and adds them up.
 */

#include "base/macro.h"
#include "record/course/course.h"
#include "record/record-message.h"
#include "record/stack-table.h"

typedef struct Collector Collector;

_must_check_ int collector_new(Collector **ret);
/*
 * Keeps where frames are in their files, so that collector_find_lines() can find lines of their
 * sources; before the first message.
 */
void collector_want_lines(Collector *collector);
/*
 * Finds the lines, for at most @max_ns; to be called after the last message. *ret_lost is the
 * number of frames for which time or memory ran out. A frame in a file without debugging
 * information has no line, and does not count as lost. Returns -ENOMEM if there is no memory.
 */
_must_check_ int collector_find_lines(Collector *collector, uint64_t max_ns, uint64_t *ret_lost);
Collector *collector_free(Collector *collector);
DEFINE_CLEANUP(Collector *, collector_free);

/*
 * Takes messages until one is RECORD_MESSAGE_END, which is returned, and answers those that want an
 * answer. @max_bytes: of the file that it will be, and @max_held of memory; the other side is told
 * before there is more. @space: of the message. -errno.
 */
_must_check_ int collector_run(Collector *collector, int socket, uint64_t max_bytes,
                               uint64_t max_held,
                               uint64_t space[static RECORD_MESSAGE_MAX_BYTES / 8],
                               RecordMessage *ret_end);
/* Takes @message with its descriptor. -EBADMSG for one that makes no sense; -ENOMEM. */
_must_check_ int collector_take(Collector *collector, RecordMessage *message);

const StackTable *collector_table(const Collector *collector);
const Course *collector_course(const Collector *collector);
const Modules *collector_modules(const Collector *collector);
/* Stacks of user mode that were unwound down to the first function, and all others. */
void collector_count(const Collector *collector, uint64_t *ret_complete, uint64_t *ret_cut);
