/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "check-main.h"

enum {
        CHILD_OK,
        CHILD_WRONG,
        CHILD_NO_ENTRY,
        CHILD_NO_FILTER,
};

#define FILE_LIMIT_BYTES 4096

/* What the child has open when it enters. */
typedef struct Belongings {
        int file;
        int sockets[2];
} Belongings;

typedef bool (*Deed)(const Belongings *belongings);

static bool refused(long r) {
        return r < 0 && (errno == EPERM || errno == EMFILE);
}

static bool reads_and_writes_what_is_open(const Belongings *belongings) {
        struct stat status;
        char byte;

        return pwrite(belongings->file, "x", 1, 0) == 1 &&
               pread(belongings->file, &byte, 1, 0) == 1 &&
               lseek(belongings->file, 0, SEEK_END) == 1 && fstat(belongings->file, &status) == 0 &&
               status.st_size == 1 && fsync(belongings->file) == 0 && close(belongings->file) == 0;
}

static bool talks_over_a_socket(const Belongings *belongings) {
        struct pollfd wait = { .fd = belongings->sockets[1], .events = POLLIN };
        char byte;

        return send(belongings->sockets[0], "x", 1, MSG_NOSIGNAL) == 1 &&
               poll(&wait, 1, 1000) == 1 && recv(belongings->sockets[1], &byte, 1, MSG_PEEK) == 1 &&
               read(belongings->sockets[1], &byte, 1) == 1;
}

static bool allocates(const Belongings *belongings) {
        for (size_t n = 1; n <= 64u << 20; n *= 4) {
                char *bytes = malloc(n), *more;

                if (!bytes)
                        return false;
                memset(bytes, 1, n);
                more = realloc(bytes, 2 * n);
                free(more ? more : bytes);
                if (!more)
                        return false;
        }
        return true;
}

static bool knows_the_time(const Belongings *belongings) {
        struct timespec now;

        return clock_gettime(CLOCK_MONOTONIC, &now) == 0;
}

static bool cannot_open(const Belongings *belongings) {
        return refused(open("/dev/null", O_RDONLY | O_CLOEXEC)) &&
               refused(openat(AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC));
}

static bool cannot_duplicate(const Belongings *belongings) {
        return refused(dup(belongings->file)) &&
               refused(fcntl(belongings->file, F_DUPFD_CLOEXEC, 0));
}

static bool cannot_look_up(const Belongings *belongings) {
        struct stat status;

        return refused(stat("/", &status)) && refused(access("/", R_OK)) && refused(chdir("/"));
}

static bool cannot_start_a_program(const Belongings *belongings) {
        char name[] = "/bin/true";
        char *arguments[] = { name, NULL };

        return refused(execv(name, arguments));
}

static bool cannot_fork(const Belongings *belongings) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(CHILD_WRONG);
        return refused(pid);
}

static bool cannot_reach_the_network(const Belongings *belongings) {
        return refused(socket(AF_INET, SOCK_STREAM, 0)) &&
               refused(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static bool cannot_touch_others(const Belongings *belongings) {
        return refused(kill(getppid(), 0)) && refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static bool cannot_make_code(const Belongings *belongings) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page != MAP_FAILED || errno != EPERM)
                return false;
        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return page != MAP_FAILED && refused(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static bool writes_no_file_past_the_limit(const Belongings *belongings) {
        return pwrite(belongings->file, "x", 1, FILE_LIMIT_BYTES - 1) == 1 &&
               pwrite(belongings->file, "x", 1, FILE_LIMIT_BYTES) == -1 && errno == EFBIG;
}

static bool has_no_capability(const Belongings *belongings) {
        /* Needs one in the ancestor's user namespace, and is refused without. */
        return refused(setuid(12345)) && !refused((long) getuid());
}

static const struct {
        const char *name;
        Deed deed;
        bool by_filter; /* only the seccomp filter refuses it */
} deeds[] = {
        { "reads_and_writes_what_is_open", reads_and_writes_what_is_open, false },
        { "talks_over_a_socket", talks_over_a_socket, false },
        { "allocates", allocates, false },
        { "knows_the_time", knows_the_time, false },
        { "cannot_open", cannot_open, false },
        { "cannot_duplicate", cannot_duplicate, false },
        { "cannot_look_up", cannot_look_up, true },
        { "cannot_start_a_program", cannot_start_a_program, true },
        { "cannot_fork", cannot_fork, true },
        { "cannot_reach_the_network", cannot_reach_the_network, false },
        { "cannot_touch_others", cannot_touch_others, true },
        { "cannot_make_code", cannot_make_code, true },
        { "writes_no_file_past_the_limit", writes_no_file_past_the_limit, false },
        { "has_no_capability", has_no_capability, false },
};

/* valgrind lives in the process that it runs, and so would enter too. */
static bool under_valgrind(void) {
        const char *preloaded = getenv("LD_PRELOAD");

        return preloaded && strstr(preloaded, "vgpreload");
}

static int belongings_open(Belongings *ret) {
        ret->file = memfd_create("sandbox", MFD_CLOEXEC);
        if (ret->file < 0)
                return -errno;
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret->sockets);
}

static int child_of(Deed deed, bool by_filter) {
        Belongings belongings;
        int r;

        if (belongings_open(&belongings) != 0)
                return CHILD_NO_ENTRY;
        r = sandbox_enter(SANDBOX_DESCRIPTORS_ONLY, 0, FILE_LIMIT_BYTES);
        if (r != 0 && r != SANDBOX_E_NO_FILTER)
                return CHILD_NO_ENTRY;
        if (r == SANDBOX_E_NO_FILTER && by_filter)
                return CHILD_NO_FILTER;
        return deed(&belongings) ? CHILD_OK : CHILD_WRONG;
}

static int status_of(pid_t pid) {
        int status;

        ck_assert_int_gt(pid, 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        return WEXITSTATUS(status);
}

START_TEST(inside_a_process) {
        pid_t pid;
        int status;

        if (under_valgrind())
                return;
        pid = fork();
        if (pid == 0)
                sandbox_exit(child_of(deeds[_i].deed, deeds[_i].by_filter));
        status = status_of(pid);
        ck_assert_msg(status == CHILD_OK || status == CHILD_NO_FILTER, "%s: %d", deeds[_i].name,
                      status);
}
END_TEST

static int child_that_keeps(void) {
        static const cap_value_t keep[] = { CAP_SYS_PTRACE, CAP_NET_ADMIN };
        static const cap_value_t others[] = { CAP_CHOWN, CAP_SYS_ADMIN };
        cap_t before = cap_get_proc(), after;
        cap_flag_value_t had, has;
        bool right = true;

        if (sandbox_enter(SANDBOX_OPEN,
                          SANDBOX_CAPABILITY(SYS_PTRACE) | SANDBOX_CAPABILITY(NET_ADMIN), 0) != 0)
                return CHILD_NO_ENTRY;
        after = cap_get_proc();
        for (size_t i = 0; i < 2; i++) {
                right = right && cap_get_flag(before, keep[i], CAP_PERMITTED, &had) == 0 &&
                        cap_get_flag(after, keep[i], CAP_EFFECTIVE, &has) == 0 && had == has;
                right = right && cap_get_flag(after, others[i], CAP_PERMITTED, &has) == 0 &&
                        has == CAP_CLEAR;
        }
        right = right && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
        (void) cap_free(before);
        (void) cap_free(after);
        return right ? CHILD_OK : CHILD_WRONG;
}

START_TEST(named_capabilities_stay_and_the_others_go) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(child_that_keeps());
        ck_assert_int_eq(status_of(pid), CHILD_OK);
}
END_TEST

static int child_without_privilege(void) {
        if (geteuid() != 0)
                return sandbox_enter(SANDBOX_OPEN, 0, 0) == 0 && !sandbox_is_privileged()
                               ? CHILD_OK
                               : CHILD_WRONG;
        /* Root is privileged also without capabilities: it owns what it did not make. */
        return sandbox_enter(SANDBOX_OPEN, 0, 0) == 0 && sandbox_is_privileged() ? CHILD_OK
                                                                                 : CHILD_WRONG;
}

START_TEST(only_root_is_privileged_without_capabilities) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(child_without_privilege());
        ck_assert_int_eq(status_of(pid), CHILD_OK);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("sandbox");
        TCase *enter = tcase_create("enter");
        TCase *capabilities = tcase_create("capabilities");

        tcase_add_loop_test(enter, inside_a_process, 0, ELEMENTSOF(deeds));
        tcase_add_test(capabilities, named_capabilities_stay_and_the_others_go);
        tcase_add_test(capabilities, only_root_is_privileged_without_capabilities);
        suite_add_tcase(suite, enter);
        suite_add_tcase(suite, capabilities);
        return check_main(suite);
}
