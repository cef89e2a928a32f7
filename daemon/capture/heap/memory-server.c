/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/memory-server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/heap/heap-probe.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"
#include "room/room.h"

typedef struct MemoryServer {
        MemoryJob *job;   /* owned */
        HeapProbe *probe; /* owned */
} MemoryServer;

/* commands */

/* On the thread that may be left behind. */
static void arguments_step(MemoryWork *work) {
        _cleanup_(fd_closep) int dir_fd = -EBADF, fd = -EBADF;
        char path[64], text[2048];
        ProcStat stat;
        ssize_t n_read;
        size_t n;
        int r;

        (void) snprintf(path, sizeof(path), "%u", work->life.tgid);
        dir_fd = openat(work->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0) {
                work->command_result = text_file_code(errno);
                return;
        }
        /*
         * The kernel gives no arguments that lie in a mapping of a file (since 4.18), so that a
         * page of a strange file system is not waited for; but it takes the lock of the memory. A
         * leader that has exited has no memory, its siblings have.
         */
        (void) snprintf(path, sizeof(path), "task/%u/cmdline", work->life.tid);
        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
        n_read = fd < 0 ? -1 : read(fd, work->arguments, sizeof(work->arguments));
        if (n_read < 0) {
                work->command_result = text_file_code(errno);
                return;
        }
        work->n_arguments = (size_t) n_read;
        /* The number may be another process's by now, which began at another time. */
        (void) snprintf(path, sizeof(path), "task/%u/stat", work->life.tgid);
        r = text_file_read(dir_fd, path, text, sizeof(text), &n);
        if (r == 0)
                r = proc_stat_parse((Span){ text, n }, &stat);
        if (r == 0 && work->life.start_ticks != 0 && stat.starttime != work->life.start_ticks)
                r = TEXT_E_VANISHED;
        work->command_result = r;
}

/* The parts of a command that the capture does not want do not leave this process. */
static HeapFailure read_command(MemoryJob *job, const MemoryLife *life, CommandLines lines,
                                ProcessCommand *ret) {
        HeapFailure failure = memory_job_begin(job, MEMORY_COMMANDS, life, false);
        MemoryWork *work;
        Span arguments;

        if (failure != HEAP_FAILURE_NONE)
                return failure;
        work = memory_job_work(job);
        if (!work)
                return HEAP_FAILURE_PROCESS_VM_READV;
        work->proc_fd = job->options.proc_fd;
        work->life = *life;
        failure = memory_job_run(job, arguments_step, memory_job_patience_ns(job, true));
        if (failure == HEAP_FAILURE_NONE)
                failure = heap_failure_of_reading(work->command_result,
                                                  HEAP_FAILURE_PROCESS_VM_READV);
        if (failure != HEAP_FAILURE_NONE)
                return failure;
        arguments = (Span){ work->arguments, work->n_arguments };
        ret->n_command = (uint32_t) command_shorten(arguments, ret->command);
        if (lines == COMMAND_LINES_FULL)
                ret->n_line = (uint32_t) command_keep(arguments, ret->line);
        return HEAP_FAILURE_NONE;
}

/* serving */

/* The body lies where malloc() put it, so it is aligned for any type. */
static int answer(void *userdata, const RoomCall *call, void *ret, size_t *ret_n) {
        const void *asked = call->body.bytes;
        MemoryServer *server = userdata;
        const CommandsAsked *commands = asked;
        MemoryAnswered *answered = ret;

        switch ((MemoryQuestion) call->question) {
        case MEMORY_QUESTION_HEAP:
                return heap_probe_answer(server->probe, asked, call->body.n, &answered->HEAP,
                                         ret_n);
        case MEMORY_QUESTION_COMMANDS:
                if (call->body.n < commands_asked_bytes(0) || commands->n > BATCH_MAX_THREADS ||
                    call->body.n != commands_asked_bytes(commands->n))
                        return -EINVAL;
                for (uint32_t i = 0; i < commands->n; i++)
                        answered->COMMANDS.commands[i].failure = read_command(
                                server->job, &commands->lives[i], (CommandLines) commands->lines,
                                &answered->COMMANDS.commands[i].command);
                *ret_n = commands_answered_bytes(commands->n);
                return 0;
        case MEMORY_QUESTION_TRIAL:
                if (call->body.n != sizeof(MemoryLife))
                        return -EINVAL;
                answered->TRIAL.failure = heap_probe_try(server->probe, asked);
                *ret_n = sizeof(answered->TRIAL);
                return 0;
        case MEMORY_QUESTION_END:
                if (call->body.n != sizeof(MemoryEnd))
                        return -EINVAL;
                heap_probe_keep(server->probe);
                *ret_n = sizeof(answered->END);
                return 0;
        case _MEMORY_QUESTION_MAX:
                break;
        }
        return -EOPNOTSUPP;
}

int memory_server_run(int socket_fd, const MemoryJobOptions *options) {
        MemoryServer server = { .job = NULL };
        const RoomService service = {
                .max_body_bytes = sizeof(MemoryAsked),
                .max_answer_bytes = sizeof(MemoryAnswered),
                .answer = answer,
                .userdata = &server,
        };
        int r = memory_job_new(options, &server.job);

        if (r == 0)
                r = heap_probe_new(server.job, &server.probe);
        if (r == 0)
                r = room_serve(socket_fd, &service);
        server.probe = heap_probe_free(server.probe);
        server.job = memory_job_free(server.job);
        return r;
}
