/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/reference.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/name.h"
#include "check-main.h"
#include "temporary.h"
#include "session/complain.h"
#include "session/session.h"

static const struct {
        const char *text;
        bool is_file;
        const char *complaint;
} rows[] = {
        { "before", false, NULL },
        { "latest", false, NULL },
        { "latest~0", false, NULL },
        { "latest~12", false, NULL },
        { "latest~", false, "is not latest~ and a number, as latest~1 is" },
        { "latest~x", false, "is not latest~ and a number, as latest~1 is" },
        { "latest~01", false, "is not latest~ and a number, as latest~1 is" },
        { "latest~99999999999999999999", false, NULL },
        { "latest-1", false, NULL },
        { "20261120T153501.123Z", false, NULL },
        { "", false, "is empty" },
        { ".hidden", false, "starts with a dot" },
        { "-x", false, "starts with a dash" },
        { "a b", false, "has a character other than A-Z a-z 0-9 . _ -" },
        { "a.zst", true, NULL },
        { "./a", true, NULL },
        { "/", true, NULL },
        { "a/b", true, NULL },
        { ".zst", true, NULL },
        { "a.zst.bak", false, NULL },
};

START_TEST(names_and_files_are_told_apart) {
        const char *complaint = reference_complaint(rows[_i].text);

        ck_assert_int_eq(snapshot_name_is_file(rows[_i].text), rows[_i].is_file);
        if (rows[_i].complaint)
                ck_assert_str_eq(complaint, rows[_i].complaint);
        else
                ck_assert_ptr_null(complaint);
}
END_TEST

START_TEST(latest_counts_back) {
        uint64_t back = 77;

        ck_assert(snapshot_name_is_relative(span_of("latest"), &back));
        ck_assert_uint_eq(back, 0);
        ck_assert(snapshot_name_is_relative(span_of("latest~3"), &back));
        ck_assert_uint_eq(back, 3);
        ck_assert(!snapshot_name_is_relative(span_of("latest-3"), &back));
        ck_assert(!snapshot_name_is_relative(span_of("late"), &back));
        ck_assert_uint_eq(back, 3);
}
END_TEST

/* What stands on each side of the dots; NULL: one snapshot. */
static const struct {
        const char *text, *from, *to;
} intervals[] = {
        { "a", NULL, NULL },
        { "a.b", NULL, NULL },
        { "a.zst", NULL, NULL },
        { "a..b", "a", "b" },
        { "a..", "a", "latest" },
        { "..b", "latest", "b" },
        { "..", "latest~1", "latest" },
        { "latest~2..latest", "latest~2", "latest" },
        { "a.b..c.d", "a.b", "c.d" },
        { "a.zst..b.zst", "a.zst", "b.zst" },
        { "a.zst..", "a.zst", "latest" },
        { "..b.zst", "latest", "b.zst" },
        { "a..b.zst", "a", "b.zst" },
        { "x y..b", "x y", "b" },
        { "...", "latest", "." },
        { "....", "latest", ".." },
        { "a...b", "a", ".b" },
        { "a..b..c", "a", "b..c" },
        /* a path can have dots of its own */
        { "../a.zst", NULL, NULL },
        { "./../a.zst", NULL, NULL },
        { "x/../a.zst", NULL, NULL },
        { "./a..b", NULL, NULL },
        { "/x/a..b.zst", NULL, NULL },
        { "..b/c.zst", NULL, NULL },
        { "/", NULL, NULL },
        { "/x/a.zst..b", "/x/a.zst", "b" },
        { "/x/a.zst..", "/x/a.zst", "latest" },
        { "../a.zst..../b.zst", "../a.zst", "../b.zst" },
        { "../a.zst../b.zst", "../a.zst", "/b.zst" },
        { "./a..b.zst..c", "./a..b.zst", "c" },
        { "a../b.zst", "a", "/b.zst" },
        { "a..../b.zst", "a", "../b.zst" },
        { "latest~1..x/b.zst", "latest~1", "x/b.zst" },
        { "a.zst..x/b.zst", "a.zst", "x/b.zst" },
        { "x y../b.zst", NULL, NULL },
        { "x/.zst../b.zst", "x/.zst", "/b.zst" },
        { ".zst../b", NULL, NULL },
};

START_TEST(intervals_are_parted_at_their_dots) {
        const char *text = intervals[_i].text, *dots = subject_find_dots(text);
        const char *from = intervals[_i].from, *to = intervals[_i].to;

        if (!from) {
                ck_assert_ptr_null(dots);
                return;
        }
        ck_assert_ptr_nonnull(dots);
        /* What is left out is the latest. */
        if (dots == text)
                ck_assert_str_eq(from, dots[2] == '\0' ? "latest~1" : "latest");
        else
                ck_assert(span_is((Span){ text, (size_t) (dots - text) }, from));
        ck_assert_str_eq(dots[2] == '\0' ? "latest" : dots + 2, to);
}
END_TEST

static const struct {
        const char *text;
        int status;
        const char *json;
} subjects[] = {
        { "a", 0, "{\"name\":\"a\"}" },
        { "a..b", 0, "{\"name\":\"a\",\"to\":{\"name\":\"b\"}}" },
        { "a..", 0, "{\"name\":\"a\",\"to\":{\"name\":\"latest\"}}" },
        { "..b", 0, "{\"name\":\"latest\",\"to\":{\"name\":\"b\"}}" },
        { "..", 0, "{\"name\":\"latest~1\",\"to\":{\"name\":\"latest\"}}" },
        { "a..b..c", STATUS_USAGE, NULL },
        { "....", STATUS_USAGE, NULL },
        { "...", STATUS_USAGE, NULL },
        { "a..x y", STATUS_USAGE, NULL },
        { "x y..a", STATUS_USAGE, NULL },
        { "a..latest~", STATUS_USAGE, NULL },
        { "a../nowhere/b.zst", STATUS_FAILED, NULL },
        { "a..b.zst..c", STATUS_USAGE, NULL },
};

START_TEST(subjects_travel_as_what_they_are) {
        _cleanup_(subject_done) SubjectReference subject = SUBJECT_EMPTY;
        _cleanup_(buffer_done) Buffer json = {};
        int fds[SUBJECT_MAX_FILES];
        JsonWriter writer;
        size_t n_fds = 0;

        ck_assert_int_eq(subject_open(subjects[_i].text, &subject), subjects[_i].status);
        if (!subjects[_i].json)
                return;
        json_writer_init(&writer, &json);
        subject_write_json(&writer, &subject, fds, &n_fds);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&json), subjects[_i].json));
        ck_assert_uint_eq(n_fds, 0);
        ck_assert(!subject.ends[0].is_file && !subject.ends[1].is_file);
}
END_TEST

static void make_file(const char *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        ck_assert_int_ge(fd, 0);
        (void) fd_close(fd);
}

START_TEST(files_and_names_are_mixed_in_intervals) {
        _cleanup_(subject_done) SubjectReference files = SUBJECT_EMPTY, mixed = SUBJECT_EMPTY;
        _cleanup_(temporary_done) Temporary temporary;
        _cleanup_(buffer_done) Buffer json = {};
        char path[TEMPORARY_PATH_BYTES], both[2 * TEMPORARY_PATH_BYTES + 2];
        char behind[TEMPORARY_PATH_BYTES + 8];
        int fds[2 * SUBJECT_MAX_FILES];
        const char *text;
        JsonWriter writer;
        size_t n_fds = 0;

        temporary_init(&temporary);
        make_file(temporary_path(&temporary, "a.zst", path));
        (void) snprintf(both, sizeof(both), "%s..%s", path, path);
        (void) snprintf(behind, sizeof(behind), "old..%s", path);
        ck_assert_int_eq(subject_open(both, &files), 0);
        ck_assert_int_eq(subject_open(behind, &mixed), 0);
        ck_assert(files.ends[0].is_file && files.ends[1].is_file);
        ck_assert(!mixed.ends[0].is_file || !mixed.ends[1].is_file);
        json_writer_init(&writer, &json);
        json_write_array(&writer);
        subject_write_json(&writer, &files, fds, &n_fds);
        subject_write_json(&writer, &mixed, fds, &n_fds);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_uint_eq(n_fds, 3);
        ck_assert_int_eq(fds[2], mixed.ends[1].fd);
        ck_assert_int_eq(buffer_terminate(&json, &text), 0);
        ck_assert_ptr_nonnull(strstr(text, ",\"to\":{\"fileDescriptor\":1,"));
        ck_assert_ptr_nonnull(strstr(text, "{\"name\":\"old\",\"to\":{\"fileDescriptor\":2,"));
}
END_TEST

static const struct {
        const char *path, *label;
} labels[] = {
        { "./before.ctprof.zst", "before" },
        { "/a/b/c.ctprof.zst", "c" },
        { "x.zst", "x" },
        { "a/b", "b" },
        { "a/.ctprof.zst", ".ctprof.zst" },
        { "a/", "" },
};

START_TEST(files_are_called_by_their_last_component) {
        ck_assert(span_is(snapshot_name_of_path(labels[_i].path), labels[_i].label));
}
END_TEST

START_TEST(files_are_opened_by_the_user) {
        _cleanup_(reference_done) Reference reference = REFERENCE_EMPTY;
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES];
        int fd;

        temporary_init(&temporary);
        ck_assert_int_eq(reference_open(temporary_path(&temporary, "a.zst", path), &reference),
                         STATUS_FAILED);
        ck_assert_int_eq(reference.fd, -EBADF);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        (void) fd_close(fd);
        ck_assert_int_eq(reference_open(path, &reference), 0);
        ck_assert_int_ge(reference.fd, 0);
        ck_assert(reference.is_file);
}
END_TEST

START_TEST(what_is_not_a_regular_file_is_refused_without_waiting) {
        _cleanup_(reference_done) Reference reference = REFERENCE_EMPTY;
        _cleanup_(temporary_done) Temporary temporary;
        char path[TEMPORARY_PATH_BYTES];

        temporary_init(&temporary);
        ck_assert_int_eq(mkfifo(temporary_path(&temporary, "fifo.zst", path), 0600), 0);
        ck_assert_int_eq(reference_open(path, &reference), STATUS_FAILED);
        ck_assert_int_eq(reference_open("/dev/null", &reference), STATUS_FAILED);
        ck_assert_int_eq(reference_open("/", &reference), STATUS_FAILED);
        ck_assert_int_eq(reference_open("a b", &reference), STATUS_USAGE);
        ck_assert_int_eq(reference.fd, -EBADF);
}
END_TEST

START_TEST(references_travel_as_names_or_descriptors) {
        const Reference name = { .text = "before", .fd = -EBADF };
        const SubjectReference file = {
                .ends = { { .text = "/x/caf\xe9.ctprof.zst", .is_file = true, .fd = 5 } },
        };
        _cleanup_(buffer_done) Buffer json = {};
        int fds[2] = { 3 };
        size_t n_fds = 1;
        JsonWriter writer;

        json_writer_init(&writer, &json);
        json_write_array(&writer);
        reference_write_json(&writer, &name);
        subject_write_json(&writer, &file, fds, &n_fds);
        json_write_end(&writer);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert(span_is(buffer_span(&json), "[{\"name\":\"before\"},{\"fileDescriptor\":1,"
                                              "\"label\":\"/x/caf\uefe9.ctprof.zst\"}]"));
}
END_TEST

static const struct {
        const char *xdg_state_home, *home, *path;
} spools[] = {
        { NULL, "/home/a", "/home/a/.local/state/ctprof" },
        { "/state", "/home/a", "/state/ctprof" },
        { "", "/home/a", "/home/a/.local/state/ctprof" },
        { "relative", "/home/a", "/home/a/.local/state/ctprof" },
        { NULL, NULL, "" },
        { NULL, "relative", "" },
};

START_TEST(the_local_spool_is_state) {
        _cleanup_(buffer_done) Buffer path = {};

        ck_assert_int_eq(local_spool_default(spools[_i].xdg_state_home, spools[_i].home, &path), 0);
        ck_assert(span_is(buffer_span(&path), spools[_i].path));
}
END_TEST

START_TEST(the_local_spool_is_made_private) {
        _cleanup_(temporary_done) Temporary temporary;
        _cleanup_(freep) char *made = NULL;
        char path[TEMPORARY_PATH_BYTES];
        struct stat st;

        temporary_init(&temporary);
        ck_assert_int_eq(local_spool_prepare(temporary_path(&temporary, "a/b/c/", path), &made), 0);
        ck_assert_int_eq(stat(made, &st), 0);
        ck_assert(S_ISDIR(st.st_mode));
        ck_assert_uint_eq(st.st_mode & 0777, 0700);
        ck_assert_str_eq(made + strlen(made) - 6, "/a/b/c");
}
END_TEST

START_TEST(what_stands_in_the_way_is_left_to_ctprofd) {
        _cleanup_(temporary_done) Temporary temporary;
        _cleanup_(freep) char *made = NULL, *below = NULL;
        char path[TEMPORARY_PATH_BYTES];
        int fd;

        temporary_init(&temporary);
        fd = open(temporary_path(&temporary, "file", path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        (void) fd_close(fd);
        ck_assert_int_eq(local_spool_prepare(path, &made), 0);
        ck_assert_str_eq(made, path);
        ck_assert_int_eq(local_spool_prepare(temporary_path(&temporary, "file/x", path), &below),
                         STATUS_FAILED);
}
END_TEST

START_TEST(quotes_are_printable_and_bounded) {
        char quoted[QUOTE_BYTES], longest[1000];

        ck_assert_str_eq(quote("a\033b", quoted), "\"a\\x1bb\"");
        ck_assert_str_eq(quote("", quoted), "\"\"");
        memset(longest, '\x01', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        (void) quote(longest, quoted);
        ck_assert_uint_eq(strlen(quoted), 120 + 2 + strlen("\u2026"));
        ck_assert_ptr_nonnull(strstr(quoted, "\u2026\""));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("reference");
        TCase *reference = tcase_create("reference");
        TCase *spool = tcase_create("spool");

        tcase_add_loop_test(reference, names_and_files_are_told_apart, 0, ELEMENTSOF(rows));
        tcase_add_test(reference, latest_counts_back);
        tcase_add_loop_test(reference, files_are_called_by_their_last_component, 0,
                            ELEMENTSOF(labels));
        tcase_add_test(reference, files_are_opened_by_the_user);
        tcase_add_test(reference, what_is_not_a_regular_file_is_refused_without_waiting);
        tcase_add_test(reference, references_travel_as_names_or_descriptors);
        tcase_add_test(reference, quotes_are_printable_and_bounded);
        tcase_add_loop_test(spool, the_local_spool_is_state, 0, ELEMENTSOF(spools));
        tcase_add_test(spool, the_local_spool_is_made_private);
        tcase_add_test(spool, what_stands_in_the_way_is_left_to_ctprofd);
        tcase_add_loop_test(reference, intervals_are_parted_at_their_dots, 0,
                            ELEMENTSOF(intervals));
        tcase_add_loop_test(reference, subjects_travel_as_what_they_are, 0, ELEMENTSOF(subjects));
        tcase_add_test(reference, files_and_names_are_mixed_in_intervals);
        suite_add_tcase(suite, reference);
        suite_add_tcase(suite, spool);
        return check_main(suite);
}
