/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/smaps.h"

#include <stdlib.h>

static void entry_done(void *payload) {
        SmapsEntry *entry = payload;

        count_map_done(&entry->sides[0]);
        count_map_done(&entry->sides[1]);
}

void smaps_init(Smaps *smaps) {
        *smaps = (Smaps){};
        key_tree_init(&smaps->processes, sizeof(SmapsEntry));
}

void smaps_done(Smaps *smaps) {
        free(smaps->list);
        smaps->list = NULL;
        smaps->n_listed = 0;
        key_tree_done(&smaps->processes, entry_done);
}

static ReadingMerge add_up(Span key) {
        return READING_MERGE_SUM;
}

static int add_map(KeyTree *processes, unsigned side, Span key, const CountMap *map) {
        KeyNode *node;
        int r;

        r = key_tree_put(processes, key, &node);
        if (r != 0)
                return r;
        smaps_entry(node)->has[side] = true;
        return count_map_merge(&smaps_entry(node)->sides[side], map, add_up);
}

int smaps_add(Smaps *smaps, unsigned side, Span process, Span json, KeyTree *names,
              char ret_complaint[static MEMBER_COMPLAINT_BYTES]) {
        _cleanup_(count_map_done) CountMap map = {};
        int r;

        r = count_map_scan_text(&map, json, names, 1024, ret_complaint);
        return r == 0 ? add_map(&smaps->processes, side, process, &map) : r;
}

int smaps_regroup(Smaps *smaps, KeyOfName key_of, void *userdata) {
        Smaps regrouped;
        Span key;
        int r = 0;

        smaps_init(&regrouped);
        for (KeyNode *node = smaps->processes.first; node && r == 0; node = node->next) {
                r = key_of(userdata, node->key, &key);
                for (unsigned side = 0; side < 2 && r == 0; side++)
                        if (smaps_entry(node)->has[side])
                                r = add_map(&regrouped.processes, side, key,
                                            &smaps_entry(node)->sides[side]);
        }
        if (r != 0) {
                smaps_done(&regrouped);
                return r;
        }
        smaps_done(smaps);
        *smaps = regrouped;
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        KeyNode *const *left = a, *const *right = b;
        const SmapsEntry *x = smaps_entry(*left), *y = smaps_entry(*right);

        for (size_t i = 0; i < ELEMENTSOF(x->rank); i++)
                if (x->rank[i] != y->rank[i])
                        return x->rank[i] > y->rank[i] ? -1 : 1;
        return key_node_compare(a, b);
}

int smaps_order(Smaps *smaps, unsigned n_sides) {
        for (KeyNode *node = smaps->processes.first; node; node = node->next) {
                SmapsEntry *entry = smaps_entry(node);
                uint64_t rss = count_map_get(&entry->sides[0], SPAN_LITERAL("Rss")).magnitude;
                uint64_t other;

                if (n_sides == 1) {
                        entry->rank[0] = rss;
                        entry->rank[1] =
                                count_map_get(&entry->sides[0], SPAN_LITERAL("Pss")).magnitude;
                        continue;
                }
                other = count_map_get(&entry->sides[1], SPAN_LITERAL("Rss")).magnitude;
                entry->rank[1] = MAX_OF(rss, other);
                entry->rank[0] = entry->rank[1] - MIN_OF(rss, other);
        }
        free(TAKE_PTR(smaps->list));
        smaps->n_listed = smaps->processes.n;
        return key_tree_list(&smaps->processes, compare_entries, &smaps->list);
}
