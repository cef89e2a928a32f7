/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/member-list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void member_list_done(MemberList *list) {
        for (size_t i = 0; i < list->n_members; i++)
                free(list->members[i].name);
        free(list->members);
        *list = (MemberList){ .members = NULL };
}

int member_list_add(MemberList *list, Span name, uint64_t n_threads) {
        size_t n = list->n_members;
        char *copy;

        /* Lists are short, and names of different length differ without a look at their bytes. */
        for (size_t i = 0; i < n; i++)
                if (span_equal((Span){ list->members[i].name, list->members[i].n_name }, name)) {
                        list->members[i].n_threads += n_threads;
                        return 0;
                }
        if (n == MEMBER_LIST_MAX_NAMES) {
                list->n_omitted += n_threads;
                return 0;
        }
        /* Grows when the number is a power of two: most lists have one name. */
        if ((n & (n - 1)) == 0) {
                Member *members = realloc(list->members, (n > 0 ? n * 2 : 1) * sizeof(*members));

                if (!members)
                        return -ENOMEM;
                list->members = members;
        }
        copy = malloc(name.n + 1); /* an empty name has memory, too */
        if (!copy)
                return -ENOMEM;
        if (name.n > 0)
                memcpy(copy, name.bytes, name.n);
        list->members[list->n_members++] =
                (Member){ .n_threads = n_threads, .n_name = name.n, .name = copy };
        return 0;
}

int member_list_add_ended(MemberList *list, Span name, uint64_t n) {
        return n == 0 ? 0 : member_list_add(list, name, n);
}

int member_list_merge(MemberList *list, const MemberList *from) {
        for (size_t i = 0; i < from->n_members; i++) {
                const Member *member = &from->members[i];
                int r = member_list_add(list, (Span){ member->name, member->n_name },
                                        member->n_threads);

                if (r != 0)
                        return r;
        }
        list->n_omitted += from->n_omitted;
        return 0;
}

static int by_threads(const void *a, const void *b) {
        const Member *left = a, *right = b;

        if (left->n_threads != right->n_threads)
                return left->n_threads < right->n_threads ? 1 : -1;
        return span_compare((Span){ left->name, left->n_name },
                            (Span){ right->name, right->n_name });
}

void member_list_sort(MemberList *list) {
        if (list->n_members > 1)
                qsort(list->members, list->n_members, sizeof(*list->members), by_threads);
}

#define KEY_BYTES 32

void member_list_write_json(JsonWriter *writer, const char *key, const MemberList *list) {
        char omitted[KEY_BYTES];

        json_write_key(writer, key);
        if (!list) {
                json_write_null(writer);
                return;
        }
        json_write_array(writer);
        for (size_t i = 0; i < list->n_members; i++) {
                const Member *member = &list->members[i];

                if ((int64_t) member->n_threads <= 0)
                        continue;
                json_write_object(writer);
                json_write_member_name(writer, "name", (Span){ member->name, member->n_name });
                json_write_member_u64(writer, "threads", member->n_threads);
                json_write_end(writer);
        }
        json_write_end(writer);
        (void) snprintf(omitted, sizeof(omitted), "%sOmitted", key);
        if ((int64_t) list->n_omitted > 0)
                json_write_member_u64(writer, omitted, list->n_omitted);
}
