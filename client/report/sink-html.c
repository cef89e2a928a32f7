/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/sink.h"

#include <errno.h>

#include "html/html-page.h"

typedef struct SinkHtml {
        GroupSink sink;
        HtmlPage page;
} SinkHtml;

static int begin(GroupSink *sink, json_object *reply) {
        static const Terminal none = {};
        const Options *options = sink->form->session->options;
        const HtmlSettings settings = {
                .view = &options->view,
                .raw = options_have(options, OPTION_RAW),
                .all_rows = options_have(options, OPTION_ALL_ROWS),
        };
        HtmlPage *page = &((SinkHtml *) sink)->page;
        Lines lines = { .terminal = &none };
        JsonOut *info;
        int r;

        page->out = stdout;
        r = html_page_begin(page, &settings);
        if (r < 0)
                return r;
        info = html_page_open_info(page);
        r = sink->form->lead ? sink->form->lead(sink->form->lead_userdata, NULL, info) : 0;
        if (r != 0)
                return r;
        /* The lines above the numbers are those of a terminal. */
        json_out_key(info, "lines");
        json_out_array(info);
        lines.json = info;
        r = overview_print(&lines, sink->form->kind, reply, false);
        json_out_end(info);
        if (r != 0)
                return r;
        html_page_close_info(page);
        html_page_add_members(page, "info", reply);
        return 0;
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        html_page_add_groups(&((SinkHtml *) sink)->page,
                             report_settings[sink->form->kind].lists[list], groups);
        return 0;
}

static int add_sections(GroupSink *sink, json_object *part) {
        html_page_add_sections(&((SinkHtml *) sink)->page, part);
        return 0;
}

static int end(GroupSink *sink, json_object *reply) {
        return html_page_end(&((SinkHtml *) sink)->page, reply);
}

static void done(GroupSink *sink) {
        html_page_done(&((SinkHtml *) sink)->page);
}

const GroupSinkType sink_html = { .size = sizeof(SinkHtml),
                                  .begin = begin,
                                  .groups = add_groups,
                                  .sections = add_sections,
                                  .end = end,
                                  .done = done };
