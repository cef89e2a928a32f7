/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionFeed
 *
 * Passes what an analysis reads on to the sections, under the same keys as groups of threads.
 * Patterns of cgroups are found among all cgroups, with threads of their own or without: the slice
 * of a pod has no threads, and its limits and its pressure are compared by its pattern.
 */

#include "base/macro.h"
#include "base/span.h"
#include "analysis/key/thread-key.h"
#include "view/view.h"
#include "analysis/section/sections.h"
#include "snapshot/thread-sample.h"
#include "analysis/subject/subject.h"

typedef struct SectionFeed {
        const View *view; /* borrowed */
        Sections *sections;
        KeyPart cgroups, processes;
        char boots[SECTION_SIDES][33]; /* of the heads; "" is not known */
        bool malformed; /* a record was malformed: see the complaint of the sections */
} SectionFeed;

/* @view outlives the feed. */
_must_check_ int section_feed_init(SectionFeed *feed, const View *view, unsigned n_sides);
void section_feed_done(SectionFeed *feed);

/*
 * All return 0 or a negative errno: -EBADMSG for a malformed record, so that visitors can pass it
 * on.
 */

/* Counts the names of a thread, in a first pass over all threads. */
_must_check_ int section_feed_census(SectionFeed *feed, const ThreadSample *sample);
/* Counts a cgroup, in the same pass. */
_must_check_ int section_feed_census_cgroup(SectionFeed *feed, Span path);
/* Takes what the head says of the capture, before the last pass. */
void section_feed_head(SectionFeed *feed, unsigned side, const Head *head);
/* Takes a thread of the last pass; @smaps_json is empty for most. */
_must_check_ int section_feed_thread(SectionFeed *feed, unsigned side, const ThreadSample *sample,
                                     Span smaps_json);
_must_check_ int section_feed_cgroup(SectionFeed *feed, unsigned side, Span path, Span stats_json);
/*
 * Takes the parts of @subject that concern the whole host, after a pass. @subject outlives the
 * output.
 */
_must_check_ int section_feed_subject(SectionFeed *feed, unsigned side, const Subject *subject);
/* Call last. @old_name_of: as in sections_rename(). */
_must_check_ int section_feed_finish(SectionFeed *feed, KeyOfName old_name_of, void *userdata);
