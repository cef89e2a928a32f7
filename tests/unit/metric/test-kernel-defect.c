/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/kernel-defect.h"

#include <string.h>

#include "base/macro.h"
#include "check-main.h"

#define BLKIO (UINT32_C(1) << KERNEL_DEFECT_BLKIO)

static const struct {
        const char *release;
        KernelDefects defects;
} release_rows[] = {
        { "6.1.0-56-cloud-amd64", 0 },
        { "6.11.11", 0 },
        { "6.12.0-rc1", BLKIO },
        { "6.12.117+deb13-cloud-amd64", BLKIO },
        { "6.18.44", BLKIO },
        { "7.2.12+deb13-cloud-amd64-scx", BLKIO },
        { "5.15", 0 },
        { "", 0 },
        { "6", 0 },
        { "x86", 0 },
        { "99999999999999999999.1", 0 },
};

START_TEST(releases_have_their_defects) {
        ck_assert_msg(kernel_defects_of(release_rows[_i].release) == release_rows[_i].defects,
                      "\"%s\"", release_rows[_i].release);
}
END_TEST

START_TEST(block_io_delays_are_approximate) {
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                bool is_blkio = strncmp(metric_table[id].name, "blkio_delay_", 12) == 0;
                const char *text = kernel_defects_of_metric(BLKIO, (MetricId) id);

                ck_assert_ptr_null(kernel_defects_of_metric(0, (MetricId) id));
                ck_assert_msg((text != NULL) == is_blkio, "%s", metric_table[id].name);
                /* The registry says what a view says. */
                if (text)
                        ck_assert_ptr_nonnull(strstr(metric_table[id].description, text));
        }
}
END_TEST

START_TEST(derived_values_inherit_the_defects_of_their_inputs) {
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                const char *text = kernel_defects_of_derived(BLKIO, (DerivedId) id);

                ck_assert_ptr_null(kernel_defects_of_derived(0, (DerivedId) id));
                ck_assert_msg((text != NULL) == (id == DERIVED_avg_blkio_delay_ns ||
                                                 id == DERIVED_total_offcpu_delay_ns),
                              "%s", derived_table[id].name);
                if (text)
                        ck_assert_ptr_nonnull(strstr(derived_table[id].description, text));
        }
}
END_TEST

START_TEST(write_bytes_says_that_it_counts_folios) {
        ck_assert_ptr_nonnull(strstr(metric_table[METRIC_write_bytes].description, "whole"));
        ck_assert_ptr_nonnull(strstr(metric_table[METRIC_write_bytes].description, "folio"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("kernel-defect");
        TCase *table = tcase_create("table");

        tcase_add_loop_test(table, releases_have_their_defects, 0, ELEMENTSOF(release_rows));
        tcase_add_test(table, block_io_delays_are_approximate);
        tcase_add_test(table, derived_values_inherit_the_defects_of_their_inputs);
        tcase_add_test(table, write_bytes_says_that_it_counts_folios);
        suite_add_tcase(suite, table);
        return check_main(suite);
}
