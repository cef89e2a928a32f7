/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/smaps.h"

#include <stdlib.h>

#include "base/number.h"

static const MetricId counted[] = {
        METRIC_rss_anon_bytes,
        METRIC_rss_file_bytes,
        METRIC_rss_shmem_bytes,
        METRIC_swap_bytes,
};
#define N_RESIDENT 3 /* the first of them */

static void entry_done(void *payload) {
        SmapsEntry *entry = payload;

        count_map_done(&entry->sides[0]);
        count_map_done(&entry->sides[1]);
}

void smaps_done(Smaps *smaps) {
        free(smaps->list);
        smaps->list = NULL;
        smaps->n_listed = 0;
        key_tree_done(&smaps->processes, entry_done);
}

bool smaps_is_counted(Span key) {
        for (size_t i = 0; i < ELEMENTSOF(counted); i++)
                if (span_is(key, metric_table[counted[i]].name))
                        return true;
        return false;
}

static int add_map(KeyTree *processes, unsigned side, Span key, const CountMap *map,
                   const SmapsCount *count) {
        SmapsCount *sum;
        KeyNode *node;
        int r;

        r = key_tree_put(processes, sizeof(SmapsEntry), key, &node);
        if (r != 0)
                return r;
        sum = &smaps_entry(node)->counts[side];
        sum->n_counted += count->n_counted;
        sum->n_rolled_up += count->n_rolled_up;
        sum->n_unasked += count->n_unasked;
        sum->n_left_out += count->n_left_out;
        sum->left_out_bytes = number_add_saturating(sum->left_out_bytes, count->left_out_bytes);
        return count_map_merge(&smaps_entry(node)->sides[side], map, NULL);
}

int smaps_add(Smaps *smaps, unsigned side, Span process, Span json, KeyTree *names,
              char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        static const SmapsCount one = { .n_rolled_up = 1 };
        _cleanup_(count_map_done) CountMap map = {};
        int r;

        r = count_map_scan_text(&map, json, names, 1024, ret_complaint);
        return r == 0 ? add_map(&smaps->processes, side, process, &map, &one) : r;
}

static int put_count(CountMap *map, Span key, KeyTree *names, Count **ret) {
        KeyNode *name;
        int r = key_tree_put(names, 0, key, &name);

        return r == 0 ? count_map_put(map, name, ret) : r;
}

int smaps_add_counts(Smaps *smaps, unsigned side, const ThreadSample *sample, SmapsGap gap,
                     KeyTree *names) {
        SmapsCount one = { .n_counted = 1,
                           .n_left_out = gap == SMAPS_GAP_SIZE,
                           .n_unasked = gap == SMAPS_GAP_UNASKED };
        _cleanup_(count_map_done) CountMap map = {};

        for (size_t i = 0; i < ELEMENTSOF(counted); i++) {
                Count *count;
                int r;

                if (!thread_sample_has(sample, counted[i]))
                        continue;
                r = put_count(&map, span_of(metric_table[counted[i]].name), names, &count);
                if (r != 0)
                        return r;
                count->value = thread_sample_get(sample, counted[i]);
        }
        if (map.n == 0)
                return 0;
        if (gap == SMAPS_GAP_SIZE)
                (void) thread_sample_memory(sample, &one.left_out_bytes);
        return add_map(&smaps->processes, side, sample->pcomm, &map, &one);
}

int smaps_regroup(Smaps *smaps, KeyOfName key_of, void *userdata) {
        Smaps regrouped = {};
        Span key;
        int r = 0;

        for (KeyNode *node = smaps->processes.first; node && r == 0; node = node->next) {
                r = key_of(userdata, node->key, &key);
                for (unsigned side = 0; side < 2 && r == 0; side++)
                        if (smaps_entry(node)->sides[side].n > 0)
                                r = add_map(&regrouped.processes, side, key,
                                            &smaps_entry(node)->sides[side],
                                            &smaps_entry(node)->counts[side]);
        }
        if (r != 0) {
                smaps_done(&regrouped);
                return r;
        }
        smaps_done(smaps);
        *smaps = regrouped;
        return 0;
}

static uint64_t resident_bytes(const CountMap *map) {
        uint64_t sum = 0;

        for (size_t i = 0; i < N_RESIDENT; i++) {
                Reading part = count_map_get(map, span_of(metric_table[counted[i]].name));

                if (part.state != READING_NUMBER)
                        return count_map_get(map, SPAN_LITERAL("Rss")).magnitude;
                sum = number_add_saturating(sum, part.magnitude);
        }
        return sum;
}

static int compare_entries(const void *a, const void *b) {
        KeyNode *const *left = a, *const *right = b;
        const SmapsEntry *x = smaps_entry(*left), *y = smaps_entry(*right);

        for (size_t i = 0; i < ELEMENTSOF(x->rank); i++)
                if (x->rank[i] != y->rank[i])
                        return x->rank[i] > y->rank[i] ? -1 : 1;
        return key_node_compare(a, b);
}

int smaps_order(Smaps *smaps, unsigned n_sides, KeyTree *names) {
        for (KeyNode *node = smaps->processes.first; node; node = node->next) {
                SmapsEntry *entry = smaps_entry(node);
                uint64_t rss, other;

                for (unsigned side = 0; side < 2; side++) {
                        const SmapsCount *count = &entry->counts[side];
                        bool lacks_some = count->n_left_out + count->n_unasked > 0;
                        CountMap *map = &entry->sides[side];
                        Count *pss;
                        int r;

                        for (size_t i = 0; lacks_some && i < map->n; i++) {
                                if (smaps_is_counted(map->counts[i].name->key))
                                        continue;
                                map->counts[i].absent = true;
                                map->counts[i].value = 0;
                        }
                        if (count->n_counted == 0 || count->n_rolled_up > 0)
                                continue;
                        r = put_count(map, SPAN_LITERAL("Pss"), names, &pss);
                        if (r != 0)
                                return r;
                        pss->absent = true;
                }
                rss = resident_bytes(&entry->sides[0]);
                if (n_sides == 1) {
                        entry->rank[0] = rss;
                        entry->rank[1] =
                                count_map_get(&entry->sides[0], SPAN_LITERAL("Pss")).magnitude;
                        continue;
                }
                other = resident_bytes(&entry->sides[1]);
                entry->rank[1] = MAX_OF(rss, other);
                entry->rank[0] = entry->rank[1] - MIN_OF(rss, other);
        }
        free(TAKE_PTR(smaps->list));
        smaps->n_listed = smaps->processes.n;
        return key_tree_list(&smaps->processes, compare_entries, &smaps->list);
}
