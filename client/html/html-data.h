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
 *            flags: HTML_ROW_CHANGED and the others below
 *            reason: null, its number, a text that gets the next number, or [text] without a number
 *            VALUEs of one snapshot: value, present, spread
 *            VALUEs of two: before, after, delta, percent, perSecond, spread, spreadBefore, work
 *            VALUEs of two intervals: a, b, delta, percent
 *            VALUEs of two sets: before, after, delta, percent, p, pAdjusted; before and after are
 *            {n, median, min, max, q1, q3}
 *     GROUP  as in a reply, with "rows": [ROW...] instead of metrics and derived
 */

#include <json-c/json.h>
#include <stdbool.h>
#include "base/macro.h"
#include "base/name-set.h"
#include "render/json-out.h"

enum {
        HTML_ROW_CHANGED = 1 << 0,
        HTML_ROW_RESET = 1 << 1,
        HTML_ROW_APPROXIMATE = 1 << 2, /* the only side, or the first */
        HTML_ROW_APPROXIMATE_AFTER = 1 << 3,
        HTML_ROW_SIGNIFICANT = 1 << 4,
        HTML_ROW_RATE = 1 << 5, /* the values of two intervals or sets are per second */
};

/*
 * The reasons why values are absent are long, few, and repeated for thousands of rows. Each is
 * written to the page once and gets a number: how many were written before it. So many are kept at
 * most; a reason beyond them is written every time.
 */
#define HTML_REASONS_MAX 384u

/*
 * Writes every metric and derived value: [{name, unit, section, sum, counter, derived, class,
 * gates, text}...].
 */
void html_data_write_metrics(JsonOut *out);
/* These write as json_out_value() and json_out_key() do, without characters that nobody sees. */
void html_data_write_value(JsonOut *out, json_object *value);
void html_data_write_key(JsonOut *out, const char *key);
/* Writes a Group of a reply. @reasons are those that the page has so far. */
void html_data_write_group(JsonOut *out, NameSet *reasons, json_object *group);
