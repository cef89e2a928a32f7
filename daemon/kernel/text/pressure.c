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
        Cursor lines = text;
        bool good = true, seen_some = false, seen_full = false;
        Span line, word;

        while (cursor_line(&lines, &line)) {
                if (!cursor_word(&line, &word))
                        continue;
                if (span_is(word, "some")) {
                        good &= !seen_some && parse_half(line, &file.some);
                        file.has_some = !seen_some;
                        seen_some = true;
                } else if (span_is(word, "full")) {
                        good &= !seen_full && parse_half(line, &file.full);
                        file.has_full = !seen_full;
                        seen_full = true;
                }
        }
        *ret = file;
        if (!good || lines.n > 0 || (!file.has_some && !file.has_full))
                return TEXT_E_MALFORMED;
        return 0;
}

#define PRESSURE_ROW(id, member, host, group) { member, { host, group } },
static const struct {
        const char *member, *names[2]; /* by PressureOwner */
} rows[_PRESSURE_MAX] = { PRESSURES(PRESSURE_ROW) };

void pressure_write_json(JsonWriter *writer, PressureOwner owner, int dir_fd,
                         uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        json_write_object(writer);
        for (PressureId id = 0; id < _PRESSURE_MAX; id++) {
                char buffer[PRESSURE_FILE_BYTES];
                PressureFile file = {};
                size_t n;
                int r;

                r = text_file_read(dir_fd, rows[id].names[owner], buffer, sizeof(buffer), &n);
                if (r == 0)
                        r = pressure_parse((Span){ buffer, n }, &file);
                if (r != TEXT_E_ABSENT || (owner == PRESSURE_OF_HOST && id != PRESSURE_IRQ))
                        counts[text_file_outcome(r)]++;
                json_write_key(writer, rows[id].member);
                if (!file.has_some && !file.has_full) {
                        json_write_null(writer);
                        continue;
                }
                json_write_object(writer);
                for (unsigned is_full = 0; is_full < 2; is_full++) {
                        const PressureHalf *half = is_full ? &file.full : &file.some;

                        json_write_key(writer, is_full ? "full" : "some");
                        if (!(is_full ? file.has_full : file.has_some)) {
                                json_write_null(writer);
                                continue;
                        }
                        json_write_object(writer);
                        json_write_member_known(writer, "avg10", half->has_avg10, half->avg10);
                        json_write_member_known(writer, "avg60", half->has_avg60, half->avg60);
                        json_write_member_known(writer, "avg300", half->has_avg300, half->avg300);
                        json_write_member_known(writer, "total_usec", half->has_total,
                                                half->total_usec);
                        json_write_end(writer);
                }
                json_write_end(writer);
        }
        json_write_end(writer);
}
