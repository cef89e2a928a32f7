/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/log.h"

static const struct {
        const char *text;
        int level;
} level_rows[] = {
        { "emerg", LOG_EMERG },
        { "err", LOG_ERR },
        { "error", LOG_ERR },
        { "warning", LOG_WARNING },
        { "info", LOG_INFO },
        { "debug", LOG_DEBUG },
        { "7", LOG_DEBUG },
        { "0", LOG_EMERG },
        { "8", -1 },
        { "", -1 },
        { "loud", -1 },
        { "-1", -1 },
};

START_TEST(levels_are_words_or_digits) {
        ck_assert_int_eq(log_level_parse(span_of(level_rows[_i].text)), level_rows[_i].level);
}
END_TEST

static bool is_logged(int level) {
        int ends[2], saved = dup(STDERR_FILENO);
        char line[64];
        ssize_t n;

        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
        log_write(level, 0, NULL, "line");
        ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
        fd_close(ends[1]);
        n = read(ends[0], line, sizeof(line));
        fd_close(ends[0]);
        fd_close(saved);
        return n > 0;
}

START_TEST(the_environment_sets_the_level) {
        ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
        ck_assert_int_eq(setenv("SYSTEMD_LOG_LEVEL", "err", 1), 0);
        log_open(LOG_INFO);
        ck_assert(is_logged(LOG_ERR));
        ck_assert(!is_logged(LOG_WARNING));
        ck_assert_int_eq(setenv("SYSTEMD_LOG_LEVEL", "nonsense", 1), 0);
        log_open(LOG_WARNING);
        ck_assert(is_logged(LOG_WARNING));
        ck_assert(!is_logged(LOG_INFO));
        ck_assert_int_eq(unsetenv("SYSTEMD_LOG_LEVEL"), 0);
}
END_TEST

START_TEST(lines_go_to_stderr_whole_and_with_the_reason) {
        int ends[2], saved = dup(STDERR_FILENO);
        char line[256];
        ssize_t n;

        ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
        ck_assert_int_eq(unsetenv("SYSTEMD_LOG_LEVEL"), 0);
        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
        log_open(LOG_INFO);
        log_debug("not this");
        log_warning(-ENOENT, "Could not open %s", "it");
        log_write(LOG_INFO, 0, &(LogEvent){ .uid = 5, .snapshot = "s" }, "Took %s", "one");
        ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
        fd_close(ends[1]);
        n = read(ends[0], line, sizeof(line) - 1);
        ck_assert_int_gt(n, 0);
        line[n] = '\0';
        ck_assert_str_eq(line, "ctprofd: Could not open it: No such file or directory\n"
                               "ctprofd: Took one\n");
        fd_close(ends[0]);
        fd_close(saved);
}
END_TEST

static const struct {
        const char *text;
        const char *quoted;
} quote_rows[] = {
        { "", "\"\"" },
        { "plain", "\"plain\"" },
        { "a\"b\\c", "\"a\\x22b\\x5cc\"" },
        { "line\nline", "\"line\\x0aline\"" },
        { "\x1b[31m", "\"\\x1b[31m\"" },
        { "\xff", "\"\\xff\"" },
};

START_TEST(text_from_outside_is_quoted) {
        char quoted[LOG_QUOTE_BYTES];

        ck_assert_str_eq(log_quote(span_of(quote_rows[_i].text), quoted), quote_rows[_i].quoted);
}
END_TEST

START_TEST(long_text_is_cut_where_it_fits) {
        char text[300], quoted[LOG_QUOTE_BYTES];

        for (size_t n = 0; n < sizeof(text); n++) {
                for (size_t i = 0; i < n; i++)
                        text[i] = i % 3 == 0 ? '\n' : 'x';
                (void) log_quote((Span){ text, n }, quoted);
                ck_assert_uint_lt(strlen(quoted), LOG_QUOTE_BYTES);
                ck_assert_int_eq(quoted[strlen(quoted) - 1], '"');
        }
        ck_assert_ptr_nonnull(strstr(quoted, "...\""));
}
END_TEST

/* Checks whether a line of @uid passes and that it reports @n_suppressed lines before it. */
static bool passes(LogLimit *limit, uid_t uid, uint64_t now_ns, unsigned n_suppressed) {
        unsigned n;
        bool passed = log_limit_pass(limit, uid, now_ns, &n);

        ck_assert_uint_eq(n, n_suppressed);
        return passed;
}

START_TEST(a_limit_passes_its_burst_and_tells_what_it_kept_back) {
        LogLimit limit = { .interval_ns = 100, .burst = 2 };

        ck_assert(passes(&limit, 7, 1000, 0));
        ck_assert(passes(&limit, 7, 1001, 0));
        ck_assert(!passes(&limit, 7, 1002, 0));
        ck_assert(!passes(&limit, 7, 1099, 0));
        ck_assert(passes(&limit, 7, 1100, 2));
        ck_assert(passes(&limit, 7, 1101, 0));
}
END_TEST

START_TEST(one_user_does_not_keep_the_lines_of_others_out) {
        LogLimit limit = { .interval_ns = 100, .burst = 2 };

        for (unsigned i = 0; i < 50; i++)
                ck_assert(passes(&limit, 0, 1000, 0) == (i < 2));
        ck_assert(passes(&limit, 7, 1001, 0));
        ck_assert(passes(&limit, 0, 1100, 48));
        ck_assert(passes(&limit, 7, 1100, 0));
        ck_assert(!passes(&limit, 7, 1100, 0));
}
END_TEST

START_TEST(more_users_than_are_told_apart_share_an_allowance) {
        LogLimit limit = { .interval_ns = 100, .burst = 1 };

        for (uid_t uid = 0; uid <= LIMIT_LOGGED_USERS; uid++) {
                ck_assert(passes(&limit, uid, 1000, 0));
                ck_assert(!passes(&limit, uid, 1000, 0));
        }
        ck_assert(!passes(&limit, LIMIT_LOGGED_USERS + 1, 1000, 0));
        /* Later every slot is free again, and no suppressed line is forgotten. */
        for (uid_t uid = 100; uid < 100 + LIMIT_LOGGED_USERS; uid++)
                ck_assert(passes(&limit, uid, 1100, 0));
        ck_assert(passes(&limit, 200, 1100, LIMIT_LOGGED_USERS + 2));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("log");
        TCase *lines = tcase_create("lines"), *quote = tcase_create("quote");
        TCase *limit = tcase_create("limit");

        tcase_add_loop_test(lines, levels_are_words_or_digits, 0, ELEMENTSOF(level_rows));
        tcase_add_test(lines, the_environment_sets_the_level);
        tcase_add_test(lines, lines_go_to_stderr_whole_and_with_the_reason);
        tcase_add_loop_test(quote, text_from_outside_is_quoted, 0, ELEMENTSOF(quote_rows));
        tcase_add_test(quote, long_text_is_cut_where_it_fits);
        tcase_add_test(limit, a_limit_passes_its_burst_and_tells_what_it_kept_back);
        tcase_add_test(limit, one_user_does_not_keep_the_lines_of_others_out);
        tcase_add_test(limit, more_users_than_are_told_apart_share_an_allowance);
        suite_add_tcase(suite, lines);
        suite_add_tcase(suite, quote);
        suite_add_tcase(suite, limit);
        return check_main(suite);
}
