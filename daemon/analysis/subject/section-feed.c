/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/section-feed.h"

#include <errno.h>
#include <string.h>
#include "base/err.h"
#include "metric/choice.h"
#include "analysis/key/thread-group.h"

int section_feed_init(SectionFeed *feed, const View *view, unsigned n_sides) {
        *feed = (SectionFeed){ .view = view };
        key_part_init(&feed->cgroups, KEY_PART_CGROUP, view, view->cgroup_normalize);
        key_part_init(&feed->processes, KEY_PART_PROCESS, view, view->thread_normalize);
        return err_fold(sections_new(view, n_sides, &feed->sections));
}

void section_feed_done(SectionFeed *feed) {
        key_part_done(&feed->cgroups);
        key_part_done(&feed->processes);
        feed->sections = sections_free(feed->sections);
}

static int settle(SectionFeed *feed, int r) {
        if (r != SECTIONS_E_MALFORMED)
                return err_fold(r);
        feed->malformed = true;
        return -EBADMSG;
}

int section_feed_census(SectionFeed *feed, const ThreadSample *sample) {
        if (thread_is_left_out(feed->view, sample) || !feed->sections->wants_cgroups)
                return 0;
        return key_part_census(&feed->cgroups, sample->cgroup);
}

int section_feed_census_cgroup(SectionFeed *feed, Span path) {
        return feed->sections->wants_cgroups ? key_part_census(&feed->cgroups, path) : 0;
}

void section_feed_head(SectionFeed *feed, unsigned side, const Head *head) {
        Sections *sections = feed->sections;

        if (head->has_user_hz)
                sections->totals[side].user_hz = head->user_hz;
        memcpy(feed->boots[side], head->boot_id, sizeof(feed->boots[side]));
        sections->same_boot =
                feed->boots[0][0] != '\0' && strcmp(feed->boots[0], feed->boots[1]) == 0;
        if (head->has_smaps_max_rss &&
            span_is(span_of(head->smaps_mode), smaps_mode_names[SMAPS_MODE_SMALL])) {
                sections->smaps_max_rss_bytes[side] = head->smaps_max_rss_bytes;
                sections->smaps_max_processes[side] = head->smaps_max_processes;
        }
}

int section_feed_thread(SectionFeed *feed, unsigned side, const ThreadSample *sample,
                        Span smaps_json) {
        int r;

        if (thread_is_left_out(feed->view, sample) ||
            !view_wants_table(&feed->sections->view, SECTION_SMAPS_ROLLUP))
                return 0;
        /* Memory maps are kept by their literal names until all names were counted. */
        r = key_part_census(&feed->processes, sample->pcomm);
        if (r == 0)
                r = sections_add_memory(feed->sections, side, sample, smaps_json.n > 0);
        if (r != 0 || smaps_json.n == 0)
                return r;
        return settle(feed, sections_add_smaps(feed->sections, side, sample->pcomm, smaps_json));
}

int section_feed_cgroup(SectionFeed *feed, unsigned side, Span path, Span stats_json) {
        Span key;
        int r;

        if (!feed->sections->wants_cgroups)
                return 0;
        r = key_part_make(&feed->cgroups, path, &key);
        if (r != 0)
                return r;
        return settle(feed, sections_add_cgroup(feed->sections, side, key, stats_json));
}

int section_feed_subject(SectionFeed *feed, unsigned side, const Subject *subject) {
        int r = 0;

        if (subject->has_sources)
                feed->sections->sources[side] = &subject->sources;
        if (subject->psi.n > 0)
                r = sections_add_of_host(feed->sections, side, SECTION_HOST_PRESSURE,
                                         buffer_span(&subject->psi));
        for (unsigned part = 0; r == 0 && part < _HOST_PART_MAX; part++)
                r = sections_add_of_host(feed->sections, side, SECTION_HOST_CPU + part,
                                         buffer_span(&subject->host_parts[part]));
        if (r == 0 && subject->sched_ext.n > 0)
                r = sections_add_of_host(feed->sections, side, SECTION_SCHED_EXT,
                                         buffer_span(&subject->sched_ext));
        return settle(feed, r);
}

static int key_of_process(void *userdata, Span name, Span *ret) {
        return key_part_make(&((SectionFeed *) userdata)->processes, name, ret);
}

int section_feed_finish(SectionFeed *feed, KeyOfName old_name_of, void *userdata) {
        int r = sections_rename(feed->sections, old_name_of, userdata);

        return r != 0 ? r : err_fold(sections_finish(feed->sections, key_of_process, feed));
}
