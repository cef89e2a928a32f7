/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/heap/heap-cache.h"

#define FILE_BYTES (8 << 20)

static HeapCache *cache;
static int fd;

static void setup(void) {
        fd = memfd_create("cache", MFD_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(ftruncate(fd, FILE_BYTES), 0);
        ck_assert_int_eq(heap_cache_new(&cache), 0);
}

static void teardown(void) {
        cache = heap_cache_free(cache);
        (void) close(fd);
}

/* The next capture. */
static void reload(void) {
        cache = heap_cache_free(cache);
        ck_assert_int_eq(heap_cache_new(&cache), 0);
        ck_assert_int_eq(heap_cache_load(cache, fd), 0);
}

static FileIdentity file_of(uint64_t inode) {
        return (FileIdentity){
                .dev = 5, .inode = inode, .size = 77, .modified_ns = 12345678901, .changed_ns = -3
        };
}

static void put_file(uint64_t inode, uint64_t allocated) {
        const HeapLayout layout = { .verdict = HEAP_FAILURE_LAYOUT_UNKNOWN,
                                    .allocated = allocated };
        const FileIdentity identity = file_of(inode);

        ck_assert_int_eq(heap_cache_put_file(cache, &identity, FILE_QUESTION_HEAP_LAYOUT, &layout),
                         0);
}

/* 0 when it is not there. */
static uint64_t find_file(uint64_t inode) {
        const FileIdentity identity = file_of(inode);
        HeapLayout layout;

        return heap_cache_find_file(cache, &identity, FILE_QUESTION_HEAP_LAYOUT, &layout)
                       ? layout.allocated
                       : 0;
}

static HeapProcess process_of(pid_t tgid) {
        return (HeapProcess){ .key = { .tgid = (uint64_t) tgid,
                                       .start_ticks = 1000,
                                       .exe_dev = 5,
                                       .exe_inode = 6,
                                       .start_stack = 0x7ffc0000,
                                       .library_code = 4096 },
                              .found = { .verdict = HEAP_FAILURE_NONE,
                                         .n_plans = 1,
                                         .geometry = { -736, -16 },
                                         .plans = { { .distance = -(int64_t) tgid } } } };
}

static void put_process(pid_t tgid) {
        const HeapProcess process = process_of(tgid);

        ck_assert_int_eq(heap_cache_put_process(cache, &process), 0);
}

static bool has_process(pid_t tgid) {
        HeapProcess want = process_of(tgid), found;

        if (!heap_cache_find_process(cache, &want.key, &found))
                return false;
        ck_assert_uint_eq(found.found.verdict, HEAP_FAILURE_NONE);
        ck_assert_int_eq(found.found.geometry.pointer, -736);
        ck_assert_int_eq(found.found.plans[0].distance, -(int64_t) tgid);
        return true;
}

START_TEST(what_was_put_is_found_by_the_next_capture) {
        const ThreadLayout layout = { 1, 1856, 0xd0, 0xe0 };
        const FileIdentity identity = file_of(11);
        ThreadLayout found;

        put_file(10, 100);
        put_file(11, 110);
        ck_assert_int_eq(
                heap_cache_put_file(cache, &identity, FILE_QUESTION_THREAD_LAYOUT, &layout), 0);
        put_process(1);
        put_process(70000);
        ck_assert_uint_eq(find_file(10), 100);
        ck_assert(has_process(70000));
        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(heap_cache_store(cache, fd), 0);
                reload();
                ck_assert_uint_eq(find_file(10), 100);
                ck_assert_uint_eq(find_file(11), 110);
                ck_assert_uint_eq(find_file(12), 0);
                ck_assert(heap_cache_find_file(cache, &identity, FILE_QUESTION_THREAD_LAYOUT,
                                               &found));
                ck_assert_mem_eq(&found, &layout, sizeof(layout));
                ck_assert(has_process(1) && has_process(70000) && !has_process(2));
        }
}
END_TEST

static CommandKey command_key(pid_t tgid) {
        return (CommandKey){ .start_ticks = 1000,
                             .exe_dev = 5,
                             .exe_inode = 6,
                             .start_stack = 0x7ffc0000,
                             .tgid = (uint64_t) tgid,
                             .name = "python3" };
}

static void put_command(pid_t tgid, CommandLines lines, Span command, Span line) {
        const CommandKey key = command_key(tgid);
        ProcessCommand put = { .n_command = (uint32_t) command.n, .n_line = (uint32_t) line.n };

        memcpy(put.command, command.bytes, command.n);
        memcpy(put.line, line.bytes, line.n);
        ck_assert_int_eq(heap_cache_put_command(cache, &key, lines, &put), 0);
}

static bool has_command(pid_t tgid, CommandLines lines, Span command, Span line) {
        const CommandKey key = command_key(tgid);
        ProcessCommand found;

        return heap_cache_find_command(cache, &key, lines, &found) &&
               span_equal((Span){ found.command, found.n_command }, command) &&
               span_equal((Span){ found.line, found.n_line }, line);
}

#define NOTHING SPAN_LITERAL("")

START_TEST(commands_are_found_by_the_next_capture) {
        const Span sleep = SPAN_LITERAL("sleep\0"), line = SPAN_LITERAL("sleep\0"
                                                                        "60\0");

        put_command(1, COMMAND_LINES_FULL, sleep, line);
        put_command(2, COMMAND_LINES_SHORT, sleep, NOTHING);
        put_command(3, COMMAND_LINES_SHORT, NOTHING, NOTHING);
        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(heap_cache_store(cache, fd), 0);
                reload();
                ck_assert(has_command(1, COMMAND_LINES_FULL, sleep, line));
                ck_assert(has_command(2, COMMAND_LINES_SHORT, sleep, NOTHING));
                ck_assert(!has_command(2, COMMAND_LINES_FULL, sleep, NOTHING));
                ck_assert(has_command(3, COMMAND_LINES_SHORT, NOTHING, NOTHING));
                ck_assert(!has_command(4, COMMAND_LINES_SHORT, NOTHING, NOTHING));
        }
        /* Who wants less does not keep what is more. */
        reload();
        ck_assert(has_command(1, COMMAND_LINES_SHORT, sleep, NOTHING));
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(has_command(1, COMMAND_LINES_SHORT, sleep, NOTHING));
        ck_assert(!has_command(1, COMMAND_LINES_FULL, sleep, line));
        /* Nobody asked for the others. */
        ck_assert(!has_command(2, COMMAND_LINES_SHORT, sleep, NOTHING));
}
END_TEST

/* A capture without counters of allocators is no reason to look at each process anew. */
START_TEST(processes_that_nobody_asked_for_are_kept) {
        const Span sleep = SPAN_LITERAL("sleep\0");

        put_process(1);
        put_command(1, COMMAND_LINES_SHORT, sleep, NOTHING);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(has_command(1, COMMAND_LINES_SHORT, sleep, NOTHING));
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(has_process(1));
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        /* Commands are asked for with everything. */
        ck_assert(!has_command(1, COMMAND_LINES_SHORT, sleep, NOTHING));
}
END_TEST

START_TEST(commands_that_do_not_fit_are_not_kept) {
        char line[COMMAND_MAX_BYTES];
        const Span full = { line, sizeof(line) };

        memset(line, 'x', sizeof(line));
        for (pid_t tgid = 1; tgid <= 100; tgid++)
                put_command(tgid, COMMAND_LINES_FULL, full, full);
        ck_assert_int_eq(ftruncate(fd, 8192), 0);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(has_command(1, COMMAND_LINES_FULL, full, full));
        ck_assert(!has_command(100, COMMAND_LINES_FULL, full, full));
}
END_TEST

START_TEST(a_file_that_changed_in_any_way_is_another) {
        const FileIdentity same = file_of(10);
        HeapLayout layout;

        put_file(10, 100);
        for (size_t i = 0; i < sizeof(same); i += 8) {
                FileIdentity other = same;

                ((char *) &other)[i]++;
                ck_assert(!heap_cache_find_file(cache, &other, FILE_QUESTION_HEAP_LAYOUT, &layout));
        }
        ck_assert(!heap_cache_find_file(cache, &same, FILE_QUESTION_THREAD_LAYOUT, &layout));
        /* The first answer about a file is kept. */
        put_file(10, 200);
        ck_assert_uint_eq(find_file(10), 100);
}
END_TEST

START_TEST(a_process_that_changed_in_any_way_is_another) {
        const HeapProcessKey same = process_of(9).key;
        HeapProcess found;

        put_process(9);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        for (size_t i = 0; i < sizeof(same); i += 8) {
                HeapProcessKey other = same;

                ((char *) &other)[i]++;
                ck_assert(!heap_cache_find_process(cache, &other, &found));
        }
        ck_assert(heap_cache_find_process(cache, &same, &found));
}
END_TEST

static int64_t distance_of(pid_t tgid) {
        const HeapProcessKey key = process_of(tgid).key;
        HeapProcess found;

        ck_assert(heap_cache_find_process(cache, &key, &found));
        return found.found.plans[0].distance;
}

/* Also what was found, and so is kept, before it turned out to be of no use. */
START_TEST(what_is_put_again_replaces_what_was_known) {
        HeapProcess better = process_of(1);

        better.found.plans[0].distance = 77;
        put_process(1);
        put_process(2);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(has_process(1) && has_process(2));
        ck_assert_int_eq(heap_cache_put_process(cache, &better), 0);
        ck_assert_int_eq(distance_of(1), 77);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert_int_eq(distance_of(1), 77);
        ck_assert(has_process(2));
        /* A full cache takes it, too. */
        for (pid_t i = 2; i <= HEAP_CACHE_MAX_PROCESSES; i++)
                put_process(i);
        better.found.plans[0].distance = 78;
        ck_assert_int_eq(heap_cache_put_process(cache, &better), 0);
        ck_assert_int_eq(distance_of(1), 78);
}
END_TEST

START_TEST(processes_that_were_not_seen_again_are_forgotten) {
        put_process(1);
        put_process(2);
        put_process(3);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(has_process(2));
        ck_assert(has_process(2)); /* a process in several batches is asked for in each */
        put_process(4);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(!has_process(1) && has_process(2) && !has_process(3) && has_process(4));
}
END_TEST

START_TEST(of_too_many_files_the_least_used_are_forgotten) {
        for (unsigned i = 1; i <= HEAP_CACHE_MAX_FILES; i++)
                put_file(i, i);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        for (unsigned i = 11; i <= HEAP_CACHE_MAX_FILES; i++)
                ck_assert_uint_eq(find_file(i), i);
        for (unsigned i = 0; i < 10; i++)
                put_file(100000 + i, 7);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        for (unsigned i = 1; i <= HEAP_CACHE_MAX_FILES; i++)
                ck_assert_uint_eq(find_file(i), i <= 10 ? 0 : i);
        for (unsigned i = 0; i < 10; i++)
                ck_assert_uint_eq(find_file(100000 + i), 7);
        /* In one capture there can be more still, up to a bound. */
        for (unsigned i = 0; i < 3 * HEAP_CACHE_MAX_FILES; i++)
                put_file(200000 + i, 8);
        ck_assert_uint_eq(find_file(200000), 8);
        ck_assert_uint_eq(find_file(200000 + 3 * HEAP_CACHE_MAX_FILES - 1), 0);
}
END_TEST

START_TEST(too_many_processes_are_not_all_kept) {
        for (pid_t i = 1; i <= HEAP_CACHE_MAX_PROCESSES + 5; i++)
                put_process(i);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        reload();
        ck_assert(has_process(1) && has_process(HEAP_CACHE_MAX_PROCESSES));
        ck_assert(!has_process(HEAP_CACHE_MAX_PROCESSES + 1));
}
END_TEST

/* Files first: a process is looked at again quickly. */
START_TEST(a_small_file_keeps_what_fits) {
        for (unsigned i = 1; i <= 100; i++)
                put_file(i, i);
        for (pid_t i = 1; i <= 1000; i++)
                put_process(i);
        ck_assert_int_eq(ftruncate(fd, 64 * 1024), 0);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        ck_assert_int_eq(lseek(fd, 0, SEEK_END), 64 * 1024);
        reload();
        ck_assert_uint_eq(find_file(1), 1);
        ck_assert_uint_eq(find_file(100), 100);
        ck_assert(has_process(1) && !has_process(1000));
        ck_assert_int_eq(ftruncate(fd, 16), 0);
        ck_assert_int_eq(heap_cache_store(cache, fd), -ENOSPC);
}
END_TEST

START_TEST(a_file_that_is_no_cache_counts_as_empty) {
        unsigned char bytes[4096];
        size_t n;

        ck_assert_int_eq(heap_cache_load(cache, fd), 0); /* zeros, as it was made */
        ck_assert_int_eq(heap_cache_load(cache, -1), 0);
        put_file(1, 1);
        put_process(1);
        ck_assert_int_eq(heap_cache_store(cache, fd), 0);
        n = sizeof(bytes);
        ck_assert_int_eq(pread(fd, bytes, n, 0), (ssize_t) n);
        while (n > 0 && bytes[n - 1] == 0)
                n--;
        /* torn or changed at any place: never half of it */
        for (size_t i = 0; i < n; i++) {
                unsigned char other = (unsigned char) (bytes[i] ^ 0x20);

                ck_assert_int_eq(pwrite(fd, &other, 1, (off_t) i), 1);
                reload();
                ck_assert_uint_eq(find_file(1), 0);
                ck_assert(!has_process(1));
                ck_assert_int_eq(pwrite(fd, &bytes[i], 1, (off_t) i), 1);
        }
        reload();
        ck_assert_uint_eq(find_file(1), 1);
        for (size_t i = 0; i < n; i += 3) {
                ck_assert_int_eq(ftruncate(fd, (off_t) i), 0);
                reload();
                ck_assert_uint_eq(find_file(1), 0);
                ck_assert_int_eq(ftruncate(fd, FILE_BYTES), 0);
                ck_assert_int_eq(pwrite(fd, bytes, n, 0), (ssize_t) n);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("heap-cache");
        TCase *tcase = tcase_create("cache");

        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, what_was_put_is_found_by_the_next_capture);
        tcase_add_test(tcase, commands_are_found_by_the_next_capture);
        tcase_add_test(tcase, processes_that_nobody_asked_for_are_kept);
        tcase_add_test(tcase, commands_that_do_not_fit_are_not_kept);
        tcase_add_test(tcase, a_file_that_changed_in_any_way_is_another);
        tcase_add_test(tcase, a_process_that_changed_in_any_way_is_another);
        tcase_add_test(tcase, what_is_put_again_replaces_what_was_known);
        tcase_add_test(tcase, processes_that_were_not_seen_again_are_forgotten);
        tcase_add_test(tcase, of_too_many_files_the_least_used_are_forgotten);
        tcase_add_test(tcase, too_many_processes_are_not_all_kept);
        tcase_add_test(tcase, a_small_file_keeps_what_fits);
        tcase_add_test(tcase, a_file_that_is_no_cache_counts_as_empty);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
