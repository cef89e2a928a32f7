/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/memory-job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"
#include "helper/helper.h"

#define PATIENCE_LEAST_NS (2 * NSEC_PER_MSEC)

/* Parts of the limit. */
#define OWNER_PART 2 /* what all processes of one owner may take */
#define SLOW_PART 8  /* what those may that were slow before, besides */
#define LONG_PART 16 /* who is waited for as long as that is slow */

/* The patience starts anew so often for a thread that is ready to run. */
#define MAX_STARVED 7

int memory_job_new(const MemoryJobOptions *options, MemoryJob **ret) {
        MemoryJob *job = calloc(1, sizeof(*job));

        if (!job)
                return -ENOMEM;
        job->options = *options;
        job->account = job->accounts;
        *ret = job;
        return 0;
}

MemoryJob *memory_job_free(MemoryJob *job) {
        if (!job)
                return NULL;
        job->thread = blocking_thread_free(job->thread);
        free(job);
        return NULL;
}

/* the process at hand */

/* Where a start is not known, the number of the process has to do. */
static bool is_same(const MemoryLife *a, const MemoryLife *b) {
        return a->tgid == b->tgid &&
               (a->start_ticks == b->start_ticks || a->start_ticks == 0 || b->start_ticks == 0);
}

HeapFailure memory_job_begin(MemoryJob *job, MemoryPurpose purpose, const MemoryLife *life,
                             bool was_slow) {
        const MemoryJobOptions *options = &job->options;
        size_t at = 0;

        job->purpose = purpose;
        job->life = *life;
        while (at < job->n_accounts && job->accounts[at].owner != life->owner)
                at++;
        if (at == MEMORY_JOB_MAX_OWNERS)
                at--;
        else if (at == job->n_accounts)
                job->accounts[job->n_accounts++] = (OwnerAccount){ .owner = life->owner };
        job->account = &job->accounts[at];
        job->is_of_slow = was_slow;
        job->waited_ns = 0;
        for (size_t i = 0; i < options->n_hung; i++)
                if (is_same(&options->hung[i], life))
                        return HEAP_FAILURE_HUNG;
        for (size_t i = 0; i < job->n_left; i++)
                if (is_same(&job->left[i], life))
                        return HEAP_FAILURE_HUNG;
        for (size_t i = 0; i < options->n_barred_owners; i++)
                if (options->barred_owners[i] == life->owner)
                        return HEAP_FAILURE_OWNER_HUNG;
        return job->account->n_left < MEMORY_JOB_MAX_LEFT ? HEAP_FAILURE_NONE
                                                          : HEAP_FAILURE_OWNER_HUNG;
}

bool memory_job_was_slow(const MemoryJob *job) {
        return job->waited_ns >= MAX_OF(job->options.limit_ns / LONG_PART, PATIENCE_LEAST_NS);
}

/* time */

uint64_t memory_job_now_ns(const MemoryJob *job) {
        const CaptureSystem *system = job->options.system;

        return system->now_ns(system->userdata);
}

void memory_job_spend(MemoryJob *job, uint64_t ns) {
        if (job->is_of_slow)
                job->slow_ns[job->purpose] += ns;
        else {
                job->spent_ns[job->purpose] += ns;
                job->account->spent_ns[job->purpose] += ns;
        }
}

static uint64_t left_of(uint64_t limit_ns, uint64_t spent_ns) {
        return limit_ns > spent_ns ? limit_ns - spent_ns : 0;
}

uint64_t memory_job_patience_ns(const MemoryJob *job, bool is_known) {
        uint64_t limit_ns = job->options.limit_ns, left_ns, own_ns;

        if (job->is_of_slow)
                left_ns = own_ns = left_of(limit_ns / SLOW_PART, job->slow_ns[job->purpose]);
        else {
                left_ns = left_of(is_known ? limit_ns : limit_ns - limit_ns / 4,
                                  job->spent_ns[job->purpose]);
                own_ns = left_of(limit_ns / OWNER_PART, job->account->spent_ns[job->purpose]);
        }
        if (left_ns == 0 || own_ns == 0)
                return 0;
        left_ns = MIN_OF(left_ns / 2, own_ns);
        return MAX_OF(left_ns, PATIENCE_LEAST_NS);
}

/*
 * At the end there is one answer at most to wait for. The job ends with the capture: a file that
 * takes longer than this would be parsed again and again, and never be known. A caller who waits
 * for the snapshot waits for this, too, so the patience does not grow with a generous limit.
 */
#define LAST_PATIENCE 5 /* times the limit */
#define LAST_PATIENCE_MAX_NS (10 * NSEC_PER_SEC)

uint64_t memory_job_last_patience_ns(uint64_t limit_ns) {
        return MIN_OF(number_multiply_saturating(limit_ns, LAST_PATIENCE), LAST_PATIENCE_MAX_NS);
}

/* the thread */

static void run(void *memory) {
        MemoryWork *work = memory;

        work->step(work);
}

static void done(void *memory) {
        MemoryWork *work = memory;

        for (size_t i = 0; i < work->n_files; i++)
                work->files[i].fd = fd_close(work->files[i].fd);
}

static const BlockingWork memory_work = { .n_bytes = sizeof(MemoryWork), .run = run, .done = done };

MemoryWork *memory_job_work(MemoryJob *job) {
        MemoryWork *work;

        if (!job->thread && blocking_thread_new(&memory_work, &job->thread) != 0)
                return NULL;
        work = (void *) job->thread->memory;
        work->life = job->life;
        work->proc_fd = job->options.proc_fd;
        work->counters.machine = thread_machine;
        /* A copy: one that is left behind may outlive the system. */
        work->counters.system = *job->options.system;
        return work;
}

HeapFailure memory_job_run(MemoryJob *job, void (*step)(MemoryWork *work), uint64_t patience_ns) {
        MemoryWork *work = (void *) job->thread->memory;
        uint64_t begin_ns = memory_job_now_ns(job), took_ns;
        int r;

        if (patience_ns == 0)
                return HEAP_FAILURE_TIME_BUDGET;
        work->step = step;
        r = blocking_thread_run(job->thread, patience_ns);
        for (unsigned i = 0; r == -ETIMEDOUT && i < MAX_STARVED; i++)
                r = blocking_thread_wait(job->thread, patience_ns);
        took_ns = memory_job_now_ns(job) - begin_ns;
        memory_job_spend(job, took_ns);
        job->waited_ns += took_ns;
        if (r == 0)
                return HEAP_FAILURE_NONE;
        job->thread = blocking_thread_free(job->thread);
        job->waited_ns = UINT64_MAX;
        job->account->n_left++;
        if (job->n_left < ELEMENTSOF(job->left))
                job->left[job->n_left++] = job->life;
        if (job->options.on_left)
                job->options.on_left(job->options.userdata, &job->life);
        return HEAP_FAILURE_TIMED_OUT;
}

/* commands */

/* On the thread that may be left behind. */
static void arguments_step(MemoryWork *work) {
        _cleanup_(fd_closep) int dir_fd = -EBADF, fd = -EBADF;
        char path[64], text[2048];
        ssize_t n_read = -1;
        ProcStat stat;
        size_t n;
        int r;

        (void) snprintf(path, sizeof(path), "%u", work->life.tgid);
        dir_fd = openat(work->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        /*
         * The kernel gives no arguments that lie in a mapping of a file (since 4.18), so that a
         * page of a strange file system is not waited for; but it takes the lock of the memory. A
         * leader that has exited has no memory, its siblings have.
         */
        (void) snprintf(path, sizeof(path), "task/%u/cmdline", work->life.tid);
        if (dir_fd >= 0)
                fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                n_read = read(fd, work->arguments, sizeof(work->arguments));
        if (n_read < 0) {
                work->result = text_file_code(errno);
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
        work->result = r;
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
        failure = memory_job_run(job, arguments_step, memory_job_patience_ns(job, true));
        if (failure == HEAP_FAILURE_NONE)
                failure = heap_failure_of_reading(work->result, HEAP_FAILURE_PROCESS_VM_READV);
        if (failure != HEAP_FAILURE_NONE)
                return failure;
        arguments = (Span){ work->arguments, work->n_arguments };
        ret->n_command = (uint32_t) command_shorten(arguments, ret->command);
        if (lines == COMMAND_LINES_FULL)
                ret->n_line = (uint32_t) command_keep(arguments, ret->line);
        return HEAP_FAILURE_NONE;
}

/* stacks */

/* On the thread that may be left behind. A stack has pages up to the end of its mapping. */
static void stack_step(MemoryWork *work) {
        const CaptureSystem *system = &work->counters.system;
        size_t first = RECORD_STACK_PAGE - work->sp % RECORD_STACK_PAGE, n_pages = 0, n_text;
        struct iovec local[MEMORY_STACK_BYTES / RECORD_STACK_PAGE + 1];
        struct iovec pages[ELEMENTSOF(local)];
        char path[64], text[8192];
        ProcStatus status;
        ssize_t n_read;
        int r;

        for (size_t at = 0; at < sizeof(work->stack); at += pages[n_pages++].iov_len) {
                size_t n = at == 0 ? first : MIN_OF(RECORD_STACK_PAGE, sizeof(work->stack) - at);

                local[n_pages] = (struct iovec){ work->stack + at, n };
                pages[n_pages] = (struct iovec){ (void *) (uintptr_t) (work->sp + at), n };
        }
        /* By the thread: a leader that has exited has no memory, its siblings have. */
        n_read = system->read_memory(system->userdata, (pid_t) work->life.tid, local, pages,
                                     n_pages);
        if (n_read < 0) {
                work->result = text_file_code((int) -n_read);
                return;
        }
        work->n_stack = (size_t) n_read;
        /* Since it was seen to wait it may have gone on, and its number be another thread's. */
        (void) snprintf(path, sizeof(path), "%u/task/%u/status", work->life.tgid, work->life.tid);
        r = text_file_read(work->proc_fd, path, text, sizeof(text), &n_text);
        if (r == 0)
                r = proc_status_parse((Span){ text, n_text }, &status);
        if (r == 0 && (!status.has_voluntary_csw || !status.has_nonvoluntary_csw ||
                       status.voluntary_csw + status.nonvoluntary_csw != work->n_switches))
                r = TEXT_E_VANISHED;
        work->result = r;
}

static HeapFailure read_stack(MemoryJob *job, const StackAsked *asked, StackAnswered *ret) {
        HeapFailure failure = memory_job_begin(job, MEMORY_STACKS, &asked->life, false);
        MemoryWork *work;

        if (failure != HEAP_FAILURE_NONE)
                return failure;
        work = memory_job_work(job);
        if (!work)
                return HEAP_FAILURE_PROCESS_VM_READV;
        work->sp = asked->sp;
        work->n_switches = asked->n_switches;
        failure = memory_job_run(job, stack_step, memory_job_patience_ns(job, true));
        if (failure == HEAP_FAILURE_NONE)
                failure = heap_failure_of_reading(work->result, HEAP_FAILURE_PROCESS_VM_READV);
        if (failure != HEAP_FAILURE_NONE)
                return failure;
        ret->n = (uint32_t) work->n_stack;
        memcpy(ret->bytes, work->stack, work->n_stack);
        return HEAP_FAILURE_NONE;
}

/* serving */

typedef struct MemoryServer {
        MemoryJob *job;   /* owned */
        HeapProbe *probe; /* owned */
} MemoryServer;

/* The body lies where malloc() put it, so it is aligned for any type. */
static int answer(void *userdata, const HelperCall *call, void *ret, size_t *ret_n) {
        MemoryQuestion question = (MemoryQuestion) call->question;
        const void *asked = call->body.bytes;
        const CommandsAsked *commands = asked;
        const HeapAsked *heap = asked;
        MemoryServer *server = userdata;
        MemoryAnswered *answered = ret;
        size_t n = 0;

        if (call->question >= _MEMORY_QUESTION_MAX)
                return -EOPNOTSUPP;
        if (call->body.n < memory_asked_bytes(question, 0))
                return -EINVAL;
        if (question == MEMORY_QUESTION_HEAP)
                n = heap->n_processes;
        else if (question == MEMORY_QUESTION_COMMANDS)
                n = commands->n;
        if (n > BATCH_MAX_THREADS || call->body.n != memory_asked_bytes(question, n))
                return -EINVAL;
        *ret_n = memory_answered_bytes(question, n);
        switch (question) {
        case MEMORY_QUESTION_HEAP:
                return heap_probe_answer(server->probe, heap, &answered->HEAP);
        case MEMORY_QUESTION_COMMANDS:
                for (size_t i = 0; i < n; i++) {
                        AnsweredCommand *one = &answered->COMMANDS[i];

                        one->failure = read_command(server->job, &commands->lives[i],
                                                    (CommandLines) commands->lines, &one->command);
                }
                return 0;
        case MEMORY_QUESTION_TRIAL:
                answered->TRIAL = heap_probe_try(server->probe, asked);
                return 0;
        case MEMORY_QUESTION_STACK:
                answered->STACK.failure = read_stack(server->job, asked, &answered->STACK);
                return 0;
        case MEMORY_QUESTION_END:
                heap_probe_keep(server->probe);
                return 0;
        case _MEMORY_QUESTION_MAX:
                break;
        }
        return -EOPNOTSUPP;
}

int memory_server_run(int socket_fd, const MemoryJobOptions *options) {
        MemoryServer server = { .job = NULL };
        const HelperService service = {
                .max_body_bytes = sizeof(MemoryAsked),
                .max_answer_bytes = sizeof(MemoryAnswered),
                .answer = answer,
                .userdata = &server,
        };
        int r = memory_job_new(options, &server.job);

        if (r == 0)
                r = heap_probe_new(server.job, &server.probe);
        if (r == 0)
                r = helper_serve(socket_fd, &service);
        server.probe = heap_probe_free(server.probe);
        server.job = memory_job_free(server.job);
        return r;
}
