/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/cgroupfs/cgroup-stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "json/json-writer.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"
#include "kernel/text/pressure.h"

/* io.stat */

typedef struct IoDevice {
        Span name;
        Span values; /* its words of key=value */
} IoDevice;

typedef struct IoStat {
        IoDevice devices[IO_STAT_MAX_DEVICES];
        size_t n_devices;
        bool malformed;
} IoStat;

static int compare_devices(const void *a, const void *b) {
        const IoDevice *x = a, *y = b;

        return span_compare(x->name, y->name);
}

/* Drops devices without values, sorts, and drops all devices that share a name. */
static void tidy(IoStat *stat) {
        size_t n = 0, n_unique = 0;

        for (size_t i = 0; i < stat->n_devices; i++)
                if (stat->devices[i].values.n > 0)
                        stat->devices[n++] = stat->devices[i];
        qsort(stat->devices, n, sizeof(stat->devices[0]), compare_devices);
        for (size_t i = 0, end; i < n; i = end) {
                for (end = i + 1; end < n; end++)
                        if (!span_equal(stat->devices[i].name, stat->devices[end].name))
                                break;
                if (end - i == 1)
                        stat->devices[n_unique++] = stat->devices[i];
                else
                        stat->malformed = true;
        }
        stat->n_devices = n_unique;
}

int io_stat_write_json(JsonWriter *writer, Span text) {
        Cursor lines = cursor_over(text);
        IoStat stat;
        Span line;
        bool good;

        stat.n_devices = 0;
        stat.malformed = false;
        /* A line has one device, except on the kernels described in cgroup-stats.h. */
        while (cursor_line(&lines, &line)) {
                Cursor words = cursor_over(line);
                IoDevice *device = NULL;
                uint32_t number;
                Span word;

                while (cursor_word(&words, &word)) {
                        const char *colon = memchr(word.bytes, ':', word.n);
                        size_t n_major = colon ? (size_t) (colon - word.bytes) : 0;

                        if (memchr(word.bytes, '=', word.n)) {
                                stat.malformed |= !device;
                                if (device)
                                        device->values.n = (size_t) (word.bytes + word.n -
                                                                     device->values.bytes);
                                continue;
                        }
                        device = NULL;
                        if (colon && stat.n_devices < IO_STAT_MAX_DEVICES &&
                            number_parse_u32((Span){ word.bytes, n_major }, &number) &&
                            number_parse_u32((Span){ colon + 1, word.n - n_major - 1 }, &number)) {
                                device = &stat.devices[stat.n_devices++];
                                *device = (IoDevice){ word, { word.bytes + word.n, 0 } };
                        } else
                                stat.malformed = true;
                }
        }
        tidy(&stat);
        good = !stat.malformed && cursor_is_at_end(&lines);

        json_write_object(writer);
        for (size_t i = 0; i < stat.n_devices; i++) {
                Cursor words = cursor_over(stat.devices[i].values);
                uint64_t hundredths;
                NumberMap map;
                Span key, value;

                map.n_entries = 0;
                while (cursor_assignment(&words, &key, &value)) {
                        size_t n_before = map.n_entries;

                        if (number_map_put(&map, key, value))
                                continue;
                        /* A fraction is well-formed, but has no value. */
                        good &= map.n_entries > n_before && memchr(value.bytes, '.', value.n) &&
                                text_parse_decimal(value, 2, &hundredths);
                }
                json_write_key_name(writer, stat.devices[i].name);
                number_map_write_json(writer, &map);
        }
        json_write_end(writer);
        return good ? 0 : TEXT_E_MALFORMED;
}

/* the files of a cgroup */

typedef struct GroupReader {
        int group_fd;
        char *buffer; /* of CGROUP_STATS_FILE_BYTES */
        JsonWriter json;
        CgroupCounts counts;
        const char *witness; /* a file that existed; NULL before the first one */
        bool went;           /* a read found that the cgroup is gone */
} GroupReader;

/* Borrowed until the next file is read. */
static int read_file(GroupReader *reader, const char *name, Span *ret) {
        size_t n;
        int r;

        r = text_file_read(reader->group_fd, name, reader->buffer, CGROUP_STATS_FILE_BYTES, &n);
        if (r != 0)
                return r;
        if (!reader->witness)
                reader->witness = name;
        *ret = (Span){ reader->buffer, n };
        return 0;
}

static void count(GroupReader *reader, int r) {
        if (r == CGROUPFS_E_VANISHED)
                reader->went = true;
        if (r != CGROUPFS_E_ABSENT)
                reader->counts.stats[text_file_outcome(r)]++;
}

/* Writes a number, or "max" for a limit that is not set. False for anything else. */
static bool write_limit(GroupReader *reader, const char *member, Span text) {
        uint64_t value;

        if (span_is(text, "max")) {
                json_write_member_text(&reader->json, member, "max");
                return true;
        }
        if (number_parse_u64(text, &value)) {
                json_write_member_u64(&reader->json, member, value);
                return true;
        }
        json_write_member_null(&reader->json, member);
        return false;
}

static void write_limit_file(GroupReader *reader, const char *name, const char *member) {
        Span text = {};
        int r;

        r = read_file(reader, name, &text);
        if (!write_limit(reader, member, text_trim(text)) && r == 0)
                r = CGROUPFS_E_MALFORMED;
        count(reader, r);
}

static void write_number_file(GroupReader *reader, const char *name, const char *member) {
        uint64_t value;
        Span text;
        int r;

        r = read_file(reader, name, &text);
        if (r == 0 && !number_parse_u64(text_trim(text), &value))
                r = CGROUPFS_E_MALFORMED;
        count(reader, r);
        json_write_member_known(&reader->json, member, r == 0, r == 0 ? value : 0);
}

/* Writes all lines of a file of "key value" lines. */
static void write_map_file(GroupReader *reader, const char *name, const char *member) {
        NumberMap map;
        Span text, key, value;
        Cursor lines;
        int r;

        r = read_file(reader, name, &text);
        if (r != 0) {
                count(reader, r);
                json_write_member_null(&reader->json, member);
                return;
        }
        map.n_entries = 0;
        lines = cursor_over(text);
        while (cursor_flat_pair(&lines, &key, &value))
                if (!number_map_put(&map, key, value))
                        r = CGROUPFS_E_MALFORMED;
        count(reader, cursor_is_at_end(&lines) ? r : CGROUPFS_E_MALFORMED);
        json_write_key(&reader->json, member);
        number_map_write_json(&reader->json, &map);
}

// clang-format off
#define CPU_STAT_KEYS(K)                                                                           \
        K(usage_usec)                                                                              \
        K(user_usec)                                                                               \
        K(system_usec)                                                                             \
        K(nr_periods)     /* from here on: with the cpu controller, not in the root */             \
        K(nr_throttled)                                                                            \
        K(throttled_usec)
// clang-format on

static void write_cpu_stat(GroupReader *reader) {
#define CPU_STAT_SPAN(key) SPAN_LITERAL(#key),
        static const Span keys[] = { CPU_STAT_KEYS(CPU_STAT_SPAN) };
        uint64_t values[ELEMENTSOF(keys)] = {};
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };
        Span text, key, value;
        Cursor lines;
        int r;

        r = read_file(reader, "cpu.stat", &text);
        if (r == 0) {
                lines = cursor_over(text);
                while (cursor_flat_pair(&lines, &key, &value))
                        fields_put(&fields, key, value);
                if (fields.malformed || !cursor_is_at_end(&lines))
                        r = CGROUPFS_E_MALFORMED;
        }
        count(reader, r);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                json_write_member_known(&reader->json, keys[i].bytes, fields.present >> i & 1,
                                        values[i]);
}

/* "20000 100000" or "max 100000": the quota of each period. */
static void write_cpu_max(GroupReader *reader) {
        Span text, quota = {}, period = {};
        uint64_t period_us = 0;
        bool good, has_period;
        Cursor words;
        int r;

        r = read_file(reader, "cpu.max", &text);
        if (r == 0) {
                words = cursor_over(text_trim(text));
                /* An empty word fails below: it is neither "max" nor a number. */
                (void) cursor_word(&words, &quota);
                (void) cursor_word(&words, &period);
        }
        good = write_limit(reader, "max_quota_us", quota);
        has_period = number_parse_u64(period, &period_us);
        json_write_member_known(&reader->json, "max_period_us", has_period, period_us);
        count(reader, r == 0 && !(good && has_period) ? CGROUPFS_E_MALFORMED : r);
}

static void write_files(GroupReader *reader) {
        JsonWriter *json = &reader->json;
        Pressure pressure;
        int64_t nice = 0;
        Span text;
        int r;

        json_write_object(json);
        json_write_key(json, "cpu");
        json_write_object(json);
        write_cpu_stat(reader);
        write_cpu_max(reader);
        write_number_file(reader, "cpu.max.burst", "max_burst_us");
        write_number_file(reader, "cpu.weight", "weight");
        r = read_file(reader, "cpu.weight.nice", &text);
        if (r == 0 && !number_parse_i64(text_trim(text), &nice))
                r = CGROUPFS_E_MALFORMED;
        count(reader, r);
        if (r == 0)
                json_write_member_i64(json, "weight_nice", nice);
        else
                json_write_member_null(json, "weight_nice");
        json_write_end(json);

        json_write_key(json, "memory");
        json_write_object(json);
        write_number_file(reader, "memory.current", "current");
        write_number_file(reader, "memory.peak", "peak");
        write_limit_file(reader, "memory.max", "max");
        write_limit_file(reader, "memory.high", "high");
        write_limit_file(reader, "memory.low", "low");
        write_limit_file(reader, "memory.min", "min");
        write_number_file(reader, "memory.swap.current", "swap_current");
        write_limit_file(reader, "memory.swap.max", "swap_max");
        write_map_file(reader, "memory.stat", "stat");
        write_map_file(reader, "memory.events", "events");
        json_write_end(json);

        json_write_key(json, "pids");
        json_write_object(json);
        write_number_file(reader, "pids.current", "current");
        write_number_file(reader, "pids.peak", "peak");
        write_limit_file(reader, "pids.max", "max");
        write_map_file(reader, "pids.events", "events");
        json_write_end(json);

        json_write_key(json, "io");
        r = read_file(reader, "io.stat", &text);
        if (r == 0)
                r = io_stat_write_json(json, text);
        else
                json_write_null(json);
        count(reader, r);

        pressure_read(PRESSURE_OF_GROUP, reader->group_fd, &pressure, reader->counts.pressure);
        if (reader->counts.pressure[SOURCE_OUTCOME_vanished] > 0)
                reader->went = true;
        json_write_key(json, "psi");
        pressure_write_json(json, &pressure);
        json_write_end(json);
}

int cgroup_stats_read(int group_fd, Buffer *scratch, Buffer *json, CgroupCounts *counts) {
        GroupReader reader = { .group_fd = group_fd };
        size_t n_before = json->n;
        bool went;
        int r;

        buffer_clear(scratch);
        r = buffer_reserve(scratch, CGROUP_STATS_FILE_BYTES, &reader.buffer);
        if (r < 0)
                return r;
        json_writer_init(&reader.json, json);
        write_files(&reader);
        r = json_writer_finish(&reader.json);
        if (r < 0) {
                json->n = n_before;
                return r;
        }
        /*
         * The files of a removed cgroup are missing, just like files that it never had. To
         * distinguish the two, a file that existed is looked for again. Every cgroup has one
         * (cpu.stat since 4.15), unless nothing may be read.
         */
        if (reader.witness)
                went = reader.went ||
                       (faccessat(group_fd, reader.witness, F_OK, 0) < 0 && errno == ENOENT);
        else
                went = reader.went || reader.counts.stats[SOURCE_OUTCOME_denied] == 0;
        if (went) {
                json->n = n_before;
                counts->stats[SOURCE_OUTCOME_vanished]++;
                counts->pressure[SOURCE_OUTCOME_vanished]++;
                return CGROUPFS_E_VANISHED;
        }
        for (size_t i = 0; i < _SOURCE_OUTCOME_MAX; i++) {
                counts->stats[i] += reader.counts.stats[i];
                counts->pressure[i] += reader.counts.pressure[i];
        }
        return 0;
}
