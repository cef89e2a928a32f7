/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionFeed
 *
 * What the passes of an analysis hand out, on its way into the sections: under the keys that groups
 * of threads have. Which names are patterns is counted over threads alone, as it is for groups; so
 * a cgroup that never had a thread of its own, of which records tell, keeps its name unless it has
 * the skeleton of such.
 */

#include "base/macro.h"
#include "base/span.h"
#include "analysis/key/key-part.h"
#include "view/view.h"
#include "analysis/section/sections.h"
#include "snapshot/thread-sample.h"
#include "analysis/subject/subject.h"

typedef struct SectionFeed {
        const View *view; /* borrowed */
        Sections *sections;
        KeyPart cgroups, processes;
        ThreadSample stand_in; /* for a thread, where only a name is known */
        bool malformed;        /* a record was: sections_complaint() */
} SectionFeed;

/* @view outlives the feed. */
_must_check_ int section_feed_init(SectionFeed *feed, const View *view, unsigned n_sides);
void section_feed_done(SectionFeed *feed);

/*
 * All return 0 or a negative errno, which is -EBADMSG when a record is malformed, so that callbacks
 * of visitors can pass it on.
 */

/* A thread of the first of two passes. */
_must_check_ int section_feed_census(SectionFeed *feed, const ThreadSample *sample);
/* Of the last pass; @smaps_json is empty for most. */
_must_check_ int section_feed_thread(SectionFeed *feed, unsigned side, const ThreadSample *sample,
                                     Span smaps_json);
_must_check_ int section_feed_cgroup(SectionFeed *feed, unsigned side, Span path, Span stats_json);
/* What @subject has about the whole, after a pass; it outlives what is written. */
_must_check_ int section_feed_subject(SectionFeed *feed, unsigned side, const Subject *subject);
/* After all that; @old_name_of: as in sections_rename(). */
_must_check_ int section_feed_finish(SectionFeed *feed, KeyOfName old_name_of, void *userdata);
