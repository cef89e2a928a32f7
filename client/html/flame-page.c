/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/flame-page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "config.h"
#include "html/html-data.h"
#include "html/html-page.h"
#include "render/cell.h"
#include "stack/stack-text.h"

/* A piece of the page has so many of them at most: a browser parses each as a whole. */
#define NAMES_PER_PIECE 20000u
#define STACKS_PER_PIECE 10000u
/* A strip has no more columns on a wide screen, and a reader no use for more rows. */
#define COURSE_SPANS 300u
#define COURSE_ROWS 60u

static void write_names(HtmlPage *page, const char *kind, const NameSet *names) {
        JsonOut *json = &page->json;

        for (size_t i = 0; i < names->n && json->error == 0;) {
                html_page_open_item(page, kind);
                json_out_array(json);
                for (size_t n = 0; n < NAMES_PER_PIECE && i < names->n; n++, i++) {
                        Span name = name_set_get(names, i);
                        json_object *text = json_object_new_string_len(name.bytes, (int) name.n);

                        html_data_write_value(json, text);
                        (void) json_object_put(text);
                }
                json_out_end(json);
                html_page_close_item(page);
        }
}

static void write_amount(JsonOut *json, const StackAmount *amount) {
        double error_ns = amount->is_there && !amount->is_exact ? sqrt(amount->variance) : 0;

        json_out_u64(json, amount->ns);
        json_out_u64(json, amount->n_samples);
        /*
         * An amount that is not exact has an error above 0, so an error of less than a nanosecond
         * becomes 1.
         */
        json_out_u64(json, !amount->is_there || amount->is_exact ? 0
                           : error_ns < 1                        ? 1
                                                                 : number_of_real(round(error_ns)));
}

static void write_stacks(HtmlPage *page, const StackStore *store) {
        const StoredStack *before = NULL;
        JsonOut *json = &page->json;

        for (size_t i = 0; i < store->n && json->error == 0;) {
                html_page_open_item(page, "stacks");
                json_out_array(json);
                for (size_t n = 0; n < STACKS_PER_PIECE && i < store->n; n++, i++) {
                        const StoredStack *row = &store->rows[i];
                        const uint32_t *frames = stack_store_frames(store, row);
                        size_t shared = 0;

                        while (before && shared < row->n_frames && shared < before->n_frames &&
                               frames[shared] == stack_store_frames(store, before)[shared])
                                shared++;
                        json_out_u64(json, row->process);
                        json_out_u64(json, row->thread);
                        json_out_u64(json, row->place);
                        write_amount(json, &row->of[0]);
                        if (stack_store_is_pair(store))
                                write_amount(json, &row->of[1]);
                        json_out_u64(json, shared);
                        json_out_u64(json, row->n_frames - shared);
                        for (size_t k = shared; k < row->n_frames; k++)
                                json_out_u64(json, frames[k]);
                        before = row;
                }
                json_out_end(json);
                html_page_close_item(page);
        }
}

static int compare_weights(const void *a_, const void *b_, void *userdata) {
        const double *totals = userdata;
        size_t a = *(const size_t *) a_, b = *(const size_t *) b_;

        if (totals[a] != totals[b])
                return totals[a] < totals[b] ? 1 : -1;
        return (a > b) - (a < b);
}

static void write_course_name(JsonOut *json, Span name) {
        json_object *text = json_object_new_string_len(name.bytes, (int) name.n);

        html_data_write_value(json, text);
        (void) json_object_put(text);
}

static void write_course_row(JsonOut *json, Span group, Span place) {
        json_out_array(json);
        write_course_name(json, group);
        write_course_name(json, place);
        json_out_end(json);
}

/*
 * The heaviest rows as they are, @n of @order; behind them, for each place, the sum of all others.
 * Running and waiting for a CPU thereby add up to those of the host.
 */
static void write_course_steps(JsonOut *json, const CourseStore *course, const CourseSpans *spans,
                               const size_t *order, size_t n, double *others) {
        uint64_t begin_ns = course->steps[0].begin_ns;

        json_out_key(json, "steps");
        json_out_array(json);
        for (size_t span = 0; span < spans->n && json->error == 0; span++) {
                size_t first = span * spans->n_steps_each,
                       last = MIN_OF(first + spans->n_steps_each, course->n_steps) - 1;

                json_out_array(json);
                json_out_u64(json, course->steps[first].begin_ns - begin_ns);
                json_out_u64(json, course->steps[last].end_ns - begin_ns);
                for (size_t i = 0; i < n; i++)
                        json_out_u64(json, (uint64_t) spans->ns[order[i] * spans->n + span]);
                for (size_t place = 0; place < course->places.n; place++)
                        others[place] = 0;
                for (size_t i = n; i < course_store_n_rows(course); i++)
                        others[course->numbers[2 * order[i] + 1]] +=
                                spans->ns[order[i] * spans->n + span];
                for (size_t place = 0; place < course->places.n; place++)
                        json_out_u64(json, (uint64_t) others[place]);
                json_out_end(json);
        }
        json_out_end(json);
}

static int write_course(HtmlPage *page, const CourseStore *course) {
        size_t n_rows = course_store_n_rows(course), n = MIN_OF(n_rows, (size_t) COURSE_ROWS);
        _cleanup_(course_spans_done) CourseSpans spans = {};
        _cleanup_(freep) size_t *order = calloc(n_rows + 1, sizeof(*order));
        _cleanup_(freep) double *others = calloc(course->places.n + 1, sizeof(*others));
        JsonOut *json = &page->json;
        int r = order && others ? course_spans_make(course, COURSE_SPANS, &spans) : -ENOMEM;

        if (r < 0)
                return r;
        for (size_t i = 0; i < n_rows; i++)
                order[i] = i;
        if (n_rows > 1)
                qsort_r(order, n_rows, sizeof(*order), compare_weights, spans.total_ns);
        html_page_open_item(page, "course");
        json_out_object(json);
        json_out_key(json, "rows");
        json_out_array(json);
        for (size_t i = 0; i < n; i++)
                write_course_row(json, course_store_group(course, order[i]),
                                 course_store_place(course, order[i]));
        for (size_t i = 0; i < course->places.n; i++)
                write_course_row(json, SPAN_LITERAL("(others)"), name_set_get(&course->places, i));
        json_out_end(json);
        write_course_steps(json, course, &spans, order, n, others);
        json_out_end(json);
        html_page_close_item(page);
        return 0;
}

static void write_members(JsonOut *json, json_object *first) {
        static const char *const members[] = { "snapshot", "elapsedNs", "recording", "places" };

        for (size_t i = 0; i < ELEMENTSOF(members); i++) {
                json_out_key(json, members[i]);
                html_data_write_value(json, cell_member(first, members[i]));
        }
}

int flame_page_write(FILE *out, StackStore *store, const CourseStore *course,
                     json_object *const firsts[static 2]) {
        _cleanup_(buffer_done) Buffer scope = {};
        bool is_pair = stack_store_is_pair(store);
        HtmlPage page = { .out = out };
        JsonOut *json = &page.json;
        const char *text = "";
        int r = stack_store_sort(store);

        if (r == 0)
                r = stack_append_scope(&scope, cell_member(firsts[is_pair], "recording"));
        if (r == 0)
                r = buffer_terminate(&scope, &text);
        if (r != 0)
                return r;
        json_out_init(json, out, JSON_STYLE_SHORT);
        json->in_markup = true;
        html_page_put_text(&page, flame_page_head);
        html_page_open_info(&page);
        json_out_key(json, "version");
        json_out_text(json, CTPROF_VERSION);
        write_members(json, firsts[is_pair]);
        if (is_pair) {
                json_out_key(json, "before");
                json_out_object(json);
                write_members(json, firsts[0]);
                json_out_end(json);
        }
        if (text[0] != '\0') {
                json_out_key(json, "scope");
                json_out_text(json, text);
        }
        json_out_member_u64(json, "stacks", store->n);
        json_out_member_u64(json, "frames", store->n_frames);
        json_out_key(json, "rests");
        json_out_array(json);
        for (size_t i = 0; i < store->places.n; i++)
                if (stack_place_is_rest(name_set_get(&store->places, i)))
                        json_out_u64(json, i);
        json_out_end(json);
        html_page_close_info(&page);
        write_names(&page, "places", &store->places);
        write_names(&page, "names", &store->names);
        write_names(&page, "functions", &store->functions);
        write_stacks(&page, store);
        if (course->n_steps > 0)
                r = write_course(&page, course);
        html_page_open_item(&page, "end");
        json_out_object(json);
        json_out_end(json);
        html_page_close_item(&page);
        html_page_put_text(&page, flame_page_tail);
        if (json->error == 0 && fflush(out) == EOF)
                json->error = errno > 0 ? -errno : -EIO;
        r = r == 0 ? json->error : r;
        html_page_done(&page);
        return r;
}
