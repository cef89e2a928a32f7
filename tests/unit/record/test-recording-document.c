/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include "base/buffer.h"
#include "metric/record-place.h"
#include "record/recording-document.h"

static int take_text(void *userdata, const char *bytes, size_t n) {
        return buffer_append(userdata, bytes, n);
}

typedef struct Text {
        Span rest;
} Text;

static int give_text(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        Text *text = userdata;

        *ret_n = text->rest.n < n_space ? text->rest.n : n_space;
        if (*ret_n > 0)
                memcpy(space, text->rest.bytes, *ret_n);
        text->rest = (Span){ text->rest.bytes + *ret_n, text->rest.n - *ret_n };
        return 0;
}

static int read_back(Span text, RecordingDocument *ret, char *ret_complaint) {
        Text source = { text };
        uint64_t offset;

        *ret = (RecordingDocument){};
        return recording_document_read(give_text, &source, 0, ret, &offset, ret_complaint);
}

static void fill(StackTable *table, Modules *modules) {
        const StackThread thread = { .start_boottime_ns = 5,
                                     .tid = 3,
                                     .tgid = 2,
                                     .comm = "wor\xffker",
                                     .process = "sixteen letters!" };
        StackSampleKey key = { .place = RECORD_PLACE_lock };
        uint32_t frames[3];
        size_t number;

        ck_assert_int_eq(modules_add(modules, 1, 2, SPAN_LITERAL("/usr/bin/some \"program\""),
                                     -EBADF, &number),
                         0);
        memcpy(modules->all[number]->build_id, "0123abcd", 9);
        ck_assert_int_eq(
                stack_table_add_frame(table, (uint32_t) number, 0x1234, (Span){}, &frames[0]), 0);
        ck_assert_int_eq(
                stack_table_add_frame(table, STACK_KERNEL, 0, SPAN_LITERAL("schedule"), &frames[1]),
                0);
        ck_assert_int_eq(stack_table_add_frame(table, STACK_NO_MODULE, 0,
                                               SPAN_LITERAL("[process ended]"), &frames[2]),
                         0);
        ck_assert_int_eq(stack_table_add_stack(table, frames, 3, &key.stack), 0);
        ck_assert_int_eq(stack_table_add_thread(table, &thread, &key.thread), 0);
        ck_assert_int_eq(stack_table_add_sample(table, &key, 50, 50), 0);
        ck_assert_int_eq(stack_table_add_sample(table, &key, 3000000, 10000000), 0);
        ck_assert_int_eq(stack_table_add_stack(table, NULL, 0, &key.stack), 0);
        key.place = RECORD_PLACE_running;
        ck_assert_int_eq(stack_table_add_sample(table, &key, 0, 10000000), 0);
        key.stack = STACK_NONE;
        ck_assert_int_eq(stack_table_add_sample(table, &key, 7, 7), 0);
}

/* Waits that were ended by each kind of waker. */
static void add_wakers(StackTable *table) {
        static const StackSampleKey keys[] = {
                { .waker = STACK_WAKER_UNKNOWN },
                { .waker = STACK_WAKER_LATER },
                { .waker = STACK_WAKER_INTERRUPT, .waker_stack = 1 },
                { .waker = STACK_WAKER_INTERRUPT, .waker_stack = STACK_NONE },
                { .waker = STACK_WAKER_FIRST, .waker_stack = 0 },
                { .waker = STACK_WAKER_FIRST, .held = RECORD_PLACE_sleep + 1, .held_stack = 1 },
                { .waker = STACK_WAKER_FIRST, .held = 1, .held_stack = STACK_NONE },
        };

        const StackThread thread = { .tid = 4, .tgid = 4, .comm = "waker", .only_wakes = true };
        uint32_t number;

        ck_assert_int_eq(stack_table_add_thread(table, &thread, &number), 0);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                ck_assert_int_eq(stack_table_add_sample(table, &keys[i], 60, 60), 0);
}

START_TEST(what_is_written_is_read) {
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingFacts facts = { .period_ns = 10000000,
                                 .n_samples = 4,
                                 .n_lost_ring = 9,
                                 .waiting = true,
                                 .has_clock = true,
                                 .ended_by = RECORD_END_BYTES,
                                 .unclocked = { 5000000000, "1,8-15,..." },
                                 .scope = { .filter = { .starter = 77,
                                                        .threads = RECORD_THREADS_KERNEL,
                                                        .pids = { 1, 4294967295 },
                                                        .n_pids = 2,
                                                        .uids = { 0 },
                                                        .n_uids = 1 },
                                            .comm = "ng\xffinx*",
                                            .cgroup = "/a/b",
                                            .min_ns = 5,
                                            .max_ns = 6 } };
        const RecordScope *scope;
        Buffer first = {}, second = {};
        RecordingDocument document;
        StackTable table = {};
        Modules modules = {};
        const StackSample *sample;

        fill(&table, &modules);
        record_scope_settle(&facts.scope);
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &first),
                0);
        ck_assert_msg(read_back(buffer_span(&first), &document, complaint) == 0, "%s", complaint);
        ck_assert_uint_eq(document.facts.n_lost_ring, 9);
        ck_assert_int_eq(document.facts.ended_by, RECORD_END_BYTES);
        ck_assert_str_eq(document.facts.unclocked.cpus, "1,8-15,...");
        ck_assert_uint_eq(document.facts.unclocked.ns, 5000000000);
        ck_assert(document.facts.waiting && !document.facts.running && document.facts.has_clock);
        scope = &document.facts.scope;
        ck_assert(scope->filter.is_on && scope->filter.starter != 0);
        ck_assert_uint_eq(scope->filter.threads, RECORD_THREADS_KERNEL);
        ck_assert_uint_eq(scope->filter.n_pids, 2);
        ck_assert_uint_eq(scope->filter.pids[1], 4294967295);
        ck_assert_uint_eq(scope->filter.n_uids, 1);
        ck_assert_str_eq(scope->comm, "ng\xffinx*");
        ck_assert_str_eq(scope->cgroup, "/a/b");
        ck_assert(scope->min_ns == 5 && scope->max_ns == 6);
        ck_assert_uint_eq(document.table.n_samples, 3);
        sample = &document.table.samples[0];
        ck_assert_uint_eq(sample->long_ns, 50);
        ck_assert_uint_eq(sample->short_ns, 10000000);
        ck_assert_uint_eq(sample->n_short, 1);
        ck_assert_uint_eq(sample->short_variance_us2, UINT64_C(10000) * 7000);
        ck_assert_uint_eq(sample->max_ns, 3000000);
        ck_assert_int_eq(memcmp(document.table.threads[0].comm, "wor\xffker", 8), 0);
        ck_assert_int_eq(recording_document_write(&document.facts, &document.table,
                                                  &document.course, &document.modules, take_text,
                                                  &second),
                         0);
        ck_assert(span_equal(buffer_span(&first), buffer_span(&second)));
        recording_document_done(&document);
        stack_table_done(&table);
        modules_done(&modules);
        buffer_done(&first);
        buffer_done(&second);
}
END_TEST

START_TEST(lines_are_written_and_read) {
        const RecordingFacts facts = { .lines = true, .n_lost_lines = 6 };
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        Buffer first = {}, second = {};
        RecordingDocument document;
        StackTable table = {};
        Modules modules = {};
        const StackFrame *frame;

        fill(&table, &modules);
        table.frames[0].line = 4294967295;
        ck_assert_int_eq(
                stack_table_add_name(&table, SPAN_LITERAL("/src/\xff.c"), &table.frames[0].file),
                0);
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &first),
                0);
        ck_assert_msg(read_back(buffer_span(&first), &document, complaint) == 0, "%s", complaint);
        ck_assert(document.facts.lines && document.facts.n_lost_lines == 6);
        frame = document.table.frames;
        ck_assert_uint_eq(frame->line, 4294967295);
        ck_assert_str_eq(document.table.names.bytes + frame->file, "/src/\xff.c");
        ck_assert(frame[1].line == 0 && frame[1].file == 0);
        ck_assert_int_eq(recording_document_write(&document.facts, &document.table,
                                                  &document.course, &document.modules, take_text,
                                                  &second),
                         0);
        ck_assert(span_equal(buffer_span(&first), buffer_span(&second)));
        recording_document_done(&document);
        stack_table_done(&table);
        modules_done(&modules);
        buffer_done(&first);
        buffer_done(&second);
}
END_TEST

static const struct {
        const char *text, *complaint;
} malformed[] = {
        { "{\"recording\":{},\"frames\":{\"columns\":[\"module\",\"offset\",\"file\",\"line\"],"
          "\"rows\":[[null,1,null,5]]}}",
          "a file of the source and a line are expected" },
        { "{\"recording\":{},\"frames\":{\"columns\":[\"module\",\"offset\",\"file\",\"line\"],"
          "\"rows\":[[null,1,\"a.c\",4294967296]]}}",
          "a file of the source and a line are expected" },
        { "{}", "the member \"recording\" is missing" },
        { "{\"recording\":{\"formatVersion\":2}}", "newer than this program reads" },
        { "{\"recording\":{\"filter\":{\"mood\":1}}}", "newer than this program reads" },
        { "{\"recording\":{\"filter\":{\"pids\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}}}",
          "a list of a few numbers is expected" },
        { "{\"recording\":{\"filter\":{\"uids\":[4294967296]}}}",
          "a list of a few numbers is expected" },
        { "{\"recording\":{\"filter\":{\"comm\":\"\"}}}", "a name is expected" },
        { "{\"recording\":{\"filter\":{\"threads\":\"some\"}}}", "there are no such threads" },
        { "{\"recording\":{},\"frames\":{\"columns\":[\"module\",\"offset\",\"name\"],"
          "\"rows\":[[0,1,null]]}}",
          "the number of a module is expected" },
        { "{\"recording\":{},\"frames\":{\"columns\":[\"module\",\"name\"],\"rows\":[[null,\"a\"]]}"
          "}",
          "the offset is missing" },
        { "{\"recording\":{},\"frames\":{\"columns\":[\"module\",\"offset\"],"
          "\"rows\":[[null,1],[null,1]]}}",
          "a frame is there twice" },
        { "{\"recording\":{},\"frames\":{\"columns\":[\"offset\",\"module\"],"
          "\"rows\":[[\"1\",null]]}}",
          "the offset is missing" },
        { "{\"recording\":{},\"frames\":{\"columns\":[\"offset\",\"module\"],"
          "\"rows\":[[1,[]]]}}",
          "a number, or a text, is expected" },
        { "{\"recording\":{},\"stacks\":{\"columns\":[\"frames\"],\"rows\":[[0]]}}",
          "a list of frames is expected" },
        { "{\"recording\":{},\"stacks\":{\"columns\":[\"frames\"],\"rows\":[[[0]]]}}",
          "the number of a frame is expected" },
        { "{\"recording\":{},\"stacks\":{\"columns\":[\"frames\"],\"rows\":[[[]],[[]]]}}",
          "a stack is there twice" },
        { "{\"recording\":{},\"threads\":{\"columns\":[\"tid\",\"tgid\",\"start_boottime_ns\","
          "\"comm\"],\"rows\":[[1,1,5,\"12345678901234567\"]]}}",
          "a thread with numbers, start and names is expected" },
        { "{\"recording\":{},\"samples\":{\"columns\":[\"thread\"],\"rows\":[[0]]}}",
          "a cell is missing" },
        { "{\"recording\":{\"coursePlaces\":[\"running\",\"mood\"]}}",
          "a list of places is expected" },
        { "{\"recording\":{},\"groups\":{\"columns\":[\"process\",\"thread\"],"
          "\"rows\":[[\"a\",\"b\"],[\"a\",\"b\"]]}}",
          "a group is there twice" },
        { "{\"recording\":{},\"groups\":{\"columns\":[\"process\"],"
          "\"rows\":[[\"12345678901234567\"]]}}",
          "names of a process and a thread are expected" },
        { "{\"recording\":{},\"steps\":{\"columns\":[\"begin_boottime_ns\"],\"rows\":[[1]]}}",
          "a cell is missing" },
        { "{\"recording\":{},\"steps\":{\"columns\":[\"begin_boottime_ns\",\"end_boottime_ns\","
          "\"threads\",\"ended\"],\"rows\":[[1,2,0,0],[3,4,0,0]]}}",
          "a step that begins where the last one ends is expected" },
        { "{\"recording\":{},\"course\":{\"columns\":[\"step\",\"group\",\"place\",\"ns\"],"
          "\"rows\":[[0,0,\"running\",1]]}}",
          "a step, a group and a place in their order are expected" },
#define WITH_LENGTH(cells)                                                            \
        "{\"recording\":{},\"lengths\":{\"columns\":[\"process\",\"comm\",\"place\"," \
        "\"at_least_ns\",\"count\",\"ns\"],\"rows\":[[" cells "]]}}"
        { WITH_LENGTH("\"a\",\"b\",\"sleep\",2000,1"), "" },
        { WITH_LENGTH("\"a\",\"b\",\"sleep\",2000,1,null"),
          "names, a place and numbers are expected" },
        { WITH_LENGTH("\"a\",\"b\",\"nowhere\",2000,1,1"),
          "names, a place and numbers are expected" },
        { WITH_LENGTH("\"12345678901234567\",\"b\",\"sleep\",2000,1,1"),
          "names, a place and numbers are expected" },
        { WITH_LENGTH("\"a\",\"b\",\"sleep\",2001,1,1"),
          "a length is 0, or 1000 times a power of two" },
        { WITH_LENGTH("\"a\",\"b\",\"sleep\",2147483648000,1,1"),
          "a length is 0, or 1000 times a power of two" },
#define WITH_TIME(cells)                                                                       \
        "{\"recording\":{},\"threads\":{\"columns\":[\"tid\",\"tgid\",\"start_boottime_ns\"]," \
        "\"rows\":[[1,1,5]]},\"times\":{\"columns\":[\"thread\",\"place\",\"ns\"],\"rows\":["  \
        "[" cells "]]}}"
        { WITH_TIME("1,\"lock\",7"), "the number of a thread, a place and a time are expected" },
        { WITH_TIME("0,\"mood\",7"), "the number of a thread, a place and a time are expected" },
        { WITH_TIME("0,\"lock\",null"), "the number of a thread, a place and a time are expected" },
};

START_TEST(malformed_documents) {
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingDocument document;

        ck_assert_int_eq(read_back(span_of(malformed[_i].text), &document, complaint),
                         JSON_E_MALFORMED);
        ck_assert_msg(strstr(complaint, malformed[_i].complaint) != NULL, "%s", complaint);
        recording_document_done(&document);
}
END_TEST

START_TEST(steps_are_written_where_they_were_asked_for) {
        static const CourseGroup groups[] = { { "app", "wor\xffker" }, { "sixteen letters!", "" } };
        static const CourseStep steps[] = { { 10, 20, 3, 1 }, { 20, 35, 2, 0 } };
        static const CourseCell cells[] = {
                { .step = 0, .group = 0, .place = RECORD_PLACE_lock, .ns = 7 },
                { .step = 0, .group = 1, .place = RECORD_PLACE_running, .ns = UINT64_MAX },
                { .step = 1, .group = 0, .place = RECORD_PLACE_lock, .ns = 1 },
        };
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingFacts facts = { .every_ns = 10,
                                 .n_unsettled = 1,
                                 .course_places = UINT64_C(1) << RECORD_PLACE_lock };
        Buffer first = {}, second = {}, without = {};
        RecordingDocument document;
        StackTable table = {};
        Modules modules = {};
        Course course = {};
        const char *all;
        uint32_t number;

        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                ck_assert_int_eq(course_add_group(&course, &groups[i], &number), 0);
        for (size_t i = 0; i < ELEMENTSOF(steps); i++)
                ck_assert_int_eq(course_add_step(&course, &steps[i]), 0);
        for (size_t i = 0; i < ELEMENTSOF(cells); i++)
                ck_assert_int_eq(course_add_cell(&course, &cells[i]), 0);
        ck_assert_int_eq(course_add_cell(&course, &cells[1]), -EBADMSG);
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &course, &modules, take_text, &first), 0);
        ck_assert_msg(read_back(buffer_span(&first), &document, complaint) == 0, "%s", complaint);
        ck_assert(document.facts.every_ns == 10 && document.facts.n_unsettled == 1 &&
                  document.facts.course_places == facts.course_places);
        ck_assert_uint_eq(document.course.n_groups, 2);
        ck_assert_int_eq(memcmp(document.course.groups, groups, sizeof(groups)), 0);
        ck_assert_uint_eq(document.course.n_steps, 2);
        ck_assert_int_eq(memcmp(document.course.steps, steps, sizeof(steps)), 0);
        ck_assert_uint_eq(document.course.n_cells, 3);
        ck_assert_int_eq(memcmp(document.course.cells, cells, sizeof(cells)), 0);
        ck_assert_int_eq(recording_document_write(&document.facts, &document.table,
                                                  &document.course, &document.modules, take_text,
                                                  &second),
                         0);
        ck_assert(span_equal(buffer_span(&first), buffer_span(&second)));
        facts.every_ns = 0;
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &course, &modules, take_text, &without),
                0);
        ck_assert_int_eq(buffer_terminate(&without, &all), 0);
        ck_assert_ptr_null(strstr(all, "course"));
        recording_document_done(&document);
        course_done(&course);
        buffer_done(&first);
        buffer_done(&second);
        buffer_done(&without);
}
END_TEST

START_TEST(times_are_written_where_they_are_known) {
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingFacts facts = { .n_samples = 1 };
        Buffer text = {}, without = {};
        RecordingDocument document;
        StackTable table = {};
        Modules modules = {};
        const char *all;

        fill(&table, &modules);
        add_wakers(&table); /* a second thread, of which they are not */
        ck_assert_int_eq(recording_document_write(&facts, &table, &(Course){}, &modules, take_text,
                                                  &without),
                         0);
        ck_assert_int_eq(buffer_terminate(&without, &all), 0);
        ck_assert_ptr_null(strstr(all, "\"times\""));
        table.threads[0].has_times = true;
        table.threads[0].ns[RECORD_PLACE_lock] = 5;
        table.threads[0].ns[RECORD_PLACE_running] = UINT64_MAX;
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &text),
                0);
        ck_assert_msg(read_back(buffer_span(&text), &document, complaint) == 0, "%s", complaint);
        ck_assert(document.table.threads[0].has_times && !document.table.threads[1].has_times);
        ck_assert_int_eq(memcmp(document.table.threads[0].ns, table.threads[0].ns,
                                sizeof(table.threads[0].ns)),
                         0);
        recording_document_done(&document);
        stack_table_done(&table);
        modules_done(&modules);
        buffer_done(&text);
        buffer_done(&without);
}
END_TEST

START_TEST(wakers_are_written_where_they_were_asked_for) {
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingFacts facts = { .wakers = true, .n_wakes = 5, .n_lost_wakes = 2 };
        Buffer text = {}, of_locks = {}, without = {};
        RecordingDocument document;
        StackTable table = {};
        Modules modules = {};
        const char *all;

        fill(&table, &modules);
        add_wakers(&table);
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &text),
                0);
        ck_assert_msg(read_back(buffer_span(&text), &document, complaint) == 0, "%s", complaint);
        ck_assert(document.facts.wakers && document.facts.n_lost_wakes == 2);
        ck_assert(!document.facts.holders);
        ck_assert_uint_eq(document.table.n_samples, table.n_samples);
        ck_assert(!document.table.threads[0].only_wakes && document.table.threads[1].only_wakes);
        for (size_t i = 0; i < table.n_samples; i++)
                ck_assert_int_eq(memcmp(&document.table.samples[i].key, &table.samples[i].key,
                                        sizeof(StackSampleKey)),
                                 0);
        recording_document_done(&document);
        /* Those of locks alone have the same columns. */
        facts.wakers = false;
        facts.holders = true;
        ck_assert_int_eq(recording_document_write(&facts, &table, &(Course){}, &modules, take_text,
                                                  &of_locks),
                         0);
        ck_assert_msg(read_back(buffer_span(&of_locks), &document, complaint) == 0, "%s",
                      complaint);
        ck_assert(!document.facts.wakers && document.facts.holders);
        ck_assert_uint_eq(document.facts.n_wakes, 5);
        ck_assert_int_eq(memcmp(&document.table.samples[table.n_samples - 1].key,
                                &table.samples[table.n_samples - 1].key, sizeof(StackSampleKey)),
                         0);
        recording_document_done(&document);
        facts.holders = false;
        ck_assert_int_eq(recording_document_write(&facts, &table, &(Course){}, &modules, take_text,
                                                  &without),
                         0);
        ck_assert_int_eq(buffer_terminate(&without, &all), 0);
        ck_assert_ptr_null(strstr(all, "waker_stack"));
        ck_assert_ptr_null(strstr(all, "only_wakes"));
        ck_assert_ptr_null(strstr(all, "lostWakes"));
        stack_table_done(&table);
        modules_done(&modules);
        buffer_done(&text);
        buffer_done(&of_locks);
        buffer_done(&without);
}
END_TEST

#define WITH_WAKER(cells)                                                                       \
        "{\"recording\":{},\"stacks\":{\"columns\":[\"frames\"],\"rows\":[[[]]]},"              \
        "\"threads\":{\"columns\":[\"tid\",\"tgid\",\"start_boottime_ns\",\"comm\"],"           \
        "\"rows\":[[1,1,5,\"a\"]]},\"samples\":{\"columns\":[\"thread\",\"place\",\"long_ns\"," \
        "\"long_count\",\"short_ns\",\"short_count\",\"short_variance_us2\",\"max_ns\","        \
        "\"waker\",\"waker_stack\"%s],\"rows\":[[0,\"lock\",1,1,0,0,0,1," cells "]]}}"

static const struct {
        const char *cells, *complaint; /* NULL: there is nothing wrong */
} waker_rows[] = {
        { "0,0", NULL },
        { "\"interrupt\",null", NULL },
        { "null,null", NULL },
        { "1,0", "the number of a thread is expected" },
        { "18446744073709551615,0", "the number of a thread is expected" },
        { "\"nobody\",0", "the number of a thread, or a waker, is expected" },
        { "0,1", "the number of a stack is expected" },
        { "\"interrupt\",4294967296", "the number of a stack is expected" },
        { "[],0", "a number, or a text, is expected" },
        { "0,0,\"sleep\",0", NULL },
        { "0,0,null,null", NULL },
        { "0,0,\"nowhere\",0", "a place is expected" },
        { "0,0,\"sleep\",1", "the number of a stack is expected" },
};

START_TEST(wakers_have_threads_and_stacks) {
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "", text[1024];
        RecordingDocument document;
        int r;

        (void) snprintf(text, sizeof(text), WITH_WAKER("%s"),
                        strstr(waker_rows[_i].cells, "0,0,") ? ",\"held_place\",\"held_stack\""
                                                             : "",
                        waker_rows[_i].cells);
        r = read_back(span_of(text), &document, complaint);
        ck_assert_int_eq(r, waker_rows[_i].complaint ? JSON_E_MALFORMED : 0);
        ck_assert_msg(strstr(complaint, waker_rows[_i].complaint ? waker_rows[_i].complaint : ""),
                      "%s", complaint);
        recording_document_done(&document);
}
END_TEST

START_TEST(objects_are_written_where_they_are_told) {
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingFacts facts = { .objects = true };
        Buffer text = {}, both = {}, without = {};
        RecordingDocument document;
        StackSampleKey key = { .place = RECORD_PLACE_pipe };
        StackTable table = {};
        Modules modules = {};
        const char *all;

        fill(&table, &modules);
        ck_assert_int_eq(stack_table_add_object(&table, RECORD_OBJECT_FILE,
                                                SPAN_LITERAL("/a \"b\"\xff"), &key.object),
                         0);
        ck_assert_int_eq(stack_table_add_sample(&table, &key, 60, 60), 0);
        ck_assert_int_eq(stack_table_add_object(&table, RECORD_OBJECT_FUTEX, SPAN_LITERAL("[heap]"),
                                                &key.object),
                         0);
        ck_assert_int_eq(stack_table_add_sample(&table, &key, 60, 60), 0);
        key.object = STACK_OBJECT_OTHERS;
        ck_assert_int_eq(stack_table_add_sample(&table, &key, 60, 60), 0);
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &text),
                0);
        ck_assert_msg(read_back(buffer_span(&text), &document, complaint) == 0, "%s", complaint);
        ck_assert(document.facts.objects);
        ck_assert_uint_eq(document.table.n_objects, 2);
        ck_assert_uint_eq(document.table.objects[1].kind, RECORD_OBJECT_FUTEX);
        ck_assert_str_eq(document.table.names.bytes + document.table.objects[0].name,
                         "/a \"b\"\xff");
        for (size_t i = 0; i < table.n_samples; i++)
                ck_assert_int_eq(memcmp(&document.table.samples[i].key, &table.samples[i].key,
                                        sizeof(StackSampleKey)),
                                 0);
        recording_document_done(&document);
        /* With wakers, too, they have a column of their own. */
        facts.holders = true;
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &both),
                0);
        ck_assert_msg(read_back(buffer_span(&both), &document, complaint) == 0, "%s", complaint);
        ck_assert_uint_eq(document.table.samples[table.n_samples - 1].key.object,
                          STACK_OBJECT_OTHERS);
        recording_document_done(&document);
        facts.objects = false;
        ck_assert_int_eq(recording_document_write(&facts, &table, &(Course){}, &modules, take_text,
                                                  &without),
                         0);
        ck_assert_int_eq(buffer_terminate(&without, &all), 0);
        ck_assert_ptr_null(strstr(all, "object"));
        ck_assert_ptr_null(strstr(all, "heap"));
        stack_table_done(&table);
        modules_done(&modules);
        buffer_done(&text);
        buffer_done(&both);
        buffer_done(&without);
}
END_TEST

#define WITH_OBJECT(object, cell)                                                                  \
        "{\"recording\":{\"objects\":true},\"threads\":{\"columns\":[\"tid\",\"tgid\","            \
        "\"start_boottime_ns\"],\"rows\":[[1,1,5]]},\"objects\":{\"columns\":[\"kind\",\"name\"]," \
        "\"rows\":[" object "]},\"samples\":{\"columns\":[\"thread\",\"place\",\"long_ns\","       \
        "\"long_count\",\"short_ns\",\"short_count\",\"short_variance_us2\",\"max_ns\","           \
        "\"object\"],\"rows\":[[0,\"lock\",1,1,0,0,0,1," cell "]]}}"

static const struct {
        const char *text, *complaint; /* NULL: there is nothing wrong */
} object_rows[] = {
        { WITH_OBJECT("[\"file\",\"/a\"]", "0"), NULL },
        { WITH_OBJECT("[\"file\",\"/a\"]", "null"), NULL },
        { WITH_OBJECT("", "\"others\""), NULL },
        { WITH_OBJECT("[\"file\",\"/a\"]", "1"), "the number of an object is expected" },
        { WITH_OBJECT("", "18446744073709551615"), "the number of an object is expected" },
        { WITH_OBJECT("", "\"nothing\""), "the number of an object is expected" },
        { WITH_OBJECT("[\"door\",\"/a\"]", "0"), "a kind and a name are expected" },
        { WITH_OBJECT("[\"none\",\"/a\"]", "0"), "a kind and a name are expected" },
        { WITH_OBJECT("[\"file\",\"\"]", "0"), "a kind and a name are expected" },
        { WITH_OBJECT("[\"file\",null]", "0"), "a kind and a name are expected" },
        { WITH_OBJECT("[\"file\",\"/a\"],[\"file\",\"/a\"]", "0"), "an object is there twice" },
};

START_TEST(objects_have_kinds_and_names) {
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingDocument document;
        int r = read_back(span_of(object_rows[_i].text), &document, complaint);

        ck_assert_msg(r == (object_rows[_i].complaint ? JSON_E_MALFORMED : 0), "%s", complaint);
        ck_assert_msg(strstr(complaint, object_rows[_i].complaint ? object_rows[_i].complaint : ""),
                      "%s", complaint);
        recording_document_done(&document);
}
END_TEST

START_TEST(lengths_are_written_where_they_were_counted) {
        static const RecordLengthKey keys[] = {
                { .process = "app", .comm = "wor\xffker", .place = RECORD_PLACE_lock },
                { .process = "sixteen letters!", .place = RECORD_PLACE_run_queue },
        };
        static const RecordLengths lengths = {
                .n = { [0] = 1, [14] = 7, [RECORD_LENGTHS - 1] = UINT64_MAX },
                .ns = { [0] = 999, [14] = 60000000, [RECORD_LENGTHS - 1] = UINT64_MAX },
        };
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingFacts facts = { .histogram = true, .n_lost_lengths = 3, .n_unknown_lengths = 4 };
        Buffer text = {}, without = {};
        RecordingDocument document;
        StackTable table = {};
        Modules modules = {};
        const char *all;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                ck_assert_int_eq(stack_table_add_lengths(&table, &keys[i], &lengths), 0);
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &text),
                0);
        ck_assert_msg(read_back(buffer_span(&text), &document, complaint) == 0, "%s", complaint);
        ck_assert(document.facts.histogram && document.facts.n_lost_lengths == 3 &&
                  document.facts.n_unknown_lengths == 4);
        ck_assert_uint_eq(document.table.n_lengths, ELEMENTSOF(keys));
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                ck_assert_int_eq(
                        memcmp(&document.table.lengths[i], &table.lengths[i], sizeof(StackLengths)),
                        0);
        recording_document_done(&document);
        ck_assert_int_eq(buffer_terminate(&text, &all), 0);
        ck_assert_ptr_nonnull(strstr(all, "\"lock\",8192000,7,60000000]"));
        facts.histogram = false;
        ck_assert_int_eq(recording_document_write(&facts, &table, &(Course){}, &modules, take_text,
                                                  &without),
                         0);
        ck_assert_int_eq(buffer_terminate(&without, &all), 0);
        ck_assert_ptr_null(strstr(all, "engths"));
        stack_table_done(&table);
        modules_done(&modules);
        buffer_done(&text);
        buffer_done(&without);
}
END_TEST

/* Files have others, of earlier and of later versions. */
START_TEST(ends_that_are_not_known) {
        static const char *const texts[] = {
                "{\"recording\":{\"formatVersion\":1}}",
                "{\"recording\":{\"formatVersion\":1,\"endedBy\":\"moon\"}}",
        };
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        RecordingDocument document;
        JsonWriter writer;
        Buffer text = {};
        const char *told;

        ck_assert_msg(read_back(span_of(texts[_i]), &document, complaint) == 0, "%s", complaint);
        ck_assert_int_eq(document.facts.ended_by, RECORD_END_UNKNOWN);
        json_writer_init(&writer, &text);
        json_write_object(&writer);
        recording_facts_write(&writer, &document.facts);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&text, &told), 0);
        ck_assert_ptr_null(strstr(told, "endedBy"));
        buffer_done(&text);
        recording_document_done(&document);
}
END_TEST

/* Numbers as a busy hour has them: a file takes less than half of its text. */
START_TEST(what_is_estimated_is_enough) {
        RecordingFacts facts = { .every_ns = 1000000000, .wakers = true };
        StackTable table = {};
        Modules modules = {};
        Course course = {};
        Buffer text = {};
        uint32_t frames[40], number;
        uint64_t random = 1;
        char name[32];

        for (uint32_t i = 0; i < 5000; i++) {
                StackThread thread = { .start_boottime_ns = 987654321012345 + i,
                                       .tid = 4194000 - i,
                                       .tgid = 4194000 - i,
                                       .comm = "fifteen letters",
                                       .process = "fifteen letters" };
                StackSampleKey key = { .place = RECORD_PLACE_run_queue,
                                       .waker = STACK_WAKER_FIRST + i,
                                       .held = RECORD_PLACE_run_queue + 1 };

                for (size_t k = 0; k < ELEMENTSOF(frames); k++) {
                        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                        (void) snprintf(name, sizeof(name), "function_%u",
                                        (unsigned) (random >> 48));
                        ck_assert_int_eq(stack_table_add_frame(&table, STACK_KERNEL, random >> 40,
                                                               span_of(name), &frames[k]),
                                         0);
                }
                ck_assert_int_eq(
                        stack_table_add_stack(&table, frames, ELEMENTSOF(frames), &key.stack), 0);
                key.waker_stack = key.held_stack = key.stack;
                ck_assert_int_eq(stack_table_add_thread(&table, &thread, &key.thread), 0);
                ck_assert_int_eq(stack_table_add_sample(&table, &key, random >> 30, 10000000), 0);
                ck_assert_int_eq(stack_table_add_sample(&table, &key, 123456, 10000000), 0);
        }
        ck_assert_int_eq(course_add_group(&course, &(CourseGroup){ "app", "app" }, &number), 0);
        for (uint32_t i = 0; i < 3000; i++) {
                const CourseCell cell = { .step = i, .ns = 1000000000 + i };

                ck_assert_int_eq(
                        course_add_step(&course, &(CourseStep){ 987654321000000 + i,
                                                                987654321000001 + i, 1234, 56 }),
                        0);
                ck_assert_int_eq(course_add_cell(&course, &cell), 0);
        }
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &course, &modules, take_text, &text), 0);
        ck_assert_uint_ge(recording_document_estimate(&table, &course, &modules), text.n / 2);
        ck_assert_uint_le(recording_document_estimate(&table, &course, &modules), text.n);
        ck_assert_uint_ge(stack_table_bytes(&table),
                          table.n_numbers * sizeof(uint32_t) + table.n_frames * sizeof(StackFrame));
        stack_table_done(&table);
        course_done(&course);
        buffer_done(&text);
}
END_TEST

START_TEST(cut_documents) {
        char complaint[DOCUMENT_COMPLAINT_BYTES];
        RecordingFacts facts = {};
        RecordingDocument document;
        Buffer text = {};
        StackTable table = {};
        Modules modules = {};

        fill(&table, &modules);
        ck_assert_int_eq(
                recording_document_write(&facts, &table, &(Course){}, &modules, take_text, &text),
                0);
        for (size_t n = 0; n < text.n; n++) {
                ck_assert_int_eq(read_back((Span){ text.bytes, n }, &document, complaint),
                                 JSON_E_MALFORMED);
                recording_document_done(&document);
        }
        stack_table_done(&table);
        modules_done(&modules);
        buffer_done(&text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("recording-document");
        TCase *tcase = tcase_create("recording-document");

        tcase_add_test(tcase, what_is_written_is_read);
        tcase_add_test(tcase, lines_are_written_and_read);
        tcase_add_loop_test(tcase, malformed_documents, 0, ELEMENTSOF(malformed));
        tcase_add_test(tcase, steps_are_written_where_they_were_asked_for);
        tcase_add_test(tcase, times_are_written_where_they_are_known);
        tcase_add_test(tcase, wakers_are_written_where_they_were_asked_for);
        tcase_add_loop_test(tcase, wakers_have_threads_and_stacks, 0, ELEMENTSOF(waker_rows));
        tcase_add_test(tcase, objects_are_written_where_they_are_told);
        tcase_add_loop_test(tcase, objects_have_kinds_and_names, 0, ELEMENTSOF(object_rows));
        tcase_add_test(tcase, lengths_are_written_where_they_were_counted);
        tcase_add_loop_test(tcase, ends_that_are_not_known, 0, 2);
        tcase_add_test(tcase, what_is_estimated_is_enough);
        tcase_add_test(tcase, cut_documents);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
