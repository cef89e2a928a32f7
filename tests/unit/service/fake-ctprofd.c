/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tests of the service start this instead of ctprofd. Every job answers with what it was
 * told, so that the tests see the order, and misbehaves when a name in them says so.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "job/packet.h"
#include "order/order.h"
#include "wire/limits.h"
#include "worker/worker.h"

#define LINES_NAME(id, name) name,
static const char *const command_lines[] = { COMMAND_LINES(LINES_NAME) };

static PacketReader reader;
static Order *order;

static void send_packet(PacketKind kind, Span body, const int *fds, size_t n_fds) {
        if (packet_send(3, kind, body, fds, n_fds, 0) != 0)
                _exit(9);
}

static void reply_with(const char *parameters, bool continues, const int *fds, size_t n_fds) {
        send_packet(continues ? PACKET_PART : PACKET_LAST, span_of(parameters), fds, n_fds);
}

static void reply(const char *parameters, bool continues) {
        reply_with(parameters, continues, NULL, 0);
}

static void tell(const char *first, const char *second, const char *third) {
        Span texts[] = { span_of(first), span_of(second), span_of(third) };
        Buffer body;

        buffer_init(&body, 0);
        if (result_pack(&body, texts, !first ? 0 : !second ? 1 : !third ? 2 : 3) != 0)
                _exit(9);
        send_packet(PACKET_RESULT, buffer_span(&body), NULL, 0);
        buffer_done(&body);
}

static void fail(WireError error, const char *reason) {
        Buffer body;

        buffer_init(&body, 0);
        if (failure_pack(&body, error, &(WireErrorDetail){ .reason = reason }) != 0)
                _exit(9);
        send_packet(PACKET_ERROR, buffer_span(&body), NULL, 0);
        buffer_done(&body);
}

static int take_fd(OrderFd fd) {
        return fd > 0 && fd <= reader.n_fds ? TAKE_FD(reader.fds[fd - 1]) : -1;
}

/* the order, as JSON: the tests look for what they expect */

static void write_fd(JsonWriter *writer, const char *key, OrderFd fd) {
        if (fd > 0)
                json_write_member_u64(writer, key, fd - 1);
}

static void write_text(JsonWriter *writer, const char *key, const char *text) {
        if (text && text[0] != '\0')
                json_write_member_text(writer, key, text);
}

static void write_spool(JsonWriter *writer, const OrderSpool *spool) {
        const SpoolLimits *limits = &spool->limits;

        json_write_key(writer, "limits");
        json_write_object(writer);
        json_write_member_u64(writer, "maxBytes", limits->max_bytes);
        json_write_member_u64(writer, "keepFreeBytes", limits->keep_free_bytes);
        json_write_member_u64(writer, "keepFreeFiles", limits->keep_free_files);
        json_write_member_u64(writer, "maxAgeNs", limits->max_age_ns);
        json_write_member_u64(writer, "reservedBytes", limits->reserved_bytes);
        json_write_member_u64(writer, "maxSnapshots", limits->max_snapshots);
        json_write_member_u64(writer, "maxSnapshotsPerUid", limits->max_snapshots_per_uid);
        json_write_end(writer);
        write_text(writer, "spoolPath", spool->path);
        write_fd(writer, "roll", spool->roll);
        write_fd(writer, "directory", spool->directory);
}

static void write_capture(JsonWriter *writer, const CaptureOrder *capture) {
        static const char *const names[] = TASK_OBJECT_NAMES;

        write_text(writer, "name", capture->name);
        json_write_member_bool(writer, "tagged", capture->tagged);
        json_write_member_bool(writer, "replace", capture->replace);
        json_write_member_u64(writer, "uid", capture->uid);
        json_write_member_text(writer, "smapsMode", smaps_mode_names[capture->smaps]);
        json_write_member_bool(writer, "anonymous", capture->spool.directory == 0);
        json_write_key(writer, "selfPids");
        json_write_array(writer);
        for (uint32_t i = 0; i < capture->n_self_pids; i++)
                json_write_i64(writer, capture->self_pids[i]);
        json_write_end(writer);
        json_write_member_u64(writer, "smapsMaxRssBytes", capture->smaps_max_rss_bytes);
        json_write_member_u64(writer, "smapsMaxProcesses", capture->smaps_max_processes);
        write_spool(writer, &capture->spool);
        write_fd(writer, "output", capture->output);
        json_write_member_bool(writer, "heap", capture->heap);
        json_write_member_text(writer, "commandLines", command_lines[capture->commands]);
        json_write_member_u64(writer, "heapLimitNs", capture->heap_limit_ns);
        write_fd(writer, "heapCache", capture->heap_cache);
        write_text(writer, "noMemory", capture->no_memory);
        write_text(writer, "noTasks", capture->no_tasks);
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++)
                write_fd(writer, names[i], capture->tasks[i]);
}

static void write_change(JsonWriter *writer, const SpoolOrder *spool) {
        if (order->method == ORDER_REMOVE) {
                json_write_key(writer, "names");
                json_write_array(writer);
                for (uint32_t i = 0; i < spool->n_names; i++)
                        json_write_text(writer, spool->names[i].text);
                json_write_end(writer);
        }
        write_text(writer, "name", spool->name.text);
        write_text(writer, "newName", spool->new_name.text);
        json_write_member_u64(writer, "uid", spool->uid);
        write_fd(writer, "file", spool->file);
        write_spool(writer, &spool->spool);
}

static void write_file(JsonWriter *writer, const OrderFile *file) {
        write_fd(writer, "fileDescriptor", file->fd);
        write_text(writer, "label", order_label(&order->analysis, file));
}

static void write_subject(JsonWriter *writer, const char *key, const OrderSubject *subject) {
        json_write_key(writer, key);
        json_write_object(writer);
        write_file(writer, &subject->from);
        if (subject->to.fd > 0) {
                json_write_key(writer, "to");
                json_write_object(writer);
                write_file(writer, &subject->to);
                json_write_end(writer);
        }
        json_write_end(writer);
}

static void write_analysis(JsonWriter *writer, const AnalysisOrder *analysis) {
        if (order->method == ORDER_COMPARE) {
                write_subject(writer, "before", &analysis->subjects[0]);
                write_subject(writer, "after", &analysis->subjects[1]);
        } else if (analysis->n[0] > 0) {
                write_subject(writer, "snapshot", &analysis->subjects[0]);
        }
        json_write_member_u64(writer, "limit", analysis->view.limit);
}

/* {@before "given": the order, "fds": the number of descriptors, "more" @after} */
static const char *describe_given(const char *before, const char *after) {
        static Buffer text;
        JsonWriter writer;
        const char *whole;

        buffer_clear(&text);
        buffer_append_format(&text, "{%s\"given\":", before);
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        if (order->kind == JOB_CAPTURE)
                write_capture(&writer, &order->capture);
        else if (order->kind == JOB_SPOOL)
                write_change(&writer, &order->spool);
        else if (order->kind == JOB_ANALYSIS)
                write_analysis(&writer, &order->analysis);
        json_write_end(&writer);
        if (json_writer_finish(&writer) != 0)
                _exit(9);
        buffer_append_format(&text, ",\"fds\":%zu,\"more\":%s%s}", reader.n_fds,
                             order->more ? "true" : "false", after);
        if (buffer_terminate(&text, &whole) != 0)
                _exit(9);
        return whole;
}

static void reply_given(const char *member) {
        char before[512];

        (void) snprintf(before, sizeof(before), "%s,", member);
        reply(describe_given(before, ""), false);
}

/* Asks the main process for a job by a note of @kind. Returns our end of the pair to it. */
static int ask_for(PacketKind kind) {
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
                _exit(9);
        send_packet(kind, (Span){}, &pair[1], 1);
        (void) close(pair[1]);
        return pair[0];
}

/* What comes back for @word: the same from a job that serves, "" when nobody has the socket. */
static const char *exchange(int socket, const char *word) {
        static char text[64];
        ssize_t n;

        (void) send(socket, word, strlen(word), MSG_NOSIGNAL);
        n = recv(socket, text, sizeof(text) - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        return text;
}

/*
 * What a capture named "memory-WORDS" does, for each word up to a dot: "ask" for a job, "bare": the
 * same without a socket, or tell the job the word and note in brackets what comes back.
 */
static void ask_memory(const char *words, char *ret, size_t n) {
        char word[32];
        int socket = -1;

        for (; *words; words += strcspn(words, ".") + (words[strcspn(words, ".")] == '.')) {
                (void) snprintf(word, sizeof(word), "%.*s", (int) strcspn(words, "."), words);
                if (strcmp(word, "ask") == 0)
                        socket = ask_for(PACKET_MEMORY);
                else if (strcmp(word, "bare") == 0)
                        send_packet(PACKET_MEMORY, (Span){}, NULL, 0);
                else
                        (void) snprintf(ret + strlen(ret), n - strlen(ret), "[%s]",
                                        exchange(socket, word));
        }
}

/* The further job that a memory job asks for says @word, too. */
static void pass_on(char *word, size_t *n) {
        static int socket = -1;

        if (socket < 0)
                socket = ask_for(PACKET_FILES);
        (void) send(socket, word, *n, MSG_NOSIGNAL);
        *n = (size_t) MAX_OF(recv(socket, word, *n, 0), 0);
        if (*n == 0)
                word[(*n)++] = '-';
}

/*
 * The job: answers with what it is told. Words that begin with "f" a memory job tells a file job;
 * at "left" it says that it has left process 123 of user 7 behind, at "order" what it was told.
 */
static void serve(OrderFd place, bool is_memory) {
        const OrderLife left = { .tgid = 123, .start_ticks = 45, .owner = 7 };
        int socket = take_fd(place);
        char text[64];
        ssize_t n;
        size_t k;

        while ((n = recv(socket, text, sizeof(text), 0)) > 0) {
                if (n == 3 && memcmp(text, "die", 3) == 0)
                        _exit(7);
                if (n == 4 && memcmp(text, "fail", 4) == 0) {
                        (void) close(socket);
                        fail(WIRE_ERROR_JOB_FAILED, "no");
                        return;
                }
                k = (size_t) n;
                if (is_memory && text[0] == 'f')
                        pass_on(text, &k);
                if (is_memory && n == 4 && memcmp(text, "left", 4) == 0)
                        send_packet(PACKET_LEFT, (Span){ (const char *) &left, sizeof(left) }, NULL,
                                    0);
                if (is_memory && n == 5 && memcmp(text, "order", 5) == 0)
                        k = (size_t) snprintf(text, sizeof(text), "%u hung, %u barred",
                                              order->memory.n_hung, order->memory.n_barred);
                (void) send(socket, text, MIN_OF(k, sizeof(text)), MSG_NOSIGNAL);
                if (n == 4 && memcmp(text, "hang", 4) == 0)
                        (void) pause();
        }
        tell(NULL, NULL, NULL);
}

/* What the last capture left in the cache, and whether it could be made longer or shorter. */
static void use_cache(char *ret, size_t n) {
        int fd = take_fd(order->capture.heap_cache);
        char text[8] = "";
        struct stat status;

        if (fd < 0) {
                (void) snprintf(ret, n, "none");
                return;
        }
        if (fstat(fd, &status) != 0 || pread(fd, text, sizeof(text) - 1, 0) < 0 ||
            pwrite(fd, "kept", 5, 0) != 5)
                _exit(8);
        (void) snprintf(ret, n, "[%s] of %lld, %s", text, (long long) status.st_size,
                        ftruncate(fd, 0) == 0 || ftruncate(fd, 2 * status.st_size) == 0 ? "changed"
                                                                                        : "fixed");
}

/* Until there is no such file. */
static void wait_for_gate(const char *path) {
        while (access(path, F_OK) == 0)
                (void) usleep(1000);
}

/* FAKE_CAPTURE: the gate that it waits for. */
static void capture(void) {
        const char *name = order->capture.name, *gate = getenv("FAKE_CAPTURE");
        char note[128] = "", member[256];
        int fd;

        if (gate)
                wait_for_gate(gate);
        if (strcmp(name, "hang") == 0)
                (void) pause();
        if (strcmp(name, "die") == 0)
                _exit(7);
        if (strcmp(name, "denied") == 0) {
                fail(WIRE_ERROR_PERMISSION_DENIED, "no");
                return;
        }
        if (order->more)
                reply("{\"progress\":{\"phase\":\"threads\",\"done\":1}}", true);
        if (order->capture.spool.directory == 0) {
                fd = dup(2);
                reply_with("{\"fileDescriptor\":0}", false, &fd, 1);
                return;
        }
        if (strncmp(name, "memory-", 7) == 0)
                ask_memory(name + 7, note, sizeof(note));
        if (strcmp(name, "cache") == 0)
                use_cache(note, sizeof(note));
        if (strcmp(name, "nonsense") == 0) {
                tell("[]", "", "");
                return;
        }
        /* The order comes back as the sources. */
        (void) snprintf(member, sizeof(member), "\"note\":\"%s\",", note);
        {
                const char *given = describe_given(member, "");
                char *sources = malloc(strlen(given) + 3);

                (void) sprintf(sources, "[%s]", given);
                tell(sources, "", NULL);
                free(sources);
        }
}

/* The order comes back as the head of what was replaced. */
static void publish(void) {
        const char *name = order->spool.name.text;
        char head[256];

        if (strcmp(name, "hang-late") == 0)
                (void) pause();
        if (strcmp(name, "die-late") == 0)
                _exit(7);
        (void) snprintf(head, sizeof(head), "{\"name\":\"%s\"}", name);
        tell(head, "", describe_given("", ""));
}

static const char *label(unsigned i) {
        const char *text = order_label(&order->analysis, &order->analysis.subjects[i].from);

        return text ? text : "";
}

static void show(void) {
        static char text[4096];
        unsigned n = strcmp(label(0), "flood") == 0 ? 3000 : 2;

        memset(text, ' ', sizeof(text) - 1);
        memcpy(text, "{}", 2);
        for (unsigned i = 0; i < n; i++)
                reply(n > 2 ? text : "{\"groups\":[]}", true);
        reply_given("\"sections\":{}");
}

static void verify(void) {
        Buffer text;
        char *parameters;

        buffer_init(&text, 0);
        (void) !buffer_append_text(&text, "{\"results\":[");
        for (unsigned i = 0; i < order->analysis.n[0]; i++)
                (void) !buffer_append_format(&text, "%s{\"name\":\"%s\",\"ok\":true}",
                                             i > 0 ? "," : "", label(i));
        (void) !buffer_append_text(&text, "]}");
        if (buffer_take_text(&text, &parameters) != 0)
                _exit(9);
        reply(parameters, false);
        free(parameters);
}

static void write_output(void) {
        if (write(take_fd(order->analysis.output), "written", 7) != 7)
                _exit(8);
}

/* Waits for a message; PACKET_E_AGAIN when none came in time. */
static int await_message(int timeout_ms) {
        struct pollfd wait = { .fd = 3, .events = POLLIN };
        int r;

        do {
                r = packet_receive(&reader, 3);
                if (r == PACKET_E_AGAIN && poll(&wait, 1, timeout_ms) == 0)
                        return r;
        } while (r == PACKET_E_AGAIN || r == PACKET_E_PARTIAL);
        return r;
}

/* Sends progress until it is asked to end. */
static void record(bool is_deaf) {
        int r;

        do {
                reply("{\"progress\":{}}", true);
                r = await_message(2);
        } while (r == PACKET_E_AGAIN);
        if (r != 0 || reader.kind != PACKET_STOP)
                _exit(6);
        if (is_deaf) {
                reply("{\"deaf\":true}", true);
                (void) pause();
        }
        reply("{\"stopped\":true}", false);
}

/*
 * Says what it was told, and records until the time is over or it is asked to end. FAKE_RECORD is
 * how it behaves: it "die"s, is "denied", has another job "unwind", or is "full" in the end.
 */
static void take_samples(void) {
        const RecordOrder *record = &order->record;
        const RecordFilter *filter = &record->scope.filter;
        const char *what = getenv("FAKE_RECORD");
        RecordResult result = { .n_samples = 70, .n_lost = 7 };
        char text[512], heard[80] = "";
        uint64_t left_ns = record->limit_ns;
        int socket = -1, r;

        if (what && strcmp(what, "die") == 0)
                _exit(7);
        if (what && strcmp(what, "denied") == 0) {
                fail(WIRE_ERROR_PERMISSION_DENIED, "no");
                return;
        }
        if (what && strcmp(what, "unwind") == 0) {
                socket = ask_for(PACKET_UNWIND);
                (void) snprintf(heard, sizeof(heard), " [%s]", exchange(socket, "ping"));
        }
        (void) snprintf(text, sizeof(text),
                        "{\"progress\":{\"phase\":\"recording\",\"told\":"
                        "\"%llu %llu %u %d %d %d%s%s\",\"filter\":"
                        "\"[%u %u %u %u %u %u %u %.40s %.40s %llu %llu]\"}}",
                        (unsigned long long) record->limit_ns,
                        (unsigned long long) record->period_ns, record->stack_bytes,
                        record->waiting, record->running, record->frames,
                        record->wakers == RECORD_WAKERS_NONE ||
                                        take_fd(record->tasks[TASK_OBJECT_WAKING]) < 0
                                ? ""
                        : record->wakers == RECORD_WAKERS_LOCKS ? " l"
                                                                : " w",
                        heard, filter->is_on, filter->starter, filter->pids[1], filter->n_pids,
                        filter->uids[0], filter->n_uids, filter->threads, record->scope.comm,
                        record->scope.cgroup, (unsigned long long) record->scope.min_ns,
                        (unsigned long long) record->scope.max_ns);
        if (take_fd(record->output) < 0 || take_fd(record->tasks[TASK_OBJECT_SAMPLES]) < 0 ||
            take_fd(record->tasks[TASK_OBJECT_CONTROL]) < 0)
                _exit(8);
        for (;;) {
                reply(text, true);
                r = await_message(2);
                if (r != PACKET_E_AGAIN || left_ns <= 2000000)
                        break;
                left_ns -= 2000000;
        }
        if (r != PACKET_E_AGAIN && (r != 0 || reader.kind != PACKET_STOP))
                _exit(6);
        result.ended_by = what && strcmp(what, "full") == 0 ? RECORD_END_BYTES
                          : r == PACKET_E_AGAIN             ? RECORD_END_TIME
                                                            : RECORD_END_CALL;
        send_packet(PACKET_RESULT, (Span){ (const char *) &result, sizeof(result) }, NULL, 0);
}

/* Has all parts, and writes what they become. */
static void join(void) {
        const JoinOrder *parts = &order->join;

        if (take_fd(parts->begin) < 0 || take_fd(parts->end) < 0 || take_fd(parts->recording) < 0 ||
            write(take_fd(parts->output), "joined", 6) != 6)
                _exit(8);
        tell("{\"name\":\"\"}", NULL, NULL);
}

static void tell_objects(uint32_t n, const char *reason, int fd) {
        ObjectsResult result = { .n = n, .objects = { TASK_OBJECT_TASKS } };

        (void) snprintf(result.reason, sizeof(result.reason), "%s", reason);
        send_packet(PACKET_RESULT, (Span){ (const char *) &result, sizeof(result) }, &fd, fd >= 0);
}

/* Clocks of @n CPUs, as many in a message as it may have, and the rest in the last one. */
static void tell_clocks(size_t n) {
        int fds[LIMIT_CLOCKS_AT_ONCE];

        for (size_t told = 0, k; told < n; told += k) {
                for (k = 0; k < ELEMENTSOF(fds) && told + k < n; k++)
                        fds[k] = dup(2);
                send_packet(PACKET_CLOCKS, (Span){}, fds, k);
                for (size_t i = 0; i < k; i++)
                        (void) close(fds[i]);
        }
}

/* What a job that loads programs does is told by FAKE_LOAD; with a path it waits for that gate. */
static void load(void) {
        const char *what = getenv("FAKE_LOAD");

        if (!what || strcmp(what, "refused") == 0)
                tell_objects(0, "the moon is full", -1);
        else if (strcmp(what, "loaded") == 0)
                tell_objects(1, "", dup(2));
        else if (strcmp(what, "empty") == 0)
                tell_objects(1, "", -1);
        else if (strncmp(what, "clocks ", 7) == 0) {
                tell_clocks(strtoul(what + 7, NULL, 10));
                tell_objects(1, "", dup(2));
        } else if (what[0] == '/') {
                wait_for_gate(what);
                tell_objects(1, "", dup(2));
        } else if (strcmp(what, "failed") == 0)
                fail(WIRE_ERROR_JOB_FAILED, "no");
        else
                _exit(7);
}

static void inform(void) {
        char member[256];

        if (strcmp(label(0), "hang") == 0)
                (void) pause();
        (void) snprintf(member, sizeof(member),
                        "\"snapshot\":{\"name\":\"%s\",\"tagged\":true,\"formatVersion\":1}",
                        label(0));
        reply_given(member);
}

static void act(void) {
        switch (order->method) {
        case ORDER_CAPTURE:
                capture();
                break;
        case ORDER_RECORD:
                take_samples();
                break;
        case ORDER_UNWIND:
                serve(order->unwind.socket, false);
                break;
        case ORDER_JOIN:
                join();
                break;
        case ORDER_FILES:
                serve(order->files.socket, false);
                break;
        case ORDER_MEMORY:
                serve(order->memory.socket, true);
                break;
        case ORDER_LOAD:
                load();
                break;
        case ORDER_PUBLISH:
                publish();
                break;
        case ORDER_SHOW:
                show();
                break;
        case ORDER_VERIFY:
                verify();
                break;
        case ORDER_INFO:
                inform();
                break;
        case ORDER_CONVERT:
                write_output();
                tell("{\"name\":\"\"}", NULL, NULL);
                break;
        case ORDER_IMPORT:
                write_output();
                tell(NULL, NULL, NULL);
                break;
        case ORDER_PROBE:
        case ORDER_TELL_SOURCES:
                if (order->method == ORDER_TELL_SOURCES && strcmp(label(0), "hang") == 0)
                        (void) pause();
                if (getenv("FAKE_PROBE_FAILS"))
                        _exit(3);
                tell("[{\"name\":\"stat\"}]", "", "");
                break;
        case ORDER_CLEAN:
                tell(NULL, NULL, NULL);
                break;
        case ORDER_RENAME:
                if (strcmp(order->spool.name.text, "hang") == 0)
                        (void) pause();
                reply_given("\"snapshots\":[]");
                break;
        case ORDER_REMOVE:
        case ORDER_SURVEY:
        case ORDER_STACKS:
        case ORDER_COMPARE:
        case ORDER_COMPARE_SETS:
        case ORDER_FOLD:
        case ORDER_LISTEN:
        case _ORDER_METHOD_MAX:
                reply_given("\"snapshots\":[]");
                break;
        }
}

/* The service cannot do without what is in its spool: this one job is real. */
static bool is_survey(JobKind kind) {
        static char start[PACKET_BYTES + 64];
        ssize_t n = recv(3, start, sizeof(start), MSG_PEEK);
        Order *peeked = NULL;
        bool is = n > 8 &&
                  order_unpack((Span){ start + 8, (size_t) n - 8 }, kind, 2, &peeked) == 0 &&
                  peeked->method == ORDER_SURVEY;

        free(peeked);
        return is;
}

int main(int argc, char *argv[]) {
        JobKind kind;

        /* A test may have made up a kind, whose order is one word. */
        if (argc != 2 || strncmp(argv[1], "--job=", 6) != 0)
                return 2;
        if (!job_kind_find(argv[1] + 6, &kind)) {
                reader = (PacketReader){ .max_bytes = ORDER_MAX_BYTES };
                if (await_message(-1) != 0)
                        return 4;
                record(memcmp(reader.body.bytes, "Deaf", 4) == 0);
                return 0;
        }
        if (is_survey(kind) && getenv("FAKE_SURVEY_FAILS"))
                return 5;
        if (is_survey(kind) && getenv("FAKE_SURVEY_HANGS"))
                (void) pause();
        if (is_survey(kind))
                return worker_serve(JOB_SPOOL, 3, WORKER_FREE) != 0;
        reader = (PacketReader){ .max_bytes = ORDER_MAX_BYTES };
        if (await_message(-1) != 0 ||
            order_unpack(buffer_span(&reader.body), kind, reader.n_fds, &order) != 0)
                return 4;
        act();
        free(order);
        packet_reader_done(&reader);
        return 0;
}
