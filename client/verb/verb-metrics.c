/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "render/cell.h"
#include "report/metrics-page.h"
#include "session/complain.h"
#include "session/output.h"
#include "session/snapshot-call.h"
#include "verb/verb.h"
#include "verb/verb-view.h"

#define DEFAULT_TOP 50
#define MAX_TOP 10000

/* A group that fell out of the first ones stays for as long. */
#define KEPT_NS (3600 * NSEC_PER_SEC)

static const char *name_of(const OwnCapture *capture) {
        return json_object_get_string(cell_member(capture->head, "name"));
}

static int add_interval(Session *session, MetricsPage *page, const OwnCapture *before,
                        const OwnCapture *after) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        int r;

        r = group_view_new(
                &(GroupForm){ .session = session, .kind = REPORT_INTERVAL, .metrics = page },
                &view);
        return r == 0 ? show_between(session, view, name_of(before), name_of(after)) : r;
}

/*
 * The last interval, after those that ended within an hour before its end. What is remembered of
 * them is in the spool, so nothing else is kept from run to run.
 */
static int add_intervals(Session *session, MetricsPage *page, const OwnCaptures *captures,
                         Options *options) {
        const OwnCapture *all = captures->all;
        size_t last = captures->n - 1;
        int r = 0;

        for (size_t i = 1; r == 0 && i < last; i++)
                if (own_captures_share_boot(&all[i - 1], &all[last]) &&
                    own_captures_share_boot(&all[i], &all[last]) &&
                    all[last].start_boottime_ns - all[i].start_boottime_ns <= KEPT_NS)
                        r = add_interval(session, page, &all[i - 1], &all[i]);
        metrics_page_begin_last(page);
        options->view.limit = 0; /* "other" is of all the rest */
        if (r == 0 && last > 0 && own_captures_share_boot(&all[last - 1], &all[last]))
                r = add_interval(session, page, &all[last - 1], &all[last]);
        return r;
}

static int check(const Session *session, uint32_t top) {
        ViewAxis axis = session->options->view.axis;

        if (session_has_json(session))
                return complain(STATUS_USAGE,
                                "What \"metrics\" prints has a form of its own: \"show "
                                "latest~1..latest --json\" has the same and more.");
        if (axis == VIEW_AXIS_THREAD)
                return complain(STATUS_USAGE,
                                "A series for each thread would have no end: group by another axis "
                                "than thread.");
        if (top == 0 || top > MAX_TOP)
                return complain(STATUS_USAGE, "--top of \"metrics\" is from 1 to %d.", MAX_TOP);
        return 0;
}

static int write_page(Session *session, const MetricsPage *page, const OwnCaptures *captures) {
        json_object *head = captures->n > 0 ? captures->all[captures->n - 1].head : NULL;
        const char *path = session->options->output_path,
                   *axis = view_axis_name(session->options->view.axis);
        _cleanup_(output_freep) Output *output = NULL;
        bool is_file = path && strcmp(path, "-") != 0;
        FILE *out = stdout;
        int r = 0;

        if (is_file)
                r = output_open(path, OUTPUT_PUBLIC, &output);
        if (r == 0 && is_file)
                r = output_stream(output, "write the gauges", &out);
        if (r != 0)
                return r;
        metrics_page_write(page, head, axis, out);
        return is_file ? output_publish(output) : 0;
}

int verb_metrics(Session *session) {
        _cleanup_(metrics_page_freep) MetricsPage *page = NULL;
        _cleanup_(own_captures_done) OwnCaptures captures = {};
        const Options *given = session->options;
        Options options = *given;
        int r;

        if (!options_have(given, OPTION_TOP))
                options.view.limit = DEFAULT_TOP;
        options.given |= OPTION_BIT(TOP);
        metrics_page_choose(&options.view);
        r = check(session, options.view.limit);
        if (r != 0)
                return r;
        if (metrics_page_new(options.view.limit, &page) < 0)
                return complain_errno(-ENOMEM, "prepare the output");
        session->options = &options;
        r = own_captures_list(session, &captures);
        if (r == 0 && captures.n > 0)
                r = add_intervals(session, page, &captures, &options);
        if (r == 0)
                r = write_page(session, page, &captures);
        session->options = given;
        return r;
}
