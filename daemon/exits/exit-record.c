/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"

#define SUBUID_FILE "/etc/subuid"
#define PASSWD_FILE "/etc/passwd"
#define MAX_FILE_BYTES ((size_t) 4 << 20)
#define READ_BYTES 16384u

void subordinates_done(Subordinates *subordinates) {
        free(subordinates->ranges);
        *subordinates = (Subordinates){};
}

/* Takes what stands before @end, or all there is, off the beginning of @text. */
static Span take(Span *text, char end) {
        const char *at = text->n > 0 ? memchr(text->bytes, end, text->n) : NULL;
        Span taken = { text->bytes, at ? (size_t) (at - text->bytes) : text->n };
        size_t n = taken.n + (at != NULL);

        *text = (Span){ text->bytes + n, text->n - n };
        return taken;
}

static bool take_u32(Span *text, char end, uint32_t *ret) {
        uint64_t value;

        if (!number_parse_u64(take(text, end), &value) || value > UINT32_MAX)
                return false;
        *ret = (uint32_t) value;
        return true;
}

static bool find_user(Span users, Span name, uint32_t *ret) {
        while (users.n > 0) {
                Span line = take(&users, '\n');

                if (!span_equal(take(&line, ':'), name))
                        continue;
                (void) take(&line, ':'); /* the password */
                return take_u32(&line, ':', ret);
        }
        return false;
}

int subordinates_parse(Subordinates *subordinates, Span lines, Span users) {
        while (lines.n > 0 && subordinates->n < SUBORDINATES_MAX) {
                Span line = take(&lines, '\n'), user = take(&line, ':'), digits = user;
                SubordinateRange range;
                int r;

                if (!take_u32(&digits, ':', &range.owner) && !find_user(users, user, &range.owner))
                        continue;
                if (!take_u32(&line, ':', &range.first) || !take_u32(&line, ':', &range.n))
                        continue;
                r = ARRAY_RESERVE(subordinates->ranges, subordinates->n_allocated,
                                  subordinates->n + 1);
                if (r < 0)
                        return r;
                subordinates->ranges[subordinates->n++] = range;
        }
        return 0;
}

static int read_file(const char *path, Buffer *text) {
        _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        char piece[READ_BYTES];
        ssize_t n = 0;
        int r = 0;

        if (fd < 0)
                return errno == ENOENT || errno == EACCES ? 0 : -errno;
        while (r == 0 && text->n < MAX_FILE_BYTES && (n = read(fd, piece, sizeof(piece))) > 0)
                r = buffer_append(text, piece, (size_t) n);
        return r == 0 && n < 0 ? -errno : r;
}

int subordinates_read(Subordinates *subordinates) {
        _cleanup_(buffer_done) Buffer lines = {}, users = {};
        int r = read_file(SUBUID_FILE, &lines);

        if (r == 0)
                r = read_file(PASSWD_FILE, &users);
        return r == 0 ? subordinates_parse(subordinates, buffer_span(&lines), buffer_span(&users))
                      : r;
}

uint32_t subordinates_find_owner(const Subordinates *subordinates, uint32_t uid) {
        for (size_t i = 0; i < subordinates->n; i++)
                if (uid - subordinates->ranges[i].first < subordinates->ranges[i].n)
                        return subordinates->ranges[i].owner;
        return uid;
}

#define KTHREADD 2 /* the parent of all threads of the kernel */
#define EVERY_GROUP                                                            \
        (TASKSTATS_GROUP_BASIC | TASKSTATS_GROUP_CPU | TASKSTATS_GROUP_DELAY | \
         TASKSTATS_GROUP_IRQ | TASKSTATS_GROUP_XACCT | TASKSTATS_GROUP_FAULTS)

/* 0 for what was not sent; whether it was, the bits in @has tell. */
static uint64_t value_of(const ThreadSample *sample, MetricId id) {
        return thread_sample_has(sample, id) ? thread_sample_get(sample, id) : 0;
}

static uint64_t member_of(const Taskstats *stats, TaskstatsMember member) {
        uint64_t value = 0;

        (void) taskstats_get(stats, member, &value);
        return value;
}

static void take_delays(const ThreadSample *sample, LedgerValues *values) {
        uint64_t most =
                number_add_saturating(values->lives_ns + (values->lives_ns >> 10), TASK_TICK_NS);
        bool is_impossible = false;

        /*
         * The kernel fills these members with 0 where it was built without what counts them. A
         * thread that ends has run, so its run time tells which it is.
         */
        if (values->sums[LEDGER_run_time_ns] != 0) {
                values->has |= TASK_HAS_RUN_DELAY;
                if (thread_sample_has(sample, METRIC_cpu_delay_min_ns)) {
                        values->has |= TASK_HAS_RUN_DELAY_PEAKS;
                        values->maxima[LEDGER_RUN_DELAY_MAX] =
                                value_of(sample, METRIC_cpu_delay_max_ns);
                        values->minima[LEDGER_RUN_DELAY_MIN] =
                                value_of(sample, METRIC_cpu_delay_min_ns);
                }
        }
        for (unsigned kind = 0; kind < _TASK_DELAY_MAX; kind++) {
                const LedgerDelay *delay = &ledger_delays[kind];

                if (!thread_sample_has(sample, delay->total_id))
                        continue;
                values->has |= LEDGER_HAS_DELAY(kind);
                values->sums[delay->count] = value_of(sample, delay->count_id);
                values->sums[delay->total] = value_of(sample, delay->total_id);
                if (thread_sample_has(sample, delay->min_id)) {
                        values->has |= LEDGER_HAS_DELAY_PEAKS;
                        values->maxima[delay->max] = value_of(sample, delay->max_id);
                        values->minima[delay->min] = value_of(sample, delay->min_id);
                }
                is_impossible = is_impossible || values->sums[delay->total] > most ||
                                values->maxima[delay->max] > most;
        }
        /*
         * As in ledger.bpf.h: a delay longer than the life is that of a thread without accounting.
         */
        if (!is_impossible)
                return;
        values->accounted = 0;
        for (size_t i = 0; i < _TASK_DELAY_MAX; i++) {
                values->sums[ledger_delays[i].count] = values->sums[ledger_delays[i].total] = 0;
                values->maxima[ledger_delays[i].max] = values->minima[ledger_delays[i].min] = 0;
        }
}

/* Megabyte-microseconds as the kernel makes them of pages x ns / 1024, the unit of the ledger. */
static uint64_t integral_of(uint64_t mb_us, uint64_t page_bytes) {
        uint64_t scaled = number_multiply_saturating(mb_us, 1000 * 1024);

        return scaled / page_bytes + (scaled % page_bytes != 0);
}

static LedgerValues values_of(const Taskstats *stats, const ExitContext *context) {
        uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
        LedgerValues values = { .exits = 1 };
        ThreadSample sample;

        thread_sample_clear(&sample);
        taskstats_put_metrics(stats, EVERY_GROUP, &sample);
        for (size_t i = 0; i < n_ledger_counters; i++)
                values.sums[ledger_counters[i].sum] = value_of(&sample, ledger_counters[i].metric);
        values.sums[LEDGER_USER_NS] = value_of(&sample, METRIC_acct_utime_ns);
        values.sums[LEDGER_SYSTEM_NS] = value_of(&sample, METRIC_acct_stime_ns);
        /* The kernel takes it from CLOCK_MONOTONIC, so time of the host's sleep is missing. */
        values.lives_ns = value_of(&sample, METRIC_acct_elapsed_ns);
        values.accounted = taskstats_has_delays(stats);
        take_delays(&sample, &values);
        /* Only for a thread with memory, so that 0 never is a measurement. */
        if (thread_sample_has(&sample, METRIC_hiwater_vm_bytes)) {
                values.has |= TASK_HAS_INTEGRALS;
                values.sums[LEDGER_RSS_INTEGRAL] =
                        integral_of(value_of(&sample, METRIC_acct_rss_mb_us), page_bytes);
                values.sums[LEDGER_VM_INTEGRAL] =
                        integral_of(value_of(&sample, METRIC_acct_vm_mb_us), page_bytes);
                values.maxima[LEDGER_RSS_PEAK] =
                        value_of(&sample, METRIC_hiwater_rss_bytes) / page_bytes;
                values.maxima[LEDGER_VM_PEAK] =
                        value_of(&sample, METRIC_hiwater_vm_bytes) / page_bytes;
        }
        if (context->now_ns - MIN_OF(context->now_ns, values.lives_ns) >= context->begun_ns) {
                values.young = 1;
                values.young_run_ns = values.sums[LEDGER_run_time_ns];
        }
        return values;
}

ExitRecord exit_record_of(const TaskstatsExit *exit, const ExitContext *context) {
        const Taskstats *stats = &exit->stats;
        ExitRecord record = {
                .tid = exit->tid,
                .tgid = (pid_t) member_of(stats, TASKSTATS_TGID),
                .values = values_of(stats, context),
        };
        uint32_t uid = (uint32_t) member_of(stats, TASKSTATS_UID);
        pid_t parent = (pid_t) member_of(stats, TASKSTATS_PPID), tgid;
        char name[TASKSTATS_NAME_BYTES] = "";

        _Static_assert(sizeof(name) == sizeof(record.key.thread), "both are TASK_COMM_LEN");
        /* Bytes behind the end of a name would make two keys of one. */
        if (taskstats_get_name(stats, name))
                memcpy(record.key.thread, name, strnlen(name, sizeof(name)));
        /* As listeners of the initial user namespace see it: the only ones there are. */
        record.key.owner =
                context->subordinates ? subordinates_find_owner(context->subordinates, uid) : uid;
        record.values.born_ns = record.values.grew_ns = context->now_ns;
        /* A thread of the kernel has no memory, and kthreadd has made it. */
        if ((exit->tid == KTHREADD || parent == KTHREADD) &&
            member_of(stats, TASKSTATS_HIWATER_VM_KIB) == 0)
                record.key.flags |= LEDGER_OF_KERNEL;
        /*
         * Where the kernel does not tell its process, at least the first thread has the number. A
         * message does not tell when the process began, so the number of a caller alone counts.
         */
        tgid = record.tgid > 0 ? record.tgid : record.tid;
        if (context->self > 0 && (tgid == context->self || parent == context->self ||
                                  (context->own && tgid > 0 &&
                                   ledger_own_has(context->own, (unsigned) tgid,
                                                  LEDGER_OWN_ANY_START, context->now_ns) != 0)))
                record.key.flags |= LEDGER_OF_SELF;
        return record;
}
