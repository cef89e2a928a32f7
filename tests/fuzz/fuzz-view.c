/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * A View as it comes: an input that begins with '{' is the JSON of a call, any other is a command
 * line, one word a line. Written and read again a View is equal, and its text is a fixed point; the
 * order also through its words. What is refused leaves everything as it was, for one line that may
 * go to a terminal.
 *
 * Aims at: protocol/view/view.c, protocol/view/view-sort.c, protocol/view/view-part.c,
 *          protocol/view/view-words.c, protocol/view/glob.c,
 *          client/session/options.c, client/report/group/group-columns.c,
 *          client/session/complain.c, client/render/when.c
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/name.h"
#include "fuzz.h"
#include "view/view.h"
#include "view/view-part.h"
#include "json/json-scanner.h"
#include "plain.h"
#include "render/when.h"
#include "session/complain.h"
#include "report/group/group-columns.h"
#include "session/options.h"
#include "session/reference.h"
#include "wire/limits.h"
#include "wire/message-object.h"

#define MAX_WORDS 32
#define NOW_NS (UINT64_C(1795188901) * NSEC_PER_SEC)

/* equality */

static bool texts_equal(const ViewTexts *a, const ViewTexts *b) {
        if (a->n != b->n)
                return false;
        for (unsigned i = 0; i < a->n; i++)
                if (!span_equal(view_texts_get(a, i), view_texts_get(b, i)))
                        return false;
        return true;
}

static bool sort_equal(const ViewSort *a, const ViewSort *b) {
        if (a->order != b->order || a->n_keys != b->n_keys)
                return false;
        for (unsigned i = 0; i < a->n_keys; i++)
                if (a->keys[i].kind != b->keys[i].kind ||
                    a->keys[i].ascending != b->keys[i].ascending || a->keys[i].id != b->keys[i].id)
                        return false;
        return true;
}

static bool view_equal(const View *a, const View *b) {
        return a->axis == b->axis && a->thread_normalize == b->thread_normalize &&
               a->cgroup_normalize == b->cgroup_normalize &&
               texts_equal(&a->cgroup_flatten, &b->cgroup_flatten) &&
               a->has_sections == b->has_sections &&
               memcmp(a->sections, b->sections, sizeof(a->sections)) == 0 &&
               memcmp(a->tables, b->tables, sizeof(a->tables)) == 0 &&
               a->has_metrics == b->has_metrics &&
               memcmp(a->metrics, b->metrics, sizeof(a->metrics)) == 0 &&
               memcmp(a->derived, b->derived, sizeof(a->derived)) == 0 &&
               a->pairing == b->pairing && texts_equal(&a->pairs, &b->pairs) &&
               a->window == b->window && a->overview == b->overview && a->rows == b->rows &&
               a->spread == b->spread && a->limit == b->limit && sort_equal(&a->sort, &b->sort) &&
               span_equal((Span){ a->filter, a->n_filter }, (Span){ b->filter, b->n_filter }) &&
               a->has_threshold == b->has_threshold && !(a->threshold < b->threshold) &&
               !(b->threshold < a->threshold) && a->changed_only == b->changed_only &&
               a->self == b->self;
}

/* the View object */

static int read_object(Span text, json_object **ret) {
        const JsonLimits limits = { .max_depth = LIMIT_JSON_DEPTH, .max_token_bytes = text.n };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        JsonToken token;
        int r;

        fuzz_expect(json_scanner_new_text(text, &limits, &scanner) == 0, "memory");
        r = json_scanner_next(scanner, &token);
        return r == 0 ? message_object_read(scanner, token, &(size_t){ LIMIT_CALL_VALUES }, ret)
                      : r;
}

static void write_view(const View *view, Buffer *text) {
        JsonWriter writer;

        buffer_init(text, 0);
        json_writer_init(&writer, text);
        view_write_json(&writer, view);
        fuzz_expect(json_writer_finish(&writer) == 0, "every View can be written");
}

/* What its words say of the order is the order. */
static void check_sort(const ViewSort *sort) {
        _cleanup_(message_object_freep) json_object *word = NULL;
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        ViewSort again;
        JsonWriter writer;
        Buffer text, array;

        buffer_init(&array, 0);
        json_writer_init(&writer, &array);
        json_write_array(&writer);
        view_sort_write_json(&writer, sort);
        json_write_end(&writer);
        fuzz_expect(read_object(buffer_span(&array), &word) == 0, "an order is a text");
        buffer_init(&text, 0);
        fuzz_expect(buffer_append_text(
                            &text, json_object_get_string(json_object_array_get_idx(word, 0))) == 0,
                    "memory");
        fuzz_expect(view_sort_parse(buffer_span(&text), &again, complaint) == VIEW_OK,
                    "the words of an order are an order: %s", complaint);
        fuzz_expect(sort_equal(sort, &again), "they are the same order");
        buffer_done(&text);
        buffer_done(&array);
}

static void check_view(const View *view) {
        _cleanup_(message_object_freep) json_object *object = NULL;
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        Buffer once, twice;
        View again;

        write_view(view, &once);
        fuzz_expect(read_object(buffer_span(&once), &object) == 0, "what is written is an object");
        fuzz_expect(view_decode(object, &again, complaint) == VIEW_OK,
                    "what is written is a View: %s", complaint);
        fuzz_expect(view_equal(view, &again), "it is the same View");
        write_view(&again, &twice);
        fuzz_expect(span_equal(buffer_span(&once), buffer_span(&twice)),
                    "writing is a fixed point");
        check_sort(&view->sort);
        /* A glob that was taken can be matched against anything. */
        (void) view_filter_matches(view, buffer_span(&once));
        for (unsigned i = 0; i < view->cgroup_flatten.n; i++)
                (void) glob_matches_path(view_texts_get(&view->cgroup_flatten, i),
                                         buffer_span(&once));
        buffer_done(&once);
        buffer_done(&twice);
}

static void check_json(Span text) {
        _cleanup_(message_object_freep) json_object *object = NULL;
        char complaint[VIEW_COMPLAINT_BYTES] = "";
        View view, untouched;
        int r;

        if (read_object(text, &object) != 0)
                return;
        memset(&view, 0x5a, sizeof(view));
        untouched = view;
        r = view_decode(object, &view, complaint);
        if (r == VIEW_OK) {
                check_view(&view);
                return;
        }
        fuzz_expect(r == VIEW_E_INVALID, "a View is refused as invalid");
        fuzz_expect(memcmp(&view, &untouched, sizeof(view)) == 0, "a refused View is not written");
        expect_complaint(complaint);
}

/* the command line */

static void check_columns(const char *list) {
        char complaint[GROUP_COLUMNS_COMPLAINT_BYTES] = "";
        GroupColumns columns;

        for (unsigned sides = REPORT_SNAPSHOT; sides <= REPORT_PAIR; sides++) {
                if (group_columns_parse(list, (ReportKind) sides, &columns, complaint) != 0) {
                        expect_complaint(complaint);
                        continue;
                }
                fuzz_expect(columns.n > 0 && columns.n <= _GROUP_COLUMN_MAX, "there are columns");
                for (size_t i = 0; i < columns.n; i++)
                        for (size_t j = 0; j < i; j++)
                                fuzz_expect(columns.ids[i] != columns.ids[j],
                                            "no column is there twice");
        }
}

static void check_options(const Options *options) {
        check_view(&options->view);
        check_columns(options->columns);
        if (options_have(options, OPTION_TAG))
                fuzz_expect(!snapshot_name_complaint(span_of(options->tag)), "a tag is a name");
        for (size_t i = 0; i < options->n_arguments; i++) {
                const char *complaint = reference_complaint(options->arguments[i]);

                if (complaint)
                        expect_complaint(complaint);
        }
}

/* What a user may type for a moment, and how a moment is shown. */
static void check_when(const char *word) {
        uint64_t moment_ns = 0, again_ns = 0;
        char text[WHEN_CHARS];

        if (!when_parse(span_of(word), NOW_NS, &moment_ns))
                return;
        fuzz_expect(word[0] != '-' || moment_ns <= NOW_NS, "what was before now is before now");
        when_format(moment_ns, WHEN_CLOCK, text);
        expect_plain(span_of(text), '\0', "a moment");
        /* To the second, and to the end of the four digits of a year. */
        if (moment_ns < UINT64_C(253402300800) * NSEC_PER_SEC)
                fuzz_expect(when_parse(span_of(text), NOW_NS, &again_ns) &&
                                    again_ns / NSEC_PER_SEC == moment_ns / NSEC_PER_SEC,
                            "a moment that is shown can be typed without its zone");
}

static void check_words(int argc, char *argv[]) {
        char complaint[OPTIONS_COMPLAINT_BYTES] = "", quoted[QUOTE_BYTES];
        Options options;
        int r;

        for (int i = 1; i < argc; i++) {
                check_when(argv[i]);
                expect_plain(span_of(quote(argv[i], quoted)), '\0', "what is quoted");
        }
        r = options_parse(argc, argv, NOW_NS, &options, complaint);
        if (r == 0) {
                check_options(&options);
                return;
        }
        fuzz_expect(r == OPTIONS_E_INVALID, "a command line is refused as invalid");
        expect_complaint(complaint);
}

static void check_command_line(FuzzInput input) {
        char *argv[MAX_WORDS + 1] = { NULL };
        char program[] = "ctprofctl", *words[MAX_WORDS];
        int argc = 0;

        argv[argc++] = program;
        while (argc < MAX_WORDS && input.n > 0) {
                Span word = fuzz_take_until(&input, '\n');

                words[argc] = strndup(word.n > 0 ? word.bytes : "", word.n);
                fuzz_expect(words[argc], "memory");
                argv[argc] = words[argc];
                argc++;
        }
        check_words(argc, argv);
        for (int i = 1; i < argc; i++) /* argv is in another order by now */
                free(words[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static bool has_zone;

        if (!has_zone)
                has_zone = setenv("TZ", "UTC", 1) == 0;
        if (size > 0 && data[0] == '{')
                check_json((Span){ (const char *) data, size });
        else
                check_command_line(fuzz_input(data, size));
        return 0;
}
