/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/stack-view.h"

#include <errno.h>
#include <stdio.h>

#include "html/flame-page.h"
#include "metric/record-place.h"
#include "render/cell.h"
#include "session/complain.h"
#include "stack/stack-profile.h"
#include "stack/stack-text.h"

#define LIST_STACKS 10u /* on a first screen */

static const char *const place_names[_RECORD_PLACE_MAX] = RECORD_PLACE_NAMES;

void stack_view_done(StackView *view) {
        stack_store_done(&view->store);
        (void) json_object_put(view->first);
        json_out_done(&view->out);
        buffer_done(&view->line);
}

void stack_view_write_parameters(const StackView *view, JsonWriter *writer) {
        const Options *options = view->session->options;
        bool has_limit = options_have(options, OPTION_LIMIT);
        uint32_t limit = options->view.limit;

        /* People get the heaviest, programs everything, unless the user says otherwise. */
        if (view->form == STACK_FORM_LIST)
                limit = has_limit && limit > 0 ? MIN_OF(limit, LIST_STACKS) : LIST_STACKS;
        if (limit > 0 &&
            (has_limit || view->form == STACK_FORM_LIST || view->form == STACK_FORM_TREES))
                json_write_member_u64(writer, "limit", limit);
        if (view->has_rest)
                return;
        json_write_key(writer, "places");
        json_write_array(writer);
        for (unsigned id = 0; id < _RECORD_PLACE_MAX; id++)
                if (!stack_place_is_rest(span_of(place_names[id])))
                        json_write_text(writer, place_names[id]);
        json_write_end(writer);
}

static int begin(StackView *view, json_object *reply) {
        static const char *const members[] = { "snapshot", "recording", "elapsedNs", "places" };

        view->first = json_object_get(reply);
        if (view->form == STACK_FORM_SPEEDSCOPE)
                json_out_init(&view->out, stdout, JSON_STYLE_SHORT);
        if (view->form != STACK_FORM_JSON)
                return 0;
        json_out_init(&view->out, stdout, view->session->json);
        json_out_object(&view->out);
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                json_out_member(&view->out, members[i], cell_member(reply, members[i]));
        json_out_key(&view->out, "stacks");
        json_out_array(&view->out);
        return 0;
}

static int add(StackView *view, json_object *stack) {
        int r;

        view->n_seen++;
        switch (view->form) {
        case STACK_FORM_JSON:
                json_out_value(&view->out, stack);
                return view->out.error;
        case STACK_FORM_FOLDED:
                buffer_clear(&view->line);
                r = stack_append_folded(&view->line, stack);
                if (r == 0 && fwrite(view->line.bytes, 1, view->line.n, stdout) != view->line.n)
                        r = -errno;
                return r;
        case STACK_FORM_LIST:
        case STACK_FORM_TREES:
        case STACK_FORM_SPEEDSCOPE:
        case STACK_FORM_HTML:
                break;
        }
        return stack_store_add(&view->store, stack);
}

static int end(StackView *view, json_object *reply) {
        const Session *session = view->session;
        const StackText text = {
                .out = stdout,
                .terminal = &session->terminal,
                .legend = session->legend,
                .first = view->first,
                .n_hidden = cell_u64(reply, "hiddenStacks"),
                .has_rest = view->has_rest,
                .is_chatty = session->is_chatty && session->legend == TABLE_LEGEND_SHOWN,
        };
        int r;

        /* Where nobody works there are only those who wait for work: they are asked for next. */
        if (view->n_seen == 0 && !view->has_rest)
                return 0;
        switch (view->form) {
        case STACK_FORM_LIST:
                (void) putchar('\n');
                return stack_text_print_list(&text, &view->store);
        case STACK_FORM_TREES:
                r = session_page(view->session);
                return r == 0 ? stack_text_print_trees(&text, &view->store) : r;
        case STACK_FORM_JSON:
                json_out_end(&view->out);
                json_out_member_u64(&view->out, "hiddenStacks", text.n_hidden);
                json_out_end(&view->out);
                return session_finish_json(&view->out);
        case STACK_FORM_SPEEDSCOPE:
                return stack_write_speedscope(
                        &view->out, &view->store,
                        cell_member(cell_member(view->first, "snapshot"), "name"));
        case STACK_FORM_HTML:
                return flame_page_write(stdout, &view->store, view->first);
        case STACK_FORM_FOLDED:
                break;
        }
        return 0;
}

int stack_view_on_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        json_object *stacks = cell_member(parameters, "stacks");
        StackView *view = userdata;
        int r = view->first ? 0 : begin(view, parameters);

        for (size_t i = 0; r == 0 && i < cell_length(stacks); i++)
                r = add(view, cell_element(stacks, i));
        if (r == 0 && last)
                r = end(view, parameters);
        return r < 0 ? complain_errno(r, "write the result to stdout") : r;
}
