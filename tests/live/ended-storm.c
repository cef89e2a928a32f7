/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Fills the ledger of exits as fast as it goes:
 *
 *     ended-storm names WORD N         N threads, each of another name without digits
 *     ended-storm cgroups DIRECTORY N  as many processes, each in a cgroup of its own
 *     ended-storm uids WORD N          likewise, each of another name and uid of this namespace
 *     ended-storm parents WORD N       likewise, each of that name, of a parent of another name
 *
 * Names go on from those of an earlier run where a number follows.
 */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Name {
        char text[16];
} Name;

/* A word of at most nine bytes, and six letters. */
static Name make_name(const char *word, unsigned long number) {
        Name name = {};
        size_t n = strnlen(word, 9);

        memcpy(name.text, word, n);
        for (unsigned i = 0; i < 6; i++, number /= 26)
                name.text[n + i] = (char) ('a' + number % 26);
        return name;
}

static void *live(void *name) {
        (void) prctl(PR_SET_NAME, name);
        return NULL;
}

static void live_as_threads(const char *word, unsigned long from, unsigned long n) {
        for (unsigned long i = 0; i < n; i++) {
                Name name = make_name(word, from + i);
                pthread_t thread;
                int r = pthread_create(&thread, NULL, live, name.text);

                if (r != 0)
                        errx(1, "no thread: %s", strerror(r));
                (void) pthread_join(thread, NULL);
        }
}

static void reap(pid_t pid) {
        int status;

        if (waitpid(pid, &status, 0) < 0 || status != 0)
                errx(1, "a process failed");
}

static void live_in_cgroup(const char *path) {
        struct clone_args arguments = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
        int fd;
        pid_t pid;

        if (mkdir(path, 0755) < 0)
                err(1, "%s", path);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                err(1, "%s", path);
        arguments.cgroup = (unsigned) fd;
        pid = (pid_t) syscall(SYS_clone3, &arguments, sizeof(arguments));
        if (pid == 0)
                _exit(0);
        if (pid < 0)
                err(1, "clone3");
        reap(pid);
        (void) close(fd);
        /* The last moments of a process are in it still. */
        while (rmdir(path) < 0)
                if (errno != EBUSY)
                        err(1, "%s", path);
}

static void live_in_cgroups(const char *directory, unsigned long from, unsigned long n) {
        char path[4096];

        for (unsigned long i = 0; i < n; i++) {
                (void) snprintf(path, sizeof(path), "%s/storm-%lu", directory, from + i);
                live_in_cgroup(path);
        }
}

static void live_under_uids(const char *word, unsigned long from, unsigned long n) {
        for (unsigned long i = 0; i < n; i++) {
                Name name = make_name(word, from + i);
                uid_t uid = (uid_t) (1 + (from + i) % 65535);
                pid_t pid = fork();

                if (pid == 0)
                        _exit(prctl(PR_SET_NAME, name.text) < 0 || setresuid(uid, uid, uid) < 0);
                if (pid < 0)
                        err(1, "fork");
                reap(pid);
        }
}

static void live_of_parents(const char *word, unsigned long from, unsigned long n) {
        for (unsigned long i = 0; i < n; i++) {
                Name name = make_name("of-", from + i);
                pid_t pid;

                (void) prctl(PR_SET_NAME, name.text);
                pid = fork();
                if (pid == 0)
                        _exit(prctl(PR_SET_NAME, word) < 0);
                if (pid < 0)
                        err(1, "fork");
                reap(pid);
        }
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*run)(const char *word, unsigned long from, unsigned long n);
        } kinds[] = {
                { "names", live_as_threads },
                { "cgroups", live_in_cgroups },
                { "uids", live_under_uids },
                { "parents", live_of_parents },
        };

        for (size_t i = 0; argc >= 4 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
                if (strcmp(argv[1], kinds[i].name) == 0) {
                        kinds[i].run(argv[2], argc > 4 ? strtoul(argv[4], NULL, 10) : 0,
                                     strtoul(argv[3], NULL, 10));
                        return 0;
                }
        errx(2, "usage: ended-storm names|cgroups|uids|parents WORD|DIRECTORY N [FROM]");
}
