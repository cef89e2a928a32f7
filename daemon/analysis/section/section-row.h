/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionRow
 *
 * The rows of all sections, one after the other. A row tells what it is about and has the values.
 * All facts about a section are found by going through its rows: whether it has data, which of its
 * rows a view wants, which cgroups moved most, and what is written.
 *
 * Cgroups come in the order of their keys, pressure by resource first, then by the names of values;
 * processes come in the order of smaps_order(). Rows for which no side has data are left out:
 * cgroups without any limit, resources without any pressure.
 */

#include "analysis/section/section-model.h"

typedef struct SectionRow {
        size_t item;                 /* the number of the cgroup or process */
        KeyNode *node;               /* it; NULL: the row is about the host */
        const HostLine *line;        /* of a part of the host; NULL: of none */
        const char *resource, *half; /* of pressure; else NULL */
        const RecordField *fields;   /* of several values; NULL: there is one, or a text */
        Span key;                    /* the name of the only value */
        bool is_text;
        const KeyNode *texts[SECTION_SIDES]; /* NULL: not known */
        bool there[SECTION_SIDES];           /* what it is about is on that side */
        unsigned n_values;
        Reading values[CGROUP_FIELD_N_LIMITS][SECTION_SIDES]; /* as many as the longest list */
} SectionRow;

/* The place that the next row comes from. Zeroed: the first. */
typedef struct SectionCursor {
        SectionId section;
        size_t item;
        size_t position;
        CountWalk walk;
        uint64_t n_hidden; /* rows left out so far that the view does not want */
        uint64_t n_rows;   /* written so far */
} SectionCursor;

/* The next row of the cursor's section, whether or not the view wants it; false at the end. */
bool section_next_row(const Sections *sections, SectionCursor *cursor, SectionRow *ret);

/*
 * A section has data when it has rows. With one side some number in them must not be 0, where they
 * are about one number; with two sides some attribute of sched_ext must differ.
 */
bool section_has_data(const Sections *sections, SectionId id);
