/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/compact.h"

#include <math.h>
#include <stdbool.h>

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

/*
 * Appends the number with the largest unit in which it does not round to 0: what rounds up to 1
 * has the next one. Below ten it has a decimal; but of the first unit only a fraction of a count.
 */
static int append_stepped(Buffer *cell, const Step *steps, size_t n_steps, double value) {
        const Step *step = steps, *last = steps + n_steps - 1;
        double number;
        bool has_point;

        if (!isfinite(value) || value < 0)
                return buffer_append_byte(cell, '-');
        if (value == 0)
                return buffer_append_byte(cell, '0');
        while (step < last && value / step->size >= step[1].size / step->size * 0.9995)
                step++;
        number = value / step->size;
        has_point = number < ONE_DIGIT &&
                    (step != steps || (step->unit[0] == '\0' && number != (unsigned) number));
        return buffer_append_format(cell, has_point ? "%.1f%s" : "%.0f%s", number, step->unit);
}

int compact_append_cpus(Buffer *cell, double cpus) {
        if (!isfinite(cpus) || cpus < 0)
                return buffer_append_byte(cell, '-');
        if (cpus == 0)
                return buffer_append_byte(cell, '0');
        return buffer_append_format(cell, cpus < TWO_DIGITS ? "%.2f" : "%.1f", cpus);
}

int compact_append_threads(Buffer *cell, double threads) {
        if (!isfinite(threads) || threads < 0)
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

        return append_stepped(cell, steps, ELEMENTSOF(steps), count);
}

int compact_append_bytes(Buffer *cell, double bytes) {
        static const Step steps[] = { { 1, "B" },        { 0x1p10, "KiB" }, { 0x1p20, "MiB" },
                                      { 0x1p30, "GiB" }, { 0x1p40, "TiB" }, { 0x1p50, "PiB" } };

        return append_stepped(cell, steps, ELEMENTSOF(steps), bytes);
}

int compact_append_span(Buffer *cell, double ns) {
        static const Step steps[] = { { 1, "ns" }, { 1e3, "\u00b5s" }, { 1e6, "ms" } };
        char text[WHEN_CHARS];

        if (!(ns / 1e6 >= 1e9 / 1e6 * 0.9995) || isinf(ns))
                return append_stepped(cell, steps, ELEMENTSOF(steps), ns);
        if (ns < 59.95e9)
                return buffer_append_format(cell, ns / 1e9 < ONE_DIGIT ? "%.2fs" : "%.1fs",
                                            ns / 1e9);
        when_format_span(ns < 0x1p63 ? (uint64_t) ns + NSEC_PER_SEC / 2 : INT64_MAX, WHEN_ROUGH,
                         text);
        return buffer_append_text(cell, text);
}

int compact_append_percent(Buffer *cell, double percent) {
        if (!isfinite(percent) || percent < 0)
                return buffer_append_byte(cell, '-');
        if (percent > 0 && percent <= 0.5)
                return buffer_append_text(cell, "<1 %");
        return buffer_append_format(cell, "%.0f %%", percent);
}

int compact_append_p(Buffer *cell, double p) {
        double scaled = p;
        int digits = 1;

        if (!(p >= 0.0001))
                return buffer_append_text(cell, "<0.0001");
        for (; scaled < 1; digits++)
                scaled *= 10;
        return buffer_append_format(cell, "%.*f", digits, p);
}
