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

/*
 * Writes the last interval, after the page was given the intervals that ended within an hour before
 * the end of the last one. All that is remembered of these earlier intervals is in the spool, so
 * nothing else is kept from run to run.
 */
int verb_metrics(Session *session) {
        _cleanup_(metrics_page_freep) MetricsPage *page = NULL;
        _cleanup_(own_captures_done) OwnCaptures captures = {};
        _cleanup_(output_freep) Output *output = NULL;
        const Options *given = session->options;
        const char *path = given->output_path;
        const OwnCapture *last;
        Options options = *given;
        FILE *out = stdout;
        int r;

        if (!options_have(given, OPTION_TOP))
                options.view.limit = DEFAULT_TOP;
        options.given |= OPTION_BIT(TOP);
        metrics_page_choose(&options.view);
        if (session->json != JSON_STYLE_OFF)
                return complain(STATUS_USAGE,
                                "What \"metrics\" prints has a form of its own: \"show "
                                "latest~1..latest --json\" has the same and more.");
        if (given->view.axis == VIEW_AXIS_THREAD)
                return complain(STATUS_USAGE,
                                "A series for each thread would have no end: group by another axis "
                                "than thread.");
        if (options.view.limit == 0 || options.view.limit > MAX_TOP)
                return complain(STATUS_USAGE, "--top of \"metrics\" is from 1 to %d.", MAX_TOP);
        if (metrics_page_new(options.view.limit, &page) < 0)
                return complain_errno(-ENOMEM, "prepare the output");

        session->options = &options;
        r = own_captures_list(session, &captures);
        last = r == 0 && captures.n > 0 ? &captures.all[captures.n - 1] : NULL;
        for (size_t i = 1; r == 0 && i < captures.n; i++) {
                const OwnCapture *begin = &captures.all[i - 1], *end = &captures.all[i];
                _cleanup_(group_view_freep) GroupView *view = NULL;

                if (end == last) {
                        metrics_page_begin_last(page);
                        options.view.limit = 0; /* "other" is of all the rest */
                }
                if (!own_captures_share_boot(begin, last) || !own_captures_share_boot(end, last) ||
                    last->start_boottime_ns - end->start_boottime_ns > KEPT_NS)
                        continue;
                r = group_view_new(&(GroupForm){ .session = session,
                                                 .kind = REPORT_INTERVAL,
                                                 .metrics = page },
                                   &view);
                if (r == 0)
                        r = show_between(session, view, begin->name, end->name);
        }
        if (r == 0 && path && strcmp(path, "-") != 0) {
                r = output_open(path, OUTPUT_PUBLIC, &output);
                if (r == 0)
                        r = output_stream(output, "write the gauges", &out);
        }
        if (r == 0) {
                metrics_page_write(page, last ? last->head : NULL,
                                   view_axis_names[options.view.axis], out);
                r = output ? output_publish(output) : 0;
        }
        session->options = given;
        return r;
}
