/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/host-memory.h"

bool host_memory_wants(Span vmstat_key) {
        static const Span beginnings[] = {
                SPAN_LITERAL("pg"),
                SPAN_LITERAL("pswp"),
                SPAN_LITERAL("allocstall"),
                SPAN_LITERAL("workingset_"),
                SPAN_LITERAL("compact_"),
                SPAN_LITERAL("oom_kill"),
                SPAN_LITERAL("thp_"),
                SPAN_LITERAL("kswapd_"),
                SPAN_LITERAL("pageoutrun"),
                SPAN_LITERAL("slabs_scanned"),
                SPAN_LITERAL("zone_reclaim"),
                SPAN_LITERAL("drop_"),
                SPAN_LITERAL("swap_ra"),
                SPAN_LITERAL("swpin_"),
                SPAN_LITERAL("swpout_"),
                SPAN_LITERAL("zswp"),
                SPAN_LITERAL("numa_"),
                SPAN_LITERAL("nr_dirtied"),
                SPAN_LITERAL("nr_written"),
                SPAN_LITERAL("nr_vmscan_"),
                SPAN_LITERAL("nr_throttled_written"),
        };
        static const Span levels[] = { SPAN_LITERAL("workingset_nodes") };

        for (size_t i = 0; i < ELEMENTSOF(levels); i++)
                if (span_equal(vmstat_key, levels[i]))
                        return false;
        for (size_t i = 0; i < ELEMENTSOF(beginnings); i++)
                if (vmstat_key.n >= beginnings[i].n &&
                    memcmp(vmstat_key.bytes, beginnings[i].bytes, beginnings[i].n) == 0)
                        return true;
        return false;
}

static void write_map(JsonWriter *json, HostGroupId group, const NumberMap *map) {
        json_write_key(json, host_groups[group].member);
        number_map_write_json(json, map);
}

/* "MemTotal:  123 kB", "HugePages_Total:  0" */
static void write_meminfo(Span text, JsonWriter *json, HostFile *file) {
        Cursor lines = cursor_over(text);
        NumberMap kib, pages;
        Span key, value, number, unit;

        number_map_init(&kib);
        number_map_init(&pages);
        while (cursor_colon_pair(&lines, &key, &value)) {
                Cursor words = cursor_over(value);
                bool has_unit, is_good;

                (void) cursor_word(&words, &number); /* empty is no number */
                has_unit = cursor_word(&words, &unit);
                is_good = (!has_unit || span_is(unit, "kB")) &&
                          number_map_put(has_unit ? &kib : &pages, key, number);
                file->n_good += is_good;
                file->n_bad += !is_good;
        }
        file->n_bad += !cursor_is_at_end(&lines);
        write_map(json, HOST_GROUP_LEVELS_KIB, &kib);
        write_map(json, HOST_GROUP_LEVELS, &pages);
}

static void write_vmstat(Span text, JsonWriter *json, HostFile *file) {
        Cursor lines = cursor_over(text);
        NumberMap events;
        Span key, value;

        number_map_init(&events);
        while (cursor_flat_pair(&lines, &key, &value)) {
                bool is_good;

                if (!host_memory_wants(key))
                        continue;
                is_good = number_map_put(&events, key, value);
                file->n_good += is_good;
                file->n_bad += !is_good;
        }
        file->n_bad += !cursor_is_at_end(&lines);
        write_map(json, HOST_GROUP_COUNTS, &events);
}

void host_memory_read(int proc_fd, Buffer *text, JsonWriter *json,
                      uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        HostFile meminfo = {}, vmstat = {};
        Span content;
        int r;

        r = host_file_read(proc_fd, "meminfo", text, &content);
        write_meminfo(content, json, &meminfo);
        host_file_count(&meminfo, r, counts);
        r = host_file_read(proc_fd, "vmstat", text, &content);
        write_vmstat(content, json, &vmstat);
        host_file_count(&vmstat, r, counts);
}
