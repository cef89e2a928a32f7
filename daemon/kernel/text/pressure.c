/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/text/pressure.h"

#include "base/number.h"
#include "kernel/text/cursor.h"

#define PRESSURE_FILE_BYTES 1024 /* two lines of about 70 characters */

static const struct {
        Span key;
        bool is_percentage; /* parsed as hundredths, which must fit into 16 bits */
} value_rows[] = {
        { SPAN_LITERAL("avg10"), true },
        { SPAN_LITERAL("avg60"), true },
        { SPAN_LITERAL("avg300"), true },
        { SPAN_LITERAL("total"), false },
};

/* False when a known key is repeated or has a bad value; the other values are kept. */
static bool parse_half(Cursor words, PressureHalf *ret) {
        uint64_t values[ELEMENTSOF(value_rows)] = {};
        bool has[ELEMENTSOF(value_rows)] = {}, seen[ELEMENTSOF(value_rows)] = {};
        bool good = true;
        Span key, value;

        while (cursor_assignment(&words, &key, &value)) {
                size_t row = 0;

                while (row < ELEMENTSOF(value_rows) && !span_equal(value_rows[row].key, key))
                        row++;
                if (row == ELEMENTSOF(value_rows))
                        continue;
                has[row] = !seen[row] && (value_rows[row].is_percentage
                                                  ? text_parse_decimal(value, 2, &values[row]) &&
                                                            values[row] <= UINT16_MAX
                                                  : number_parse_u64(value, &values[row]));
                seen[row] = true;
                good &= has[row];
        }
        *ret = (PressureHalf){
                .has_avg10 = has[0],
                .has_avg60 = has[1],
                .has_avg300 = has[2],
                .has_total = has[3],
                .avg10 = (uint16_t) values[0],
                .avg60 = (uint16_t) values[1],
                .avg300 = (uint16_t) values[2],
                .total_usec = values[3],
        };
        return good;
}

int pressure_parse(Span text, PressureFile *ret) {
        PressureFile file = {};
        Cursor lines = cursor_over(text);
        bool good = true, seen_some = false, seen_full = false;
        Span line, word;

        while (cursor_line(&lines, &line)) {
                Cursor words = cursor_over(line);

                if (!cursor_word(&words, &word))
                        continue;
                if (span_is(word, "some")) {
                        good &= !seen_some && parse_half(words, &file.some);
                        file.has_some = !seen_some;
                        seen_some = true;
                } else if (span_is(word, "full")) {
                        good &= !seen_full && parse_half(words, &file.full);
                        file.has_full = !seen_full;
                        seen_full = true;
                }
        }
        *ret = file;
        if (!good || !cursor_is_at_end(&lines) || (!file.has_some && !file.has_full))
                return TEXT_E_MALFORMED;
        return 0;
}

#define PRESSURE_HOST_NAME(id, member, host, group) [PRESSURE_##id] = host,
static const char *const host_names[_PRESSURE_MAX] = { PRESSURES(PRESSURE_HOST_NAME) };

#define PRESSURE_GROUP_NAME(id, member, host, group) [PRESSURE_##id] = group,
static const char *const group_names[_PRESSURE_MAX] = { PRESSURES(PRESSURE_GROUP_NAME) };

#define PRESSURE_MEMBER(id, member, host, group) [PRESSURE_##id] = member,
static const char *const members[_PRESSURE_MAX] = { PRESSURES(PRESSURE_MEMBER) };

void pressure_read(PressureOwner owner, int dir_fd, Pressure *ret,
                   uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        *ret = (Pressure){};
        for (PressureId id = 0; id < _PRESSURE_MAX; id++) {
                const char *name = owner == PRESSURE_OF_HOST ? host_names[id] : group_names[id];
                char buffer[PRESSURE_FILE_BYTES];
                size_t n;
                int r;

                r = text_file_read(dir_fd, name, buffer, sizeof(buffer), &n);
                if (r == 0)
                        r = pressure_parse((Span){ buffer, n }, &ret->files[id]);
                ret->has[id] = ret->files[id].has_some || ret->files[id].has_full;
                if (r != TEXT_E_ABSENT || (owner == PRESSURE_OF_HOST && id != PRESSURE_IRQ))
                        counts[text_file_outcome(r)]++;
        }
}

static void write_half(JsonWriter *writer, const char *key, bool has, const PressureHalf *half) {
        if (!has) {
                json_write_member_null(writer, key);
                return;
        }
        json_write_key(writer, key);
        json_write_object(writer);
        json_write_member_known(writer, "avg10", half->has_avg10, half->avg10);
        json_write_member_known(writer, "avg60", half->has_avg60, half->avg60);
        json_write_member_known(writer, "avg300", half->has_avg300, half->avg300);
        json_write_member_known(writer, "total_usec", half->has_total, half->total_usec);
        json_write_end(writer);
}

void pressure_write_json(JsonWriter *writer, const Pressure *pressure) {
        json_write_object(writer);
        for (PressureId id = 0; id < _PRESSURE_MAX; id++) {
                const PressureFile *file = &pressure->files[id];

                if (!pressure->has[id]) {
                        json_write_member_null(writer, members[id]);
                        continue;
                }
                json_write_key(writer, members[id]);
                json_write_object(writer);
                write_half(writer, "some", file->has_some, &file->some);
                write_half(writer, "full", file->has_full, &file->full);
                json_write_end(writer);
        }
        json_write_end(writer);
}
