/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/html-page.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check-main.h"

typedef struct Made {
        char *text;
        size_t n_text;
        FILE *file;
        HtmlPage page;
        View view;
} Made;

static void made_begin(Made *made, bool all_rows) {
        HtmlSettings settings = { .view = &made->view, .all_rows = all_rows };

        *made = (Made){};
        view_init(&made->view);
        made->file = open_memstream(&made->text, &made->n_text);
        made->page.out = made->file;
        ck_assert_int_eq(html_page_begin(&made->page, &settings), 0);
}

/* Ends the page with @json as the last reply. */
static void made_end(Made *made, const char *json) {
        json_object *reply = json_tokener_parse(json);

        ck_assert_int_eq(html_page_end(&made->page, reply), 0);
        ck_assert_int_eq(fflush(made->file), 0);
        (void) json_object_put(reply);
}

static void made_done(Made *made) {
        html_page_done(&made->page);
        (void) fclose(made->file);
        free(made->text);
}

static void add(Made *made, void (*how)(HtmlPage *page, json_object *object), const char *json) {
        json_object *object = json_tokener_parse(json);

        how(&made->page, object);
        (void) json_object_put(object);
}

static void add_info(HtmlPage *page, json_object *reply) {
        html_page_add_members(page, "info", reply);
}

static void add_groups(HtmlPage *page, json_object *groups) {
        html_page_add_groups(page, "onlyAfter", groups);
}

static size_t count(const char *text, const char *what) {
        size_t n = 0;

        while ((text = strstr(text, what))) {
                text += strlen(what);
                n++;
        }
        return n;
}

#define PIECE "<script type=\"application/json\" class=\"data\">"

static void check_has(const Made *made, const char *what) {
        ck_assert_msg(strstr(made->text, what), "%s is missing in %s", what,
                      strstr(made->text, PIECE));
}

START_TEST(data_stand_between_head_and_tail) {
        Made made;

        made_begin(&made, false);
        add(&made, add_info, "{\"sameBoot\":true,\"groups\":[],\"sections\":{}}");
        add(&made, add_groups, "[{\"key\":\"k\",\"metrics\":{}},{\"key\":\"l\"}]");
        add(&made, html_page_add_sections, "{\"sched-ext\":[{\"attr\":\"a\",\"value\":1}]}");
        made_end(&made, "{\"hiddenRows\":3,\"onlyAfter\":[]}");
        ck_assert_int_eq(strncmp(made.text, html_page_head, strlen(html_page_head)), 0);
        ck_assert_str_eq(made.text + made.n_text - strlen(html_page_tail), html_page_tail);
        check_has(&made, PIECE "[{\"settings\":{\"version\":\"");
        check_has(&made, "\"header\":\"process\",\"raw\":0,\"allRows\":0,\"view\":{\"groupBy\":");
        check_has(&made, PIECE "[{\"info\":{\"sameBoot\":true}}]</script>\n");
        check_has(&made, PIECE "[{\"onlyAfter\":[{\"key\":\"k\",\"rows\":[]},{\"key\":\"l\","
                               "\"rows\":[]}]}]</script>\n");
        check_has(&made, PIECE "[{\"sections\":{\"sched-ext\":[{\"attr\":\"a\",\"value\":1}]}}]");
        check_has(&made, PIECE "[{\"end\":{\"hiddenRows\":3}}]</script>\n");
        made_done(&made);
}
END_TEST

/* As CSV has them: the page shows the bytes. Keys of groups are joined by a control character. */
START_TEST(nothing_turns_the_text_around) {
        Made made;

        made_begin(&made, false);
        add(&made, add_info,
            "{\"k\\u202e\":\"a\\u202eb\",\"x\":[\"\\u061c\\u009b\",{\"y\":\"\\u2066\"}]}");
        add(&made, add_groups,
            "[{\"key\":\"a\\u001f\\u200f\",\"metrics\":{\"m\\u2069\":{\"value\":{\"mode\":"
            "\"\\u202d\"},\"reason\":\"r\\u200e\"}}}]");
        made_end(&made, "{}");
        check_has(&made, "{\"k\uefe2\uef80\uefae\":\"a\uefe2\uef80\uefaeb\",\"x\":[\"\uefd8\uef9c"
                         "\uefc2\uef9b\",{\"y\":\"\uefe2\uef81\uefa6\"}]}");
        check_has(&made, "\"key\":\"a\\u001f\uefe2\uef80\uef8f\"");
        check_has(&made, "[\"m\uefe2\uef81\uefa9\",0,\"r\uefe2\uef80\uef8e\","
                         "{\"mode\":\"\uefe2\uef80\uefad\"}");
        made_done(&made);
}
END_TEST

START_TEST(no_name_ends_a_piece) {
        Made made;

        made_begin(&made, false);
        add(&made, add_info,
            "{\"</script><b>\":\"<!--<script>\",\"x\":[\"-->\\u2028\\u2029]]>\"]}");
        add(&made, add_groups, "[{\"key\":\"</script>\",\"metrics\":{\"<i>\":{\"value\":1}}}]");
        made_end(&made, "{}");
        check_has(&made,
                  "{\"\\u003c/script\\u003e\\u003cb\\u003e\":\"\\u003c!--\\u003cscript"
                  "\\u003e\",\"x\":[\"--\\u003e\uefe2\uef80\uefa8\uefe2\uef80\uefa9]]\\u003e\"]}");
        check_has(&made,
                  "\"key\":\"\\u003c/script\\u003e\",\"rows\":[[\"\\u003ci\\u003e\",0,null,1]]");
        /* One script that runs, and as many ends as begins. */
        ck_assert_uint_eq(count(made.text, "<script"), count(made.text, "</script>"));
        ck_assert_uint_eq(count(made.text, "<script>"), 1);
        ck_assert_ptr_null(strstr(made.text, "<!--"));
        made_done(&made);
}
END_TEST

START_TEST(a_lead_is_info) {
        Made made;

        made_begin(&made, false);
        json_out_member_u64(html_page_open_info(&made.page), "exitStatus", 3);
        html_page_close_info(&made.page);
        made_end(&made, "{}");
        check_has(&made, PIECE "[{\"info\":{\"exitStatus\":3}}]</script>\n");
        made_done(&made);
}
END_TEST

static const struct {
        const char *row;
        bool left_out; /* unless all rows are wanted */
} section_rows[] = {
        { "{\"key\":\"a\",\"unit\":\"bytes\",\"value\":0}", true },
        { "{\"key\":\"a\",\"unit\":\"bytes\",\"value\":1}", false },
        { "{\"event\":\"a\",\"unit\":\"count\",\"count\":0}", true },
        { "{\"key\":\"a\",\"unit\":\"bytes\",\"value\":{\"before\":4,\"after\":4,\"delta\":0}}",
          true },
        { "{\"key\":\"a\",\"unit\":\"bytes\",\"value\":{\"before\":4,\"after\":5,\"delta\":1}}",
          false },
        { "{\"key\":\"a\",\"unit\":\"bytes\",\"value\":{\"before\":null,\"after\":4,\"delta\":null}"
          "}",
          false },
        { "{\"event\":\"a\",\"unit\":\"count\",\"count\":{\"before\":0,\"after\":null}}", false },
        { "{\"key\":\"a\",\"unit\":\"bytes\",\"value\":{\"before\":null,\"after\":null,\"delta\":"
          "null},"
          "\"reason\":\"before and after: denied\"}",
          false },
        { "{\"attr\":\"a\",\"value\":0}", false },
        { "{\"resource\":\"cpu\",\"total_usec\":{\"before\":4,\"after\":4,\"delta\":0}}", false },
};

START_TEST(idle_counters_of_sections_are_left_out_and_counted) {
        for (int all_rows = 0; all_rows < 2; all_rows++) {
                bool is_kept = all_rows || !section_rows[_i].left_out;
                _cleanup_(buffer_done) Buffer part = {};
                const char *json;
                Made made;

                ck_assert_int_eq(buffer_append_format(&part, "{\"s\":[%s]}", section_rows[_i].row),
                                 0);
                ck_assert_int_eq(buffer_terminate(&part, &json), 0);
                made_begin(&made, all_rows);
                add(&made, html_page_add_sections, json);
                made_end(&made, "{}");
                if (is_kept)
                        check_has(&made, section_rows[_i].row);
                else
                        check_has(&made, PIECE "[{\"sections\":{\"s\":[]}}]");
                check_has(&made, is_kept ? "{\"idleRows\":0}" : "{\"idleRows\":1}");
                made_done(&made);
        }
}
END_TEST

START_TEST(odd_replies_are_empty_ones) {
        Made made;

        made_begin(&made, false);
        add(&made, add_info, "[]");
        add(&made, add_groups, "{}");
        add(&made, html_page_add_sections, "3");
        add(&made, html_page_add_sections, "{\"s\":{}}");
        made_end(&made, "null");
        check_has(&made, "[{\"info\":{}}]");
        check_has(&made, "[{\"onlyAfter\":[]}]");
        check_has(&made, "[{\"sections\":{\"s\":[]}}]");
        check_has(&made, "[{\"end\":{}}]");
        made_done(&made);
}
END_TEST

START_TEST(a_full_disk_is_told_at_the_end) {
        _cleanup_(html_page_done) HtmlPage page = {};
        FILE *file = fopen("/dev/full", "we");
        HtmlSettings settings;
        View view;

        view_init(&view);
        settings = (HtmlSettings){ .view = &view };
        ck_assert_ptr_nonnull(file);
        page.out = file;
        ck_assert_int_eq(html_page_begin(&page, &settings), 0);
        ck_assert_int_eq(html_page_end(&page, NULL), -ENOSPC);
        (void) fclose(file);
}
END_TEST

START_TEST(the_policy_names_all_that_may_run) {
        ck_assert_ptr_nonnull(strstr(html_page_head, "default-src 'none'; script-src 'sha256-"));
        ck_assert_ptr_nonnull(strstr(html_page_head, "; style-src 'sha256-"));
        ck_assert_ptr_null(strstr(html_page_head, "unsafe"));
        ck_assert_ptr_null(strstr(html_page_head, "{{"));
        ck_assert_ptr_null(strstr(html_page_tail, "{{"));
        /* Nothing is fetched: no address of anything. */
        ck_assert_ptr_null(strstr(html_page_head, "://"));
        ck_assert_ptr_null(strstr(html_page_tail, "://"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("html-page");
        TCase *page = tcase_create("page");

        tcase_add_test(page, data_stand_between_head_and_tail);
        tcase_add_test(page, nothing_turns_the_text_around);
        tcase_add_test(page, no_name_ends_a_piece);
        tcase_add_test(page, a_lead_is_info);
        tcase_add_loop_test(page, idle_counters_of_sections_are_left_out_and_counted, 0,
                            ELEMENTSOF(section_rows));
        tcase_add_test(page, odd_replies_are_empty_ones);
        tcase_add_test(page, a_full_disk_is_told_at_the_end);
        tcase_add_test(page, the_policy_names_all_that_may_run);
        suite_add_tcase(suite, page);
        return check_main(suite);
}
