/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/sandbox/sandbox-calls.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "job/sandbox/sandbox-grant.h"

#define ANY(call) \
        { .name = (call) }
/* The bits @mask of an argument are @bits. */
#define IS(argument, mask, bits) \
        { .arg = (argument), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask), .datum_b = (bits), }
/* All bits of an int are compared; those above them the kernel does not look at. */
#define IS_INT(argument, value) IS(argument, ~UINT64_C(0) >> 32, value)
/* Allowed where the bits @mask of an argument are @bits. */
#define WHERE(call, argument, mask, bits)                                                     \
        {                                                                                     \
                .name = (call), .n_conditions = 1, .conditions = { IS(argument, mask, bits) } \
        }
#define WITHOUT(call, argument, bits) WHERE(call, argument, bits, 0)
#define WITH(call, argument, value)                                                          \
        {                                                                                    \
                .name = (call), .n_conditions = 1, .conditions = { IS_INT(argument, value) } \
        }
/*
 * Both ends are connected from the start, for ever, and to nobody else. One of SOCK_DGRAM, which
 * SOCK_RAW becomes, sends to whatever address a message names.
 */
#define PAIR_OF(type)                                                                 \
        {                                                                             \
                .name = "socketpair", .n_conditions = 3,                              \
                .conditions = { IS_INT(0, AF_UNIX), IS_INT(1, (type) | SOCK_CLOEXEC), \
                                IS_INT(2, 0) },                                       \
        }

/* Process -1 is none, and no cgroup may stand for it. */
#define CLOCK_OF_A_CPU                                                                    \
        {                                                                                 \
                .name = "perf_event_open", .n_conditions = 2,                             \
                .conditions = { IS_INT(1, UINT32_MAX), IS_INT(4, PERF_FLAG_FD_CLOEXEC) }, \
        }

/* O_TMPFILE contains the bits of O_DIRECTORY. O_ACCMODE: reading only is 0. */
#define OPEN_TO_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define NEW_FILE_MASK (O_CREAT | O_EXCL | O_TRUNC | O_TMPFILE)

/* A thread of this process, in no namespace of its own. */
#define THREAD_FLAGS (CLONE_THREAD | CLONE_VM | CLONE_SIGHAND)
#define NAMESPACE_FLAGS                                                                \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
         CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE)
#ifdef __s390__
#define CLONE_FLAGS_ARGUMENT 1
#else
#define CLONE_FLAGS_ARGUMENT 0
#endif

// clang-format off

/*
 * None of these gives access to anything that the process did not have open when it entered. A
 * message goes where its socket is connected: sendto(2) may name no address. Where sendmsg(2) has
 * one it is in memory, so that no job may have a socket that would heed it; only netlink sockets
 * do, which reach as far as their network namespace does.
 */
static const SandboxCall calls_always[] = {
        /* open files and sockets */
        ANY("read"), ANY("readv"), ANY("pread64"), ANY("preadv"),
        ANY("write"), ANY("writev"), ANY("pwrite64"),
        ANY("lseek"), ANY("_llseek"), ANY("fstat"), ANY("fstat64"),
        ANY("fsync"), ANY("fdatasync"), ANY("ftruncate"), ANY("ftruncate64"),
        ANY("copy_file_range"), ANY("close"),
        ANY("sendmsg"), ANY("recvmsg"), ANY("recvfrom"), WHERE("sendto", 4, UINT64_MAX, 0),
        ANY("poll"), ANY("ppoll"), ANY("ppoll_time64"),

        /* memory, none of it executable */
        ANY("brk"), ANY("munmap"), ANY("mremap"), ANY("madvise"),
        WITHOUT("mmap", 2, PROT_EXEC), WITHOUT("mmap2", 2, PROT_EXEC),
        WITHOUT("mprotect", 2, PROT_EXEC),

        /* itself */
        ANY("futex"), ANY("futex_time64"), ANY("sched_yield"), ANY("restart_syscall"),
        ANY("rt_sigreturn"), ANY("sigreturn"), ANY("rt_sigprocmask"), ANY("sigprocmask"),
        ANY("getpid"), ANY("gettid"), ANY("getuid"), ANY("geteuid"), ANY("getrusage"),
        ANY("clock_gettime"), ANY("clock_gettime64"), ANY("gettimeofday"), ANY("time"),
        ANY("getrandom"), ANY("exit"), ANY("exit_group"),
        {},
};

/* Everything that accepts a path, to look at it. */
static const SandboxCall calls_read_files[] = {
        WITHOUT("openat", 2, OPEN_TO_CHANGE), WITHOUT("open", 1, OPEN_TO_CHANGE),
        ANY("newfstatat"), ANY("fstatat64"), ANY("statx"),
        ANY("readlink"), ANY("readlinkat"), ANY("faccessat"), ANY("faccessat2"),
        ANY("getdents64"), ANY("getdents"), ANY("fstatfs"), ANY("fstatfs64"), ANY("sysinfo"),
        WITH("fcntl", 1, F_DUPFD_CLOEXEC), WITH("fcntl64", 1, F_DUPFD_CLOEXEC),
        WITH("fcntl", 1, F_GETFL), WITH("fcntl64", 1, F_GETFL),
        WITH("fcntl", 1, F_GETFD), WITH("fcntl64", 1, F_GETFD),
        WITH("fcntl", 1, F_SETFD), WITH("fcntl64", 1, F_SETFD),
        {},
};

static const SandboxCall calls_observe[] = {
        WHERE("clone", CLONE_FLAGS_ARGUMENT, THREAD_FLAGS | NAMESPACE_FLAGS, THREAD_FLAGS),
        WITH("unshare", 0, CLONE_FILES),
        ANY("set_robust_list"), ANY("rseq"),
        ANY("recvmmsg"), ANY("recvmmsg_time64"),
        ANY("sched_getaffinity"), ANY("uname"), ANY("rt_sigaction"),
        {},
};

/* Reading alone: no memory is written, and no process is stopped. */
static const SandboxCall calls_read_memory[] = {
        ANY("process_vm_readv"), ANY("get_robust_list"),
        {},
};

/* A pair of sockets that nobody else can reach is the way to another job. */
static const SandboxCall calls_ask[] = {
        PAIR_OF(SOCK_STREAM), PAIR_OF(SOCK_SEQPACKET),
        {},
};

/*
 * Maps that programs fill are read, and one page of them is shared memory. Rows that have been
 * folded are removed. So who has these descriptors can write all of that page, and remove any row:
 * the account of exits is then wrong or stands still until the programs are loaded anew. The
 * programs look up every number that they take from there, so it gets no farther.
 */
static const SandboxCall calls_iterate[] = {
        WITH("bpf", 0, BPF_ITER_CREATE), WITH("bpf", 0, BPF_MAP_LOOKUP_ELEM),
        WITH("bpf", 0, BPF_MAP_LOOKUP_BATCH), WITH("bpf", 0, BPF_MAP_DELETE_ELEM),
        WITH("fcntl", 1, F_GET_SEALS), WITH("fcntl64", 1, F_GET_SEALS),
        {},
};

/* Rows of one of the maps are read and removed together. */
static const SandboxCall calls_record[] = {
        WITH("bpf", 0, BPF_MAP_LOOKUP_AND_DELETE_BATCH),
        {},
};

/* Rows of such a map are moved into a file in memory, which is sealed. With the same page. */
static const SandboxCall calls_fold_rows[] = {
        WITH("bpf", 0, BPF_MAP_LOOKUP_ELEM), WITH("bpf", 0, BPF_MAP_LOOKUP_BATCH),
        WITH("bpf", 0, BPF_MAP_DELETE_ELEM),
        WITH("fcntl", 1, F_GET_SEALS), WITH("fcntl64", 1, F_GET_SEALS),
        WITH("fcntl", 1, F_ADD_SEALS), WITH("fcntl64", 1, F_ADD_SEALS),
        ANY("memfd_create"),
        {},
};

/* Messages of a socket that is open already make rows, which a capture gets in a sealed file. */
static const SandboxCall calls_listen[] = {
        ANY("recvmmsg"), ANY("recvmmsg_time64"),
        WITH("fcntl", 1, F_ADD_SEALS), WITH("fcntl64", 1, F_ADD_SEALS),
        ANY("memfd_create"),
        {},
};

/* A clock bounds what is computed from the names of others. */
static const SandboxCall calls_receive_many[] = {
        ANY("setitimer"), ANY("rt_sigaction"),
        {},
};

/* libbpf asks what this kernel has, loads maps and types of the program, and the program itself. */
static const SandboxCall calls_load_programs[] = {
        WITH("bpf", 0, BPF_MAP_CREATE), WITH("bpf", 0, BPF_MAP_UPDATE_ELEM),
        WITH("bpf", 0, BPF_MAP_FREEZE), WITH("bpf", 0, BPF_BTF_LOAD),
        WITH("bpf", 0, BPF_PROG_LOAD), WITH("bpf", 0, BPF_PROG_BIND_MAP),
        WITH("bpf", 0, BPF_LINK_CREATE), WITH("bpf", 0, BPF_RAW_TRACEPOINT_OPEN),
        WITH("bpf", 0, BPF_ITER_CREATE),
        WITH("bpf", 0, BPF_OBJ_GET_INFO_BY_FD),
        ANY("uname"),
        /* clocks of the CPUs, which run one of the programs; not events of a process or a cgroup */
        CLOCK_OF_A_CPU, WITH("ioctl", 1, PERF_EVENT_IOC_SET_BPF),
        WITH("prlimit64", 0, 0), ANY("setrlimit"), ANY("ugetrlimit"), ANY("getrlimit"),
        /* since libbpf 1.4 a map has a number before it is made */
        ANY("memfd_create"), ANY("dup3"),
        {},
};

/*
 * To write, a file has to be a new one: a filter cannot see the path, which may be that of
 * /proc/PID/mem, of a device or of another file of the user. For O_TMPFILE the path is a directory.
 */
static const SandboxCall calls_change_names[] = {
        WHERE("openat", 2, NEW_FILE_MASK, O_CREAT | O_EXCL),
        WHERE("openat", 2, NEW_FILE_MASK, O_TMPFILE),
        WHERE("open", 1, NEW_FILE_MASK, O_CREAT | O_EXCL),
        WHERE("open", 1, NEW_FILE_MASK, O_TMPFILE),
        ANY("linkat"), ANY("renameat"), ANY("renameat2"), ANY("unlinkat"), ANY("flock"),
        /* futimens(3): without a path */
        WHERE("utimensat", 1, UINT64_MAX, 0), WHERE("utimensat_time64", 1, UINT64_MAX, 0),
        /* between two attempts to take the lock */
        ANY("clock_nanosleep"), ANY("clock_nanosleep_time64"),
        {},
};

#if !SANDBOX_HAS_FSTAT
/* fstat(3) has to use these here. They accept a path, but tell only times and sizes. */
static const SandboxCall calls_stat[] = {
        WHERE("newfstatat", 3, AT_EMPTY_PATH, AT_EMPTY_PATH),
        WHERE("fstatat64", 3, AT_EMPTY_PATH, AT_EMPTY_PATH),
        WHERE("statx", 2, AT_EMPTY_PATH, AT_EMPTY_PATH),
        {},
};
#endif

const SandboxCallGroup sandbox_call_groups[] = {
        { 0, calls_always },
        { 0, sandbox_calls_instrumented },
#if !SANDBOX_HAS_FSTAT
        { 0, calls_stat },
#endif
        { SANDBOX_READ_FILES, calls_read_files },
        { SANDBOX_OBSERVE, calls_observe },
        { SANDBOX_READ_MEMORY, calls_read_memory },
        { SANDBOX_ASK, calls_ask },
        { SANDBOX_ITERATE, calls_iterate },
        { SANDBOX_RECORD, calls_record },
        { SANDBOX_LOAD_PROGRAMS, calls_load_programs },
        { SANDBOX_FOLD_ROWS, calls_fold_rows },
        { SANDBOX_LISTEN, calls_listen },
        { SANDBOX_RECEIVE_MANY, calls_receive_many },
        { SANDBOX_CHANGE_NAMES, calls_change_names },
        { 0, NULL },
};

/* Their flags are in memory, where a filter cannot look. */
const char *const sandbox_calls_unknown[] = { "openat2", "clone3", NULL };
// clang-format on
