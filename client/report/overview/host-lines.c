/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/host-lines.h"

#include <math.h>

#include "base/number.h"
#include "render/cell.h"
#include "render/compact.h"

#define HOST_LABEL "host"
#define ARROW " \u2192 "

/* Smaller amounts do not stand in the first lines. */
#define LEAST_SHARE 0.01     /* of the CPUs, of the time, of swap space in use */
#define LEAST_OWN 0.005      /* CPUs */
#define LEAST_SPREAD 30      /* percent between the busiest and the idlest CPU */
#define LEAST_NETWORK 1024.0 /* bytes a second */

#define ELLIPSIS "\u2026"
#define MAX_FIRST_ITEMS 5

/*
 * Returns NAN if the amount is unknown, so that whatever is computed from it is unknown, too: no
 * comparison with it holds, and it is written as "-".
 */
static double amount_of(json_object *object, const char *key) {
        json_object *value = cell_member(object, key);
        Quantity quantity;

        return cell_quantity(value, &quantity) ? json_object_get_double(value) : NAN;
}

/* A figure is made from the amount in a host in one of these ways. */
typedef enum Measure {
        MEASURE_LEVEL,
        MEASURE_RATIO,    /* of the amount under the other key */
        MEASURE_RATE,     /* a second */
        MEASURE_TIME,     /* in each second */
        MEASURE_PRESSURE, /* likewise, of a resource */
        MEASURE_CPUS,     /* a share of the time of all CPUs, with that under the other key */
} Measure;

/* One figure of each side. */
typedef struct Item {
        Measure measure;
        const char *object; /* of the host; NULL: itself */
        const char *key, *other;
        double least;               /* of either side, else the item is left out */
        const char *before, *after; /* words around */
        int (*append)(Buffer *line, double value);
        double scale; /* from the figure to what is written */
} Item;

/* Appends "FROM → TO", or once what both read. */
static void append_change(Buffer *line, int (*append)(Buffer *line, double value), double from,
                          double to) {
        _cleanup_(buffer_done) Buffer before = {}, after = {};

        append(&before, from);
        append(&after, to);
        buffer_append(line, before.bytes, before.n);
        if (span_equal(buffer_span(&before), buffer_span(&after)))
                return;
        buffer_append_text(line, ARROW);
        buffer_append(line, after.bytes, after.n);
}

static void append_item(Buffer *line, const Item *item, const HostSide sides[], size_t n_sides) {
        double values[2] = { NAN, NAN };
        bool stands_out = false;

        for (size_t i = 0; i < n_sides; i++) {
                json_object *host = sides[i].host, *object = host;
                double cpus = amount_of(host, "cpus"), elapsed_ns = sides[i].elapsed_ns;
                double value, other;

                if (item->measure == MEASURE_PRESSURE)
                        object = cell_member(host, "pressure");
                if (item->object)
                        object = cell_member(object, item->object);
                value = amount_of(object, item->key);
                switch (item->measure) {
                case MEASURE_LEVEL:
                        break;
                case MEASURE_RATIO:
                        other = amount_of(object, item->other);
                        value = other > 0 ? value / other : NAN;
                        break;
                case MEASURE_RATE:
                        value /= elapsed_ns / NSEC_PER_SEC;
                        break;
                case MEASURE_TIME:
                        value /= elapsed_ns;
                        break;
                case MEASURE_PRESSURE:
                        value /= elapsed_ns;
                        /*
                         * The files of pressure are read after the threads, the second ones later
                         * than the first ones on a host that has got busier, so that a share of the
                         * time between the beginnings can be above one.
                         */
                        value = value > 1 ? 1 : value;
                        break;
                case MEASURE_CPUS:
                        value /= elapsed_ns;
                        if (item->other)
                                value += amount_of(object, item->other) / elapsed_ns;
                        value = cpus > 0 ? value / cpus : NAN;
                        break;
                }
                values[i] = value;
                stands_out = stands_out || value >= item->least;
        }
        if (!stands_out)
                return;
        if (line->n > 0)
                buffer_append_text(line, ", ");
        buffer_append_text(line, item->before);
        append_change(line, item->append, values[0] * item->scale,
                      values[n_sides - 1] * item->scale);
        buffer_append_text(line, item->after);
}

/* the first line */

/* Appends "1.62 of 2 CPUs", "1.62 → ~0.91 of 2 CPUs", "1.62 of 2 → 0.91 of 4 CPUs". */
static void append_used(Buffer *line, const HostSide sides[], size_t n_sides) {
        _cleanup_(buffer_done) Buffer before = {}, after = {};
        Buffer *texts[] = { &before, &after };
        double cpus[2];

        for (size_t i = 0; i < 2; i++) {
                const HostSide *side = &sides[i == 0 ? 0 : n_sides - 1];
                double used_ns = amount_of(side->coverage, "cpuBelievedNs");
                bool is_believed = !isnan(used_ns);

                cpus[i] = amount_of(side->host, "cpus");
                /*
                 * Where ticks missed what threads did, the threads are believed, and a "~" says so.
                 * Without a host the coverage tells what was used.
                 */
                used_ns = is_believed ? used_ns : amount_of(side->host, "cpuUsedNs");
                used_ns = isnan(used_ns) ? amount_of(side->coverage, "cpuUsedNs") : used_ns;
                if (!(cpus[i] > 0) || isnan(used_ns / side->elapsed_ns))
                        return;
                if (is_believed)
                        buffer_append_byte(texts[i], '~');
                compact_append_cpus(texts[i], used_ns / side->elapsed_ns);
        }
        if (cpus[0] != cpus[1])
                buffer_append_format(&before, " of %.0f", cpus[0]);
        if (cpus[0] != cpus[1] || !span_equal(buffer_span(&before), buffer_span(&after))) {
                buffer_append(line, before.bytes, before.n);
                buffer_append_text(line, ARROW);
        }
        buffer_append(line, after.bytes, after.n);
        buffer_append_format(line, " of %.0f CPUs", cpus[1]);
}

/* coverage */

double host_lines_coverage(json_object *coverage) {
        double used = amount_of(coverage, "cpuBelievedNs"), share;

        used = isnan(used) ? amount_of(coverage, "cpuUsedNs") : used;
        share = used > 0 ? amount_of(coverage, "attributedNs") / used : NAN;
        /* The host counts in ticks: a little more than all is all. */
        return share > 1 ? 100 : 100 * share;
}

/* Appends "; ctprof saw 41 % of it (0.02 its own): 0.96 went to …", after the CPUs in use. */
static void append_coverage(Buffer *line, const HostSide sides[], size_t n_sides) {
        const HostSide *last = &sides[n_sides - 1];
        double from = host_lines_coverage(sides[0].coverage);
        double to = host_lines_coverage(last->coverage), own[2] = {};
        bool is_first, lacks_run_times = false;
        double missed_ns;

        /* One side is enough: a change "from nothing" would be wrong, as nobody measured it. */
        for (size_t i = 0; i < n_sides; i++)
                lacks_run_times =
                        lacks_run_times || (amount_of(sides[i].coverage, "cpuUsedNs") > 0 &&
                                            !cell_member(sides[i].coverage, "attributedNs"));
        if (line->n > 0 && lacks_run_times)
                buffer_append_text(line,
                                   "; whose work it was is not known: no thread has a run time");
        if (isnan(from) || isnan(to))
                return;
        is_first = line->n == 0;
        buffer_append_text(line, is_first ? "ctprof saw " : "; ctprof saw ");
        append_change(line, compact_append_percent, from, to);
        buffer_append_text(line, is_first ? " of the CPU time" : " of it");
        /*
         * The work of ctprof and its callers is in no group unless --self is given, so that it is
         * said. Nobody misses less than what rounds to 0.01.
         */
        for (size_t i = 0; i < n_sides; i++) {
                double share = amount_of(sides[i].coverage, "ownNs") / sides[i].elapsed_ns;

                own[i] = isnan(share) ? 0 : share;
        }
        if (!(own[0] < LEAST_OWN && own[n_sides - 1] < LEAST_OWN)) {
                buffer_append_text(line, " (");
                append_change(line, compact_append_cpus, own[0], own[n_sides - 1]);
                buffer_append_text(line, " its own)");
        }
        missed_ns = amount_of(last->coverage, "notAttributedNs");
        if (n_sides == 2 || to >= HOST_FULL_COVERAGE || isnan(missed_ns))
                return;
        buffer_append_text(line, ": ");
        compact_append_cpus(line, missed_ns / last->elapsed_ns);
        buffer_append_text(line, cell_member(last->coverage, "endedNs")
                                         ? " went to interrupts, or was not seen"
                                         : " went to threads that ended, and interrupts");
}

/* Writes the first line with the first @n_items of what is not about the CPUs themselves. */
static int format_first(Buffer *line, const HostSide sides[], size_t n_sides, size_t n_items) {
        static const Item shares[] = {
                { MEASURE_CPUS, NULL, "irqNs", "softirqNs", LEAST_SHARE, "interrupts ", "",
                  compact_append_percent, 100 },
                { MEASURE_CPUS, NULL, "stealNs", NULL, LEAST_SHARE, "stolen ", "",
                  compact_append_percent, 100 },
        };
        static const Item items[] = {
                { MEASURE_TIME, NULL, "waitingNs", NULL, LEAST_SHARE, "", " waiting",
                  compact_append_cpus, 1 },
                { MEASURE_PRESSURE, "cpu", "someNs", NULL, LEAST_SHARE, "pressure cpu ", "",
                  compact_append_percent, 100 },
                { MEASURE_PRESSURE, "memory", "someNs", NULL, LEAST_SHARE, "pressure memory ", "",
                  compact_append_percent, 100 },
                { MEASURE_PRESSURE, "io", "someNs", NULL, LEAST_SHARE, "pressure io ", "",
                  compact_append_percent, 100 },
                /* The kernel counts each clone(2) as a process, so that these are threads. */
                { MEASURE_RATE, NULL, "processesCreated", NULL, 0.1, "", " new threads/s",
                  compact_append_count, 1 },
        };
        _Static_assert(ELEMENTSOF(items) == MAX_FIRST_ITEMS, "all of them fit a wide terminal");
        _cleanup_(buffer_done) Buffer inner = {}, dropped = {};
        json_object *cpus = cell_member(sides[0].host, "perCpu");
        struct {
                double percent;
                long long cpu;
        } idlest = {}, busiest = {}, *extremes[] = { &busiest, &idlest };
        size_t n_known = 0;

        append_used(line, sides, n_sides);
        for (size_t i = 0; line->n > 0 && i < ELEMENTSOF(shares); i++)
                append_item(&inner, &shares[i], sides, n_sides);
        /* "CPU 3 99 %, CPU 0 4 %", the most and the least busy one of two that are far apart. */
        for (size_t i = 0; n_sides == 1 && line->n > 0 && i < cell_length(cpus); i++) {
                json_object *cpu = cell_element(cpus, i);
                double share = amount_of(cpu, "usedNs") / sides[0].elapsed_ns;
                double percent = 100 * MIN_OF(1, share);

                for (size_t k = 0; !isnan(share) && k < ELEMENTSOF(extremes); k++)
                        if (n_known == 0 ||
                            (k == 0 ? percent > busiest.percent : percent < idlest.percent)) {
                                extremes[k]->percent = percent;
                                extremes[k]->cpu = json_object_get_int64(cell_member(cpu, "cpu"));
                        }
                n_known += isnan(share) ? 0 : 1;
        }
        for (size_t k = 0; n_known > 1 && busiest.percent - idlest.percent > LEAST_SPREAD &&
                           k < ELEMENTSOF(extremes);
             k++) {
                buffer_append_format(&inner, "%sCPU %lld ", inner.n > 0 ? ", " : "",
                                     extremes[k]->cpu);
                compact_append_percent(&inner, extremes[k]->percent);
        }
        if (inner.n > 0)
                buffer_append_format(line, " (%.*s)", (int) inner.n, inner.bytes);
        for (size_t i = 0; i < ELEMENTSOF(items); i++)
                append_item(i < n_items ? line : &dropped, &items[i], sides, n_sides);
        if (dropped.n > 0) /* else there was nothing to say of them */
                buffer_append_text(line, line->n > 0 ? ", " ELLIPSIS : ELLIPSIS);
        append_coverage(line, sides, n_sides);
        return buffer_failure(&inner) < 0 ? buffer_failure(&inner) : buffer_failure(&dropped);
}

/* the second line */

/* Appends "sda busy 45 %, 12MiB/s, 340 requests/s of 1.2ms" of the busiest disk of each side. */
static void append_disks(Buffer *line, const HostSide sides[], size_t n_sides) {
        json_object *disks[2] = { NULL }; /* NULL: it is not known of any how busy it was */
        double busy[2] = {};
        bool any_busy = false;

        for (size_t i = 0; i < n_sides; i++) {
                json_object *all = cell_member(sides[i].host, "disks");
                double most = -1;

                for (size_t k = 0; k < cell_length(all); k++) {
                        double busy_ns = amount_of(cell_element(all, k), "busyNs");

                        if (!(busy_ns > most))
                                continue;
                        most = busy_ns;
                        disks[i] = cell_element(all, k);
                }
                busy[i] = amount_of(disks[i], "busyNs") / sides[i].elapsed_ns;
                any_busy = any_busy || busy[i] >= LEAST_SHARE;
        }
        for (size_t i = 0; any_busy && i < n_sides; i++) {
                double seconds = sides[i].elapsed_ns / NSEC_PER_SEC;
                double requests = amount_of(disks[i], "requests"), bytes;

                if (i > 0)
                        buffer_append_text(line, ARROW);
                if (!(busy[i] >= LEAST_SHARE)) {
                        buffer_append_text(line, isnan(busy[i]) ? "disks -" : "disks idle");
                        continue;
                }
                cell_append_text(line, cell_member(disks[i], "name"));
                buffer_append_text(line, " busy ");
                compact_append_percent(line, 100 * MIN_OF(1, busy[i]));
                buffer_append_text(line, ", ");
                bytes = amount_of(disks[i], "readBytes") + amount_of(disks[i], "writeBytes");
                compact_append_bytes(line, bytes / seconds);
                buffer_append_text(line, "/s, ");
                compact_append_count(line, requests / seconds);
                buffer_append_text(line, " requests/s");
                if (requests > 0 && cell_member(disks[i], "requestNs")) {
                        buffer_append_text(line, " of ");
                        compact_append_span(line, amount_of(disks[i], "requestNs") / requests);
                }
        }
}

int host_lines_print(const Lines *lines, const HostSide sides[], size_t n_sides) {
        static const Item used = { MEASURE_LEVEL, "memory", "usedBytes",          NULL, 0,
                                   "memory ",     "",       compact_append_bytes, 1 };
        static const Item items[] = {
                { MEASURE_RATIO, "memory", "swapUsedBytes", "swapTotalBytes", LEAST_SHARE, "swap ",
                  " full", compact_append_percent, 100 },
                { MEASURE_RATE, "memory", "swapInBytes", NULL, 1, "swap in ", "/s",
                  compact_append_bytes, 1 },
                { MEASURE_RATE, "memory", "swapOutBytes", NULL, 1, "swap out ", "/s",
                  compact_append_bytes, 1 },
                { MEASURE_RATE, "network", "receivedBytes", NULL, LEAST_NETWORK, "network in ",
                  "/s", compact_append_bytes, 1 },
                { MEASURE_RATE, "network", "sentBytes", NULL, LEAST_NETWORK, "network out ", "/s",
                  compact_append_bytes, 1 },
                { MEASURE_RATE, "network", "tcpRetransmits", NULL, 0.01, "", " TCP retransmits/s",
                  compact_append_count, 1 },
                { MEASURE_RATE, "network", "listenDrops", NULL, 0.001, "", " listen drops/s",
                  compact_append_count, 1 },
        };
        json_object *memory = cell_member(sides[n_sides - 1].host, "memory");
        double total = amount_of(memory, "totalBytes");
        _cleanup_(buffer_done) Buffer line = {};
        bool is_known = false, fits = false;
        size_t n;

        for (size_t i = 0; i < n_sides; i++)
                is_known = is_known || sides[i].host || sides[i].coverage;
        if (!is_known)
                return 0;
        /* Coverage is the last thing to go if the first line has no room for all of it. */
        for (size_t n_items = MAX_FIRST_ITEMS; !fits; n_items--) {
                const char *text;
                int r;

                buffer_clear(&line);
                r = format_first(&line, sides, n_sides, n_items);
                if (r == 0)
                        r = buffer_terminate(&line, &text);
                if (r != 0)
                        return r;
                fits = n_items == 0 || !lines_cut(lines, text);
                if (fits && text[0] != '\0')
                        lines_print(lines, HOST_LABEL, text);
        }
        buffer_clear(&line);
        append_disks(&line, sides, n_sides);
        n = line.n;
        append_item(&line, &used, sides, n_sides);
        if (line.n > n && total > 0) {
                buffer_append_text(&line, " of ");
                compact_append_bytes(&line, total);
        }
        for (size_t i = 0; i < ELEMENTSOF(items); i++)
                append_item(&line, &items[i], sides, n_sides);
        return line.n > 0 ? lines_print_buffer(lines, "", &line) : 0;
}
