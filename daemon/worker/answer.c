/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/answer.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "order/order.h"
#include "wire/limits.h"
#include "wire/message.h"

#define PROGRESS_INTERVAL_NS (100 * NSEC_PER_MSEC)

JsonWriter *answer_begin(Answer *answer) {
        buffer_clear(&answer->parameters);
        json_writer_init(&answer->writer, &answer->parameters);
        json_write_object(&answer->writer);
        return &answer->writer;
}

/* Sends the frame to a client. */
static int send_frame(Answer *answer, int fd) {
        int r = frame_stream_queue(answer->stream, buffer_span(&answer->frame), &fd, fd >= 0);

        if (r != 0) {
                (void) fd_close(fd);
                return err_fold(r);
        }
        /* A signal that does not end the job must not cut off its reply. */
        do
                r = frame_stream_flush(answer->stream);
        while (r == -EINTR);
        r = r == FRAME_E_CLOSED ? -EPIPE : err_fold(r);
        answer->closed = answer->closed || r == -EPIPE;
        return r;
}

int answer_packet(Answer *answer, PacketKind kind, Span body, const int *fds, size_t n_fds) {
        int r;

        assert(!answer->finished || kind == PACKET_ERROR);
        answer->finished |= kind == PACKET_LAST || kind == PACKET_RESULT;
        r = packet_send(answer->socket, kind, body, fds, n_fds, 0);
        answer->closed = answer->closed || r == -EPIPE;
        return r;
}

int answer_send(Answer *answer, PacketKind kind, int fd) {
        _cleanup_(fd_closep) int owned = fd;
        int r;

        assert(!answer->finished && (answer->more || kind == PACKET_LAST));
        json_write_end(&answer->writer);
        r = json_writer_finish(&answer->writer);
        if (r != 0)
                return r;
        if (!answer->stream && !answer->silent)
                return answer_packet(answer, kind, buffer_span(&answer->parameters), &owned,
                                     owned >= 0);
        answer->finished = kind == PACKET_LAST;
        if (answer->silent)
                return 0;
        buffer_clear(&answer->frame);
        r = reply_encode(&answer->frame, buffer_span(&answer->parameters), kind == PACKET_PART);
        return r == 0 ? send_frame(answer, TAKE_FD(owned)) : r;
}

int answer_texts(Answer *answer, const Span *texts, size_t n) {
        int r;

        buffer_clear(&answer->frame);
        r = result_pack(&answer->frame, texts, n);
        return r == 0 ? answer_packet(answer, PACKET_RESULT, buffer_span(&answer->frame), NULL, 0)
                      : r;
}

int answer_list(Answer *answer, const char *key, size_t n,
                void (*write)(const void *userdata, size_t index, JsonWriter *writer),
                const void *userdata) {
        int r = 0;

        for (size_t i = 0; i < n && r == 0;) {
                JsonWriter *writer = answer_begin(answer);

                json_write_key(writer, key);
                json_write_array(writer);
                while (i < n && answer->parameters.n < LIMIT_BATCH_BYTES)
                        write(userdata, i++, writer);
                json_write_end(writer);
                r = answer_send(answer, PACKET_PART, -EBADF);
        }
        return r;
}

int answer_progress_with(Answer *answer, const char *phase, uint64_t done, uint64_t total,
                         const AnswerCount *counts, size_t n_counts) {
        JsonWriter *writer;
        uint64_t now_ns;

        if (!answer->more)
                return 0;
        now_ns = clock_now_ns(CLOCK_MONOTONIC);
        if (answer->progress_ns != 0 && now_ns - answer->progress_ns < PROGRESS_INTERVAL_NS)
                return 0;
        answer->progress_ns = now_ns;

        writer = answer_begin(answer);
        json_write_key(writer, "progress");
        json_write_object(writer);
        json_write_member_text(writer, "phase", phase);
        json_write_member_u64(writer, "done", done);
        if (total > 0)
                json_write_member_u64(writer, "total", total);
        for (size_t i = 0; i < n_counts; i++)
                json_write_member_u64(writer, counts[i].name, counts[i].n);
        json_write_end(writer);
        return answer_send(answer, PACKET_PART, -EBADF);
}

int answer_progress(Answer *answer, const char *phase, uint64_t done, uint64_t total) {
        return answer_progress_with(answer, phase, done, total, NULL, 0);
}

int answer_error(Answer *answer, WireError error, const WireErrorDetail *detail) {
        int r;

        assert(!answer->finished);
        answer->finished = true;
        if (answer->silent)
                return 0;
        buffer_clear(&answer->frame);
        if (answer->stream) {
                r = wire_error_encode_reply(&answer->frame, error, detail);
                return r == 0 ? send_frame(answer, -EBADF) : r;
        }
        r = failure_pack(&answer->frame, error, detail);
        return r == 0 ? answer_packet(answer, PACKET_ERROR, buffer_span(&answer->frame), NULL, 0)
                      : r;
}

bool answer_has_peer(Answer *answer) {
        struct pollfd wait = { .fd = answer->socket, .events = POLLIN | POLLRDHUP };
        char byte;

        if (answer->closed)
                return false;
        if (poll(&wait, 1, 0) <= 0)
                return true;
        if (wait.revents & (POLLHUP | POLLERR | POLLRDHUP)) {
                answer->closed = true;
                return false;
        }
        /* A peer may send something during a call; only the end of its stream means it is gone. */
        if (recv(wait.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
                answer->closed = true;
        return !answer->closed;
}
