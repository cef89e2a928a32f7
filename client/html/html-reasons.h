/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HtmlReasons
 *
 * The reasons why values are absent are long, few, and repeated for thousands of rows. Each is
 * written to the page once and gets a number: how many were written before it. The table does not
 * grow; a reason that has no place in it is written every time.
 */

#include <json-c/json.h>
#include "base/macro.h"

#define HTML_REASONS_MAX 512u

/* Zeroed: empty. */
typedef struct HtmlReasons {
        json_object *texts[HTML_REASONS_MAX]; /* owned; at the index of their hash or behind it */
        unsigned numbers[HTML_REASONS_MAX];
        unsigned n;
} HtmlReasons;

void html_reasons_done(HtmlReasons *reasons);

typedef enum HtmlReason {
        HTML_REASON_KNOWN,    /* *ret_number is set */
        HTML_REASON_NEW,      /* the text has the next number from now on */
        HTML_REASON_HOMELESS, /* the table is full */
} HtmlReason;

/* @text is a string; it is kept, not copied. */
HtmlReason html_reasons_put(HtmlReasons *reasons, json_object *text, unsigned *ret_number);
