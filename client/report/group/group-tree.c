/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/group/group-tree.h"

#include <errno.h>
#include <stdlib.h>

#include "render/cell.h"

int group_tree_add(GroupTree *tree, json_object *group) {
        if (tree->n == tree->n_allocated) {
                size_t n = tree->n > 0 ? 2 * tree->n : 64;
                json_object **groups = reallocarray(tree->groups, n, sizeof(*groups));

                if (!groups)
                        return -ENOMEM;
                tree->groups = groups;
                tree->n_allocated = n;
        }
        tree->groups[tree->n++] = json_object_get(group);
        return 0;
}

void group_tree_done(GroupTree *tree) {
        for (size_t i = 0; i < tree->n; i++)
                (void) json_object_put(tree->groups[i]);
        free(tree->groups);
        *tree = (GroupTree){};
}

/* A group with the places of its branches. */
typedef struct Leaf {
        json_object *group;
        Span cgroup, process;
        size_t at, process_at, cgroup_at;
} Leaf;

static int compare_branches(const void *a, const void *b) {
        const Leaf *x = a, *y = b;
        int r = span_compare(x->cgroup, y->cgroup);

        if (r == 0)
                r = span_compare(x->process, y->process);
        return r != 0 ? r : (x->at > y->at) - (x->at < y->at);
}

static int compare_places(const void *a, const void *b) {
        const Leaf *x = a, *y = b;

        if (x->cgroup_at != y->cgroup_at)
                return x->cgroup_at < y->cgroup_at ? -1 : 1;
        if (x->process_at != y->process_at)
                return x->process_at < y->process_at ? -1 : 1;
        return (x->at > y->at) - (x->at < y->at);
}

/* A branch gets the place of its first group. */
static void place(Leaf *leaves, size_t n) {
        qsort(leaves, n, sizeof(*leaves), compare_branches);
        for (size_t begin = 0, end; begin < n; begin = end) {
                size_t first = SIZE_MAX;

                for (end = begin; end < n && span_equal(leaves[end].cgroup, leaves[begin].cgroup);
                     end++) {
                        first = MIN_OF(first, leaves[end].at);
                        /* Groups of one process are in order already. */
                        leaves[end].process_at = end > begin && span_equal(leaves[end].process,
                                                                           leaves[end - 1].process)
                                                         ? leaves[end - 1].process_at
                                                         : leaves[end].at;
                }
                for (size_t i = begin; i < end; i++)
                        leaves[i].cgroup_at = first;
        }
        qsort(leaves, n, sizeof(*leaves), compare_places);
}

/* The threads of one process, from @begin to @end. */
static void add_process(GroupTable *table, const Leaf *leaves, size_t begin, size_t end,
                        bool last) {
        group_table_add_heading(table, last ? "\u2514\u2500" : "\u251c\u2500",
                                cell_member(leaves[begin].group, "process"));
        for (size_t i = begin; i < end; i++) {
                bool last_thread = i + 1 == end;
                const GroupBranch branch = {
                        .first = last          ? last_thread ? "  \u2514\u2500" : "  \u251c\u2500"
                                 : last_thread ? "\u2502 \u2514\u2500"
                                               : "\u2502 \u251c\u2500",
                        .next = last          ? last_thread ? "    " : "  \u2502 "
                                : last_thread ? "\u2502   "
                                              : "\u2502 \u2502 ",
                };

                group_table_add_branch(table, leaves[i].group, &branch);
        }
}

int group_tree_print(const GroupTree *tree, GroupTable *table) {
        _cleanup_(freep) Leaf *leaves = calloc(tree->n > 0 ? tree->n : 1, sizeof(*leaves));

        if (!leaves)
                return -ENOMEM;
        for (size_t i = 0; i < tree->n; i++)
                leaves[i] = (Leaf){
                        .group = tree->groups[i],
                        .cgroup = cell_string(cell_member(tree->groups[i], "cgroup")),
                        .process = cell_string(cell_member(tree->groups[i], "process")),
                        .at = i,
                };
        place(leaves, tree->n);
        for (size_t begin = 0, end; begin < tree->n; begin = end) {
                bool last;

                if (begin == 0 || leaves[begin].cgroup_at != leaves[begin - 1].cgroup_at)
                        group_table_add_heading(table, "",
                                                cell_member(leaves[begin].group, "cgroup"));
                for (end = begin;
                     end < tree->n && leaves[end].process_at == leaves[begin].process_at;)
                        end++;
                last = end == tree->n || leaves[end].cgroup_at != leaves[begin].cgroup_at;
                add_process(table, leaves, begin, end, last);
        }
        return 0;
}
