/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call/child.h"

#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "check-main.h"
#include "temporary.h"

static void make_directory(const Temporary *temporary, const char *name) {
        char path[TEMPORARY_PATH_BYTES];

        ck_assert_int_eq(mkdir(temporary_path(temporary, name, path), 0700), 0);
}

static void make_file(const Temporary *temporary, const char *name, mode_t mode) {
        char path[TEMPORARY_PATH_BYTES];
        int fd = open(temporary_path(temporary, name, path), O_WRONLY | O_CREAT | O_CLOEXEC, mode);

        ck_assert_int_ge(fd, 0);
        (void) fd_close(fd);
}

/* Where it is found, relative to the directory; owned by @ret. */
static int find(const Temporary *temporary, const char *override, Buffer *ret) {
        char own[TEMPORARY_PATH_BYTES], overriding[TEMPORARY_PATH_BYTES];
        int r;

        r = server_program_find(override ? temporary_path(temporary, override, overriding) : NULL,
                                temporary_path(temporary, "bin", own), ret);
        if (ret->n > strlen(temporary->path) + 1 &&
            strncmp(ret->bytes, temporary->path, strlen(temporary->path)) == 0)
                buffer_drop_front(ret, strlen(temporary->path) + 1);
        return r;
}

/* Each is looked for after those above it. */
static const char *const places[] = {
        "bin/ctprofd",
        "bin/../daemon/ctprofd",
        "bin/../sbin/ctprofd",
        "bin/../libexec/ctprofd",
};

START_TEST(the_nearest_one_is_taken) {
        _cleanup_(temporary_done) Temporary temporary;
        _cleanup_(buffer_done) Buffer found = {};

        temporary_init(&temporary);
        make_directory(&temporary, "bin");
        make_directory(&temporary, "daemon");
        make_directory(&temporary, "sbin");
        make_directory(&temporary, "libexec");
        for (size_t i = ELEMENTSOF(places); i-- > 0;) {
                make_file(&temporary, places[i], 0755);
                ck_assert_int_eq(find(&temporary, NULL, &found), 0);
                ck_assert(span_is(buffer_span(&found), places[i]));
                buffer_clear(&found);
        }
}
END_TEST

START_TEST(what_cannot_be_run_is_passed_over) {
        _cleanup_(temporary_done) Temporary temporary;
        _cleanup_(buffer_done) Buffer found = {};

        temporary_init(&temporary);
        make_directory(&temporary, "bin");
        make_directory(&temporary, "bin/ctprofd");
        make_directory(&temporary, "daemon");
        make_file(&temporary, "daemon/ctprofd", 0644);
        make_directory(&temporary, "sbin");
        make_file(&temporary, "sbin/ctprofd", 0755);
        ck_assert_int_eq(find(&temporary, NULL, &found), 0);
        ck_assert(span_is(buffer_span(&found), "bin/../sbin/ctprofd"));
}
END_TEST

START_TEST(the_environment_has_the_last_word) {
        _cleanup_(temporary_done) Temporary temporary;
        _cleanup_(buffer_done) Buffer found = {};

        temporary_init(&temporary);
        make_directory(&temporary, "bin");
        make_file(&temporary, "bin/ctprofd", 0755);
        make_file(&temporary, "other", 0755);
        ck_assert_int_eq(find(&temporary, "other", &found), 0);
        ck_assert(span_is(buffer_span(&found), "other"));
        buffer_clear(&found);

        ck_assert_int_eq(find(&temporary, "missing", &found), SERVER_PROGRAM_E_NONE);
        ck_assert(span_is(buffer_span(&found), "missing"));
        buffer_clear(&found);

        ck_assert_int_eq(server_program_find("", temporary.path, &found),
                         SERVER_PROGRAM_E_NONE); /* set but empty is not set */
        ck_assert_ptr_nonnull(strstr(found.bytes, "/ctprofd"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("server-program");
        TCase *find_case = tcase_create("find");

        tcase_add_test(find_case, the_nearest_one_is_taken);
        tcase_add_test(find_case, what_cannot_be_run_is_passed_over);
        tcase_add_test(find_case, the_environment_has_the_last_word);
        suite_add_tcase(suite, find_case);
        return check_main(suite);
}
