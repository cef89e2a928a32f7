/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/cgroupfs/io-stat.h"

#include <stdlib.h>

#include "base/number.h"
#include "kernel/text/cursor.h"
#include "kernel/text/number-map.h"

typedef struct IoDevice {
        Span name;
        Span values; /* its words of key=value */
} IoDevice;

typedef struct IoStat {
        IoDevice devices[IO_STAT_MAX_DEVICES];
        size_t n_devices;
        bool malformed;
} IoStat;

static bool is_device(Span word) {
        const char *colon = memchr(word.bytes, ':', word.n);
        size_t n_major = colon ? (size_t) (colon - word.bytes) : 0;
        uint32_t number;

        return colon && number_parse_u32((Span){ word.bytes, n_major }, &number) &&
               number_parse_u32((Span){ colon + 1, word.n - n_major - 1 }, &number);
}

/* Adds the devices of a line: one, except on the kernels described in io-stat.h. */
static void put_line(IoStat *stat, Span line) {
        Cursor words = cursor_over(line);
        IoDevice *device = NULL;
        Span word;

        while (cursor_word(&words, &word)) {
                if (memchr(word.bytes, '=', word.n)) {
                        if (!device)
                                stat->malformed = true;
                        else
                                device->values.n =
                                        (size_t) (word.bytes + word.n - device->values.bytes);
                } else if (!is_device(word) || stat->n_devices == IO_STAT_MAX_DEVICES) {
                        stat->malformed = true;
                        device = NULL;
                } else {
                        device = &stat->devices[stat->n_devices++];
                        *device = (IoDevice){ word, { word.bytes + word.n, 0 } };
                }
        }
}

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

static bool is_fraction(Span value) {
        uint64_t hundredths;

        return memchr(value.bytes, '.', value.n) && text_parse_decimal(value, 2, &hundredths);
}

/* False when some value is malformed. A fraction is well-formed, but has no value. */
static bool write_device(JsonWriter *writer, const IoDevice *device) {
        Cursor words = cursor_over(device->values);
        NumberMap map;
        Span key, value;
        bool good = true;

        number_map_init(&map);
        while (cursor_assignment(&words, &key, &value)) {
                size_t n_before = map.n_entries;

                if (!number_map_put(&map, key, value))
                        good &= map.n_entries > n_before && is_fraction(value);
        }
        json_write_key_name(writer, device->name);
        number_map_write_json(writer, &map);
        return good;
}

int io_stat_write_json(JsonWriter *writer, Span text) {
        Cursor lines = cursor_over(text);
        IoStat stat;
        Span line;
        bool good;

        stat.n_devices = 0;
        stat.malformed = false;
        while (cursor_line(&lines, &line))
                put_line(&stat, line);
        tidy(&stat);
        good = !stat.malformed && cursor_is_at_end(&lines);

        json_write_object(writer);
        for (size_t i = 0; i < stat.n_devices; i++)
                good &= write_device(writer, &stat.devices[i]);
        json_write_end(writer);
        return good ? 0 : TEXT_E_MALFORMED;
}
