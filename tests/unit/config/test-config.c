/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "heard.h"
#include "temporary.h"

static void write_file(const char *path, const char *text, size_t n) {
        FILE *file = fopen(path, "we");

        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fwrite(text, 1, n, file), n);
        ck_assert_int_eq(fclose(file), 0);
}

/* Loads @text as the file "x"; paths in the messages begin with its directory. */
static int load(const char *text, size_t n, Config **ret, Heard *heard) {
        const ConfigListener listener = heard_listener(heard);
        char path[TEMPORARY_PATH_BYTES];
        Temporary temporary;
        int r;

        temporary_init(&temporary);
        write_file(temporary_path(&temporary, "x", path), text, n);
        ck_assert_int_eq(config_new(ret), 0);
        r = config_load_file(*ret, path, &listener);
        temporary_done(&temporary);
        return r;
}

static const struct {
        const char *text;
        SettingId id;
        uint64_t value;
} good_rows[] = {
        { "[Spool]\nMaxBytes=4G\n", SETTING_MAX_BYTES, UINT64_C(4) << 30 },
        { "[Spool]\nMaxBytes=4G", SETTING_MAX_BYTES, UINT64_C(4) << 30 }, /* no line end */
        { "[Spool]\r\nMaxBytes=4G\r\n", SETTING_MAX_BYTES, UINT64_C(4) << 30 },
        { "\n# x\n; y\n[Spool]\n  MaxBytes = 4G  \n", SETTING_MAX_BYTES, UINT64_C(4) << 30 },
        { "[Spool]\nMaxBytes=infinity\n", SETTING_MAX_BYTES, QUANTITY_INFINITY },
        { "[Spool]\nMaxBytes=0\n", SETTING_MAX_BYTES, 0 },
        { "[Spool]\nKeepFree=1\n  MaxAge=30d\n", SETTING_MAX_AGE, 30 * SETTING_DAY_NS },
        { "[Spool]\nMaxAge=1d\nMaxAge=2d\n", SETTING_MAX_AGE, 2 * SETTING_DAY_NS },
        { "[Spool]\nMaxAge=1d\n[Spool]\nMaxAge=\n", SETTING_MAX_AGE, QUANTITY_INFINITY },
        { "[Capture]\nExitAccounting=auto\n", SETTING_EXIT_ACCOUNTING, EXIT_CHOICE_AUTO },
        { "[Capture]\nExitAccounting=bpf\n", SETTING_EXIT_ACCOUNTING, EXIT_CHOICE_BPF },
        { "[Capture]\nExitAccounting=taskstats\n", SETTING_EXIT_ACCOUNTING, EXIT_CHOICE_TASKSTATS },
        { "[Capture]\nExitAccounting=off\n", SETTING_EXIT_ACCOUNTING, EXIT_CHOICE_OFF },
        { "[Capture]\nExitAccounting=off\nExitAccounting=\n", SETTING_EXIT_ACCOUNTING,
          EXIT_CHOICE_AUTO },
        { "[Capture]\nSmaps=no\n", SETTING_SMAPS, SMAPS_MODE_NONE },
        { "[Capture]\nSmaps=off\nSmaps=true\n", SETTING_SMAPS, SMAPS_MODE_SMALL },
        { "[Capture]\nSmaps=yes\n", SETTING_SMAPS, SMAPS_MODE_SMALL },
        { "[Capture]\nSmaps=all\n", SETTING_SMAPS, SMAPS_MODE_ALL },
        { "[Capture]\nSmaps=none\n", SETTING_SMAPS, SMAPS_MODE_NONE },
        { "[Capture]\nSmaps=all\nSmaps=small\n", SETTING_SMAPS, SMAPS_MODE_SMALL },
        { "[Capture]\nSmaps=all\nSmaps=\n", SETTING_SMAPS, SMAPS_MODE_SMALL },
        { "[Capture]\nSmaps=no\n", SETTING_SMAPS_MAX_RSS, 256 * SETTING_MIB },
        { "[Capture]\nSmapsMaxRss=0\n", SETTING_SMAPS_MAX_RSS, 0 },
        { "[Capture]\nSmapsMaxRss=32M\n", SETTING_SMAPS_MAX_RSS, 32 * SETTING_MIB },
        { "[Capture]\nSmapsMaxRss=infinity\n", SETTING_SMAPS_MAX_RSS, QUANTITY_INFINITY },
        { "[Capture]\nSmapsMaxProcesses=1\n", SETTING_SMAPS_MAX_PROCESSES, 1 },
        { "[Capture]\nSmapsMaxProcesses=4194304\n", SETTING_SMAPS_MAX_PROCESSES, 1 << 22 },
        { "[Capture]\nHeap=no\n", SETTING_HEAP, 0 },
        { "[Capture]\nHeap=off\nHeap=1\n", SETTING_HEAP, 1 },
        { "[Capture]\nHeap=no\nHeap=\n", SETTING_HEAP, 1 },
        { "[Capture]\nHeap=no\n", SETTING_HEAP_TIME, 100 * NSEC_PER_MSEC },
        { "[Capture]\nHeapTime=2s\n", SETTING_HEAP_TIME, 2 * NSEC_PER_SEC },
        { "[Jobs]\nMaxAnalyses=64\n", SETTING_ANALYSES, 64 },
        { "[Jobs]\nMaxAnalyses=1\n", SETTING_ANALYSES, 1 },
        { "[Jobs]\nMemoryMax=64M\n", SETTING_JOB_MEMORY, UINT64_C(64) << 20 },
        { "[Server]\nIdleTime=1ms\n", SETTING_IDLE_TIME, NSEC_PER_MSEC },
        { "\xef\xbb\xbf[Server]\nIdleTime=1ms\n", SETTING_IDLE_TIME, NSEC_PER_MSEC },
        { "", SETTING_CONNECTIONS, LIMIT_CONNECTIONS },
};

START_TEST(a_file_sets_what_it_says) {
        _cleanup_(config_freep) Config *config = NULL;
        Heard heard;

        ck_assert_int_eq(load(good_rows[_i].text, strlen(good_rows[_i].text), &config, &heard),
                         CONFIG_OK);
        ck_assert_str_eq(heard.text, "");
        ck_assert_uint_eq(config->values[good_rows[_i].id].number, good_rows[_i].value);
}
END_TEST

static const struct {
        const char *text;
        const char *complaint; /* behind the path */
} wrong_rows[] = {
        { "[Spool]\n\nMaxBytes=lots\n", ":3: MaxBytes=: \"lots\" is not a size like 512M or 4G\n" },
        { "[Spool]\nMaxAge=1x\n", ":2: MaxAge=: \"1x\" is not a time like 90s or 1h 30min\n" },
        { "[Spool]\nKeepFree=infinity\n", ":2: KeepFree=: \"infinity\" is not between 0 and " },
        { "[Capture]\nSmaps=maybe\n", ":2: Smaps=: \"maybe\" is not all, small or none\n" },
        { "[Capture]\nHeap=all\n", ":2: Heap=: \"all\" is not yes or no\n" },
        { "[Capture]\nHeapTime=0\n", ":2: HeapTime=: \"0\" is not between 1ms and 1d\n" },
        { "[Jobs]\nMaxAnalyses=0\n", ":2: MaxAnalyses=: \"0\" is not between 1 and 64\n" },
        { "[Jobs]\nMaxAnalyses=65\n", ":2: MaxAnalyses=: \"65\" is not between 1 and 64\n" },
        { "[Jobs]\nMaxAnalyses=1K\n", ":2: MaxAnalyses=: \"1K\" is not a number\n" },
        { "[Jobs]\nMemoryMax=63M\n", ":2: MemoryMax=: \"63M\" is not between 64M and 1T\n" },
        { "[Jobs]\nCaptureTime=999ms\n", ":2: CaptureTime=: \"999ms\" is not between 1s and 1d\n" },
        { "[Jobs]\nCaptureTime=infinity\n", ":2: CaptureTime=: \"infinity\" is not between" },
        { "[Spool\nMaxAge=1d\n", ":1: the section name has no closing \"]\"\n" },
        { "[Spool]\nMaxAge\n", ":2: the line is neither a section, an assignment nor a comment\n" },
        { "[Spool]\n# x\nMaxAge\n\n",
          ":3: the line is neither a section, an assignment nor a comment\n" },
        /* inih would take it as a continuation of the line before. */
        { "[Capture]\nSmaps=\n\vno\n",
          ":3: the line is neither a section, an assignment nor a comment\n" },
        { "[Capture]\nSmaps=\n\r0\n",
          ":3: the line is neither a section, an assignment nor a comment\n" },
};

START_TEST(a_wrong_line_is_told_with_its_place_and_changes_nothing) {
        _cleanup_(config_freep) Config *config = NULL, *standard = NULL;
        Heard heard;

        ck_assert_int_eq(load(wrong_rows[_i].text, strlen(wrong_rows[_i].text), &config, &heard),
                         CONFIG_E_WRONG);
        ck_assert_msg(strstr(heard.text, wrong_rows[_i].complaint), "%s", heard.text);
        ck_assert_uint_eq(heard.n_wrong, 1);
        ck_assert_int_eq(config_new(&standard), 0);
        for (unsigned id = 0; id < _SETTING_MAX; id++)
                ck_assert_uint_eq(config->values[id].number, standard->values[id].number);
}
END_TEST

START_TEST(every_wrong_line_is_told_and_the_others_count) {
        static const char text[] = "[Spool]\nMaxBytes=x\nMaxAge=1d\nnonsense\n[Jobs]\n"
                                   "MaxAnalyses=-1\n[Server]\nMaxConnections=9\n";
        _cleanup_(config_freep) Config *config = NULL;
        Heard heard;

        ck_assert_int_eq(load(text, sizeof(text) - 1, &config, &heard), CONFIG_E_WRONG);
        ck_assert_uint_eq(heard.n_wrong, 3);
        ck_assert_ptr_nonnull(strstr(heard.text, ":2: "));
        ck_assert_ptr_nonnull(strstr(heard.text, ":4: "));
        ck_assert_ptr_nonnull(strstr(heard.text, ":6: "));
        ck_assert(!config->values[SETTING_MAX_BYTES].origin);
        ck_assert_uint_eq(config->values[SETTING_MAX_AGE].number, SETTING_DAY_NS);
        ck_assert_uint_eq(config->values[SETTING_CONNECTIONS].number, 9);
}
END_TEST

static const struct {
        const char *text, *complaint;
} unknown_rows[] = {
        { "[Spool]\nMaxByte=4G\n",
          ":2: there is no MaxByte= in section [Spool]; the line is ignored\n" },
        { "[Jobs]\nMaxBytes=4G\n",
          ":2: there is no MaxBytes= in section [Jobs]; the line is ignored\n" },
        { "[spool]\nMaxBytes=4G\n",
          ":2: there is no MaxBytes= in section [spool]; the line is ignored\n" },
        { "MaxBytes=4G\n", ":1: MaxBytes= comes before the first section and is ignored\n" },
};

START_TEST(what_is_unknown_is_told_and_no_reason_to_refuse) {
        _cleanup_(config_freep) Config *config = NULL;
        Heard heard;

        ck_assert_int_eq(
                load(unknown_rows[_i].text, strlen(unknown_rows[_i].text), &config, &heard),
                CONFIG_OK);
        ck_assert_uint_eq(heard.n_unknown, 1);
        ck_assert_msg(strstr(heard.text, unknown_rows[_i].complaint), "%s", heard.text);
}
END_TEST

/* A line that inih would cut off or misread must not be taken as another value. */
START_TEST(a_line_past_the_bound_or_with_a_nul_is_wrong) {
        static const char nul[] = "[Spool]\nMaxAge=1d\0x\n";
        _cleanup_(config_freep) Config *config = NULL;
        char text[400] = "[Spool]\nMaxAge=1d";
        size_t n = strlen(text);
        Heard heard;

        memset(text + n, ' ', 198 - 9);
        n += 198 - 9;
        text[n++] = 'x';
        ck_assert_int_eq(load(text, n, &config, &heard), CONFIG_E_WRONG);
        ck_assert_ptr_nonnull(strstr(heard.text, ":2: the line is too long\n"));
        ck_assert(!config->values[SETTING_MAX_AGE].origin);

        config = config_free(config);
        ck_assert_int_eq(load(nul, sizeof(nul) - 1, &config, &heard), CONFIG_E_WRONG);
        ck_assert_ptr_nonnull(strstr(heard.text, ":2: the line contains a NUL byte\n"));
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_an_errno) {
        _cleanup_(config_freep) Config *config = NULL;
        char path[TEMPORARY_PATH_BYTES];
        Temporary temporary;
        ConfigListener listener;
        Heard heard;

        listener = heard_listener(&heard);
        ck_assert_int_eq(config_new(&config), 0);
        temporary_init(&temporary);
        ck_assert_int_eq(
                config_load_file(config, temporary_path(&temporary, "none", path), &listener),
                -ENOENT);
        ck_assert_int_eq(config_load_file(config, temporary.path, &listener), -EISDIR);
        /* Nobody will ever write to this FIFO; opening it must not wait. */
        ck_assert_int_eq(mkfifo(temporary_path(&temporary, "fifo", path), 0600), 0);
        ck_assert_int_eq(config_load_file(config, path, &listener), CONFIG_OK);
        ck_assert_int_eq(config_load_file(config, "/dev/null", &listener), CONFIG_OK);
        ck_assert_int_eq(config_load_file(config, "/dev/zero", &listener), -EFBIG);
        ck_assert_str_eq(heard.text, "");
        temporary_done(&temporary);
}
END_TEST

START_TEST(a_dump_is_a_file_with_the_same_settings) {
        static const char text[] = "[Spool]\nMaxBytes=0\nMaxAge=1h 30min\n[Capture]\nSmaps=no\n";
        _cleanup_(config_freep) Config *config = NULL, *again = NULL;
        _cleanup_(buffer_done) Buffer dump = {};
        Heard heard;
        const char *dumped;

        ck_assert_int_eq(load(text, sizeof(text) - 1, &config, &heard), CONFIG_OK);
        ck_assert_int_eq(config_dump(config, &dump), 0);
        ck_assert_int_eq(buffer_terminate(&dump, &dumped), 0);
        ck_assert_ptr_nonnull(strstr(dumped, "/x:2\nMaxBytes=0\n#KeepFree=\n"));
        ck_assert_ptr_nonnull(strstr(dumped, "/x:3\nMaxAge=1h 30min\n"));
        ck_assert_ptr_nonnull(strstr(dumped, "\n[Server]\n#MaxConnections=256\n"));
        ck_assert_int_eq(load(dump.bytes, dump.n, &again, &heard), CONFIG_OK);
        for (unsigned id = 0; id < _SETTING_MAX; id++) {
                ck_assert_uint_eq(config->values[id].number, again->values[id].number);
                ck_assert(!config->values[id].origin == !again->values[id].origin);
        }
}
END_TEST

/* Each "#KEY=" of the installed file, uncommented, is the default; and no key is missing. */
START_TEST(the_installed_file_shows_the_defaults) {
        _cleanup_(config_freep) Config *config = NULL, *standard = NULL;
        FILE *file = fopen(TESTS_DIR "/../systemd/ctprofd.conf", "re");
        char text[8192], line[256];
        size_t n = 0, n_keys = 0;
        Heard heard;

        ck_assert_ptr_nonnull(file);
        while (fgets(line, sizeof(line), file)) {
                bool is_key = line[0] == '#' && line[1] != ' ' && strchr(line, '=');

                n_keys += is_key;
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s", line + is_key);
        }
        (void) fclose(file);
        ck_assert_uint_eq(n_keys, _SETTING_MAX);
        ck_assert_int_eq(load(text, n, &config, &heard), CONFIG_OK);
        ck_assert_str_eq(heard.text, "");
        ck_assert_int_eq(config_new(&standard), 0);
        for (unsigned id = 0; id < _SETTING_MAX; id++)
                ck_assert_uint_eq(config->values[id].number, standard->values[id].number);
}
END_TEST

START_TEST(the_manual_has_every_setting) {
        static const char *const keys[] = {
#define SETTING_KEY(id, section, key, type, lowest, highest, standard) "\n.BI " key "= ",
                SETTINGS(SETTING_KEY)
#undef SETTING_KEY
        };
        static char text[32768];
        FILE *file = fopen(TESTS_DIR "/../man/ctprofd.conf.5", "re");
        size_t n;

        ck_assert_ptr_nonnull(file);
        n = fread(text, 1, sizeof(text) - 1, file);
        (void) fclose(file);
        text[n] = '\0';
        ck_assert_ptr_nonnull(strstr(text, keys[_i]));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("config");
        TCase *file = tcase_create("file"), *dump = tcase_create("dump");

        tcase_add_loop_test(file, a_file_sets_what_it_says, 0, ELEMENTSOF(good_rows));
        tcase_add_loop_test(file, a_wrong_line_is_told_with_its_place_and_changes_nothing, 0,
                            ELEMENTSOF(wrong_rows));
        tcase_add_test(file, every_wrong_line_is_told_and_the_others_count);
        tcase_add_loop_test(file, what_is_unknown_is_told_and_no_reason_to_refuse, 0,
                            ELEMENTSOF(unknown_rows));
        tcase_add_test(file, a_line_past_the_bound_or_with_a_nul_is_wrong);
        tcase_add_test(file, a_file_that_cannot_be_read_is_an_errno);
        suite_add_tcase(suite, file);
        tcase_add_test(dump, a_dump_is_a_file_with_the_same_settings);
        tcase_add_test(dump, the_installed_file_shows_the_defaults);
        tcase_add_loop_test(dump, the_manual_has_every_setting, 0, _SETTING_MAX);
        suite_add_tcase(suite, dump);
        return check_main(suite);
}
