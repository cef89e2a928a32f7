/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "profiler/options.h"

static const struct {
        const char *words[6];
        int r;
        OptionsAction action;
        const char *complaint;
} rows[] = {
        { { "ctprofd" }, 0, OPTIONS_SERVE, NULL },
        { { "ctprofd", "--spool", "/s", "--listen=/l" }, 0, OPTIONS_SERVE, NULL },
        { { "ctprofd", "--max-bytes=4G", "--keep-free", "0", "--max-age=30d" },
          0,
          OPTIONS_SERVE,
          NULL },
        { { "ctprofd", "--job=capture" }, 0, OPTIONS_JOB, NULL },
        { { "ctprofd", "-h" }, 0, OPTIONS_HELP, NULL },
        { { "ctprofd", "--help", "--nonsense" }, 0, OPTIONS_HELP, NULL },
        { { "ctprofd", "--version" }, 0, OPTIONS_VERSION, NULL },
        { { "ctprofd", "--nonsense" }, OPTIONS_E_WRONG, 0, "\"--nonsense\"" },
        { { "ctprofd", "-x" }, OPTIONS_E_WRONG, 0, "\"-x\"" },
        { { "ctprofd", "--spool" }, OPTIONS_E_WRONG, 0, "\"--spool\" needs a value" },
        { { "ctprofd", "serve" }, OPTIONS_E_WRONG, 0, "\"serve\"" },
        { { "ctprofd", "--max-bytes=lots" }, OPTIONS_E_WRONG, 0, "--max-bytes: \"lots\"" },
        { { "ctprofd", "--keep-free=-1" }, OPTIONS_E_WRONG, 0, "--keep-free: \"-1\"" },
        { { "ctprofd", "--keep-free=infinity" }, OPTIONS_E_WRONG, 0, "--keep-free: \"infinity\"" },
        { { "ctprofd", "--max-age=1x" }, OPTIONS_E_WRONG, 0, "--max-age: \"1x\"" },
        { { "ctprofd", "--max-age=1y", "--max-bytes=infinity" }, 0, OPTIONS_SERVE, NULL },
        { { "ctprofd", "--dump-config" }, 0, OPTIONS_DUMP_CONFIG, NULL },
        { { "ctprofd", "--dump-config", "--config=/c" }, 0, OPTIONS_DUMP_CONFIG, NULL },
        { { "ctprofd", "--dump-config", "--nonsense" }, OPTIONS_E_WRONG, 0, "\"--nonsense\"" },
        { { "ctprofd", "--dump-config", "more" }, OPTIONS_E_WRONG, 0, "\"more\"" },
        { { "ctprofd", "--config" }, OPTIONS_E_WRONG, 0, "\"--config\" needs a value" },
};

START_TEST(a_command_line_is_options_or_a_complaint) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        char words[6][64], *arguments[7] = { NULL };
        Options options;
        int n = 0;

        for (; n < 6 && rows[_i].words[n]; n++) {
                (void) strncpy(words[n], rows[_i].words[n], sizeof(words[n]) - 1);
                words[n][sizeof(words[n]) - 1] = '\0';
                arguments[n] = words[n];
        }
        ck_assert_int_eq(options_parse(n, arguments, &options, complaint), rows[_i].r);
        if (rows[_i].complaint)
                ck_assert_ptr_nonnull(strstr(complaint, rows[_i].complaint));
        else
                ck_assert_int_eq(options.action, rows[_i].action);
}
END_TEST

START_TEST(values_arrive) {
        char name[] = "ctprofd", spool[] = "--spool=/s", bytes[] = "--max-bytes=2K";
        char age[] = "--max-age=2min", *arguments[] = { name, spool, bytes, age, NULL };
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(options_parse(4, arguments, &options, complaint), 0);
        ck_assert_str_eq(options.spool_path, "/s");
        ck_assert_ptr_null(options.listen_path);
        ck_assert_str_eq(options.settings[SETTING_MAX_BYTES], "2K");
        ck_assert_str_eq(options.settings[SETTING_MAX_AGE], "2min");
        ck_assert_ptr_null(options.settings[SETTING_KEEP_FREE]);
        ck_assert_ptr_null(options.config_path);
}
END_TEST

START_TEST(the_help_fits_a_terminal) {
        size_t n_columns = 0;

        for (const char *c = options_help(); *c; c++) {
                n_columns = *c == '\n' ? 0 : n_columns + 1;
                ck_assert_uint_le(n_columns, 80);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("options");
        TCase *parse = tcase_create("parse");

        tcase_add_loop_test(parse, a_command_line_is_options_or_a_complaint, 0, ELEMENTSOF(rows));
        tcase_add_test(parse, values_arrive);
        tcase_add_test(parse, the_help_fits_a_terminal);
        suite_add_tcase(suite, parse);
        return check_main(suite);
}
