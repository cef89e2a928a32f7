/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Tracer
 *
 * What a system call of a traced thread is, as one line that says who makes it and on what: the
 * fault table counts calls by that line. Digits are left out, so that two runs give the same lines.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

#define CALL_BYTES 512

/*
 * "ROLE SYSCALL OBJECT...": the role is the word of the job, "main", "child" before it has become
 * a job, or "loader" before main(). @daemon: the process that has the role "main".
 */
void call_describe(pid_t tid, pid_t daemon, const struct user_regs_struct *registers,
                   char ret[static CALL_BYTES]);
/* A thread became another program, which its loader puts together now. */
void call_note_exec(pid_t tid, pid_t daemon);
/* A thread has gone. */
void call_forget_role(pid_t tid);

/* Memory of a traced thread; true when all of it could be copied. */
bool memory_read(pid_t tid, unsigned long address, void *ret, size_t n);
bool memory_write(pid_t tid, unsigned long address, const void *bytes, size_t n);
