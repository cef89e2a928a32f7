/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HtmlReasons
 *
 * Reasons why values are absent are long, few, and repeated for thousands of rows. Each is told to
 * the page once, and is a number from then on: how many were told before it. The table does not
 * grow; what has no place in it is told every time.
 */

#include <json-c/json.h>
#include "base/macro.h"

#define HTML_REASONS_MAX 512u

/* Zeroed: empty. */
typedef struct HtmlReasons {
        json_object *texts[HTML_REASONS_MAX]; /* owned; at the place of their hash or behind it */
        unsigned numbers[HTML_REASONS_MAX];
        unsigned n;
} HtmlReasons;

void html_reasons_done(HtmlReasons *reasons);

typedef enum HtmlReason {
        HTML_REASON_KNOWN,    /* *ret_number is its number */
        HTML_REASON_NEW,      /* it has the next number from now on */
        HTML_REASON_HOMELESS, /* the table is full */
} HtmlReason;

/* @text is a string; it is kept, not copied. */
HtmlReason html_reasons_put(HtmlReasons *reasons, json_object *text, unsigned *ret_number);
