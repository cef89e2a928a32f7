/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/compact.h"

#include <math.h>

#include "base/macro.h"
#include "base/number.h"
#include "render/when.h"

/* Above it a number has no digit behind the point, or one digit less. */
#define ONE_DIGIT 9.95
#define TWO_DIGITS 99.95

typedef struct Step {
        double size;
        const char *unit;
} Step;

static bool is_sound(double value) {
        return isfinite(value) && value >= 0;
}

/* Finds the largest step whose number does not round to 0: from @limit on it rounds up to 1. */
static const Step *step_of(const Step *steps, size_t n_steps, double value, double limit) {
        size_t i = 0;

        while (i + 1 < n_steps &&
               value / steps[i].size >= steps[i + 1].size / steps[i].size * limit)
                i++;
        return &steps[i];
}

int compact_append_cpus(Buffer *cell, double cpus) {
        if (!is_sound(cpus))
                return buffer_append_byte(cell, '-');
        if (cpus == 0)
                return buffer_append_byte(cell, '0');
        return buffer_append_format(cell, cpus < TWO_DIGITS ? "%.2f" : "%.1f", cpus);
}

int compact_append_threads(Buffer *cell, double threads) {
        if (!is_sound(threads))
                return buffer_append_byte(cell, '-');
        if (threads < 0.005)
                return buffer_append_byte(cell, '0');
        return buffer_append_format(cell,
                                    threads < 0.995        ? "%.2f"
                                    : threads < TWO_DIGITS ? "%.1f"
                                                           : "%.0f",
                                    threads);
}

int compact_append_count(Buffer *cell, double count) {
        static const Step steps[] = {
                { 1, "" }, { 1e3, "K" }, { 1e6, "M" }, { 1e9, "G" }, { 1e12, "T" }
        };
        const Step *step;
        double number;

        if (!is_sound(count))
                return buffer_append_byte(cell, '-');
        step = step_of(steps, ELEMENTSOF(steps), count, 0.9995);
        number = count / step->size;
        /* A whole number below ten has no point. */
        return buffer_append_format(
                cell,
                number < ONE_DIGIT && (step != steps || number != (unsigned) number) ? "%.1f%s"
                                                                                     : "%.0f%s",
                number, step->unit);
}

int compact_append_bytes(Buffer *cell, double bytes) {
        static const Step steps[] = { { 1, "B" },        { 0x1p10, "KiB" }, { 0x1p20, "MiB" },
                                      { 0x1p30, "GiB" }, { 0x1p40, "TiB" }, { 0x1p50, "PiB" } };
        const Step *step;
        double number;

        if (!is_sound(bytes))
                return buffer_append_byte(cell, '-');
        if (bytes == 0)
                return buffer_append_byte(cell, '0');
        step = step_of(steps, ELEMENTSOF(steps), bytes, 0.9995);
        number = bytes / step->size;
        return buffer_append_format(cell, number < ONE_DIGIT && step != steps ? "%.1f%s" : "%.0f%s",
                                    number, step->unit);
}

int compact_append_span(Buffer *cell, double ns) {
        static const Step steps[] = {
                { 1, "ns" }, { 1e3, "\u00b5s" }, { 1e6, "ms" }, { 1e9, "s" }
        };
        char text[WHEN_CHARS];
        const Step *step;
        double number;

        if (!is_sound(ns))
                return buffer_append_byte(cell, '-');
        if (ns == 0)
                return buffer_append_byte(cell, '0');
        if (ns >= 59.95e9) {
                when_format_age(0, ns < 0x1p63 ? (uint64_t) ns + NSEC_PER_SEC / 2 : INT64_MAX,
                                text);
                return buffer_append_text(cell, text);
        }
        step = step_of(steps, ELEMENTSOF(steps), ns, 0.9995);
        number = ns / step->size;
        if (step == &steps[ELEMENTSOF(steps) - 1])
                return buffer_append_format(cell, number < ONE_DIGIT ? "%.2f%s" : "%.1f%s", number,
                                            step->unit);
        return buffer_append_format(cell, number < ONE_DIGIT && step != steps ? "%.1f%s" : "%.0f%s",
                                    number, step->unit);
}

int compact_append_percent(Buffer *cell, double percent) {
        if (!is_sound(percent))
                return buffer_append_byte(cell, '-');
        if (percent > 0 && percent < 0.5)
                return buffer_append_text(cell, "<1 %");
        return buffer_append_format(cell, "%.0f %%", percent);
}
