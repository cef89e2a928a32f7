/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/html-page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "html/html-data.h"
#include "render/cell.h"
#include "view/view-part.h"

#define PIECE_BEGIN "<script type=\"application/json\" class=\"data\">"
#define PIECE_END "</script>\n"

void html_page_done(HtmlPage *page) {
        json_out_done(&page->json);
        name_set_done(&page->reasons);
}

void html_page_put_text(HtmlPage *page, const char *text) {
        if (page->json.error == 0 && fputs(text, page->out) == EOF)
                page->json.error = errno > 0 ? -errno : -EIO;
}

/* Begins a piece with one item. Pieces are bounded, because replies are. */
void html_page_open_item(HtmlPage *page, const char *kind) {
        html_page_put_text(page, PIECE_BEGIN);
        json_out_array(&page->json);
        json_out_object(&page->json);
        json_out_key(&page->json, kind);
}

void html_page_close_item(HtmlPage *page) {
        json_out_end(&page->json);
        json_out_end(&page->json);
        html_page_put_text(page, PIECE_END);
}

int html_page_begin(HtmlPage *page, const HtmlSettings *settings) {
        _cleanup_(buffer_done) Buffer view = {};
        JsonOut *json = &page->json;
        JsonWriter writer;
        int r;

        json_out_init(json, page->out, JSON_STYLE_SHORT);
        json->in_markup = true;
        page->all_rows = settings->all_rows;
        html_page_put_text(page, html_page_head);
        json_writer_init(&writer, &view);
        view_write_json(&writer, settings->view);
        r = json_writer_finish(&writer);
        if (r < 0)
                return r;
        html_page_open_item(page, "settings");
        json_out_object(json);
        json_out_key(json, "version");
        json_out_text(json, CTPROF_VERSION);
        json_out_key(json, "header");
        json_out_text(json, view_axis_headers[settings->view->axis]);
        json_out_member_u64(json, "raw", settings->raw);
        json_out_member_u64(json, "allRows", settings->all_rows);
        json_out_key(json, "view");
        json_out_raw(json, buffer_span(&view));
        json_out_end(json);
        html_page_close_item(page);
        html_page_open_item(page, "metrics");
        html_data_write_metrics(json);
        html_page_close_item(page);
        return 0;
}

JsonOut *html_page_open_info(HtmlPage *page) {
        html_page_open_item(page, "info");
        json_out_object(&page->json);
        return &page->json;
}

void html_page_close_info(HtmlPage *page) {
        json_out_end(&page->json);
        html_page_close_item(page);
}

void html_page_add_members(HtmlPage *page, const char *kind, json_object *reply) {
        /* They come in parts, and have functions of their own. */
        static const char *const lists[] = { "groups", "onlyBefore", "onlyAfter", "onlyA",
                                             "onlyB",  "overview",   "sections" };
        json_object_iter member;

        html_page_open_item(page, kind);
        json_out_object(&page->json);
        if (json_object_is_type(reply, json_type_object))
                json_object_object_foreachC(reply, member) {
                        bool is_list = false;

                        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                                is_list = is_list || strcmp(member.key, lists[i]) == 0;
                        if (is_list)
                                continue;
                        html_data_write_key(&page->json, member.key);
                        html_data_write_value(&page->json, member.val);
                }
        json_out_end(&page->json);
        html_page_close_item(page);
}

void html_page_add_groups(HtmlPage *page, const char *list, json_object *groups) {
        size_t n = cell_length(groups);

        html_page_open_item(page, list);
        json_out_array(&page->json);
        for (size_t i = 0; i < n; i++)
                html_data_write_group(&page->json, &page->reasons, cell_element(groups, i));
        json_out_end(&page->json);
        html_page_close_item(page);
}

/* Returns whether a number under a key, as in memory.stat, is 0 or did not change. */
static bool is_idle(json_object *row) {
        json_object *value = cell_member(row, "value");
        json_object *before, *after;

        if (!value)
                value = cell_member(row, "count");
        if (json_object_is_type(value, json_type_int))
                return json_object_get_uint64(value) == 0;
        if (!json_object_object_get_ex(value, "before", &before) ||
            !json_object_object_get_ex(value, "after", &after))
                return false;
        /* Of what was not measured on both sides nobody knows that; the reason is worth the row. */
        return before && json_object_equal(before, after) == 1;
}

void html_page_add_sections(HtmlPage *page, json_object *part) {
        JsonOut *json = &page->json;
        json_object_iter member;

        html_page_open_item(page, "sections");
        json_out_object(json);
        if (json_object_is_type(part, json_type_object))
                json_object_object_foreachC(part, member) {
                        size_t n = cell_length(member.val);

                        html_data_write_key(json, member.key);
                        json_out_array(json);
                        for (size_t i = 0; i < n; i++) {
                                json_object *row = cell_element(member.val, i);

                                if (page->all_rows || !cell_member(row, "unit") || !is_idle(row))
                                        html_data_write_value(json, row);
                                else
                                        page->n_idle++;
                        }
                        json_out_end(json);
                }
        json_out_end(json);
        html_page_close_item(page);
}

int html_page_end(HtmlPage *page, json_object *reply) {
        json_out_member_u64(html_page_open_info(page), "idleRows", page->n_idle);
        html_page_close_info(page);
        html_page_add_members(page, "end", reply);
        html_page_put_text(page, html_page_tail);
        if (page->json.error == 0 && fflush(page->out) == EOF)
                page->json.error = errno > 0 ? -errno : -EIO;
        return page->json.error;
}
