/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tests of the service start this instead of ctprofd. Every job answers with its parameters, so
 * that the tests see the order, and misbehaves when a name in them says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "interface/job-interface.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/message.h"
#include "worker/worker.h"

static FrameStream *stream;

static void send_frame(Buffer *frame, const int *fds, size_t n_fds) {
        if (frame_stream_queue(stream, buffer_span(frame), fds, n_fds) != 0 ||
            frame_stream_flush(stream) != 0)
                _exit(9);
        buffer_done(frame);
}

static void reply_with(const char *parameters, bool continues, const int *fds, size_t n_fds) {
        Buffer frame;

        buffer_init(&frame, 0);
        if (reply_encode(&frame, span_of(parameters), continues) != 0)
                _exit(9);
        send_frame(&frame, fds, n_fds);
}

static void reply(const char *parameters, bool continues) {
        reply_with(parameters, continues, NULL, 0);
}

static void fail(const char *error, const char *parameters) {
        Buffer frame;

        buffer_init(&frame, 0);
        if (error_encode(&frame, error, span_of(parameters)) != 0)
                _exit(9);
        send_frame(&frame, NULL, 0);
}

static const char *text_of(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return value ? json_object_get_string(value) : "";
}

/* {@before "given": the parameters, "fds": the number of descriptors, "more" @after} */
static void reply_given_in(const Call *call, const char *before, const char *after) {
        static char text[LIMIT_CALL_BYTES];

        (void) snprintf(text, sizeof(text), "{%s\"given\":%s,\"fds\":%zu,\"more\":%s%s}", before,
                        json_object_to_json_string_ext(call->parameters, JSON_C_TO_STRING_PLAIN),
                        frame_stream_n_fds(stream), call->more ? "true" : "false", after);
        reply(text, false);
}

static void reply_given(const Call *call, const char *member) {
        char before[512];

        (void) snprintf(before, sizeof(before), "%s,", member);
        reply_given_in(call, before, "");
}

/* Asks the main process for a job of @kind. Returns our end of the pair to it. */
static int ask_for(const char *kind) {
        char text[32];
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
                _exit(9);
        (void) snprintf(text, sizeof(text), "{\"%s\":true}", kind);
        reply_with(text, true, &pair[1], 1);
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
                        socket = ask_for("memory");
                else if (strcmp(word, "bare") == 0)
                        reply("{\"memory\":true}", true);
                else
                        (void) snprintf(ret + strlen(ret), n - strlen(ret), "[%s]",
                                        exchange(socket, word));
        }
}

static size_t length_of(json_object *object, const char *key) {
        return json_object_array_length(json_object_object_get(object, key));
}

/* The further job that a memory job asks for says @word, too. */
static void pass_on(char *word, size_t *n) {
        static int socket = -1;

        if (socket < 0)
                socket = ask_for("files");
        (void) send(socket, word, *n, MSG_NOSIGNAL);
        *n = (size_t) MAX_OF(recv(socket, word, *n, 0), 0);
        if (*n == 0)
                word[(*n)++] = '-';
}

/*
 * The job: answers with what it is told. Words that begin with "f" a memory job tells a file job;
 * at "left" it says that it has left process 123 of user 7 behind, at "order" what it was told.
 */
static void serve(const Call *call, bool is_memory) {
        json_object *value = json_object_object_get(call->parameters, "socket");
        int socket = frame_stream_take_fd(stream, (size_t) json_object_get_int(value));
        char text[64];
        ssize_t n;
        size_t k;

        while ((n = recv(socket, text, sizeof(text), 0)) > 0) {
                if (n == 3 && memcmp(text, "die", 3) == 0)
                        _exit(7);
                if (n == 4 && memcmp(text, "fail", 4) == 0) {
                        (void) close(socket);
                        fail("io.ctprof.Profiler.JobFailed", "{\"reason\":\"no\"}");
                        return;
                }
                k = (size_t) n;
                if (is_memory && text[0] == 'f')
                        pass_on(text, &k);
                if (is_memory && n == 4 && memcmp(text, "left", 4) == 0)
                        reply("{\"left\":{\"tgid\":123,\"startTicks\":45,\"owner\":7}}", true);
                if (is_memory && n == 5 && memcmp(text, "order", 5) == 0)
                        k = (size_t) snprintf(text, sizeof(text), "%zu hung, %zu barred",
                                              length_of(call->parameters, "hung"),
                                              length_of(call->parameters, "barred"));
                (void) send(socket, text, MIN_OF(k, sizeof(text)), MSG_NOSIGNAL);
                if (n == 4 && memcmp(text, "hang", 4) == 0)
                        (void) pause();
        }
        reply("{}", false);
}

/* What the last capture left in the cache, and whether it could be made longer or shorter. */
static void use_cache(const Call *call, char *ret, size_t n) {
        json_object *value = json_object_object_get(call->parameters, "heapCache");
        char text[8] = "";
        struct stat status;
        int fd;

        if (!value) {
                (void) snprintf(ret, n, "none");
                return;
        }
        fd = frame_stream_take_fd(stream, (size_t) json_object_get_int(value));
        if (fstat(fd, &status) != 0 || pread(fd, text, sizeof(text) - 1, 0) < 0 ||
            pwrite(fd, "kept", 5, 0) != 5)
                _exit(8);
        (void) snprintf(ret, n, "[%s] of %lld, %s", text, (long long) status.st_size,
                        ftruncate(fd, 0) == 0 || ftruncate(fd, 2 * status.st_size) == 0 ? "changed"
                                                                                        : "fixed");
}

static void capture(const Call *call) {
        char note[128] = "";
        const char *name = text_of(call->parameters, "name");
        char member[256];
        int fd;

        if (strcmp(name, "hang") == 0)
                (void) pause();
        if (strcmp(name, "die") == 0)
                _exit(7);
        if (strcmp(name, "denied") == 0) {
                fail("org.varlink.service.PermissionDenied", "{\"reason\":\"no\"}");
                return;
        }
        if (call->more)
                reply("{\"progress\":{\"phase\":\"threads\",\"done\":1}}", true);
        if (strcmp(text_of(call->parameters, "anonymous"), "true") == 0) {
                fd = dup(2);
                reply_with("{\"fileDescriptor\":0}", false, &fd, 1);
                return;
        }
        if (strncmp(name, "memory-", 7) == 0)
                ask_memory(name + 7, note, sizeof(note));
        if (strcmp(name, "cache") == 0)
                use_cache(call, note, sizeof(note));
        /* The order comes back with that of the second job, as its sources. */
        (void) snprintf(member, sizeof(member),
                        "\"snapshot\":{\"name\":\"%s\"},\"sources\":[{\"note\":\"%s\",", name,
                        note);
        reply_given_in(call, member, "}]");
}

static void keep(const Call *call) {
        const char *name = text_of(call->parameters, "name");
        char member[256];

        if (strcmp(name, "hang-late") == 0)
                (void) pause();
        if (strcmp(name, "die-late") == 0)
                _exit(7);
        (void) snprintf(member, sizeof(member), "\"snapshot\":{\"name\":\"%s\"}", name);
        reply_given(call, member);
}

static void show(const Call *call) {
        static char text[4096];
        json_object *snapshot = json_object_object_get(call->parameters, "snapshot");
        unsigned n = strcmp(text_of(snapshot, "label"), "flood") == 0 ? 3000 : 2;

        memset(text, ' ', sizeof(text) - 1);
        memcpy(text, "{}", 2);
        for (unsigned i = 0; i < n; i++)
                reply(n > 2 ? text : "{\"groups\":[]}", true);
        reply_given(call, "\"sections\":{}");
}

static void verify(const Call *call) {
        json_object *snapshots = json_object_object_get(call->parameters, "snapshots");
        Buffer text;
        char *parameters;

        buffer_init(&text, 0);
        (void) !buffer_append_text(&text, "{\"results\":[");
        for (size_t i = 0; i < json_object_array_length(snapshots); i++)
                (void) !buffer_append_format(
                        &text, "%s{\"name\":\"%s\",\"ok\":true}", i > 0 ? "," : "",
                        text_of(json_object_array_get_idx(snapshots, i), "label"));
        (void) !buffer_append_text(&text, "]}");
        if (buffer_take_text(&text, &parameters) != 0)
                _exit(9);
        reply(parameters, false);
        free(parameters);
}

static void write_output(const Call *call) {
        json_object *output = json_object_object_get(call->parameters, "output");
        int fd = frame_stream_take_fd(stream, (size_t) json_object_get_int(output));

        if (write(fd, "written", 7) != 7)
                _exit(8);
}

/* Sends progress until it is asked to end. */
static void record(const char *method) {
        Span frame;
        int r;

        do {
                reply("{\"progress\":{}}", true);
                r = frame_stream_wait(stream, 2, &frame);
        } while (r == FRAME_E_AGAIN);
        if (r != 0 || !memmem(frame.bytes, frame.n, "io.ctprof.Job.Stop", 18))
                _exit(6);
        if (strcmp(method, "Deaf") == 0) {
                reply("{\"deaf\":true}", true);
                (void) pause();
        }
        reply("{\"stopped\":true}", false);
}

/*
 * What a job that loads programs does is told by FAKE_LOAD; with a path it waits until there is no
 * such file.
 */
static void load(void) {
        const char *what = getenv("FAKE_LOAD");
        int fd = dup(2);

        if (!what || strcmp(what, "refused") == 0)
                reply("{\"tasks\":[],\"reason\":\"the moon is full\"}", false);
        else if (strcmp(what, "loaded") == 0)
                reply_with("{\"tasks\":[\"tasks\"]}", false, &fd, 1);
        else if (strcmp(what, "empty") == 0)
                reply("{\"tasks\":[\"tasks\"]}", false);
        else if (what[0] == '/') {
                while (access(what, F_OK) == 0)
                        (void) usleep(1000);
                reply_with("{\"tasks\":[\"tasks\"]}", false, &fd, 1);
        } else if (strcmp(what, "failed") == 0)
                fail("io.ctprof.Profiler.JobFailed", "{\"reason\":\"no\"}");
        else
                _exit(7);
}

static void act(const Call *call) {
        const char *method = strrchr(call->method, '.') + 1;
        json_object *snapshot = json_object_object_get(call->parameters, "snapshot");
        char member[256];

        if (strcmp(method, "Capture") == 0)
                capture(call);
        else if (strcmp(method, "Files") == 0)
                serve(call, false);
        else if (strcmp(method, "Memory") == 0)
                serve(call, true);
        else if (strcmp(method, "Load") == 0)
                load();
        else if (strcmp(method, "Keep") == 0)
                keep(call);
        else if (strcmp(method, "Record") == 0 || strcmp(method, "Deaf") == 0)
                record(method);
        else if (strcmp(method, "Show") == 0)
                show(call);
        else if (strcmp(method, "Verify") == 0)
                verify(call);
        else if (strcmp(method, "Info") == 0) {
                if (strcmp(text_of(snapshot, "label"), "hang") == 0)
                        (void) pause();
                (void) snprintf(
                        member, sizeof(member),
                        "\"snapshot\":{\"name\":\"%s\",\"tagged\":true,\"formatVersion\":1}",
                        text_of(snapshot, "label"));
                reply_given(call, member);
        } else if (strcmp(method, "Convert") == 0 || strcmp(method, "Import") == 0) {
                write_output(call);
                (void) snprintf(member, sizeof(member), "\"snapshot\":{\"name\":\"%s\"}",
                                text_of(call->parameters, "name"));
                reply_given(call, member);
        } else if (strcmp(method, "Probe") == 0) {
                if (getenv("FAKE_PROBE_FAILS"))
                        _exit(3);
                reply("{\"sources\":[{\"name\":\"stat\"}]}", false);
        } else if (strcmp(method, "Clean") == 0)
                reply("{}", false);
        else
                reply_given(call, "\"snapshots\":[]");
}

/* The service cannot do without what is in its spool: this one job is real. */
static bool is_survey(void) {
        char start[256];
        ssize_t n = recv(3, start, sizeof(start), MSG_PEEK);

        return n > 0 && memmem(start, (size_t) n, JOB_METHOD_SURVEY, strlen(JOB_METHOD_SURVEY));
}

int main(int argc, char *argv[]) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Span frame;
        Call call;

        if (is_survey() && getenv("FAKE_SURVEY_FAILS"))
                return 5;
        if (is_survey() && getenv("FAKE_SURVEY_HANGS"))
                (void) pause();
        if (is_survey())
                return frame_stream_new(3, 2 * LIMIT_CALL_BYTES, LIMIT_QUEUED_BYTES, 128,
                                        &stream) != 0 ||
                       worker_serve(JOB_SPOOL, stream, WORKER_FREE) != 0;
        if (frame_stream_new(3, 2 * LIMIT_CALL_BYTES, LIMIT_QUEUED_BYTES, 128, &stream) != 0 ||
            frame_stream_wait(stream, -1, &frame) != 0 || call_decode(frame, &call, complaint) != 0)
                return 4;
        act(&call);
        call_done(&call);
        frame_stream_free(stream);
        return 0;
}
