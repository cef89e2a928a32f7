/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FileRoom
 *
 * The room in which questions about files of others are asked. What the job answers that has the
 * file is taken for an answer by its length alone: what is in it is what a stranger made of a
 * stranger's file.
 */

#include "file/file-question.h"
#include "room/room.h"

/* @open and @userdata as in RoomTerms. */
_must_check_ int file_room_new(int (*open)(void *userdata, int peer_fd), void *userdata,
                               Room **ret);

/*
 * Asks about the file @fd, which is borrowed; @ret: of the type of the question. As room_ask(),
 * where an -errno is about the file.
 */
_must_check_ int file_room_ask(Room *room, FileQuestion question, const RoomTag *tag, int fd,
                               uint64_t deadline_ns, void *ret);
/* As room_take_late(). */
_must_check_ int file_room_take_late(Room *room, uint64_t deadline_ns, RoomTag *ret_tag,
                                     FileQuestion *ret_question, FileAnswer *ret);
