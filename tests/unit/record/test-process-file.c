/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "record/process-file.h"
#include "temporary.h"

static Temporary directory;
static char text[256]; /* the path of the program */

static ProcessMapping mapping_of(const char *name) {
        (void) snprintf(text, sizeof(text), "%s/%s", directory.path, name);
        return (ProcessMapping){ .inode = 1, .path = span_of(text) };
}

static void put(const char *name) {
        char path[256];
        FILE *file;

        (void) snprintf(path, sizeof(path), "%s/%s", directory.path, name);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_ge(fputs(name, file), 0);
        ck_assert_int_eq(fchmod(fileno(file), 0644), 0);
        ck_assert_int_eq(fclose(file), 0);
}

static size_t open_debug(const DebugFileName *name, char ret_first[static 64]) {
        const ProcessMapping mapping = mapping_of("program");
        int fds[DEBUG_FILES_MAX], root = process_file_open_root((uint32_t) getpid());
        size_t n = process_file_open_debug(root, &mapping, name, fds);

        ck_assert_uint_le(n, DEBUG_FILES_MAX);
        (void) fd_close(root);
        for (size_t i = 0; i < n; i++) {
                ssize_t n_read = read(fds[i], text, 63);

                ck_assert_int_ge(n_read, 0);
                if (i == 0) {
                        memcpy(ret_first, text, (size_t) n_read);
                        ret_first[n_read] = '\0';
                }
                (void) close(fds[i]);
        }
        return n;
}

START_TEST(files_by_a_name) {
        const DebugFileName name = { .build_id = "00ff00ff00ff00ff00ff", .link = "program.debug" };
        char path[256], first[64];

        ck_assert_uint_eq(open_debug(&name, first), 0);
        (void) snprintf(path, sizeof(path), "%s/.debug", directory.path);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        put(".debug/program.debug");
        ck_assert_uint_eq(open_debug(&name, first), 1);
        ck_assert_str_eq(first, ".debug/program.debug");
        put("program.debug");
        ck_assert_uint_eq(open_debug(&name, first), 2);
        ck_assert_str_eq(first, "program.debug");
}
END_TEST

static const DebugFileName wrong_names[] = {
        { .link = "program.debug" }, /* without a build id nothing can be compared */
        { .build_id = "0", .link = "program.debug" },
        { .build_id = "../../../etc/passwd", .link = "program.debug" },
        { .build_id = "00FF00FF", .link = "program.debug" },
        { .build_id = "00ff00ff", .link = "" },
        { .build_id = "00ff00ff", .link = "." },
        { .build_id = "00ff00ff", .link = ".." },
        { .build_id = "00ff00ff", .link = "./program.debug" },
        { .build_id = "00ff00ff", .link = "directory.debug" },
        { .build_id = "00ff00ff", .link = ".debug" },
        { .build_id = "00ff00ff", .link = "pipe.debug" },
        { .build_id = "00ff00ff", .link = "null.debug" },
        { .build_id = "00ff00ff", .link = "link.debug" },
        { .build_id = "00ff00ff", .link = "secret.debug" },
        { .build_id = "00ff00ff", .link = "absent.debug" },
        { .build_id = "00ff00ff", .link = "program.other" },
};

START_TEST(names_that_lead_elsewhere) {
        char path[256], first[64];

        put("program.debug");
        put("program.other");
        put("secret.debug");
        (void) snprintf(path, sizeof(path), "%s/secret.debug", directory.path);
        ck_assert_int_eq(chmod(path, 0640), 0);
        (void) snprintf(path, sizeof(path), "%s/link.debug", directory.path);
        ck_assert_int_eq(symlink("program.debug", path), 0);
        (void) snprintf(path, sizeof(path), "%s/pipe.debug", directory.path);
        ck_assert_int_eq(mkfifo(path, 0600), 0);
        (void) snprintf(path, sizeof(path), "%s/null.debug", directory.path);
        ck_assert_int_eq(symlink("/dev/null", path), 0);
        (void) snprintf(path, sizeof(path), "%s/directory.debug", directory.path);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        ck_assert_uint_eq(open_debug(&wrong_names[_i], first), 0);
}
END_TEST

/* What is not ended by a NUL is no name. */
START_TEST(names_without_an_end) {
        DebugFileName name;
        char first[64];

        memset(&name, 'a', sizeof(name));
        ck_assert_uint_eq(open_debug(&name, first), 0);
        name.build_id[8] = '\0';
        ck_assert_uint_eq(open_debug(&name, first), 0);
}
END_TEST

START_TEST(processes_that_are_gone) {
        const DebugFileName name = { .build_id = "00ff00ff", .link = "program.debug" };
        ProcessMapping mapping = mapping_of("program");
        int fds[DEBUG_FILES_MAX];

        mapping.start = 4096;
        mapping.end = 8192;
        put("program.debug");
        ck_assert_uint_eq(process_file_open_debug(-EBADF, &mapping, &name, fds), 0);
        ck_assert_int_lt(process_file_open_mapped(UINT32_MAX, &mapping, &(ProcessDevice){}), 0);
        ck_assert_int_lt(process_file_open_jit_map(-EBADF, UINT32_MAX), 0);
        ck_assert_int_lt(process_file_open_root(UINT32_MAX), 0);
        ck_assert(!process_file_is_of_image(UINT32_MAX, 0));
}
END_TEST

static int open_jit_map(void) {
        int root = process_file_open_root((uint32_t) getpid());
        int fd = process_file_open_jit_map(root, (uint32_t) getpid());

        ck_assert_int_ge(root, 0);
        (void) fd_close(root);
        return fd;
}

START_TEST(maps_of_the_same_user) {
        char path[64], other[80];
        int fd;

        (void) snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int) getpid());
        (void) snprintf(other, sizeof(other), "%s.other", path);
        (void) unlink(path);
        ck_assert_int_lt(open_jit_map(), 0);
        fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        (void) close(fd);
        /* Neither a link, */
        ck_assert_int_eq(symlink(other, path), 0);
        ck_assert_int_lt(open_jit_map(), 0);
        (void) unlink(path);
        /* nor a file of somebody else, */
        if (geteuid() == 0) {
                ck_assert_int_eq(rename(other, path), 0);
                ck_assert_int_eq(chown(path, 65534, (gid_t) -1), 0);
                ck_assert_int_lt(open_jit_map(), 0);
                ck_assert_int_eq(chown(path, 0, (gid_t) -1), 0);
        } else
                ck_assert_int_eq(rename(other, path), 0);
        /* but its own. */
        fd = open_jit_map();
        ck_assert_int_ge(fd, 0);
        (void) close(fd);
        ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(programs_have_their_stacks) {
        char line[1024], *words;
        uint64_t start_stack;
        FILE *file = fopen("/proc/self/stat", "r");

        ck_assert_ptr_nonnull(file);
        ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
        (void) fclose(file);
        words = strrchr(line, ')');
        for (unsigned i = 2; i < 28; i++)
                words = strchr(words + 1, ' ');
        start_stack = strtoull(words, NULL, 10);
        ck_assert_uint_ne(start_stack, 0);
        ck_assert(process_file_is_of_image((uint32_t) getpid(), start_stack));
        ck_assert(!process_file_is_of_image((uint32_t) getpid(), start_stack + 16));
}
END_TEST

static size_t path_of(int fd, uint64_t inode, char ret[static PROCESS_FILE_PATH_BYTES]) {
        return process_file_read_path((uint32_t) getpid(), (uint32_t) fd, inode, ret);
}

START_TEST(a_descriptor_has_the_path_of_its_file_alone) {
        char path[256], found[PROCESS_FILE_PATH_BYTES];
        int fd, other, fds[2];
        struct stat status;
        size_t n;

        put("file");
        put("other");
        (void) snprintf(path, sizeof(path), "%s/file", directory.path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fstat(fd, &status), 0);
        n = path_of(fd, status.st_ino, found);
        ck_assert_uint_eq(n, strlen(path));
        ck_assert_int_eq(memcmp(found, path, n), 0);
        ck_assert_uint_eq(path_of(fd, status.st_ino + 1, found), 0);
        /* One without a name has had one. */
        ck_assert_int_eq(unlink(path), 0);
        n = path_of(fd, status.st_ino, found);
        ck_assert_uint_eq(n, strlen(path) + strlen(" (deleted)"));
        /* It stands for another one then. */
        (void) snprintf(path, sizeof(path), "%s/other", directory.path);
        other = open(path, O_RDONLY | O_CLOEXEC);
        ck_assert_int_eq(dup2(other, fd), fd);
        ck_assert_uint_eq(path_of(fd, status.st_ino, found), 0);
        (void) close(other);
        (void) close(fd);
        ck_assert_uint_eq(path_of(fd, status.st_ino, found), 0);
        ck_assert_int_eq(pipe(fds), 0);
        ck_assert_int_eq(fstat(fds[0], &status), 0);
        ck_assert_uint_eq(path_of(fds[0], status.st_ino, found), 0);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

static void set_up(void) {
        temporary_init(&directory);
}

static void tear_down(void) {
        temporary_done(&directory);
}

int main(void) {
        Suite *suite = suite_create("process-file");
        TCase *tcase = tcase_create("process-file");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, files_by_a_name);
        tcase_add_loop_test(tcase, names_that_lead_elsewhere, 0, ELEMENTSOF(wrong_names));
        tcase_add_test(tcase, names_without_an_end);
        tcase_add_test(tcase, processes_that_are_gone);
        tcase_add_test(tcase, maps_of_the_same_user);
        tcase_add_test(tcase, programs_have_their_stacks);
        tcase_add_test(tcase, a_descriptor_has_the_path_of_its_file_alone);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
