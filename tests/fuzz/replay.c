/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeds the files of a corpus to a fuzz target, whole and cut short, in an ordinary build: one TAP
 * case a file. What the target or a sanitizer finds ends the program, with the file named. The
 * target runs in a child, because whatever ends it leaves it no time to remove its files.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static int replay(const char *corpus) {
        struct dirent **files;
        int n_files = scandir(corpus, &files, is_visible, alphasort);

        if (n_files <= 0) {
                fprintf(stderr, "%s: no corpus there\n", corpus);
                return 2;
        }
        (void) signal(SIGABRT, on_abort);
        printf("1..%d\n", n_files);
        for (int i = 0; i < n_files; i++) {
                _cleanup_(freep) char *bytes = NULL;
                size_t size;

                snprintf(running, sizeof(running), "not ok %d - %s\n", i + 1, files[i]->d_name);
                bytes = read_whole(corpus, files[i]->d_name, &size);
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

/* What the target leaves when a sanitizer, a signal or a time limit ends it in the middle. */

static pid_t child;

static void on_end(int signal_number) {
        (void) kill(child, SIGKILL);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *ftw) {
        return remove(path);
}

/* The exit status of @corpus replayed in a child, whose $TMPDIR is @directory. */
static int replay_below(const char *directory, const char *corpus) {
        const struct sigaction end = { .sa_handler = on_end, .sa_flags = SA_RESTART };
        sigset_t ends, before;
        int status;

        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        /* The handler has nobody to end before there is a child. */
        sigprocmask(SIG_BLOCK, &ends, &before);
        child = fork();
        if (child < 0)
                return 2;
        if (child == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                sigprocmask(SIG_SETMASK, &before, NULL);
                (void) setenv("TMPDIR", directory, 1);
                exit(replay(corpus));
        }
        sigaction(SIGINT, &end, NULL);
        sigaction(SIGTERM, &end, NULL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (waitpid(child, &status, 0) != child)
                return 2;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
        const char *below = getenv("TMPDIR");
        char directory[256];
        int r;

        if (argc != 2) {
                fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
                return 2;
        }
        if (fuzz_lack && fuzz_lack()) {
                printf("1..0 # SKIP %s\n", fuzz_lack());
                return 0;
        }
        (void) snprintf(directory, sizeof(directory), "%s/ctprof-replay-XXXXXX",
                        below ? below : "/tmp");
        if (!mkdtemp(directory)) {
                perror(directory);
                return 2;
        }
        r = replay_below(directory, argv[1]);
        (void) nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        return r;
}
