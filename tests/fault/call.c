/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer.h"

#include <ctype.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PATH_BYTES 200
#define ROLE_BYTES 16
#define ROLES 64

typedef struct Role {
        pid_t tid; /* 0: nobody */
        bool loading;
        char word[ROLE_BYTES];
} Role;

static Role roles[ROLES];

/* memory */

bool memory_read(pid_t tid, unsigned long address, void *ret, size_t n) {
        struct iovec here = { ret, n }, there = { (void *) address, n };

        return process_vm_readv(tid, &here, 1, &there, 1, 0) == (ssize_t) n;
}

bool memory_write(pid_t tid, unsigned long address, const void *bytes, size_t n) {
        struct iovec here = { (void *) (unsigned long) bytes, n }, there = { (void *) address, n };

        return process_vm_writev(tid, &here, 1, &there, 1, 0) == (ssize_t) n;
}

/* A text may end where its page does, so no byte of the next one is asked for. */
static void read_text(pid_t tid, unsigned long address, char *ret, size_t n_ret) {
        size_t n = 0;

        while (address != 0 && n + 1 < n_ret) {
                size_t step = 64 - (address + n) % 64;

                if (step > n_ret - 1 - n)
                        step = n_ret - 1 - n;
                if (!memory_read(tid, address + n, ret + n, step))
                        break;
                if (memchr(ret + n, '\0', step))
                        return;
                n += step;
        }
        ret[n] = '\0';
}

/* roles */

static void read_role(pid_t tid, pid_t daemon, char ret[static ROLE_BYTES]) {
        char path[64], line[256];
        ssize_t n;
        int fd;

        (void) snprintf(ret, ROLE_BYTES, "%s", tid == daemon ? "main" : "child");
        (void) snprintf(path, sizeof(path), "/proc/%d/cmdline", tid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        n = read(fd, line, sizeof(line) - 1);
        (void) close(fd);
        line[n > 0 ? n : 0] = '\0';
        for (ssize_t i = 0; i < n; i += (ssize_t) strlen(line + i) + 1)
                if (strncmp(line + i, "--job=", 6) == 0)
                        (void) snprintf(ret, ROLE_BYTES, "%.15s", line + i + 6);
}

static Role *find_role(pid_t tid, pid_t daemon) {
        Role *free_one = &roles[0];

        for (size_t i = 0; i < ROLES; i++) {
                if (roles[i].tid == tid)
                        return &roles[i];
                if (roles[i].tid == 0)
                        free_one = &roles[i];
        }
        *free_one = (Role){ .tid = tid };
        read_role(tid, daemon, free_one->word);
        return free_one;
}

void call_forget_role(pid_t tid) {
        for (size_t i = 0; i < ROLES; i++)
                if (roles[i].tid == tid)
                        roles[i] = (Role){};
}

void call_note_exec(pid_t tid, pid_t daemon) {
        call_forget_role(tid);
        find_role(tid, daemon)->loading = true;
}

/* The first thing that main() does, and that no loader would. */
static bool is_first_of_main(const char *object) {
        return strcmp(object, "/dev/null") == 0;
}

/* objects */

static void drop_digits(char *text) {
        char *to = text;

        for (const char *from = text; *from; from++)
                if (!isdigit((unsigned char) *from))
                        *to++ = *from == ' ' || *from == '\n' ? '_' : *from;
                else if (to == text || to[-1] != '#')
                        *to++ = '#';
        *to = '\0';
}

static void describe_fd(pid_t tid, int fd, char *ret, size_t n_ret) {
        char path[64];
        ssize_t n;

        if (fd == AT_FDCWD) {
                (void) snprintf(ret, n_ret, "cwd");
                return;
        }
        (void) snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
        n = readlink(path, ret, n_ret - 1);
        ret[n > 0 ? n : 0] = '\0';
}

/*
 * How the arguments are to be read: f descriptor, p path, n small number, o flags of open(2),
 * x flags of mmap(2), m message header, z whether there is one. Others are left out.
 */
static const struct {
        long number;
        const char *arguments;
} shapes[] = {
        { SYS_openat, "fpo" },
        { SYS_openat2, "fp" },
        { SYS_newfstatat, "fp" },
        { SYS_statx, "fp" },
        { SYS_readlinkat, "fp" },
        { SYS_readlink, "p" },
        { SYS_faccessat2, "fp" },
        { SYS_faccessat, "fp" },
        { SYS_access, "p" },
        { SYS_unlinkat, "fp" },
        { SYS_unlink, "p" },
        { SYS_linkat, "fpfp" },
        { SYS_renameat, "fpfp" },
        { SYS_renameat2, "fpfp" },
        { SYS_mkdir, "p" },
        { SYS_stat, "p" },
        { SYS_lstat, "p" },
        { SYS_statfs, "p" },
        { SYS_execveat, "fp" },
        { SYS_execve, "p" },
        { SYS_open, "p" },
        { SYS_fcntl, "fn" },
        { SYS_ioctl, "fn" },
        { SYS_prctl, "n" },
        { SYS_epoll_ctl, "-nf" },
        { SYS_setsockopt, "fnn" },
        { SYS_getsockopt, "fnn" },
        { SYS_mmap, "---x" },
        { SYS_prlimit64, "-nz" },
        { SYS_rt_sigaction, "" },
        { SYS_socket, "nnn" },
        { SYS_socketpair, "n" },
        { SYS_unshare, "n" },
        { SYS_mkdirat, "fp" },
        { SYS_seccomp, "n" },
        { SYS_capset, "" },
        { SYS_read, "f" },
        { SYS_pread64, "f" },
        { SYS_write, "f" },
        { SYS_pwrite64, "f" },
        { SYS_writev, "f" },
        { SYS_close, "f" },
        { SYS_fstat, "f" },
        { SYS_fstatfs, "f" },
        { SYS_fsync, "f" },
        { SYS_fdatasync, "f" },
        { SYS_ftruncate, "f" },
        { SYS_lseek, "f" },
        { SYS_flock, "f" },
        { SYS_getdents64, "f" },
        { SYS_sendmsg, "fm" },
        { SYS_recvmsg, "fm" },
        { SYS_sendto, "f" },
        { SYS_recvfrom, "f" },
        { SYS_recvmmsg, "f" },
        { SYS_accept4, "f" },
        { SYS_bind, "f" },
        { SYS_connect, "f" },
        { SYS_listen, "f" },
        { SYS_getsockname, "f" },
        { SYS_copy_file_range, "f-f" },
        { SYS_timerfd_create, "" },
        { SYS_dup2, "f" },
        { SYS_dup3, "f" },
        { SYS_fadvise64, "f" },
        { SYS_fallocate, "f" },
        { SYS_mprotect, "" },
        { SYS_fchmod, "f" },
        { SYS_umask, "" },
        { SYS_timerfd_settime, "" },
        { SYS_waitid, "" },
        { SYS_sync_file_range, "f" },
        { SYS_getpeername, "f" },
        { SYS_shutdown, "f" },
        { SYS_fchmodat, "fp" },
};

static const char *find_shape(long number) {
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
                if (shapes[i].number == number)
                        return shapes[i].arguments;
        return "";
}

/* Datagrams have a name, and cannot be taken in parts. */
static void describe_message(pid_t tid, unsigned long address, char *ret, size_t n_ret) {
        struct msghdr message = {};

        (void) memory_read(tid, address, &message, sizeof(message));
        (void) snprintf(ret, n_ret, "%s%s", message.msg_name ? "datagram" : "stream",
                        message.msg_control ? " descriptors" : "");
}

static void describe_argument(pid_t tid, char shape, unsigned long value, char *ret, size_t n_ret) {
        switch (shape) {
        case 'f':
                describe_fd(tid, (int) value, ret, n_ret);
                drop_digits(ret);
                return;
        case 'p':
                read_text(tid, value, ret, n_ret);
                drop_digits(ret);
                return;
        case 'n':
                (void) snprintf(ret, n_ret, "%ld", (long) (int) value);
                return;
        case 'o':
                (void) snprintf(ret, n_ret, "%s%s", value & O_ACCMODE ? "w" : "r",
                                (value & O_TMPFILE) == O_TMPFILE ? "-unnamed"
                                : value & O_CREAT                ? "-create"
                                                                 : "");
                return;
        case 'm':
                describe_message(tid, value, ret, n_ret);
                return;
        case 'x':
                (void) snprintf(ret, n_ret, "%s", value & MAP_ANONYMOUS ? "anonymous" : "file");
                return;
        case 'z':
                (void) snprintf(ret, n_ret, "%s", value ? "set" : "get");
                return;
        default:
                ret[0] = '\0';
        }
}

void call_describe(pid_t tid, pid_t daemon, const struct user_regs_struct *registers,
                   char ret[static CALL_BYTES]) {
        const unsigned long values[] = { registers->rdi, registers->rsi, registers->rdx,
                                         registers->r10 };
        long number = (long) registers->orig_rax;
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int) number);
        const char *shape = find_shape(number);
        Role *role = find_role(tid, daemon);
        char objects[CALL_BYTES] = "";
        size_t n = 0;

        for (size_t i = 0; shape[i]; i++) {
                char text[PATH_BYTES];

                describe_argument(tid, shape[i], values[i], text, sizeof(text));
                if (is_first_of_main(text))
                        role->loading = false;
                if (text[0] != '\0' && n + strlen(text) + 2 < CALL_BYTES)
                        n += (size_t) snprintf(objects + n, CALL_BYTES - n, " %s", text);
        }
        (void) snprintf(ret, CALL_BYTES, "%s %s%.400s", role->loading ? "loader" : role->word,
                        name ? name : "?", objects);
        free(name);
}
