/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/interface.h"

#include "base/name.h"
#include "metric/metric.h"
#include "view/section-list.h"
#include "wire/limits.h"
#include "wire/message.h"

#define ERROR_NAME(id, name, parameter) name,
#define ERROR_PARAMETER(id, name, parameter) parameter,
const char *const wire_error_names[_WIRE_ERROR_MAX] = { WIRE_ERRORS(ERROR_NAME) };
const char *const wire_error_parameters[_WIRE_ERROR_MAX] = { WIRE_ERRORS(ERROR_PARAMETER) };

WireError wire_error_find(Span name) {
        return (WireError) name_find(name, wire_error_names, _WIRE_ERROR_MAX);
}

int wire_error_encode(Buffer *buffer, WireError error, const WireErrorDetail *detail) {
        static const WireErrorDetail none = { .reason = NULL };
        Span first = span_of(wire_error_parameters[error]);
        JsonWriter writer;

        if (!detail)
                detail = &none;
        json_writer_init(&writer, buffer);
        json_write_object(&writer);
        if (first.n > 0 && !span_is(first, "reason"))
                json_write_member_name(&writer, wire_error_parameters[error], detail->subject);
        if (detail->reason || span_is(first, "reason"))
                json_write_member_name(&writer, "reason", span_of(detail->reason));
        if (detail->nearest)
                json_write_member_name(&writer, "nearest", span_of(detail->nearest));
        if (detail->has_offset)
                json_write_member_u64(&writer, "offset", detail->offset);
        if (detail->has_recorder) {
                json_write_member_u64(&writer, "uid", detail->uid);
                json_write_member_u64(&writer, "sinceRealtimeNs", detail->since_realtime_ns);
                json_write_member_u64(&writer, "untilRealtimeNs", detail->until_realtime_ns);
        }
        json_write_end(&writer);
        return json_writer_finish(&writer);
}

int wire_error_encode_reply(Buffer *frame, WireError error, const WireErrorDetail *detail) {
        _cleanup_(buffer_done) Buffer parameters = { .max_bytes = LIMIT_REPLY_BYTES };
        int r;

        r = wire_error_encode(&parameters, error, detail);
        if (r < 0)
                return r;
        return error_encode(frame, wire_error_names[error], buffer_span(&parameters));
}

#define METRIC_SECTION_TERM(id, name, shown, text) { name, text },
#define TABLE_SECTION_TERM(id, name, about, text, ...) { name, text },
static const LegendTerm sections[] = { METRIC_SECTIONS(METRIC_SECTION_TERM)
                                               SECTIONS(TABLE_SECTION_TERM) };

static const LegendTerm rules[] = {
        { "SumCount", "events, added up over the threads" },
        { "SumNs", "nanoseconds, added up" },
        { "SumBytes", "bytes, added up" },
        { "SumTicks", "clock ticks, added up" },
        { "MaxPeak", "the longest of any thread" },
        { "MaxPeakBytes", "the largest high-water mark of any thread" },
        { "MinFloor", "the shortest of any thread that had the event at all" },
        { "MaxGaugeCount", "the largest present value" },
        { "MaxGaugeNs", "the longest present value" },
        { "SumGaugeBytes", "present bytes, added up over the processes" },
        { "RangeI32", "least to greatest" },
        { "RangeU32", "least to greatest" },
        { "Mode", "the most frequent word and how many threads have it" },
        { "ModeChar", "the most frequent letter and how many threads have it" },
        { "ModeBool", "the value that most threads have, and how many have it" },
        { "Affinity", "how many CPUs the threads may use, and which when all agree" },
};

static const LegendTerm classes[] = {
        { "-", "threads of every scheduling class" },
        { "cfs-only", "counted by the fair class alone: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE" },
        { "non-ext", "not counted for threads that sched_ext runs" },
        { "fair-policy", "meaningful only under the fair policies" },
};

static const LegendTerm gates[] = {
        { "CONFIG_SCHED_INFO", "built into every distribution's kernel" },
        { "CONFIG_SCHEDSTATS", "and switched on: sysctl kernel.sched_schedstats=1" },
        { "CONFIG_SCHED_CORE", "core scheduling" },
        { "CONFIG_SCHED_CLASS_EXT", "schedulers written as BPF programs, since Linux 6.12" },
        { "CONFIG_TASKSTATS", "and CAP_NET_ADMIN for the process that asks" },
        { "CONFIG_TASK_DELAY_ACCT", "and switched on: sysctl kernel.task_delayacct=1" },
        { "CONFIG_TASK_IO_ACCOUNTING", "bytes read and written, /proc/PID/io" },
        { "CONFIG_TASK_XACCT", "extended accounting of memory" },
};

const LegendList legend_lists[_LEGEND_MAX] = {
        [LEGEND_SECTIONS] = { "sections", "sections", sections, ELEMENTSOF(sections) },
        [LEGEND_RULES] = { "rules", "rules: how the values of threads become one value of a group",
                           rules, ELEMENTSOF(rules) },
        [LEGEND_CLASSES] = { "classes", "classes: the threads that have a metric", classes,
                             ELEMENTSOF(classes) },
        [LEGEND_GATES] = { "gates", "gates: what the kernel must be built with", gates,
                           ELEMENTSOF(gates) },
};

void metric_list_write_json(JsonWriter *writer) {
        json_write_object(writer);
        json_write_key(writer, "metrics");
        json_write_array(writer);
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                const Metric *metric = &metric_table[id];

                json_write_object(writer);
                json_write_member_text(writer, "name", metric->name);
                json_write_member_text(writer, "type", metric->type_name);
                json_write_member_text(writer, "rule", metric->rule_name);
                json_write_member_text(writer, "unit", metric_unit_names[metric->unit]);
                json_write_member_text(writer, "section", metric_section_names[metric->section]);
                json_write_member_text(writer, "class", metric_class_names[metric->class]);
                json_write_key(writer, "gates");
                json_write_array(writer);
                for (const char *gate = metric->gates; *gate; gate += *gate == ',') {
                        size_t n = strcspn(gate, ",");

                        json_write_span(writer, (Span){ gate, n });
                        gate += n;
                }
                json_write_end(writer);
                json_write_member_text(writer, "description", metric->description);
                json_write_end(writer);
        }
        json_write_end(writer);
        json_write_key(writer, "derived");
        json_write_array(writer);
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const Derived *derived = &derived_table[id];

                json_write_object(writer);
                json_write_member_text(writer, "name", derived->name);
                json_write_member_text(writer, "unit", metric_unit_names[derived->unit]);
                json_write_key(writer, "inputs");
                json_write_array(writer);
                for (unsigned i = 0; i < derived->n_inputs; i++)
                        json_write_text(writer, metric_table[derived->inputs[i]].name);
                json_write_end(writer);
                json_write_member_text(writer, "section", metric_section_names[derived->section]);
                json_write_member_text(writer, "description", derived->description);
                json_write_end(writer);
        }
        json_write_end(writer);
        for (const LegendList *list = legend_lists; list < legend_lists + _LEGEND_MAX; list++) {
                json_write_key(writer, list->key);
                json_write_array(writer);
                for (size_t i = 0; i < list->n_terms; i++) {
                        json_write_object(writer);
                        json_write_member_text(writer, "name", list->terms[i].name);
                        json_write_member_text(writer, "description", list->terms[i].meaning);
                        json_write_end(writer);
                }
                json_write_end(writer);
        }
        json_write_end(writer);
}
