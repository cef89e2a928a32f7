/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CheckLack
 *
 * What a kernel has, and what stands between it and a test has not: valgrind, or an emulator of
 * another processor (qemu-user). Each function tries, and returns NULL or why not, as a reason for
 * check_skips().
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool check_is_valgrind(void) {
        const char *preloaded = getenv("LD_PRELOAD");

        return preloaded && strstr(preloaded, "vgpreload");
}

/* Returns why the kernel does not show this process the stack and the vdso that it uses. */
static inline const char *check_lacks_own_mappings(void) {
        char here = 0, there = 1;
        const struct iovec from = { &here, 1 }, to = { &there, 1 };

        if (check_is_valgrind())
                return "valgrind runs a program on a stack of its own, and hides the vdso";
        return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1
                       ? NULL
                       : "the memory of a program is at other addresses here, and has no vdso";
}

/* Returns why no process can have a descriptor, or NULL: the valgrind of Debian 12 knows none. */
static inline const char *check_lacks_pidfds(void) {
        int fd = (int) syscall(SYS_pidfd_open, getpid(), 0);

        if (fd < 0)
                return "there are no descriptors of processes here";
        (void) close(fd);
        return NULL;
}

/* Whether a process can be confined: seccomp filters. */
static inline const char *check_lacks_filters(void) {
        if (check_is_valgrind())
                return "valgrind lives in the process that it runs, and would be confined with it";
        /* A kernel with filters gets as far as reading the one at address 0. */
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT)
                return NULL;
        return "there are no seccomp filters here";
}

/* Whether a child may begin with the descriptor table of its parent. */
static inline const char *check_lacks_shared_tables(void) {
        pid_t pid = (pid_t) syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);

        if (pid == 0)
                _exit(EXIT_SUCCESS);
        if (pid < 0)
                return "no child can share the table of descriptors here";
        (void) waitpid(pid, NULL, 0);
        return NULL;
}

/* Whether this process may have descriptors below @end; it may from then on, if any may. */
static inline const char *check_lacks_descriptors(int end) {
        struct rlimit limit;
        int fd = -1;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &limit);
                fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, end - 1);
        }
        if (fd < 0)
                return "a process may not have so many descriptors here";
        (void) close(fd);
        return NULL;
}

/* Whether RLIMIT_DATA bounds memory, and whoever asks for more gets NULL. */
static inline const char *check_lacks_bound_of_memory(void) {
        const struct rlimit limit = { 1, 1 };
        pid_t pid;
        int status;

#if defined(__SANITIZE_ADDRESS__)
        return "a sanitizer has terabytes of memory, and ends what asks for more than there is";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
        return "a sanitizer has terabytes of memory, and ends what asks for more than there is";
#endif
#endif
        if (check_is_valgrind())
                return "valgrind has memory of its own in that of the program";
        pid = fork();
        if (pid == 0)
                _exit(setrlimit(RLIMIT_DATA, &limit) < 0 ||
                      mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                           0) != MAP_FAILED);
        return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0
                       ? NULL
                       : "nothing bounds the memory of a process here";
}

/* Whether the kernel tells where a thread has its list of robust futexes. */
static inline const char *check_lacks_robust_lists(void) {
        void *head;
        size_t n;

        return syscall(SYS_get_robust_list, 0, &head, &n) == 0
                       ? NULL
                       : "no thread has a list of robust futexes here";
}

/* Whether descriptors that arrive, and for which the receiver has no room, are closed. */
static inline const char *check_lacks_truncation(void) {
        union {
                char bytes[CMSG_SPACE(2 * sizeof(int))];
                struct cmsghdr head;
        } control = { .head = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
        char byte = 0;
        struct iovec part = { &byte, 1 };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        int pair[2], ends[2], both[2], got = -1;
        bool is_closed = true;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return NULL;
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
                both[0] = both[1] = ends[1];
                memcpy(CMSG_DATA(&control.head), both, sizeof(both));
                (void) sendmsg(pair[0], &message, 0);
                (void) close(ends[1]);
                message.msg_controllen = CMSG_LEN(sizeof(int));
                if (recvmsg(pair[1], &message, MSG_DONTWAIT) == 1 && CMSG_FIRSTHDR(&message)) {
                        memcpy(&got, CMSG_DATA(&control.head), sizeof(got));
                        (void) close(got);
                }
                is_closed = read(ends[0], &byte, 1) == 0;
                (void) close(ends[0]);
        }
        (void) close(pair[0]);
        (void) close(pair[1]);
        return is_closed ? NULL : "descriptors without room for them stay open here";
}
