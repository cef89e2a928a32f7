/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "job/workshop.h"
#include "service/method/clean.h"
#include "service/request/order.h"

#define CAPTURE_MAX_PIDS 64
#define COMM_BYTES 16 /* TASK_COMM_LEN, the end of line instead of the NUL */

typedef struct CaptureFields {
        const char *tag;
        bool replace, smaps, anonymous;
} CaptureFields;

/*
 * Our client is part of the measurement; another program that calls is part of the host. A comm can
 * be faked, but that only hides the process from views.
 */
static bool is_our_client(pid_t pid) {
        static const char expected[] = "ctprofctl\n";
        char path[64], comm[COMM_BYTES];
        _cleanup_(fd_closep) int fd = -EBADF;
        ssize_t n;

        if (pid <= 0)
                return false;
        (void) snprintf(path, sizeof(path), "/proc/%d/comm", (int) pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        n = read(fd, comm, sizeof(comm));
        return n == (ssize_t) sizeof(expected) - 1 && memcmp(comm, expected, (size_t) n) == 0;
}

static void write_own_pids(const Request *request, JsonWriter *writer) {
        pid_t pids[CAPTURE_MAX_PIDS], client = connection_peer(request->connection)->pid;
        size_t n = workshop_get_pids(request->desk->workshop, pids, ELEMENTSOF(pids));

        json_write_key(writer, JOB_KEY_SELF_PIDS);
        json_write_array(writer);
        json_write_i64(writer, getpid());
        if (is_our_client(client))
                json_write_i64(writer, client);
        for (size_t i = 0; i < n; i++)
                json_write_i64(writer, pids[i]);
        json_write_end(writer);
}

/* An anonymous snapshot needs no spool; the job finds another place for its file. */
static int add_directory(Request *request, JsonWriter *writer, const CaptureFields *fields) {
        int fd;

        if (!fields->anonymous || spool_dir_fd(request->desk->spool) >= 0)
                return request_add_spool(request, writer);
        fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return request_add_fd(request, writer, JOB_KEY_DIRECTORY, fd);
}

/* Drop progress for a caller that does not read it: a capture must not pause and delay others. */
static int on_progress(Request *request, Span frame) {
        if (!connection_is_full(request->connection))
                connection_forward(request->connection, frame, true, NULL, 0);
        return 0;
}

static int check_fields(Request *request, const CaptureFields *fields) {
        const char *complaint;

        if (fields->replace && !fields->tag)
                return request_refuse_parameter(request, "replace",
                                                "Only a named snapshot can replace another.");
        complaint = fields->tag ? snapshot_name_complaint(span_of(fields->tag)) : NULL;
        if (complaint)
                return request_fail(request, WIRE_ERROR_INVALID_NAME,
                                    &(WireErrorDetail){
                                            .subject = span_of(fields->tag),
                                            .reason = complaint,
                                    });
        return 0;
}

/* The order is written late because it lists the processes of the jobs that run by then. */
static int prepare(Request *request) {
        const CaptureFields *fields = request->state;
        JsonWriter writer;
        int r;

        request_begin_order(request, &writer);
        if (fields->tag)
                json_write_member_text(&writer, JOB_KEY_NAME, fields->tag);
        json_write_member_bool(&writer, JOB_KEY_TAGGED, fields->tag);
        json_write_member_bool(&writer, JOB_KEY_REPLACE, fields->replace);
        json_write_member_bool(&writer, JOB_KEY_SMAPS, fields->smaps);
        json_write_member_bool(&writer, JOB_KEY_ANONYMOUS, fields->anonymous);
        json_write_member_u64(&writer, JOB_KEY_UID, request->uid);
        write_own_pids(request, &writer);
        json_write_member_u64(&writer, JOB_KEY_SMAPS_LIMIT_NS, request->desk->settings.smaps_ns);
        request_write_limits(request, &writer);
        r = add_directory(request, &writer, fields);
        if (r != 0)
                return r;
        return request_end_order(request, &writer, JOB_METHOD_CAPTURE, JOB_CAPTURE);
}

int method_capture(Request *request) {
        static const Parameter table[] = {
                { "tag", PARAMETER_TEXT, false, offsetof(CaptureFields, tag) },
                { "replace", PARAMETER_BOOL, false, offsetof(CaptureFields, replace) },
                { "smaps", PARAMETER_BOOL, false, offsetof(CaptureFields, smaps) },
                { "anonymous", PARAMETER_BOOL, false, offsetof(CaptureFields, anonymous) },
        };
        static const Stage stage = {
                .prepare = prepare,
                .on_part = on_progress,
                .tells_progress = true,
        };
        CaptureFields *fields;
        int r;

        fields = calloc(1, sizeof(*fields));
        if (!fields)
                return -ENOMEM;
        request_keep(request, fields, free);
        fields->smaps = request->desk->settings.smaps;
        r = request_decode(request, table, ELEMENTSOF(table), fields);
        if (r == 0)
                r = check_fields(request, fields);
        if (r != 0)
                return r;
        clean_spool(request->desk);
        return request_enqueue(request, QUEUE_ADDING, &stage);
}
