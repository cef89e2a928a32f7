/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeds the files of a corpus to a fuzz target, whole and cut short, in an ordinary build: one TAP
 * case a file. What the target or a sanitizer finds ends the program, with the file named.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fuzz.h"

#define CUTS 8 /* beside the whole file */

/* The sanitizers look for these; elsewhere nobody does. What they find is to arrive as SIGABRT. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void) {
        return "abort_on_error=1";
}

const char *__ubsan_default_options(void) {
        return "abort_on_error=1:print_stacktrace=1";
}

/* For the signal handler: the case that is running. */
static char running[512];

static void on_abort(int signal_number) {
        (void) !write(STDOUT_FILENO, running, strlen(running));
        _exit(1);
}

/*
 * An allocation of its own, so that a sanitizer sees what is read past the end of @size bytes; for
 * none as well, as libFuzzer gives it.
 */
static void feed(const char *bytes, size_t size) {
        _cleanup_(freep) char *copy = malloc(size);

        fuzz_expect(copy, "there is memory for %zu bytes", size);
        if (size > 0)
                memcpy(copy, bytes, size);
        (void) LLVMFuzzerTestOneInput((const uint8_t *) copy, size);
}

static void feed_with_cuts(const char *bytes, size_t size) {
        feed(bytes, size);
        for (size_t i = 0; i < CUTS; i++)
                feed(bytes, size * i / CUTS);
        if (size > 0)
                feed(bytes, size - 1);
}

static char *read_whole(const char *directory, const char *name, size_t *ret_size) {
        _cleanup_(freep) char *path = NULL, *bytes = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        struct stat status;

        if (asprintf(&path, "%s/%s", directory, name) < 0)
                return NULL;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0)
                return NULL;
        bytes = malloc((size_t) status.st_size + 1);
        if (!bytes || read(fd, bytes, (size_t) status.st_size) != status.st_size)
                return NULL;
        *ret_size = (size_t) status.st_size;
        return TAKE_PTR(bytes);
}

static int is_visible(const struct dirent *entry) {
        return entry->d_name[0] != '.';
}

int main(int argc, char **argv) {
        struct dirent **files;
        int n_files;

        if (argc != 2) {
                fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
                return 2;
        }
        n_files = scandir(argv[1], &files, is_visible, alphasort);
        if (n_files <= 0) {
                fprintf(stderr, "%s: no corpus there\n", argv[1]);
                return 2;
        }
        (void) signal(SIGABRT, on_abort);
        printf("1..%d\n", n_files);
        for (int i = 0; i < n_files; i++) {
                _cleanup_(freep) char *bytes = NULL;
                size_t size;

                snprintf(running, sizeof(running), "not ok %d - %s\n", i + 1, files[i]->d_name);
                bytes = read_whole(argv[1], files[i]->d_name, &size);
                if (!bytes)
                        abort();
                feed_with_cuts(bytes, size);
                printf("ok %d - %s\n", i + 1, files[i]->d_name);
                fflush(stdout);
                free(files[i]);
        }
        free(files);
        return 0;
}
