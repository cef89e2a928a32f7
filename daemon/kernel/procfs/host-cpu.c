/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/host-cpu.h"

#include "base/number.h"

#define LOAD_BYTES 128

/* /proc/stat */

bool cpu_line_parse(Span line, CpuLine *ret, bool *ret_is_cpu) {
        Cursor words = cursor_over(line);
        Span name, number;

        *ret_is_cpu =
                cursor_word(&words, &name) && name.n >= 3 && memcmp(name.bytes, "cpu", 3) == 0;
        if (!*ret_is_cpu)
                return false;
        number = (Span){ name.bytes + 3, name.n - 3 };
        *ret = (CpuLine){ .is_all = number.n == 0 };
        return (ret->is_all || number_parse_u32(number, &ret->cpu)) &&
               host_row_parse(HOST_PART_CPU, &words, HOST_CPU_LEAST_COLUMNS, &ret->row);
}

enum { CTXT, INTR, SOFTIRQ, PROCESSES, RUNNING, BLOCKED, _STAT_KEY_MAX };

typedef struct StatKeys {
        Fields fields;
        uint64_t values[_STAT_KEY_MAX];
} StatKeys;

/* The totals of intr and softirq come first in their lines, which go on with each of them. */
static void read_keys(Span text, StatKeys *ret, HostFile *file) {
        static const Span keys[_STAT_KEY_MAX] = {
                [CTXT] = SPAN_LITERAL("ctxt"),
                [INTR] = SPAN_LITERAL("intr"),
                [SOFTIRQ] = SPAN_LITERAL("softirq"),
                [PROCESSES] = SPAN_LITERAL("processes"),
                [RUNNING] = SPAN_LITERAL("procs_running"),
                [BLOCKED] = SPAN_LITERAL("procs_blocked"),
        };
        Cursor lines = cursor_over(text);
        Span key, value, first;

        *ret = (StatKeys){ .fields = { .keys = keys, .n_keys = _STAT_KEY_MAX } };
        ret->fields.values = ret->values;
        while (cursor_flat_pair(&lines, &key, &value)) {
                Cursor words = cursor_over(value);

                (void) cursor_word(&words, &first); /* empty is no number */
                file->n_good += fields_put(&ret->fields, key, first);
        }
        file->n_bad += ret->fields.malformed || !cursor_is_at_end(&lines);
}

static void write_cpus(Span text, JsonWriter *json, HostFile *file) {
        static const char *const no_more[] = { NULL };
        Cursor lines = cursor_over(text);
        uint64_t n_before = 0; /* above the number of the CPU before; all are 0 */
        bool has_all = false;
        Span line;

        host_columns_write(json, HOST_PART_CPU, no_more);
        json_write_key(json, "rows");
        json_write_array(json);
        while (cursor_line(&lines, &line)) {
                bool is_good, is_cpu;
                CpuLine cpu;

                is_good = cpu_line_parse(line, &cpu, &is_cpu);
                if (!is_cpu)
                        continue;
                is_good = is_good && (cpu.is_all ? !has_all : cpu.cpu >= n_before);
                file->n_good += is_good;
                file->n_bad += !is_good;
                if (!is_good)
                        continue;
                has_all |= cpu.is_all;
                n_before = cpu.is_all ? n_before : (uint64_t) cpu.cpu + 1;
                json_write_array(json);
                if (cpu.is_all) {
                        json_write_text(json, HOST_CPU_ALL);
                } else {
                        char digits[NUMBER_U64_CHARS];

                        json_write_span(json, (Span){ digits, number_format_u64(cpu.cpu, digits) });
                }
                host_row_write(json, HOST_PART_CPU, &cpu.row);
                json_write_end(json);
        }
        json_write_end(json);
        file->n_bad += !has_all;
}

/* /proc/loadavg */

static bool parse_pair(Span word, uint64_t *ret_left, uint64_t *ret_right) {
        const char *slash = word.n > 0 ? memchr(word.bytes, '/', word.n) : NULL;
        size_t n_left = slash ? (size_t) (slash - word.bytes) : 0;

        return slash && number_parse_u64((Span){ word.bytes, n_left }, ret_left) &&
               number_parse_u64((Span){ slash + 1, word.n - n_left - 1 }, ret_right);
}

bool load_average_parse(Span text, LoadAverage *ret) {
        Cursor lines = cursor_over(text), words;
        Span line, word;

        if (!cursor_line(&lines, &line))
                return false;
        words = cursor_over(line);
        for (size_t i = 0; i < ELEMENTSOF(ret->load); i++)
                if (!cursor_word(&words, &word) || !text_parse_decimal(word, 2, &ret->load[i]))
                        return false;
        return cursor_word(&words, &word) && parse_pair(word, &ret->n_running, &ret->n_threads);
}

static bool read_load(int proc_fd, LoadAverage *ret, uint64_t *counts) {
        char text[LOAD_BYTES];
        size_t n;
        int r;

        r = procfs_read(proc_fd, "loadavg", text, sizeof(text), &n);
        if (r == 0 && !load_average_parse((Span){ text, n }, ret))
                r = PROCFS_E_MALFORMED;
        counts[text_file_outcome(r)]++;
        return r == 0;
}

/* both */

static void write_if(JsonWriter *json, const StatKeys *keys, unsigned key, const char *name) {
        if (keys->fields.present >> key & 1)
                json_write_member_u64(json, name, keys->values[key]);
}

static void write_counts(JsonWriter *json, const StatKeys *keys) {
        json_write_key(json, host_groups[HOST_GROUP_COUNTS].member);
        json_write_object(json);
        write_if(json, keys, CTXT, "ctxt");
        write_if(json, keys, INTR, "intr");
        write_if(json, keys, SOFTIRQ, "softirqs");
        write_if(json, keys, PROCESSES, "processes");
        json_write_end(json);
}

static void write_levels(JsonWriter *json, const StatKeys *keys, const LoadAverage *load) {
        json_write_key(json, host_groups[HOST_GROUP_LEVELS].member);
        json_write_object(json);
        write_if(json, keys, RUNNING, "procs_running");
        write_if(json, keys, BLOCKED, "procs_blocked");
        if (load)
                json_write_member_u64(json, "threads", load->n_threads);
        json_write_end(json);
        if (!load)
                return;
        json_write_key(json, host_groups[HOST_GROUP_LEVELS_HUNDREDTHS].member);
        json_write_object(json);
        json_write_member_u64(json, "load1", load->load[0]);
        json_write_member_u64(json, "load5", load->load[1]);
        json_write_member_u64(json, "load15", load->load[2]);
        json_write_end(json);
}

void host_cpu_read(int proc_fd, Buffer *text, JsonWriter *json,
                   uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        HostFile file = {};
        LoadAverage load;
        StatKeys keys;
        Span stat;
        int r;

        r = host_file_read(proc_fd, "stat", text, &stat);
        read_keys(stat, &keys, &file);
        write_counts(json, &keys);
        write_levels(json, &keys, read_load(proc_fd, &load, counts) ? &load : NULL);
        write_cpus(stat, json, &file);
        host_file_count(&file, r, counts);
}

bool host_cpu_count_switches(int proc_fd, uint64_t *ret) {
        _cleanup_(buffer_done) Buffer text = {};
        HostFile file = {};
        StatKeys keys;
        Span stat;

        if (host_file_read(proc_fd, "stat", &text, &stat) != 0)
                return false;
        read_keys(stat, &keys, &file);
        *ret = keys.values[CTXT];
        return keys.fields.present >> CTXT & 1;
}
