/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Reads the input as a snapshot document of this format or of version 0, and as a head. The result
 * does not depend on where the input is cut into pieces. A document that is read, written and read
 * again is equal, thread by thread and cgroup by cgroup; written twice it is the same text.
 * Exported in the format of the prior tool it is version 0 and keeps everything that version can
 * express. A refused input has a complaint that is safe to print to a terminal.
 *
 * Aims at: protocol/snapshot/snapshot-reader.c, protocol/snapshot/snapshot-writer.c,
 *          protocol/snapshot/thread-reader.c, protocol/snapshot/thread-column.c,
 *          protocol/snapshot/exited-row.c,
 *          protocol/snapshot/head.c,
 *          protocol/snapshot/source.c, daemon/analysis/export/ktstr-document.c,
 *          daemon/analysis/export/thread-object.c, daemon/analysis/export/reshape.c
 */

#include <stdio.h>

#include "fuzz.h"
#include "plain.h"
#include "snapshot-record.h"
#include "snapshot/head.h"
#include "analysis/export/ktstr-document.h"
#include "analysis/export/thread-object.h"

static void check_cuts(const SnapshotRecord *whole, FuzzPieces pieces) {
        SnapshotRecord *cut = snapshot_record_read(pieces);

        fuzz_expect(cut->result == whole->result, "cutting changes no outcome");
        fuzz_expect(cut->offset == whole->offset, "cutting does not move the place of a fault");
        fuzz_expect(strcmp(cut->complaint, whole->complaint) == 0, "cutting changes no complaint");
        fuzz_expect(record_threads_equal(whole, cut), "cutting changes no thread");
        fuzz_expect(record_rest_equal(whole, cut) && record_sources_equal(whole, cut),
                    "cutting changes nothing else");
        fuzz_expect(record_exited_equal(whole, cut), "cutting changes none of the dead");
        fuzz_expect(record_moved_equal(whole, cut), "nor of the moved");
        snapshot_record_free(cut);
}

/* What a whole document says of its threads is found without reading their numbers, too. */
static void check_names(const SnapshotRecord *whole, FuzzPieces pieces) {
        SnapshotRecord *names = snapshot_record_read_names(pieces);

        fuzz_expect(names->result == 0, "a valid document has names");
        fuzz_expect(names->n_all_threads == whole->n_all_threads &&
                            names->n_all_processes == whole->n_all_processes &&
                            names->n_threads == whole->n_threads,
                    "of all its threads");
        for (size_t i = 0; i < whole->n_threads; i++) {
                ThreadSample expected = whole->samples[i];

                /* Version 0 has no table, and its objects are read whole. */
                if (whole->format_version > 0) {
                        memset(expected.present, 0, sizeof(expected.present));
                        thread_sample_put(&expected, METRIC_thread_count, 1);
                        expected.cpus = (Span){};
                }
                fuzz_expect(record_sample_equal(&expected, &names->samples[i]),
                            "as in the whole document");
        }
        snapshot_record_free(names);
}

/* this format */

static void check_written(const SnapshotRecord *record) {
        SnapshotRecord *again;
        Buffer once, twice;

        snapshot_record_write(record, &once);
        again = snapshot_record_read_text(buffer_span(&once));
        fuzz_expect(again->result == 0, "what is written can be read");
        fuzz_expect(again->format_version == HEAD_FORMAT_VERSION, "in the current format");
        fuzz_expect(record_threads_equal(record, again), "every thread is as it was read");
        fuzz_expect(record_rest_equal(record, again), "all else is as it was read");
        fuzz_expect(record_exited_equal(record, again), "the dead are as they were read");
        fuzz_expect(record_moved_equal(record, again), "and so are the moved");
        fuzz_expect(!record->has_sources || record_sources_equal(record, again),
                    "the sources are as they were read");
        snapshot_record_write(again, &twice);
        fuzz_expect(span_equal(buffer_span(&once), buffer_span(&twice)),
                    "writing is a fixed point");
        buffer_done(&once);
        buffer_done(&twice);
        snapshot_record_free(again);
}

/* the prior tool's */

static void write_ktstr(const SnapshotRecord *record, Buffer *document) {
        Head head = { .has_threads = true, .threads = record->n_all_threads };
        JsonWriter writer;

        buffer_init(document, 0);
        json_writer_init(&writer, document);
        json_write_object(&writer);
        json_write_member_u64(&writer, "captured_at_unix_ns", record->captured_ns);
        json_write_key(&writer, "host");
        fuzz_expect(ktstr_write(&writer, KTSTR_HOST, record->host) == 0, "a host can be written");
        json_write_key(&writer, "threads");
        json_write_array(&writer);
        for (size_t i = 0; i < record->n_threads; i++)
                thread_object_write_ktstr(&writer, &record->samples[i], record->smaps[i]);
        json_write_end(&writer);
        json_write_key(&writer, "cgroup_stats");
        json_write_object(&writer);
        for (size_t i = 0; i < record->n_cgroups; i++) {
                json_write_key_name(&writer, record->cgroups[i].path);
                fuzz_expect(ktstr_write(&writer, KTSTR_CGROUP, record->cgroups[i].stats) == 0,
                            "a cgroup can be written");
        }
        json_write_end(&writer);
        fuzz_expect(ktstr_write_summaries(&writer, record->probe_summary,
                                          record->has_sources ? &record->sources : NULL,
                                          &head) == 0,
                    "summaries can be written");
        json_write_key(&writer, "psi");
        fuzz_expect(ktstr_write(&writer, KTSTR_PSI, record->psi) == 0, "pressure can be written");
        json_write_key(&writer, "sched_ext");
        fuzz_expect(ktstr_write(&writer, KTSTR_SCHED_EXT, record->sched_ext) == 0,
                    "sched_ext can be written");
        json_write_end(&writer);
        fuzz_expect(json_writer_finish(&writer) == 0, "the text is whole");
}

static SnapshotRecord *through_ktstr(const SnapshotRecord *record, Buffer *ret_text) {
        SnapshotRecord *again;

        write_ktstr(record, ret_text);
        again = snapshot_record_read_text(buffer_span(ret_text));
        fuzz_expect(again->result == 0 && again->format_version == 0,
                    "the prior tool's form can be read");
        fuzz_expect(again->n_threads == record->n_threads && again->n_cgroups == record->n_cgroups,
                    "with all threads and cgroups");
        return again;
}

/* What cannot be said in that form is lost the first time, and then nothing more. */
static void check_ktstr(const SnapshotRecord *record) {
        SnapshotRecord *once, *twice;
        Buffer text, first, second;

        once = through_ktstr(record, &text);
        for (size_t i = 0; i < record->n_threads; i++) {
                const ThreadSample *a = &record->samples[i], *b = &once->samples[i];

                fuzz_expect(a->tid == b->tid && a->tgid == b->tgid &&
                                    a->start_ticks == b->start_ticks &&
                                    span_equal(a->comm, b->comm) && span_equal(a->pcomm, b->pcomm),
                            "a thread stays who it is");
                fuzz_expect(!thread_sample_has(a, METRIC_run_time_ns) ||
                                    thread_sample_get(a, METRIC_run_time_ns) ==
                                            thread_sample_get(b, METRIC_run_time_ns),
                            "and what it did");
        }
        twice = through_ktstr(once, &first);
        write_ktstr(twice, &second);
        fuzz_expect(record_threads_equal(once, twice), "a second time no thread changes");
        fuzz_expect(span_equal(buffer_span(&first), buffer_span(&second)),
                    "a second time nothing changes");
        buffer_done(&text);
        buffer_done(&first);
        buffer_done(&second);
        snapshot_record_free(once);
        snapshot_record_free(twice);
}

static bool are_rows_kept(const SnapshotRecord *record) {
        return record->n_threads == record->n_all_threads &&
               record->n_exited == record->n_all_exited && record->n_moved == record->n_all_moved &&
               record->n_cgroups < RECORD_MAX_CGROUPS;
}

static void check_document(Span text, FuzzCuts cuts) {
        SnapshotRecord *record = snapshot_record_read_text(text);

        fuzz_expect(record->offset <= text.n, "a fault lies within the text");
        check_cuts(record, (FuzzPieces){ cuts, text });
        if (record->result != 0) {
                fuzz_expect(record->result == SNAPSHOT_E_MALFORMED ||
                                    record->result == SNAPSHOT_E_TOO_NEW,
                            "a document is refused as malformed or too new");
                expect_complaint(record->complaint);
        } else
                check_names(record, (FuzzPieces){ cuts, text });
        if (record->result == 0 && are_rows_kept(record)) {
                check_written(record);
                check_ktstr(record);
        }
        snapshot_record_free(record);
}

/* the head */

static int scan_head(Span text, Head *ret, char ret_complaint[static 256]) {
        const JsonLimits limits = { .max_depth = SNAPSHOT_MAX_DEPTH,
                                    .max_token_bytes = HEAD_MAX_BYTES };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        int r;

        fuzz_expect(json_scanner_new_text(text, &limits, &scanner) == 0, "memory");
        r = head_scan_json(scanner, ret);
        (void) snprintf(ret_complaint, 256, "%s", scanner->complaint);
        return r;
}

static void write_head(const Head *head, Buffer *text) {
        JsonWriter writer;

        buffer_init(text, 0);
        json_writer_init(&writer, text);
        head_write_json(&writer, head);
        fuzz_expect(json_writer_finish(&writer) == 0, "a head that was read can be written");
}

static void check_head(Span text) {
        _cleanup_(head_done) Head head = {}, again = {};
        char complaint[256];
        Buffer once, twice;
        int r;

        r = scan_head(text, &head, complaint);
        if (r != 0) {
                fuzz_expect(r == JSON_E_MALFORMED, "a head is refused as malformed");
                expect_complaint(complaint);
                return;
        }
        write_head(&head, &once);
        fuzz_expect(scan_head(buffer_span(&once), &again, complaint) == 0, "and read again");
        write_head(&again, &twice);
        fuzz_expect(span_equal(buffer_span(&once), buffer_span(&twice)),
                    "a head written twice is the same");
        buffer_done(&once);
        buffer_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzCuts cuts;
        Span text = fuzz_cuts_begin(&cuts, data, size);

        check_document(text, cuts);
        check_head(text);
        return 0;
}
