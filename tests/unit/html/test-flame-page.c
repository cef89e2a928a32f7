/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/flame-page.h"

#include <check.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"

#define PIECE "<script type=\"application/json\" class=\"data\">"

static const char stacks[] =
        "[{\"process\":\"light\",\"thread\":\"light\",\"place\":\"lock\",\"ns\":5,\"samples\":1,"
        "\"exact\":true,\"frames\":[\"main\"]},"
        "{\"process\":\"heavy\",\"thread\":\"</script>\",\"place\":\"running\",\"ns\":20,"
        "\"samples\":7,\"standardErrorNs\":3,\"exact\":false,\"frames\":[\"main\",\"f\"]},"
        "{\"process\":\"heavy\",\"thread\":\"heavy\",\"place\":\"running\",\"ns\":10,\"samples\":2,"
        "\"standardErrorNs\":0,\"exact\":false,\"frames\":[\"main\",\"f\",\"a\\u202eb\"]}]";

static const char *const parts[] = {
        PIECE "[{\"info\":{\"version\":\"",
        "\"snapshot\":{\"name\":\"r\"},\"elapsedNs\":9,\"recording\":null,\"places\":{\"lock\":5},"
        "\"stacks\":3,\"frames\":6,\"rests\":[]}}]</script>\n",
        PIECE "[{\"places\":[\"lock\",\"running\"]}]</script>\n",
        PIECE "[{\"names\":[\"light\",\"heavy\",\"\\u003c/script\\u003e\"]}]</script>\n",
        PIECE "[{\"functions\":[\"main\",\"f\",\"a",
        /* the heaviest process first, and of each stack only what the one before has not */
        PIECE "[{\"stacks\":[1,2,1,20,7,3,0,2,0,1,1,1,1,10,2,1,2,1,2,0,0,0,5,1,0,1,0]}]</script>\n",
        PIECE "[{\"end\":{}}]</script>\n",
};

START_TEST(a_page_has_each_name_once) {
        json_object *first = json_tokener_parse(
                "{\"snapshot\":{\"name\":\"r\"},\"elapsedNs\":9,\"places\":{\"lock\":5}}");
        json_object *rows = json_tokener_parse(stacks);
        StackStore store = {};
        char *text = NULL;
        const char *at;
        size_t n;
        FILE *file = open_memstream(&text, &n);

        for (size_t i = 0; i < json_object_array_length(rows); i++)
                ck_assert_int_eq(stack_store_add(&store, 0, json_object_array_get_idx(rows, i)), 0);
        ck_assert_int_eq(
                flame_page_write(file, &store, &(CourseStore){}, (json_object *const[2]){ first }),
                0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_int_eq(strncmp(text, flame_page_head, strlen(flame_page_head)), 0);
        ck_assert_str_eq(text + n - strlen(flame_page_tail), flame_page_tail);
        at = text;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                at = strstr(at, parts[i]);
                ck_assert_msg(at, "%s is not there, or out of order: %s", parts[i],
                              strstr(text, PIECE));
        }
        ck_assert_ptr_null(strstr(text, "\u202e"));
        free(text);
        stack_store_done(&store);
        (void) json_object_put(rows);
        (void) json_object_put(first);
}
END_TEST

static const char steps[] =
        "[{\"beginBoottimeNs\":5,\"endBoottimeNs\":15,\"threads\":1,\"ended\":0,\"groups\":["
        "{\"process\":\"a\",\"thread\":\"</script>\",\"places\":{\"lock\":3,\"running\":7}}]},"
        "{\"beginBoottimeNs\":15,\"endBoottimeNs\":25,\"threads\":1,\"ended\":0,\"groups\":["
        "{\"process\":\"a\",\"thread\":\"</script>\",\"places\":{\"running\":10}}]}]";

START_TEST(a_page_has_the_steps_of_a_recording) {
        json_object *first = json_tokener_parse("{}"), *rows = json_tokener_parse(steps);
        StackStore store = {};
        CourseStore course = {};
        char *text = NULL;
        size_t n;
        FILE *file = open_memstream(&text, &n);

        for (size_t i = 0; i < json_object_array_length(rows); i++)
                ck_assert_int_eq(course_store_add(&course, json_object_array_get_idx(rows, i)), 0);
        ck_assert_int_eq(flame_page_write(file, &store, &course, (json_object *const[2]){ first }),
                         0);
        ck_assert_int_eq(fclose(file), 0);
        /* the heaviest row first; of others there is nothing in either place */
        ck_assert_ptr_nonnull(strstr(
                text, PIECE "[{\"course\":{\"rows\":[[\"a/\\u003c/script\\u003e\",\"running\"],"
                            "[\"a/\\u003c/script\\u003e\",\"lock\"],[\"(others)\",\"lock\"],"
                            "[\"(others)\",\"running\"]],"
                            "\"steps\":[[0,10,7,3,0,0],[10,20,10,0,0,0]]}}]</script>\n"));
        free(text);
        course_store_done(&course);
        (void) json_object_put(rows);
        (void) json_object_put(first);
}
END_TEST

START_TEST(an_empty_recording_has_a_page) {
        json_object *first = json_tokener_parse("{}");
        StackStore store = {};
        char *text = NULL;
        size_t n;
        FILE *file = open_memstream(&text, &n);

        ck_assert_int_eq(
                flame_page_write(file, &store, &(CourseStore){}, (json_object *const[2]){ first }),
                0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_ptr_nonnull(strstr(text, "\"stacks\":0,\"frames\":0,\"rests\":[]}}]"));
        ck_assert_ptr_nonnull(strstr(text, PIECE "[{\"end\":{}}]"));
        free(text);
        stack_store_done(&store);
        (void) json_object_put(first);
}
END_TEST

START_TEST(two_recordings_have_both_numbers) {
        json_object *firsts[2] = { json_tokener_parse("{\"elapsedNs\":9}"),
                                   json_tokener_parse("{\"elapsedNs\":7}") };
        json_object *rows = json_tokener_parse(stacks);
        StackStore store = { .elapsed_ns = { 9, 7 } };
        char *text = NULL;
        size_t n;
        FILE *file = open_memstream(&text, &n);

        for (size_t i = 0; i < json_object_array_length(rows); i++)
                ck_assert_int_eq(stack_store_add(&store, i > 0, json_object_array_get_idx(rows, i)),
                                 0);
        ck_assert_int_eq(stack_store_add(&store, 0, json_object_array_get_idx(rows, 1)), 0);
        ck_assert_int_eq(stack_store_match(&store), 0);
        ck_assert_int_eq(flame_page_write(file, &store, &(CourseStore){}, firsts), 0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_ptr_nonnull(strstr(text, "\"elapsedNs\":7,\"recording\":null,\"places\":null,"
                                           "\"before\":{\"snapshot\":null,\"elapsedNs\":9,"));
        /* The thread of one name keeps it; what is not there is 0. */
        ck_assert_ptr_nonnull(strstr(text, PIECE "[{\"stacks\":[1,2,1,20,7,3,20,7,3,0,2,0,1,"));
        free(text);
        stack_store_done(&store);
        (void) json_object_put(rows);
        for (size_t i = 0; i < ELEMENTSOF(firsts); i++)
                (void) json_object_put(firsts[i]);
}
END_TEST

START_TEST(the_page_allows_nothing_but_itself) {
        ck_assert_ptr_nonnull(strstr(flame_page_head, "default-src 'none'; script-src 'sha256-"));
        ck_assert_ptr_null(strstr(flame_page_head, "http:"));
        ck_assert_ptr_null(strstr(flame_page_tail, "https:"));
        ck_assert_ptr_null(strstr(flame_page_tail, "innerHTML"));
}
END_TEST

START_TEST(a_failed_write_sticks) {
        json_object *first = json_tokener_parse("{}");
        StackStore store = {};
        FILE *file = fopen("/dev/full", "we");

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(
                flame_page_write(file, &store, &(CourseStore){}, (json_object *const[2]){ first }),
                -ENOSPC);
        (void) fclose(file);
        stack_store_done(&store);
        (void) json_object_put(first);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("flame-page");
        TCase *page = tcase_create("page");

        tcase_add_test(page, a_page_has_each_name_once);
        tcase_add_test(page, an_empty_recording_has_a_page);
        tcase_add_test(page, a_page_has_the_steps_of_a_recording);
        tcase_add_test(page, two_recordings_have_both_numbers);
        tcase_add_test(page, the_page_allows_nothing_but_itself);
        tcase_add_test(page, a_failed_write_sticks);
        suite_add_tcase(suite, page);
        return check_main(suite);
}
