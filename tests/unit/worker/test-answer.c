/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/answer.h"

#include <check.h>
#include <sys/socket.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "check-main.h"
#include "wire/limits.h"

/* Answers of a job to a client as frames, or to the main process as packets. */
typedef struct Line {
        FrameStream *ours, *theirs;
        int our_fd, their_fd;
        PacketReader reader, our_reader;
        Answer answer;
} Line;

static void line_open(Line *line, bool more) {
        int pair[2];

        *line = (Line){ .our_fd = -EBADF, .their_fd = -EBADF };
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert_int_eq(frame_stream_new(pair[0], 1024, LIMIT_QUEUED_BYTES, 4, &line->ours), 0);
        ck_assert_int_eq(
                frame_stream_new(pair[1], LIMIT_REPLY_BYTES, LIMIT_QUEUED_BYTES, 4, &line->theirs),
                0);
        line->answer = (Answer){
                .socket = pair[0],
                .stream = line->ours,
                .more = more,
                .parameters = { .max_bytes = ANSWER_PARAMETERS_BYTES },
                .frame = { .max_bytes = LIMIT_REPLY_BYTES },
        };
}

static void line_open_packets(Line *line, bool more) {
        int pair[2];

        *line = (Line){ .our_fd = -EBADF, .their_fd = -EBADF };
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        line->our_fd = pair[0];
        line->their_fd = pair[1];
        line->reader = (PacketReader){ .max_bytes = LIMIT_REPLY_BYTES };
        line->our_reader = (PacketReader){ .max_bytes = LIMIT_REPLY_BYTES };
        line->answer = (Answer){
                .socket = pair[0],
                .reader = &line->our_reader,
                .more = more,
                .parameters = { .max_bytes = ANSWER_PARAMETERS_BYTES },
                .frame = { .max_bytes = LIMIT_REPLY_BYTES },
        };
}

static void line_done(Line *line) {
        buffer_done(&line->answer.parameters);
        buffer_done(&line->answer.frame);
        packet_reader_done(&line->reader);
        packet_reader_done(&line->our_reader);
        line->ours = frame_stream_free(line->ours);
        line->theirs = frame_stream_free(line->theirs);
        (void) fd_close(line->our_fd);
        (void) fd_close(line->their_fd);
}

static void expect_packet(Line *line, PacketKind kind, const char *text) {
        Span body;

        ck_assert_int_eq(packet_receive(&line->reader, line->their_fd), 0);
        ck_assert_int_eq(line->reader.kind, kind);
        body = buffer_span(&line->reader.body);
        ck_assert_msg(span_is(body, text), "%.*s", (int) body.n, body.bytes);
}

static void expect(Line *line, const char *text) {
        Span frame;

        ck_assert_int_eq(frame_stream_wait(line->theirs, 1000, &frame), 0);
        ck_assert_msg(span_is(frame, text), "%.*s", (int) frame.n, frame.bytes);
}

START_TEST(replies_come_in_order) {
        JsonWriter *writer;
        Line line;

        line_open(&line, true);
        writer = answer_begin(&line.answer);
        json_write_member_u64(writer, "a", 1);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_PART, -EBADF), 0);
        (void) answer_begin(&line.answer);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, -EBADF), 0);
        expect(&line, "{\"parameters\":{\"a\":1},\"continues\":true}");
        expect(&line, "{\"parameters\":{}}");
        line_done(&line);
}
END_TEST

START_TEST(errors_carry_what_they_are_about) {
        Line line;

        line_open(&line, false);
        ck_assert_int_eq(answer_error(&line.answer, WIRE_ERROR_SNAPSHOT_UNREADABLE,
                                      &(WireErrorDetail){
                                              .subject = SPAN_LITERAL("x"),
                                              .reason = "why",
                                              .has_offset = true,
                                              .offset = 7,
                                      }),
                         0);
        expect(&line, "{\"error\":\"io.ctprof.Profiler.SnapshotUnreadable\","
                      "\"parameters\":{\"name\":\"x\",\"reason\":\"why\",\"offset\":7}}");
        line_done(&line);
}
END_TEST

START_TEST(progress_is_for_who_asked_and_rare) {
        size_t n_frames = 0;
        Span frame;
        Line line;

        line_open(&line, _i);
        for (unsigned i = 0; i < 1000; i++)
                ck_assert_int_eq(answer_progress(&line.answer, "reading", i, 0), 0);
        while (frame_stream_wait(line.theirs, 0, &frame) == 0)
                n_frames++;
        /* A thousand take some milliseconds; a slow machine may have time for a few more. */
        ck_assert_uint_ge(n_frames, _i ? 1 : 0);
        ck_assert_uint_le(n_frames, _i ? 100 : 0);
        line_done(&line);
}
END_TEST

START_TEST(a_total_that_is_not_known_is_left_out) {
        Line line;

        line_open(&line, true);
        ck_assert_int_eq(answer_progress(&line.answer, "reading", 3, 0), 0);
        expect(&line, "{\"parameters\":{\"progress\":{\"phase\":\"reading\",\"done\":3}},"
                      "\"continues\":true}");
        line_done(&line);
}
END_TEST

START_TEST(a_descriptor_is_closed_whatever_happens) {
        struct stat status;
        int fd = dup(0);
        Line line;

        line_open(&line, false);
        if (_i)
                line.theirs = frame_stream_free(line.theirs);
        (void) answer_begin(&line.answer);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, fd), _i ? -EPIPE : 0);
        line.ours = frame_stream_free(line.ours);
        ck_assert_int_eq(fstat(fd, &status), -1);
        line_done(&line);
}
END_TEST

START_TEST(a_peer_that_hung_up_is_noticed) {
        Line line;

        line_open(&line, true);
        ck_assert(answer_has_peer(&line.answer));
        line.theirs = frame_stream_free(line.theirs);
        if (_i) {
                ck_assert(!answer_has_peer(&line.answer));
        } else {
                (void) answer_begin(&line.answer);
                ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, -EBADF), -EPIPE);
        }
        ck_assert(line.answer.closed);
        ck_assert(!answer_has_peer(&line.answer));
        line_done(&line);
}
END_TEST

START_TEST(a_peer_that_talks_on_is_still_there) {
        Line line;

        line_open(&line, true);
        ck_assert_int_eq(frame_stream_queue(line.theirs, SPAN_LITERAL("{}"), NULL, 0), 0);
        ck_assert_int_eq(frame_stream_flush(line.theirs), 0);
        ck_assert(answer_has_peer(&line.answer));
        line_done(&line);
}
END_TEST

START_TEST(a_main_process_that_asks_for_an_end_is_still_there) {
        Line line;

        line_open_packets(&line, true);
        ck_assert_int_eq(packet_send(line.their_fd, PACKET_STOP, (Span){}, NULL, 0, 0), 0);
        ck_assert(answer_has_peer(&line.answer));
        (void) answer_begin(&line.answer);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, -EBADF), 0);
        expect_packet(&line, PACKET_LAST, "{}");
        line.their_fd = fd_close(line.their_fd);
        ck_assert(!answer_has_peer(&line.answer));
        line_done(&line);
}
END_TEST

/* The main process makes the frame, and gets errors as they are. */
START_TEST(packets_have_no_envelope) {
        WireErrorDetail detail;
        WireError error;
        Line line;

        line_open_packets(&line, true);
        json_write_member_u64(answer_begin(&line.answer), "a", 1);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_PART, -EBADF), 0);
        expect_packet(&line, PACKET_PART, "{\"a\":1}");
        ck_assert_int_eq(answer_error(&line.answer, WIRE_ERROR_SNAPSHOT_UNREADABLE,
                                      &(WireErrorDetail){
                                              .subject = SPAN_LITERAL("x"),
                                              .reason = "why",
                                              .has_offset = true,
                                              .offset = 7,
                                      }),
                         0);
        ck_assert_int_eq(packet_receive(&line.reader, line.their_fd), 0);
        ck_assert_int_eq(line.reader.kind, PACKET_ERROR);
        ck_assert(failure_unpack(buffer_span(&line.reader.body), &error, &detail));
        ck_assert_int_eq(error, WIRE_ERROR_SNAPSHOT_UNREADABLE);
        ck_assert(span_is(detail.subject, "x"));
        ck_assert_str_eq(detail.reason, "why");
        ck_assert_ptr_null(detail.nearest);
        ck_assert(detail.has_offset);
        ck_assert_uint_eq(detail.offset, 7);
        line_done(&line);
}
END_TEST

/* A message that is longer than a packet comes in one piece. */
START_TEST(a_long_reply_goes_in_packets) {
        _cleanup_(buffer_done) Buffer text = {};
        Line line;
        int r;

        line_open_packets(&line, true);
        for (unsigned i = 0; i < PACKET_BYTES; i++)
                ck_assert_int_eq(buffer_append_text(&text, "xy"), 0);
        json_write_member_name(answer_begin(&line.answer), "a", buffer_span(&text));
        ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, -EBADF), 0);
        while ((r = packet_receive(&line.reader, line.their_fd)) == PACKET_E_PARTIAL)
                ck_assert_uint_le(line.reader.body.n, 2 * PACKET_BYTES + 16);
        ck_assert_int_eq(r, 0);
        ck_assert_uint_eq(line.reader.body.n, 2 * PACKET_BYTES + strlen("{\"a\":\"\"}"));
        line_done(&line);
}
END_TEST

START_TEST(oneway_gets_nothing) {
        Span frame;
        Line line;

        line_open(&line, false);
        line.answer.silent = true;
        (void) answer_begin(&line.answer);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, -EBADF), 0);
        ck_assert_int_eq(frame_stream_wait(line.theirs, 0, &frame), FRAME_E_AGAIN);
        line_done(&line);
}
END_TEST

/* Also from a job whose caller did not ask for more: it is not for the caller. */
START_TEST(a_note_may_carry_a_descriptor) {
        int pipe_fds[2], fd;
        char byte = 'x';
        Line line;

        line_open_packets(&line, _i);
        ck_assert_int_eq(pipe(pipe_fds), 0);
        ck_assert_int_eq(answer_packet(&line.answer, PACKET_FILES, (Span){}, &pipe_fds[1], 1), 0);
        (void) close(pipe_fds[1]);
        expect_packet(&line, PACKET_FILES, "");
        fd = TAKE_FD(line.reader.fds[0]);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, &byte, 1), 1);
        ck_assert_int_eq(read(pipe_fds[0], &byte, 1), 1);
        (void) close(fd);
        ck_assert_int_eq(read(pipe_fds[0], &byte, 1), 0);
        (void) answer_begin(&line.answer);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, -EBADF), 0);
        expect_packet(&line, PACKET_LAST, "{}");
        (void) close(pipe_fds[0]);
        line_done(&line);
}
END_TEST

START_TEST(a_reply_past_the_bound_fails_and_an_error_still_fits) {
        JsonWriter *writer;
        Line line;

        line_open(&line, false);
        writer = answer_begin(&line.answer);
        json_write_key(writer, "a");
        json_write_array(writer);
        for (unsigned i = 0; i < LIMIT_REPLY_BYTES / 10; i++)
                json_write_u64(writer, UINT64_MAX);
        json_write_end(writer);
        ck_assert_int_eq(answer_send(&line.answer, PACKET_LAST, -EBADF), -EMSGSIZE);
        ck_assert(!line.answer.finished);
        ck_assert_int_eq(answer_error(&line.answer, WIRE_ERROR_JOB_FAILED,
                                      &(WireErrorDetail){ .reason = "too large" }),
                         0);
        expect(&line, "{\"error\":\"io.ctprof.Profiler.JobFailed\","
                      "\"parameters\":{\"reason\":\"too large\"}}");
        line_done(&line);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("answer");
        TCase *replies = tcase_create("replies");
        TCase *progress = tcase_create("progress");
        TCase *peer = tcase_create("peer");

        tcase_add_test(replies, replies_come_in_order);
        tcase_add_test(replies, errors_carry_what_they_are_about);
        tcase_add_test(replies, a_main_process_that_asks_for_an_end_is_still_there);
        tcase_add_test(replies, packets_have_no_envelope);
        tcase_add_test(replies, a_long_reply_goes_in_packets);
        tcase_add_test(replies, oneway_gets_nothing);
        tcase_add_test(replies, a_reply_past_the_bound_fails_and_an_error_still_fits);
        tcase_add_loop_test(replies, a_descriptor_is_closed_whatever_happens, 0, 2);
        tcase_add_loop_test(replies, a_note_may_carry_a_descriptor, 0, 2);
        tcase_add_loop_test(progress, progress_is_for_who_asked_and_rare, 0, 2);
        tcase_add_test(progress, a_total_that_is_not_known_is_left_out);
        tcase_add_loop_test(peer, a_peer_that_hung_up_is_noticed, 0, 2);
        tcase_add_test(peer, a_peer_that_talks_on_is_still_there);
        suite_add_tcase(suite, replies);
        suite_add_tcase(suite, progress);
        suite_add_tcase(suite, peer);
        return check_main(suite);
}
