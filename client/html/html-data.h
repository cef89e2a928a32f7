/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HtmlData
 *
 * Groups and rows as the page reads them (data.js), shorter than in a reply, because a page is
 * mailed:
 *
 *     VALUE  as in the interface, but an integer a browser would round (above 2^53) is a text
 *     ROW    [metric, flags, reason, VALUE...], without the nulls at its end
 *            metric: its place in the list html_data_write_metrics() wrote, or its name
 *            flags: HTML_ROW_CHANGED, HTML_ROW_RESET
 *            reason: null, its number, a text that gets the next number, or [text] without one
 *            VALUEs of one snapshot: value, present, spread
 *            VALUEs of two: before, after, delta, percent, perSecond, spread, spreadBefore
 *     GROUP  as in a reply, with "rows": [ROW...] instead of metrics and derived
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "html/html-reasons.h"
#include "render/json-out.h"

enum {
        HTML_ROW_CHANGED = 1 << 0,
        HTML_ROW_RESET = 1 << 1,
};

/* Every metric and derived value: [{name, unit, section, sum, derived, class, gates, text}...]. */
void html_data_write_metrics(JsonOut *out);
void html_data_write_value(JsonOut *out, json_object *value);
/* A Group of a reply. */
void html_data_write_group(JsonOut *out, HtmlReasons *reasons, json_object *group);
