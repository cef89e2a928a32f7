/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests start in place of ctprofd: a job that does what the call's method says.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/message.h"

static FrameStream *stream;

static void reply(const char *parameters, bool continues, int fd) {
        Buffer frame;

        buffer_init(&frame, 0);
        if (reply_encode(&frame, span_of(parameters), continues) != 0 ||
            frame_stream_queue(stream, buffer_span(&frame), &fd, fd >= 0) != 0 ||
            frame_stream_flush(stream) != 0)
                _exit(9);
        buffer_done(&frame);
}

/* Number of descriptors above the standard ones: the socket should be all. */
static int count_descriptors(void) {
        int n = 0;

        for (int fd = 3; fd < 1024; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

static void describe(const char *kind) {
        char text[512], file_limit[32] = "none";
        struct rlimit limit;
        sigset_t blocked;
        int death = 0;

        (void) prctl(PR_GET_PDEATHSIG, &death);
        (void) sigprocmask(SIG_SETMASK, NULL, &blocked);
        if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
                (void) snprintf(file_limit, sizeof(file_limit), "%llu",
                                (unsigned long long) limit.rlim_cur);
        (void) snprintf(text, sizeof(text),
                        "{\"kind\":\"%s\",\"descriptors\":%d,\"death\":%d,\"blocked\":%d,"
                        "\"fileLimit\":\"%s\",\"listen\":\"%s %d %s\",\"notify\":%d}",
                        kind, count_descriptors(), death, sigismember(&blocked, SIGTERM),
                        file_limit, getenv("LISTEN_FDS"), atoi(getenv("LISTEN_PID")) == getpid(),
                        getenv("LISTEN_FDNAMES"), getenv("NOTIFY_SOCKET") != NULL);
        reply(text, false, -1);
}

/* Adds a byte to the file it got, and sends another one back. */
static void use_descriptors(void) {
        int given = frame_stream_take_fd(stream, 0);
        int made = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (write(given, "x", 1) != 1)
                _exit(8);
        reply("{}", false, made);
}

static void flood(void) {
        static char text[2048];

        memset(text, ' ', sizeof(text) - 1);
        memcpy(text, "{}", 2);
        for (int i = 0; i < 4000; i++)
                reply(text, true, -1);
        reply("{\"done\":true}", false, -1);
}

/* Tells progress until it is asked to stop, and then answers or does not. */
static void record(const char *method) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Span frame;
        Call call;

        do
                reply("{\"n\":1}", true, -1);
        while (frame_stream_wait(stream, 2, &frame) == FRAME_E_AGAIN);
        if (strcmp(method, "x.RecordOnAndOn") == 0)
                for (;;) {
                        reply("{\"n\":2}", true, -1);
                        (void) usleep(2000);
                }
        if (strcmp(method, "x.RecordAndHang") == 0)
                (void) pause();
        if (call_decode(frame, &call, complaint) != 0 || !call.oneway)
                _exit(7);
        reply(strcmp(call.method, "io.ctprof.Job.Stop") == 0 ? "{\"stopped\":true}" : "{}", false,
              -1);
        call_done(&call);
}

/* Waits for another call without a sign of life, and writes a byte into what came with it. */
static void wait_for_call(void) {
        char complaint[MESSAGE_COMPLAINT_BYTES], text[64];
        Span frame;
        Call call;

        if (frame_stream_wait(stream, -1, &frame) != 0 ||
            call_decode(frame, &call, complaint) != 0 ||
            write(frame_stream_take_fd(stream, 0), "!", 1) != 1)
                _exit(9);
        (void) snprintf(text, sizeof(text), "{\"took\":\"%s\"}", call.method);
        reply(text, false, -1);
        call_done(&call);
}

static void act(const char *method, const char *kind) {
        if (strcmp(method, "x.Describe") == 0)
                describe(kind);
        else if (strcmp(method, "x.Progress") == 0) {
                reply("{\"n\":1}", true, -1);
                reply("{\"n\":2}", true, -1);
                reply("{\"n\":3}", false, -1);
        } else if (strcmp(method, "x.Descriptors") == 0)
                use_descriptors();
        else if (strcmp(method, "x.Flood") == 0)
                flood();
        else if (strncmp(method, "x.Record", 8) == 0)
                record(method);
        else if (strcmp(method, "x.Wait") == 0)
                wait_for_call();
        else if (strcmp(method, "x.Hang") == 0)
                (void) pause();
        else if (strcmp(method, "x.AnswerAndHang") == 0) {
                reply("{}", false, -1);
                (void) pause();
        } else if (strcmp(method, "x.Exit") == 0)
                _exit(3);
        else if (strcmp(method, "x.Partial") == 0) {
                reply("{\"n\":1}", true, -1);
                _exit(0);
        } else if (strcmp(method, "x.Kill") == 0)
                (void) raise(SIGKILL);
        else if (strcmp(method, "x.Nonsense") == 0) {
                (void) !write(3, "nonsense", sizeof("nonsense"));
                (void) pause();
        } else if (strcmp(method, "x.NonsenseAmongReplies") == 0) {
                static const char replies[] = "{\"continues\":true}\0nonsense\0{\"parameters\":{}}";

                (void) !write(3, replies, sizeof(replies));
                (void) pause();
        } else if (strcmp(method, "x.Endless") == 0)
                for (;;)
                        if (write(3, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 40) < 0)
                                (void) usleep(1000);
}

int main(int argc, char *argv[]) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        Span frame;
        Call call;

        if (argc != 2 || strncmp(argv[1], "--job=", 6) != 0)
                return 2;
        if (frame_stream_new(3, LIMIT_CALL_BYTES, LIMIT_QUEUED_BYTES, LIMIT_FDS_PER_CALL,
                             &stream) != 0)
                return 4;
        if (frame_stream_wait(stream, -1, &frame) != 0)
                return 5;
        if (call_decode(frame, &call, complaint) != 0)
                return 6;
        act(call.method, argv[1] + 6);
        call_done(&call);
        frame_stream_free(stream);
        return 0;
}
