/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/export/ktstr-document.h"

#include <string.h>
#include "base/number.h"
#include "metric/metric.h"
#include "analysis/export/reshape.h"

/* The default period of cpu.max in the prior tool. */
#define KTSTR_PERIOD_US 100000

// clang-format off
#define IS(name, what)          { .key = (name), .kind = SHAPE_##what }
#define OR(name, what, other)   { .key = (name), .kind = SHAPE_##what, .other_key = (other) }
#define ELSE(name, what, value) { .key = (name), .kind = SHAPE_##what, .absent = (value) }
#define PART(name, what, rows)  { .key = (name), .kind = SHAPE_##what, .shapes = (rows) }

static const Shape psi_half[] = {
        IS("avg10", AVERAGE), IS("avg60", AVERAGE), IS("avg300", AVERAGE),
        IS("total_usec", NUMBER),
        {},
};
static const Shape psi_file[] = {
        PART("some", OBJECT, psi_half), PART("full", OBJECT, psi_half),
        {},
};
static const Shape psi[] = {
        PART("cpu", OBJECT, psi_file), PART("memory", OBJECT, psi_file),
        PART("io", OBJECT, psi_file), PART("irq", OBJECT, psi_file),
        {},
};
static const Shape cgroup_cpu[] = {
        IS("usage_usec", NUMBER), IS("nr_throttled", NUMBER),
        IS("throttled_usec", NUMBER), IS("max_quota_us", NUMBER_OR_NULL),
        ELSE("max_period_us", NUMBER, KTSTR_PERIOD_US),
        IS("weight", NUMBER_OR_NULL), IS("weight_nice", NUMBER_OR_NULL),
        {},
};
static const Shape cgroup_memory[] = {
        IS("current", NUMBER), IS("max", NUMBER_OR_NULL),
        IS("high", NUMBER_OR_NULL), IS("low", FLOOR_OR_NULL),
        IS("min", FLOOR_OR_NULL), IS("stat", NUMBERS), IS("events", NUMBERS),
        {},
};
static const Shape cgroup_pids[] = {
        IS("current", NUMBER_OR_NULL), IS("max", NUMBER_OR_NULL),
        {},
};
static const Shape cgroup[] = {
        PART("cpu", OBJECT, cgroup_cpu),
        PART("memory", OBJECT, cgroup_memory),
        PART("pids", OBJECT, cgroup_pids),
        PART("psi", OBJECT, psi),
        {},
};
static const Shape sched_ext[] = {
        IS("state", TEXT), IS("switch_all", NUMBER), IS("nr_rejected", NUMBER),
        IS("hotplug_seq", NUMBER), IS("enable_seq", NUMBER),
        {},
};
static const Shape probe_summary[] = {
        IS("tgids_walked", NUMBER), IS("jemalloc_detected", NUMBER),
        IS("probed_ok", NUMBER), IS("failed", NUMBER),
        IS("dominant_failure", TEXT_OR_NULL), IS("privilege_dominant", BOOL),
        {},
};
static const Shape heap_state[] = {
        IS("active_bytes", NUMBER_IF), IS("allocated_bytes", NUMBER_IF),
        IS("resident_bytes", NUMBER_IF), IS("mapped_bytes", NUMBER_IF),
        IS("narenas", NUMBER_IF),
        {},
};
static const Shape host[] = {
        IS("cpu_model", TEXT_IF), IS("cpu_vendor", TEXT_IF),
        OR("total_memory_kb", NUMBER_IF, "total_memory_kib"),
        OR("total_memory_kib", NUMBER_IF, "total_memory_kb"),
        IS("hugepages_total", NUMBER_IF), IS("hugepages_free", NUMBER_IF),
        OR("hugepages_size_kb", NUMBER_IF, "hugepages_size_kib"),
        OR("hugepages_size_kib", NUMBER_IF, "hugepages_size_kb"),
        IS("thp_enabled", TEXT_IF), IS("thp_defrag", TEXT_IF),
        IS("sched_tunables", TEXTS_IF), IS("online_cpus", NUMBER_IF),
        IS("numa_nodes", NUMBER_IF), IS("cpufreq_governor", TEXTS_IF),
        IS("kernel_name", TEXT_IF), IS("kernel_release", TEXT_IF),
        IS("arch", TEXT_IF), IS("kernel_cmdline", TEXT_IF),
        IS("task_delayacct", SWITCH_IF), IS("config_task_xacct", SWITCH_IF),
        PART("heap_state", OBJECT_IF, heap_state),
        {},
};
// clang-format on

static int ktstr_write_or_null(JsonWriter *writer, const Shape *shapes, Span json) {
        if (json.n > 0)
                return reshape_write(writer, shapes, json);
        json_write_null(writer);
        return 0;
}

int ktstr_write_host(JsonWriter *writer, Span host_json) {
        return ktstr_write_or_null(writer, host, host_json);
}

int ktstr_write_cgroup(JsonWriter *writer, Span stats_json) {
        return reshape_write(writer, cgroup, stats_json);
}

int ktstr_write_psi(JsonWriter *writer, Span psi_json) {
        return reshape_write(writer, psi, psi_json);
}

int ktstr_write_sched_ext(JsonWriter *writer, Span sched_ext_json) {
        return ktstr_write_or_null(writer, sched_ext, sched_ext_json);
}

/* summaries */

/* A kind of failure and how often it occurred. */
typedef struct Tally {
        const char *tag;
        uint64_t n;
} Tally;

/*
 * @tallies ascend by tag. Writes the most frequent one, the first of several; null when nothing
 * failed.
 */
static void ktstr_write_dominant(JsonWriter *writer, const char *key, const Tally *tallies,
                                 size_t n_tallies) {
        const Tally *dominant = NULL;

        for (size_t i = 0; i < n_tallies; i++)
                if (tallies[i].n > 0 && (!dominant || tallies[i].n > dominant->n))
                        dominant = &tallies[i];
        if (dominant)
                json_write_member_text(writer, key, dominant->tag);
        else
                json_write_member_null(writer, key);
}

static uint64_t tally_sum(const Tally *tallies, size_t n_tallies) {
        uint64_t sum = 0;

        for (size_t i = 0; i < n_tallies; i++)
                sum = number_add_saturating(sum, tallies[i].n);
        return sum;
}

/* @part is at least half of @whole, which is not 0. */
static bool is_dominant(uint64_t part, uint64_t whole) {
        return whole > 0 && part >= whole - part;
}

/* Threads that ended during the capture are not failures of reading. */
static uint64_t source_failures(const Source *source) {
        uint64_t n = 0;

        for (unsigned i = 0; i < _SOURCE_OUTCOME_MAX; i++)
                if (i != SOURCE_OUTCOME_ok && i != SOURCE_OUTCOME_vanished)
                        n = number_add_saturating(n, source->counts[i]);
        return n;
}

static void ktstr_write_parse(JsonWriter *writer, const SourceTable *sources, const Head *head) {
        static const SourceId files[] = {
                /* ascending by name */
                SOURCE_CGROUP,       SOURCE_IO,   SOURCE_SCHED,  SOURCE_SCHEDSTAT,
                SOURCE_SMAPS_ROLLUP, SOURCE_STAT, SOURCE_STATUS,
        };
        Tally tallies[ELEMENTSOF(files)];
        uint64_t n_failed, n_config = 0;

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                tallies[i] = (Tally){ source_name(files[i]),
                                      source_failures(&sources->sources[files[i]]) };
                if (files[i] == SOURCE_IO || files[i] == SOURCE_SCHEDSTAT)
                        n_config = number_add_saturating(n_config, tallies[i].n);
        }
        n_failed = tally_sum(tallies, ELEMENTSOF(tallies));

        json_write_object(writer);
        json_write_member_u64(writer, "tids_walked", head->has_threads ? head->threads : 0);
        json_write_member_u64(writer, "read_failures", n_failed);
        json_write_key(writer, "read_failures_by_file");
        json_write_object(writer);
        for (size_t i = 0; i < ELEMENTSOF(tallies); i++)
                if (tallies[i].n > 0)
                        json_write_member_u64(writer, tallies[i].tag, tallies[i].n);
        json_write_end(writer);
        ktstr_write_dominant(writer, "dominant_read_failure", tallies, ELEMENTSOF(tallies));
        json_write_member_bool(writer, "kernel_config_dominant", is_dominant(n_config, n_failed));
        json_write_member_u64(writer, "negative_dotted_values", 0);
        json_write_end(writer);
}

static void ktstr_write_taskstats(JsonWriter *writer, const Source *source) {
        uint64_t n_other = source->counts[SOURCE_OUTCOME_other];

        n_other = number_add_saturating(n_other, source->counts[SOURCE_OUTCOME_unsupported]);
        n_other = number_add_saturating(n_other, source->counts[SOURCE_OUTCOME_malformed]);
        json_write_object(writer);
        json_write_member_u64(writer, "ok_count", source->counts[SOURCE_OUTCOME_ok]);
        json_write_member_u64(writer, "eperm_count", source->counts[SOURCE_OUTCOME_denied]);
        json_write_member_u64(writer, "esrch_count", source->counts[SOURCE_OUTCOME_vanished]);
        json_write_member_u64(writer, "other_err_count", n_other);
        json_write_end(writer);
}

int ktstr_write_summaries(JsonWriter *writer, Span probe_json, const SourceTable *sources,
                          const Head *head) {
        int r;

        json_write_key(writer, "probe_summary");
        r = ktstr_write_or_null(writer, probe_summary, probe_json);
        if (r != 0)
                return r;
        if (!sources) {
                json_write_member_null(writer, "parse_summary");
                json_write_member_null(writer, "taskstats_summary");
                return 0;
        }
        json_write_key(writer, "parse_summary");
        ktstr_write_parse(writer, sources, head);
        json_write_key(writer, "taskstats_summary");
        ktstr_write_taskstats(writer, &sources->sources[SOURCE_TASKSTATS]);
        return 0;
}
