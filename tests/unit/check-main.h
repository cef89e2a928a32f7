/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CheckMain
 *
 * What every unit test program ends in: run one suite, every case a line of TAP. Check knows no
 * case that cannot be tried here: one that says so in check_skips() has its line with the reason.
 */

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * How many of @n random cases to try: all, or only the first third where each takes long and is
 * there for mistakes in memory alone (the test setup "valgrind").
 */
static inline int check_rounds(int n) {
        return getenv("CTPROF_FEW_ROUNDS") ? (n + 2) / 3 : n;
}

/* Why the case that runs could not be tried; not seen where Check runs cases in children. */
static const char *check_reason;

/* In a case: whether it cannot be tried, as @reason says; NULL where it can. */
static inline bool check_skips(const char *reason) {
        check_reason = reason;
        return reason != NULL;
}

/* One line, for Check writes out each. */
static inline ssize_t check_write_line(void *cookie, const char *line, size_t n) {
        if (check_reason && n > 3 && strncmp(line, "ok ", 3) == 0 && line[n - 1] == '\n') {
                char more[256];
                int n_more = snprintf(more, sizeof(more), " # SKIP %s\n", check_reason);

                if (write(STDOUT_FILENO, line, n - 1) < 0 ||
                    write(STDOUT_FILENO, more, (size_t) n_more) < 0)
                        return 0;
        } else if (write(STDOUT_FILENO, line, n) < 0)
                return 0;
        check_reason = NULL;
        return (ssize_t) n;
}

/* The same for all cases at once: @reason why none can be tried, or NULL. */
static inline int check_main_unless(const char *reason, Suite *suite) {
        SRunner *runner = srunner_create(suite);
        FILE *out = stdout;
        int n_failed;

        if (reason) {
                printf("1..0 # SKIP %s\n", reason);
                srunner_free(runner);
                return EXIT_SUCCESS;
        }
        (void) fflush(stdout);
        stdout = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = check_write_line });
        if (!stdout)
                abort();
        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        n_failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        (void) fclose(stdout);
        stdout = out;
        return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static inline int check_main(Suite *suite) {
        return check_main_unless(NULL, suite);
}
