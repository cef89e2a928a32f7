/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "kernel/procfs/proc-task.h"
#include "text/fixture.h"

static const struct {
        const char *text;
        int r;
        const char *path; /* NULL: absent */
        bool deleted, outside;
} rows[] = {
        { "0::/\n", 0, "/", false, false },
        { "0::/init.scope\n", 0, "/init.scope", false, false },
        { "5:freezer:/x\n0::/a\n1:name=systemd:/y\n", 0, "/a", false, false },
        { "0::/a (deleted)\n", 0, "/a (deleted)", true, false },
        { "0::/a  \n", 0, "/a  ", false, false },
        { "0::/a:b c\\\xff\n", 0, "/a:b c\\\xff", false, false },
        { "0::/..\n", 0, "/..", false, true },
        { "0::/../../x (deleted)\n", 0, "/../../x (deleted)", true, true },
        { "0::/a/..\n", 0, "/a/..", false, true },
        { "0::/..a/b../...\n", 0, "/..a/b../...", false, false },
        { "5:freezer:/x\n", 0, NULL, false, false },
        { "10::/x\n", 0, NULL, false, false },
        { "", 0, NULL, false, false },
        { "0::\n", TEXT_E_MALFORMED, NULL, false, false },
        { "0:: \n", TEXT_E_MALFORMED, NULL, false, false },
        { "0::a\n", TEXT_E_MALFORMED, NULL, false, false },
        { "0::/a\n0::/a\n", TEXT_E_MALFORMED, NULL, false, false },
        { "0::/a", TEXT_E_MALFORMED, NULL, false, false },
        { "0::/a\n1:x:/b", TEXT_E_MALFORMED, NULL, false, false },
};

START_TEST(the_path_is_verbatim) {
        ProcCgroup cgroup;

        ck_assert_int_eq(proc_cgroup_parse(span_of(rows[_i].text), &cgroup), rows[_i].r);
        ck_assert_int_eq(cgroup.has_path, rows[_i].path != NULL);
        ck_assert_int_eq(cgroup.deleted, rows[_i].deleted);
        ck_assert_int_eq(cgroup.outside, rows[_i].outside);
        if (rows[_i].path)
                ck_assert(span_is(cgroup.path, rows[_i].path));
        else
                ck_assert_uint_eq(cgroup.path.n, 0);
}
END_TEST

START_TEST(a_path_that_may_be_cut_is_none) {
        for (size_t n = PROC_CGROUP_CUT_BYTES - 1; n <= PROC_CGROUP_CUT_BYTES; n++) {
                char text[PROC_CGROUP_CUT_BYTES + sizeof("0::\n")];
                ProcCgroup cgroup;

                memset(text, 'x', sizeof(text));
                memcpy(text, "0::/", 4);
                text[3 + n] = '\n';
                ck_assert_int_eq(proc_cgroup_parse((Span){ text, 4 + n }, &cgroup),
                                 n < PROC_CGROUP_CUT_BYTES ? 0 : TEXT_E_MALFORMED);
                ck_assert_int_eq(cgroup.has_path, n < PROC_CGROUP_CUT_BYTES);
        }
}
END_TEST

static const struct {
        const char *file, *path;
} fixture_rows[] = {
        { "proc/6.1-schedstats/1/cgroup", "/init.scope" },
        { "proc/6.12-schedstats/245/task/245/cgroup", "/system.slice/burner.service" },
        { "proc/7.2-scx/212/cgroup", "/system.slice/burner.service" },
        { "proc/edge-names/100/cgroup", "/a b/c\\d" },
        { "proc/edge-names/2/cgroup", "/" },
};

START_TEST(kernels_files_are_read_and_cut_ones_are_not) {
        Span text = fixture_read(fixture_rows[_i].file);
        ProcCgroup cgroup;

        ck_assert_int_eq(proc_cgroup_parse(text, &cgroup), 0);
        ck_assert(span_is(cgroup.path, fixture_rows[_i].path));
        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                if (proc_cgroup_parse(cut, &cgroup) == 0)
                        ck_assert(n == 0 || cut.bytes[n - 1] == '\n');
                ck_assert(!cgroup.has_path);
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("proc-cgroup");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, the_path_is_verbatim, 0, ELEMENTSOF(rows));
        tcase_add_test(parse, a_path_that_may_be_cut_is_none);
        tcase_add_loop_test(parse, kernels_files_are_read_and_cut_ones_are_not, 0,
                            ELEMENTSOF(fixture_rows));
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
