/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HtmlData
 *
 * Groups and rows as the page reads them (data.js). They are shorter than in a reply, because pages
 * are sent by mail:
 *
 *     VALUE  as in the interface, but an integer that JavaScript would round (above 2^53) is a text
 *     ROW    [metric, flags, reason, VALUE...], without nulls at the end
 *            metric: its index in the list of html_data_write_metrics(), or its name
 *            flags: HTML_ROW_CHANGED, HTML_ROW_RESET
 *            reason: null, its number, a text that gets the next number, or [text] without a number
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
