/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FileRoom
 *
 * The side that asks about files of others and trusts nobody with the answer but a job without
 * privileges. The other side is had when there is the first question, and whatever becomes of it
 * (it never comes, dies, hangs in a file, talks nonsense) costs the questions alone: each has a
 * deadline. Answers are checked for their form; what is in them is still what a stranger made of a
 * stranger's file.
 *
 * Several threads may ask, also such as have got descriptor tables of their own since the room was
 * made; their questions wait for each other. After one that was late the next is not sent before
 * its answer came, so there is never more than one on its way.
 */

#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "file/file-question.h"

typedef struct FileRoom FileRoom;

enum {
        FILE_ROOM_OK,
        FILE_ROOM_E_LATE,   /* no answer by the deadline, or two are late already */
        FILE_ROOM_E_GONE,   /* nobody answers, now and later */
        FILE_ROOM_E_UNABLE, /* it could not be asked now: no descriptor or memory is left */
};

/*
 * @open is called once, at the first question, to get @peer_fd, which it consumes in any case, to
 * somebody who runs file_server_run() on it. 0, or -errno when there is nobody.
 */
_must_check_ int file_room_new(int (*open)(void *userdata, int peer_fd), void *userdata,
                               FileRoom **ret);
/* After the last question of any thread. The other side sees that nobody asks any more. */
FileRoom *file_room_free(FileRoom *room);
DEFINE_CLEANUP(FileRoom *, file_room_free);

/* What the side that asks knows a question by; its own affair. */
typedef struct FileTag {
        uint64_t words[5];
} FileTag;

/*
 * Asks about the file @fd, which is borrowed: a duplicate is sent. @deadline_ns: CLOCK_MONOTONIC;
 * @ret: of the type of the question. 0, FILE_ROOM_E_*, or the -errno that the file job says
 * (file-question.h), and only that: it is about the file.
 */
_must_check_ int file_room_ask(FileRoom *room, FileQuestion question, const FileTag *tag, int fd,
                               uint64_t deadline_ns, void *ret);

/*
 * Gives the answer to the last question that was late, once, waiting for it until @deadline_ns. 0;
 * FILE_ROOM_E_LATE when it has not come, or no question is late; FILE_ROOM_E_GONE, _UNABLE; or the
 * -errno that the file job says.
 */
_must_check_ int file_room_take_late(FileRoom *room, uint64_t deadline_ns, FileTag *ret_tag,
                                     FileQuestion *ret_question, FileAnswer *ret);
