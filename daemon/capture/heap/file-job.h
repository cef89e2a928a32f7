/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FileJob
 *
 * A process with privileges asks about a file that belongs to somebody else, and lets a file job
 * answer, which has none. A question goes through a helper (helper/helper.h) with the descriptor of
 * the file and no more. An answer is taken for one by its length, and then by its bounds: what is
 * in it is what a stranger made of a stranger's file.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "capture/heap/heap-cache.h"
#include "capture/heap/heap-failure.h"
#include "helper/helper.h"

/*
 * The side that answers: a file job, or a thread of a test. Answers one question after the other,
 * until the other side closes its end: 0. -EBADMSG when that side sends something else, -errno when
 * the socket fails. @socket_fd is borrowed.
 *
 * The result of an answer is -EINVAL when not exactly one descriptor came, -EOPNOTSUPP for an
 * unknown question, -EBADF for what is not a regular file, and else what reading the file failed
 * with.
 */
_must_check_ int file_server_run(int socket_fd);

/* The side that asks, and keeps what it was told for further captures. */
typedef struct FileAnswers FileAnswers;

/*
 * @cache_fd, borrowed, has what is known of files; negative: nothing has. @open and @userdata as
 * HelperTerms has them, for a file job; NULL: there is none. -ENOMEM.
 */
_must_check_ int file_answers_new(int cache_fd, int (*open)(void *userdata, int peer_fd),
                                  void *userdata, FileAnswers **ret);
FileAnswers *file_answers_free(FileAnswers *answers);
DEFINE_CLEANUP(FileAnswers *, file_answers_free);

/* Finds what this capture or an earlier one was told of a file. */
bool file_answers_find(FileAnswers *answers, FileQuestion question, const FileIdentity *identity,
                       FileAnswer *ret);
/*
 * Asks about the file @fd, which is @identity, and waits @patience_ns for the answer, which is
 * valid then. HEAP_FAILURE_NONE; FILE_UNREADABLE when there will be no answer; TIME_BUDGET or
 * FILE_JOB when there is none now. An answer that comes later is found by who asks next, which may
 * be in the next capture: a program of a gigabyte takes longer than we wait for it.
 */
HeapFailure file_answers_ask(FileAnswers *answers, FileQuestion question,
                             const FileIdentity *identity, int fd, uint64_t patience_ns,
                             FileAnswer *ret);
/*
 * At last keeps what is known of files for the next capture, for which it waits @patience_ns once
 * more for an answer that was late.
 */
void file_answers_keep(FileAnswers *answers, uint64_t patience_ns);
