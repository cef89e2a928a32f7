/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Callers of a real service over real connections, line by line:
 *
 *     {...        the line and a NUL: a call of the caller at hand. Any other line that is none of
 *                 the below likewise, and is no call
 *     |TEXT       the same without the NUL: the beginning of something
 *     =SIZES      in what pieces bytes are sent from here on (fuzz-cuts.h)
 *     %N          the next call comes with N descriptors
 *     .p .r .f .e .x   a job gives a part, its result, a file, an error, or dies
 *     .n          a job asks for another that parses files
 *     .y          the youngest job dies
 *     :{...       a job gives this as its result
 *     -           the next job does not start
 *     ~           the caller reads
 *     !           the caller hangs up, and another takes its place
 *     #           the next caller
 *
 * In the end all jobs end and all callers read. Then every call has had exactly one last reply, in
 * order, and more replies only if it asked for them; or the connection was closed behind the one
 * error that says why. The next caller is served, and no descriptor and no job is left.
 *
 * Aims at: daemon/server/server.c, daemon/service/service.c, daemon/service/manager/queue.c,
 *          daemon/service/manager/record.c, daemon/service/request/request.c, daemon/order/order.c,
 *          protocol/interface/parameters.c,
 *          daemon/service/method/memory-jobs.c, daemon/service/method/method-add.c,
 *          daemon/service/method/method-analysis.c, daemon/service/method/method-change.c,
 *          daemon/service/method/method-export.c, daemon/service/method/method-list.c,
 *          daemon/service/method/upkeep.c, daemon/service/method/method-describe.c,
 *          daemon/service/method/method-status.c,
 *          daemon/spool/spool-failure.c, daemon/spool/spool-index.c
 *          protocol/interface/interface.c
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "check-lack.h"
#include "default-settings.h"
#include "fake-jobs.h"
#include "fuzz-cuts.h"
#include "fuzz.h"
#include "job/fd-store.h"
#include "json/json-scanner.h"
#include "log/log.h"
#include "plain.h"
#include "server/server.h"
#include "service/service.h"
#include "spool/spool-index.h"
#include "spool/spool.h"
#include "tree.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/message.h"

#define MAX_CALLERS 2
#define MAX_CALLS 2048
#define MAX_TURNS 20000
#define WAIT_US 200
#define MAX_CALL_FDS 9

typedef struct Caller {
        FrameStream *stream;
        Buffer begun; /* a frame without its NUL so far */
        struct {
                bool more;
        } calls[MAX_CALLS]; /* that want an answer */
        size_t n_calls, n_answered;
        bool is_bad;    /* something was sent that is no call: one error, and the end */
        bool is_closed; /* by the service */
} Caller;

typedef struct Scene {
        sd_event *event;
        Manager *manager;
        Users *users;
        Disposal *disposal;
        FdStore *fd_store;
        Server *server;
        Caller callers[MAX_CALLERS];
        unsigned current;
        FuzzCuts cuts;
        unsigned n_fds; /* for the next call */
} Scene;

/* the spool: two snapshots and something damaged, the same for all inputs */

static Spool *spool;

static void close_spool(void) {
        spool = spool_free(spool);
}

static void add_snapshot(const char *name, bool tagged) {
        _cleanup_(fd_closep) int fd = -EBADF;
        SnapshotFileWriter *writer = NULL;
        Head head = { .format_version = HEAD_FORMAT_VERSION,
                      .tagged = tagged,
                      .has_start_realtime = true,
                      .start_realtime_ns = 5,
                      .has_uid = true };
        uint64_t n_bytes;

        (void) snprintf(head.name, sizeof(head.name), "%s", name);
        fuzz_expect(spool_temporary(spool, &fd) == 0 &&
                            snapshot_file_writer_new(fd, &writer) == 0 &&
                            snapshot_file_writer_write(writer, "{}", 2) == 0 &&
                            snapshot_file_writer_finish(writer, &head, &n_bytes) == 0 &&
                            spool_publish(spool, fd, name, false, 0, NULL) == 0,
                    "a snapshot can be put into the spool");
        (void) snapshot_file_writer_free(writer);
}

static void open_spool(void) {
        int fd;

        fuzz_expect(spool_open(tree_path(), &spool) == 0, "spool_open");
        (void) atexit(close_spool);
        add_snapshot("one", true);
        add_snapshot("20260101T000000Z", false);
        fd = openat(spool->dir_fd, "bad.ctprof.zst", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        fuzz_expect(fd >= 0 && write(fd, "no snapshot", 11) == 11, "a damaged file");
        (void) fd_close(fd);
}

static size_t count_fds(void) {
        DIR *directory = opendir("/proc/self/fd");
        size_t n = 0;

        fuzz_expect(directory, "/proc/self/fd can be read");
        while (readdir(directory))
                n++;
        (void) closedir(directory);
        return n;
}

/* the service */

/* What a survey would find: nothing changes the spool here. */
static void fill_index(SpoolIndex *index) {
        Buffer body = { .bytes = NULL };
        SpoolEntry *entries;
        SpoolStamp stamp;
        size_t n;

        fuzz_expect(spool_list(spool, &entries, &n) == 0 &&
                            spool_stamp_read(spool->dir_fd, &stamp) == 0,
                    "the spool can be read");
        for (size_t i = 0; i < n; i++)
                fuzz_expect(spool_entry_pack(&body, &entries[i]) == 0, "memory");
        fuzz_expect(
                spool_index_begin(index) == 0 && spool_index_add(index, buffer_span(&body)) == 0 &&
                        spool_index_end(index, (Span){ (const char *) &stamp, sizeof(stamp) }) == 0,
                "entries and a stamp");
        spool_entries_free(entries, n);
        buffer_done(&body);
}

static void scene_init(Scene *scene) {
        const ConnectionLimits limits = server_default_limits();
        const UserLimits user_limits = user_default_limits(LIMIT_ANALYSES);
        Manager setup = { .spool = spool, .settings = default_settings() };

        *scene = (Scene){ .cuts = { .n_sizes = 0 } };
        fuzz_expect(sd_event_new(&scene->event) >= 0, "sd_event_new");
        setup.event = scene->event;
        setup.pool = fake_jobs_pool();
        fuzz_expect(users_new(&user_limits, &scene->users) == 0, "users_new");
        setup.users = scene->users;
        fuzz_expect(disposal_new(scene->event, scene->users, &scene->disposal) == 0,
                    "disposal_new");
        setup.disposal = scene->disposal;
        fuzz_expect(fd_store_new("fuzz", &scene->fd_store) == 0, "fd_store_new");
        setup.fd_store = scene->fd_store;
        fuzz_expect(service_new(&setup, &scene->manager) == 0, "service_new");
        fill_index(scene->manager->index);
        fuzz_expect(server_new(scene->event, scene->users, scene->disposal, &limits,
                               &service_events, scene->manager, &scene->server) == 0,
                    "server_new");
}

static void scene_done(Scene *scene) {
        for (size_t i = 0; i < MAX_CALLERS; i++) {
                scene->callers[i].stream = frame_stream_free(scene->callers[i].stream);
                buffer_done(&scene->callers[i].begun);
        }
        service_stop(scene->manager);
        scene->server = server_free(scene->server);
        scene->manager = service_free(scene->manager);
        scene->fd_store = fd_store_free(scene->fd_store);
        scene->disposal = disposal_free(scene->disposal);
        scene->users = users_free(scene->users);
        scene->event = sd_event_unref(scene->event);
}

static void turn(Scene *scene) {
        int r;

        do
                r = sd_event_run(scene->event, 0);
        while (r > 0);
        fuzz_expect(r == 0, "the loop turns");
}

/* callers */

static void connect_caller(Scene *scene, Caller *caller) {
        int ends[2];

        caller->stream = frame_stream_free(caller->stream);
        buffer_done(&caller->begun);
        *caller = (Caller){ .stream = NULL };
        fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
        fuzz_expect(server_adopt(scene->server, ends[0]) == SERVER_OK, "a caller is let in");
        fuzz_expect(frame_stream_new(ends[1], LIMIT_REPLY_BYTES, LIMIT_CALL_BYTES,
                                     LIMIT_FDS_PER_CALL, &caller->stream) == 0,
                    "memory");
}

static Caller *caller_at_hand(Scene *scene) {
        Caller *caller = &scene->callers[scene->current];

        if (!caller->stream)
                connect_caller(scene, caller);
        return caller;
}

static bool is_json(Span text) {
        const JsonLimits limits = { .max_depth = LIMIT_JSON_DEPTH, .max_token_bytes = text.n };

        return json_check(text, &limits) == 0;
}

static void check_error(const Reply *reply) {
        json_object *reason = NULL;

        fuzz_expect(strchr(reply->error, '.'), "an error has an interface: %s", reply->error);
        if (json_object_object_get_ex(reply->parameters, "reason", &reason) &&
            json_object_is_type(reason, json_type_string))
                fuzz_expect(is_json(span_of(json_object_to_json_string(reason))),
                            "a reason is a text");
}

static void take_reply(Caller *caller, Span frame) {
        char complaint[MESSAGE_COMPLAINT_BYTES] = "";
        bool is_last_error;
        Reply reply;

        fuzz_expect(reply_decode(frame, &reply, complaint) == 0, "a reply is one: %s", complaint);
        if (reply.error)
                check_error(&reply);
        is_last_error = caller->is_bad && caller->n_answered == caller->n_calls;
        fuzz_expect(caller->n_answered < caller->n_calls || is_last_error,
                    "nobody is answered who has not called: %.*s", (int) frame.n, frame.bytes);
        if (is_last_error)
                fuzz_expect(reply.error && !reply.continues, "what is no call is an error");
        else if (reply.continues)
                fuzz_expect(caller->calls[caller->n_answered].more,
                            "more replies come to who asked for them");
        if (!reply.continues)
                caller->n_answered++;
        reply_done(&reply);
}

/* What has arrived. */
static void read_replies(Caller *caller) {
        Span frame;
        int r;

        do {
                r = frame_stream_read(caller->stream);
                fuzz_expect(r == 0 || r == FRAME_E_AGAIN || r == FRAME_E_CLOSED,
                            "replies are frames: %d", r);
                caller->is_closed = caller->is_closed || r == FRAME_E_CLOSED;
                while (frame_stream_next(caller->stream, &frame) == 0)
                        take_reply(caller, frame);
        } while (r == 0);
}

/* What the caller owes itself to expect: the service has to see it the same way. */
static void note_frame(Caller *caller, Span frame) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Call call;

        if (caller->is_bad)
                return;
        if (call_decode(frame, &call, complaint) != 0) {
                caller->is_bad = true;
                return;
        }
        if (!call.oneway)
                caller->calls[caller->n_calls++].more = call.more;
        call_done(&call);
}

static void send_piece(Scene *scene, Caller *caller, Span piece) {
        /* Whoever was closed may get EPIPE; what else is sent fits into the socket. */
        ssize_t n = send(caller->stream->fd, piece.bytes, piece.n, MSG_DONTWAIT | MSG_NOSIGNAL);

        fuzz_expect(n == (ssize_t) piece.n || (n < 0 && (errno == EPIPE || errno == ECONNRESET)),
                    "an input fits into a socket");
        turn(scene);
}

static void send_bytes(Scene *scene, Caller *caller, Span bytes) {
        while (bytes.n > 0) {
                size_t n = fuzz_cuts_next(&scene->cuts, bytes.n);

                send_piece(scene, caller, (Span){ bytes.bytes, n });
                bytes = (Span){ bytes.bytes + n, bytes.n - n };
        }
}

static void send_with_fds(Scene *scene, Caller *caller, Span frame) {
        int fds[MAX_CALL_FDS], r;

        for (unsigned i = 0; i < scene->n_fds; i++) {
                fds[i] = eventfd(0, EFD_CLOEXEC);
                fuzz_expect(fds[i] >= 0, "eventfd");
        }
        r = frame_stream_queue(caller->stream, frame, fds, scene->n_fds);
        fuzz_expect(r == 0, "a call fits into the queue");
        r = frame_stream_write(caller->stream);
        fuzz_expect(r == 0 || r == FRAME_E_CLOSED, "and into the socket: %d", r);
        scene->n_fds = 0;
        turn(scene);
}

static void send_frame(Scene *scene, Span line) {
        Caller *caller = caller_at_hand(scene);
        bool is_whole = caller->begun.n == 0 && !memchr(line.bytes, '\0', line.n);
        Buffer frame = caller->begun;

        if (caller->n_calls + 1 >= MAX_CALLS)
                return;
        caller->begun = (Buffer){ .bytes = NULL };
        fuzz_expect(buffer_append(&frame, line.bytes, line.n) == 0, "memory");
        /* A NUL within ends a call, too. */
        for (FuzzInput rest = { frame.bytes, frame.n };;) {
                note_frame(caller, fuzz_take_until(&rest, '\0'));
                if (rest.n == 0)
                        break;
        }
        if (frame.n > 0 && frame.bytes[frame.n - 1] == '\0')
                note_frame(caller, SPAN_LITERAL(""));
        buffer_done(&frame);
        if (scene->n_fds > 0 && is_whole) {
                send_with_fds(scene, caller, line);
                return;
        }
        send_bytes(scene, caller, line);
        send_piece(scene, caller, (Span){ "", 1 });
}

static void send_beginning(Scene *scene, Span bytes) {
        Caller *caller = caller_at_hand(scene);

        bytes.n = strnlen(bytes.bytes, bytes.n);
        fuzz_expect(buffer_append(&caller->begun, bytes.bytes, bytes.n) == 0, "memory");
        send_bytes(scene, caller, bytes);
}

/* lines */

static void act(Scene *scene, Span word) {
        static const char letters[] = { 'p', 'r', 'f', 'e', 'x', 'n', 'y' };
        static const FakeJobAct acts[] = { FAKE_JOB_PART,        FAKE_JOB_RESULT, FAKE_JOB_FILE,
                                           FAKE_JOB_ERROR,       FAKE_JOB_END,    FAKE_JOB_NOTE,
                                           FAKE_JOB_YOUNGEST_END };

        for (size_t i = 0; i < sizeof(letters); i++)
                if (word.n > 0 && word.bytes[0] == letters[i])
                        (void) fake_jobs_act(acts[i], SPAN_LITERAL(""));
        turn(scene);
}

static void act_with(Scene *scene, Span parameters) {
        if (parameters.n > 0 && parameters.bytes[0] == '{' && is_json(parameters))
                (void) fake_jobs_act(FAKE_JOB_RESULT, parameters);
        turn(scene);
}

static void play_line(Scene *scene, Span line) {
        Span rest = line.n > 0 ? (Span){ line.bytes + 1, line.n - 1 } : line;

        switch (line.n > 0 ? line.bytes[0] : '\0') {
        case '|':
                send_beginning(scene, rest);
                break;
        case '=':
                scene->cuts = (FuzzCuts){ (const uint8_t *) rest.bytes, rest.n, 0 };
                break;
        case '%':
                scene->n_fds = rest.n > 0 ? (unsigned char) rest.bytes[0] % 10 : 1;
                break;
        case '.':
                act(scene, rest);
                break;
        case ':':
                act_with(scene, rest);
                break;
        case '-':
                fake_jobs_fail_next(1);
                break;
        case '~':
                read_replies(caller_at_hand(scene));
                break;
        case '!':
                connect_caller(scene, caller_at_hand(scene));
                turn(scene);
                break;
        case '#':
                scene->current = (scene->current + 1) % MAX_CALLERS;
                break;
        default:
                send_frame(scene, line);
        }
}

/* the end */

static bool is_done(const Caller *caller) {
        return !caller->stream || caller->is_closed ||
               (!caller->is_bad && caller->n_answered == caller->n_calls);
}

/* Jobs end, callers read, until nobody waits. */
static void finish(Scene *scene) {
        fake_jobs_fail_next(0);
        for (unsigned i = 0; i < MAX_TURNS; i++) {
                bool done = fake_jobs_n() == 0;

                for (size_t k = 0; k < MAX_CALLERS; k++) {
                        if (!is_done(&scene->callers[k]))
                                read_replies(&scene->callers[k]);
                        done = done && is_done(&scene->callers[k]);
                }
                if (done)
                        return;
                if (!fake_jobs_act(FAKE_JOB_RESULT, SPAN_LITERAL("")))
                        fuzz_expect(sd_event_run(scene->event, WAIT_US) >= 0, "the loop turns");
                turn(scene);
        }
        fuzz_expect(false, "everybody is answered or closed in the end");
}

static void check_caller(const Caller *caller) {
        if (!caller->stream)
                return;
        if (caller->is_bad)
                fuzz_expect(caller->is_closed && caller->n_answered == caller->n_calls + 1,
                            "who sent no call has one error, and no connection");
        else
                fuzz_expect(!caller->is_closed && caller->n_answered == caller->n_calls,
                            "every call has one last reply");
}

static void check_next_caller(Scene *scene) {
        Caller *caller = &scene->callers[0];

        connect_caller(scene, caller);
        scene->current = 0;
        scene->cuts.n_sizes = 0;
        send_frame(scene, SPAN_LITERAL("{\"method\":\"org.varlink.service.GetInfo\"}"));
        finish(scene);
        check_caller(caller);
}

const char *fuzz_lack(void) {
        return check_lacks_shared_tables();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        static bool is_ready;
        size_t n_fds;
        Scene scene;

        if (!is_ready) {
                log_open(LOG_EMERG);
                open_spool();
                is_ready = true;
        }
        n_fds = count_fds();
        scene_init(&scene);
        while (input.n > 0)
                play_line(&scene, fuzz_take_until(&input, '\n'));
        finish(&scene);
        for (size_t i = 0; i < MAX_CALLERS; i++)
                check_caller(&scene.callers[i]);
        check_next_caller(&scene);
        scene_done(&scene);
        fuzz_expect(fake_jobs_n() == 0, "no job is left");
        fuzz_expect(count_fds() == n_fds, "no descriptor is left");
        return 0;
}
