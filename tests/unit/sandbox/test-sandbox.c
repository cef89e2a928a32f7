/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "check-lack.h"
#include "check-main.h"
#include "job/job-kind.h"
#include "job/sandbox/sandbox-calls.h"

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
               lseek(belongings->file, 0, SEEK_END) == 1 &&
               sandbox_fstat(belongings->file, &status) == 0 && S_ISREG(status.st_mode) &&
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
        struct statx extended;
        struct stat status;

        /* With this flag the path may be empty, but need not be. */
        return refused(stat("/", &status)) && refused(access("/", R_OK)) && refused(chdir("/")) &&
               refused(statx(AT_FDCWD, "/", AT_EMPTY_PATH, STATX_SIZE, &extended)) &&
               refused(statx(belongings->file, "", AT_EMPTY_PATH, STATX_SIZE, &extended)) &&
               refused(fstatat(AT_FDCWD, "/", &status, AT_EMPTY_PATH));
}

static bool has_no_standard_descriptors(const Belongings *belongings) {
        struct stat null;

        for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
                if (sandbox_fstat(fd, &null) != 0 || !S_ISCHR(null.st_mode) ||
                    null.st_rdev != makedev(1, 3))
                        return false;
        return sandbox_keeps_stderr ||
               (sandbox_fstat(STDERR_FILENO, &null) == 0 && null.st_rdev == makedev(1, 3));
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

static int receive_descriptor(int socket) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control;
        char byte;
        struct iovec bytes = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        const struct cmsghdr *part;
        int fd;

        if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
                return -errno;
        part = CMSG_FIRSTHDR(&message);
        if (!part)
                return -EBADF;
        memcpy(&fd, CMSG_DATA(part), sizeof(fd));
        return fd;
}

static bool send_descriptor(int socket, int fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control = { .bytes = { 0 } };
        char byte = 'x';
        struct iovec bytes = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        /* Whatever other processes of this user have in flight counts for our limit, too. */
        for (unsigned i = 0; i < 1000000; i++) {
                if (sendmsg(socket, &message, MSG_NOSIGNAL) == 1)
                        return true;
                if (errno != ETOOMANYREFS)
                        return false;
                (void) sched_yield();
        }
        return false;
}

static bool receives_files(const Belongings *belongings) {
        char byte = 0;
        int fd;

        /* One after the other for as long as it wants. */
        for (unsigned i = 0; i < 1000; i++) {
                if (!send_descriptor(belongings->sockets[0], belongings->file))
                        return false;
                fd = receive_descriptor(belongings->sockets[1]);
                if (fd < 0 || pwrite(fd, "y", 1, 0) != 1 || pread(fd, &byte, 1, 0) != 1 ||
                    byte != 'y' || close(fd) != 0)
                        return false;
        }
        return true;
}

static bool receives_few_files_at_once(const Belongings *belongings) {
        unsigned n = 0;

        while (n < 1000) {
                if (!send_descriptor(belongings->sockets[0], belongings->file))
                        return false;
                if (receive_descriptor(belongings->sockets[1]) < 0)
                        break;
                n++;
        }
        return n > 0 && n < 32;
}

static bool receives_no_file(const Belongings *belongings) {
        return send_descriptor(belongings->sockets[0], belongings->file) &&
               receive_descriptor(belongings->sockets[1]) < 0;
}

typedef struct DeedRow {
        const char *name;
        Deed deed;
        bool by_filter; /* only the seccomp filter refuses it */
} DeedRow;

static const DeedRow deeds[] = {
        { "reads_and_writes_what_is_open", reads_and_writes_what_is_open, false },
        { "talks_over_a_socket", talks_over_a_socket, false },
        { "allocates", allocates, false },
        { "knows_the_time", knows_the_time, false },
        { "cannot_open", cannot_open, false },
        { "cannot_duplicate", cannot_duplicate, false },
        { "cannot_look_up", cannot_look_up, true },
        { "has_no_standard_descriptors", has_no_standard_descriptors, false },
        { "cannot_start_a_program", cannot_start_a_program, true },
        { "cannot_fork", cannot_fork, true },
        { "cannot_reach_the_network", cannot_reach_the_network, false },
        { "cannot_touch_others", cannot_touch_others, true },
        { "cannot_make_code", cannot_make_code, true },
        { "writes_no_file_past_the_limit", writes_no_file_past_the_limit, false },
        { "has_no_capability", has_no_capability, false },
        { "receives_no_file", receives_no_file, false },
};

/* In the sandbox of a job that gets files sent. */
static const DeedRow receiving_deeds[] = {
        { "receives_files", receives_files, false },
        { "receives_few_files_at_once", receives_few_files_at_once, false },
        { "cannot_open", cannot_open, true },
        { "cannot_duplicate", cannot_duplicate, true },
        { "cannot_look_up", cannot_look_up, true },
        { "has_no_standard_descriptors", has_no_standard_descriptors, false },
        { "cannot_start_a_program", cannot_start_a_program, true },
        { "cannot_fork", cannot_fork, true },
        { "cannot_reach_the_network", cannot_reach_the_network, true },
        { "cannot_touch_others", cannot_touch_others, true },
        { "cannot_make_code", cannot_make_code, true },
        { "has_no_capability", has_no_capability, false },
};

static int belongings_open(Belongings *ret) {
        ret->file = memfd_create("sandbox", MFD_CLOEXEC);
        if (ret->file < 0)
                return -errno;
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret->sockets);
}

static int child_of(Deed deed, bool by_filter, unsigned grants) {
        Belongings belongings;
        int r;

        if (belongings_open(&belongings) != 0)
                return CHILD_NO_ENTRY;
        r = sandbox_enter(grants, 0, FILE_LIMIT_BYTES);
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

static void expect_deed(const DeedRow *row, unsigned grants) {
        pid_t pid;
        int status;

        if (check_skips(row->by_filter || check_is_valgrind() ? check_lacks_filters() : NULL))
                return;
        pid = fork();
        if (pid == 0)
                sandbox_exit(child_of(row->deed, row->by_filter, grants));
        status = status_of(pid);
        ck_assert_msg(status == CHILD_OK, "%s: %d", row->name, status);
}

START_TEST(inside_a_process) {
        expect_deed(&deeds[_i], 0);
}
END_TEST

START_TEST(inside_a_process_that_receives_files) {
        expect_deed(&receiving_deeds[_i], SANDBOX_RECEIVE_FILES);
}
END_TEST

/* the sandboxes of all kinds of jobs */

static const struct {
        const char *name;
        unsigned grants;
} kinds[] = {
#define KIND_ROW(id, word, clock, time, memory, capabilities, entry, grants, ...) { word, grants },
        JOB_KINDS(KIND_ROW)
#undef KIND_ROW
};

/*
 * Calls that no job may make. The arguments are wrong on purpose, so that a call that is not
 * refused fails with another error and does no harm.
 */
#define NOWHERE ((long) 1)
#define CALL(name, ...)              \
        {                            \
#name, SYS_##name, { \
                        __VA_ARGS__  \
                }                    \
        }
static const struct {
        const char *name;
        long number;
        long arguments[5];
} forbidden[] = {
        /* programs and processes */
        CALL(execve, NOWHERE, 0, 0),
        CALL(execveat, -1, NOWHERE, 0, 0, 0),
        CALL(ptrace, -1, -1, 0, 0),
        CALL(process_vm_writev, -1, 0, 0, 0, 0),
        CALL(kcmp, -1, -1, 99, 0, 0),
        CALL(pidfd_open, -1, 0),
        CALL(pidfd_getfd, -1, -1, 0),
        CALL(pidfd_send_signal, -1, 0, 0, 0),
        CALL(kill, 0x7ffffffe, 0),
        CALL(setpriority, 99, 0, 0),
        CALL(perf_event_open, NOWHERE, 0, 0, -1, 0),
        /* sockets and descriptors */
        CALL(socket, -1, 0, 0),
        CALL(connect, -1, 0, 0),
        CALL(bind, -1, 0, 0),
        CALL(listen, -1, 0),
        CALL(accept4, -1, 0, 0, 0),
        CALL(dup, -1),
        CALL(pipe2, NOWHERE, 0),
        CALL(epoll_create1, -1),
        CALL(eventfd2, 0, -1),
        CALL(userfaultfd, -1),
        CALL(fanotify_init, -1, 0),
        CALL(inotify_init1, -1),
        CALL(ioctl, -1, 0, 0),
        CALL(io_uring_setup, 0, NOWHERE),
        CALL(io_uring_enter, -1, 0, 0, 0, 0),
        CALL(io_uring_register, -1, 0, 0, 0),
        CALL(bpf, -1, 0, 0),
        /* files */
        CALL(name_to_handle_at, -1, NOWHERE, 0, 0, 0),
        CALL(open_by_handle_at, -1, NOWHERE, 0),
        CALL(truncate, NOWHERE, 0),
        CALL(fchmod, -1, 0),
        CALL(fchmodat, -1, NOWHERE, 0),
        CALL(fchown, -1, 0, 0),
        CALL(fchownat, -1, NOWHERE, 0, 0, 0),
        CALL(mkdirat, -1, NOWHERE, 0),
        CALL(mknodat, -1, NOWHERE, 0, 0),
        CALL(symlinkat, NOWHERE, -1, NOWHERE),
        CALL(utimensat, -1, NOWHERE, 0, 0),
        CALL(setxattr, NOWHERE, NOWHERE, 0, 0, 0),
        CALL(fsetxattr, -1, NOWHERE, 0, 0, 0),
        CALL(removexattr, NOWHERE, NOWHERE),
        CALL(fallocate, -1, 0, 0, 0),
#ifdef SYS_rename
        CALL(rename, NOWHERE, NOWHERE),
        CALL(link, NOWHERE, NOWHERE),
        CALL(unlink, NOWHERE),
        CALL(symlink, NOWHERE, NOWHERE),
        CALL(mkdir, NOWHERE, 0),
        CALL(rmdir, NOWHERE),
        CALL(chmod, NOWHERE, 0),
        CALL(chown, NOWHERE, 0, 0),
        CALL(creat, NOWHERE, 0),
#endif
        CALL(chdir, NOWHERE),
        CALL(chroot, NOWHERE),
        /* the host */
        CALL(mount, NOWHERE, NOWHERE, 0, 0, 0),
        CALL(umount2, NOWHERE, 0),
        CALL(pivot_root, NOWHERE, NOWHERE),
        CALL(move_mount, -1, NOWHERE, -1, NOWHERE, 0),
        CALL(fsopen, NOWHERE, 0),
        CALL(setns, -1, 0),
        CALL(unshare, CLONE_NEWNS),
        CALL(unshare, CLONE_FILES | CLONE_NEWUSER),
        CALL(keyctl, -1, 0, 0, 0, 0),
        CALL(add_key, NOWHERE, 0, 0, 0, 0),
        CALL(finit_module, -1, 0, 0),
        CALL(kexec_load, 0, 0, 0, -1),
        CALL(reboot, 0, 0, 0, 0),
        CALL(sethostname, NOWHERE, -1),
        CALL(clock_settime, -1, 0),
        CALL(setuid, -1),
        CALL(setgroups, -1, 0),
        CALL(capset, NOWHERE, 0),
        CALL(seccomp, -1, 0, 0),
        CALL(personality, -1),
};

static const struct {
        const char *name;
        unsigned grant; /* with which it is allowed */
        long number;
        long arguments[5];
} granted[] = {
#define GRANTED(grant, name, ...)           \
        {                                   \
#name, grant, SYS_##name, { \
                        __VA_ARGS__         \
                }                           \
        }
        GRANTED(SANDBOX_READ_FILES, openat, -1, NOWHERE, O_RDONLY),
        GRANTED(SANDBOX_READ_FILES, openat, -1, NOWHERE, O_PATH | O_DIRECTORY),
        GRANTED(SANDBOX_READ_FILES, statx, -1, NOWHERE, 0, 0, 0),
        GRANTED(SANDBOX_READ_FILES, statx, -1, NOWHERE, AT_EMPTY_PATH, 0, 0),
        GRANTED(SANDBOX_READ_FILES, readlinkat, -1, NOWHERE, 0, 0),
        GRANTED(SANDBOX_READ_FILES, faccessat, -1, NOWHERE, 0),
        GRANTED(SANDBOX_READ_FILES, getdents64, -1, 0, 0),
        GRANTED(SANDBOX_CHANGE_NAMES, openat, -1, NOWHERE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW),
        GRANTED(SANDBOX_CHANGE_NAMES, openat, -1, NOWHERE, O_RDWR | O_TMPFILE),
        GRANTED(SANDBOX_CHANGE_NAMES, linkat, -1, NOWHERE, -1, NOWHERE, 0),
        GRANTED(SANDBOX_CHANGE_NAMES, unlinkat, -1, NOWHERE, 0),
        GRANTED(SANDBOX_CHANGE_NAMES, renameat2, -1, NOWHERE, -1, NOWHERE, 0),
        GRANTED(SANDBOX_CHANGE_NAMES, flock, -1, 0),
        GRANTED(SANDBOX_CHANGE_NAMES, utimensat, -1, 0, 0, 0),
        GRANTED(SANDBOX_OBSERVE, unshare, CLONE_FILES),
        GRANTED(SANDBOX_OBSERVE | SANDBOX_LISTEN, recvmmsg, -1, 0, 0, 0, 0),
        GRANTED(SANDBOX_READ_MEMORY, process_vm_readv, -1, 0, 0, 0, 0),
        GRANTED(SANDBOX_READ_MEMORY, get_robust_list, -1, NOWHERE, NOWHERE),
        GRANTED(SANDBOX_ASK, socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, NOWHERE),
        GRANTED(SANDBOX_ASK, socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, NOWHERE),
        GRANTED(SANDBOX_LOAD_PROGRAMS, prlimit64, 0, -1, 0, 0),
        GRANTED(SANDBOX_ITERATE | SANDBOX_LOAD_PROGRAMS, bpf, BPF_ITER_CREATE, 0, 0),
        GRANTED(SANDBOX_LOAD_PROGRAMS, bpf, BPF_LINK_CREATE, 0, 0),
        GRANTED(SANDBOX_LOAD_PROGRAMS | SANDBOX_FOLD_ROWS | SANDBOX_LISTEN, memfd_create, NOWHERE,
                0),
        GRANTED(SANDBOX_LOAD_PROGRAMS, dup3, -1, -1, 0),
        GRANTED(SANDBOX_LOAD_PROGRAMS, bpf, BPF_MAP_FREEZE, 0, 0),
        GRANTED(SANDBOX_ITERATE | SANDBOX_FOLD_ROWS, bpf, BPF_MAP_DELETE_ELEM, 0, 0),
        GRANTED(SANDBOX_RECORD, bpf, BPF_MAP_LOOKUP_AND_DELETE_BATCH, 0, 0),
        GRANTED(SANDBOX_FOLD_ROWS | SANDBOX_LISTEN, fcntl, -1, F_ADD_SEALS, 0),
        /* nobody: objects that others have loaded */
        GRANTED(0, bpf, BPF_BTF_GET_NEXT_ID, 0, 0),
        GRANTED(0, bpf, BPF_PROG_GET_FD_BY_ID, 0, 0),
        GRANTED(0, bpf, BPF_OBJ_GET, 0, 0),
        /* nobody: a pair that reaches further */
        GRANTED(0, socketpair, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, NOWHERE),
        GRANTED(0, socketpair, AF_NETLINK, SOCK_RAW, 0, NOWHERE),
        GRANTED(0, socketpair, -1, SOCK_STREAM | SOCK_CLOEXEC, 0, NOWHERE),
        GRANTED(0, socketpair, AF_UNIX, -1, 0, NOWHERE),
        GRANTED(0, socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, NOWHERE),
        GRANTED(0, socketpair, AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0, NOWHERE),
        GRANTED(0, socketpair, AF_UNIX, SOCK_STREAM, 0, NOWHERE),
        GRANTED(0, socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, NOWHERE),
        GRANTED(0, socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 1, NOWHERE),
        GRANTED(0, socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 1L << 31, NOWHERE),
        /* nobody: a message to an address */
        GRANTED(0, sendto, -1, NOWHERE, 0, 0, NOWHERE),
        /* nobody: the limits of another process */
        GRANTED(0, prlimit64, 0x7ffffffe, -1, 0, 0),
        /* nobody: a file that is there already is not opened to write it */
        GRANTED(0, openat, -1, NOWHERE, O_WRONLY),
        GRANTED(0, openat, -1, NOWHERE, O_RDWR),
        GRANTED(0, openat, -1, NOWHERE, O_RDWR | O_EXCL),
        GRANTED(0, openat, -1, NOWHERE, O_RDWR | O_DIRECTORY),
        GRANTED(0, openat, -1, NOWHERE, O_RDONLY | O_CREAT),
        GRANTED(0, openat, -1, NOWHERE, O_RDWR | O_CREAT),
        GRANTED(0, openat, -1, NOWHERE, O_RDWR | O_CREAT | O_EXCL | O_TRUNC),
        GRANTED(0, openat, -1, NOWHERE, O_RDWR | O_TMPFILE | O_TRUNC),
        GRANTED(0, openat, -1, NOWHERE, O_RDWR | O_TMPFILE | O_CREAT | O_EXCL),
        GRANTED(0, openat, -1, NOWHERE, O_RDONLY | O_TRUNC),
        GRANTED(0, openat, -1, NOWHERE, O_ACCMODE | O_TRUNC),
};

static int report = -EBADF; /* stderr is /dev/null inside */

static unsigned say_wrong(const char *kind, const char *call, const char *what) {
        char text[256];
        int n = snprintf(text, sizeof(text), "# in the %s job %s is %s: %s\n", kind, call, what,
                         strerror(errno));

        (void) !write(report, text, (size_t) n);
        return 1;
}

static bool is_refused(long number, const long arguments[static 5], int error) {
        long r = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                         arguments[4]);

        return r == -1 && errno == error;
}

/* Sanitizers need a few calls in every kind of job. */
static bool is_for_sanitizers(const char *name) {
        for (const SandboxCall *call = sandbox_calls_instrumented; call->name; call++)
                if (strcmp(call->name, name) == 0)
                        return true;
        return false;
}

static void *thread_of_its_own(void *userdata) {
        return userdata;
}

static bool opens(const char *path, int flags) {
        int fd = open(path, flags | O_CLOEXEC, 0600);

        return fd >= 0 && close(fd) == 0;
}

/* Which no kind of job may: through the memory of a process it would be that process. */
static bool writes_memory(void) {
        static const int ways[] = {
                O_WRONLY,           O_RDWR,
                O_RDWR | O_CREAT,   O_RDWR | O_CREAT | O_EXCL,
                O_RDWR | O_TMPFILE, O_RDWR | O_TMPFILE | O_EXCL,
        };
        bool any = false;

        for (size_t i = 0; i < ELEMENTSOF(ways); i++)
                any = any || opens("/proc/self/mem", ways[i]);
        return any;
}

static int child_of_kind(size_t kind) {
        const char *name = kinds[kind].name;
        unsigned grants = kinds[kind].grants, n_wrong = 0;
        pthread_t thread;
        pid_t pid;
        int r;

        /* With all capabilities, so that only the filter refuses. */
        r = sandbox_enter(grants, UINT64_MAX, 0);
        if (r != 0)
                return r == SANDBOX_E_NO_FILTER ? CHILD_NO_FILTER : CHILD_NO_ENTRY;
        for (size_t i = 0; i < ELEMENTSOF(forbidden); i++)
                if (!is_refused(forbidden[i].number, forbidden[i].arguments, EPERM))
                        n_wrong += say_wrong(name, forbidden[i].name, "not refused");
        for (size_t i = 0; i < ELEMENTSOF(granted); i++) {
                bool wanted = granted[i].grant & grants;

                if (!wanted && is_for_sanitizers(granted[i].name))
                        continue;
                if (wanted == is_refused(granted[i].number, granted[i].arguments, EPERM))
                        n_wrong += say_wrong(name, granted[i].name,
                                             wanted ? "refused" : "not refused");
        }
        if (writes_memory())
                n_wrong += say_wrong(name, "open of /proc/self/mem", "not refused");
        if (!is_refused(SYS_openat2, (long[5]){ -1, NOWHERE, 0, 0 }, ENOSYS))
                n_wrong += say_wrong(name, "openat2", "known");
        if (!is_refused(SYS_clone3, (long[5]){ NOWHERE, 0 }, ENOSYS))
                n_wrong += say_wrong(name, "clone3", "known");

        pid = fork();
        if (pid == 0)
                _exit(CHILD_OK);
        if (pid != -1 || errno != EPERM)
                n_wrong += say_wrong(name, "fork", "not refused");
        r = pthread_create(&thread, NULL, thread_of_its_own, NULL);
        if ((r == 0) != ((grants & SANDBOX_OBSERVE) != 0))
                n_wrong += say_wrong(name, "pthread_create", "the wrong way round");
        if (r == 0)
                (void) pthread_join(thread, NULL);
        return n_wrong == 0 ? CHILD_OK : CHILD_WRONG;
}

START_TEST(every_kind_of_job_makes_only_its_own_calls) {
        int status;
        pid_t pid;

        if (check_skips(check_lacks_filters()))
                return;
        report = dup(STDERR_FILENO);
        pid = fork();
        if (pid == 0)
                sandbox_exit(child_of_kind((size_t) _i));
        (void) close(report);
        status = status_of(pid);
        ck_assert_msg(status == CHILD_OK, "%s: %d", kinds[_i].name, status);
}
END_TEST

static int child_that_keeps(void) {
        static const cap_value_t keep[] = { CAP_SYS_PTRACE, CAP_NET_ADMIN };
        static const cap_value_t others[] = { CAP_CHOWN, CAP_SYS_ADMIN };
        cap_t before = cap_get_proc(), after;
        cap_flag_value_t had, has;
        bool right = true;

        if (sandbox_limit_capabilities(SANDBOX_CAPABILITY(SYS_PTRACE) |
                                       SANDBOX_CAPABILITY(NET_ADMIN)) != 0)
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

static bool has_flag(cap_t set, cap_value_t value, cap_flag_t flag) {
        cap_flag_value_t has = CAP_CLEAR;

        return cap_get_flag(set, value, flag, &has) == 0 && has == CAP_SET;
}

/* Everything but the two is as before, and the two are nowhere. */
static int child_that_drops(void) {
        static const cap_value_t dropped[] = { CAP_BPF, CAP_PERFMON };
        static const cap_value_t others[] = { CAP_SYS_PTRACE, CAP_NET_ADMIN, CAP_CHOWN };
        static const cap_flag_t flags[] = { CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE };
        bool right = true, is_root = geteuid() == 0;
        cap_t before = cap_get_proc(), after;

        /* As the unit has them: handed on to programs. */
        if (is_root && (cap_set_flag(before, CAP_INHERITABLE, 2, dropped, CAP_SET) != 0 ||
                        cap_set_flag(before, CAP_INHERITABLE, 3, others, CAP_SET) != 0 ||
                        cap_set_proc(before) != 0))
                return is_root ? CHILD_OK : CHILD_WRONG; /* a container that has not got them */
        if (is_root && cap_set_ambient(CAP_BPF, CAP_SET) != 0)
                return CHILD_WRONG;
        right = sandbox_has_capabilities(SANDBOX_CAPABILITY(BPF)) ==
                has_flag(before, CAP_BPF, CAP_EFFECTIVE);
        if (sandbox_drop_capabilities(SANDBOX_CAPABILITY(BPF) | SANDBOX_CAPABILITY(PERFMON)) != 0)
                return CHILD_NO_ENTRY;
        after = cap_get_proc();
        for (size_t flag = 0; flag < 3; flag++) {
                for (size_t i = 0; i < 2; i++)
                        right = right && !has_flag(after, dropped[i], flags[flag]);
                for (size_t i = 0; i < 3; i++)
                        right = right && has_flag(after, others[i], flags[flag]) ==
                                                 has_flag(before, others[i], flags[flag]);
        }
        right = right && !sandbox_has_capabilities(SANDBOX_CAPABILITY(BPF)) &&
                cap_get_ambient(CAP_BPF) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
        right = right && (!is_root || !has_flag(before, CAP_SETPCAP, CAP_EFFECTIVE) ||
                          cap_get_bound(CAP_BPF) == 0);
        (void) cap_free(before);
        (void) cap_free(after);
        return right ? CHILD_OK : CHILD_WRONG;
}

START_TEST(dropped_capabilities_are_gone_for_ever_and_the_others_stay) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(child_that_drops());
        ck_assert_int_eq(status_of(pid), CHILD_OK);
}
END_TEST

static int child_without_privilege(void) {
        if (geteuid() != 0)
                return sandbox_limit_capabilities(0) == 0 && !sandbox_is_privileged() ? CHILD_OK
                                                                                      : CHILD_WRONG;
        /* Root is privileged also without capabilities: it owns what it did not make. */
        return sandbox_limit_capabilities(0) == 0 && sandbox_is_privileged() ? CHILD_OK
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
        tcase_add_loop_test(enter, inside_a_process_that_receives_files, 0,
                            ELEMENTSOF(receiving_deeds));
        tcase_add_loop_test(enter, every_kind_of_job_makes_only_its_own_calls, 0,
                            ELEMENTSOF(kinds));
        tcase_add_test(capabilities, named_capabilities_stay_and_the_others_go);
        tcase_add_test(capabilities, dropped_capabilities_are_gone_for_ever_and_the_others_stay);
        tcase_add_test(capabilities, only_root_is_privileged_without_capabilities);
        suite_add_tcase(suite, enter);
        suite_add_tcase(suite, capabilities);
        return check_main(suite);
}
