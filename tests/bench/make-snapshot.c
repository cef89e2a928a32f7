/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Make-snapshot
 *
 * Writes a snapshot file of any number of threads, for the read side of the benchmark: counters of
 * the sizes that a busy host has, different in each thread, and larger by SEED so that two files
 * differ.
 *
 *     make-snapshot FILE THREADS PROCESSES SEED
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot-writer.h"
#include "snapshot/thread-column.h"
#include "spool/snapshot-file.h"

#define BATCH_BYTES (256u * 1024u)

static _noreturn_ void fail(const char *what, int r) {
        fprintf(stderr, "make-snapshot: %s: %s\n", what, r < 0 ? strerror(-r) : "refused");
        exit(EXIT_FAILURE);
}

/* Small steps of a fixed generator: the files are the same on every machine. */
static uint64_t next(uint64_t *state) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *state >> 33;
}

static void fill(ThreadSample *sample, unsigned index, unsigned process, unsigned first,
                 uint64_t seed) {
        static char pcomm[32], comm[32];
        uint64_t state = index;

        thread_sample_clear(sample);
        sample->tid = (pid_t) (1000 + index);
        sample->tgid = (pid_t) (1000 + first);
        sample->start_ticks = 1000 + index;
        snprintf(pcomm, sizeof(pcomm), "service%c%c%c", 'a' + (int) (process % 26),
                 'a' + (int) (process / 26 % 26), 'a' + (int) (process / 26 / 26 % 26));
        snprintf(comm, sizeof(comm), "worker-%u", index - first);
        sample->pcomm = span_of(pcomm);
        sample->comm = span_of(comm);
        sample->cgroup = SPAN_LITERAL("/system.slice/made.service");
        sample->cpus = SPAN_LITERAL("0-63");
        sample->has_ppid = sample->has_owner = sample->has_kthread = true;
        sample->ppid = 1;
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];
                uint64_t value;

                if (metric->explained_by == SOURCE_JEMALLOC)
                        continue;
                value = next(&state) % (metric->unit == METRIC_UNIT_NS ? 1000000000 : 10000);
                if (metric->kind == METRIC_KIND_COUNTER)
                        value += seed * (value / 100);
                else if (metric->kind == METRIC_KIND_ORDINAL)
                        value %= 20;
                else if (id == METRIC_state)
                        value = 'S';
                else if (metric->kind == METRIC_KIND_WORD)
                        value = 0;
                else if (metric->kind == METRIC_KIND_CPUS)
                        value = 64;
                thread_sample_put(sample, (MetricId) id, value);
        }
}

int main(int argc, char **argv) {
        static SourceTable sources;
        static ThreadSample sample;
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *file = NULL;
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        unsigned n_threads, n_processes, share;
        Head head = { .format_version = HEAD_FORMAT_VERSION };
        uint64_t seed, n_bytes;
        Buffer rows;
        int r;

        if (argc != 5) {
                fprintf(stderr, "usage: make-snapshot FILE THREADS PROCESSES SEED\n");
                return 2;
        }
        n_threads = (unsigned) atoi(argv[2]);
        n_processes = (unsigned) atoi(argv[3]);
        seed = (uint64_t) atoi(argv[4]);
        if (n_processes == 0 || n_threads < n_processes)
                return 2;
        share = (n_threads + n_processes - 1) / n_processes;

        snprintf(head.name, sizeof(head.name), "made-%u", (unsigned) seed);
        memset(head.boot_id, 'b', 32);
        head.has_start_realtime = head.has_end_realtime = true;
        head.has_start_boottime = head.has_end_boottime = true;
        head.start_realtime_ns = UINT64_C(1790000000) * NSEC_PER_SEC + seed * NSEC_PER_SEC;
        head.start_boottime_ns = (1000 + seed) * NSEC_PER_SEC;
        head.end_realtime_ns = head.start_realtime_ns + NSEC_PER_MSEC;
        head.end_boottime_ns = head.start_boottime_ns + NSEC_PER_MSEC;
        head.has_threads = head.has_processes = true;
        head.threads = n_threads;
        head.processes = (n_threads + share - 1) / share;

        fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0)
                fail(argv[1], -errno);
        r = snapshot_file_writer_new(fd, &file);
        if (r == 0)
                r = snapshot_writer_new(snapshot_file_writer_write, file, &writer);
        if (r == 0)
                r = snapshot_writer_begin(writer, &head);
        buffer_init(&rows, 0);
        for (unsigned i = 0; r == 0 && i < n_threads; i++) {
                fill(&sample, i, i / share, i / share * share, seed);
                if (rows.n > 0)
                        r = buffer_append_byte(&rows, ',');
                if (r == 0)
                        r = thread_row_encode(&rows, &sample, (Span){});
                if (r == 0 && rows.n > BATCH_BYTES) {
                        r = snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS,
                                                 buffer_span(&rows));
                        buffer_clear(&rows);
                }
        }
        if (r == 0)
                r = snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, buffer_span(&rows));
        buffer_done(&rows);
        if (r == 0)
                r = snapshot_writer_end(writer, &sources, &head);
        if (r == 0)
                r = snapshot_file_writer_finish(file, &head, &n_bytes);
        if (r != 0)
                fail(argv[1], r);
        printf("%llu\n", (unsigned long long) n_bytes);
        return EXIT_SUCCESS;
}
