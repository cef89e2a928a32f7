/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * One call of an analysis job with its files, or an order of the main process that is written like
 * one (io.ctprof.Job.Import, .Convert). The first line is the call; each further line is a file,
 * with the number of the line as its index:
 *
 *     ={...       a snapshot with this document, a true head and digest
 *     +{...       the same of another boot
 *     0{...       a document without head, as the prior tool wrote it
 *     !...        a file of these bytes
 *
 * followed by an empty file for the output. Every call is answered, in order, by replies within
 * their bound. An import is a complete snapshot under its new name; a conversion can be read in its
 * format; verification succeeds exactly for snapshots that can be read. No descriptor is left open.
 *
 * Aims at: daemon/worker/worker.c, daemon/worker/work.c, daemon/worker/answer.c,
 *          daemon/order/order.c, daemon/job/packet.c, daemon/worker/job-analysis.c,
 *          daemon/worker/job-sets.c,
 *          daemon/worker/job-import.c, daemon/worker/job-convert.c, daemon/worker/job-verify.c,
 *          daemon/analysis/subject/subject.c, daemon/analysis/subject/analysis-read.c,
 *          daemon/analysis/subject/set-subjects.c, daemon/analysis/subject/section-feed.c,
 *          daemon/analysis/subject/host-change.c, daemon/analysis/export/output.c,
 *          daemon/analysis/section/cgroup-record.c, daemon/analysis/section/count-map.c,
 *          daemon/analysis/section/sched-ext-record.c,
 *          daemon/analysis/section/section-choice.c,
 *          daemon/analysis/section/section-json.c,
 *          daemon/analysis/section/sections.c, daemon/analysis/section/smaps.c,
 *          daemon/analysis/set/set-comparison.c,
 *          daemon/analysis/set/set-group.c, daemon/analysis/set/rank-test.c
 */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fuzz-cuts.h"
#include "fuzz.h"
#include "job/packet.h"
#include "made-file.h"
#include "order/order.h"
#include "plain.h"
#include "snapshot-record.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/message.h"
#include "worker/worker.h"

#define MAX_FILES 9

typedef struct Files {
        int fds[MAX_FILES + 1]; /* owned; the last is the output */
        size_t n;
} Files;

/* files */

static bool has_text(Span text, const char *part) {
        return text.n > 0 && memmem(text.bytes, text.n, part, strlen(part));
}

/* Captures follow each other by ten seconds. */
static Head head_of(Span document, size_t index, bool is_other_boot) {
        uint64_t start_ns = (1000 + 10 * index) * NSEC_PER_SEC;
        Head head = {
                .format_version = has_text(document, "\"formatVersion\"") ? 1 : 0,
                .tagged = true,
                .has_start_realtime = true,
                .start_realtime_ns = start_ns + 1700000000 * NSEC_PER_SEC,
                .has_start_boottime = true,
                .start_boottime_ns = start_ns,
                .has_end_boottime = true,
                .end_boottime_ns = start_ns + NSEC_PER_SEC,
                .has_document_bytes = true,
                .document_bytes = document.n,
                .has_user_hz = true,
                .user_hz = 100,
        };

        (void) snprintf(head.name, sizeof(head.name), "d%zu", index);
        memset(head.boot_id, is_other_boot ? 'b' : 'a', sizeof(head.boot_id) - 1);
        return head;
}

static void make_file(int fd, Span line, size_t index) {
        Span rest = line.n > 0 ? (Span){ line.bytes + 1, line.n - 1 } : line;
        char kind = line.n > 0 ? line.bytes[0] : '!';
        Head head = head_of(rest, index, kind == '+');
        Buffer file;

        buffer_init(&file, 0);
        if (kind == '=' || kind == '+' || kind == '0')
                made_put_frame(&file, rest, 0);
        else
                fuzz_expect(buffer_append(&file, rest.bytes, rest.n) == 0, "memory");
        if (kind == '=' || kind == '+')
                made_put_trailer(&file, &head);
        made_file_set(fd, buffer_span(&file));
        buffer_done(&file);
}

static void files_init(Files *files, FuzzInput *input) {
        *files = (Files){ .n = 0 };
        while (input->n > 0 && files->n < MAX_FILES) {
                int fd = made_file_new();

                make_file(fd, fuzz_take_until(input, '\n'), files->n);
                files->fds[files->n++] = fd;
        }
        files->fds[files->n++] = made_file_new();
}

static void files_done(Files *files) {
        while (files->n > 0)
                (void) fd_close(files->fds[--files->n]);
}

static int output_of(const Files *files) {
        return files->fds[files->n - 1];
}

/* the job */

static void *serve(void *userdata) {
        const int *socket = userdata;
        int r = worker_serve(JOB_ANALYSIS, *socket, WORKER_FREE);

        fuzz_expect(r <= 0, "a job ends as documented: %d", r);
        return NULL;
}

static FrameStream *new_stream(int fd, size_t max_frame_bytes) {
        FrameStream *stream = NULL;

        fuzz_expect(frame_stream_new(fd, max_frame_bytes, LIMIT_QUEUED_BYTES, LIMIT_FDS_PER_CALL,
                                     &stream) == 0,
                    "memory");
        return stream;
}

static void send_call(FrameStream *stream, Span call, const Files *files) {
        int fds[MAX_FILES + 1];

        for (size_t i = 0; i < files->n; i++) {
                fds[i] = fcntl(files->fds[i], F_DUPFD_CLOEXEC, 0);
                fuzz_expect(fds[i] >= 0, "dup");
        }
        fuzz_expect(frame_stream_queue(stream, call, fds, files->n) == 0 &&
                            frame_stream_flush(stream) == 0,
                    "a call can be sent");
}

static json_object *member(json_object *object, const char *key) {
        json_object *value = NULL;

        (void) json_object_object_get_ex(object, key, &value);
        return value;
}

/* what a comparison of sets says of a row */

static double number_of(json_object *object, const char *key) {
        return json_object_get_double(member(object, key));
}

static void check_side(json_object *side, const char *name) {
        static const char *const keys[] = { "min", "q1", "median", "q3", "max" };

        for (size_t i = 1; side && i < ELEMENTSOF(keys); i++)
                fuzz_expect(number_of(side, keys[i - 1]) <= number_of(side, keys[i]),
                            "%s: %s is not above %s", name, keys[i - 1], keys[i]);
}

static void check_set_row(json_object *row, const char *name) {
        json_object *p = member(row, "p"), *adjusted = member(row, "pAdjusted");

        check_side(member(row, "before"), name);
        check_side(member(row, "after"), name);
        fuzz_expect(!p || (number_of(row, "p") > 0 && number_of(row, "p") <= 1),
                    "%s: p is a probability", name);
        fuzz_expect(!adjusted || (p && number_of(row, "pAdjusted") >= number_of(row, "p") &&
                                  number_of(row, "pAdjusted") <= 1),
                    "%s: an adjusted p is no smaller", name);
        fuzz_expect(adjusted || !json_object_get_boolean(member(row, "significant")),
                    "%s: without a test nothing is significant", name);
}

static void check_set_groups(json_object *groups) {
        if (!json_object_is_type(groups, json_type_array))
                return;
        for (size_t i = 0; i < json_object_array_length(groups); i++) {
                json_object *rows = member(json_object_array_get_idx(groups, i), "metrics");

                json_object_object_foreach(rows, name, row) {
                        check_set_row(row, name);
                }
        }
}

/* The last reply; nothing is in it when none came, as for oneway calls. */
static Reply receive(FrameStream *stream, const Call *call) {
        char complaint[MESSAGE_COMPLAINT_BYTES] = "";
        Reply last = {};
        bool ended = false;
        Span frame;
        int r;

        while ((r = frame_stream_wait(stream, -1, &frame)) == 0 || r == -EINTR) {
                if (r == -EINTR)
                        continue; /* the fuzzer has signals of its own */
                fuzz_expect(!ended, "nothing comes behind the last reply");
                reply_done(&last);
                fuzz_expect(reply_decode(frame, &last, complaint) == 0, "a reply is one: %s",
                            complaint);
                fuzz_expect(!last.continues || call->more, "more comes to who asked for it");
                ended = !last.continues;
                if (strstr(call->method, ".CompareSets"))
                        check_set_groups(member(last.parameters, "groups"));
        }
        fuzz_expect(r == FRAME_E_CLOSED, "replies are within their bound: %d", r);
        fuzz_expect(ended || !last.parameters, "the last reply is one");
        return last;
}

/* On a thread that no signal of the fuzzer finds: a job has none. */
static void start_job(int *socket, pthread_t *ret) {
        sigset_t all, old;

        (void) sigfillset(&all);
        fuzz_expect(pthread_sigmask(SIG_SETMASK, &all, &old) == 0 &&
                            pthread_create(ret, NULL, serve, socket) == 0 &&
                            pthread_sigmask(SIG_SETMASK, &old, NULL) == 0,
                    "a thread can be had");
}

static Reply ask(Span frame, const Call *call, const Files *files) {
        FrameStream *stream;
        pthread_t thread;
        Reply reply;
        int pair[2];

        fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
        stream = new_stream(pair[0], LIMIT_REPLY_BYTES);
        send_call(stream, frame, files);
        start_job(&pair[1], &thread);
        reply = receive(stream, call);
        fuzz_expect(pthread_join(thread, NULL) == 0, "the job ends");
        (void) frame_stream_free(stream);
        return reply;
}

/* orders */

static OrderFd place_of(json_object *object, const char *key, const Files *files) {
        json_object *index = member(object, key);
        uint64_t value = json_object_get_uint64(index);

        return index && value < files->n ? (OrderFd) value + 1 : 0;
}

/* NULL: it is a call. */
static Order *new_order(const Call *call, const Files *files) {
        bool imports = strcmp(call->method, "io.ctprof.Job.Import") == 0;
        json_object *file = imports ? call->parameters : member(call->parameters, "snapshot");
        const char *name = json_object_get_string(member(call->parameters, "name"));
        const char *format = json_object_get_string(member(call->parameters, "format"));
        AnalysisOrder *analysis;
        Order *order;

        if (!imports && strcmp(call->method, "io.ctprof.Job.Convert") != 0)
                return NULL;
        order = order_new(imports ? ORDER_IMPORT : ORDER_CONVERT);
        fuzz_expect(order, "memory");
        analysis = &order->analysis;
        analysis->n[0] = 1;
        analysis->output = place_of(call->parameters, "output", files);
        analysis->subjects[0].from.fd = place_of(file, "fileDescriptor", files);
        (void) !order_set_label(analysis, &analysis->subjects[0].from,
                                json_object_get_string(member(file, "label")));
        (void) snprintf(analysis->name.text, sizeof(analysis->name.text), "%s", name ? name : "");
        analysis->format =
                format && strcmp(format, "ktstr") == 0 ? ORDER_FORMAT_KTSTR : ORDER_FORMAT_NDJSON;
        return order;
}

static Reply take_failure(Span body) {
        _cleanup_(buffer_done) Buffer text = {};
        WireErrorDetail detail;
        const char *whole;
        WireError error;
        Reply reply = {};

        fuzz_expect(failure_unpack(body, &error, &detail), "an error is one");
        fuzz_expect(wire_error_encode(&text, error, &detail) == 0 &&
                            buffer_terminate(&text, &whole) == 0,
                    "memory");
        reply.error = strdup(wire_error_names[error]);
        reply.parameters = json_tokener_parse(whole);
        return reply;
}

static Reply obey(const Order *order, const Files *files) {
        PacketReader reader;
        pthread_t thread;
        Reply reply = {};
        Buffer body;
        Span texts[1];
        int pair[2], r;

        buffer_init(&body, 0);
        reader = (PacketReader){ .max_bytes = LIMIT_REPLY_BYTES };
        fuzz_expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 &&
                            order_pack(order, &body) == 0 &&
                            packet_send(pair[0], PACKET_ORDER, buffer_span(&body), files->fds,
                                        files->n, 0) == 0,
                    "an order can be sent");
        start_job(&pair[1], &thread);
        fuzz_expect(pthread_join(thread, NULL) == 0, "the job ends");
        do
                r = packet_receive(&reader, pair[0]);
        while (r == PACKET_E_PARTIAL || (r == 0 && reader.kind == PACKET_PART));
        fuzz_expect(r == 0, "an order is answered: %d", r);
        if (reader.kind == PACKET_ERROR) {
                reply = take_failure(buffer_span(&reader.body));
        } else {
                fuzz_expect(reader.kind == PACKET_RESULT &&
                                    result_unpack(buffer_span(&reader.body), texts,
                                                  order->method == ORDER_CONVERT),
                            "a result is one");
                reply.parameters = json_object_new_object();
        }
        (void) close(pair[0]);
        packet_reader_done(&reader);
        buffer_done(&body);
        return reply;
}

/* what came of it */

static int verify_file(int fd, Head *ret) {
        SnapshotFault fault = {};
        int r = snapshot_file_verify(fd, SNAPSHOT_PART_WHOLE, ret, &fault);

        fuzz_expect(r == 0 || r == SNAPSHOT_FILE_E_DAMAGED, "a file is whole or damaged: %d", r);
        return r;
}

static void check_imported(const Call *call, const Files *files) {
        const char *name = json_object_get_string(member(call->parameters, "name"));
        _cleanup_(head_done) Head head = {};

        fuzz_expect(verify_file(output_of(files), &head) == 0, "what was imported is whole");
        fuzz_expect(name && strcmp(head.name, name) == 0, "it has the name of the call");
        fuzz_expect(head.format_version <= HEAD_FORMAT_VERSION && head.imported_from,
                    "and tells where it is from");
}

static void check_ndjson(int fd) {
        const JsonLimits limits = { .max_depth = LIMIT_JSON_DEPTH,
                                    .max_token_bytes = LIMIT_TOKEN_BYTES };
        FuzzInput rest;
        Buffer text;

        made_file_get(fd, &text);
        rest = (FuzzInput){ text.bytes, text.n };
        while (rest.n > 0)
                fuzz_expect(json_check(fuzz_take_until(&rest, '\n'), &limits) == 0,
                            "a line is strict JSON");
        buffer_done(&text);
}

static void check_converted(const Call *call, const Files *files) {
        const char *format = json_object_get_string(member(call->parameters, "format"));
        _cleanup_(head_done) Head head = {};

        if (format && strcmp(format, "ktstr") == 0)
                fuzz_expect(verify_file(output_of(files), &head) == 0 && head.format_version == 0,
                            "the prior tool's form is a file of version 0");
        else
                check_ndjson(output_of(files));
}

/* The results are of the files in the order of the call. */
static void check_verified(const Call *call, json_object *results, const Files *files) {
        json_object *snapshots = member(call->parameters, "snapshots");

        for (size_t i = 0; i < json_object_array_length(results); i++) {
                json_object *result = json_object_array_get_idx(results, i);
                json_object *index =
                        member(json_object_array_get_idx(snapshots, i), "fileDescriptor");
                _cleanup_(head_done) Head head = {};
                uint64_t file = json_object_get_uint64(index);

                fuzz_expect(file < files->n, "a result is of a file");
                fuzz_expect(json_object_get_boolean(member(result, "ok")) ==
                                    (verify_file(files->fds[file], &head) == 0),
                            "a snapshot is in order when it can be read");
        }
}

/* The main process gives an empty file for it, and never one of the inputs. */
static bool names_output(const Call *call, const Files *files) {
        return json_object_get_uint64(member(call->parameters, "output")) == files->n - 1;
}

static void check_reply(const Call *call, const Reply *reply, const Files *files) {
        const char *method = strrchr(call->method, '.');
        json_object *reason = member(reply->parameters, "reason");

        if (reply->error) {
                if (json_object_is_type(reason, json_type_string))
                        expect_plain(span_of(json_object_get_string(reason)), '\0', "a reason");
                return;
        }
        if (!method || !reply->parameters)
                return;
        if (strcmp(method, ".Import") == 0 && names_output(call, files))
                check_imported(call, files);
        else if (strcmp(method, ".Convert") == 0 && names_output(call, files))
                check_converted(call, files);
        else if (strcmp(method, ".Verify") == 0 && !call->more)
                check_verified(call, member(reply->parameters, "results"), files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Span line = fuzz_take_until(&input, '\n');
        _cleanup_(reply_done) Reply reply = {};
        _cleanup_(freep) Order *order = NULL;
        _cleanup_(call_done) Call call = {};
        Files files;

        if (line.n == 0 || memchr(line.bytes, '\0', line.n) ||
            call_decode(line, &call, complaint) != 0)
                return 0;
        files_init(&files, &input);
        order = new_order(&call, &files);
        reply = order ? obey(order, &files) : ask(line, &call, &files);
        fuzz_expect(reply.parameters || (call.oneway && !order), "every call is answered");
        check_reply(&call, &reply, &files);
        files_done(&files);
        return 0;
}
