/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HtmlPage
 *
 * One file that a browser shows without asking any other: the page as it was built, with the data
 * in its middle, written while it comes. The data are pieces, each one JSON array in an element
 * that no browser runs; no byte of a name can end that element, because '<' never stands in it. The
 * script of the page stands behind the data and looks for the last item, so that a page that was
 * cut says so.
 *
 * An item is an object with one member; data.js reads them:
 *
 *     settings   {version, header, raw, allRows, view}
 *     metrics    html_data_write_metrics()
 *     info       members of a reply, or of the lead
 *     groups, onlyBefore, onlyAfter    [GROUP...] (html-data.h)
 *     sections   {NAME: [row...]...}
 *     end        members of the last reply
 *
 * A failed write is remembered and told by html_page_end().
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "view/view.h"
#include "render/json-out.h"

typedef struct HtmlPage HtmlPage;

typedef struct HtmlSettings {
        const View *view; /* what was asked for */
        bool raw;         /* plain numbers, until the reader wants others */
        bool all_rows;    /* the same of rows that did not change */
} HtmlSettings;

/* 0 or -ENOMEM. @out is borrowed. */
_must_check_ int html_page_new(FILE *out, HtmlPage **ret);
HtmlPage *html_page_free(HtmlPage *page);
DEFINE_CLEANUP(HtmlPage *, html_page_free);

/* All up to the first item of the caller. 0 or -errno. */
_must_check_ int html_page_begin(HtmlPage *page, const HtmlSettings *settings);
/* An object to put members in, which html_page_close_info() ends. */
JsonOut *html_page_open_info(HtmlPage *page);
void html_page_close_info(HtmlPage *page);
/* All of @reply but groups and sections. */
void html_page_add_info(HtmlPage *page, json_object *reply);
/* @list: the member of the reply that they are from. */
void html_page_add_groups(HtmlPage *page, const char *list, json_object *groups);
/*
 * Rows of sections that are numbers under keys are left out where nothing moved, unless all rows
 * were asked for: there are dozens a cgroup.
 */
void html_page_add_sections(HtmlPage *page, json_object *part);
/* 0 when all is written, else the first error, -errno. */
_must_check_ int html_page_end(HtmlPage *page, json_object *reply);
