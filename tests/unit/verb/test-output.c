/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/output.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "check-main.h"
#include "temporary.h"
#include "session/complain.h"
#include "wire/limits.h"

static void put_file(const char *path, const char *text) {
        FILE *file = fopen(path, "we");

        ck_assert_ptr_nonnull(file);
        ck_assert_int_ge(fputs(text, file), 0);
        ck_assert_int_eq(fclose(file), 0);
}

static void assert_file(const char *path, const char *text) {
        FILE *file = fopen(path, "re");
        char read[64] = "";

        ck_assert_ptr_nonnull(file);
        read[fread(read, 1, sizeof(read) - 1, file)] = '\0';
        (void) fclose(file);
        ck_assert_str_eq(read, text);
}

static size_t n_entries(const char *path) {
        DIR *directory = opendir(path);
        size_t n = 0;

        while (readdir(directory))
                n++;
        (void) closedir(directory);
        return n - 2;
}

/* A descriptor on @text, positioned at its end. */
static int source_of(const char *text) {
        int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        return fd;
}

START_TEST(a_file_is_there_whole_or_not_at_all) {
        _cleanup_(fd_closep) int source = source_of("content");
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES];
        Output *output = NULL;
        struct stat st;

        temporary_init(&temporary);
        ck_assert_int_eq(
                output_open(temporary_path(&temporary, "f", path), OUTPUT_EXCLUSIVE, &output), 0);
        ck_assert_int_eq(output_copy(output, source), 0);
        ck_assert_int_lt(access(path, F_OK), 0);
        ck_assert_int_eq(output_publish(output), 0);
        output = output_free(output);
        assert_file(path, "content");
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode & 0777, 0600);
        ck_assert_uint_eq(n_entries(temporary.path), 1);
}
END_TEST

START_TEST(what_is_not_published_leaves_nothing) {
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES];
        Output *output = NULL;

        temporary_init(&temporary);
        put_file(temporary_path(&temporary, "f", path), "old");
        ck_assert_int_eq(output_open(path, OUTPUT_REPLACE, &output), 0);
        ck_assert_int_eq(write(output_fd(output), "half", 4), 4);
        ck_assert_uint_eq(n_entries(temporary.path), 2);
        output = output_free(output);
        assert_file(path, "old");
        ck_assert_uint_eq(n_entries(temporary.path), 1);
}
END_TEST

START_TEST(replacing_replaces) {
        _cleanup_(fd_closep) int source = source_of("new");
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES];
        _cleanup_(output_freep) Output *output = NULL;

        temporary_init(&temporary);
        put_file(temporary_path(&temporary, "f", path), "old");
        ck_assert_int_eq(output_open(path, OUTPUT_REPLACE, &output), 0);
        ck_assert_int_eq(output_copy(output, source), 0);
        ck_assert_int_eq(output_publish(output), 0);
        assert_file(path, "new");
}
END_TEST

static const char *const targets[] = { "f", "nowhere", "/dev/null", "." };

START_TEST(links_are_not_followed) {
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES], link_path[TEMPORARY_PATH_BYTES];
        Output *output = NULL;
        struct stat st;

        temporary_init(&temporary);
        put_file(temporary_path(&temporary, "f", path), "old");
        ck_assert_int_eq(symlink(targets[_i], temporary_path(&temporary, "l", link_path)), 0);
        ck_assert_int_eq(output_open(link_path, OUTPUT_REPLACE, &output), STATUS_FAILED);
        ck_assert_int_eq(output_open(link_path, OUTPUT_EXCLUSIVE, &output), STATUS_FAILED);
        ck_assert_ptr_null(output);
        ck_assert_int_eq(lstat(link_path, &st), 0);
        ck_assert(S_ISLNK(st.st_mode));
        assert_file(path, "old");
        ck_assert_uint_eq(n_entries(temporary.path), 2);
}
END_TEST

/* The link comes when the file is being written, or the whole directory is put elsewhere. */
START_TEST(what_comes_meanwhile_is_replaced_and_not_followed) {
        _cleanup_(fd_closep) int source = source_of("new");
        _cleanup_(temporary_done) Temporary temporary;
        char in[TEMPORARY_PATH_BYTES], moved[TEMPORARY_PATH_BYTES], path[TEMPORARY_PATH_BYTES];
        char aim[TEMPORARY_PATH_BYTES];
        _cleanup_(output_freep) Output *output = NULL;

        temporary_init(&temporary);
        put_file(temporary_path(&temporary, "aim", aim), "old");
        ck_assert_int_eq(mkdir(temporary_path(&temporary, "in", in), 0700), 0);
        ck_assert_int_eq(
                output_open(temporary_path(&temporary, "in/f", path), OUTPUT_REPLACE, &output), 0);
        ck_assert_int_eq(symlink(aim, path), 0);
        ck_assert_int_eq(rename(in, temporary_path(&temporary, "moved", moved)), 0);
        ck_assert_int_eq(symlink("/", in), 0);
        ck_assert_int_eq(output_copy(output, source), 0);
        ck_assert_int_eq(output_publish(output), 0);
        assert_file(aim, "old");
        assert_file(temporary_path(&temporary, "moved/f", path), "new");
        ck_assert_uint_eq(n_entries(moved), 1);
}
END_TEST

/* Who put it there would read what we write. */
START_TEST(what_others_put_into_a_directory_for_all_is_not_written) {
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES];
        Output *output = NULL;
        int reader;

        if (geteuid() != 0)
                return; /* only root can make what is another user's */
        temporary_init(&temporary);
        ck_assert_int_eq(mkfifo(temporary_path(&temporary, "f", path), 0666), 0);
        ck_assert_int_eq(chown(path, 12345, 12345), 0);
        reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        ck_assert_int_eq(output_open(path, OUTPUT_REPLACE, &output), 0);
        output = output_free(output);
        ck_assert_int_eq(chmod(temporary.path, 01777), 0);
        ck_assert_int_eq(output_open(path, OUTPUT_REPLACE, &output), STATUS_FAILED);
        ck_assert_int_eq(chown(path, 0, 0), 0);
        ck_assert_int_eq(output_open(path, OUTPUT_REPLACE, &output), 0);
        output = output_free(output);
        (void) close(reader);
}
END_TEST

START_TEST(exclusive_never_overwrites) {
        _cleanup_(fd_closep) int source = source_of("new");
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES];
        Output *output = NULL;

        temporary_init(&temporary);
        put_file(temporary_path(&temporary, "f", path), "old");
        ck_assert_int_eq(output_open(path, OUTPUT_EXCLUSIVE, &output), STATUS_FAILED);
        ck_assert_ptr_null(output);

        /* Nor when somebody was quicker. */
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(output_open(path, OUTPUT_EXCLUSIVE, &output), 0);
        ck_assert_int_eq(output_copy(output, source), 0);
        put_file(path, "other");
        ck_assert_int_eq(output_publish(output), STATUS_FAILED);
        output = output_free(output);
        assert_file(path, "other");
        ck_assert_uint_eq(n_entries(temporary.path), 1);
}
END_TEST

START_TEST(devices_are_written_into) {
        _cleanup_(fd_closep) int source = source_of("x");
        _cleanup_(output_freep) Output *output = NULL;
        struct stat st;

        ck_assert_int_eq(output_open("/dev/null", OUTPUT_REPLACE, &output), 0);
        ck_assert_int_eq(output_copy(output, source), 0);
        ck_assert_int_eq(output_publish(output), 0);
        ck_assert_int_eq(stat("/dev/null", &st), 0);
        ck_assert(S_ISCHR(st.st_mode));
}
END_TEST

START_TEST(a_full_disk_is_one_sentence) {
        _cleanup_(fd_closep) int source = source_of("x");
        _cleanup_(output_freep) Output *output = NULL;

        ck_assert_int_eq(output_open("/dev/full", OUTPUT_REPLACE, &output), 0);
        ck_assert_int_eq(output_copy(output, source), STATUS_FAILED);
}
END_TEST

/* What whoever sent it could keep us reading for ever. */
START_TEST(only_files_are_copied) {
        static const char *const paths[] = { "/dev/zero", "/dev/null", "/" };
        _cleanup_(fd_closep) int sparse = source_of("x");
        _cleanup_(output_freep) Output *output = NULL;

        ck_assert_int_eq(output_open("/dev/null", OUTPUT_REPLACE, &output), 0);
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                _cleanup_(fd_closep) int source = open(paths[i], O_RDONLY | O_CLOEXEC);

                ck_assert_int_ge(source, 0);
                ck_assert_int_eq(output_copy(output, source), STATUS_FAILED);
        }
        if (ftruncate(sparse, (off_t) LIMIT_REPLY_BYTES_PER_CALL + 1) == 0)
                ck_assert_int_eq(output_copy(output, sparse), STATUS_FAILED);
}
END_TEST

static const char *const unwritable[] = { "/nonexistent/f", "/tmp", "/proc/f", "/tmp/", "" };

START_TEST(what_cannot_be_written_is_refused_at_once) {
        Output *output = NULL;

        ck_assert_int_eq(output_open(unwritable[_i], OUTPUT_REPLACE, &output), STATUS_FAILED);
        ck_assert_ptr_null(output);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("output");
        TCase *file = tcase_create("file");
        TCase *refuse = tcase_create("refuse");

        tcase_add_test(file, a_file_is_there_whole_or_not_at_all);
        tcase_add_test(file, what_is_not_published_leaves_nothing);
        tcase_add_test(file, replacing_replaces);
        tcase_add_test(file, exclusive_never_overwrites);
        tcase_add_test(file, devices_are_written_into);
        tcase_add_test(file, what_comes_meanwhile_is_replaced_and_not_followed);
        tcase_add_loop_test(refuse, links_are_not_followed, 0, ELEMENTSOF(targets));
        tcase_add_test(refuse, what_others_put_into_a_directory_for_all_is_not_written);
        tcase_add_test(refuse, a_full_disk_is_one_sentence);
        tcase_add_test(refuse, only_files_are_copied);
        tcase_add_loop_test(refuse, what_cannot_be_written_is_refused_at_once, 0,
                            ELEMENTSOF(unwritable));
        suite_add_tcase(suite, file);
        suite_add_tcase(suite, refuse);
        return check_main(suite);
}
