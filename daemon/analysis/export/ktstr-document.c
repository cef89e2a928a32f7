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

int ktstr_write(JsonWriter *writer, KtstrPart part, Span json) {
        static const struct {
                const Shape *shapes;
                bool is_nullable; /* its reader accepts null for what was not read */
        } parts[] = {
                [KTSTR_HOST] = { host, true },
                [KTSTR_CGROUP] = { cgroup, false },
                [KTSTR_PSI] = { psi, false },
                [KTSTR_SCHED_EXT] = { sched_ext, true },
                [KTSTR_PROBE_SUMMARY] = { probe_summary, true },
        };

        if (json.n > 0 || !parts[part].is_nullable)
                return reshape_write(writer, parts[part].shapes, json);
        json_write_null(writer);
        return 0;
}

/* summaries */

static void ktstr_write_parse(JsonWriter *writer, const SourceTable *sources, const Head *head) {
        static const SourceId files[] = {
                /* ascending by name */
                SOURCE_CGROUP,       SOURCE_IO,   SOURCE_SCHED,  SOURCE_SCHEDSTAT,
                SOURCE_SMAPS_ROLLUP, SOURCE_STAT, SOURCE_STATUS,
        };
        uint64_t failures[ELEMENTSOF(files)] = {}, n_failed = 0, n_config = 0, n_most = 0;
        const char *most = NULL;

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                /* Threads that ended during the capture are not failures of reading. */
                for (unsigned k = 0; k < _SOURCE_OUTCOME_MAX; k++)
                        if (k != SOURCE_OUTCOME_ok && k != SOURCE_OUTCOME_vanished)
                                failures[i] = number_add_saturating(
                                        failures[i], sources->sources[files[i]].counts[k]);
                if (files[i] == SOURCE_IO || files[i] == SOURCE_SCHEDSTAT)
                        n_config = number_add_saturating(n_config, failures[i]);
                n_failed = number_add_saturating(n_failed, failures[i]);
                if (failures[i] > n_most) { /* the first of several */
                        n_most = failures[i];
                        most = metric_source_names[files[i]];
                }
        }

        json_write_object(writer);
        json_write_member_u64(writer, "tids_walked", head->has_threads ? head->threads : 0);
        json_write_member_u64(writer, "read_failures", n_failed);
        json_write_key(writer, "read_failures_by_file");
        json_write_object(writer);
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (failures[i] > 0)
                        json_write_member_u64(writer, metric_source_names[files[i]], failures[i]);
        json_write_end(writer);
        if (most)
                json_write_member_text(writer, "dominant_read_failure", most);
        else
                json_write_member_null(writer, "dominant_read_failure");
        json_write_member_bool(writer, "kernel_config_dominant",
                               n_failed > 0 && n_config >= n_failed - n_config);
        json_write_member_u64(writer, "negative_dotted_values", 0);
        json_write_end(writer);
}

int ktstr_write_summaries(JsonWriter *writer, Span probe_json, const SourceTable *sources,
                          const Head *head) {
        const uint64_t *counts;
        uint64_t n_other;
        int r;

        json_write_key(writer, "probe_summary");
        r = ktstr_write(writer, KTSTR_PROBE_SUMMARY, probe_json);
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
        counts = sources->sources[SOURCE_TASKSTATS].counts;
        n_other = counts[SOURCE_OUTCOME_other];
        n_other = number_add_saturating(n_other, counts[SOURCE_OUTCOME_unsupported]);
        n_other = number_add_saturating(n_other, counts[SOURCE_OUTCOME_malformed]);
        json_write_object(writer);
        json_write_member_u64(writer, "ok_count", counts[SOURCE_OUTCOME_ok]);
        json_write_member_u64(writer, "eperm_count", counts[SOURCE_OUTCOME_denied]);
        json_write_member_u64(writer, "esrch_count", counts[SOURCE_OUTCOME_vanished]);
        json_write_member_u64(writer, "other_err_count", n_other);
        json_write_end(writer);
        return 0;
}
