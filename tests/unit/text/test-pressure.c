/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <unistd.h>

#include "temporary.h"
#include "text/fixture.h"
#include "kernel/text/pressure.h"

#define GOOD_TOTAL "some avg10=1.23 avg60=4.56 avg300=7.89 total=42\n"

static const struct {
        const char *path;
        uint16_t some10, some60, some300;
        uint64_t some_total;
        uint16_t full10;
        uint64_t full_total;
} fixture_rows[] = {
        { "proc/6.1-schedstats/pressure/cpu", 3361, 725, 156, 5187602, 0, 0 },
        { "proc/6.1-schedstats/pressure/io", 9, 2, 0, 60248, 0, 42225 },
        { "proc/6.12-schedstats/pressure/memory", 0, 0, 0, 2957, 0, 2957 },
        { "proc/7.2-scx/pressure/cpu", 3513, 949, 213, 6546809, 0, 0 },
        { "cgroup/6.1-schedstats/system.slice/burner.service/cpu.pressure", 2773, 593, 127, 3983318,
          2773, 3983237 },
        { "cgroup/7.2-scx/system.slice/burner.service/io.pressure", 0, 0, 0, 6556, 0, 6556 },
};

START_TEST(kernels_files_are_read_exactly) {
        Span text = fixture_read(fixture_rows[_i].path);
        PressureFile file;

        ck_assert_int_eq(pressure_parse(text, &file), 0);
        ck_assert(file.has_some && file.has_full);
        ck_assert(file.some.has_avg10 && file.some.has_avg60 && file.some.has_avg300 &&
                  file.some.has_total);
        ck_assert_uint_eq(file.some.avg10, fixture_rows[_i].some10);
        ck_assert_uint_eq(file.some.avg60, fixture_rows[_i].some60);
        ck_assert_uint_eq(file.some.avg300, fixture_rows[_i].some300);
        ck_assert_uint_eq(file.some.total_usec, fixture_rows[_i].some_total);
        ck_assert_uint_eq(file.full.avg10, fixture_rows[_i].full10);
        ck_assert_uint_eq(file.full.total_usec, fixture_rows[_i].full_total);
        fixture_free(text);
}
END_TEST

static void assert_half_is_part_of(const PressureHalf *part, const PressureHalf *whole) {
        ck_assert(!part->has_avg10 || part->avg10 == whole->avg10);
        ck_assert(!part->has_avg60 || part->avg60 == whole->avg60);
        ck_assert(!part->has_avg300 || part->avg300 == whole->avg300);
        ck_assert(!part->has_total || part->total_usec == whole->total_usec);
}

START_TEST(a_cut_file_has_no_wrong_values) {
        Span text = fixture_read(fixture_rows[_i].path);
        PressureFile whole, part;

        ck_assert_int_eq(pressure_parse(text, &whole), 0);
        for (size_t n = 0; n < text.n; n++) {
                Span cut = fixture_prefix(text, n);

                if (pressure_parse(cut, &part) == 0)
                        ck_assert(n > 0 && cut.bytes[n - 1] == '\n');
                assert_half_is_part_of(&part.some, &whole.some);
                assert_half_is_part_of(&part.full, &whole.full);
                fixture_free(cut);
        }
        fixture_free(text);
}
END_TEST

static const struct {
        const char *value;
        bool good;
        uint16_t hundredths;
} average_rows[] = {
        { "0.00", true, 0 },
        { "100.00", true, 10000 },
        { "1.5", true, 150 },
        { "1.501", true, 150 },
        { "42", true, 4200 },
        { "655.35", true, 65535 },
        { "655.36", false, 0 },
        { "nan", false, 0 },
        { "-", false, 0 },
        { "-1.00", false, 0 },
        { "", false, 0 },
        { "1.0.0", false, 0 },
        { "99999999999999999999", false, 0 },
};

START_TEST(a_bad_average_is_absent_and_its_neighbours_stay) {
        PressureFile file;
        char text[128];
        int n;

        n = snprintf(text, sizeof(text), "full avg10=%s avg60=4.56 new=1 avg300=7.89 total=42\n",
                     average_rows[_i].value);
        ck_assert_int_eq(pressure_parse((Span){ text, (size_t) n }, &file),
                         average_rows[_i].good ? 0 : TEXT_E_MALFORMED);
        ck_assert(!file.has_some && file.has_full);
        ck_assert_int_eq(file.full.has_avg10, average_rows[_i].good);
        if (average_rows[_i].good)
                ck_assert_uint_eq(file.full.avg10, average_rows[_i].hundredths);
        ck_assert(file.full.has_avg60 && file.full.avg60 == 456);
        ck_assert(file.full.has_avg300 && file.full.avg300 == 789);
        ck_assert(file.full.has_total && file.full.total_usec == 42);
}
END_TEST

static const struct {
        const char *text;
        bool has_some, has_full;
} malformed_rows[] = {
        { "", false, false },
        { "\n\n", false, false },
        { "some", false, false },
        { GOOD_TOTAL GOOD_TOTAL, false, false },
        { GOOD_TOTAL "full total=x\n", true, true },
        { GOOD_TOTAL "full total=1.5\n", true, true },
        { GOOD_TOTAL "full total=1 total=1\n", true, true },
        { GOOD_TOTAL "full avg10=1.00", true, false },
};

START_TEST(what_is_not_in_the_grammar_is_malformed) {
        PressureFile file;

        ck_assert_int_eq(pressure_parse(span_of(malformed_rows[_i].text), &file), TEXT_E_MALFORMED);
        ck_assert_int_eq(file.has_some, malformed_rows[_i].has_some);
        ck_assert_int_eq(file.has_full, malformed_rows[_i].has_full);
        ck_assert(!file.full.has_total);
}
END_TEST

static Buffer json;

static void teardown(void) {
        buffer_done(&json);
}

/* The object of the files below @dir_fd, which is closed. */
static const char *write_from(PressureOwner owner, int dir_fd, uint64_t *counts) {
        JsonWriter writer;

        buffer_clear(&json);
        json_writer_init(&writer, &json);
        pressure_write_json(&writer, owner, dir_fd, counts);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_append(&json, "", 1), 0);
        (void) close(dir_fd);
        return json.bytes;
}

START_TEST(host_files_are_read_and_counted) {
        uint64_t counts[_SOURCE_OUTCOME_MAX] = {};
        const char *text = write_from(PRESSURE_OF_HOST, fixture_open("proc/7.2-scx"), counts);

        ck_assert_ptr_nonnull(strstr(text, "{\"cpu\":{"));
        ck_assert_ptr_nonnull(strstr(text, "\"memory\":{"));
        ck_assert_ptr_nonnull(strstr(text, "\"io\":{"));
        ck_assert_ptr_nonnull(strstr(text, "\"irq\":null}"));
        ck_assert_ptr_nonnull(strstr(text, "\"total_usec\":342}"));
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_ok], 3);
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_unsupported], 0);
}
END_TEST

#define NOTHING "{\"cpu\":null,\"memory\":null,\"io\":null,\"irq\":null}"

START_TEST(a_host_without_pressure_is_unsupported) {
        uint64_t counts[_SOURCE_OUTCOME_MAX] = {};

        ck_assert_str_eq(write_from(PRESSURE_OF_HOST, fixture_open("proc/edge-names"), counts),
                         NOTHING);
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_ok], 0);
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_unsupported], 3);
}
END_TEST

START_TEST(a_cgroup_without_pressure_is_not_counted) {
        uint64_t counts[_SOURCE_OUTCOME_MAX] = {}, none[_SOURCE_OUTCOME_MAX] = {};

        ck_assert_str_eq(
                write_from(PRESSURE_OF_GROUP, fixture_open("cgroup/7.2-scx/init.scope"), counts),
                NOTHING);
        ck_assert_mem_eq(counts, none, sizeof(counts));
}
END_TEST

static void put(int dir_fd, const char *name, const char *text) {
        int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        (void) close(fd);
}

START_TEST(absent_is_null) {
        uint64_t counts[_SOURCE_OUTCOME_MAX] = {};
        Temporary directory;
        int fd;

        temporary_init(&directory);
        fd = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        put(fd, "cpu.pressure", GOOD_TOTAL);
        put(fd, "irq.pressure", "full avg10=x avg60=0.01 total=7\n");
        ck_assert_str_eq(write_from(PRESSURE_OF_GROUP, fd, counts),
                         "{\"cpu\":{\"some\":{\"avg10\":123,\"avg60\":456,\"avg300\":789,"
                         "\"total_usec\":42},\"full\":null},\"memory\":null,\"io\":null,"
                         "\"irq\":{\"some\":null,\"full\":{\"avg10\":null,\"avg60\":1,"
                         "\"avg300\":null,\"total_usec\":7}}}");
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_ok], 1);
        ck_assert_uint_eq(counts[SOURCE_OUTCOME_malformed], 1);
        temporary_done(&directory);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("pressure");
        TCase *parse = tcase_create("parse");
        TCase *read = tcase_create("read");

        tcase_add_loop_test(parse, kernels_files_are_read_exactly, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_cut_file_has_no_wrong_values, 0, ELEMENTSOF(fixture_rows));
        tcase_add_loop_test(parse, a_bad_average_is_absent_and_its_neighbours_stay, 0,
                            ELEMENTSOF(average_rows));
        tcase_add_loop_test(parse, what_is_not_in_the_grammar_is_malformed, 0,
                            ELEMENTSOF(malformed_rows));
        tcase_add_checked_fixture(read, NULL, teardown);
        tcase_add_test(read, host_files_are_read_and_counted);
        tcase_add_test(read, a_host_without_pressure_is_unsupported);
        tcase_add_test(read, a_cgroup_without_pressure_is_not_counted);
        tcase_add_test(read, absent_is_null);
        suite_add_tcase(suite, parse);
        suite_add_tcase(suite, read);
        return check_main(suite);
}
