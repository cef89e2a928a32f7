/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SnapshotFixture
 *
 * Makes small snapshot files in memory: complete ones of this format, and files with any bytes or
 * text.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "snapshot/exited-row.h"
#include "snapshot/snapshot-writer.h"
#include "snapshot/thread-column.h"
#include "spool/snapshot-file.h"

#define FIXTURE_BOOT_ID "0123456789abcdef0123456789abcdef"
#define FIXTURE_LEDGER_ID "00112233445566778899aabbccddeeff"
#define FIXTURE_START_NS UINT64_C(1700000000123456789)

typedef struct FixtureSnapshot {
        const char *name;
        const char *boot_id;
        const char *host_json;
        uint64_t boottime_ns;
        uint64_t run_time_ns; /* of the first thread; others have multiples */
        unsigned n_threads;
        uint64_t end_boottime_ns;              /* 0: not recorded */
        const char *smaps_json;                /* of the process */
        uint64_t blkio_total_ns, blkio_max_ns; /* of the first thread; 0: no thread has them */
        unsigned n_exited;                     /* 0: no ledger */
        unsigned uid;                          /* the owner */
        uint32_t user_hz;                      /* 0: not recorded */
} FixtureSnapshot;

#define FIXTURE_HOST                                                                             \
        "{\"kernel_release\":\"6.12.1\",\"total_memory_kib\":2048,"                              \
        "\"sched_tunables\":{\"sched_rt_runtime_us\":\"950000\"},"                               \
        "\"cpufreq_governor\":{\"0\":\"performance\",\"10\":\"powersave\",\"9\":\"powersave\"}," \
        "\"online_cpus\":2}"

#define FIXTURE_SNAPSHOT                         \
        ((FixtureSnapshot){                      \
                .name = "before",                \
                .boot_id = FIXTURE_BOOT_ID,      \
                .host_json = FIXTURE_HOST,       \
                .boottime_ns = 5 * NSEC_PER_SEC, \
                .run_time_ns = 1000,             \
                .n_threads = 3,                  \
                .smaps_json = "{\"Rss\":12}",    \
                .uid = 1000,                     \
        })

static inline int fixture_file(const void *bytes, size_t n) {
        int fd = memfd_create("fixture", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(pwrite(fd, bytes, n, 0), (ssize_t) n);
        return fd;
}

/* @text as one zstd frame: a file without head. */
static inline int fixture_zstd(const void *text, size_t n) {
        size_t bound = ZSTD_compressBound(n);
        char *space = malloc(bound);
        size_t n_compressed;
        int fd;

        ck_assert_ptr_nonnull(space);
        n_compressed = ZSTD_compress(space, bound, text, n, 1);
        ck_assert(!ZSTD_isError(n_compressed));
        fd = fixture_file(space, n_compressed);
        free(space);
        return fd;
}

/* All bytes of a file; free() them. */
static inline char *fixture_bytes(int fd, size_t *ret_n) {
        struct stat status;
        char *bytes;

        ck_assert_int_eq(fstat(fd, &status), 0);
        bytes = malloc((size_t) status.st_size + 1);
        ck_assert_ptr_nonnull(bytes);
        ck_assert_int_eq(pread(fd, bytes, (size_t) status.st_size, 0), status.st_size);
        bytes[status.st_size] = '\0';
        *ret_n = (size_t) status.st_size;
        return bytes;
}

/* The text of a file that is one zstd frame; free() it. */
static inline char *fixture_text(int fd) {
        size_t n, n_text;
        char *bytes = fixture_bytes(fd, &n), *text;

        n_text = (size_t) ZSTD_getFrameContentSize(bytes, n);
        if (n_text == (size_t) ZSTD_CONTENTSIZE_UNKNOWN)
                n_text = 4u << 20;
        text = malloc(n_text + 1);
        ck_assert_ptr_nonnull(text);
        n_text = ZSTD_decompress(text, n_text, bytes, n);
        ck_assert(!ZSTD_isError(n_text));
        text[n_text] = '\0';
        free(bytes);
        return text;
}

static inline ThreadSample fixture_thread(const FixtureSnapshot *snapshot, unsigned index) {
        static const char *const names[] = { "worker-1", "worker-2", "we\"ird\xff" };
        ThreadSample sample = {
                .tid = (pid_t) (100 + index),
                .tgid = 100,
                .start_ticks = 50 + index,
                .pcomm = SPAN_LITERAL("pool"),
                .comm = span_of(names[index % ELEMENTSOF(names)]),
                .cgroup = SPAN_LITERAL("/system.slice/pool.service"),
                .cpus = SPAN_LITERAL("0-2,7"),
                .has_ppid = true,
                .ppid = 1,
        };

        thread_sample_put(&sample, METRIC_thread_count, 1);
        thread_sample_put(&sample, METRIC_run_time_ns, (index + 1) * snapshot->run_time_ns);
        thread_sample_put(&sample, METRIC_policy, 0);
        thread_sample_put(&sample, METRIC_nice, (uint64_t) -5);
        thread_sample_put(&sample, METRIC_state, 'S');
        thread_sample_put(&sample, METRIC_cpu_affinity, 4);
        if (index == 0 && snapshot->blkio_total_ns > 0) {
                thread_sample_put(&sample, METRIC_blkio_delay_total_ns, snapshot->blkio_total_ns);
                thread_sample_put(&sample, METRIC_blkio_delay_max_ns, snapshot->blkio_max_ns);
        }
        return sample;
}

static inline SourceTable fixture_sources(void) {
        SourceTable table = {};

        for (unsigned i = 0; i < _SOURCE_MAX; i++)
                table.sources[i].state = SOURCE_STATE_OK;
        table.sources[SOURCE_IO] = (Source){
                .state = SOURCE_STATE_PARTIAL,
                .reason = "needs CAP_SYS_PTRACE",
                .counts = { [SOURCE_OUTCOME_ok] = 1, [SOURCE_OUTCOME_denied] = 2 },
        };
        table.sources[SOURCE_TASKSTATS].counts[SOURCE_OUTCOME_ok] = 3;
        return table;
}

static inline Head fixture_head(const FixtureSnapshot *snapshot) {
        Head head = {
                .tagged = true,
                .format_version = HEAD_FORMAT_VERSION,
                .host_name = "host",
                .kernel_release = "6.12.1",
                .backend = "procfs",
                .has_start_realtime = true,
                .start_realtime_ns = FIXTURE_START_NS,
                .has_start_boottime = true,
                .start_boottime_ns = snapshot->boottime_ns,
                .has_end_boottime = snapshot->end_boottime_ns > 0,
                .end_boottime_ns = snapshot->end_boottime_ns,
                .has_user_hz = snapshot->user_hz > 0,
                .user_hz = snapshot->user_hz,
                .has_threads = true,
                .threads = snapshot->n_threads,
                .has_processes = true,
                .processes = 1,
                .has_uid = true,
                .uid = snapshot->uid,
        };

        (void) snprintf(head.name, sizeof(head.name), "%s", snapshot->name);
        (void) snprintf(head.boot_id, sizeof(head.boot_id), "%s", snapshot->boot_id);
        if (snapshot->n_exited > 0) {
                (void) snprintf(head.ledger_id, sizeof(head.ledger_id), "%s", FIXTURE_LEDGER_ID);
                head.has_ledger_since = head.has_waits_since = true;
                head.ledger_since_boottime_ns = head.waits_since_boottime_ns = 5;
        }
        return head;
}

/* Rows of 1, 2 ... threads that ended. */
static inline void fixture_write_exited(const FixtureSnapshot *snapshot, SnapshotWriter *writer) {
        LedgerSummary ledger = { .generation = 1, .lost_records = 2 };
        JsonWriter json;
        Buffer text;

        if (snapshot->n_exited == 0)
                return;
        buffer_init(&text, 0);
        for (unsigned i = 1; i <= snapshot->n_exited; i++)
                ledger.exits += i;
        json_writer_init(&json, &text);
        ledger_summary_write_json(&json, &ledger);
        ck_assert_int_eq(
                snapshot_writer_object(writer, SNAPSHOT_SECTION_LEDGER, buffer_span(&text)), 0);
        buffer_clear(&text);
        for (unsigned i = 1; i <= snapshot->n_exited; i++) {
                ExitedRow row = { .exits = i, .lives_ns = 7 };

                thread_sample_clear(&row.sample);
                row.sample.pcomm = SPAN_LITERAL("gzip");
                row.sample.comm = SPAN_LITERAL("we\"ird\xff");
                thread_sample_put(&row.sample, METRIC_run_time_ns, 1000 * i);
                if (i > 1)
                        ck_assert_int_eq(buffer_append_byte(&text, ','), 0);
                ck_assert_int_eq(exited_row_encode(&text, &row), 0);
        }
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_EXITED, buffer_span(&text)),
                         0);
        buffer_done(&text);
}

static inline int fixture_snapshot(const FixtureSnapshot *snapshot) {
        static const char cgroup[] =
                "{\"cpu\":{\"usage_usec\":7,\"max_quota_us\":\"max\","
                "\"weight\":100,\"nr_periods\":3},"
                "\"memory\":{\"current\":1,\"low\":\"max\",\"stat\":{\"anon\":5}},"
                "\"io\":{}}";
        Head head = fixture_head(snapshot);
        SourceTable sources = fixture_sources();
        SnapshotFileWriter *file;
        SnapshotWriter *writer;
        uint64_t n_bytes;
        Buffer rows;
        int fd = fixture_file("", 0);

        ck_assert_int_eq(snapshot_file_writer_new(fd, &file), 0);
        ck_assert_int_eq(snapshot_writer_new(snapshot_file_writer_write, file, &writer), 0);
        ck_assert_int_eq(snapshot_writer_begin(writer, &head), 0);
        ck_assert_int_eq(
                snapshot_writer_object(writer, SNAPSHOT_SECTION_HOST, span_of(snapshot->host_json)),
                0);
        buffer_init(&rows, 0);
        for (unsigned i = 0; i < snapshot->n_threads; i++) {
                ThreadSample sample = fixture_thread(snapshot, i);

                if (i > 0)
                        ck_assert_int_eq(buffer_append_byte(&rows, ','), 0);
                ck_assert_int_eq(
                        thread_row_encode(&rows, &sample,
                                          i == 0 ? span_of(snapshot->smaps_json) : (Span){}),
                        0);
        }
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, buffer_span(&rows)),
                         0);
        buffer_done(&rows);
        fixture_write_exited(snapshot, writer);
        ck_assert_int_eq(snapshot_writer_entry(writer, SNAPSHOT_SECTION_CGROUPS,
                                               SPAN_LITERAL("/system.slice/pool.service"),
                                               span_of(cgroup)),
                         0);
        ck_assert_int_eq(
                snapshot_writer_object(writer, SNAPSHOT_SECTION_PRESSURE,
                                       SPAN_LITERAL("{\"cpu\":{\"some\":{\"avg10\":150}}}")),
                0);
        ck_assert_int_eq(
                snapshot_writer_object(
                        writer, SNAPSHOT_SECTION_PROBE_SUMMARY,
                        SPAN_LITERAL("{\"tgids_walked\":9,\"jemalloc_detected\":2,\"probed_ok\":7,"
                                     "\"failed\":3,\"dominant_failure\":\"permission\","
                                     "\"privilege_dominant\":true,"
                                     "\"failures\":{\"permission\":3}}")),
                0);
        ck_assert_int_eq(snapshot_writer_end(writer, &sources, &head), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(file, &head, &n_bytes), 0);
        (void) snapshot_writer_free(writer);
        (void) snapshot_file_writer_free(file);
        return fd;
}
