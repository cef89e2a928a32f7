/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CheckMain
 *
 * What every unit test program ends in: run one suite, every case a line of TAP.
 */

#include <check.h>
#include <stdlib.h>

/*
 * How many of @n random cases to try: all, or only the first third where each takes long and is
 * there for mistakes in memory alone (the test setup "valgrind").
 */
static inline int check_rounds(int n) {
        return getenv("CTPROF_FEW_ROUNDS") ? (n + 2) / 3 : n;
}

static inline int check_main(Suite *suite) {
        SRunner *runner = srunner_create(suite);
        int n_failed;

        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        n_failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
