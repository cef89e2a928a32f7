/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake-peer.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "call/cancel.h"
#include "call/dial.h"
#include "fuzz.h"
#include "wire/frame.h"
#include "wire/limits.h"

#define MAX_CALLS 16
#define TICK_NS (150 * NSEC_PER_MSEC)

static FuzzInput script;
static Terminal fake_terminal;
static uint64_t mono_ns;
static int ends[MAX_CALLS]; /* our ends of the sockets: the calls lie there unread */
static size_t n_ends;

void fake_peer_begin(Span text, const Terminal *terminal) {
        script = (FuzzInput){ text.bytes, text.n };
        fake_terminal = *terminal;
        mono_ns = NSEC_PER_SEC;
}

void fake_peer_end(void) {
        while (n_ends > 0)
                (void) fd_close(ends[--n_ends]);
}

/* A file for whoever asked for one. */
static int new_file(void) {
        int fd = memfd_create("fake-peer", MFD_CLOEXEC);

        fuzz_expect(fd >= 0 && write(fd, "content", 7) == 7, "a file in memory can be written");
        return fd;
}

static void answer(FrameStream *stream) {
        while (script.n > 0) {
                Span line = fuzz_take_until(&script, '\n');
                bool has_file = line.n > 0 && line.bytes[0] == '%';
                int file = -EBADF;

                if (line.n == 0)
                        return;
                if (has_file) {
                        file = new_file();
                        line = (Span){ line.bytes + 1, line.n - 1 };
                }
                if (frame_stream_queue(stream, line, &file, has_file) != 0) {
                        (void) fd_close(file); /* a NUL within: such a frame cannot be sent */
                        return;
                }
        }
}

/* client/call/dial.h */

int dial(const char *path, uint64_t timeout_ns, bool offers_local, int *ret_fd,
         char ret_complaint[static DIAL_COMPLAINT_BYTES]) {
        _cleanup_(frame_stream_freep) FrameStream *stream = NULL;
        int pair[2], ours, r;

        if (n_ends == MAX_CALLS) {
                (void) snprintf(ret_complaint, DIAL_COMPLAINT_BYTES, "Nobody is there.");
                return DIAL_E_REFUSED;
        }
        fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
        ours = dup(pair[1]); /* the stream closes its own */
        fuzz_expect(ours >= 0, "dup");
        ends[n_ends++] = ours;
        fuzz_expect(frame_stream_new(pair[1], LIMIT_CALL_BYTES, LIMIT_QUEUED_BYTES,
                                     LIMIT_FDS_PER_CALL, &stream) == 0,
                    "memory");
        answer(stream);
        r = frame_stream_write(stream);
        fuzz_expect(r == 0, "all answers fit into a socket: %d", r);
        (void) shutdown(ours, SHUT_WR);
        *ret_fd = pair[0];
        return 0;
}

/* protocol/base/clock.h */

/* The same in every run. */
uint64_t clock_now_ns(clockid_t clock) {
        return clock == CLOCK_REALTIME ? UINT64_C(1795188901) * NSEC_PER_SEC : (mono_ns += TICK_NS);
}

/* client/call/cancel.h */

void cancel_open(void) {
}

void cancel_begin_stoppable(void) {
}

void cancel_end_stoppable(void) {
}

bool cancel_requested(void) {
        return false;
}

int cancel_fork_command(pid_t *ret) {
        *ret = -1;
        return -EPERM;
}

void cancel_end_command(void) {
}

uint64_t mono_deadline_ns(uint64_t timeout_ns) {
        return CANCEL_NO_DEADLINE;
}

int cancel_wait(int fd, short events, uint64_t deadline_mono_ns) {
        struct pollfd polled = { .fd = fd, .events = events };

        return poll(&polled, 1, 0) > 0 ? 0 : CANCEL_E_TIMEOUT;
}

int cancel_wait_either(int fd, short events, int watched_fd, uint64_t deadline_mono_ns) {
        return cancel_wait(fd, events, deadline_mono_ns);
}

/* client/render/terminal.h */

void terminal_init(Terminal *terminal) {
        *terminal = fake_terminal;
        (void) setlocale(LC_CTYPE, "C.UTF-8");
}

bool terminal_is(int fd) {
        return (fd == STDOUT_FILENO && fake_terminal.out) ||
               (fd == STDERR_FILENO && fake_terminal.err);
}
