/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sections
 *
 * What show (one side) and compare (two) have besides groups of threads: records go in, rows come
 * out. Memory grows with the number of keys. The calls in their only order:
 *
 *     sections_new()
 *     sections_add_*()      whatever the sides have, sides in any order; what no section of the
 *                           view needs is taken and forgotten
 *     sections_finish()     once
 *     section_part_write()  (section-json.h) until it is done
 *
 * A section without data is left out as a whole; with data it may still have no rows, when the view
 * wants only what moved.
 */

#include "base/cleanup.h"
#include "interface/view.h"
#include "section/cgroup-record.h"
#include "section/sched-ext-record.h"
#include "section/smaps.h"

#define SECTION_SIDES 2

enum {
        SECTIONS_OK,
        SECTIONS_E_MALFORMED, /* sections_complaint() */
};

typedef struct CgroupEntry {
        CgroupRecord *sides[SECTION_SIDES]; /* owned; NULL: not on that side */
} CgroupEntry;

typedef struct Sections {
        View view;
        unsigned n_sides;
        KeyTree names;   /* keys of count maps, texts */
        KeyTree cgroups; /* of CgroupEntry */
        KeyNode **cgroup_list;
        Smaps smaps;
        PressureRecord host[SECTION_SIDES];
        SchedExtRecord sched_ext[SECTION_SIDES];
        bool shown[_SECTION_MAX]; /* after sections_finish(): wanted, and has data */
        char complaint[MEMBER_COMPLAINT_BYTES + 64];
} Sections;

/* @view is copied; @n_sides 1: show, 2: compare. */
_must_check_ int sections_new(const View *view, unsigned n_sides, Sections **ret);
Sections *sections_free(Sections *sections);
DEFINE_CLEANUP(Sections *, sections_free);

/* Some section needs what is added: a caller may spare itself the reading. */
bool sections_want_cgroups(const Sections *sections);
bool sections_want_smaps(const Sections *sections);

/* input: SECTIONS_E_MALFORMED when @json is not what a snapshot has there */

/* @key: of the cgroup, as groups have it. Records of one key and side are merged. */
_must_check_ int sections_add_cgroup(Sections *sections, unsigned side, Span key, Span json);
/* A process with its own name; sections_finish() puts it under a key. */
_must_check_ int sections_add_smaps(Sections *sections, unsigned side, Span process, Span json);
_must_check_ int sections_add_host_pressure(Sections *sections, unsigned side, Span json);
_must_check_ int sections_add_sched_ext(Sections *sections, unsigned side, Span json);
/* A sentence fragment without the name of the snapshot. */
const char *sections_complaint(const Sections *sections);

/* @key_of tells under which key a process's name comes; NULL: under itself. */
_must_check_ int sections_finish(Sections *sections, KeyOfName key_of, void *userdata);

static inline CgroupEntry *cgroup_entry(KeyNode *node) {
        return (CgroupEntry *) (void *) node->payload;
}
/* Whether the view wants a row of these numbers under a key that differs between kernels. */
bool sections_keep_count(const Sections *sections, const Reading sides[static SECTION_SIDES]);
