/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "wire/limits.h"
#include "analysis/export/ktstr-document.h"
#include "analysis/export/output.h"
#include "analysis/export/thread-object.h"

/* The conversion of one snapshot into another format. */
typedef struct Conversion {
        Work *work; /* borrowed */
        Subject subject;
        Output *output;
        JsonWriter writer; /* into the output's buffer */
} Conversion;

static void conversion_done(Conversion *conversion) {
        conversion->output = output_free(conversion->output);
        subject_done(&conversion->subject);
}

/* Writes out what the buffer holds; call between two values. */
static int conversion_drain(Conversion *conversion, int r) {
        if (r == 0)
                r = conversion->writer.error;
        return r == 0 ? output_drain(conversion->output, false) : r;
}

/* ktstr */

static int ktstr_on_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        Conversion *conversion = userdata;

        thread_object_write_ktstr(&conversion->writer, sample, smaps_json);
        return conversion_drain(conversion, 0);
}

static int ktstr_on_cgroup(void *userdata, Span path, Span stats_json) {
        Conversion *conversion = userdata;

        json_write_key_name(&conversion->writer, path);
        return conversion_drain(conversion,
                                ktstr_write(&conversion->writer, KTSTR_CGROUP, stats_json));
}

/*
 * The members must have the prior tool's order, whatever the order in the file: one pass for the
 * parts that concern the whole host, one for threads, one for cgroups.
 */
static int convert_ktstr(Conversion *conversion) {
        static const SubjectVisitor nothing = {};
        static const SubjectVisitor threads = { .on_thread = ktstr_on_thread };
        static const SubjectVisitor cgroups = { .on_cgroup = ktstr_on_cgroup };
        Subject *subject = &conversion->subject;
        JsonWriter *writer = &conversion->writer;
        int r;

        r = work_pass_subject(conversion->work, subject, &nothing, NULL);
        if (r != 0)
                return r;

        json_write_object(writer);
        json_write_member_u64(writer, "captured_at_unix_ns",
                              subject->head.has_start_realtime ? subject->head.start_realtime_ns
                                                               : 0);
        json_write_key(writer, "host");
        r = ktstr_write(writer, KTSTR_HOST, buffer_span(&subject->host));
        if (r != 0)
                return r;

        json_write_key(writer, "threads");
        json_write_array(writer);
        r = work_pass_subject(conversion->work, subject, &threads, conversion);
        if (r != 0)
                return r;
        json_write_end(writer);
        json_write_key(writer, "cgroup_stats");
        json_write_object(writer);
        r = work_pass_subject(conversion->work, subject, &cgroups, conversion);
        if (r != 0)
                return r;
        json_write_end(writer);
        r = ktstr_write_summaries(writer, buffer_span(&subject->probe_summary),
                                  subject->has_sources ? &subject->sources : NULL, &subject->head);
        if (r != 0)
                return r;
        json_write_key(writer, "psi");
        r = ktstr_write(writer, KTSTR_PSI, buffer_span(&subject->psi));
        if (r != 0)
                return r;
        json_write_key(writer, "sched_ext");
        r = ktstr_write(writer, KTSTR_SCHED_EXT, buffer_span(&subject->sched_ext));
        if (r != 0)
                return r;
        json_write_end(writer);
        return json_writer_finish(writer);
}

/* ndjson */

static int ndjson_on_thread(void *userdata, const ThreadSample *sample, Span smaps_json) {
        Conversion *conversion = userdata;
        Buffer *buffer = &conversion->output->buffer;
        int r;

        json_writer_init(&conversion->writer, buffer);
        thread_object_write_ndjson(&conversion->writer, sample, smaps_json,
                                   &conversion->subject.head);
        r = json_writer_finish(&conversion->writer);
        if (r == 0)
                r = buffer_append_byte(buffer, '\n');
        return conversion_drain(conversion, r);
}

static int ndjson_on_exited(void *userdata, const ExitedRow *row) {
        Conversion *conversion = userdata;
        Buffer *buffer = &conversion->output->buffer;
        int r;

        json_writer_init(&conversion->writer, buffer);
        exited_object_write_ndjson(&conversion->writer, row, &conversion->subject.head);
        r = json_writer_finish(&conversion->writer);
        if (r == 0)
                r = buffer_append_byte(buffer, '\n');
        return conversion_drain(conversion, r);
}

/*
 * Every line repeats the head. In a file without one that is in the document, perhaps after the
 * threads.
 */
static int convert_ndjson(Conversion *conversion) {
        static const SubjectVisitor nothing = {};
        static const SubjectVisitor threads = { .on_thread = ndjson_on_thread };
        static const SnapshotVisitor exited = { .on_exited = ndjson_on_exited };
        Subject *subject = &conversion->subject;
        int r = 0;

        if (subject->head.format_version == 0)
                r = work_pass_subject(conversion->work, subject, &nothing, NULL);
        if (r == 0)
                r = work_pass_subject(conversion->work, subject, &threads, conversion);
        if (r != 0 || subject->head.ledger_id[0] == '\0')
                return r;
        /* Passes of a subject are of the living. */
        r = snapshot_file_visit(subject->fd, subject->part, &exited, conversion, &subject->fault);
        return work_read_result(conversion->work, subject,
                                r == SNAPSHOT_FILE_E_DAMAGED ? SUBJECT_E_UNREADABLE : r);
}

int work_convert(Work *work) {
        static const struct {
                OutputForm form;
                int (*run)(Conversion *conversion);
        } formats[_ORDER_FORMAT_MAX] = {
                [ORDER_FORMAT_KTSTR] = { OUTPUT_ZSTD, convert_ktstr },
                [ORDER_FORMAT_NDJSON] = { OUTPUT_PLAIN, convert_ndjson },
        };
        const AnalysisOrder *order = &work->order->analysis;
        _cleanup_(conversion_done) Conversion conversion = { .work = work };
        _cleanup_(fd_closep) int output = work_take_fd(work, order->output);
        _cleanup_(buffer_done) Buffer head = { .max_bytes = LIMIT_REPLY_BYTES / 2 };
        JsonWriter writer;
        int r;

        subject_init(&conversion.subject);
        if (order->format >= _ORDER_FORMAT_MAX)
                return -EINVAL;
        r = work_open_subject(work, &order->subjects[0].from, &conversion.subject);
        if (r == 0 && conversion.subject.head.is_recording)
                return work_refuse_parameter(work, "format",
                                             "This is a recording: it has no such form.");
        if (r == 0)
                r = output_new(output, formats[order->format].form, &conversion.output);
        if (r != 0)
                return r;
        json_writer_init(&conversion.writer, &conversion.output->buffer);
        r = formats[order->format].run(&conversion);
        if (r == 0)
                r = output_drain(conversion.output, true);
        if (r != 0)
                return r;
        if (work->answer.stream) {
                json_write_key(answer_begin(&work->answer), "snapshot");
                subject_write_head(&conversion.subject, &work->answer.writer);
                return answer_send(&work->answer, PACKET_LAST, -EBADF);
        }
        json_writer_init(&writer, &head);
        subject_write_head(&conversion.subject, &writer);
        r = json_writer_finish(&writer);
        return r == 0 ? answer_texts(&work->answer, (const Span[]){ buffer_span(&head) }, 1) : r;
}
