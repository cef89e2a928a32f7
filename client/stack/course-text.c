/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/course-text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "metric/record-place.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/lines.h"
#include "render/printable.h"
#include "render/when.h"

#define CURVE_COLUMNS 36u /* with the other columns it fills 80 */
#define HEAD_WAITS 3u     /* that the head names */
#define STEP_WAITS 3u     /* that the line of a step names */

static const char *const place_names[_RECORD_PLACE_MAX] = RECORD_PLACE_NAMES;

/* The figures that are printed: rows of the store, the heaviest first, and sums of all rows. */
typedef struct Course {
        const CourseText *text;
        const CourseStore *store;
        CourseSpans spans;
        size_t *order;               /* owned */
        double *running, *run_queue; /* owned: of each span */
        uint64_t begin_ns;           /* of the first step */
} Course;

static void course_done(Course *course) {
        course_spans_done(&course->spans);
        free(course->order);
        free(course->running);
        free(course->run_queue);
}

static bool is_running(const CourseStore *store, size_t row) {
        return span_is(course_store_place(store, row), place_names[RECORD_PLACE_running]);
}

static double in_span(const Course *course, size_t row, size_t span) {
        return course->spans.ns[row * course->spans.n + span];
}

static double threads(const Course *course, double ns, size_t span) {
        double length_ns = course->spans.length_ns[span];

        return length_ns > 0 ? ns / length_ns : 0;
}

static int compare_rows(const void *a_, const void *b_, void *userdata) {
        const double *totals = userdata;
        size_t a = *(const size_t *) a_, b = *(const size_t *) b_;

        if (totals[a] != totals[b])
                return totals[a] < totals[b] ? 1 : -1;
        return (a > b) - (a < b);
}

static int course_init(Course *course, size_t n_most) {
        const CourseStore *store = course->store;
        size_t n_rows = course_store_n_rows(store);
        int r = course_spans_make(store, n_most, &course->spans);

        if (r < 0)
                return r;
        course->order = calloc(n_rows + 1, sizeof(*course->order));
        course->running = calloc(course->spans.n + 1, sizeof(*course->running));
        course->run_queue = calloc(course->spans.n + 1, sizeof(*course->run_queue));
        if (!course->order || !course->running || !course->run_queue)
                return -ENOMEM;
        for (size_t row = 0; row < n_rows; row++) {
                bool runs = is_running(store, row),
                     waits = span_is(course_store_place(store, row),
                                     place_names[RECORD_PLACE_run_queue]);

                course->order[row] = row;
                for (size_t i = 0; i < course->spans.n && (runs || waits); i++)
                        (runs ? course->running : course->run_queue)[i] += in_span(course, row, i);
        }
        if (n_rows > 1)
                qsort_r(course->order, n_rows, sizeof(*course->order), compare_rows,
                        course->spans.total_ns);
        course->begin_ns = store->n_steps > 0 ? store->steps[0].begin_ns : 0;
        return 0;
}

/* When a span begins, from the beginning of the first one on. */
static double offset_ns(const Course *course, size_t span) {
        uint64_t begin_ns = course->store->steps[span * course->spans.n_steps_each].begin_ns;

        return (double) (begin_ns - MIN_OF(course->begin_ns, begin_ns));
}

/* A few figures of the same length below each other. */
static void append_offset(Buffer *cell, double ns) {
        buffer_append_format(cell, "%.2fs", ns / NSEC_PER_SEC);
}

static void append_row(Buffer *cell, const Course *course, size_t row, bool names_place) {
        Span group = course_store_group(course->store, row),
             place = course_store_place(course->store, row);

        buffer_append(cell, group.bytes, group.n);
        if (!names_place)
                return;
        buffer_append_byte(cell, ' ');
        printable_append_name(cell, place);
}

/* the head */

typedef struct Range {
        double least, most, average;
        size_t at_most;
} Range;

static Range range_of(const Course *course, const double *ns) {
        Range range = {};
        double sum = 0, length_ns = 0;

        for (size_t i = 0; i < course->spans.n; i++) {
                double value = threads(course, ns[i], i);

                if (i == 0 || value < range.least)
                        range.least = value;
                if (i == 0 || value > range.most) {
                        range.most = value;
                        range.at_most = i;
                }
                sum += ns[i];
                length_ns += course->spans.length_ns[i];
        }
        range.average = length_ns > 0 ? sum / length_ns : 0;
        return range;
}

static void append_range(Buffer *line, const Course *course, const Range *range) {
        compact_append_cpus(line, range->average);
        buffer_append_text(line, " CPUs on average, ");
        compact_append_cpus(line, range->least);
        buffer_append_text(line, " to ");
        compact_append_cpus(line, range->most);
        buffer_append_text(line, " at ");
        append_offset(line, offset_ns(course, range->at_most));
}

static void append_steps(Buffer *line, const Course *course) {
        const CourseStore *store = course->store;
        json_object *head = cell_member(course->text->first, "snapshot");
        uint64_t boottime_ns = cell_u64(head, "startBoottimeNs"),
                 end_boottime_ns = cell_u64(head, "endBoottimeNs");
        uint64_t end_ns = store->steps[store->n_steps - 1].end_ns, outside_ns = 0;
        char when[WHEN_CHARS];

        buffer_append_format(line, "%zu of ", store->n_steps);
        compact_append_span(
                line, (double) cell_u64(cell_member(course->text->first, "recording"), "everyNs"));
        if (cell_u64(head, "startRealtimeNs") > 0 && course->begin_ns >= boottime_ns) {
                when_format(cell_u64(head, "startRealtimeNs") + course->begin_ns - boottime_ns,
                            WHEN_FULL, when);
                buffer_append_format(line, " from %s", when);
        }
        if (course->begin_ns >= boottime_ns && boottime_ns > 0)
                outside_ns = course->begin_ns - boottime_ns;
        if (end_boottime_ns > end_ns)
                outside_ns += end_boottime_ns - end_ns;
        if (outside_ns > 0) {
                buffer_append_text(line, "; ");
                compact_append_span(line, (double) outside_ns);
                buffer_append_text(line, " of the interval is before and after them");
        }
}

/* The groups that wait most, with what for. */
static void append_waits(Buffer *line, const Course *course) {
        size_t n = course_store_n_rows(course->store), n_named = 0;

        for (size_t i = 0; i < n && n_named < HEAD_WAITS; i++) {
                size_t row = course->order[i];
                Range range;

                if (is_running(course->store, row) || course->spans.total_ns[row] <= 0)
                        continue;
                range = range_of(course, course->spans.ns + row * course->spans.n);
                if (n_named++ > 0)
                        buffer_append_text(line, "; ");
                append_row(line, course, row, true);
                buffer_append_byte(line, ' ');
                compact_append_threads(line, range.average);
                buffer_append_text(line, ", at most ");
                compact_append_threads(line, range.most);
                buffer_append_text(line, " at ");
                append_offset(line, offset_ns(course, range.at_most));
        }
}

static int print_head(const Course *course) {
        const Lines lines = { .out = course->text->out,
                              .terminal = course->text->terminal,
                              .label_columns = 8 };
        const size_t n = course_store_n_rows(course->store);
        _cleanup_(buffer_done) Buffer line = {};
        Range range = range_of(course, course->running);
        int r;

        append_steps(&line, course);
        r = lines_print_buffer(&lines, "steps", &line);
        buffer_clear(&line);
        append_range(&line, course, &range);
        buffer_append_text(&line, ": ");
        for (size_t i = 0, n_named = 0; i < n && n_named < 2; i++) {
                size_t row = course->order[i];

                if (!is_running(course->store, row))
                        continue;
                buffer_append_text(&line, n_named++ > 0 ? ", " : "");
                append_row(&line, course, row, false);
                buffer_append_byte(&line, ' ');
                compact_append_cpus(
                        &line, range_of(course, course->spans.ns + row * course->spans.n).average);
        }
        if (r == 0)
                r = lines_print_buffer(&lines, "running", &line);
        buffer_clear(&line);
        append_waits(&line, course);
        if (r == 0 && line.n > 0)
                r = lines_print_buffer(&lines, "waiting", &line);
        return r;
}

static bool is_counted(const Course *course, RecordPlace place) {
        json_object *counted =
                cell_member(cell_member(course->text->first, "recording"), "coursePlaces");

        for (size_t i = 0; i < cell_length(counted); i++)
                if (span_is(cell_string(cell_element(counted, i)), place_names[place]))
                        return true;
        return false;
}

/*
 * Prints what is not quite as it should be: places that were not counted, steps that were read
 * while threads ended, steps that could not be read, and waits for work that are left out.
 */
static int print_notes(const Course *course) {
        const Lines lines = { .out = course->text->out, .terminal = course->text->terminal };
        json_object *facts = cell_member(course->text->first, "recording");
        uint64_t n_unsettled = cell_u64(facts, "unsettledSteps"),
                 n_missed = cell_u64(facts, "missedSteps");
        _cleanup_(buffer_done) Buffer missing = {};
        int r = 0;

        for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                if (!is_counted(course, place))
                        buffer_append_format(&missing, "%s%s", missing.n > 0 ? ", " : "",
                                             place_names[place]);
        if (missing.n > 0) {
                buffer_append_text(&missing, " were not counted");
                r = lines_print_buffer(&lines, "", &missing);
        }
        if (n_unsettled > 0)
                lines_format(&lines, "",
                             "%llu step%s read while threads ended: what these did may be in the "
                             "step beside",
                             (unsigned long long) n_unsettled,
                             n_unsettled == 1 ? " was" : "s were");
        if (n_missed > 0)
                lines_format(&lines, "",
                             "%llu step%s could not be read, and became part of the next",
                             (unsigned long long) n_missed, n_missed == 1 ? "" : "s");
        if (course->text->is_chatty && !course->text->has_rest)
                lines_format(&lines, "", "waits for work are not among these (--all-rows)");
        return r;
}

/* few steps */

/* The heaviest rows of one span that run, or that do not. */
static size_t find_heaviest(const Course *course, size_t span, bool runs, size_t n_most,
                            size_t ret[]) {
        size_t n = 0;

        for (size_t row = 0; row < course_store_n_rows(course->store); row++) {
                double ns = in_span(course, row, span);
                size_t at = n;

                if (is_running(course->store, row) != runs || ns <= 0)
                        continue;
                while (at > 0 && in_span(course, ret[at - 1], span) < ns)
                        at--;
                if (at == n_most)
                        continue;
                n = MIN_OF(n + 1, n_most);
                for (size_t i = n - 1; i > at; i--)
                        ret[i] = ret[i - 1];
                ret[at] = row;
        }
        return n;
}

static int print_steps(const Course *course) {
        static const TableColumn columns[] = {
                { .header = "AT", .right = true },
                { .header = "RUN", .right = true },
                { .header = "QUEUE", .right = true },
                { .header = "ENDED", .right = true, .omit = 1 },
                { .header = "RUNS MOST", .shrink_to = 16 },
                { .header = "WAITS MOST", .shrink_to = 20 },
        };
        const CourseText *text = course->text;
        bool has_queue = is_counted(course, RECORD_PLACE_run_queue);
        _cleanup_(table_freep) Table *table = NULL;
        int r = table_new(columns, ELEMENTSOF(columns), text->terminal, text->legend, text->out,
                          &table);

        if (r < 0)
                return r;
        for (size_t i = 0; i < course->spans.n; i++) {
                size_t rows[STEP_WAITS], n;
                Buffer *cell;

                append_offset(table_cell(table), offset_ns(course, i));
                compact_append_cpus(table_cell(table), threads(course, course->running[i], i));
                cell = table_cell(table);
                if (has_queue)
                        compact_append_threads(cell, threads(course, course->run_queue[i], i));
                else
                        buffer_append_byte(cell, '-');
                buffer_append_format(table_cell(table), "%llu",
                                     (unsigned long long) course->store->steps[i].n_ended);
                cell = table_cell(table);
                if (find_heaviest(course, i, true, 1, rows) > 0) {
                        append_row(cell, course, rows[0], false);
                        buffer_append_byte(cell, ' ');
                        compact_append_cpus(cell, threads(course, in_span(course, rows[0], i), i));
                }
                cell = table_cell(table);
                n = find_heaviest(course, i, false, ELEMENTSOF(rows), rows);
                for (size_t k = 0; k < n; k++) {
                        buffer_append_text(cell, k > 0 ? ", " : "");
                        append_row(cell, course, rows[k], true);
                        buffer_append_byte(cell, ' ');
                        compact_append_threads(cell,
                                               threads(course, in_span(course, rows[k], i), i));
                }
                table_end_row(table, 0);
        }
        return table_end(table);
}

/* many steps */

static void append_curve(Buffer *cell, const Course *course, const double *ns, double most) {
        static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584",
                                              "\u2585", "\u2586", "\u2587", "\u2588" };
        static const char letters[ELEMENTSOF(blocks)] = { '.', ':', '-', '=', '+', 'o', '*', '#' };
        const double n_heights = sizeof(letters);
        /* A pipe gets the same bytes wherever it leads. */
        bool utf8 = course->text->terminal->utf8;

        for (size_t i = 0; i < course->spans.n; i++) {
                double value = threads(course, ns[i], i);
                size_t height = most > 0 ? (size_t) (value / most * n_heights) : 0;

                height = MIN_OF(height, ELEMENTSOF(blocks) - 1);
                if (value <= 0)
                        buffer_append_byte(cell, ' ');
                else if (utf8)
                        buffer_append_text(cell, blocks[height]);
                else
                        buffer_append_byte(cell, letters[height]);
        }
        /* It ends where the recording does. */
        buffer_append_byte(cell, '|');
}

static void add_curve(Table *table, const Course *course, const char *place, const double *ns,
                      bool runs) {
        Range range = range_of(course, ns);
        int (*append)(Buffer *, double) = runs ? compact_append_cpus : compact_append_threads;

        buffer_append_text(table_cell(table), place);
        (void) append(table_cell(table), range.average);
        (void) append(table_cell(table), range.most);
        append_curve(table_cell(table), course, ns, range.most);
        table_end_row(table, 0);
}

static int print_curves(const Course *course, size_t *ret_hidden) {
        char header[64];
        const TableColumn columns[] = {
                { .header = "GROUP", .shrink_to = 12 },
                { .header = "PLACE" },
                { .header = "AVG", .right = true },
                { .header = "MOST", .right = true },
                { .header = header, .shrink_to = CURVE_COLUMNS },
        };
        const CourseText *text = course->text;
        _cleanup_(table_freep) Table *table = NULL;
        size_t n = 0, n_rows = course_store_n_rows(course->store);
        int r;

        (void) snprintf(header, sizeof(header), "COURSE (a column is %.3gs)",
                        (double) cell_u64(cell_member(text->first, "recording"), "everyNs") *
                                (double) course->spans.n_steps_each / NSEC_PER_SEC);
        r = table_new(columns, ELEMENTSOF(columns), text->terminal, text->legend, text->out,
                      &table);
        if (r < 0)
                return r;
        buffer_append_text(table_cell(table), "(all)");
        add_curve(table, course, place_names[RECORD_PLACE_running], course->running, true);
        if (is_counted(course, RECORD_PLACE_run_queue)) {
                buffer_append_text(table_cell(table), "(all)");
                add_curve(table, course, place_names[RECORD_PLACE_run_queue], course->run_queue,
                          false);
        }
        *ret_hidden = 0;
        for (size_t i = 0; i < n_rows; i++) {
                size_t row = course->order[i];
                _cleanup_(buffer_done) Buffer place = {};
                const char *word;

                if (text->limit > 0 && n >= text->limit) {
                        *ret_hidden = n_rows - i;
                        break;
                }
                printable_append_name(&place, course_store_place(course->store, row));
                r = buffer_terminate(&place, &word);
                if (r < 0)
                        return r;
                append_row(table_cell(table), course, row, false);
                add_curve(table, course, word, course->spans.ns + row * course->spans.n,
                          is_running(course->store, row));
                n++;
        }
        return table_end(table);
}

int course_text_print(const CourseText *text, const CourseStore *store) {
        bool has_lines = store->n_steps <= COURSE_LINES;
        const Lines lines = { .out = text->out, .terminal = text->terminal };
        _cleanup_(course_done) Course course = { .text = text, .store = store };
        size_t n_hidden = 0;
        int r;

        if (store->n_steps == 0) {
                (void) fputs("no steps\n", text->out);
                return 0;
        }
        r = course_init(&course, has_lines ? COURSE_LINES : CURVE_COLUMNS);
        if (r == 0)
                r = print_head(&course);
        if (r == 0) {
                (void) fputc('\n', text->out);
                r = has_lines ? print_steps(&course) : print_curves(&course, &n_hidden);
        }
        if (r == 0)
                r = print_notes(&course);
        if (r == 0 && n_hidden > 0 && text->is_chatty)
                lines_format(&lines, "", "%zu more line%s (--limit 0)", n_hidden,
                             n_hidden == 1 ? "" : "s");
        return r;
}
