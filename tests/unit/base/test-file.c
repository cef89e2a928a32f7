/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "temporary.h"

static Temporary temporary;

static void set_up(void) {
        temporary_init(&temporary);
}

static void tear_down(void) {
        temporary_done(&temporary);
}

START_TEST(a_directory_is_made_with_what_is_above_it) {
        char path[TEMPORARY_PATH_BYTES];
        struct stat st;

        ck_assert_int_eq(directory_make(temporary_path(&temporary, "a/b", path)), 0);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert(S_ISDIR(st.st_mode));
        ck_assert_int_eq(st.st_mode & 0777, 0700);
        ck_assert_int_eq(chmod(path, 0755), 0);
        ck_assert_int_eq(directory_make(temporary_path(&temporary, "a/b/", path)), 0);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(st.st_mode & 0777, 0755); /* as it was */
}
END_TEST

START_TEST(what_is_there_is_left_alone) {
        char path[TEMPORARY_PATH_BYTES];

        ck_assert_int_eq(symlink("nowhere", temporary_path(&temporary, "link", path)), 0);
        ck_assert_int_eq(directory_make(path), 0);
        ck_assert_int_eq(directory_make("/"), 0);
        ck_assert_int_eq(directory_make("/dev/null/x"), -ENOTDIR);
        ck_assert_int_eq(directory_make(""), -ENOENT);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("file");
        TCase *making = tcase_create("making directories");

        tcase_add_checked_fixture(making, set_up, tear_down);
        tcase_add_test(making, a_directory_is_made_with_what_is_above_it);
        tcase_add_test(making, what_is_there_is_left_alone);
        suite_add_tcase(suite, making);
        return check_main(suite);
}
