/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-choice.h"

#include "check-main.h"
#include "sectioned.h"

/* A cgroup on one or two sides (NULL: not there), and what there is to say of it. */
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
                        strcat(shown, view_table_name(id));
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

/* The same of what belongs to no cgroup. */
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
                        ck_assert_int_eq(
                                sections_add_host_pressure(sections, side, span_of(pressure)), 0);
                if (sched_ext)
                        ck_assert_int_eq(sections_add_sched_ext(sections, side, span_of(sched_ext)),
                                         0);
        }
        ck_assert_int_eq(sections_finish(sections, NULL, NULL), 0);
        check_shown(sections, host_rows[_i].shown);
}
END_TEST

START_TEST(what_is_not_wanted_is_not_kept) {
        _cleanup_(sections_freep) Sections *sections =
                sectioned_new(VIEW_AXIS_PCOMM, "primary,memory-stat", 1);

        ck_assert(!sections_want_cgroups(sections));
        ck_assert(!sections_want_smaps(sections));
        sectioned_cgroup(sections, 0, "/a", "not even JSON");
        ck_assert_int_eq(sections_add_smaps(sections, 0, SPAN_LITERAL("a"), SPAN_LITERAL("[")), 0);
        ck_assert_int_eq(sections_add_host_pressure(sections, 0, SPAN_LITERAL("[")), 0);
        ck_assert_int_eq(sections_add_sched_ext(sections, 0, SPAN_LITERAL("[")), 0);
        ck_assert_str_eq(sectioned_text(sections), "{}");
}
END_TEST

START_TEST(a_complaint_names_the_record) {
        _cleanup_(sections_freep) Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, NULL, 1);
        const Span bad = SPAN_LITERAL("{\"cpu\":7}");

        ck_assert_int_eq(sections_add_cgroup(sections, 0, SPAN_LITERAL("/a"), bad),
                         SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections_complaint(sections), "record of a cgroup"));
        ck_assert_int_eq(
                sections_add_smaps(sections, 0, SPAN_LITERAL("a"), SPAN_LITERAL("{\"Rss\":-1}")),
                SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections_complaint(sections), "memory map"));
        ck_assert_int_eq(sections_add_host_pressure(sections, 0, bad), SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections_complaint(sections), "pressure"));
        ck_assert_int_eq(sections_add_sched_ext(sections, 0, SPAN_LITERAL("[]")),
                         SECTIONS_E_MALFORMED);
        ck_assert_ptr_nonnull(strstr(sections_complaint(sections), "sched_ext"));
        ck_assert_str_eq(sectioned_text(sections), "{}");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-data");
        TCase *rules = tcase_create("rules");

        tcase_add_loop_test(rules, every_section_of_cgroups_has_its_rule, 0,
                            ELEMENTSOF(cgroup_rows));
        tcase_add_loop_test(rules, every_section_of_the_host_has_its_rule, 0,
                            ELEMENTSOF(host_rows));
        tcase_add_test(rules, what_is_not_wanted_is_not_kept);
        tcase_add_test(rules, a_complaint_names_the_record);
        suite_add_tcase(suite, rules);
        return check_main(suite);
}
