/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "captured.h"

#include "cgroup-tree.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/cgroupfs/cgroupfs.h"
#include "metric/metric.h"
#include "snapshot/snapshot-reader.h"
#include "wire/limits.h"

/* system */

static const FakeThread *find_fake(const FakeSystem *fake, pid_t tid) {
        static const FakeThread ordinary;

        for (size_t i = 0; i < fake->n_threads; i++)
                if (fake->threads[i].tid == tid)
                        return &fake->threads[i];
        return &ordinary;
}

static int fake_affinity(void *userdata, pid_t tid, unsigned long *mask, size_t n_words,
                         size_t *ret_n_words) {
        const FakeThread *thread = find_fake(userdata, tid);

        if (thread->affinity_error)
                return thread->affinity_error;
        /* Two words, so that a first guess of one is too small. */
        if (n_words < 2)
                return -EINVAL;
        mask[0] = thread->cpus ? thread->cpus : 0x8f;
        mask[1] = 0;
        *ret_n_words = 2;
        return 0;
}

static int fake_open_taskstats(void *userdata, TaskstatsSocket **ret) {
        FakeSystem *fake = userdata;

        *ret = userdata;
        return fake->open_error;
}

static void put_word(Taskstats *stats, size_t at, uint64_t value) {
        stats->words[at / 8] = value;
}

/* The layout of version 16; earlier ones are its beginning. */
static void fill_stats(const FakeSystem *fake, const FakeThread *thread, Taskstats *stats) {
        static const uint16_t version_bytes[] = { [8] = 328, [13] = 416, [14] = 432, [16] = 560 };

        memset(stats, 0, sizeof(*stats));
        stats->version = thread->version ? thread->version : 16;
        stats->n_bytes = version_bytes[stats->version];
        if (!fake->without_delays) {
                put_word(stats, 16, 101); /* cpu count, delay, and time on it */
                put_word(stats, 24, 102);
                put_word(stats, 72, 103);
        }
        put_word(stats, 32, thread->delay_count);
        put_word(stats, 120, UINT64_C(52) << 32 | 51); /* gid, uid */
        put_word(stats, 144, thread->age_us ? thread->age_us : UINT64_MAX / 4096);
        put_word(stats, 200, thread->no_space ? 0 : 8);
        put_word(stats, 208, thread->no_space ? 0 : 9);
        put_word(stats, 272, 104);
        put_word(stats, 280, 105);
        put_word(stats, 384, 106);
        put_word(stats, 392, thread->no_space ? 0 : 107);
        put_word(stats, 416, thread->irq_count);
}

static int fake_query_taskstats(TaskstatsSocket *socket, const pid_t *tids, size_t n_tids,
                                TaskstatsAnswer *answers) {
        FakeSystem *fake = (void *) socket;

        __atomic_add_fetch(&fake->n_queries, 1, __ATOMIC_RELAXED);
        for (size_t i = 0; i < n_tids; i++) {
                const FakeThread *thread = find_fake(fake, tids[i]);

                answers[i].error = tids[i] == FAKE_OWN_TID ? fake->own_error : thread->stats_error;
                fill_stats(fake, thread, &answers[i].stats);
        }
        return 0;
}

static void fake_close_taskstats(void *userdata, TaskstatsSocket *socket) {
}

static const Tree *fake_tree;

static int fake_open_cgroups(int proc_fd, Cgroupfs **ret) {
        return cgroupfs_open_directory(fake_tree->cgroup_fd, ret);
}

static uint64_t fake_now_ns(void *userdata) {
        FakeSystem *fake = userdata;

        return __atomic_add_fetch(&fake->now_ns, fake->step_ns, __ATOMIC_RELAXED);
}

void fake_system_init(FakeSystem *fake, const Tree *tree) {
        fake_tree = tree;
        *fake = (FakeSystem) {
                .tree = tree,
                .now_ns = 1000000000,
                .step_ns = 1000,
                .system = {
                        .userdata = fake,
                        .own_pid = FAKE_OWN_TID,
                        .own_tid = FAKE_OWN_TID,
                        .read_affinity = fake_affinity,
                        .open_taskstats = fake_open_taskstats,
                        .query_taskstats = fake_query_taskstats,
                        .close_taskstats = fake_close_taskstats,
                        .open_cgroups = fake_open_cgroups,
                        .now_ns = fake_now_ns,
                },
        };
}

/* capture */

void captured_init(Captured *captured, const Tree *tree, FakeSystem *fake) {
        *captured = (Captured) {
                .options = {
                        .proc_fd = tree->proc_fd,
                        .sys_fd = tree->sys_fd,
                        .system = &fake->system,
                        .smaps = SMAPS_MODE_SMALL,
                        .smaps_max_rss_bytes = LIMIT_SMAPS_MAX_RSS_BYTES,
                        .smaps_max_processes = LIMIT_SMAPS_PROCESSES,
                        .smaps_limit_ns = LIMIT_SMAPS_NS,
                        .heap_limit_ns = LIMIT_HEAP_NS,
                        .heap_cache_fd = -EBADF,
                        .exits_fd = -EBADF,
                },
        };
}

static void forget_threads(Captured *captured) {
        for (size_t i = 0; i < captured->n_threads; i++)
                buffer_done(&captured->threads[i].texts);
        captured->n_threads = 0;
}

void captured_done(Captured *captured) {
        forget_threads(captured);
        free(captured->threads);
        buffer_done(&captured->document);
        buffer_done(&captured->cgroups);
        buffer_done(&captured->psi);
        buffer_done(&captured->sched_ext);
        buffer_done(&captured->probe_summary);
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                buffer_done(&captured->host_parts[i]);
        head_done(&captured->head);
}

static int take_bytes(void *userdata, const char *bytes, size_t n) {
        Captured *captured = userdata;

        if (captured->sink_error && captured->document.n >= captured->sink_bytes)
                return captured->sink_error;
        return buffer_append(&captured->document, bytes, n);
}

typedef struct Playback {
        Span text;
        size_t at;
} Playback;

static int refill(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        Playback *playback = userdata;
        size_t n = playback->text.n - playback->at;

        n = n < n_space ? n : n_space;
        memcpy(space, playback->text.bytes + playback->at, n);
        playback->at += n;
        *ret_n = n;
        return 0;
}

static void keep(Buffer *texts, Span *text) {
        size_t at = texts->n;

        if (!text->bytes)
                return;
        ck_assert_int_eq(buffer_append(texts, text->bytes, text->n), 0);
        *text = (Span){ texts->bytes + at, text->n };
}

static int on_thread(void *userdata, const ThreadSample *sample, Span smaps) {
        Captured *captured = userdata;
        CapturedThread *thread;
        char *room;

        if (captured->n_threads == captured->n_allocated) {
                captured->n_allocated = captured->n_allocated ? 2 * captured->n_allocated : 16;
                captured->threads = realloc(captured->threads,
                                            captured->n_allocated * sizeof(*captured->threads));
                ck_assert_ptr_nonnull(captured->threads);
        }
        thread = &captured->threads[captured->n_threads++];
        *thread = (CapturedThread){ .sample = *sample, .smaps = smaps };
        /* The memory is reserved at once, so that pointers to kept bytes stay valid. */
        ck_assert_int_eq(buffer_reserve(&thread->texts,
                                        sample->pcomm.n + sample->comm.n + sample->cgroup.n +
                                                sample->cpus.n + sample->command.n +
                                                sample->command_line.n + sample->command_name.n +
                                                smaps.n + 1,
                                        &room),
                         0);
        keep(&thread->texts, &thread->sample.pcomm);
        keep(&thread->texts, &thread->sample.comm);
        keep(&thread->texts, &thread->sample.cgroup);
        keep(&thread->texts, &thread->sample.cpus);
        keep(&thread->texts, &thread->sample.command);
        keep(&thread->texts, &thread->sample.command_line);
        keep(&thread->texts, &thread->sample.command_name);
        keep(&thread->texts, &thread->smaps);
        return 0;
}

static int on_cgroup(void *userdata, Span path, Span stats) {
        Captured *captured = userdata;

        ck_assert_uint_gt(stats.n, 0);
        ck_assert_int_eq(buffer_append(&captured->cgroups, path.bytes, path.n), 0);
        return buffer_append_byte(&captured->cgroups, '\n');
}

static int on_value(void *userdata, SnapshotSection section, Span json) {
        Captured *captured = userdata;
        Buffer *buffer;

        switch ((unsigned) section) {
        case SNAPSHOT_SECTION_HOST:
                return 0;
        case SNAPSHOT_SECTION_PRESSURE:
                buffer = &captured->psi;
                break;
        case SNAPSHOT_SECTION_SCHED_EXT:
                buffer = &captured->sched_ext;
                break;
        case SNAPSHOT_SECTION_PROBE_SUMMARY:
                buffer = &captured->probe_summary;
                break;
        default:
                buffer = &captured->host_parts[section - SNAPSHOT_SECTION_HOST_CPU];
                break;
        }
        return buffer_append(buffer, json.bytes, json.n);
}

static int on_sources(void *userdata, const SourceTable *sources) {
        const Captured *captured = userdata;

        /* The head that is returned must be the head that was written. */
        for (unsigned id = 0; id < _SOURCE_MAX; id++) {
                ck_assert_int_eq(sources->sources[id].state, captured->sources.sources[id].state);
                ck_assert_mem_eq(sources->sources[id].counts, captured->sources.sources[id].counts,
                                 sizeof(sources->sources[id].counts));
        }
        return 0;
}

static void read_back(Captured *captured) {
        static const SnapshotVisitor visitor = {
                .on_thread = on_thread,
                .on_cgroup = on_cgroup,
                .on_value = on_value,
                .on_sources = on_sources,
        };
        _cleanup_(snapshot_reader_freep) SnapshotReader *reader = NULL;
        Playback playback = { .text = buffer_span(&captured->document) };
        int r;

        ck_assert_int_eq(snapshot_reader_new(refill, &playback, 0, &reader), 0);
        r = snapshot_reader_run(reader, &visitor, captured);
        ck_assert_msg(r == 0, "%s at %llu", reader->document.complaint,
                      (unsigned long long) reader->document.scanner->offset);
        ck_assert_uint_eq(captured->n_threads, captured->head.threads);
}

void captured_run(Captured *captured) {
        forget_threads(captured);
        buffer_clear(&captured->document);
        buffer_clear(&captured->cgroups);
        buffer_clear(&captured->psi);
        buffer_clear(&captured->sched_ext);
        buffer_clear(&captured->probe_summary);
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                buffer_clear(&captured->host_parts[i]);
        captured->result = capture_run(&captured->options, 0, take_bytes, captured, &captured->head,
                                       &captured->sources);
        if (captured->result == 0)
                read_back(captured);
}

const CapturedThread *captured_find(const Captured *captured, pid_t tid) {
        for (size_t i = 0; i < captured->n_threads; i++)
                if (captured->threads[i].sample.tid == tid)
                        return &captured->threads[i];
        return NULL;
}

bool captured_has(const Captured *captured, pid_t tid, MetricId id) {
        const CapturedThread *thread = captured_find(captured, tid);

        ck_assert_msg(thread != NULL, "no row of %d", tid);
        return thread_sample_has(&thread->sample, id);
}

uint64_t captured_value(const Captured *captured, pid_t tid, MetricId id) {
        ck_assert_msg(captured_has(captured, tid, id), "%d has no %s", tid, metric_table[id].name);
        return thread_sample_get(&captured_find(captured, tid)->sample, id);
}

void captured_check_source(const Captured *captured, SourceId id, SourceState state, uint64_t ok,
                           uint64_t denied, uint64_t vanished, uint64_t unsupported,
                           uint64_t other) {
        const Source *source = &captured->sources.sources[id];
        const char *name = metric_source_names[id];

        ck_assert_msg(source->state == state, "%s is %s: %s", name,
                      source_state_names[source->state], source->reason);
        ck_assert_msg(source->counts[SOURCE_OUTCOME_ok] == ok, "%s ok", name);
        ck_assert_msg(source->counts[SOURCE_OUTCOME_denied] == denied, "%s denied", name);
        ck_assert_msg(source->counts[SOURCE_OUTCOME_vanished] == vanished, "%s vanished", name);
        ck_assert_msg(source->counts[SOURCE_OUTCOME_unsupported] == unsupported, "%s unsupported",
                      name);
        ck_assert_msg(source->counts[SOURCE_OUTCOME_other] == other, "%s other", name);
        ck_assert_msg((source->reason[0] == '\0') == (state == SOURCE_STATE_OK), "%s: reason %s",
                      name, source->reason);
}
