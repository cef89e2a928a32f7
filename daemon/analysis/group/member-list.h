/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemberList
 *
 * The distinct names behind a pattern, with how many threads bear each. Bounded: the first so many
 * names that come are listed, threads of further ones only counted, so that the counts always add
 * up to the threads that were added.
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
        uint64_t n_omitted; /* threads of names that are not listed */
} MemberList;

void member_list_done(MemberList *list);
/* One thread of that name. */
_must_check_ int member_list_add(MemberList *list, Span name);
/* All threads of @from, which is left as it is. */
_must_check_ int member_list_merge(MemberList *list, const MemberList *from);
/* Most threads first, then bytewise. */
void member_list_sort(MemberList *list);
/* The members "members" and, when there are any, "membersOmitted" of an open object. */
void member_list_write_json(JsonWriter *writer, const MemberList *list);
