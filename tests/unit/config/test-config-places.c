/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <sys/stat.h>

#include "heard.h"
#include "temporary.h"

#define N_DIRECTORIES 3
#define NAME "ctprofd.conf"

/* Replace /etc, /run and /usr/lib. */
typedef struct Places {
        Temporary temporary;
        char paths[N_DIRECTORIES][TEMPORARY_PATH_BYTES];
        const char *directories[N_DIRECTORIES];
} Places;

static void places_init(Places *places) {
        static const char *const names[N_DIRECTORIES] = { "etc", "run", "lib" };

        temporary_init(&places->temporary);
        for (size_t i = 0; i < N_DIRECTORIES; i++)
                places->directories[i] =
                        temporary_path(&places->temporary, names[i], places->paths[i]);
}

/* @name: NAME or the name of a drop-in; creates its directories. */
static void put(Places *places, size_t directory, const char *name, const char *text) {
        char path[2 * TEMPORARY_PATH_BYTES];
        FILE *file;

        (void) mkdir(places->directories[directory], 0700);
        (void) snprintf(path, sizeof(path), "%s/" NAME ".d", places->directories[directory]);
        (void) mkdir(path, 0700);
        (void) snprintf(path, sizeof(path), "%s/%s", places->directories[directory], name);
        file = fopen(path, "we");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_ge(fputs(text, file), 0);
        ck_assert_int_eq(fclose(file), 0);
}

static int load(const Places *places, Config **ret, Heard *heard) {
        const ConfigListener listener = heard_listener(heard);

        ck_assert_int_eq(config_new(ret), 0);
        return config_load(*ret, places->directories, N_DIRECTORIES, NAME, &listener);
}

START_TEST(nowhere_is_the_default) {
        _cleanup_(config_freep) Config *config = NULL;
        Places places;
        Heard heard;

        places_init(&places);
        ck_assert_int_eq(load(&places, &config, &heard), CONFIG_OK);
        for (unsigned id = 0; id < _SETTING_MAX; id++)
                ck_assert(!config->values[id].origin);
        temporary_done(&places.temporary);
}
END_TEST

START_TEST(the_main_file_is_that_of_the_first_directory) {
        _cleanup_(config_freep) Config *config = NULL;
        Places places;
        Heard heard;

        places_init(&places);
        put(&places, 2, NAME, "[Server]\nMaxConnections=3\nMaxConnectionsPerUser=3\n");
        put(&places, 1, NAME, "[Server]\nMaxConnections=2\n");
        ck_assert_int_eq(load(&places, &config, &heard), CONFIG_OK);
        ck_assert_uint_eq(config->values[SETTING_CONNECTIONS].number, 2);
        ck_assert(!config->values[SETTING_CONNECTIONS_PER_USER].origin);
        temporary_done(&places.temporary);
}
END_TEST

static const struct {
        size_t directory;
        const char *name, *text;
} drop_ins[] = {
        { 0, "10-a.conf", "[Server]\nMaxConnections=10\n" },
        { 2, "50-m.conf", "[Server]\nMaxConnections=50\n" }, /* of lib, and later in the sort */
        { 1, "30-k.conf", "[Server]\nMaxConnections=30\nMaxConnectionsPerUser=30\n" },
        { 0, "90-z.config", "[Server]\nMaxConnections=90\n" }, /* not a .conf */
        { 0, ".95.conf", "[Server]\nMaxConnections=95\n" },
        { 0, ".conf", "[Server]\nMaxConnections=96\n" },
};

START_TEST(drop_ins_override_in_the_order_of_their_names) {
        _cleanup_(config_freep) Config *config = NULL;
        char name[TEMPORARY_PATH_BYTES];
        Places places;
        Heard heard;

        places_init(&places);
        put(&places, 0, NAME, "[Server]\nMaxConnections=5\n[Jobs]\nMaxAnalyses=5\n");
        for (size_t i = 0; i < ELEMENTSOF(drop_ins); i++) {
                (void) snprintf(name, sizeof(name), NAME ".d/%s", drop_ins[i].name);
                put(&places, drop_ins[i].directory, name, drop_ins[i].text);
        }
        ck_assert_int_eq(load(&places, &config, &heard), CONFIG_OK);
        ck_assert_uint_eq(config->values[SETTING_CONNECTIONS].number, 50);
        ck_assert_uint_eq(config->values[SETTING_CONNECTIONS_PER_USER].number, 30);
        ck_assert_uint_eq(config->values[SETTING_ANALYSES].number, 5);
        temporary_done(&places.temporary);
}
END_TEST

START_TEST(a_drop_in_hides_its_namesake_of_a_later_directory) {
        _cleanup_(config_freep) Config *config = NULL;
        char path[TEMPORARY_PATH_BYTES];
        Places places;
        Heard heard;

        places_init(&places);
        put(&places, 2, NAME ".d/50.conf", "[Server]\nMaxConnections=2\nMaxConnectionsPerUser=2\n");
        put(&places, 0, NAME ".d/50.conf", "[Server]\nMaxConnections=1\n");
        put(&places, 2, NAME ".d/60.conf", "[Jobs]\nMaxAnalyses=2\n");
        ck_assert_int_eq(symlink("/dev/null",
                                 temporary_path(&places.temporary, "etc/" NAME ".d/60.conf", path)),
                         0);
        ck_assert_int_eq(load(&places, &config, &heard), CONFIG_OK);
        ck_assert_uint_eq(config->values[SETTING_CONNECTIONS].number, 1);
        ck_assert(!config->values[SETTING_CONNECTIONS_PER_USER].origin);
        ck_assert(!config->values[SETTING_ANALYSES].origin);
        temporary_done(&places.temporary);
}
END_TEST

START_TEST(a_wrong_line_anywhere_is_told_and_the_rest_is_read) {
        _cleanup_(config_freep) Config *config = NULL;
        Places places;
        Heard heard;

        places_init(&places);
        put(&places, 0, NAME, "[Server]\nMaxConnections=none\n");
        put(&places, 0, NAME ".d/10.conf", "[Jobs]\nMaxAnalyses=none\n");
        put(&places, 0, NAME ".d/20.conf", "[Jobs]\nMaxAnalyses=7\n");
        ck_assert_int_eq(load(&places, &config, &heard), CONFIG_E_WRONG);
        ck_assert_uint_eq(heard.n_wrong, 2);
        ck_assert_ptr_nonnull(strstr(heard.text, "etc/" NAME ":2: MaxConnections="));
        ck_assert_ptr_nonnull(strstr(heard.text, "etc/" NAME ".d/10.conf:2: MaxAnalyses="));
        ck_assert_uint_eq(config->values[SETTING_ANALYSES].number, 7);
        temporary_done(&places.temporary);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_told) {
        _cleanup_(config_freep) Config *config = NULL;
        char path[TEMPORARY_PATH_BYTES];
        Places places;
        Heard heard;

        places_init(&places);
        put(&places, 0, NAME ".d/10.conf", "[Jobs]\nMaxAnalyses=7\n");
        ck_assert_int_eq(
                mkdir(temporary_path(&places.temporary, "etc/" NAME ".d/20.conf", path), 0700), 0);
        ck_assert_int_eq(load(&places, &config, &heard), CONFIG_E_WRONG);
        ck_assert_ptr_nonnull(strstr(heard.text, NAME ".d/20.conf: Is a directory\n"));
        ck_assert_uint_eq(config->values[SETTING_ANALYSES].number, 7);
        temporary_done(&places.temporary);
}
END_TEST

static const struct {
        const char *name, *target; /* a link to it, or a file without one */
        const char *complaint;
} odd_rows[] = {
        { NAME, "nowhere", "etc/" NAME ": the symbolic link points to nothing\n" },
        { NAME ".d", "nowhere", "etc/" NAME ".d: the symbolic link points to nothing\n" },
        { NAME ".d", NULL, "etc/" NAME ".d: Not a directory\n" },
        { NAME ".d/30.conf", "nowhere",
          "etc/" NAME ".d/30.conf: the symbolic link points to nothing\n" },
        { NAME ".d/30.conf", "30.conf", ".d/30.conf: Too many levels of symbolic links\n" },
};

/* A file that was put there to be read is never skipped silently. */
START_TEST(what_is_there_and_leads_nowhere_is_told) {
        _cleanup_(config_freep) Config *config = NULL;
        char path[2 * TEMPORARY_PATH_BYTES];
        Places places;
        Heard heard;

        places_init(&places);
        put(&places, 2, NAME ".d/10.conf", "[Jobs]\nMaxAnalyses=7\n");
        ck_assert_int_eq(mkdir(places.directories[0], 0700), 0);
        if (strchr(odd_rows[_i].name, '/'))
                put(&places, 0, NAME ".d/20.conf", "");
        (void) snprintf(path, sizeof(path), "%s/%s", places.directories[0], odd_rows[_i].name);
        if (odd_rows[_i].target)
                ck_assert_int_eq(symlink(odd_rows[_i].target, path), 0);
        else
                ck_assert_int_eq(mknod(path, S_IFREG | 0600, 0), 0);
        ck_assert_int_eq(load(&places, &config, &heard), CONFIG_E_WRONG);
        ck_assert_uint_eq(heard.n_wrong, 1);
        ck_assert_ptr_nonnull(strstr(heard.text, odd_rows[_i].complaint));
        ck_assert_uint_eq(config->values[SETTING_ANALYSES].number, 7);
        temporary_done(&places.temporary);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("config-places");
        TCase *places = tcase_create("places");

        tcase_add_test(places, nowhere_is_the_default);
        tcase_add_test(places, the_main_file_is_that_of_the_first_directory);
        tcase_add_test(places, drop_ins_override_in_the_order_of_their_names);
        tcase_add_test(places, a_drop_in_hides_its_namesake_of_a_later_directory);
        tcase_add_test(places, a_wrong_line_anywhere_is_told_and_the_rest_is_read);
        tcase_add_test(places, a_file_that_cannot_be_read_is_told);
        tcase_add_loop_test(places, what_is_there_and_leads_nowhere_is_told, 0,
                            ELEMENTSOF(odd_rows));
        suite_add_tcase(suite, places);
        return check_main(suite);
}
