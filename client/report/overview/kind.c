/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/kind.h"

#define ENDS .n_sides = 2, .sides = { "before", "after" }, .words = { "before", "after" }
#define LISTS(a, b)                                              \
        .n_lists = 3, .lists = { "groups", "only" a, "only" b }, \
        .hidden = { "hiddenOnly" a, "hiddenOnly" b }, .has_sections = true

const ReportSetting report_settings[_REPORT_KIND_MAX] = {
        [REPORT_SNAPSHOT] = { .name = "state",
                              .n_columns = 1,
                              .n_sides = 1,
                              .sides = { "value" },
                              .n_lists = 1,
                              .lists = { "groups" },
                              .has_sections = true },
        [REPORT_PAIR] = { .name = "totals",
                          .n_columns = 2,
                          ENDS,
                          .labels = { "BEFORE", "AFTER" },
                          LISTS("Before", "After") },
        [REPORT_INTERVAL] = { .name = "interval",
                              .n_columns = 1,
                              .has_begin = true,
                              ENDS,
                              .labels = { "BEFORE", "AFTER" },
                              LISTS("Before", "After") },
        [REPORT_INTERVALS] = { .name = "intervals",
                               .n_columns = 2,
                               .has_begin = true,
                               .n_sides = 2,
                               .sides = { "a", "b" },
                               .words = { "A", "B" },
                               .labels = { "A", "B" },
                               LISTS("A", "B") },
        [REPORT_SETS] = { .name = "sets",
                          .n_columns = 2,
                          .has_begin = true,
                          ENDS,
                          .labels = { "BEFORE", "AFTER" },
                          .n_lists = 1,
                          .lists = { "groups" },
                          .of_medians = true },
};
