/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/host-view.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "analysis/subject/host-change.h"

#define HUNDREDTHS 100.0

/* for the accounts of groups */

static Amount kib_of(const HostTotals *totals, const char *name) {
        Amount kib = host_totals_number(totals, HOST_PART_MEMORY, name);

        return host_value_of_unit(totals, HOST_UNIT_KIB, kib);
}

HostUse host_use_of(const HostTotals *before, const HostTotals *after,
                    const HostTotals *difference) {
        const HostTotals *used = before ? difference : after;
        Amount cpu = host_cpu_time(used->parts[HOST_PART_CPU].all_cpus, HOST_CPU_TIME_USED);
        Amount read = host_totals_sum(used, HOST_PART_DISK, HOST_DISK_READ_SECTORS);
        Amount written = host_totals_sum(used, HOST_PART_DISK, HOST_DISK_WRITTEN_SECTORS);
        size_t n_cpus = after->parts[HOST_PART_CPU].n_items;
        const HostTotals *const both[SIDES] = { before, after };
        Amount dirty[SIDES] = {};

        /* Memory that is to be written, or is being written and not counted by the disk yet. */
        for (unsigned i = 0; i < SIDES; i++) {
                if (!both[i])
                        continue;
                dirty[i] = kib_of(both[i], "Dirty");
                if (dirty[i].known)
                        dirty[i] = amount_add_known(dirty[i], kib_of(both[i], "Writeback"));
        }
        return (HostUse){
                .n_cpus = n_cpus > 0 ? amount_of(n_cpus) : (Amount){ .known = false },
                .memory_bytes = kib_of(after, "MemTotal"),
                .cpu_used_ns = host_value_of_unit(used, HOST_UNIT_TICKS, cpu),
                .disk_read_bytes = host_value_of_unit(used, HOST_UNIT_SECTORS, read),
                .disk_written_bytes = host_value_of_unit(used, HOST_UNIT_SECTORS, written),
                .dirty_growth_bytes =
                        before ? amount_subtract(dirty[SIDE_AFTER], dirty[SIDE_BEFORE])
                               : dirty[SIDE_AFTER],
        };
}

int subject_host_use(Subject *before, Subject *after, Subject **ret_culprit, HostUse *ret,
                     HostTotals *ret_difference) {
        HostTotals earlier = {}, later = {}, difference = {};
        _cleanup_(buffer_done) Buffer text = {};
        bool found;
        uint64_t n;
        int r;

        *ret_culprit = after;
        r = subject_host_totals(after, &later);
        if (r == 0 && before) {
                *ret_culprit = before;
                r = subject_host_totals(before, &earlier);
        }
        if (r == 0 && before)
                r = host_totals_difference(&earlier, &later, &difference);
        if (r == 0)
                *ret = host_use_of(before ? &earlier : NULL, &later, &difference);
        if (r == 0 && !ret->n_cpus.known) {
                /*
                 * Every version records the number of CPUs in the host context. A broken context is
                 * no error here: the callers that need the context complain.
                 */
                r = host_context_find(buffer_span(&after->host), "online_cpus", &text, &found);
                if (r == 0 && found && number_parse_u64(buffer_span(&text), &n) && n > 0)
                        ret->n_cpus = amount_of(n);
        }
        host_totals_done(&earlier);
        host_totals_done(&later);
        if (ret_difference)
                *ret_difference = TAKE(difference, (HostTotals){});
        host_totals_done(&difference);
        return r;
}

/* for the reader */

int subject_host_view(Subject *before, Subject *after, Subject **ret_culprit, HostView *view) {
        Subject *const subjects[SIDES] = { before, after };
        int r = 0;

        for (unsigned i = 0; i < SIDES && r == 0; i++) {
                SnapshotFault *fault = &subjects[i]->fault;
                char complaint[MEMBER_COMPLAINT_BYTES] = "";

                *ret_culprit = subjects[i];
                if (subjects[i]->psi.n == 0)
                        continue;
                r = member_scan_text(buffer_span(&subjects[i]->psi), pressure_scan_member,
                                     &(PressureScan){ .record = &view->pressure[i] }, complaint);
                if (r != JSON_E_MALFORMED)
                        continue;
                *fault = (SnapshotFault){};
                (void) snprintf(fault->text, sizeof(fault->text), "its pressure of the host: %s",
                                complaint);
                r = SUBJECT_E_UNREADABLE;
        }
        if (after->head.has_page_size)
                view->page_bytes = amount_of(after->head.page_size);
        return r;
}

/* numbers */

static Amount column(const HostView *view, HostPartId part, const Amount *counts, unsigned id) {
        return host_value_of_unit(&view->difference, host_parts[part].columns[id].unit, counts[id]);
}

static Amount pages_bytes(const HostView *view, const char *name) {
        Amount pages = host_totals_number(&view->difference, HOST_PART_MEMORY, name);

        if (!pages.known || !view->page_bytes.known)
                return (Amount){ .known = false };
        return amount_of(number_multiply_saturating(pages.n, view->page_bytes.n));
}

/* writing */

static void write_cpu_times(const HostView *view, const Amount *cpu, JsonWriter *writer) {
        static const struct {
                const char *key;
                unsigned column;
        } rows[] = {
                { "idleNs", HOST_CPU_IDLE },   { "iowaitNs", HOST_CPU_IOWAIT },
                { "irqNs", HOST_CPU_IRQ },     { "softirqNs", HOST_CPU_SOFTIRQ },
                { "stealNs", HOST_CPU_STEAL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                amount_write_json(writer, rows[i].key,
                                  column(view, HOST_PART_CPU, cpu, rows[i].column));
}

static void write_cpus(const HostView *view, JsonWriter *writer) {
        const HostTotals *host = &view->difference;
        const HostPart *part = &host->parts[HOST_PART_CPU];

        if (!part->has) {
                json_write_member_null(writer, "perCpu");
                return;
        }
        json_write_key(writer, "perCpu");
        json_write_array(writer);
        for (size_t i = 0; i < MIN_OF(part->n_items, (size_t) HOST_VIEW_MAX_CPUS); i++) {
                const HostItem *cpu = &part->items[i];
                Amount used = host_cpu_time(cpu->counts, HOST_CPU_TIME_USED);
                uint64_t id;

                if (!number_parse_u64(span_of(cpu->name), &id))
                        continue;
                json_write_object(writer);
                json_write_member_u64(writer, "cpu", id);
                amount_write_json(writer, "usedNs",
                                  host_value_of_unit(host, HOST_UNIT_TICKS, used));
                write_cpu_times(view, cpu->counts, writer);
                json_write_end(writer);
        }
        json_write_end(writer);
}

Amount host_view_stalled_ns(const HostView *view, unsigned resource, unsigned half) {
        Reading usec = reading_delta(
                view->pressure[SIDE_BEFORE].values[resource][half][PRESSURE_VALUE_TOTAL],
                view->pressure[SIDE_AFTER].values[resource][half][PRESSURE_VALUE_TOTAL]);

        if (usec.state != READING_NUMBER || usec.negative)
                return (Amount){ .known = false };
        return amount_of(number_multiply_saturating(usec.magnitude, NSEC_PER_USEC));
}

static void write_pressure(const HostView *view, JsonWriter *writer) {
        static const struct {
                const char *key;
                unsigned resource;
        } rows[] = {
                { "cpu", PRESSURE_RESOURCE_CPU },
                { "memory", PRESSURE_RESOURCE_MEMORY },
                { "io", PRESSURE_RESOURCE_IO },
        };

        json_write_key(writer, "pressure");
        json_write_object(writer);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Amount some = host_view_stalled_ns(view, rows[i].resource, PRESSURE_HALF_SOME);
                Amount full = host_view_stalled_ns(view, rows[i].resource, PRESSURE_HALF_FULL);

                json_write_key(writer, rows[i].key);
                if (!some.known && !full.known) {
                        json_write_null(writer);
                        continue;
                }
                json_write_object(writer);
                amount_write_json(writer, "someNs", some);
                amount_write_json(writer, "fullNs", full);
                json_write_end(writer);
        }
        json_write_end(writer);
}

/*
 * Writes whole disks; the kind of a disk may not be known, and then it is better shown than not.
 *
 * Requests are those that read and write, and so is the time that they took: flushes and discards
 * would make an average of unlike things. iostat(1) has the same as r_await and w_await; its await
 * counts discards, too, and so is lower by some percent on a disk that is trimmed all the time.
 * The kernel counts a flush that a file system asked for as a write once its data, if any, and the
 * flush are done, and the flushes that it made of several of these by themselves.
 */
static void write_disks(const HostView *view, JsonWriter *writer) {
        const HostPart *part = &view->difference.parts[HOST_PART_DISK];
        size_t n = 0;

        if (!part->has) {
                json_write_member_null(writer, "disks");
                return;
        }
        json_write_key(writer, "disks");
        json_write_array(writer);
        for (size_t i = 0; i < part->n_items && n < HOST_VIEW_MAX_DISKS; i++) {
                const HostItem *disk = &part->items[i];
                const Amount *counts;

                if (disk->kind != HOST_KIND_UNKNOWN && !host_kinds[disk->kind].is_whole)
                        continue;
                n++;
                counts = disk->counts;
                json_write_object(writer);
                json_write_member_text(writer, "name", disk->name);
                amount_write_json(writer, "busyNs",
                                  column(view, HOST_PART_DISK, counts, HOST_DISK_BUSY_MS));
                amount_write_json(writer, "readBytes",
                                  column(view, HOST_PART_DISK, counts, HOST_DISK_READ_SECTORS));
                amount_write_json(writer, "writeBytes",
                                  column(view, HOST_PART_DISK, counts, HOST_DISK_WRITTEN_SECTORS));
                amount_write_json(
                        writer, "requests",
                        amount_add(column(view, HOST_PART_DISK, counts, HOST_DISK_READS),
                                   column(view, HOST_PART_DISK, counts, HOST_DISK_WRITES)));
                amount_write_json(
                        writer, "requestNs",
                        amount_add(column(view, HOST_PART_DISK, counts, HOST_DISK_READ_MS),
                                   column(view, HOST_PART_DISK, counts, HOST_DISK_WRITE_MS)));
                json_write_end(writer);
        }
        json_write_end(writer);
}

void host_view_write_json(const HostView *view, JsonWriter *writer) {
        static const struct {
                const char *key, *name;
        } numbers[] = {
                { "processesCreated", "processes" },
                { "contextSwitches", "ctxt" },
                { "interrupts", "intr" },
                { "running", "procs_running" },
                { "blocked", "procs_blocked" },
        };
        const HostTotals *host = &view->difference;
        const Amount *all = host->parts[HOST_PART_CPU].all_cpus;
        Amount used_ns =
                host_value_of_unit(host, HOST_UNIT_TICKS, host_cpu_time(all, HOST_CPU_TIME_USED));
        Amount load = host_totals_number(host, HOST_PART_CPU, "load1");

        json_write_object(writer);
        amount_write_json(writer, "cpus", view->n_cpus);
        amount_write_json(writer, "cpuUsedNs", used_ns);
        amount_write_json(writer, "userNs", column(view, HOST_PART_CPU, all, HOST_CPU_USER));
        amount_write_json(writer, "niceNs", column(view, HOST_PART_CPU, all, HOST_CPU_NICE));
        amount_write_json(writer, "systemNs", column(view, HOST_PART_CPU, all, HOST_CPU_SYSTEM));
        write_cpu_times(view, all, writer);
        write_cpus(view, writer);
        amount_write_json(writer, "waitingNs", view->waiting_ns);
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                amount_write_json(writer, numbers[i].key,
                                  host_totals_number(host, HOST_PART_CPU, numbers[i].name));
        json_write_key(writer, "load1");
        if (load.known)
                json_write_double(writer, (double) load.n / HUNDREDTHS);
        else
                json_write_null(writer);
        write_pressure(view, writer);
        write_disks(view, writer);
        if (host->parts[HOST_PART_MEMORY].has) {
                Amount total = kib_of(host, "MemTotal"), swap_total = kib_of(host, "SwapTotal");

                json_write_key(writer, "memory");
                json_write_object(writer);
                amount_write_json(writer, "usedBytes",
                                  amount_subtract(total, kib_of(host, "MemAvailable")));
                amount_write_json(writer, "totalBytes", total);
                amount_write_json(writer, "swapUsedBytes",
                                  amount_subtract(swap_total, kib_of(host, "SwapFree")));
                amount_write_json(writer, "swapTotalBytes", swap_total);
                amount_write_json(writer, "swapInBytes", pages_bytes(view, "pswpin"));
                amount_write_json(writer, "swapOutBytes", pages_bytes(view, "pswpout"));
                amount_write_json(writer, "dirtyBytes", kib_of(host, "Dirty"));
                json_write_end(writer);
        } else {
                json_write_member_null(writer, "memory");
        }
        if (host->parts[HOST_PART_NETWORK].has) {
                /* The kernel counts both in bytes. */
                Amount received = host_totals_sum(host, HOST_PART_NETWORK, HOST_NETWORK_RX_BYTES);
                Amount sent = host_totals_sum(host, HOST_PART_NETWORK, HOST_NETWORK_TX_BYTES);

                json_write_key(writer, "network");
                json_write_object(writer);
                amount_write_json(writer, "receivedBytes", received);
                amount_write_json(writer, "sentBytes", sent);
                amount_write_json(writer, "tcpRetransmits",
                                  host_totals_number(host, HOST_PART_NETWORK, "TcpRetransSegs"));
                amount_write_json(writer, "listenDrops",
                                  host_totals_number(host, HOST_PART_NETWORK, "TcpExtListenDrops"));
                json_write_end(writer);
        } else {
                json_write_member_null(writer, "network");
        }
        amount_write_json(writer, "oomKills",
                          host_totals_number(host, HOST_PART_MEMORY, "oom_kill"));
        json_write_end(writer);
}
