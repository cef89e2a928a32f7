/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Views of recordings: what they are subjects of, and their stacks. */

#include "worker/worker.h"

#include <sys/mman.h>

#include "check-main.h"
#include "conversation.h"
#include "record/record-message.h"
#include "snapshot-fixture.h"

#define SHOW "io.ctprof.Profiler.Show"
#define COMPARE "io.ctprof.Profiler.Compare"
#define STACKS "io.ctprof.Profiler.Stacks"
#define SETS "io.ctprof.Profiler.CompareSets"
#define FILE_OF(fd) "{\"fileDescriptor\":" #fd ",\"label\":\"f" #fd "\"}"
#define ENDS_OF(from, to) "{\"fileDescriptor\":" #from ",\"label\":\"a\",\"to\":" FILE_OF(to) "}"

/* The first thread of the snapshots; its start is 50 ticks, and it ran for 2000 ns between them. */
#define RECORDED(long_ns, stack) RECORDED_UNTIL("1000005", "true", long_ns, stack)
#define RECORDED_UNTIL(end_ns, running, long_ns, stack)                                        \
        "{\"recording\":{\"formatVersion\":1,\"running\":" running ",\"startBoottimeNs\":5,"   \
        "\"endBoottimeNs\":" end_ns "},\"modules\":{\"columns\":[\"path\"],"                   \
        "\"rows\":[[\"/lib/a.so\"]]},"                                                         \
        "\"frames\":{\"columns\":[\"module\",\"offset\",\"name\"],\"rows\":[[0,0,\"main\"],"   \
        "[0,18,null],[\"kernel\",0,null]]},"                                                   \
        "\"stacks\":{\"columns\":[\"frames\"],\"rows\":[[[0,1,2]]]},"                          \
        "\"threads\":{\"columns\":[\"tid\",\"tgid\",\"start_boottime_ns\",\"comm\","           \
        "\"process\"],\"rows\":[[100,100,500000000,\"was\",\"was\"]]},"                        \
        "\"samples\":{\"columns\":[\"thread\",\"place\",\"stack\",\"long_ns\",\"long_count\"," \
        "\"short_ns\",\"short_count\",\"short_variance_us2\",\"max_ns\"],"                     \
        "\"rows\":[[0,\"running\"," stack "," long_ns ",1,0,0,0,7]]}}"

static uint32_t user_hz = 100; /* of the fixtures */
/* It waits for a lock, which it gave back itself. */
#define WOKEN                                                                                     \
        "{\"recording\":{\"formatVersion\":1,\"waiting\":true,\"wakers\":true,\"lostWakes\":3},"  \
        "\"frames\":{\"columns\":[\"module\",\"offset\",\"name\"],\"rows\":[[null,0,\"wait\"],"   \
        "[null,0,\"wake\"]]},\"stacks\":{\"columns\":[\"frames\"],\"rows\":[[[0]],[[1]]]},"       \
        "\"threads\":{\"columns\":[\"tid\",\"tgid\",\"start_boottime_ns\",\"comm\","              \
        "\"process\"],\"rows\":[[4000,4000,1,\"writer\",\"app\"]]},"                              \
        "\"samples\":{\"columns\":[\"thread\",\"place\",\"stack\",\"long_ns\",\"long_count\","    \
        "\"short_ns\",\"short_count\",\"short_variance_us2\",\"max_ns\",\"waker\","               \
        "\"waker_stack\",\"held_place\",\"held_stack\"],"                                         \
        "\"rows\":[[0,\"lock\",0,700,1,0,0,0,700,0,1,\"sleep\",0],[0,\"lock\",0,300,1,0,0,0,300," \
        "\"interrupt\",null,null,null]]}}"
#define WRITER "\"kind\":\"thread\",\"process\":\"app\",\"thread\":\"writer\""
#define HELD "\"held\":{\"place\":\"sleep\",\"frames\":[\"wait\"]}"

static const char *text_at(json_object *object) {
        return json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
}

static json_object *reply_with(const Conversation *answer, const char *key) {
        for (size_t i = 0; i < answer->n; i++)
                if (json_object_object_get_ex(answer->replies[i], key, NULL))
                        return json_object_object_get(answer->replies[i], key);
        return NULL;
}

static int end_of_recording(uint64_t seconds, uint64_t run_time_ns) {
        FixtureSnapshot snapshot = FIXTURE_SNAPSHOT;

        snapshot.user_hz = user_hz;
        snapshot.boottime_ns = seconds * NSEC_PER_SEC;
        snapshot.run_time_ns = run_time_ns;
        return fixture_snapshot(&snapshot);
}

static int recording_from(uint64_t seconds, const char *document) {
        int parts[] = { end_of_recording(seconds, 1000), end_of_recording(seconds + 2, 3000),
                        fixture_file("", 0) };
        Head head = fixture_head(&FIXTURE_SNAPSHOT);
        SnapshotFileWriter *writer;
        int fd = fixture_file("", 0);
        Head between = {};
        uint64_t n_bytes;

        ck_assert_int_eq(snapshot_file_writer_new(parts[2], &writer), 0);
        ck_assert_int_eq(snapshot_file_writer_write(writer, document, strlen(document)), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(writer, &between, &n_bytes), 0);
        (void) snapshot_file_writer_free(writer);
        ck_assert_int_eq(snapshot_file_join(parts, fd, &head, &n_bytes, NULL), 0);
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                (void) close(parts[i]);
        return fd;
}

static void ask(const char *method, const char *parameters, const int *fds, size_t n_fds,
                WorkerConfinement confinement, Conversation *ret) {
        converse(method, parameters, true, fds, n_fds, confinement, ret);
        ck_assert_int_eq(ret->status, 0);
        for (size_t i = 0; i < n_fds; i++)
                (void) close(fds[i]);
}

static void expect_refused(const Conversation *answer, const char *reason) {
        ck_assert_ptr_nonnull(answer->error);
        ck_assert_msg(strstr(text_at(answer->replies[answer->n - 1]), reason) != NULL, "%s",
                      text_at(answer->replies[answer->n - 1]));
}

START_TEST(a_recording_is_an_interval) {
        const int fd = recording_from(5, RECORDED("7", "0"));
        Conversation answer;

        ask(SHOW, "{\"snapshot\":" FILE_OF(0) ",\"view\":{}}", &fd, 1, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(json_object_get_string(reply_with(&answer, "kind")), "interval");
        ck_assert_str_eq(text_at(reply_with(&answer, "elapsedNs")), "2000000000");
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "before"), "fileKind", NULL)),
                         "\"recording\"");
        conversation_done(&answer);
}
END_TEST

START_TEST(two_recordings_are_two_intervals) {
        const int fds[] = { recording_from(5, RECORDED("7", "0")),
                            recording_from(9, RECORDED("7", "0")) };
        Conversation answer;

        ask(COMPARE, "{\"before\":" FILE_OF(0) ",\"after\":" FILE_OF(1) ",\"view\":{}}", fds, 2,
            WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(json_object_get_string(reply_with(&answer, "kind")), "intervals");
        conversation_done(&answer);
}
END_TEST

/* With an interval of two snapshots on the other side. */
START_TEST(a_recording_and_two_snapshots_are_two_intervals) {
        const int fds[] = { recording_from(5, RECORDED("7", "0")), end_of_recording(20, 1),
                            end_of_recording(21, 2) };
        Conversation answer;

        ask(COMPARE, "{\"before\":" FILE_OF(0) ",\"after\":" ENDS_OF(1, 2) ",\"view\":{}}", fds, 3,
            WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(json_object_get_string(reply_with(&answer, "kind")), "intervals");
        conversation_done(&answer);
}
END_TEST

START_TEST(a_recording_is_no_snapshot) {
        const int fds[] = { recording_from(5, RECORDED("7", "0")), end_of_recording(20, 1) };
        const int others[] = { recording_from(5, RECORDED("7", "0")), end_of_recording(20, 1) };
        const int last[] = { end_of_recording(1, 1), recording_from(5, RECORDED("7", "0")) };
        Conversation answer;

        ask(COMPARE, "{\"before\":" FILE_OF(0) ",\"after\":" FILE_OF(1) ",\"view\":{}}", fds, 2,
            WORKER_FREE, &answer);
        expect_refused(&answer, "both have to be of one sort");
        conversation_done(&answer);
        ask(SHOW, "{\"snapshot\":" ENDS_OF(0, 1) ",\"view\":{}}", others, 2, WORKER_FREE, &answer);
        expect_refused(&answer, "a recording is an interval itself");
        conversation_done(&answer);
        ask(SHOW, "{\"snapshot\":" ENDS_OF(0, 1) ",\"view\":{}}", last, 2, WORKER_FREE, &answer);
        ck_assert_ptr_nonnull(answer.error);
        conversation_done(&answer);
}
END_TEST

static void check_stacks(WorkerConfinement confinement) {
        const int fd = recording_from(5, RECORDED("500", "0"));
        Conversation answer;
        json_object *stack;

        if (cannot_be_tried(confinement)) {
                (void) close(fd);
                return;
        }
        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &fd, 1, confinement, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "snapshot"), "fileKind", NULL)),
                         "\"recording\"");
        ck_assert_str_eq(text_at(reply_with(&answer, "elapsedNs")), "1000000");
        ck_assert_str_eq(text_at(reply_with(&answer, "hiddenStacks")), "0");
        /* Three threads ran for 2000, 4000 and 6000 ns; of the first there is a sample. */
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "places"), "running", NULL)),
                         "12000");
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "stacks")), 4);
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 3);
        ck_assert_str_eq(text_at(json_path(stack, "frames", NULL)),
                         "[\"main\",\"[a.so+0x12]\",\"[kernel]\"]");
        ck_assert_str_eq(text_at(json_path(stack, "ns", NULL)), "500");
        ck_assert_str_eq(text_at(json_path(stack, "thread", NULL)), "\"worker-1\"");
        ck_assert_str_eq(text_at(json_path(stack, "exact", NULL)), "true");
        conversation_done(&answer);
}

START_TEST(stacks_have_the_time_of_their_threads) {
        check_stacks(WORKER_FREE);
        check_stacks(WORKER_CONFINED);
}
END_TEST

START_TEST(frames_are_in_files) {
        const int fd = recording_from(5, RECORDED("500", "0"));
        Conversation answer;
        json_object *stack;

        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"files\":true}", &fd, 1, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(text_at(reply_with(&answer, "files")),
                         "[{\"path\":\"\\/lib\\/a.so\",\"buildId\":\"\"}]");
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 3);
        ck_assert_str_eq(text_at(json_path(stack, "positions", NULL)), "[[0,0],[0,18],null]");
        /* What is no stack has no frames in files. */
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 0);
        ck_assert_str_eq(text_at(json_path(stack, "positions", NULL)), "[]");
        conversation_done(&answer);
}
END_TEST

/* The thread ran in two lines of one function for 600 ns each. */
#define LINED                                                                                      \
        "{\"recording\":{\"formatVersion\":1,\"running\":true,\"lines\":true,\"startBoottimeNs\":" \
        "5,"                                                                                       \
        "\"endBoottimeNs\":1000005},\"frames\":{\"columns\":[\"module\",\"offset\",\"name\","      \
        "\"file\","                                                                                \
        "\"line\"],\"rows\":[[null,0,\"main\",null,null],[null,0,\"burn\",\"/src/b.c\",7],"        \
        "[null,0,\"burn\",\"/src/b.c\",9]]},"                                                      \
        "\"stacks\":{\"columns\":[\"frames\"],\"rows\":[[[0,1]],[[0,2]]]},"                        \
        "\"threads\":{\"columns\":[\"tid\",\"tgid\",\"start_boottime_ns\",\"comm\","               \
        "\"process\"],\"rows\":[[100,100,500000000,\"was\",\"was\"]]},"                            \
        "\"samples\":{\"columns\":[\"thread\",\"place\",\"stack\",\"long_ns\",\"long_count\","     \
        "\"short_ns\",\"short_count\",\"short_variance_us2\",\"max_ns\"],"                         \
        "\"rows\":[[0,\"running\",0,600,1,0,0,0,7],[0,\"running\",1,600,1,0,0,0,8]]}}"

START_TEST(lines_are_told_where_they_are_asked_for) {
        const int fds[] = { recording_from(5, LINED), recording_from(5, LINED),
                            recording_from(5, RECORDED("7", "0")) };
        Conversation answer;
        json_object *stack;

        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"lines\":true}", &fds[0], 1, WORKER_FREE,
            &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "stacks")), 5);
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 3);
        ck_assert_str_eq(text_at(json_path(stack, "frames", NULL)), "[\"main\",\"burn\"]");
        ck_assert_str_eq(text_at(json_path(stack, "lines", NULL)), "[null,[\"\\/src\\/b.c\",7]]");
        ck_assert_str_eq(text_at(json_path(stack, "ns", NULL)), "600");
        conversation_done(&answer);
        /* Without, it is one function. */
        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &fds[1], 1, WORKER_FREE, &answer);
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "stacks")), 4);
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 2);
        ck_assert_str_eq(text_at(json_path(stack, "frames", NULL)), "[\"main\",\"burn\"]");
        ck_assert_ptr_null(json_path(stack, "lines", NULL));
        ck_assert_str_eq(text_at(json_path(stack, "ns", NULL)), "1200");
        ck_assert_str_eq(text_at(json_path(stack, "maxNs", NULL)), "8");
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"lines\":true}", &fds[2], 1, WORKER_FREE,
            &answer);
        expect_refused(&answer, "made without lines");
        conversation_done(&answer);
}
END_TEST

START_TEST(the_heaviest_stacks_come_first) {
        const int fd = recording_from(5, RECORDED("7", "null"));
        Conversation answer;
        json_object *stack;

        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"limit\":1}", &fd, 1, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "stacks")), 1);
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 0);
        ck_assert_str_eq(text_at(json_path(stack, "ns", NULL)), "6000");
        ck_assert_str_eq(text_at(json_path(stack, "frames", NULL)),
                         "[\"[too short to be sampled]\"]");
        ck_assert_str_eq(text_at(reply_with(&answer, "hiddenStacks")), "3");
        conversation_done(&answer);
}
END_TEST

/* The rows of one place in the order of their time, each as JSON without a blank. */
static json_object *row_of(const Conversation *answer, const char *place, size_t which) {
        json_object *all = reply_with(answer, "stacks");

        for (size_t i = 0; i < json_object_array_length(all); i++) {
                json_object *row = json_object_array_get_idx(all, i);

                if (strcmp(json_object_get_string(json_path(row, "place", NULL)), place) == 0 &&
                    which-- == 0)
                        return row;
        }
        ck_abort_msg("no such row of %s", place);
}

/* The same of two sets, in each recording of 2000 ns. */

#define FOR_2US(long_ns, stack) RECORDED_UNTIL("2005", "true", long_ns, stack)
// clang-format off
#define OF_SETS                                                                                \
        "{\"before\":[" FILE_OF(0) "," FILE_OF(1) "," FILE_OF(2) "," FILE_OF(3) "],"           \
        "\"after\":[" FILE_OF(4) "," FILE_OF(5) "," FILE_OF(6) "," FILE_OF(7) "," FILE_OF(8) "]," \
        "\"stacks\":true,\"places\":[\"running\"]"
// clang-format on

START_TEST(sets_have_stacks) {
        const int fds[] = {
                recording_from(5, FOR_2US("100", "0")),
                recording_from(15, FOR_2US("110", "0")),
                recording_from(25, FOR_2US("7", "null")),
                recording_from(35, FOR_2US("130", "0")),
                recording_from(45, FOR_2US("1500", "0")),
                recording_from(55, FOR_2US("1510", "0")),
                recording_from(65, FOR_2US("1520", "0")),
                recording_from(75, FOR_2US("1530", "0")),
                /* It took no samples of running time, so what it lacks was not looked for. */
                recording_from(85, RECORDED_UNTIL("2005", "false", "7", "null")),
        };
        Conversation answer;
        json_object *stack;

        ask(SETS, OF_SETS "}", fds, ELEMENTSOF(fds), WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(json_object_get_string(reply_with(&answer, "kind")), "sets");
        ck_assert_str_eq(text_at(reply_with(&answer, "tested")), "1");
        ck_assert_str_eq(text_at(reply_with(&answer, "significant")), "1");
        ck_assert_str_eq(text_at(reply_with(&answer, "overflowStacks")), "0");
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "recordedAfter")), 5);
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 0);
        ck_assert_str_eq(text_at(json_path(stack, "frames", NULL)),
                         "[\"main\",\"[a.so+0x12]\",\"[kernel]\"]");
        /* A recording without a sample of it counts as 0: of 0, 50, 55 and 65 ms a second. */
        ck_assert_str_eq(text_at(json_path(stack, "before", NULL)),
                         "{\"n\":4,\"median\":52500000,\"min\":0,\"max\":65000000,"
                         "\"q1\":37500000,\"q3\":57500000}");
        ck_assert_str_eq(text_at(json_path(stack, "after", "n", NULL)), "4");
        ck_assert_str_eq(text_at(json_path(stack, "delta", NULL)), "705000000");
        ck_assert_double_eq_tol(json_object_get_double(json_path(stack, "pAdjusted", NULL)),
                                2.0 / 70, 1e-12);
        ck_assert_str_eq(text_at(json_path(stack, "significant", NULL)), "true");
        /* What has no sample is no stack: of 12 us of three threads in 2 us the rest. */
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "stacks")), 2);
        ck_assert_str_eq(
                text_at(json_path(reply_with(&answer, "unsampled"), "before", "max", NULL)),
                "5996500000");
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "unsampled"), "after", "n", NULL)),
                         "5");
        /* In one recording there was no room for the stack. */
        stack = json_object_array_get_idx(reply_with(&answer, "stacks"), 1);
        ck_assert_str_eq(text_at(json_path(stack, "reason", NULL)),
                         "\"not tested: it stands for many stacks\"");
        ck_assert_ptr_null(json_path(stack, "p", NULL));
        conversation_done(&answer);
}
END_TEST

START_TEST(sets_with_an_interval_have_none) {
        const int fds[] = { recording_from(5, FOR_2US("7", "0")),
                            recording_from(15, FOR_2US("7", "0")),
                            recording_from(25, FOR_2US("7", "0")), end_of_recording(35, 1) };
        Conversation answer;

        ask(SETS,
            "{\"before\":[" FILE_OF(0) "," FILE_OF(1) "],\"after\":[" FILE_OF(2) "," FILE_OF(
                    3) "],\"stacks\":true}",
            fds, ELEMENTSOF(fds), WORKER_FREE, &answer);
        expect_refused(&answer, "f3 was not recorded, and has no stacks");
        conversation_done(&answer);
}
END_TEST

START_TEST(waits_have_wakers) {
        const int fd = recording_from(5, WOKEN), again = recording_from(5, WOKEN);
        const int without = recording_from(5, RECORDED("7", "0"));
        Conversation answer;
        json_object *row;

        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &fd, 1, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        row = row_of(&answer, "lock", 0);
        ck_assert_str_eq(text_at(json_path(row, "ns", NULL)), "1000");
        ck_assert_str_eq(text_at(json_path(row, "wokenBy", NULL)),
                         "{" WRITER ",\"ns\":700," HELD "}");
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "recording"), "lostWakes", NULL)),
                         "3");
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"wakers\":true}", &again, 1, WORKER_FREE,
            &answer);
        ck_assert_ptr_null(answer.error);
        row = row_of(&answer, "lock", 0);
        ck_assert_str_eq(text_at(json_path(row, "ns", NULL)), "700");
        ck_assert_str_eq(text_at(json_path(row, "frames", NULL)), "[\"wait\"]");
        ck_assert_str_eq(text_at(json_path(row, "waker", NULL)), "{" WRITER "," HELD "}");
        ck_assert_str_eq(text_at(json_path(row, "wakerFrames", NULL)), "[\"wake\"]");
        row = row_of(&answer, "lock", 1);
        ck_assert_str_eq(text_at(json_path(row, "waker", NULL)), "{\"kind\":\"interrupt\"}");
        ck_assert_str_eq(text_at(json_path(row, "wakerFrames", NULL)), "[\"[too many stacks]\"]");
        /* Only waits have any. */
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "stacks")), 2);
        ck_assert(!json_object_object_get_ex(reply_with(&answer, "places"), "running", NULL));
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"wakers\":true}", &without, 1, WORKER_FREE,
            &answer);
        expect_refused(&answer, "the recording was made without wakers");
        conversation_done(&answer);
}
END_TEST

/* It waits for more files than are told, one of which nobody knows. */
START_TEST(waits_are_on_objects) {
        _cleanup_(buffer_done) Buffer text = {};
        Conversation answer;
        const char *document;
        json_object *row;
        int fd;

        (void) buffer_append_text(
                &text, "{\"recording\":{\"formatVersion\":1,\"waiting\":true,\"objects\":true},"
                       "\"threads\":{\"columns\":[\"tid\",\"tgid\",\"start_boottime_ns\",\"comm\","
                       "\"process\"],\"rows\":[[4000,4000,1,\"writer\",\"app\"]]},"
                       "\"objects\":{\"columns\":[\"kind\",\"name\"],\"rows\":[");
        for (unsigned i = 0; i < 20; i++)
                (void) buffer_append_format(&text, "%s[\"file\",\"/%u\"]", i > 0 ? "," : "", i);
        (void) buffer_append_text(
                &text, "]},\"samples\":{\"columns\":[\"thread\",\"place\",\"stack\",\"long_ns\","
                       "\"long_count\",\"short_ns\",\"short_count\",\"short_variance_us2\","
                       "\"max_ns\",\"object\"],\"rows\":[[0,\"pipe\",null,1,1,0,0,0,1,\"others\"],"
                       "[0,\"pipe\",null,1,1,0,0,0,1,null],[0,\"lock\",null,1,1,0,0,0,1,null]");
        for (unsigned i = 0; i < 20; i++)
                (void) buffer_append_format(&text, ",[0,\"pipe\",null,%u,1,0,0,0,1,%u]", i + 1, i);
        (void) buffer_append_text(&text, "]}}");
        ck_assert_int_eq(buffer_terminate(&text, &document), 0);
        fd = recording_from(5, document);
        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &fd, 1, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        row = row_of(&answer, "pipe", 0);
        ck_assert_str_eq(text_at(json_path(row, "ns", NULL)), "212");
        ck_assert_str_eq(text_at(json_path(row, "otherObjectsNs", NULL)), "11");
        row = json_path(row, "objects", NULL);
        ck_assert_uint_eq(json_object_array_length(row), 16);
        ck_assert_str_eq(text_at(json_object_array_get_idx(row, 0)),
                         "{\"kind\":\"file\",\"name\":\"\\/19\",\"ns\":20}");
        ck_assert_str_eq(text_at(json_object_array_get_idx(row, 15)),
                         "{\"kind\":\"file\",\"name\":\"\\/4\",\"ns\":5}");
        ck_assert(!json_object_object_get_ex(row_of(&answer, "lock", 0), "objects", NULL));
        conversation_done(&answer);
}
END_TEST

#define COUNTED                                                                                \
        "{\"recording\":{\"formatVersion\":1,\"waiting\":true,\"histogram\":true,"             \
        "\"unknownLengths\":2},\"lengths\":{\"columns\":[\"process\",\"comm\",\"place\","      \
        "\"at_least_ns\",\"count\",\"ns\"],\"rows\":[[\"app\",\"app\",\"sleep\",1000,2,3000]," \
        "[\"app\",\"work\",\"lock\",0,1,500],[\"app\",\"work\",\"lock\",1073741824000,1,"      \
        "1073741824001],[\"db\",\"db\",\"run_queue\",4000,3,15000],"                           \
        "[\"app\",\"app\",\"sleep\",1000,1,1500]]}}"

START_TEST(waits_have_lengths) {
        const int fd = recording_from(5, COUNTED), again = recording_from(5, COUNTED);
        const int without = recording_from(5, RECORDED("7", "0"));
        const int both = recording_from(5, COUNTED);
        Conversation answer;

        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"histogram\":true}", &fd, 1, WORKER_FREE,
            &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_str_eq(
                text_at(reply_with(&answer, "histograms")),
                "[{\"process\":\"app\",\"thread\":\"work\",\"place\":\"lock\",\"count\":2,"
                "\"ns\":1073741824501,\"buckets\":[{\"atLeastNs\":0,\"belowNs\":1000,"
                "\"count\":1,\"ns\":500},{\"atLeastNs\":1073741824000,\"belowNs\":null,"
                "\"count\":1,\"ns\":1073741824001}]},"
                "{\"process\":\"db\",\"thread\":\"db\",\"place\":\"run_queue\",\"count\":3,"
                "\"ns\":15000,\"buckets\":[{\"atLeastNs\":4000,\"belowNs\":8000,\"count\":3,"
                "\"ns\":15000}]},"
                "{\"process\":\"app\",\"thread\":\"app\",\"place\":\"sleep\",\"count\":3,"
                "\"ns\":4500,\"buckets\":[{\"atLeastNs\":1000,\"belowNs\":2000,\"count\":3,"
                "\"ns\":4500}]}]");
        ck_assert_str_eq(text_at(reply_with(&answer, "hiddenHistograms")), "0");
        ck_assert_str_eq(
                text_at(json_path(reply_with(&answer, "recording"), "unknownLengths", NULL)), "2");
        ck_assert(!json_object_object_get_ex(reply_with(&answer, "places"), "running", NULL));
        conversation_done(&answer);
        ask(STACKS,
            "{\"recording\":" FILE_OF(0) ",\"histogram\":true,\"limit\":1,"
                                         "\"places\":[\"sleep\",\"run_queue\"]}",
            &again, 1, WORKER_FREE, &answer);
        ck_assert_ptr_null(answer.error);
        ck_assert_uint_eq(json_object_array_length(reply_with(&answer, "histograms")), 1);
        ck_assert_str_eq(text_at(json_path(reply_with(&answer, "places"), "lock", NULL)),
                         "1073741824501");
        ck_assert_str_eq(text_at(reply_with(&answer, "hiddenHistograms")), "1");
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"histogram\":true}", &without, 1, WORKER_FREE,
            &answer);
        expect_refused(&answer, "the recording has none");
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) ",\"histogram\":true,\"wakers\":true}", &both, 1,
            WORKER_FREE, &answer);
        expect_refused(&answer, "Histograms do not tell who ended waits.");
        conversation_done(&answer);
}
END_TEST

START_TEST(stacks_that_are_not_there) {
        const int snapshot = end_of_recording(5, 1), other = recording_from(5, "{\"threads\":[]}");
        const int wrong = recording_from(5, RECORDED("7", "1"));
        Conversation answer;
        int timeless;

        user_hz = 0;
        timeless = recording_from(5, RECORDED("7", "0"));
        user_hz = 100;

        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &snapshot, 1, WORKER_FREE, &answer);
        expect_refused(&answer, "it is a snapshot, which has no stacks");
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &timeless, 1, WORKER_FREE, &answer);
        expect_refused(&answer, "its head does not say how long a tick is (userHz)");
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &other, 1, WORKER_FREE, &answer);
        ck_assert_ptr_nonnull(answer.error);
        conversation_done(&answer);
        ask(STACKS, "{\"recording\":" FILE_OF(0) "}", &wrong, 1, WORKER_FREE, &answer);
        expect_refused(&answer, "the number of a stack is expected");
        conversation_done(&answer);
}
END_TEST

/* What finds no room is told apart from a job that ends early. */
START_TEST(a_document_without_room_is_told) {
        static const RecordSummary summary;
        _cleanup_(freep) Order *order = order_new(ORDER_UNWIND);
        uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8], is_too_large = 2;
        int pair[2], output = _i == 0 ? memfd_create("room", MFD_CLOEXEC)
                                      : open("/dev/full", O_WRONLY | O_CLOEXEC);
        Conversation answer = { .fd = -EBADF };
        RecordMessage message;
        ConversationJob job;

        ck_assert_int_ge(output, 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        order->unwind.socket = 1;
        conversation_start(&job, JOB_UNWIND, SOCK_SEQPACKET, WORKER_FREE);
        conversation_send_order(job.fd, order, &pair[1], 1);
        ck_assert_int_eq(record_message_receive(pair[0], space, &message), 0);
        ck_assert_int_eq(message.kind, RECORD_MESSAGE_PROCESS);
        ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_END, &summary, sizeof(summary),
                                             NULL, 0, output),
                         0);
        ck_assert_int_eq(record_message_receive(pair[0], space, &message), 0);
        ck_assert_int_eq(message.kind, RECORD_MESSAGE_END);
        ck_assert_uint_eq(message.n, sizeof(is_too_large));
        memcpy(&is_too_large, message.body, sizeof(is_too_large));
        ck_assert_uint_eq(is_too_large, (unsigned) _i);
        conversation_hear(job.fd, &answer);
        ck_assert_ptr_null(answer.error);
        conversation_done(&answer);
        (void) close(job.fd);
        (void) conversation_await(&job);
        (void) close(output);
        (void) close(pair[0]);
        (void) close(pair[1]);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("recording-view");
        TCase *tcase = tcase_create("recording-view");

        tcase_add_test(tcase, a_recording_is_an_interval);
        tcase_add_test(tcase, two_recordings_are_two_intervals);
        tcase_add_test(tcase, a_recording_and_two_snapshots_are_two_intervals);
        tcase_add_test(tcase, a_recording_is_no_snapshot);
        tcase_add_test(tcase, stacks_have_the_time_of_their_threads);
        tcase_add_test(tcase, frames_are_in_files);
        tcase_add_test(tcase, the_heaviest_stacks_come_first);
        tcase_add_test(tcase, lines_are_told_where_they_are_asked_for);
        tcase_add_test(tcase, sets_have_stacks);
        tcase_add_test(tcase, sets_with_an_interval_have_none);
        tcase_add_test(tcase, waits_have_wakers);
        tcase_add_test(tcase, waits_are_on_objects);
        tcase_add_test(tcase, waits_have_lengths);
        tcase_add_test(tcase, stacks_that_are_not_there);
        tcase_add_loop_test(tcase, a_document_without_room_is_told, 0, 2);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
