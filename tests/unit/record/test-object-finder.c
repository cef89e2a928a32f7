/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "record/object-finder.h"
#include "temporary.h"

static ObjectFinder finder;
static Temporary directory;
static char space[1 << 20];

/* The stack of this process began at the 28th word of that file. */
static uint64_t start_stack(void) {
        char line[1024], *words;
        FILE *file = fopen("/proc/self/stat", "r");

        ck_assert_ptr_nonnull(file);
        ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
        (void) fclose(file);
        words = strrchr(line, ')');
        for (unsigned i = 2; i < 28; i++)
                words = strchr(words + 1, ' ');
        return strtoull(words, NULL, 10);
}

static RecordSample sample_on(RecordObjectKind kind) {
        return (RecordSample){ .tgid = (uint32_t) getpid(),
                               .image = 1,
                               .start_stack = start_stack(),
                               .seen_ns = 5000000000,
                               .has_registers = true,
                               .place = RECORD_PLACE_lock,
                               .object = { .kind = kind } };
}

static Span find(const RecordSample *sample, RecordObjectName *ret_name) {
        Span name;

        ck_assert_int_eq(object_finder_find(&finder, sample, space, sizeof(space), ret_name, &name),
                         0);
        return name;
}

static RecordSample sample_of(int fd) {
        RecordSample sample = sample_on(RECORD_OBJECT_FILE);
        struct stat status;

        ck_assert_int_eq(fstat(fd, &status), 0);
        sample.object.descriptor = (uint32_t) fd;
        sample.object.file = (RecordFile){ .dev = status.st_dev,
                                           .inode = status.st_ino,
                                           .type = (uint16_t) RECORD_FILE_TYPE(status.st_mode) };
        return sample;
}

static int open_new(const char *name, char path[static 256]) {
        int fd;

        (void) snprintf(path, 256, "%s/%s", directory.path, name);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        return fd;
}

/* Once its path is known, a file has it by whatever descriptor, and by none. */
START_TEST(files_are_remembered) {
        RecordObjectName name;
        char path[256];
        int fd = open_new("file", path);
        RecordSample sample = sample_of(fd);

        ck_assert(span_is(find(&sample, &name), path));
        ck_assert(!name.is_mapped_file);
        (void) close(fd);
        ck_assert(span_is(find(&sample, &name), path));
        sample.object.descriptor = 999;
        ck_assert(span_is(find(&sample, &name), path));
        /* Another one that has got the number of its inode is not the same. */
        sample.object.file.generation++;
        ck_assert_uint_eq(find(&sample, &name).n, 0);
        ck_assert_uint_eq(finder.n_files, 1);
}
END_TEST

static const struct {
        const char *name, *told;
        bool is_alone;
} name_rows[] = {
        { "16384", ".../16384", false },
        { "[eventfd]", "[eventfd]", true },
        { "", "", true }, /* a pipe */
        { "12345678901234567890123456789012345678", ".../12345678901234567890123456789012345678",
          false },
        { "123456789012345678901234567890123456789",
          ".../123456789012345678901234567890123456789...", false },
};

/* It was closed before anybody looked, or has no path. */
START_TEST(files_that_are_gone_have_names) {
        RecordSample sample = sample_on(RECORD_OBJECT_FILE);
        RecordObjectName name;

        sample.object.descriptor = 999;
        sample.object.file.is_alone = name_rows[_i].is_alone;
        memcpy(sample.object.file_name, name_rows[_i].name, strlen(name_rows[_i].name));
        ck_assert(span_is(find(&sample, &name), name_rows[_i].told));
        /* Not only the kernel's end of a text bounds it. */
        memset(sample.object.file_name, 'x', sizeof(sample.object.file_name));
        ck_assert_uint_le(find(&sample, &name).n, sizeof(sample.object.file_name) + 7);
        ck_assert_uint_eq(finder.n_files, 0);
}
END_TEST

START_TEST(files_that_nobody_tells_of) {
        RecordObjectName name;
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        RecordSample sample = sample_of(fd);

        /* Its driver might take its time; that of a terminal does not. */
        ck_assert_uint_eq(find(&sample, &name).n, 0);
        sample.place = RECORD_PLACE_terminal;
        ck_assert(span_is(find(&sample, &name), "/dev/null"));
        (void) close(fd);
        sample = sample_on(RECORD_OBJECT_SOCKET);
        ck_assert_uint_eq(find(&sample, &name).n, 0);
        sample = sample_on(RECORD_OBJECT_NONE);
        ck_assert_uint_eq(find(&sample, &name).n, 0);
}
END_TEST

START_TEST(many_files_are_forgotten) {
        RecordObjectName name;
        char path[256];
        int fd = open_new("file", path);
        RecordSample sample = sample_of(fd);

        for (uint32_t i = 0; i < 10000; i++) {
                sample.object.file.generation = i;
                ck_assert(span_is(find(&sample, &name), path));
        }
        ck_assert_uint_le(finder.n_files, 4096);
        (void) close(fd);
}
END_TEST

START_TEST(memory_has_the_name_of_what_is_mapped) {
        static char page[8192];
        char path[256], on_stack, *anonymous, *mapped;
        int fd = open_new("shared", path);
        RecordSample sample = sample_on(RECORD_OBJECT_FUTEX);
        RecordObjectName name;

        ck_assert_int_eq(ftruncate(fd, 8192), 0);
        mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
        anonymous = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert(mapped != MAP_FAILED && anonymous != MAP_FAILED);
        sample.object.futex = (uintptr_t) mapped + 64;
        ck_assert(span_is(find(&sample, &name), path));
        ck_assert(name.is_mapped_file && name.offset == 4096 + 64);
        sample.object.futex = (uintptr_t) anonymous;
        ck_assert(span_is(find(&sample, &name), "[anonymous]"));
        ck_assert(!name.is_mapped_file);
        /* A stack of a thread is told by who is on it: to another one it is none. */
        sample.registers[UNWIND_SP] = (uintptr_t) anonymous + 32;
        ck_assert(span_is(find(&sample, &name), "[stack]"));
        sample.registers[UNWIND_SP] = (uintptr_t) mapped;
        ck_assert(span_is(find(&sample, &name), "[anonymous]"));
        if (!check_lacks_own_mappings()) {
                sample.object.futex = (uintptr_t) &on_stack;
                ck_assert(span_is(find(&sample, &name), "[stack]"));
        }
        sample.object.futex = (uintptr_t) page + 4096;
        (void) find(&sample, &name);
        sample.object.futex = 0;
        ck_assert_uint_eq(find(&sample, &name).n, 0);
        /* What another program has there says nothing of this one. */
        sample.object.futex = (uintptr_t) mapped;
        sample.image = 2;
        sample.start_stack++;
        ck_assert_uint_eq(find(&sample, &name).n, 0);
        (void) close(fd);
        (void) munmap(mapped, 4096);
        (void) munmap(anonymous, 4096);
}
END_TEST

/* What has been mapped for a second may be something else. */
START_TEST(memory_is_looked_up_again) {
        char *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        RecordSample sample = sample_on(RECORD_OBJECT_FUTEX);
        RecordObjectName name;

        sample.object.futex = (uintptr_t) memory;
        ck_assert(span_is(find(&sample, &name), "[anonymous]"));
        ck_assert_int_eq(munmap(memory, 4096), 0);
        sample.seen_ns += 999999999;
        ck_assert(span_is(find(&sample, &name), "[anonymous]"));
        sample.seen_ns++;
        ck_assert_uint_eq(find(&sample, &name).n, 0);
}
END_TEST

/* Maps may be large: nobody makes us read them without end. */
START_TEST(maps_are_not_read_without_end) {
        char *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        RecordSample sample = sample_on(RECORD_OBJECT_FUTEX);
        RecordObjectName name;

        for (unsigned i = 0; i < 600; i++)
                ck_assert_uint_eq(find(&sample, &name).n, 0);
        sample.object.futex = (uintptr_t) memory;
        ck_assert_uint_eq(find(&sample, &name).n, 0);
        sample.seen_ns += 1000000000;
        ck_assert(span_is(find(&sample, &name), "[anonymous]"));
        (void) munmap(memory, 4096);
}
END_TEST

static void set_up(void) {
        temporary_init(&directory);
}

static void tear_down(void) {
        object_finder_done(&finder);
        temporary_done(&directory);
}

int main(void) {
        Suite *suite = suite_create("object-finder");
        TCase *tcase = tcase_create("object-finder");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, files_are_remembered);
        tcase_add_loop_test(tcase, files_that_are_gone_have_names, 0, ELEMENTSOF(name_rows));
        tcase_add_test(tcase, files_that_nobody_tells_of);
        tcase_add_test(tcase, many_files_are_forgotten);
        tcase_add_test(tcase, memory_has_the_name_of_what_is_mapped);
        tcase_add_test(tcase, memory_is_looked_up_again);
        tcase_add_test(tcase, maps_are_not_read_without_end);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
