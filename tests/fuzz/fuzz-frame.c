/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A byte stream as frames, however it is cut: what a FrameStream hands out is what a search for
 * the NULs in the whole of it says, up to the first frame that is too large, and where that is does
 * not depend on the cuts. On the way back a second stream sends the same frames through a socket
 * that takes little at a time, descriptors with them: each arrives once, with its own frame.
 *
 * Aims at: protocol/wire/frame.c
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fuzz-cuts.h"
#include "fuzz.h"
#include "wire/frame.h"

#define MAX_FDS 3
#define QUEUED_BYTES 4096

typedef struct Expected {
        Span left;
        size_t max_frame_bytes;
        bool ended; /* of the frames that may be read */
        bool is_too_large;
        uint64_t n_frames;
} Expected;

static void expect_begin(Expected *expected) {
        const char *end =
                expected->left.n > 0 ? memchr(expected->left.bytes, 0, expected->left.n) : NULL;
        size_t n = end ? (size_t) (end - expected->left.bytes) : expected->left.n;

        expected->is_too_large = n > expected->max_frame_bytes;
        expected->ended = !end || expected->is_too_large;
}

static Span expected_frame(const Expected *expected) {
        return span_of(expected->left.bytes);
}

static void expect_next(Expected *expected) {
        size_t n = expected_frame(expected).n + 1;

        expected->left = (Span){ expected->left.bytes + n, expected->left.n - n };
        expected->n_frames++;
        expect_begin(expected);
}

/* descriptors: counters that hold the number of their frame */

static size_t n_fds_of(uint64_t frame) {
        return frame % 16 <= MAX_FDS ? frame % 16 : 0;
}

static void check_fds(FrameStream *stream, uint64_t frame) {
        size_t n = stream->n_fds;
        uint64_t value = 0;

        fuzz_expect(n == n_fds_of(frame), "a frame comes with the descriptors it was sent with");
        /* The last one is left for the stream to close. */
        for (size_t i = 0; i + 1 < n; i++) {
                _cleanup_(fd_closep) int fd = frame_stream_take_fd(stream, i);

                fuzz_expect(read(fd, &value, sizeof(value)) == sizeof(value) && value == frame + 1,
                            "a descriptor arrives with its own frame");
        }
        fuzz_expect(frame_stream_take_fd(stream, n) == -EBADF, "there is no descriptor more");
}

static int queue_with_fds(FrameStream *stream, Span frame, uint64_t number) {
        int fds[MAX_FDS];
        size_t n = n_fds_of(number);
        int r;

        for (size_t i = 0; i < n; i++) {
                fds[i] = eventfd((unsigned) number + 1, EFD_CLOEXEC);
                fuzz_expect(fds[i] >= 0, "eventfd");
        }
        r = frame_stream_queue(stream, frame, fds, n);
        for (size_t i = 0; r != 0 && i < n; i++)
                (void) fd_close(fds[i]);
        return r;
}

/* reading */

/* Hands out what there is; false when the stream has refused. */
static bool check_frames(FrameStream *stream, Expected *expected, bool with_fds) {
        Span frame;
        int r;

        while ((r = frame_stream_next(stream, &frame)) == 0) {
                fuzz_expect(!expected->ended, "no frame is handed out that was not sent");
                fuzz_expect(span_equal(frame, expected_frame(expected)),
                            "a frame is what was sent, whole");
                if (with_fds)
                        check_fds(stream, expected->n_frames);
                expect_next(expected);
        }
        fuzz_expect(r == FRAME_E_AGAIN || r == FRAME_E_TOO_LARGE, "next() has two outcomes more");
        return r == FRAME_E_AGAIN;
}

/* Reads until the socket is empty or closed; false when the stream has refused. */
static bool drain(FrameStream *stream, Expected *expected, bool with_fds) {
        int r;

        do {
                r = frame_stream_read(stream);
                fuzz_expect(stream->n_allocated + stream->queue.n_allocated <=
                                    expected->max_frame_bytes + 1 + 2 * QUEUED_BYTES,
                            "memory stays within the bound");
                if (r == FRAME_E_TOO_LARGE || !check_frames(stream, expected, with_fds)) {
                        fuzz_expect(expected->ended && expected->is_too_large,
                                    "a stream is refused where its frame is too large");
                        return false;
                }
        } while (r == 0);
        fuzz_expect(r == FRAME_E_AGAIN || r == FRAME_E_CLOSED, "reading ends as documented");
        return true;
}

static void check_end(FrameStream *stream, Expected *expected) {
        Span frame;

        fuzz_expect(frame_stream_read(stream) == FRAME_E_CLOSED, "the end is for good");
        fuzz_expect(expected->ended && !expected->is_too_large, "every whole frame was handed out");
        fuzz_expect(frame_stream_next(stream, &frame) == FRAME_E_AGAIN, "and none is made of half");
        fuzz_expect((stream->end > stream->first) == (expected->left.n > 0),
                    "a begun frame is there, and is none");
}

static FrameStream *new_stream(int fd, size_t max_frame_bytes) {
        FrameStream *stream = NULL;

        fuzz_expect(frame_stream_new(fd, max_frame_bytes, QUEUED_BYTES, MAX_FDS, &stream) == 0,
                    "a stream can be had");
        return stream;
}

/* the bytes, as somebody might write them */

static void check_bytes(Span text, FuzzCuts cuts, size_t max_frame_bytes) {
        _cleanup_(frame_stream_freep) FrameStream *stream = NULL;
        _cleanup_(fd_closep) int peer_fd = -EBADF;
        Expected expected = { .left = text, .max_frame_bytes = max_frame_bytes };
        bool going = true;
        int pair[2];

        expect_begin(&expected);
        fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
        peer_fd = pair[1];
        stream = new_stream(pair[0], max_frame_bytes);
        while (text.n > 0 && going) {
                size_t n = MIN_OF(fuzz_cuts_next(&cuts, text.n), (size_t) 64 * 1024);

                fuzz_expect(send(peer_fd, text.bytes, n, 0) == (ssize_t) n, "send");
                text = (Span){ text.bytes + n, text.n - n };
                going = drain(stream, &expected, false);
        }
        peer_fd = fd_close(peer_fd);
        if (going && drain(stream, &expected, false))
                check_end(stream, &expected);
}

/* the frames, as a stream of ours sends them */

static void check_sent(Span text, size_t max_frame_bytes) {
        _cleanup_(frame_stream_freep) FrameStream *from = NULL, *to = NULL;
        Expected sent = { .left = text, .max_frame_bytes = max_frame_bytes }, expected;
        int small = 1, pair[2], r;
        bool going = true;

        fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
        (void) setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
        from = new_stream(pair[0], max_frame_bytes);
        to = new_stream(pair[1], max_frame_bytes);
        expect_begin(&sent);
        expected = sent;
        while (going && (!sent.ended || frame_stream_queued_bytes(from) > 0)) {
                size_t n_queued = frame_stream_queued_bytes(from);

                r = sent.ended ? FRAME_E_FULL
                               : queue_with_fds(from, expected_frame(&sent), sent.n_frames);
                if (r == 0) {
                        fuzz_expect(frame_stream_queued_bytes(from) <= QUEUED_BYTES,
                                    "the queue stays within its bound");
                        expect_next(&sent);
                        continue;
                }
                fuzz_expect(r == FRAME_E_FULL && frame_stream_queued_bytes(from) == n_queued,
                            "a full queue is as it was");
                if (n_queued == 0)
                        return; /* the frame is larger than the queue: it can never be sent */
                r = frame_stream_write(from);
                fuzz_expect(r == 0 || r == FRAME_E_AGAIN, "what is queued can be sent");
                going = drain(to, &expected, true);
        }
        from = frame_stream_free(from);
        if (going && drain(to, &expected, true))
                fuzz_expect(expected.n_frames == sent.n_frames, "every frame sent arrives");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzCuts cuts;
        Span text = fuzz_cuts_begin(&cuts, data, size);
        size_t max_frame_bytes;

        if (text.n < 1)
                return 0;
        max_frame_bytes = (size_t) (unsigned char) *text.bytes * 64;
        text = (Span){ text.bytes + 1, text.n - 1 };
        check_bytes(text, cuts, max_frame_bytes);
        check_sent(text, max_frame_bytes);
        return 0;
}
