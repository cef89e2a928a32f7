/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Command
 *
 * A program run to its end with our stdin, stdout and stderr, and the account wait4(2) gave of it
 * and its children. Ctrl-C is the program's while it runs.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include "base/macro.h"

/* As shells have it. */
enum {
        COMMAND_STATUS_CANNOT_RUN = 126,
        COMMAND_STATUS_NOT_FOUND = 127,
        COMMAND_STATUS_SIGNALLED = 128, /* plus the signal */
};

typedef struct CommandResult {
        bool signalled;
        int code; /* the exit status, or the signal */
        uint64_t elapsed_ns;
        struct rusage usage;
} CommandResult;

typedef enum CommandStdout {
        COMMAND_STDOUT_OURS,
        COMMAND_STDOUT_STDERR, /* ours carries the result */
} CommandStdout;

/* 0 when there is a program @name; else one of the two statuses above, said. */
int command_check(const char *name);
/* Runs @words (ended by NULL) to the end. 0, or one of the two statuses above, said. */
int command_run(char *const words[], CommandStdout to, CommandResult *ret);
/* What a shell would exit with. */
int command_status(const CommandResult *result);
