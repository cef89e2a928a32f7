/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * What a job of each kind can do after it was taken over: every attack is made from inside its
 * sandbox, with the descriptors that such a job has, and with all capabilities that this process
 * has, so that only the filter and the limits refuse. The test prints what came of it as a table,
 * which has to be the one that is written down here for each kind of job.
 */

#include "job/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "check-main.h"
#include "job/job-kind.h"
#include "job/sandbox/sandbox-calls.h"
#include "temporary.h"

#define SECRET "what it keeps"
#define PAGE_BYTES 4096

/* What an attack finds. */
typedef struct Scene {
        char directory[PATH_MAX];
        char file[PATH_MAX + 16];  /* in that directory, with SECRET */
        struct sockaddr_un street; /* of a datagram socket that everybody may send to */
        int street_fd;             /* which hears it */
        pid_t victim;              /* a process of the same user, which waits */
        int stream[2];             /* the socket of the job, and the other end of it */
        int stranger;              /* a datagram socket that is connected to nobody */
        int netlink;               /* one of generic netlink; negative: not lent */
        int neighbour;             /* another one */
        uint32_t neighbour_port;
        int page, rows; /* BPF maps: a page to share and a hash table; negative: not lent */
        int pipe[2];    /* of the victim, with what it has not read yet */
} Scene;

/* Whether something came of it. */
typedef bool (*Attack)(const Scene *scene);

static char secret[sizeof(SECRET)] = SECRET; /* at the same place in the victim */

/* Neither the filter nor a limit stood in the way. */
static bool passed(long r) {
        return r >= 0 || (errno != EPERM && errno != EMFILE && errno != ENOSYS);
}

/* Sanitizers need a few calls in every kind of job. */
static bool is_for_sanitizers(const char *name) {
        for (const SandboxCall *call = sandbox_calls_instrumented; call->name; call++)
                if (strcmp(call->name, name) == 0)
                        return true;
        return false;
}

static bool can_open(const char *path, int flags) {
        int fd = open(path, flags | O_CLOEXEC, 0600);

        return fd >= 0 && close(fd) == 0;
}

static bool can_open_of(pid_t pid, const char *what, int flags) {
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, what);
        return can_open(path, flags);
}

/* files */

static bool reads_a_file(const Scene *scene) {
        char bytes[sizeof(SECRET)] = "";
        int fd = open(scene->file, O_RDONLY | O_CLOEXEC);

        return fd >= 0 && read(fd, bytes, sizeof(SECRET)) == sizeof(SECRET) && close(fd) == 0 &&
               strcmp(bytes, SECRET) == 0;
}

static bool writes_a_file(const Scene *scene) {
        static const int ways[] = {
                O_WRONLY,           O_RDWR,
                O_WRONLY | O_TRUNC, O_RDONLY | O_TRUNC,
                O_RDWR | O_APPEND,  O_RDWR | O_CREAT,
                O_RDWR | O_EXCL,    O_ACCMODE,
                O_RDWR | O_PATH,    O_RDWR | O_NONBLOCK | O_NOFOLLOW,
        };
        struct {
                uint64_t flags, mode, resolve;
        } how = { O_RDWR, 0, 0 };
        bool any = passed(truncate(scene->file, 1));

        for (size_t i = 0; i < ELEMENTSOF(ways); i++)
                any = any || can_open(scene->file, ways[i]);
        return any || passed(syscall(SYS_openat2, AT_FDCWD, scene->file, &how, sizeof(how))) ||
               passed(syscall(SYS_open_by_handle_at, -1, &how, O_RDWR));
}

static bool makes_a_file(const Scene *scene) {
        char path[sizeof(scene->file)];

        (void) snprintf(path, sizeof(path), "%s/made", scene->directory);
        return can_open(path, O_RDWR | O_CREAT | O_EXCL) ||
               can_open(scene->directory, O_RDWR | O_TMPFILE);
}

static bool makes_more_than_files(const Scene *scene) {
        char path[sizeof(scene->file)];

        (void) snprintf(path, sizeof(path), "%s/more", scene->directory);
        return passed(symlinkat("/", AT_FDCWD, path)) || passed(mkdirat(AT_FDCWD, path, 0700)) ||
               passed(mknodat(AT_FDCWD, path, S_IFIFO | 0600, 0));
}

static bool changes_names(const Scene *scene) {
        char path[sizeof(scene->file)];
        bool linked, renamed;

        (void) snprintf(path, sizeof(path), "%s/name", scene->directory);
        linked = linkat(AT_FDCWD, scene->file, AT_FDCWD, path, 0) == 0;
        renamed = renameat(AT_FDCWD, path, AT_FDCWD, path) == 0;
        return linked || renamed || unlinkat(AT_FDCWD, path, 0) == 0;
}

static bool changes_owners(const Scene *scene) {
        struct timespec times[2] = {};

        return passed(fchmodat(AT_FDCWD, scene->file, 0666, 0)) ||
               passed(fchownat(AT_FDCWD, scene->file, 1, 1, 0)) || passed(fchmod(-1, 0)) ||
               passed(utimensat(AT_FDCWD, scene->file, times, 0)) ||
               passed(syscall(SYS_setxattr, scene->file, "user.x", "x", 1, 0));
}

static bool makes_a_file_in_memory(const Scene *scene) {
        int fd = memfd_create("attack", MFD_CLOEXEC);

        return fd >= 0 && close(fd) == 0;
}

/* other processes */

static bool reads_memory(const Scene *scene) {
        char bytes[sizeof(SECRET)] = "";
        struct iovec to = { bytes, sizeof(bytes) }, from = { secret, sizeof(secret) };

        return process_vm_readv(scene->victim, &to, 1, &from, 1, 0) == sizeof(SECRET) &&
               strcmp(bytes, SECRET) == 0;
}

static bool opens_memory(const Scene *scene) {
        return can_open_of(scene->victim, "mem", O_RDONLY);
}

static bool reads_a_pipe(const Scene *scene) {
        char path[64], byte;
        int fd;

        (void) snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) scene->victim, scene->pipe[0]);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return fd >= 0 && read(fd, &byte, 1) == 1 && close(fd) == 0;
}

static bool writes_memory(const Scene *scene) {
        struct iovec place = { secret, sizeof(secret) };

        return passed(process_vm_writev(scene->victim, &place, 1, &place, 1, 0)) ||
               can_open_of(scene->victim, "mem", O_WRONLY) ||
               can_open_of(scene->victim, "mem", O_RDWR) ||
               can_open_of(scene->victim, "mem", O_RDWR | O_CREAT | O_EXCL) ||
               can_open_of(scene->victim, "mem", O_RDWR | O_TMPFILE);
}

static bool traces(const Scene *scene) {
        return passed(ptrace(PTRACE_SEIZE, scene->victim, NULL, NULL)) ||
               passed(ptrace(PTRACE_ATTACH, scene->victim, NULL, NULL));
}

/* Also by descriptors that report to a process which is not told why. */
static bool signals(const Scene *scene) {
        siginfo_t info = { .si_signo = SIGCONT, .si_code = SI_QUEUE };
        pid_t victim = scene->victim;

        return passed(kill(victim, SIGCONT)) || passed(syscall(SYS_tkill, victim, SIGCONT)) ||
               (!is_for_sanitizers("tgkill") &&
                passed(syscall(SYS_tgkill, victim, victim, SIGCONT))) ||
               passed(syscall(SYS_rt_sigqueueinfo, victim, SIGCONT, &info)) ||
               passed(syscall(SYS_rt_tgsigqueueinfo, victim, victim, SIGCONT, &info)) ||
               passed(syscall(SYS_pidfd_send_signal, -1, SIGCONT, NULL, 0)) ||
               passed(fcntl(scene->stream[0], F_SETOWN, victim)) ||
               passed(fcntl(scene->stream[0], F_SETSIG, SIGCONT));
}

static bool takes_descriptors_of_others(const Scene *scene) {
        return passed(syscall(SYS_pidfd_open, scene->victim, 0)) ||
               passed(syscall(SYS_pidfd_getfd, -1, 0, 0)) ||
               passed(syscall(SYS_kcmp, scene->victim, scene->victim, 0, 0, 0));
}

static bool limits_others(const Scene *scene) {
        struct rlimit limit;
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
        return passed(syscall(SYS_prlimit64, scene->victim, RLIMIT_NOFILE, NULL, &limit)) ||
               passed(setpriority(PRIO_PROCESS, (id_t) scene->victim, 0)) ||
               passed(sched_setaffinity(scene->victim, sizeof(cpus), &cpus)) ||
               passed(syscall(SYS_ioprio_set, 1, scene->victim, 0)) ||
               passed(syscall(SYS_sched_setattr, scene->victim, NULL, 0));
}

/* itself */

static bool starts_a_program(const Scene *scene) {
        /* Not a program, so that this one goes on whatever the filter says. */
        char *arguments[] = { NULL };

        return passed(syscall(SYS_execve, scene->file, arguments, arguments)) ||
               passed(syscall(SYS_execveat, AT_FDCWD, scene->file, arguments, arguments, 0));
}

static bool forks(const Scene *scene) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        return pid > 0;
}

static void *thread_of_its_own(void *userdata) {
        return userdata;
}

static bool starts_a_thread(const Scene *scene) {
        pthread_t thread;

        return pthread_create(&thread, NULL, thread_of_its_own, NULL) == 0 &&
               pthread_join(thread, NULL) == 0;
}

static bool makes_code(const Scene *scene) {
        void *page =
                mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                       MAP_FAILED ||
               mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0 ||
               passed(syscall(SYS_pkey_mprotect, page, PAGE_BYTES, PROT_EXEC, -1)) ||
               passed(syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */));
}

static bool changes_who_it_is(const Scene *scene) {
        return passed(setresuid((uid_t) -1, (uid_t) -1, (uid_t) -1)) ||
               passed(syscall(SYS_setresgid, -1, -1, -1)) ||
               passed(syscall(SYS_setgroups, 0, NULL)) || passed(syscall(SYS_capset, NULL, NULL)) ||
               (!is_for_sanitizers("prctl") && passed(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)));
}

static bool changes_namespaces(const Scene *scene) {
        return passed(unshare(CLONE_NEWUSER)) || passed(unshare(CLONE_NEWNS | CLONE_FILES)) ||
               passed(setns(-1, 0)) || passed(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)) ||
               passed(chroot("/")) || passed(syscall(SYS_fsopen, NULL, 0)) ||
               passed(syscall(SYS_open_tree, -1, "", 0)) ||
               passed(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
}

/* Each of them makes other calls, or sees what others do, where no filter looks. */
static bool goes_around(const Scene *scene) {
        return passed(syscall(SYS_io_uring_setup, 0, NULL)) || passed(ioctl(0, TIOCSTI, "x")) ||
               passed(syscall(SYS_userfaultfd, -1)) ||
               passed(syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0)) ||
               passed(syscall(SYS_fanotify_init, -1, 0)) || passed(syscall(SYS_keyctl, -1)) ||
               passed(syscall(SYS_seccomp, -1, 0, NULL));
}

/* sockets */

static bool makes_a_socket(const Scene *scene) {
        static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET };
        bool any = false;

        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                any = any || passed(socket(families[i], SOCK_DGRAM, 0)) ||
                      passed(socket(families[i], SOCK_RAW | SOCK_CLOEXEC, 0));
        return any;
}

static bool connects(const Scene *scene) {
        const struct sockaddr *street = (const struct sockaddr *) &scene->street;

        return passed(connect(scene->stranger, street, sizeof(scene->street))) ||
               passed(bind(scene->stranger, street, sizeof(scene->street))) ||
               passed(listen(scene->stream[0], 1)) || passed(accept4(-1, NULL, NULL, 0));
}

/* Whether what was sent arrived; with a descriptor, as @street_fd may belong to anybody. */
static bool arrived(const Scene *scene) {
        char byte;

        return recv(scene->street_fd, &byte, 1, MSG_DONTWAIT) == 1;
}

static bool sends_message(const Scene *scene, int fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control = { .bytes = { 0 } };
        struct sockaddr_un street = scene->street;
        char byte = 'x';
        struct iovec bytes = { &byte, 1 };
        struct msghdr message = {
                .msg_name = &street,
                .msg_namelen = sizeof(street),
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &scene->stream[0], sizeof(int));
        return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 && arrived(scene);
}

static bool sends_to_address(const Scene *scene, int fd) {
        return sendto(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
                      (const struct sockaddr *) &scene->street, sizeof(scene->street)) == 1 &&
               arrived(scene);
}

/* Of every type, with every flag: SOCK_RAW is a datagram socket too. */
static bool sends_by_a_pair(const Scene *scene) {
        static const int types[] = { SOCK_STREAM, SOCK_DGRAM,     SOCK_RAW,
                                     SOCK_RDM,    SOCK_SEQPACKET, SOCK_PACKET };
        static const int flags[] = { 0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK };
        bool any = false;

        for (size_t i = 0; i < ELEMENTSOF(types) * ELEMENTSOF(flags); i++) {
                int type = types[i / ELEMENTSOF(flags)] | flags[i % ELEMENTSOF(flags)];
                int pair[2];

                if (socketpair(AF_UNIX, type, 0, pair) != 0)
                        continue;
                any = any || sends_message(scene, pair[0]) || sends_to_address(scene, pair[0]);
                (void) close(pair[0]);
                (void) close(pair[1]);
        }
        return any;
}

static bool makes_a_pair(const Scene *scene) {
        int pair[2];

        return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 &&
               send(pair[0], "x", 1, MSG_NOSIGNAL) == 1 && close(pair[0]) == 0 &&
               close(pair[1]) == 0;
}

static bool makes_another_pair(const Scene *scene) {
        int pair[2];

        return passed(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)) ||
               passed(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)) ||
               passed(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 1, pair)) ||
               passed(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) ||
               passed(syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM | 1L << 32, 0, pair)) ||
               passed(socketpair(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) ||
               passed(socketpair(AF_TIPC, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
}

static bool sends_by_its_stream(const Scene *scene) {
        return sends_message(scene, scene->stream[0]) || sends_to_address(scene, scene->stream[0]);
}

static bool names_an_address(const Scene *scene) {
        return sends_to_address(scene, scene->stranger);
}

static bool names_an_address_in_memory(const Scene *scene) {
        return sends_message(scene, scene->stranger);
}

static bool receives_a_descriptor(const Scene *scene) {
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

        return recvmsg(scene->stream[0], &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1 &&
               CMSG_FIRSTHDR(&message);
}

/* The kernel asks for CAP_NET_ADMIN, in the namespace of the socket. */
static bool sends_to_a_netlink_socket(const Scene *scene) {
        struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_pid = scene->neighbour_port };
        struct nlmsghdr request = { .nlmsg_len = sizeof(request), .nlmsg_type = NLMSG_NOOP };
        struct iovec bytes = { &request, sizeof(request) };
        struct msghdr message = {
                .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &bytes, .msg_iovlen = 1
        };
        char byte;

        return scene->netlink >= 0 && sendmsg(scene->netlink, &message, MSG_DONTWAIT) > 0 &&
               recv(scene->neighbour, &byte, 1, MSG_DONTWAIT) > 0;
}

/* BPF */

static long call_bpf(int command, union bpf_attr *call) {
        return syscall(SYS_bpf, command, call, sizeof(*call));
}

static bool loads_a_program(const Scene *scene) {
        static const struct bpf_insn code[] = {
                { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
                { .code = BPF_JMP | BPF_EXIT },
        };
        union bpf_attr call = {};
        long fd;

        call.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
        call.insns = (uintptr_t) code;
        call.insn_cnt = ELEMENTSOF(code);
        call.license = (uintptr_t) "GPL";
        fd = call_bpf(BPF_PROG_LOAD, &call);
        return fd >= 0 && close((int) fd) == 0;
}

static bool finds_objects_of_others(const Scene *scene) {
        static const int commands[] = {
                BPF_PROG_GET_NEXT_ID,  BPF_MAP_GET_NEXT_ID,  BPF_LINK_GET_NEXT_ID,
                BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID, BPF_LINK_GET_FD_BY_ID,
                BPF_OBJ_GET,           BPF_OBJ_PIN,          BPF_TASK_FD_QUERY,
        };
        union bpf_attr call = {};
        bool any = false;

        for (size_t i = 0; i < ELEMENTSOF(commands); i++)
                any = any || passed(call_bpf(commands[i], &call));
        return any;
}

static bool changes_links(const Scene *scene) {
        union bpf_attr call = { .link_detach = { .link_fd = (uint32_t) -1 } };

        return passed(call_bpf(BPF_LINK_DETACH, &call)) ||
               passed(call_bpf(BPF_LINK_UPDATE, &call)) || passed(call_bpf(BPF_PROG_DETACH, &call));
}

static long call_map(const Scene *scene, int command, uint64_t key, uint64_t *value) {
        union bpf_attr call = {};

        call.map_fd = (uint32_t) scene->rows;
        call.key = (uintptr_t) &key;
        call.value = (uintptr_t) value;
        return call_bpf(command, &call);
}

static bool reads_rows(const Scene *scene) {
        uint64_t value = 0;

        return call_map(scene, BPF_MAP_LOOKUP_ELEM, 1, &value) == 0 && value == 1;
}

static bool removes_rows(const Scene *scene) {
        return call_map(scene, BPF_MAP_DELETE_ELEM, 1, NULL) == 0;
}

static bool writes_rows(const Scene *scene) {
        uint64_t value = 2;

        return call_map(scene, BPF_MAP_UPDATE_ELEM, 2, &value) == 0;
}

static bool writes_the_page(const Scene *scene) {
        char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, scene->page, 0);

        if (page == MAP_FAILED)
                return false;
        page[0] = 'x';
        return munmap(page, PAGE_BYTES) == 0;
}

/* the table */

/* How an attack is made, if not as said above. */
typedef enum Manner {
        AS_SAID = 0,
        WITH_MAPS = 1 << 0,       /* tells something only where maps can be made */
        AS_ROOT = 1 << 1,         /* likewise, only where this process is root */
        WITH_ITS_OWN = 1 << 2,    /* capabilities, and no others: the kernel asks for one */
        WITHOUT_LENDING = 1 << 3, /* no job is lent what it takes; it is here */
} Manner;

// clang-format off
#define ATTACKS(A)                                                                                 \
        A(READ_FILE,    reads_a_file,                "open a file to read it", 0)                  \
        A(WRITE_FILE,   writes_a_file,               "open a file that is there to write it", 0)   \
        A(MAKE_FILE,    makes_a_file,                "make a new file", 0)                         \
        A(MAKE_MORE,    makes_more_than_files,       "make a directory, link or FIFO", 0)          \
        A(NAMES,        changes_names,               "rename, link or remove a name", 0)           \
        A(OWNERS,       changes_owners,              "change modes, owners, times", 0)             \
        A(MEMFD,        makes_a_file_in_memory,      "make a file in memory", 0)                   \
        A(READ_MEMORY,  reads_memory,                "process_vm_readv of a process", 0)           \
        A(OPEN_MEMORY,  opens_memory,                "open /proc/PID/mem to read it", 0)           \
        A(PIPE,         reads_a_pipe,                "read a pipe of a process (/proc/PID/fd)", 0) \
        A(WRITE_MEMORY, writes_memory,               "write the memory of a process", 0)           \
        A(TRACE,        traces,                      "ptrace a process", 0)                        \
        A(SIGNAL,       signals,                     "signal a process (kill, F_SETOWN, ...)", 0)  \
        A(STEAL,        takes_descriptors_of_others, "take descriptors (pidfd_getfd)", 0)          \
        A(LIMIT,        limits_others,               "limits, priority of a process", 0)           \
        A(PROGRAM,      starts_a_program,            "execute a program", 0)                       \
        A(FORK,         forks,                       "fork", 0)                                    \
        A(THREAD,       starts_a_thread,             "start a thread", 0)                          \
        A(CODE,         makes_code,                  "make memory executable", 0)                  \
        A(IDENTITY,     changes_who_it_is,           "change uid, gid, capabilities", 0)           \
        A(NAMESPACE,    changes_namespaces,          "enter or make namespaces, mount", 0)         \
        A(AROUND,       goes_around,                 "io_uring, ioctl, perf, keys, ...", 0)        \
        A(SOCKET,       makes_a_socket,              "make a socket", 0)                           \
        A(CONNECT,      connects,                    "connect, bind, listen, accept", 0)           \
        A(PAIR,         makes_a_pair,                "make a connected pair of its own", 0)        \
        A(OTHER_PAIR,   makes_another_pair,          "make a pair of another kind", 0)             \
        A(PAIR_SEND,    sends_by_a_pair,             "send to an address by a pair", 0)            \
        A(STREAM_SEND,  sends_by_its_stream,         "... by the socket to the daemon", 0)         \
        A(SENDTO,       names_an_address,            "... by sendto, a lent datagram socket",      \
          WITHOUT_LENDING)                                                                         \
        A(SENDMSG,      names_an_address_in_memory,  "... by sendmsg, a lent datagram socket",     \
          WITHOUT_LENDING)                                                                         \
        A(NETLINK,      sends_to_a_netlink_socket,   "... by its netlink socket",                  \
          AS_ROOT | WITH_ITS_OWN)                                                                  \
        A(RECEIVE,      receives_a_descriptor,       "receive a descriptor", 0)                    \
        A(LOAD_BPF,     loads_a_program,             "load a BPF program", AS_ROOT)                \
        A(FIND_BPF,     finds_objects_of_others,     "find BPF objects of others", 0)              \
        A(LINKS,        changes_links,               "detach or update BPF links", 0)              \
        A(READ_ROWS,    reads_rows,                  "read rows of its maps", WITH_MAPS)           \
        A(REMOVE_ROWS,  removes_rows,                "remove rows of its maps", WITH_MAPS)         \
        A(WRITE_ROWS,   writes_rows,                 "write rows of its maps", WITH_MAPS)          \
        A(WRITE_PAGE,   writes_the_page,             "write the page of control words", WITH_MAPS)
// clang-format on

#define ATTACK_ID(id, ...) ATTACK_##id,
enum { ATTACKS(ATTACK_ID) _ATTACK_MAX };

static const struct {
        Attack attack;
        const char *text;
        unsigned manner;
} attacks[_ATTACK_MAX] = {
#define ATTACK_ROW(id, attack, text, manner) { attack, text, manner },
        ATTACKS(ATTACK_ROW)
#undef ATTACK_ROW
};

_Static_assert(_ATTACK_MAX <= 64, "a bit for each");
#define LEFT(id) (UINT64_C(1) << ATTACK_##id)

/* What a kind of job has beside its socket to the daemon. */
enum {
        LENT_NETLINK = 1 << 0,
        LENT_MAPS = 1 << 1, /* those of the ledger */
};

typedef struct Expectation {
        unsigned held;
        uint64_t left; /* LEFT() of each attack that nothing refuses */
} Expectation;

/*
 * A message by sendmsg(2) goes to the address it names if its socket is a datagram socket. No job
 * is lent one: jobs get pairs that are connected, and of what callers send no sockets at all.
 */
#define LEFT_TO_ALL LEFT(SENDMSG)

static const Expectation expectation_of_CAPTURE = {
        LENT_NETLINK | LENT_MAPS,
        LEFT_TO_ALL | LEFT(READ_FILE) | LEFT(OPEN_MEMORY) | LEFT(PIPE) | LEFT(THREAD) | LEFT(PAIR) |
                LEFT(NETLINK) | LEFT(RECEIVE) | LEFT(READ_ROWS) | LEFT(REMOVE_ROWS) |
                LEFT(WRITE_PAGE),
};
static const Expectation expectation_of_MEMORY = {
        0,
        LEFT_TO_ALL | LEFT(READ_FILE) | LEFT(READ_MEMORY) | LEFT(OPEN_MEMORY) | LEFT(PIPE) |
                LEFT(THREAD) | LEFT(PAIR) | LEFT(RECEIVE),
};
static const Expectation expectation_of_LOAD = {
        0,
        LEFT_TO_ALL | LEFT(READ_FILE) | LEFT(OPEN_MEMORY) | LEFT(PIPE) | LEFT(MEMFD) |
                LEFT(RECEIVE) | LEFT(LOAD_BPF),
};
static const Expectation expectation_of_FOLD = {
        LENT_MAPS,
        LEFT_TO_ALL | LEFT(MEMFD) | LEFT(RECEIVE) | LEFT(READ_ROWS) | LEFT(REMOVE_ROWS) |
                LEFT(WRITE_PAGE),
};
static const Expectation expectation_of_LISTEN = {
        LENT_NETLINK,
        LEFT_TO_ALL | LEFT(READ_FILE) | LEFT(OPEN_MEMORY) | LEFT(PIPE) | LEFT(MEMFD) |
                LEFT(RECEIVE),
};
static const Expectation expectation_of_RECORD = {
        LENT_MAPS,
        LEFT_TO_ALL | LEFT(READ_FILE) | LEFT(OPEN_MEMORY) | LEFT(PIPE) | LEFT(PAIR) |
                LEFT(RECEIVE) | LEFT(READ_ROWS) | LEFT(REMOVE_ROWS) | LEFT(WRITE_PAGE),
};
static const Expectation expectation_of_UNWIND = { 0, LEFT_TO_ALL | LEFT(RECEIVE) };
static const Expectation expectation_of_FILES = { 0, LEFT_TO_ALL | LEFT(RECEIVE) };
static const Expectation expectation_of_ANALYSIS = { 0, LEFT_TO_ALL };
static const Expectation expectation_of_SPOOL = {
        0,
        LEFT_TO_ALL | LEFT(READ_FILE) | LEFT(MAKE_FILE) | LEFT(NAMES) | LEFT(OPEN_MEMORY) |
                LEFT(PIPE) | LEFT(RECEIVE),
};

/* A kind without its expectation does not compile. */
static const struct {
        const char *word;
        unsigned grants;
        uint64_t kept_inside;
        const Expectation *expectation;
} kinds[_JOB_KIND_MAX] = {
#define KIND_ROW(id, word, clock, time, memory, capabilities, entry, grants, kept_inside, ...) \
        { word, grants, kept_inside, &expectation_of_##id },
        JOB_KINDS(KIND_ROW)
#undef KIND_ROW
};

/* What came of it, in memory that the child shares. */
enum { NOT_TRIED, REFUSED, SUCCEEDED };
typedef unsigned char Outcomes[_JOB_KIND_MAX][_ATTACK_MAX];

/* the scene */

static int make_map(int type, uint32_t key_bytes, uint32_t value_bytes, uint32_t flags) {
        union bpf_attr call = {};

        call.map_type = (uint32_t) type;
        call.key_size = key_bytes;
        call.value_size = value_bytes;
        call.max_entries = 1 + (type == BPF_MAP_TYPE_HASH);
        call.map_flags = flags;
        return (int) call_bpf(BPF_MAP_CREATE, &call);
}

static void open_maps(Scene *scene) {
        uint64_t value = 1;

        scene->page = make_map(BPF_MAP_TYPE_ARRAY, 4, PAGE_BYTES, BPF_F_MMAPABLE);
        scene->rows = make_map(BPF_MAP_TYPE_HASH, 8, 8, 0);
        if (scene->rows >= 0)
                ck_assert_int_eq(call_map(scene, BPF_MAP_UPDATE_ELEM, 1, &value), 0);
}

static int open_netlink(uint32_t *ret_port) {
        struct sockaddr_nl own = { .nl_family = AF_NETLINK };
        socklen_t n_own = sizeof(own);
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

        if (fd < 0)
                return fd;
        ck_assert_int_eq(bind(fd, (struct sockaddr *) &own, n_own), 0);
        ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &own, &n_own), 0);
        *ret_port = own.nl_pid;
        return fd;
}

static pid_t start_victim(void) {
        pid_t pid = fork();

        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
                for (;;)
                        (void) pause();
        }
        ck_assert_int_gt(pid, 0);
        return pid;
}

static void write_secret(const char *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, SECRET, sizeof(SECRET)), sizeof(SECRET));
        (void) close(fd);
}

static void send_descriptor(int fd) {
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
        ck_assert_int_eq(sendmsg(fd, &message, MSG_NOSIGNAL), 1);
}

static void scene_open(Scene *scene, const char *directory) {
        struct sockaddr *street = (struct sockaddr *) &scene->street;
        uint32_t port;

        *scene = (Scene){ .street = { .sun_family = AF_UNIX } };
        (void) snprintf(scene->directory, sizeof(scene->directory), "%s", directory);
        (void) snprintf(scene->file, sizeof(scene->file), "%s/file", directory);
        /* An abstract name would be one for each network namespace. */
        ck_assert_int_lt(
                snprintf(scene->street.sun_path, sizeof(scene->street.sun_path), "%s/s", directory),
                (int) sizeof(scene->street.sun_path));
        write_secret(scene->file);
        scene->street_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(scene->street_fd, street, sizeof(scene->street)), 0);
        scene->stranger = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, scene->stream), 0);
        send_descriptor(scene->stream[1]);
        scene->netlink = open_netlink(&port);
        scene->neighbour = open_netlink(&scene->neighbour_port);
        open_maps(scene);
        ck_assert_int_eq(pipe2(scene->pipe, O_CLOEXEC), 0);
        ck_assert_int_eq(write(scene->pipe[1], "x", 1), 1);
        scene->victim = start_victim();
}

static void scene_close(const Scene *scene) {
        const int fds[] = { scene->street_fd, scene->stranger,  scene->stream[0], scene->stream[1],
                            scene->netlink,   scene->neighbour, scene->page,      scene->rows,
                            scene->pipe[0],   scene->pipe[1] };

        (void) kill(scene->victim, SIGKILL);
        ck_assert_int_eq(waitpid(scene->victim, NULL, 0), scene->victim);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                if (fds[i] >= 0)
                        (void) close(fds[i]);
        (void) unlink(scene->street.sun_path);
        (void) unlink(scene->file);
}

/* the attacks */

static bool can_be_tried(const Scene *scene, unsigned manner) {
        bool has_maps = scene->page >= 0 && scene->rows >= 0;

        return (!(manner & WITH_MAPS) || has_maps) && (!(manner & AS_ROOT) || geteuid() == 0);
}

/* Inside: makes all attacks with the same capabilities. */
static void attack(JobKind kind, unsigned manner, Scene *scene, Outcomes *outcomes) {
        unsigned held = kinds[kind].expectation->held;
        bool tried[_ATTACK_MAX];

        for (size_t i = 0; i < _ATTACK_MAX; i++)
                tried[i] = (attacks[i].manner & WITH_ITS_OWN) == manner &&
                           can_be_tried(scene, attacks[i].manner);
        if (!(held & LENT_NETLINK))
                scene->netlink = -EBADF;
        if (!(held & LENT_MAPS))
                scene->page = scene->rows = -EBADF;
        if (sandbox_enter(kinds[kind].grants,
                          manner & WITH_ITS_OWN ? kinds[kind].kept_inside : UINT64_MAX, 0) != 0)
                return;
        for (size_t i = 0; i < _ATTACK_MAX; i++)
                if (tried[i])
                        (*outcomes)[kind][i] = attacks[i].attack(scene) ? SUCCEEDED : REFUSED;
}

static void attack_from_inside(JobKind kind, unsigned manner, Outcomes *outcomes) {
        _cleanup_(temporary_done) Temporary directory = {};
        Scene scene;
        int status;
        pid_t pid;

        temporary_init(&directory);
        scene_open(&scene, directory.path);
        pid = fork();
        if (pid == 0) {
                attack(kind, manner, &scene, outcomes);
                sandbox_exit(0);
        }
        ck_assert_int_gt(pid, 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: %x", kinds[kind].word,
                      (unsigned) status);
        scene_close(&scene);
}

static void print_outcomes(Outcomes *outcomes) {
        static const char *const words[] = { "?", "-", "LEFT" };

        (void) printf("# %-42s", "a job that was taken over can");
        for (unsigned kind = 0; kind < _JOB_KIND_MAX; kind++)
                (void) printf(" %-8s", kinds[kind].word);
        for (size_t i = 0; i < _ATTACK_MAX; i++) {
                (void) printf("\n# %-42s", attacks[i].text);
                for (unsigned kind = 0; kind < _JOB_KIND_MAX; kind++)
                        (void) printf(" %-8s", words[(*outcomes)[kind][i]]);
        }
        (void) printf("\n# -: refused; ?: cannot be tried here\n");
        (void) fflush(stdout);
}

/* valgrind lives in the process that it runs, and so would enter too. */
static bool under_valgrind(void) {
        const char *preloaded = getenv("LD_PRELOAD");

        return preloaded && strstr(preloaded, "vgpreload");
}

START_TEST(what_is_left_to_a_job_that_was_taken_over) {
        Outcomes *outcomes = mmap(NULL, sizeof(*outcomes), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        unsigned n_wrong = 0;

        ck_assert_ptr_ne(outcomes, MAP_FAILED);
        if (under_valgrind() || !sandbox_has_filters())
                return;
        for (unsigned kind = 0; kind < _JOB_KIND_MAX; kind++) {
                attack_from_inside((JobKind) kind, AS_SAID, outcomes);
                attack_from_inside((JobKind) kind, WITH_ITS_OWN, outcomes);
        }
        print_outcomes(outcomes);
        for (unsigned kind = 0; kind < _JOB_KIND_MAX; kind++)
                for (size_t i = 0; i < _ATTACK_MAX; i++) {
                        unsigned wanted = kinds[kind].expectation->left & UINT64_C(1) << i
                                                  ? SUCCEEDED
                                                  : REFUSED;
                        unsigned outcome = (*outcomes)[kind][i];

                        if (outcome == NOT_TRIED || outcome == wanted)
                                continue;
                        n_wrong++;
                        (void) printf("# wrong: in the %s job: %s\n", kinds[kind].word,
                                      attacks[i].text);
                }
        (void) fflush(stdout);
        (void) munmap(outcomes, sizeof(*outcomes));
        ck_assert_uint_eq(n_wrong, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("attacks");
        TCase *inside = tcase_create("inside");

        tcase_add_test(inside, what_is_left_to_a_job_that_was_taken_over);
        suite_add_tcase(suite, inside);
        return check_main(suite);
}
