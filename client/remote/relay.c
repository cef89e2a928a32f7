/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "remote/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "call/cancel.h"
#include "remote/bridge-frame.h"
#include "wire/frame.h"
#include "wire/limits.h"

#define PIECE_BYTES 65536u
#define HOLD_STEP_MS 1000 /* the clock may be set while it is waited for */

/* The client gets this while a call is held, as the daemon sends it. */
#define WAITING \
        "{\"parameters\":{\"progress\":{\"phase\":\"waiting\",\"done\":0}},\"continues\":true}"

typedef struct Pump {
        Relay *relay;
        FrameStream *stream;
        BridgeDecoder decoder;
        bool socket_ended, in_ended, log_ended;
        bool told_ended; /* the socket knows that the pipe has ended */
        bool is_unread;  /* nobody reads what we write: why stands in what we read */

        /* from the pipe to the socket */
        char *piece;
        Span rest;                    /* of the piece: not taken yet */
        int came[LIMIT_FDS_PER_CALL]; /* files for the next message */
        size_t n_came;
        uint64_t alive_mono_ns; /* the last sign of life while a call is held */

        /* from the socket to the pipe */
        Buffer out;
        size_t n_sent;  /* of it */
        Buffer message; /* follows its files */
        bool has_message;
        int files[LIMIT_FDS_PER_CALL];
        size_t n_files, i_file;
        uint64_t n_bytes, offset; /* of the file that is sent */
        bool in_file;
} Pump;

int unnamed_file_open(void) {
        const char *directory = getenv("TMPDIR");
        char path[PATH_MAX];
        int fd;

        if (snprintf(path, sizeof(path), "%s/ctprofctl-XXXXXX",
                     directory && directory[0] == '/' ? directory : "/var/tmp") >=
            (int) sizeof(path))
                return -ENAMETOOLONG;
        fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        (void) unlink(path);
        return fd;
}

static bool is_held(const Relay *relay) {
        return relay->held_until_realtime_ns > clock_now_ns(CLOCK_REALTIME);
}

/* towards the socket */

static int close_came(Pump *pump) {
        while (pump->n_came > 0)
                (void) fd_close(pump->came[--pump->n_came]);
        return 0;
}

static int take_part(Pump *pump, BridgePart part, Span bytes) {
        Relay *relay = pump->relay;
        int fd, r;

        switch (part) {
        case BRIDGE_PART_NONE:
                return 0;
        case BRIDGE_PART_MESSAGE:
                r = relay->on_message ? relay->on_message(relay, bytes) : 0;
                if (r == RELAY_SWALLOW)
                        return close_came(pump);
                if (r != 0)
                        return r;
                r = frame_stream_queue(pump->stream, bytes, pump->came, pump->n_came);
                if (r == FRAME_E_FULL)
                        return RELAY_E_TOO_MANY;
                if (r == 0)
                        pump->n_came = 0;
                return err_fold(r);
        case BRIDGE_PART_FILE:
                fd = unnamed_file_open();
                if (fd >= 0)
                        pump->came[pump->n_came++] = fd;
                r = MIN_OF(fd, 0);
                break;
        case BRIDGE_PART_DATA:
                r = file_write(pump->came[pump->n_came - 1], bytes.bytes, bytes.n);
                break;
        default:
                return 0;
        }
        if (r >= 0)
                return 0;
        relay->error = -r;
        return RELAY_E_NO_ROOM;
}

/* Takes what was read, up to where it asks to hold the rest. */
static int take_rest(Pump *pump) {
        static const int codes[] = {
                [BRIDGE_E_TOO_LONG] = RELAY_E_TOO_LONG,
                [BRIDGE_E_FILE_TOO_LONG] = RELAY_E_FILE_TOO_LONG,
                [BRIDGE_E_TOO_MANY] = RELAY_E_TOO_MANY,
                [BRIDGE_E_MALFORMED] = RELAY_E_MALFORMED,
        };
        BridgePart part = BRIDGE_PART_NONE;
        Relay *relay = pump->relay;
        Span bytes, begin;
        int r = 0;

        while (r == 0 && pump->rest.n > 0 && !is_held(relay)) {
                begin = pump->rest;
                r = bridge_decoder_next(&pump->decoder, &pump->rest, &part, &bytes);
                if (r == BRIDGE_E_MALFORMED) {
                        /* The user may know how that begins which follows no rule. */
                        relay->n_strange = MIN_OF(begin.n, sizeof(relay->strange));
                        memcpy(relay->strange, begin.bytes, relay->n_strange);
                }
                if (r > 0)
                        return codes[r];
                if (r == 0)
                        r = take_part(pump, part, bytes);
        }
        return r;
}

/* towards the pipe */

static int next_message(Pump *pump) {
        Span frame;
        int r;

        r = frame_stream_next(pump->stream, &frame);
        if (r == FRAME_E_AGAIN)
                return 0;
        if (r != 0)
                return r == FRAME_E_TOO_LARGE ? RELAY_E_TOO_LONG : err_fold(r);
        pump->n_files = pump->stream->n_fds;
        for (size_t i = 0; i < pump->n_files; i++)
                pump->files[i] = frame_stream_take_fd(pump->stream, i);
        pump->i_file = 0;
        pump->has_message = true;
        buffer_clear(&pump->message);
        buffer_append(&pump->message, frame.bytes, frame.n);
        return buffer_append_byte(&pump->message, '\0');
}

/* The position of a descriptor belongs to its sender, too: it is left alone. */
static int send_piece(Pump *pump) {
        size_t n_wanted = (size_t) MIN_OF((uint64_t) PIECE_BYTES, pump->n_bytes - pump->offset);
        char *end;
        ssize_t n;
        int r;

        if (n_wanted == 0) {
                pump->files[pump->i_file] = fd_close(pump->files[pump->i_file]);
                pump->i_file++;
                pump->in_file = false;
                return 0;
        }
        r = buffer_reserve(&pump->out, n_wanted, &end);
        if (r < 0)
                return r;
        n = pread(pump->files[pump->i_file], end, n_wanted, (off_t) pump->offset);
        if (n < 0 && errno == EINTR)
                return 0;
        if (n <= 0)
                return RELAY_E_NO_FILE;
        pump->out.n += (size_t) n;
        pump->offset += (uint64_t) n;
        return 0;
}

/* Puts the next bytes into @out, if there are any. */
static int fill_out(Pump *pump) {
        struct stat st;
        int r = 0;

        if (pump->n_sent < pump->out.n)
                return 0;
        buffer_clear(&pump->out);
        pump->n_sent = 0;
        while (r == 0 && pump->out.n == 0) {
                if (!pump->has_message) {
                        r = next_message(pump);
                        if (r != 0 || !pump->has_message)
                                return r;
                }
                if (pump->in_file) {
                        r = send_piece(pump);
                } else if (pump->i_file < pump->n_files) {
                        /* Only a file has an end; a pipe could keep us for ever. */
                        if (fstat(pump->files[pump->i_file], &st) < 0 || !S_ISREG(st.st_mode))
                                return RELAY_E_NO_FILE;
                        pump->n_bytes = (uint64_t) st.st_size;
                        pump->offset = 0;
                        pump->in_file = true;
                        bridge_append_file(&pump->out, pump->n_bytes);
                        r = buffer_append_byte(&pump->out, '\0');
                } else {
                        pump->has_message = false;
                        r = buffer_append(&pump->out, pump->message.bytes, pump->message.n);
                }
        }
        return r;
}

/*
 * On the far side the client has hung up. On ours ssh has ended, and its last words and those of
 * the bridge are still to be read.
 */
static int nobody_reads(Pump *pump) {
        pump->is_unread = true;
        return pump->relay->is_near ? 0 : RELAY_E_PIPE;
}

/* Sends all complete messages that were read, as far as the pipe takes them. */
static int send_messages(Pump *pump) {
        int r;

        do {
                r = fill_out(pump);
                if (r != 0 || pump->out.n == 0)
                        return r;
                while (pump->n_sent < pump->out.n && !pump->is_unread) {
                        ssize_t n = write(pump->relay->out_fd, pump->out.bytes + pump->n_sent,
                                          pump->out.n - pump->n_sent);

                        if (n < 0 && errno == EAGAIN)
                                return 0;
                        if (n < 0 && errno == EPIPE)
                                return nobody_reads(pump);
                        if (n < 0 && errno != EINTR)
                                return -errno;
                        pump->n_sent += n < 0 ? 0 : (size_t) n;
                }
        } while (pump->n_sent == pump->out.n);
        return 0;
}

/* Reads once, so that a socket that always has more does not keep us from the other direction. */
static int pass_out(Pump *pump) {
        int r = pump->is_unread ? 0 : send_messages(pump);

        if (r != 0 || pump->is_unread || pump->n_sent < pump->out.n || pump->socket_ended)
                return r;
        r = frame_stream_read(pump->stream);
        if (r == FRAME_E_TOO_LARGE)
                return RELAY_E_TOO_LONG;
        pump->socket_ended = r == FRAME_E_CLOSED;
        if (r != 0 && r != FRAME_E_AGAIN && r != FRAME_E_CLOSED)
                return err_fold(r);
        return send_messages(pump);
}

/* the rest */

bool relay_read_log(Relay *relay) {
        char bytes[RELAY_TAIL_BYTES];
        ssize_t n = relay->log_fd < 0 ? 0 : read(relay->log_fd, bytes, sizeof(bytes));
        size_t n_kept;

        if (n <= 0)
                return false;
        n_kept = MIN_OF(relay->n_tail, sizeof(relay->tail) - (size_t) n);
        memmove(relay->tail, relay->tail + relay->n_tail - n_kept, n_kept);
        memcpy(relay->tail + n_kept, bytes, (size_t) n);
        relay->n_tail = n_kept + (size_t) n;
        return true;
}

/* Tells the client that its call waits as agreed. */
static int show_life(Pump *pump) {
        uint64_t now_mono_ns = clock_now_ns(CLOCK_MONOTONIC);

        if (pump->n_sent < pump->out.n || now_mono_ns - pump->alive_mono_ns < LIMIT_HEARTBEAT_NS)
                return 0;
        pump->alive_mono_ns = now_mono_ns;
        buffer_clear(&pump->out);
        pump->n_sent = 0;
        return buffer_append(&pump->out, WAITING, sizeof(WAITING));
}

/* Passes the end of one side on to the other. True once there is nothing left to do. */
static bool is_over(Pump *pump) {
        Relay *relay = pump->relay;
        bool out_empty = !pump->has_message && pump->n_sent == pump->out.n;
        bool queue_empty = frame_stream_queued_bytes(pump->stream) == 0;

        if (pump->socket_ended && out_empty) {
                relay->out_fd = fd_close(relay->out_fd);
                if (!relay->is_near)
                        return true;
        }
        if (pump->in_ended && queue_empty && relay->is_near)
                return true;
        if (pump->in_ended && queue_empty && !pump->told_ended) {
                pump->told_ended = true;
                (void) shutdown(pump->stream->fd, SHUT_WR);
        }
        return false;
}

static int wait_and_pass(Pump *pump) {
        enum { SOCKET, IN, OUT, LOG };
        Relay *relay = pump->relay;
        bool waits = is_held(relay) || pump->rest.n > 0;
        bool queued = frame_stream_queued_bytes(pump->stream) > 0;
        bool full = pump->n_sent < pump->out.n || pump->is_unread;
        uint64_t now_ns, until_ns;
        int timeout_ms = -1, r;
        ssize_t n;
        struct pollfd polled[] = {
                [SOCKET] = { .fd = pump->stream->fd,
                             .events = (short) ((full || pump->socket_ended ? 0 : POLLIN) |
                                                (queued ? POLLOUT : 0)) },
                [IN] = { .fd = waits || queued || pump->in_ended ? -1 : relay->in_fd,
                         .events = POLLIN },
                [OUT] = { .fd = pump->is_unread ? -1 : relay->out_fd,
                          .events = full ? POLLOUT : 0 },
                [LOG] = { .fd = pump->log_ended ? -1 : relay->log_fd, .events = POLLIN },
        };

        /* A hangup is reported whether or not it is asked for, and would be so for ever. */
        if (pump->socket_ended && !relay->is_near && !queued)
                polled[SOCKET].fd = -1;
        if (waits) {
                now_ns = clock_now_ns(CLOCK_REALTIME);
                until_ns = MAX_OF(relay->held_until_realtime_ns, now_ns);
                timeout_ms = (int) MIN_OF((until_ns - now_ns) / NSEC_PER_MSEC +
                                                  (until_ns > now_ns ? 1 : 0),
                                          (uint64_t) HOLD_STEP_MS);
        }
        if (poll(polled, ELEMENTSOF(polled), timeout_ms) < 0)
                return errno == EINTR ? 0 : -errno;
        if ((polled[SOCKET].revents & POLLHUP) != 0 && relay->is_near)
                return RELAY_E_HUNG_UP;
        r = (polled[OUT].revents & POLLERR) != 0 ? nobody_reads(pump) : 0;
        if (r != 0)
                return r;
        if (polled[LOG].revents != 0 && !relay_read_log(relay))
                pump->log_ended = true;
        if (polled[IN].revents != 0) {
                n = read(relay->in_fd, pump->piece, PIECE_BYTES);
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                pump->in_ended = n == 0;
                if (n == 0 && bridge_decoder_is_inside(&pump->decoder))
                        return RELAY_E_PIPE;
                if (n > 0) {
                        pump->rest = (Span){ pump->piece, (size_t) n };
                        r = take_rest(pump);
                }
        }
        if (r == 0 && waits)
                r = is_held(relay) ? show_life(pump) : take_rest(pump);
        if (r != 0)
                return r;
        r = frame_stream_write(pump->stream);
        if (r == FRAME_E_CLOSED)
                return relay->is_near ? RELAY_E_HUNG_UP : RELAY_OK;
        if (r != 0 && r != FRAME_E_AGAIN)
                return err_fold(r);
        return pass_out(pump);
}

static int pump_open(Pump *pump) {
        Relay *relay = pump->relay;
        int r;

        r = frame_stream_new(relay->socket_fd, relay->max_out_bytes,
                             relay->max_in_bytes + 4 * PIECE_BYTES, LIMIT_FDS_PER_CALL,
                             &pump->stream);
        if (r != 0)
                return r;
        relay->socket_fd = -EBADF;
        bridge_decoder_init(&pump->decoder, relay->max_in_bytes);
        pump->piece = malloc(PIECE_BYTES);
        if (!pump->piece)
                return -ENOMEM;
        for (size_t i = 0; i < (relay->log_fd < 0 ? 2 : 3); i++) {
                int fd = (const int[]){ relay->in_fd, relay->out_fd, relay->log_fd }[i];
                int flags = fcntl(fd, F_GETFL);

                if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                        return -errno;
        }
        return 0;
}

int relay_run(Relay *relay) {
        Pump pump = { .relay = relay, .alive_mono_ns = clock_now_ns(CLOCK_MONOTONIC) };
        int r;

        r = pump_open(&pump);
        while (r == 0 && !is_over(&pump))
                r = wait_and_pass(&pump);
        (void) close_came(&pump);
        for (size_t i = pump.i_file; i < pump.n_files; i++)
                (void) fd_close(pump.files[i]);
        bridge_decoder_done(&pump.decoder);
        buffer_done(&pump.out);
        buffer_done(&pump.message);
        free(pump.piece);
        pump.stream = frame_stream_free(pump.stream);
        relay->socket_fd = fd_close(relay->socket_fd);
        relay->in_fd = fd_close(relay->in_fd);
        relay->out_fd = fd_close(relay->out_fd);
        return r;
}
