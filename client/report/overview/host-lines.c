/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/host-lines.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "render/cell.h"
#include "render/compact.h"

#define HOST_LABEL "host"
#define ARROW " \u2192 "

/* Below these, things are too small to stand in the first lines. */
#define LEAST_SHARE 0.01     /* of the CPUs, of the time, of swap space in use */
#define LEAST_OWN 0.005      /* CPUs */
#define LEAST_SPREAD 30      /* percent between the busiest and the idlest CPU */
#define LEAST_NETWORK 1024.0 /* bytes a second */
#define FULL_COVERAGE 95     /* percent: the rest needs no words */

#define ELLIPSIS "\u2026"
#define MAX_FIRST_ITEMS 5

static bool number_of(json_object *object, const char *key, double *ret) {
        json_object *value = cell_member(object, key);
        Quantity quantity;

        if (!cell_quantity(value, &quantity))
                return false;
        *ret = json_object_get_double(value);
        return true;
}

/*
 * NAN where it is not known, so that what is computed from it is not known either: no comparison
 * with it holds, and it is written as "-".
 */
static double amount_of(json_object *object, const char *key) {
        double amount;

        return number_of(object, key, &amount) ? amount : NAN;
}

/* A rate of time is seconds per second. */
static double rate_of(const HostSide *side, double amount) {
        return side->elapsed_ns > 0 ? amount / ((double) side->elapsed_ns / NSEC_PER_SEC) : NAN;
}

static double share_of_time(const HostSide *side, json_object *object, const char *key) {
        return side->elapsed_ns > 0 ? amount_of(object, key) / (double) side->elapsed_ns : NAN;
}

static double cpus_of(const HostSide *side) {
        return amount_of(side->host, "cpus");
}

/*
 * One figure of each side. @get returns what is judged against @least, NAN where it is not known;
 * @append writes it.
 */
typedef struct Item {
        double (*get)(const HostSide *side);
        double least;               /* of either side */
        const char *before, *after; /* words around */
        int (*append)(Buffer *line, double value);
        double scale; /* from what get() returns to what is written */
} Item;

/* "FROM → TO", or once where both read the same. */
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
                values[i] = item->get(&sides[i]);
                stands_out = stands_out || values[i] >= item->least;
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

static double interrupts(const HostSide *side) {
        double cpus = cpus_of(side);

        return cpus > 0 ? (share_of_time(side, side->host, "irqNs") +
                           share_of_time(side, side->host, "softirqNs")) /
                                  cpus
                        : NAN;
}

static double steal(const HostSide *side) {
        double cpus = cpus_of(side);

        return cpus > 0 ? share_of_time(side, side->host, "stealNs") / cpus : NAN;
}

static double waiting(const HostSide *side) {
        return share_of_time(side, side->host, "waitingNs");
}

static json_object *pressure_of(const HostSide *side, const char *resource) {
        return cell_member(cell_member(side->host, "pressure"), resource);
}

/*
 * The files of pressure are read after the threads, the second ones later than the first ones on a
 * host that has got busier, so that a share of the time between the beginnings can be above one.
 */
static double pressure_share(const HostSide *side, const char *resource) {
        double share = share_of_time(side, pressure_of(side, resource), "someNs");

        return share > 1 ? 1 : share;
}

static double cpu_pressure(const HostSide *side) {
        return pressure_share(side, "cpu");
}

static double memory_pressure(const HostSide *side) {
        return pressure_share(side, "memory");
}

static double io_pressure(const HostSide *side) {
        return pressure_share(side, "io");
}

/* The kernel counts each clone(2) as a process, so that these are threads. */
static double new_threads(const HostSide *side) {
        return rate_of(side, amount_of(side->host, "processesCreated"));
}

/* Where ticks missed what threads did, the threads are believed, and a "~" says so. */
static bool used_cpus(const HostSide *side, double *ret) {
        double used_ns;

        if (side->elapsed_ns == 0 || (!number_of(side->coverage, "cpuBelievedNs", &used_ns) &&
                                      !number_of(side->host, "cpuUsedNs", &used_ns) &&
                                      !number_of(side->coverage, "cpuUsedNs", &used_ns)))
                return false;
        *ret = used_ns / (double) side->elapsed_ns;
        return true;
}

static void append_used_of(Buffer *line, const HostSide *side, double used) {
        if (cell_member(side->coverage, "cpuBelievedNs"))
                buffer_append_byte(line, '~');
        compact_append_cpus(line, used);
}

/* "1.62 of 2 CPUs", "1.62 → ~0.91 of 2 CPUs", "1.62 of 2 → 0.91 of 4 CPUs" */
static void append_used(Buffer *line, const HostSide sides[], size_t n_sides) {
        const HostSide *first = &sides[0], *last = &sides[n_sides - 1];
        _cleanup_(buffer_done) Buffer before = {}, after = {};
        double used[2] = {}, cpus = cpus_of(first), last_cpus = cpus_of(last);

        /* Without a host the coverage tells what was used. */
        for (size_t i = 0; i < n_sides; i++)
                if (!used_cpus(&sides[i], &used[i]) || !(cpus_of(&sides[i]) > 0))
                        return;
        append_used_of(&before, first, used[0]);
        append_used_of(&after, last, used[n_sides - 1]);
        if (cpus != last_cpus)
                buffer_append_format(&before, " of %.0f", cpus);
        if (cpus != last_cpus || !span_equal(buffer_span(&before), buffer_span(&after))) {
                buffer_append(line, before.bytes, before.n);
                buffer_append_text(line, ARROW);
        }
        buffer_append(line, after.bytes, after.n);
        buffer_append_format(line, " of %.0f CPUs", last_cpus);
}

typedef struct Extreme {
        double percent;
        long long cpu;
} Extreme;

/*
 * The share of time that each CPU was busy, of the most and the least busy one; false if it is not
 * known of two of them.
 */
static bool find_extremes(const HostSide *side, Extreme *ret_busiest, Extreme *ret_idlest) {
        json_object *cpus = cell_member(side->host, "perCpu");
        size_t n = 0;

        for (size_t i = 0; i < cell_length(cpus); i++) {
                json_object *cpu = cell_element(cpus, i);
                double share = share_of_time(side, cpu, "usedNs");
                const Extreme extreme = { 100 * MIN_OF(1, share),
                                          json_object_get_int64(cell_member(cpu, "cpu")) };

                if (isnan(share))
                        continue;
                if (n == 0 || extreme.percent > ret_busiest->percent)
                        *ret_busiest = extreme;
                if (n == 0 || extreme.percent < ret_idlest->percent)
                        *ret_idlest = extreme;
                n++;
        }
        return n > 1;
}

/* "CPU 3 99 %, CPU 0 4 %" */
static void append_spread(Buffer *line, const HostSide *side) {
        Extreme busiest = {}, idlest = {};

        if (!find_extremes(side, &busiest, &idlest) ||
            busiest.percent - idlest.percent <= LEAST_SPREAD)
                return;
        buffer_append_format(line, "%sCPU %lld ", line->n > 0 ? ", " : "", busiest.cpu);
        compact_append_percent(line, busiest.percent);
        buffer_append_format(line, ", CPU %lld ", idlest.cpu);
        compact_append_percent(line, idlest.percent);
}

/* coverage */

/* Returns false where the CPU time used or its share in groups, in percent, is not known. */
static bool find_coverage(const HostSide *side, double *ret) {
        double used, attributed;

        if ((!number_of(side->coverage, "cpuBelievedNs", &used) &&
             !number_of(side->coverage, "cpuUsedNs", &used)) ||
            used <= 0 || !number_of(side->coverage, "attributedNs", &attributed))
                return false;
        /* The host counts in ticks: a little more than all is all. */
        *ret = 100 * MIN_OF(1, attributed / used);
        return true;
}

bool host_lines_cover_all(json_object *coverage) {
        const HostSide side = { .coverage = coverage };
        double percent;

        return find_coverage(&side, &percent) && percent >= FULL_COVERAGE;
}

/* One side is enough: a change "from nothing" would be wrong, as nobody measured it. */
static bool lacks_run_times(const HostSide sides[], size_t n_sides) {
        for (size_t i = 0; i < n_sides; i++) {
                double used;

                if (number_of(sides[i].coverage, "cpuUsedNs", &used) && used > 0 &&
                    !cell_member(sides[i].coverage, "attributedNs"))
                        return true;
        }
        return false;
}

/*
 * " (0.02 its own)": what ctprof and its callers did is in no group unless --self is given, so that
 * it is said. Nobody misses less than what rounds to 0.01.
 */
static void append_own(Buffer *line, const HostSide sides[], size_t n_sides) {
        double own[2] = {};

        for (size_t i = 0; i < n_sides; i++)
                if (sides[i].elapsed_ns > 0 && number_of(sides[i].coverage, "ownNs", &own[i]))
                        own[i] /= (double) sides[i].elapsed_ns;
        if (own[0] < LEAST_OWN && own[n_sides - 1] < LEAST_OWN)
                return;
        buffer_append_text(line, " (");
        append_change(line, compact_append_cpus, own[0], own[n_sides - 1]);
        buffer_append_text(line, " its own)");
}

/* "; ctprof saw 41 % of it: 0.96 went to …", after the CPUs that were used */
static void append_coverage(Buffer *line, const HostSide sides[], size_t n_sides) {
        const HostSide *last = &sides[n_sides - 1];
        double from, to, missed_ns = 0;
        bool is_first;

        if (line->n > 0 && lacks_run_times(sides, n_sides))
                buffer_append_text(line,
                                   "; whose work it was is not known: no thread has a run time");
        if (!find_coverage(&sides[0], &from) || !find_coverage(last, &to))
                return;
        is_first = line->n == 0;
        buffer_append_text(line, is_first ? "ctprof saw " : "; ctprof saw ");
        append_change(line, compact_append_percent, from, to);
        buffer_append_text(line, is_first ? " of the CPU time" : " of it");
        append_own(line, sides, n_sides);
        if (n_sides == 2 || to >= FULL_COVERAGE ||
            !number_of(last->coverage, "notAttributedNs", &missed_ns))
                return;
        buffer_append_text(line, ": ");
        compact_append_cpus(line, missed_ns / (double) last->elapsed_ns);
        buffer_append_text(line, cell_member(last->coverage, "endedNs")
                                         ? " went to interrupts, or was not seen"
                                         : " went to threads that ended, and interrupts");
}

/* The first line with the first @n_items of what is not about the CPUs themselves. */
static int format_first(Buffer *line, const HostSide sides[], size_t n_sides, size_t n_items) {
        static const Item shares[] = {
                { interrupts, LEAST_SHARE, "interrupts ", "", compact_append_percent, 100 },
                { steal, LEAST_SHARE, "stolen ", "", compact_append_percent, 100 },
        };
        static const Item items[] = {
                { waiting, LEAST_SHARE, "", " waiting", compact_append_cpus, 1 },
                { cpu_pressure, LEAST_SHARE, "pressure cpu ", "", compact_append_percent, 100 },
                { memory_pressure, LEAST_SHARE, "pressure memory ", "", compact_append_percent,
                  100 },
                { io_pressure, LEAST_SHARE, "pressure io ", "", compact_append_percent, 100 },
                { new_threads, 0.1, "", " new threads/s", compact_append_count, 1 },
        };
        _Static_assert(ELEMENTSOF(items) == MAX_FIRST_ITEMS, "all of them fit a wide terminal");
        _cleanup_(buffer_done) Buffer inner = {}, dropped = {};

        append_used(line, sides, n_sides);
        for (size_t i = 0; line->n > 0 && i < ELEMENTSOF(shares); i++)
                append_item(&inner, &shares[i], sides, n_sides);
        if (n_sides == 1 && line->n > 0)
                append_spread(&inner, &sides[0]);
        if (inner.n > 0)
                buffer_append_format(line, " (%.*s)", (int) inner.n, inner.bytes);
        for (size_t i = 0; i < ELEMENTSOF(items); i++)
                append_item(i < n_items ? line : &dropped, &items[i], sides, n_sides);
        if (dropped.n > 0) /* else there was nothing to say of them */
                buffer_append_text(line, line->n > 0 ? ", " ELLIPSIS : ELLIPSIS);
        append_coverage(line, sides, n_sides);
        return buffer_failure(&inner) < 0 ? buffer_failure(&inner) : buffer_failure(&dropped);
}

/* Coverage is the last thing to go where there is no room for all of it. */
static int print_first(const Lines *lines, const HostSide sides[], size_t n_sides) {
        _cleanup_(buffer_done) Buffer line = {};

        for (size_t n_items = MAX_FIRST_ITEMS;; n_items--) {
                const char *text;
                int r;

                buffer_clear(&line);
                r = format_first(&line, sides, n_sides, n_items);
                if (r == 0)
                        r = buffer_terminate(&line, &text);
                if (r != 0)
                        return r;
                if (text[0] == '\0')
                        return 0;
                if (n_items == 0 || !lines_cut(lines, text)) {
                        lines_print(lines, HOST_LABEL, text);
                        return 0;
                }
        }
}

/* the second line */

static json_object *memory_of(const HostSide *side) {
        return cell_member(side->host, "memory");
}

static double memory_used(const HostSide *side) {
        return amount_of(memory_of(side), "usedBytes");
}

static double swap_used(const HostSide *side) {
        double total = amount_of(memory_of(side), "swapTotalBytes");

        return total > 0 ? amount_of(memory_of(side), "swapUsedBytes") / total : NAN;
}

static double swapped_in(const HostSide *side) {
        return rate_of(side, amount_of(memory_of(side), "swapInBytes"));
}

static double swapped_out(const HostSide *side) {
        return rate_of(side, amount_of(memory_of(side), "swapOutBytes"));
}

static double network_of(const HostSide *side, const char *key) {
        return rate_of(side, amount_of(cell_member(side->host, "network"), key));
}

static double received(const HostSide *side) {
        return network_of(side, "receivedBytes");
}

static double sent(const HostSide *side) {
        return network_of(side, "sentBytes");
}

static double retransmits(const HostSide *side) {
        return network_of(side, "tcpRetransmits");
}

static double listen_drops(const HostSide *side) {
        return network_of(side, "listenDrops");
}

/* The one that was busy for the longest; NULL if that is not known of any disk. */
static json_object *busiest_disk(const HostSide *side) {
        json_object *disks = cell_member(side->host, "disks"), *busiest = NULL;
        double most = -1;

        for (size_t i = 0; i < cell_length(disks); i++) {
                json_object *disk = cell_element(disks, i);
                double busy = amount_of(disk, "busyNs");

                if (busy > most) {
                        most = busy;
                        busiest = disk;
                }
        }
        return busiest;
}

static double disk_busy(const HostSide *side) {
        return share_of_time(side, busiest_disk(side), "busyNs");
}

/* "sda busy 45 %, 12MiB/s, 340 requests/s of 1.2ms" */
static void append_disk(Buffer *line, const HostSide *side) {
        json_object *disk = busiest_disk(side);
        double requests = amount_of(disk, "requests"), busy = disk_busy(side);

        if (!(busy >= LEAST_SHARE)) {
                buffer_append_text(line, isnan(busy) ? "disks -" : "disks idle");
                return;
        }
        cell_append_text(line, cell_member(disk, "name"));
        buffer_append_text(line, " busy ");
        compact_append_percent(line, 100 * MIN_OF(1, busy));
        buffer_append_text(line, ", ");
        compact_append_bytes(
                line, rate_of(side, amount_of(disk, "readBytes") + amount_of(disk, "writeBytes")));
        buffer_append_text(line, "/s, ");
        compact_append_count(line, rate_of(side, requests));
        buffer_append_text(line, " requests/s");
        if (requests > 0 && cell_member(disk, "requestNs")) {
                buffer_append_text(line, " of ");
                compact_append_span(line, amount_of(disk, "requestNs") / requests);
        }
}

static void append_disks(Buffer *line, const HostSide sides[], size_t n_sides) {
        bool busy = false;

        for (size_t i = 0; i < n_sides; i++)
                busy = busy || disk_busy(&sides[i]) >= LEAST_SHARE;
        for (size_t i = 0; busy && i < n_sides; i++) {
                if (i > 0)
                        buffer_append_text(line, ARROW);
                append_disk(line, &sides[i]);
        }
}

static int print_second(const Lines *lines, const char *label, const HostSide sides[],
                        size_t n_sides) {
        static const Item used = { memory_used, 0, "memory ", "", compact_append_bytes, 1 };
        static const Item items[] = {
                { swap_used, LEAST_SHARE, "swap ", " full", compact_append_percent, 100 },
                { swapped_in, 1, "swap in ", "/s", compact_append_bytes, 1 },
                { swapped_out, 1, "swap out ", "/s", compact_append_bytes, 1 },
                { received, LEAST_NETWORK, "network in ", "/s", compact_append_bytes, 1 },
                { sent, LEAST_NETWORK, "network out ", "/s", compact_append_bytes, 1 },
                { retransmits, 0.01, "", " TCP retransmits/s", compact_append_count, 1 },
                { listen_drops, 0.001, "", " listen drops/s", compact_append_count, 1 },
        };
        double total = amount_of(memory_of(&sides[n_sides - 1]), "totalBytes");
        _cleanup_(buffer_done) Buffer line = {};
        size_t n;

        append_disks(&line, sides, n_sides);
        n = line.n;
        append_item(&line, &used, sides, n_sides);
        if (line.n > n && total > 0) {
                buffer_append_text(&line, " of ");
                compact_append_bytes(&line, total);
        }
        for (size_t i = 0; i < ELEMENTSOF(items); i++)
                append_item(&line, &items[i], sides, n_sides);
        return line.n > 0 ? lines_print_buffer(lines, label, &line) : 0;
}

int host_lines_print(const Lines *lines, const HostSide sides[], size_t n_sides) {
        bool has_host = false, has_coverage = false;
        int r;

        for (size_t i = 0; i < n_sides; i++) {
                has_host = has_host || sides[i].host;
                has_coverage = has_coverage || sides[i].coverage;
        }
        if (!has_host && !has_coverage)
                return 0;
        r = print_first(lines, sides, n_sides);
        return r < 0 ? r : print_second(lines, "", sides, n_sides);
}
