/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-choice.h"

#include <stdio.h>

#include "check-main.h"
#include "sectioned.h"
#include "view/view-part.h"

#define MAXED \
        { .state = READING_MAX }
#define ABSENT \
        { .state = READING_ABSENT }
#define NUMBER(n) \
        { .state = READING_NUMBER, .magnitude = (n) }

/* One value under a view. */
static const struct {
        unsigned n_sides;
        bool changed_only;
        double threshold; /* below 0: none */
        Reading sides[SECTION_SIDES];
        bool kept;
} keep_rows[] = {
        { 1, false, -1, { NUMBER(0) }, true },
        { 1, true, -1, { NUMBER(0) }, false },
        { 1, true, -1, { NUMBER(1) }, true },
        { 1, true, -1, { ABSENT }, false },
        { 2, false, -1, { NUMBER(1), NUMBER(1) }, true },
        { 2, true, -1, { NUMBER(1), NUMBER(1) }, false },
        { 2, true, -1, { NUMBER(1), NUMBER(2) }, true },
        { 2, true, -1, { ABSENT, NUMBER(0) }, true },
        { 2, true, -1, { ABSENT, ABSENT }, false },
        { 2, true, -1, { MAXED, MAXED }, false },
        { 2, true, -1, { MAXED, ABSENT }, true },
        { 2, false, 10, { NUMBER(100), NUMBER(110) }, false },
        { 2, false, 10, { NUMBER(100), NUMBER(111) }, true },
        { 2, false, 10, { NUMBER(100), NUMBER(89) }, true },
        { 2, false, 10, { NUMBER(100), NUMBER(90) }, false },
        { 2, false, 10, { NUMBER(0), NUMBER(1) }, true },
        { 2, false, 0, { NUMBER(7), NUMBER(7) }, false },
        { 2, false, 10, { MAXED, NUMBER(1) }, true },
        { 2, false, 10, { ABSENT, NUMBER(1) }, false },
        { 2, false, 10, { MAXED, ABSENT }, false },
        { 2, false, 10, { NUMBER(UINT64_MAX), NUMBER(0) }, true },
};

static const struct {
        unsigned n_sides;
        bool changed_only;
        Reading sides[SECTION_SIDES];
        bool kept;
} count_rows[] = {
        { 2, true, { ABSENT, NUMBER(0) }, false },   { 2, true, { NUMBER(0), ABSENT }, false },
        { 2, false, { NUMBER(0), ABSENT }, true },   { 2, true, { NUMBER(1), ABSENT }, true },
        { 2, true, { NUMBER(1), NUMBER(0) }, true }, { 1, true, { NUMBER(1) }, true },
        { 1, true, { NUMBER(0) }, false },           { 1, false, { NUMBER(0) }, true },
};

/* A row of one value. */
static bool is_wanted(const Sections *sections, SectionId id,
                      const Reading sides[static SECTION_SIDES]) {
        SectionRow row = { .n_values = 1, .values = { { sides[0], sides[1] } } };

        return section_row_is_wanted(sections, id, &row);
}

START_TEST(a_zero_that_only_one_side_has_says_nothing) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, NULL, count_rows[_i].n_sides);

        sections->view.changed_only = count_rows[_i].changed_only;
        ck_assert_int_eq(is_wanted(sections, SECTION_MEMORY_STAT, count_rows[_i].sides),
                         count_rows[_i].kept);
}
END_TEST

START_TEST(rows_that_say_something_are_kept) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, NULL, keep_rows[_i].n_sides);

        sections->view.changed_only = keep_rows[_i].changed_only;
        sections->view.has_threshold = keep_rows[_i].threshold >= 0;
        sections->view.threshold = keep_rows[_i].threshold;
        ck_assert_int_eq(is_wanted(sections, SECTION_PRESSURE, keep_rows[_i].sides),
                         keep_rows[_i].kept);
        ck_assert(!section_row_is_wanted(sections, SECTION_PRESSURE, &(SectionRow){}));
}
END_TEST

/* Adds a cgroup whose values on the second side are all @moved. */
static void add_cgroup(Sections *sections, unsigned side, const char *key, unsigned moved) {
        unsigned long long size = side > 0 ? 1000000ULL * moved : 0;
        char json[768];

        (void) snprintf(json, sizeof(json),
                        "{\"cpu\":{\"usage_usec\":%llu,\"weight\":%u},\"memory\":{\"max\":%u,"
                        "\"stat\":{\"anon\":%llu,\"pgfault\":0},\"events\":{\"oom\":%u}},"
                        "\"pids\":{\"current\":%u},"
                        "\"psi\":{\"cpu\":{\"some\":{\"avg10\":1,\"total_usec\":%llu}}}}",
                        size, 100u + (side > 0 && moved > 1), 1u + (side > 0 && moved > 2), size,
                        side * moved, 1 + side * moved, size);
        sectioned_cgroup(sections, side, key, json);
}

/* Five cgroups in the order of their keys, /a to /e. The ones that moved most are /b and /d. */
static Sections *moved(uint32_t limit, const char *list) {
        static const unsigned amounts[] = { 1, 5, 2, 4, 0 };
        Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, list, 2);

        sections->view.limit = limit;
        sections->view.changed_only = true;
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                for (unsigned i = 0; i < ELEMENTSOF(amounts); i++) {
                        const char key[] = { '/', (char) ('a' + i), '\0' };

                        add_cgroup(sections, side, key, amounts[i]);
                }
        return sections;
}

/* "ab..." of the cgroups in the rows of @text, each once. */
static void cgroups_of(const char *text, char ret_letters[static 64]) {
        static const char member[] = "\"cgroup\":\"/";
        size_t n = 0;

        while ((text = strstr(text, member)) != NULL) {
                text += strlen(member);
                if (n == 0 || ret_letters[n - 1] != *text)
                        ret_letters[n++] = *text;
                ck_assert_uint_lt(n, 64);
        }
        ret_letters[n] = '\0';
}

static const char *cuts_of(const Sections *sections) {
        JsonWriter writer;
        const char *text;

        buffer_done(&sectioned_buffer);
        buffer_init(&sectioned_buffer, 0);
        json_writer_init(&writer, &sectioned_buffer);
        section_cuts_write(sections, &writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&sectioned_buffer, &text), 0);
        return text;
}

static const char *const limited_sections[] = { "cgroup-stats", "cgroup-limits", "memory-stat",
                                                "memory-events", "pressure" };

static const struct {
        uint32_t limit;
        const char *letters;
        unsigned n_cut;
} limit_rows[] = {
        { 0, "abcd", 0 }, { 1, "b", 3 },    { 2, "bd", 2 },
        { 3, "bcd", 1 },  { 4, "abcd", 0 }, { 9, "abcd", 0 },
};

START_TEST(a_limit_keeps_what_moved_most) {
        for (size_t i = 0; i < ELEMENTSOF(limited_sections); i++) {
                _cleanup_(sections_freep) Sections *sections =
                        moved(limit_rows[_i].limit, limited_sections[i]);
                char letters[64], cuts[96] = "{}";

                cgroups_of(sectioned_text(sections), letters);
                ck_assert_str_eq(letters, limit_rows[_i].letters);
                if (limit_rows[_i].n_cut > 0)
                        (void) snprintf(cuts, sizeof(cuts), "{\"%s\":%u}", limited_sections[i],
                                        limit_rows[_i].n_cut);
                ck_assert_str_eq(cuts_of(sections), cuts);
        }
}
END_TEST

START_TEST(a_filter_is_for_the_keys_of_sections) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, "cgroup-stats,smaps-rollup,host-pressure", 1);
        char complaint[VIEW_COMPLAINT_BYTES];

        ck_assert_int_eq(
                view_set(&sections->view, VIEW_PART_filter, SPAN_LITERAL("/b*"), complaint),
                VIEW_OK);
        add_cgroup(sections, 0, "/a", 1);
        add_cgroup(sections, 0, "/b", 1);
        ck_assert_int_eq(
                sections_add_smaps(sections, 0, SPAN_LITERAL("p"), SPAN_LITERAL("{\"Rss\":1}")), 0);
        ck_assert_int_eq(sections_add_of_host(sections, 0, SECTION_HOST_PRESSURE,
                                              SPAN_LITERAL("{\"cpu\":{\"some\":{\"avg10\":1,"
                                                           "\"avg60\":1,\"avg300\":1,"
                                                           "\"total_usec\":1}}}")),
                         0);
        ck_assert_ptr_nonnull(strstr(sectioned_text(sections), "\"cgroup\":\"/b\""));
        ck_assert_ptr_null(strstr(sectioned_buffer.bytes, "\"cgroup\":\"/a\""));
        ck_assert_ptr_null(strstr(sectioned_buffer.bytes, "smaps-rollup"));
        ck_assert_ptr_nonnull(strstr(sectioned_buffer.bytes, "host-pressure"));
}
END_TEST

START_TEST(processes_are_cut_in_their_order) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "smaps-rollup", 1);

        sections->view.limit = 1;
        sections->view.changed_only = true;
        ck_assert_int_eq(
                sections_add_smaps(sections, 0, SPAN_LITERAL("less"), SPAN_LITERAL("{\"Rss\":1}")),
                0);
        ck_assert_int_eq(
                sections_add_smaps(sections, 0, SPAN_LITERAL("more"), SPAN_LITERAL("{\"Rss\":2}")),
                0);
        ck_assert_int_eq(
                sections_add_smaps(sections, 0, SPAN_LITERAL("none"), SPAN_LITERAL("{\"Rss\":0}")),
                0);
        ck_assert_str_eq(sectioned_text(sections),
                         "{\"smaps-rollup\":[{\"process\":\"more\",\"key\":\"Rss\","
                         "\"unit\":\"bytes\",\"value\":2048}]}");
        ck_assert_str_eq(cuts_of(sections), "{\"smaps-rollup\":1}");
}
END_TEST

START_TEST(rows_that_are_left_out_are_counted) {
        _cleanup_(sections_freep) Sections *sections = moved(0, "memory-stat,cgroup-stats");
        SectionCursor cursor = {};
        bool done;

        ck_assert_int_eq(sections_finish(sections, NULL, NULL), 0);
        (void) sectioned_part(sections, &cursor, SIZE_MAX, &done);
        ck_assert(done);
        /* /e is still; pgfault is of all five, and anon of it. */
        ck_assert_uint_eq(cursor.n_hidden, 1 + 5 + 1);
        ck_assert_uint_eq(cursor.n_rows, 4 + 4);
}
END_TEST

static const struct {
        bool changed_only;
        double threshold; /* below 0: none */
        const char *attributes;
        unsigned n_hidden;
} scheduler_rows[] = {
        { false, -1, "state switch_all nr_rejected hotplug_seq enable_seq ops E ", 0 },
        { true, -1, "state nr_rejected E ", 4 },
        { false, 50, "nr_rejected E ", 5 },
        { false, 500, "E ", 6 },
};

START_TEST(words_of_the_scheduler_move_by_no_percent) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "sched-ext", 2);
        SectionCursor cursor = {};
        char attributes[128] = "";
        const char *text;
        size_t n = 0;
        bool done;

        sections->view.changed_only = scheduler_rows[_i].changed_only;
        sections->view.has_threshold = scheduler_rows[_i].threshold >= 0;
        sections->view.threshold = scheduler_rows[_i].threshold;
        ck_assert_int_eq(
                sections_add_of_host(sections, 0, SECTION_SCHED_EXT,
                                     SPAN_LITERAL("{\"state\":\"disabled\",\"nr_rejected\":2,"
                                                  "\"ops\":\"a\",\"events\":{\"E\":0}}")),
                0);
        ck_assert_int_eq(
                sections_add_of_host(sections, 1, SECTION_SCHED_EXT,
                                     SPAN_LITERAL("{\"state\":\"enabled\",\"nr_rejected\":4,"
                                                  "\"ops\":\"a\",\"events\":{\"E\":1}}")),
                0);
        ck_assert_int_eq(sections_finish(sections, NULL, NULL), 0);
        text = sectioned_part(sections, &cursor, SIZE_MAX, &done);
        while ((text = strstr(text, "\"attr\":\"")) != NULL) {
                text += strlen("\"attr\":\"");
                n += (size_t) snprintf(attributes + n, sizeof(attributes) - n, "%.*s ",
                                       (int) strcspn(text, "\""), text);
        }
        ck_assert_str_eq(attributes, scheduler_rows[_i].attributes);
        ck_assert_uint_eq(cursor.n_hidden, scheduler_rows[_i].n_hidden);
}
END_TEST

/* A cgroup on one or two sides (NULL: not there), and the sections that have data then. */
static const struct {
        const char *before, *after;
        unsigned n_sides;
        bool changed_only;
        const char *shown; /* NAME, blank after each */
} cgroup_rows[] = {
        { NULL, NULL, 2, false, "" },
        { "{}", NULL, 1, false, "cgroup-stats " },
        { NULL, "{}", 2, false, "cgroup-stats " },
        /* limits: one number that is set; the words and 0 for a protection are not */
        { "{\"cpu\":{\"max_quota_us\":\"max\",\"max_period_us\":100000,\"weight_nice\":0},"
          "\"memory\":{\"max\":\"max\",\"high\":\"max\",\"low\":0,\"min\":0},"
          "\"pids\":{\"max\":\"max\"}}",
          NULL, 1, false, "cgroup-stats " },
        { "{\"cpu\":{\"max_quota_us\":1}}", NULL, 1, false, "cgroup-stats cgroup-limits " },
        { "{\"cpu\":{\"weight\":100}}", NULL, 1, false, "cgroup-stats cgroup-limits " },
        { "{\"memory\":{\"max\":0}}", NULL, 1, false, "cgroup-stats cgroup-limits " },
        { "{\"memory\":{\"high\":0}}", NULL, 1, false, "cgroup-stats cgroup-limits " },
        { "{\"memory\":{\"low\":1}}", NULL, 1, false, "cgroup-stats cgroup-limits " },
        { "{\"memory\":{\"min\":\"max\"}}", NULL, 1, false, "cgroup-stats cgroup-limits " },
        { "{\"pids\":{\"current\":0}}", NULL, 1, false, "cgroup-stats cgroup-limits " },
        { NULL, "{\"pids\":{\"max\":5}}", 2, true, "cgroup-stats cgroup-limits " },
        /* maps: show wants a number other than 0, compare a key */
        { "{\"memory\":{\"stat\":{\"anon\":0}}}", NULL, 1, false, "cgroup-stats " },
        { "{\"memory\":{\"stat\":{\"anon\":1}}}", NULL, 1, true, "cgroup-stats memory-stat " },
        { "{\"memory\":{\"stat\":{\"anon\":0}}}", NULL, 2, false, "cgroup-stats memory-stat " },
        { "{\"memory\":{\"events\":{\"oom\":0}}}", NULL, 1, false, "cgroup-stats " },
        { NULL, "{\"memory\":{\"events\":{\"oom\":0}}}", 2, true, "cgroup-stats memory-events " },
        /* pressure: a number other than 0 */
        { "{\"psi\":{\"io\":{\"full\":{\"avg10\":0}}}}", NULL, 1, false, "cgroup-stats " },
        { "{\"psi\":{\"io\":{\"full\":{\"total_usec\":1}}}}", NULL, 1, false,
          "cgroup-stats pressure " },
        { NULL, "{\"psi\":{\"io\":{\"full\":{\"total_usec\":1}}}}", 2, false,
          "cgroup-stats pressure " },
};

static void check_shown(const Sections *sections, const char *wanted) {
        char shown[256] = "";

        for (SectionId id = 0; id < _SECTION_MAX; id++)
                if (sections->shown[id]) {
                        strcat(shown, view_table_names[id]);
                        strcat(shown, " ");
                }
        ck_assert_str_eq(shown, wanted);
}

START_TEST(every_section_of_cgroups_has_its_rule) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_CGROUP, NULL, cgroup_rows[_i].n_sides);

        sections->view.changed_only = cgroup_rows[_i].changed_only;
        if (cgroup_rows[_i].before)
                sectioned_cgroup(sections, 0, "/a", cgroup_rows[_i].before);
        if (cgroup_rows[_i].after)
                sectioned_cgroup(sections, 1, "/a", cgroup_rows[_i].after);
        ck_assert_int_eq(sections_finish(sections, NULL, NULL), 0);
        check_shown(sections, cgroup_rows[_i].shown);
}
END_TEST

/* The same for records of the host and of processes. */
static const struct {
        const char *smaps[2], *pressure[2], *sched_ext[2];
        unsigned n_sides;
        bool changed_only;
        const char *shown;
} host_rows[] = {
        { { NULL, NULL }, { NULL, NULL }, { NULL, NULL }, 2, false, "" },
        { { "{\"Rss\":0}", NULL }, { NULL, NULL }, { NULL, NULL }, 1, false, "" },
        { { "{\"Rss\":1}", NULL }, { NULL, NULL }, { NULL, NULL }, 1, true, "smaps-rollup " },
        { { "{\"Rss\":0}", "{\"Rss\":0}" },
          { NULL, NULL },
          { NULL, NULL },
          2,
          false,
          "smaps-rollup " },
        { { "{\"Rss\":5}", "{\"Rss\":5}" },
          { NULL, NULL },
          { NULL, NULL },
          2,
          true,
          "smaps-rollup " },
        { { "{\"Rss\":0}", NULL }, { NULL, NULL }, { NULL, NULL }, 2, true, "smaps-rollup " },
        { { NULL, NULL },
          { "{\"cpu\":{\"some\":{\"avg10\":0}}}", NULL },
          { NULL, NULL },
          2,
          false,
          "" },
        { { NULL, NULL },
          { NULL, "{\"cpu\":{\"some\":{\"avg10\":1}}}" },
          { NULL, NULL },
          2,
          true,
          "host-pressure " },
        { { NULL, NULL },
          { NULL, NULL },
          { "{\"state\":\"disabled\"}", NULL },
          1,
          true,
          "sched-ext " },
        { { NULL, NULL },
          { NULL, NULL },
          { "{\"state\":\"disabled\"}", "{\"state\":\"disabled\"}" },
          2,
          false,
          "" },
        { { NULL, NULL },
          { NULL, NULL },
          { NULL, "{\"state\":\"disabled\"}" },
          2,
          false,
          "sched-ext " },
};

START_TEST(every_section_of_the_host_has_its_rule) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, NULL, host_rows[_i].n_sides);

        sections->view.changed_only = host_rows[_i].changed_only;
        for (unsigned side = 0; side < 2; side++) {
                const char *smaps = host_rows[_i].smaps[side];
                const char *pressure = host_rows[_i].pressure[side];
                const char *sched_ext = host_rows[_i].sched_ext[side];

                if (smaps)
                        ck_assert_int_eq(sections_add_smaps(sections, side, SPAN_LITERAL("a"),
                                                            span_of(smaps)),
                                         0);
                if (pressure)
                        ck_assert_int_eq(sections_add_of_host(sections, side, SECTION_HOST_PRESSURE,
                                                              span_of(pressure)),
                                         0);
                if (sched_ext)
                        ck_assert_int_eq(sections_add_of_host(sections, side, SECTION_SCHED_EXT,
                                                              span_of(sched_ext)),
                                         0);
        }
        ck_assert_int_eq(sections_finish(sections, NULL, NULL), 0);
        check_shown(sections, host_rows[_i].shown);
}
END_TEST

START_TEST(what_is_not_wanted_is_not_kept) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "primary,memory-stat", 1);

        ck_assert(!sections->wants_cgroups);
        ck_assert(!view_wants_table(&sections->view, SECTION_SMAPS_ROLLUP));
        sectioned_cgroup(sections, 0, "/a", "not even JSON");
        ck_assert_int_eq(sections_add_smaps(sections, 0, SPAN_LITERAL("a"), SPAN_LITERAL("[")), 0);
        ck_assert_int_eq(
                sections_add_of_host(sections, 0, SECTION_HOST_PRESSURE, SPAN_LITERAL("[")), 0);
        ck_assert_int_eq(sections_add_of_host(sections, 0, SECTION_SCHED_EXT, SPAN_LITERAL("[")),
                         0);
        ck_assert_str_eq(sectioned_text(sections), "{}");
}
END_TEST

START_TEST(a_complaint_names_the_record) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, NULL, 1);
        const Span bad = SPAN_LITERAL("{\"cpu\":7}");

        ck_assert_int_eq(sections_add_cgroup(sections, 0, SPAN_LITERAL("/a"), bad),
                         SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections->complaint, "record of a cgroup"));
        ck_assert_int_eq(
                sections_add_smaps(sections, 0, SPAN_LITERAL("a"), SPAN_LITERAL("{\"Rss\":-1}")),
                SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections->complaint, "memory map"));
        ck_assert_int_eq(sections_add_of_host(sections, 0, SECTION_HOST_PRESSURE, bad),
                         SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections->complaint, "pressure"));
        ck_assert_int_eq(sections_add_of_host(sections, 0, SECTION_SCHED_EXT, SPAN_LITERAL("[]")),
                         SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections->complaint, "sched_ext"));
        ck_assert_str_eq(sectioned_text(sections), "{}");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-choice");
        TCase *choice = tcase_create("choice"), *rules = tcase_create("rules");

        tcase_add_loop_test(choice, rows_that_say_something_are_kept, 0, ELEMENTSOF(keep_rows));
        tcase_add_loop_test(choice, a_zero_that_only_one_side_has_says_nothing, 0,
                            ELEMENTSOF(count_rows));
        tcase_add_loop_test(choice, a_limit_keeps_what_moved_most, 0, ELEMENTSOF(limit_rows));
        tcase_add_test(choice, a_filter_is_for_the_keys_of_sections);
        tcase_add_test(choice, processes_are_cut_in_their_order);
        tcase_add_test(choice, rows_that_are_left_out_are_counted);
        tcase_add_loop_test(choice, words_of_the_scheduler_move_by_no_percent, 0,
                            ELEMENTSOF(scheduler_rows));
        suite_add_tcase(suite, choice);
        tcase_add_loop_test(rules, every_section_of_cgroups_has_its_rule, 0,
                            ELEMENTSOF(cgroup_rows));
        tcase_add_loop_test(rules, every_section_of_the_host_has_its_rule, 0,
                            ELEMENTSOF(host_rows));
        tcase_add_test(rules, what_is_not_wanted_is_not_kept);
        tcase_add_test(rules, a_complaint_names_the_record);
        suite_add_tcase(suite, rules);
        return check_main(suite);
}
