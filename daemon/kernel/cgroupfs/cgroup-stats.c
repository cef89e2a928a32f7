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
        IoStat stat;
        Span line;
        bool good;

        stat.n_devices = 0;
        stat.malformed = false;
        /* A line has one device, except on the kernels described in cgroup-stats.h. */
        while (cursor_line(&text, &line)) {
                IoDevice *device = NULL;
                uint32_t number;
                Span word;

                while (cursor_word(&line, &word)) {
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
        good = !stat.malformed && text.n == 0;

        json_write_object(writer);
        for (size_t i = 0; i < stat.n_devices; i++) {
                uint64_t hundredths;
                NumberMap map;
                Span key, value;

                map.n_entries = 0;
                while (cursor_assignment(&stat.devices[i].values, &key, &value)) {
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

// clang-format off
#define CPU_STAT_KEYS(K)                                                                           \
        K(usage_usec)                                                                              \
        K(user_usec)                                                                               \
        K(system_usec)                                                                             \
        K(nr_periods)     /* from here on: with the cpu controller, not in the root */             \
        K(nr_throttled)                                                                            \
        K(throttled_usec)
// clang-format on

static int write_cpu_stat(JsonWriter *json, Span text) {
#define CPU_STAT_SPAN(key) SPAN_LITERAL(#key),
        static const Span keys[] = { CPU_STAT_KEYS(CPU_STAT_SPAN) };
        uint64_t values[ELEMENTSOF(keys)] = {};
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = values };
        Span key, value;

        while (cursor_flat_pair(&text, &key, &value))
                fields_put(&fields, key, value);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                json_write_member_known(json, keys[i].bytes, fields.present >> i & 1, values[i]);
        return fields.malformed || text.n > 0 ? TEXT_E_MALFORMED : 0;
}

/* Files that become more than one member. */
enum {
        GROUP_FILE_CPU_STAT = _FILE_VALUE_MAX,
        GROUP_FILE_CPU_MAX, /* "20000 100000" or "max 100000": the quota of each period */
        GROUP_FILE_IO_STAT,
};

static const char of_cpu[] = "cpu", of_memory[] = "memory", of_pids[] = "pids";

/* In the order of their members. */
static const struct GroupFile {
        const char *object; /* that the members are in; NULL: the cgroup's */
        const char *name, *member;
        unsigned kind; /* FileValueKind, or one of those above */
} group_files[] = {
        { of_cpu, "cpu.stat", NULL, GROUP_FILE_CPU_STAT },
        { of_cpu, "cpu.max", NULL, GROUP_FILE_CPU_MAX },
        { of_cpu, "cpu.max.burst", "max_burst_us", FILE_VALUE_NUMBER },
        { of_cpu, "cpu.weight", "weight", FILE_VALUE_NUMBER },
        { of_cpu, "cpu.weight.nice", "weight_nice", FILE_VALUE_SIGNED },
        { of_memory, "memory.current", "current", FILE_VALUE_NUMBER },
        { of_memory, "memory.peak", "peak", FILE_VALUE_NUMBER },
        { of_memory, "memory.max", "max", FILE_VALUE_LIMIT },
        { of_memory, "memory.high", "high", FILE_VALUE_LIMIT },
        { of_memory, "memory.low", "low", FILE_VALUE_LIMIT },
        { of_memory, "memory.min", "min", FILE_VALUE_LIMIT },
        { of_memory, "memory.swap.current", "swap_current", FILE_VALUE_NUMBER },
        { of_memory, "memory.swap.max", "swap_max", FILE_VALUE_LIMIT },
        { of_memory, "memory.stat", "stat", FILE_VALUE_MAP },
        { of_memory, "memory.events", "events", FILE_VALUE_MAP },
        { of_pids, "pids.current", "current", FILE_VALUE_NUMBER },
        { of_pids, "pids.peak", "peak", FILE_VALUE_NUMBER },
        { of_pids, "pids.max", "max", FILE_VALUE_LIMIT },
        { of_pids, "pids.events", "events", FILE_VALUE_MAP },
        { NULL, "io.stat", "io", GROUP_FILE_IO_STAT },
};

static void write_files(GroupReader *reader) {
        JsonWriter *json = &reader->json;
        const char *object = NULL;
        Span text, quota, period;
        size_t n;
        int r, r_stat, r_quota, r_period;

        json_write_object(json);
        for (size_t i = 0; i < ELEMENTSOF(group_files); i++) {
                const struct GroupFile *file = &group_files[i];

                if (file->object != object) {
                        if (object)
                                json_write_end(json);
                        object = file->object;
                        if (object) {
                                json_write_key(json, object);
                                json_write_object(json);
                        }
                }
                r = text_file_read(reader->group_fd, file->name, reader->buffer,
                                   CGROUP_STATS_FILE_BYTES, &n);
                text = (Span){ reader->buffer, r == 0 ? n : 0 };
                if (r == 0 && !reader->witness)
                        reader->witness = file->name;
                if (file->kind == GROUP_FILE_CPU_STAT) {
                        r_stat = write_cpu_stat(json, text);
                        r = r == 0 ? r_stat : r;
                } else if (file->kind == GROUP_FILE_CPU_MAX) {
                        text = text_trim(text);
                        (void) cursor_word(&text, &quota); /* an empty word is malformed */
                        (void) cursor_word(&text, &period);
                        r_quota = file_value_write(json, "max_quota_us", FILE_VALUE_LIMIT, quota);
                        r_period =
                                file_value_write(json, "max_period_us", FILE_VALUE_NUMBER, period);
                        r = r == 0 ? MAX_OF(r_quota, r_period) : r;
                } else if (r != 0) {
                        json_write_member_null(json, file->member);
                } else if (file->kind == GROUP_FILE_IO_STAT) {
                        json_write_key(json, file->member);
                        r = io_stat_write_json(json, text);
                } else {
                        if (file->kind != FILE_VALUE_MAP)
                                text = text_trim(text);
                        r = file_value_write(json, file->member, file->kind, text);
                }
                reader->went |= r == TEXT_E_VANISHED;
                if (r != TEXT_E_ABSENT)
                        reader->counts.stats[text_file_outcome(r)]++;
        }
        json_write_key(json, "psi");
        pressure_write_json(json, PRESSURE_OF_GROUP, reader->group_fd, reader->counts.pressure);
        if (reader->counts.pressure[SOURCE_OUTCOME_vanished] > 0)
                reader->went = true;
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
                return TEXT_E_VANISHED;
        }
        for (size_t i = 0; i < _SOURCE_OUTCOME_MAX; i++) {
                counts->stats[i] += reader.counts.stats[i];
                counts->pressure[i] += reader.counts.pressure[i];
        }
        return 0;
}
