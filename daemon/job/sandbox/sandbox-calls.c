/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/sandbox/sandbox-calls.h"

#include <fcntl.h>
#include <sys/mman.h>

#define ANY(call) \
        { .name = (call) }
#define WITHOUT(call, argument, bits)                             \
        {                                                         \
                .name = (call), .n_conditions = 1, .condition = { \
                        .arg = (argument),                        \
                        .op = SCMP_CMP_MASKED_EQ,                 \
                        .datum_a = (bits)                         \
                }                                                 \
        }
#define WITH(call, argument, bits)                                \
        {                                                         \
                .name = (call), .n_conditions = 1, .condition = { \
                        .arg = (argument),                        \
                        .op = SCMP_CMP_MASKED_EQ,                 \
                        .datum_a = (bits),                        \
                        .datum_b = (bits)                         \
                }                                                 \
        }

// clang-format off
const SandboxCall sandbox_calls[] = {
        /* open files and sockets */
        ANY("read"), ANY("readv"), ANY("pread64"), ANY("preadv"),
        ANY("write"), ANY("writev"), ANY("pwrite64"),
        ANY("lseek"), ANY("_llseek"), ANY("fstat"), ANY("fstat64"),
        /* glibc implements fstat(3) with these since 2.33. They accept a path too, but reveal only
         * times and sizes, no content. */
        WITH("newfstatat", 3, AT_EMPTY_PATH), WITH("fstatat64", 3, AT_EMPTY_PATH),
        WITH("statx", 2, AT_EMPTY_PATH),
        ANY("fsync"), ANY("fdatasync"), ANY("ftruncate"), ANY("ftruncate64"),
        ANY("copy_file_range"), ANY("close"),
        ANY("sendmsg"), ANY("recvmsg"), ANY("sendto"), ANY("recvfrom"),
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
// clang-format on
