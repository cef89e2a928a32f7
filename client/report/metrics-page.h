/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MetricsPage
 *
 * An interval as the text that Prometheus reads from a file (exposition format 0.0.4): gauges of
 * the groups that weigh most, and one group "other" of all the rest, so that totals stay right.
 * Sums of groups are no counters, since they fall when threads leave; so each value is what an
 * interval came to, a second. A value that was not measured has no line.
 *
 * The number of lines is bounded whatever the workload does: groups that weighed most in an earlier
 * interval of the last hour are kept, so that a series does not come and go with the order, but no
 * more of them than of those that weigh most now.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "view/view.h"

typedef struct MetricsPage MetricsPage;

/* The page has at most @n_top groups of now, and as many of earlier. 0 or -ENOMEM. */
_must_check_ int metrics_page_new(size_t n_top, MetricsPage **ret);
MetricsPage *metrics_page_free(MetricsPage *page);
DEFINE_CLEANUP(MetricsPage *, metrics_page_free);

/* Chooses the metrics that the values are made of, in @view. */
void metrics_page_choose(View *view);

/*
 * Views add to the page through sink_metrics. They are of the interval that is written from
 * now on; before, of earlier ones.
 */
void metrics_page_begin_last(MetricsPage *page);
/* @head is of the last snapshot; groups are by @axis. Without an interval there are none. */
void metrics_page_write(const MetricsPage *page, json_object *head, const char *axis, FILE *out);
