/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/answer.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/err.h"
#include "job/job-kind.h"
#include "wire/limits.h"
#include "wire/message.h"

#define PROGRESS_INTERVAL_NS (100 * NSEC_PER_MSEC)
/* Room for the members around the parameters of a reply. */
#define ENVELOPE_BYTES 256

void answer_init(Answer *answer, FrameStream *stream) {
        *answer = (Answer){ .stream = stream };
        buffer_init(&answer->parameters, LIMIT_REPLY_BYTES - ENVELOPE_BYTES);
        buffer_init(&answer->frame, LIMIT_REPLY_BYTES);
}

void answer_done(Answer *answer) {
        buffer_done(&answer->parameters);
        buffer_done(&answer->frame);
}

JsonWriter *answer_begin(Answer *answer) {
        buffer_clear(&answer->parameters);
        json_writer_init(&answer->writer, &answer->parameters);
        json_write_object(&answer->writer);
        return &answer->writer;
}

/* @fds: the descriptors to send along; on success they belong to the stream. */
static int answer_send(Answer *answer, int *fds, size_t n_fds) {
        int r;

        r = frame_stream_queue(answer->stream, buffer_span(&answer->frame), fds, n_fds);
        if (r != 0)
                return err_fold(r);
        for (size_t i = 0; i < n_fds; i++)
                (void) TAKE_FD(fds[i]);
        /* A signal that does not end the job must not cut off its reply. */
        do
                r = frame_stream_flush(answer->stream);
        while (r == -EINTR);
        if (r == FRAME_E_CLOSED) {
                answer->closed = true;
                return -EPIPE;
        }
        return err_fold(r);
}

static int answer_send_parameters(Answer *answer, bool continues, int *fds, size_t n_fds) {
        int r;

        assert(!answer->finished);
        json_write_end(&answer->writer);
        r = json_writer_finish(&answer->writer);
        if (r != 0)
                return r;
        answer->finished = !continues;
        if (answer->silent)
                return 0;

        buffer_clear(&answer->frame);
        r = reply_encode(&answer->frame, buffer_span(&answer->parameters), continues);
        if (r != 0)
                return r;
        return answer_send(answer, fds, n_fds);
}

int answer_reply(Answer *answer) {
        assert(answer->more);
        return answer_send_parameters(answer, true, NULL, 0);
}

int answer_note(Answer *answer) {
        return answer_send_parameters(answer, true, NULL, 0);
}

int answer_note_descriptor(Answer *answer, int fd) {
        _cleanup_(fd_closep) int owned = fd;

        return answer_send_parameters(answer, true, &owned, 1);
}

int answer_final(Answer *answer) {
        return answer_send_parameters(answer, false, NULL, 0);
}

int answer_final_descriptor(Answer *answer, int fd) {
        return answer_final_descriptors(answer, &fd, 1);
}

int answer_final_descriptors(Answer *answer, int *fds, size_t n) {
        int r = answer_send_parameters(answer, false, fds, n);

        for (size_t i = 0; i < n; i++)
                fds[i] = fd_close(fds[i]);
        return r;
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
                r = answer_reply(answer);
        }
        return r;
}

int answer_progress(Answer *answer, const char *phase, uint64_t done, uint64_t total) {
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
        json_write_end(writer);
        return answer_reply(answer);
}

int answer_error(Answer *answer, WireError error, const WireErrorDetail *detail) {
        int r;

        assert(!answer->finished);
        answer->finished = true;
        if (answer->silent)
                return 0;

        buffer_clear(&answer->parameters);
        r = wire_error_encode(&answer->parameters, error, detail);
        if (r != 0)
                return r;
        buffer_clear(&answer->frame);
        r = error_encode(&answer->frame, wire_error_name(error), buffer_span(&answer->parameters));
        if (r != 0)
                return r;
        return answer_send(answer, NULL, 0);
}

bool answer_is_closed(const Answer *answer) {
        return answer->closed;
}

bool answer_has_peer(Answer *answer) {
        struct pollfd wait = { .fd = frame_stream_fd(answer->stream),
                               .events = POLLIN | POLLRDHUP };
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

bool answer_is_stopped(Answer *answer) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Span frame;

        while (!answer->stopped) {
                _cleanup_(call_done) Call call = {};
                int r = frame_stream_next(answer->stream, &frame);

                if (r == FRAME_E_AGAIN && frame_stream_read(answer->stream) == 0)
                        continue;
                if (r != 0)
                        break;
                /* Other calls are ignored: only the call that is being served gets an answer. */
                answer->stopped = call_decode(frame, &call, complaint) == 0 &&
                                  strcmp(call.method, JOB_METHOD_STOP) == 0;
        }
        return answer->stopped;
}
