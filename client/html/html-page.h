/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HtmlPage
 *
 * One file that a browser shows without loading anything else: the page as it was built, with the
 * data in the middle, written while they come. The data are pieces: each is a JSON array in an
 * element that browsers do not run. No name can end that element, because '<' is always escaped.
 * The script of the page follows the data and looks for the last item, so that an incomplete page
 * says that it is incomplete.
 *
 * An item is an object with one member; data.js reads them:
 *
 *     settings   {version, header, raw, allRows, view}
 *     metrics    html_data_write_metrics()
 *     info       members of a reply, or of the lead
 *     groups, onlyBefore, onlyAfter, onlyA, onlyB    [GROUP...] (html-data.h)
 *     sections   {NAME: [row...]...}
 *     end        members of the last reply
 *
 * The first failed write sticks, and html_page_end() returns it.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/name-set.h"
#include "view/view.h"
#include "render/json-out.h"

/* Its owner zeroes it but for @out. */
typedef struct HtmlPage {
        FILE *out; /* borrowed */
        JsonOut json;
        NameSet reasons;
        bool all_rows;
        uint64_t n_idle; /* rows of sections that were omitted */
} HtmlPage;

typedef struct HtmlSettings {
        const View *view; /* the options of the view */
        bool raw;         /* numbers without units, until the reader switches */
        bool all_rows;    /* rows that did not change are shown, until the reader switches */
} HtmlSettings;

/*
 * embed.py makes these from the other files of this folder: the page up to where the data stand,
 * and the page behind them.
 */
extern const char html_page_head[];
extern const char html_page_tail[];

void html_page_done(HtmlPage *page);

/* For pages of other kinds: their own text, and an item with one member. */
void html_page_put_text(HtmlPage *page, const char *text);
void html_page_open_item(HtmlPage *page, const char *kind);
void html_page_close_item(HtmlPage *page);

/* Writes everything above the first item of the caller. 0 or -errno. */
_must_check_ int html_page_begin(HtmlPage *page, const HtmlSettings *settings);
/* Begins an object for members of the caller; html_page_close_info() ends it. */
JsonOut *html_page_open_info(HtmlPage *page);
void html_page_close_info(HtmlPage *page);
/* Adds all members of @reply except groups and sections, as an item: "info" or, last, "end". */
void html_page_add_members(HtmlPage *page, const char *kind, json_object *reply);
/* @list is the name of the member of the reply. */
void html_page_add_groups(HtmlPage *page, const char *list, json_object *groups);
/*
 * Rows that are numbers under keys are omitted if they did not change, unless all rows are wanted:
 * every cgroup has dozens of them.
 */
void html_page_add_sections(HtmlPage *page, json_object *part);
/* Returns 0 if everything was written, else the first failure, -errno. */
_must_check_ int html_page_end(HtmlPage *page, json_object *reply);
