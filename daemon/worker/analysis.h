/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Analysis
 *
 * One call of Show or Compare: what to look at, and how far that is. Snapshots are opened, read as
 * often as the view needs, and answered about; whatever a visitor is told goes to the groups and to
 * the sections alike.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "analysis/compare/comparison.h"
#include "view/view.h"
#include "worker/section-feed.h"
#include "worker/subject.h"
#include "worker/work.h"

typedef struct Analysis Analysis;

/* Userdata of visitors, who have to know of whom they are told. */
typedef struct AnalysisSide {
        Analysis *analysis;
        Side side;
} AnalysisSide;

struct Analysis {
        Work *work; /* borrowed */
        View view;
        unsigned n_sides;
        Subject subjects[SIDES];
        ComparisonSetup setup;
        bool has_elapsed;
        bool elapsed_backwards;
        uint64_t elapsed_ns; /* a magnitude */
        Comparison *comparison;
        SectionFeed feed;
        Buffer name; /* of a cgroup before it was renamed */

        AnalysisSide sides[SIDES];
        uint64_t n_read;
        uint64_t n_total; /* 0: not known */
};

/*
 * Reads the opened subjects and finishes comparison and sections. 0, WORK_E_ANSWERED when a file
 * could not be read, or a negative errno.
 */
_must_check_ int analysis_read(Analysis *analysis);
