/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FileQuestion
 *
 * What a process with privileges asks about a file that belongs to somebody else, and lets a file
 * job answer, which has none. A question goes through a room (room/room.h) with the descriptor of
 * the file and no more. To ask something else, add a row.
 */

#include <stddef.h>
#include <stdint.h>
#include "kernel/memory/heap-layout.h"
#include "kernel/memory/thread-pointer.h"
#include "room/room.h"

/* id, type of the answer, and what finds it: int (int fd, uint64_t size, TYPE *) */
#define FILE_QUESTIONS(Q)                            \
        Q(HEAP_LAYOUT, HeapLayout, heap_layout_find) \
        Q(THREAD_LAYOUT, ThreadLayout, thread_layout_find)

#define FILE_QUESTION_ID(id, ...) FILE_QUESTION_##id,
typedef enum FileQuestion { FILE_QUESTIONS(FILE_QUESTION_ID) _FILE_QUESTION_MAX } FileQuestion;

/* Plain data, of any of the types. */
#define FILE_ANSWER_MEMBER(id, type, find) type id;
typedef union FileAnswer {
        FILE_QUESTIONS(FILE_ANSWER_MEMBER)
} FileAnswer;

/*
 * The result of an answer: -EINVAL when not exactly one descriptor came, -EOPNOTSUPP for an unknown
 * question, -EBADF for what is not a regular file, and what reading the file failed with.
 */
typedef RoomAsked FileAsked;
typedef RoomAnswered FileAnswered;

/*
 * A file's content has not changed while none of these has. Plain data: lies in the cache of
 * captures.
 */
typedef struct FileIdentity {
        uint64_t dev, inode, size;
        int64_t modified_ns, changed_ns;
} FileIdentity;

/* The length of the type of an answer; 0 for an unknown question. */
size_t file_answer_bytes(uint32_t question);
