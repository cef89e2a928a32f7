/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests start in place of ctprofd: a job that does what its order says.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "job/packet.h"
#include "wire/limits.h"

static PacketReader reader;

static void send_packet(PacketKind kind, Span body, int fd) {
        if (packet_send(3, kind, body, &fd, fd >= 0, 0) != 0)
                _exit(9);
}

static void reply(const char *parameters, bool continues, int fd) {
        send_packet(continues ? PACKET_PART : PACKET_LAST, span_of(parameters), fd);
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
        int given = TAKE_FD(reader.fds[0]);
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
        do
                reply("{\"n\":1}", true, -1);
        while (await_message(2) == PACKET_E_AGAIN);
        if (strcmp(method, "x.RecordOnAndOn") == 0)
                for (;;) {
                        reply("{\"n\":2}", true, -1);
                        (void) usleep(2000);
                }
        if (strcmp(method, "x.RecordAndHang") == 0)
                (void) pause();
        reply(reader.kind == PACKET_STOP ? "{\"stopped\":true}" : "{}", false, -1);
}

/* Waits for another message without a sign of life, and writes a byte into what came with it. */
static void wait_for_more(void) {
        char text[64];

        if (await_message(-1) != 0 || write(TAKE_FD(reader.fds[0]), "!", 1) != 1)
                _exit(9);
        (void) snprintf(text, sizeof(text), "{\"took\":%d}", reader.kind == PACKET_TELL);
        reply(text, false, -1);
}

/* Packets that no job of ours sends, each as it lies on the socket: head and bytes. */
static const struct {
        const char *method;
        PacketKind kind;
        uint32_t n_left;
        const char *bytes;
        size_t n;
} nonsense[] = {
        { "x.NonsenseShort", 0, 0, NULL, 0 },
        { "x.NonsenseKind", _PACKET_KIND_MAX, 0, "{}", 2 },
        { "x.NonsenseOrder", PACKET_ORDER, 0, "{}", 2 },
        { "x.NonsenseNul", PACKET_LAST, 0, "{}\0", 3 },
        { "x.NonsenseEmpty", PACKET_PART, 0, "", 0 },
        { "x.NonsenseUtf8", PACKET_PART, 0, "{\"\xff\"}", 5 },
        { "x.NonsenseLong", PACKET_LAST, UINT32_MAX, "{}", 2 },
        { "x.NonsenseError", PACKET_ERROR, 0, "{}", 2 },
        { "x.NonsenseErrorRange", PACKET_ERROR, 0,
          "\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 27 },
        { "x.NonsenseErrorText", PACKET_ERROR, 0,
          "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0abc", 27 },
};

static void send_raw(uint32_t kind, uint32_t n_left, const char *bytes, size_t n) {
        uint32_t head[2] = { kind, n_left };
        char packet[256];

        memcpy(packet, head, sizeof(head));
        memcpy(packet + sizeof(head), bytes, n);
        (void) !write(3, packet, sizeof(head) + n);
}

static void talk_nonsense(const char *method) {
        for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
                if (strcmp(method, nonsense[i].method) == 0 && nonsense[i].bytes)
                        send_raw(nonsense[i].kind, nonsense[i].n_left, nonsense[i].bytes,
                                 nonsense[i].n);
        if (strcmp(method, "x.NonsenseShort") == 0)
                (void) !write(3, "xyz", 3);
        if (strcmp(method, "x.NonsenseMixed") == 0) {
                send_raw(PACKET_PART, 4, "{}", 2);
                send_raw(PACKET_LAST, 0, "    ", 4);
        }
        if (strcmp(method, "x.NonsenseGrowing") == 0) {
                send_raw(PACKET_PART, 4, "{}", 2);
                send_raw(PACKET_PART, 4, "  ", 2);
        }
        (void) pause();
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
                wait_for_more();
        else if (strcmp(method, "x.Hang") == 0)
                (void) pause();
        else if (strcmp(method, "x.AnswerAndHang") == 0) {
                reply("{}", false, -1);
                (void) pause();
        } else if (strcmp(method, "x.AnswerAndLinger") == 0) {
                reply("{}", false, open("/dev/null", O_RDONLY | O_CLOEXEC));
                (void) usleep(50000);
        } else if (strcmp(method, "x.Exit") == 0)
                _exit(3);
        else if (strcmp(method, "x.Partial") == 0) {
                reply("{\"n\":1}", true, -1);
                _exit(0);
        } else if (strcmp(method, "x.Kill") == 0)
                (void) raise(SIGKILL);
        else if (strcmp(method, "x.NonsenseAmongReplies") == 0) {
                reply("{}", true, -1);
                send_raw(_PACKET_KIND_MAX, 0, "{}", 2);
                reply("{}", false, -1);
                (void) pause();
        } else if (strncmp(method, "x.Nonsense", 10) == 0) {
                talk_nonsense(method);
        } else if (strcmp(method, "x.Endless") == 0) {
                static char text[PACKET_BYTES];

                for (uint32_t n_left = LIMIT_REPLY_BYTES; n_left > 0; n_left -= PACKET_BYTES)
                        if (packet_send(3, PACKET_PART, (Span){ text, sizeof(text) }, NULL, 0, 0))
                                (void) usleep(1000);
        }
}

int main(int argc, char *argv[]) {
        static char method[64];

        if (argc != 2 || strncmp(argv[1], "--job=", 6) != 0)
                return 2;
        reader = (PacketReader){ .max_bytes = LIMIT_CALL_BYTES };
        if (await_message(-1) != 0 || reader.kind != PACKET_ORDER)
                return 5;
        (void) snprintf(method, sizeof(method), "%.*s", (int) reader.body.n, reader.body.bytes);
        act(method, argv[1] + 6);
        packet_reader_done(&reader);
        return 0;
}
