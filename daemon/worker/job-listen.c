/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "exits/exit-ledger.h"
#include "exits/exit-line.h"
#include "kernel/taskstats/taskstats.h"

#define POSSIBLE_CPUS "/sys/devices/system/cpu/possible"
#define CPUS_BYTES 4096
/*
 * Exits that arrive while the socket is emptied for a capture are taken too, but not for ever: so
 * many batches are more than its buffer can hold.
 */
#define MAX_BATCHES_BEFORE_TELLING 256u

/*
 * So long it leaves the socket alone after it has taken what was there. A storm of exits then
 * comes in batches, and threads that end meanwhile need not wake this process. The buffer holds
 * what ends within hundreds of milliseconds.
 */
#define REST_MS 10

/* A step ends with one of these or a negative errno. */
enum {
        LISTEN_GOES_ON,
        LISTEN_ENDS, /* the main process wants it, or has exited */
};

typedef struct Listener {
        Work *work; /* borrowed */
        TaskstatsSocket *socket;
        ExitLedger *ledger;
        int proc_fd;
        int own_fd;           /* owned; negative: nobody tells who calls */
        const LedgerOwn *own; /* of @own_fd, mapped */
        Subordinates subordinates;
        ExitBatch batch;
} Listener;

static void listener_done(Listener *listener) {
        listener->socket = taskstats_free(listener->socket);
        listener->ledger = exit_ledger_free(listener->ledger);
        subordinates_done(&listener->subordinates);
        listener->proc_fd = fd_close(listener->proc_fd);
        if (listener->own)
                (void) munmap((void *) (uintptr_t) listener->own, sizeof(LedgerOwn));
        listener->own_fd = fd_close(listener->own_fd);
}

/* before the sandbox */

static const char *find_refusal(int r) {
        switch (r) {
        case TASKSTATS_E_NO_FAMILY:
                return "this kernel was built without CONFIG_TASKSTATS";
        case -EPERM:
                return "to hear of exits takes CAP_NET_ADMIN, which this ctprofd was not given";
        case -EINVAL:
                return "the kernel tells of exits only in the initial user and pid namespaces";
        default:
                return strerror(-r);
        }
}

static int listener_open(Listener *listener) {
        ExitLedgerSetup setup = { .self = getppid(), .max_rows = EXIT_TABLE_MAX_ROWS };
        _cleanup_(fd_closep) int fd = -EBADF;
        char cpus[CPUS_BYTES];
        void *memory;
        ssize_t n;
        int r;

        if (listener->own_fd >= 0) {
                memory = mmap(NULL, sizeof(LedgerOwn), PROT_READ, MAP_SHARED, listener->own_fd, 0);
                if (memory == MAP_FAILED)
                        return -errno;
                listener->own = memory;
        }
        setup.own = listener->own;
        fd = open(POSSIBLE_CPUS, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, cpus, CPUS_BYTES - 1);
        if (n < 0)
                r = -errno;
        else {
                cpus[n] = '\0';
                cpus[strcspn(cpus, "\n")] = '\0';
                r = taskstats_open(cpus, &listener->socket);
        }
        if (r != 0)
                return work_refuse(listener->work, WIRE_ERROR_JOB_FAILED,
                                   &(WireErrorDetail){ .reason = find_refusal(r) });
        fd = fd_close(fd);
        /* Without /proc only the first threads of processes have names of processes. */
        listener->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        setup.proc_fd = listener->proc_fd;
        setup.now_ns = clock_now_ns(CLOCK_BOOTTIME);
        /* Without them each of these uids answers for itself. */
        (void) !subordinates_read(&listener->subordinates);
        setup.subordinates = &listener->subordinates;
        r = exit_ledger_new(&setup, &listener->ledger);
        return r == 0 ? work_confine(listener->work, 0) : r;
}

/* inside of it */

static int hear(Listener *listener) {
        int r = taskstats_receive_exits(listener->socket, &listener->batch);

        if (r == 0)
                exit_ledger_take(listener->ledger, &listener->batch, clock_now_ns(CLOCK_BOOTTIME));
        return r;
}

/* A capture that gets no file hears that the line was closed. */
static int tell(Listener *listener, int line) {
        _cleanup_(fd_closep) int file = -EBADF;
        int r = 0;

        listener->batch.is_empty = false;
        for (unsigned i = 0; i < MAX_BATCHES_BEFORE_TELLING && !listener->batch.is_empty; i++) {
                r = hear(listener);
                if (r < 0)
                        return r;
        }
        if (exit_ledger_tell(listener->ledger, clock_now_ns(CLOCK_BOOTTIME), &file) == 0)
                (void) !exit_line_send(line, file);
        return 0;
}

static int serve_packets(Listener *listener) {
        Answer *answer = &listener->work->answer;
        int r = 0;

        while (r == 0) {
                r = packet_receive(answer->reader, answer->socket);
                if (r == 0 && answer->reader->kind == PACKET_STOP)
                        return LISTEN_ENDS;
                if (r == 0 && answer->reader->kind == PACKET_TELL) {
                        _cleanup_(fd_closep) int line = answer->reader->n_fds > 0
                                                                ? TAKE_FD(answer->reader->fds[0])
                                                                : -EBADF;

                        r = line < 0 ? -EBADMSG : tell(listener, line);
                } else if (r == 0) {
                        r = -EBADMSG;
                }
        }
        if (r == PACKET_E_CLOSED)
                return LISTEN_ENDS;
        if (r == PACKET_E_AGAIN)
                return 0;
        return r > 0 ? -EBADMSG : r;
}

static int listen_on(Listener *listener) {
        struct pollfd waits[] = {
                { .fd = listener->work->answer.socket, .events = POLLIN },
                { .fd = listener->socket->fd, .events = POLLIN },
        };
        bool rests = false;
        int r = 0;

        while (r == 0) {
                waits[1].revents = 0;
                if (poll(waits, rests ? 1 : ELEMENTSOF(waits), rests ? REST_MS : -1) < 0) {
                        r = errno == EINTR ? 0 : -errno;
                        continue;
                }
                rests = false;
                if (waits[1].revents != 0) {
                        r = hear(listener);
                        rests = listener->batch.is_empty;
                }
                if (r == 0 && waits[0].revents != 0)
                        r = serve_packets(listener);
        }
        return r;
}

int work_listen(Work *work) {
        _cleanup_(listener_done) Listener listener = {
                .work = work,
                .proc_fd = -EBADF,
                .own_fd = work_take_fd(work, work->order->listen.own),
        };
        int r = listener_open(&listener);

        if (r == 0)
                r = answer_packet(&work->answer, PACKET_LISTENING, (Span){}, NULL, 0);
        if (r == 0)
                r = listen_on(&listener);
        if (r != LISTEN_ENDS)
                return r;
        r = answer_texts(&work->answer, NULL, 0);
        return r == -EPIPE ? 0 : r;
}
