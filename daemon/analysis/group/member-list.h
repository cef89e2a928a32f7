/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemberList
 *
 * The distinct names behind a pattern, the commands behind a name, or the parents of what ended,
 * with the number of threads of each. The list is bounded: further names are not listed and their
 * threads only counted, so the counts always add up to all added threads.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"

#define MEMBER_LIST_MAX_NAMES 64

typedef struct Member {
        uint64_t n_threads;
        size_t n_name;
        char *name; /* owned, not terminated */
} Member;

typedef struct MemberList {
        Member *members; /* owned */
        size_t n_members;
        uint64_t n_omitted; /* threads with names beyond the limit */
} MemberList;

void member_list_done(MemberList *list);
/* Adds threads with that name. */
_must_check_ int member_list_add(MemberList *list, Span name, uint64_t n_threads);
/*
 * Adds threads that ended, modulo 2^64: some of them may have to be taken away again. A name that
 * is left without threads is none.
 */
_must_check_ int member_list_add_ended(MemberList *list, Span name, uint64_t n);
/* Adds all threads of @from, which does not change. */
_must_check_ int member_list_merge(MemberList *list, const MemberList *from);
/* Sorts by number of threads, largest first, then bytewise. */
void member_list_sort(MemberList *list);
/*
 * Writes the list as @key and, if there are any, @key "Omitted" into an open object; null if @list
 * is NULL.
 */
void member_list_write_json(JsonWriter *writer, const char *key, const MemberList *list);
