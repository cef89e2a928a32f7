/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Command
 *
 * Runs a program to its end with our stdin, stdout and stderr. wait4(2) gives the resource usage of
 * the program and its children. While the program runs, Ctrl-C is for the program, and so is each
 * SIGTERM that comes to us: however it ends, we report it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "base/macro.h"

/* The statuses that shells use. */
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
        COMMAND_STDOUT_STDERR, /* our stdout carries the result */
} CommandStdout;

/* 0 if @name can be run; else prints a sentence and returns one of the two statuses above. */
int command_check(const char *name);
/*
 * Runs @words (ended by NULL). 0, or after a sentence one of the two statuses above, or
 * STATUS_FAILED when a signal came before they ran.
 */
int command_run(char *const words[], CommandStdout to, CommandResult *ret);

/* One that runs. */
typedef struct RunningCommand {
        pid_t pid; /* 0: none does */
        uint64_t begin_mono_ns;
} RunningCommand;

/* The first half of command_run(): command_wait() has to follow. */
int command_start(char *const words[], CommandStdout to, RunningCommand *ret);
/* Waits until it ends, which a descriptor of its process tells (pidfd_open(2)). */
void command_wait(RunningCommand *command, CommandResult *ret);
/* The status that a shell would exit with. */
int command_status(const CommandResult *result);
