/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "text/fixture.h"
#include "kernel/text/text-file.h"

static char dir_path[] = "/tmp/text-file-XXXXXX";
static int dir_fd = -EBADF;

static void put_bytes(const char *name, Span text) {
        int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, text.bytes, text.n), (ssize_t) text.n);
        (void) close(fd);
}

static void put(const char *name, const char *text) {
        put_bytes(name, span_of(text));
}

static void setup(void) {
        ck_assert_ptr_nonnull(mkdtemp(dir_path));
        dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(dir_fd, 0);
        put("eight", "1234567\n");
        put("empty", "");
        put_bytes("nul", (Span){ "12\0004\n", 5 });
        ck_assert_int_eq(mkdirat(dir_fd, "dir", 0700), 0);
}

static void teardown(void) {
        (void) unlinkat(dir_fd, "eight", 0);
        (void) unlinkat(dir_fd, "empty", 0);
        (void) unlinkat(dir_fd, "nul", 0);
        (void) unlinkat(dir_fd, "dir", AT_REMOVEDIR);
        (void) close(dir_fd);
        (void) rmdir(dir_path);
        memcpy(dir_path + sizeof(dir_path) - 7, "XXXXXX", 6);
}

static const struct {
        const char *name;
        size_t size;
        int r;
        size_t n;
} read_rows[] = {
        { "eight", 9, 0, 8 },
        { "eight", 8, 0, 8 },
        { "eight", 7, TEXT_E_TOO_LARGE, 0 },
        { "eight", 1, TEXT_E_TOO_LARGE, 0 },
        { "empty", 8, 0, 0 },
        { "nul", 8, TEXT_E_MALFORMED, 0 },
        { "nul", 4, TEXT_E_TOO_LARGE, 0 },
        { "missing", 8, TEXT_E_ABSENT, 0 },
        { "eight/x", 8, TEXT_E_ABSENT, 0 },
        { "dir", 8, -EISDIR, 0 },
};

START_TEST(a_file_is_read_whole_or_not_at_all) {
        char buffer[16];
        size_t n = 4711;

        ck_assert_int_eq(text_file_read(dir_fd, read_rows[_i].name, buffer, read_rows[_i].size, &n),
                         read_rows[_i].r);
        ck_assert_uint_eq(n, read_rows[_i].r == 0                  ? read_rows[_i].n
                             : read_rows[_i].r == TEXT_E_TOO_LARGE ? read_rows[_i].size
                                                                   : 4711);
        if (n == 8)
                ck_assert_mem_eq(buffer, "1234567\n", 8);
}
END_TEST

/* Writes the second piece when the first has been read. */
static void write_in_two_pieces(void) {
        int fd = openat(dir_fd, "fifo", O_WRONLY), n_left = 1;

        (void) !write(fd, "12", 2);
        while (ioctl(fd, FIONREAD, &n_left) == 0 && n_left > 0)
                (void) usleep(1000);
        (void) !write(fd, "34\n", 3);
        _exit(0);
}

START_TEST(a_line_that_was_cut_is_gone_on_with) {
        char buffer[16];
        pid_t writer;
        size_t n;
        int r;

        ck_assert_int_eq(mkfifoat(dir_fd, "fifo", 0600), 0);
        writer = fork();
        if (writer == 0)
                write_in_two_pieces();
        r = text_file_read(dir_fd, "fifo", buffer, sizeof(buffer), &n);
        ck_assert_int_eq(r, 0);
        ck_assert_uint_eq(n, 5);
        ck_assert_mem_eq(buffer, "1234\n", 5);
        ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
        ck_assert_int_eq(unlinkat(dir_fd, "fifo", 0), 0);
}
END_TEST

START_TEST(reading_all_appends_within_the_ceiling) {
        Buffer buffer;
        int r;

        buffer_init(&buffer, read_rows[_i].size + 2);
        ck_assert_int_eq(buffer_append_text(&buffer, "ab"), 0);
        r = text_file_read_all(dir_fd, read_rows[_i].name, &buffer);
        ck_assert_int_eq(r, read_rows[_i].r);
        ck_assert_uint_eq(buffer.n, 2 + read_rows[_i].n);
        ck_assert_mem_eq(buffer.bytes, "ab1234567\n", buffer.n);
        buffer_done(&buffer);
}
END_TEST

START_TEST(reading_all_takes_many_reads) {
        char *text = malloc(20001);
        Buffer buffer;

        memset(text, 'x', 20000);
        text[20000] = '\0';
        put("eight", text);
        buffer_init(&buffer, 0);
        ck_assert_int_eq(text_file_read_all(dir_fd, "eight", &buffer), 0);
        ck_assert(span_is(buffer_span(&buffer), text));
        buffer_done(&buffer);
        free(text);
}
END_TEST

START_TEST(a_file_that_is_too_large_is_read_to_the_end_of_the_room) {
        char buffer[4];
        size_t n;

        ck_assert_int_eq(text_file_read(dir_fd, "eight", buffer, sizeof(buffer), &n),
                         TEXT_E_TOO_LARGE);
        ck_assert(span_is((Span){ buffer, n }, "1234"));
}
END_TEST

START_TEST(directories_open_below_a_descriptor) {
        int fd = -EBADF;

        ck_assert_int_eq(text_file_open_directory(dir_fd, "dir", &fd), 0);
        (void) close(fd);
        ck_assert_int_eq(text_file_open_directory(dir_fd, "missing", &fd), TEXT_E_ABSENT);
        ck_assert_int_eq(text_file_open_directory(dir_fd, "eight", &fd), TEXT_E_ABSENT);
}
END_TEST

static const struct {
        int error;
        int code;
        SourceOutcome outcome;
} code_rows[] = {
        { 0, TEXT_OK, SOURCE_OUTCOME_ok },
        { ENOENT, TEXT_E_ABSENT, SOURCE_OUTCOME_unsupported },
        { ENOTDIR, TEXT_E_ABSENT, SOURCE_OUTCOME_unsupported },
        { ESRCH, TEXT_E_VANISHED, SOURCE_OUTCOME_vanished },
        { ENODEV, TEXT_E_VANISHED, SOURCE_OUTCOME_vanished },
        { EACCES, TEXT_E_DENIED, SOURCE_OUTCOME_denied },
        { EPERM, TEXT_E_DENIED, SOURCE_OUTCOME_denied },
        { EOPNOTSUPP, TEXT_E_UNSUPPORTED, SOURCE_OUTCOME_unsupported },
        { ENOSYS, TEXT_E_UNSUPPORTED, SOURCE_OUTCOME_unsupported },
        { EMFILE, -EMFILE, SOURCE_OUTCOME_other },
        { EIO, -EIO, SOURCE_OUTCOME_other },
};

START_TEST(errnos_become_codes_and_codes_outcomes) {
        int r = text_file_code(code_rows[_i].error);

        ck_assert_int_eq(r, code_rows[_i].code);
        ck_assert_int_eq(text_file_outcome(r), code_rows[_i].outcome);
}
END_TEST

START_TEST(too_large_counts_as_other_and_malformed_as_itself) {
        ck_assert_int_eq(text_file_outcome(TEXT_E_TOO_LARGE), SOURCE_OUTCOME_other);
        ck_assert_int_eq(text_file_outcome(TEXT_E_MALFORMED), SOURCE_OUTCOME_malformed);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("text-file");
        TCase *read = tcase_create("read");
        TCase *code = tcase_create("code");

        tcase_add_checked_fixture(read, setup, teardown);
        tcase_add_loop_test(read, a_file_is_read_whole_or_not_at_all, 0, ELEMENTSOF(read_rows));
        tcase_add_test(read, a_line_that_was_cut_is_gone_on_with);
        tcase_add_loop_test(read, reading_all_appends_within_the_ceiling, 0, ELEMENTSOF(read_rows));
        tcase_add_test(read, reading_all_takes_many_reads);
        tcase_add_test(read, a_file_that_is_too_large_is_read_to_the_end_of_the_room);
        tcase_add_test(read, directories_open_below_a_descriptor);
        tcase_add_loop_test(code, errnos_become_codes_and_codes_outcomes, 0, ELEMENTSOF(code_rows));
        tcase_add_test(code, too_large_counts_as_other_and_malformed_as_itself);
        suite_add_tcase(suite, read);
        suite_add_tcase(suite, code);
        return check_main(suite);
}
