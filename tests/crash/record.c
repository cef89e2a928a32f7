/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record
 *
 *   record [--no-tmpfile] [--kill N --when before|after --victim caller|root] LOG COMMAND...
 *
 * Runs a command and writes down, in the order in which they happened, the changes that it and its
 * children make to files and directories, what makes them last, and what is sent over sockets. One
 * JSON object a line; the bytes of writes and sends are in LOG.data, one after the other.
 *
 * A change is written down after it returned, a send before it begins: where the log has a sync
 * before a send, the sync was over before anybody could read a byte of what was sent. Inodes are
 * named "DEVICE:NUMBER"; a number is given again once its file is gone, so a "create" begins a new
 * file.
 *
 * --kill ends the process that makes the N-th change or send after SIGUSR1 (from 1), or the command
 * itself, right before or after it. Reports of progress are not counted: how many there are depends
 * on how busy the host is. --no-tmpfile makes the kernel answer as one without O_TMPFILE.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_BYTES 4096
#define MAX_VECTORS 64
#define MAX_SEND_BYTES 65536
/* O_TMPFILE without the bit that old kernels see: a directory opened for writing. */
#define UNNAMED (O_TMPFILE & ~O_DIRECTORY)

/* For the handlers of signals. */
static pid_t command_pid;
static volatile sig_atomic_t is_armed;

typedef enum Kind {
        KIND_NONE,
        KIND_OPEN,
        KIND_WRITE,
        KIND_SEND,
        KIND_TRUNCATE,
        KIND_LINK,
        KIND_RENAME,
        KIND_UNLINK,
        KIND_MKDIR,
        KIND_SYNC,
        KIND_SYNC_ALL,
        KIND_UNKNOWN, /* a change that the model of the tests does not know */
} Kind;

/* Arguments that say which: -1 where the call has none. */
typedef struct CallRow {
        long number;
        Kind kind;
        int fd, name, new_fd, new_name;
} CallRow;

static const CallRow call_rows[] = {
        { SYS_openat, KIND_OPEN, 0, 1, -1, -1 },
        { SYS_write, KIND_WRITE, 0, -1, -1, -1 },
        { SYS_writev, KIND_WRITE, 0, -1, -1, -1 },
        { SYS_pwrite64, KIND_WRITE, 0, -1, -1, -1 },
        { SYS_sendto, KIND_SEND, 0, -1, -1, -1 },
        { SYS_sendmsg, KIND_SEND, 0, -1, -1, -1 },
        { SYS_ftruncate, KIND_TRUNCATE, 0, -1, -1, -1 },
        { SYS_linkat, KIND_LINK, 0, 1, 2, 3 },
        { SYS_renameat2, KIND_RENAME, 0, 1, 2, 3 },
        { SYS_unlinkat, KIND_UNLINK, 0, 1, -1, -1 },
        { SYS_mkdirat, KIND_MKDIR, 0, 1, -1, -1 },
        { SYS_fsync, KIND_SYNC, 0, -1, -1, -1 },
        { SYS_fdatasync, KIND_SYNC, 0, -1, -1, -1 },
        { SYS_syncfs, KIND_SYNC_ALL, 0, -1, -1, -1 },
        { SYS_sync, KIND_SYNC_ALL, -1, -1, -1, -1 },
        { SYS_openat2, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_pwritev, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_pwritev2, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_truncate, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_fallocate, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_copy_file_range, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_sendfile, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_splice, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_symlinkat, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_mknodat, KIND_UNKNOWN, -1, -1, -1, -1 },
/* Not on architectures that came after their successors. */
#ifdef SYS_open
        { SYS_open, KIND_OPEN, -1, 0, -1, -1 },
        { SYS_link, KIND_LINK, -1, 0, -1, 1 },
        { SYS_rename, KIND_RENAME, -1, 0, -1, 1 },
        { SYS_unlink, KIND_UNLINK, -1, 0, -1, -1 },
        { SYS_rmdir, KIND_UNLINK, -1, 0, -1, -1 },
        { SYS_mkdir, KIND_MKDIR, -1, 0, -1, -1 },
        { SYS_creat, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_symlink, KIND_UNKNOWN, -1, -1, -1, -1 },
        { SYS_mknod, KIND_UNKNOWN, -1, -1, -1, -1 },
#endif
#ifdef SYS_renameat
        { SYS_renameat, KIND_RENAME, 0, 1, 2, 3 },
#endif
};

#define N_CALLS (sizeof(call_rows) / sizeof(call_rows[0]))

/* Whether the rest of the words matters is known by the kind. */
typedef struct Change {
        const CallRow *row; /* NULL: nothing under way */
        uint64_t n_armed;   /* which one since SIGUSR1; 0: none */
        uint64_t arguments[6];
} Change;

typedef struct Tracee {
        pid_t tid; /* 0: an empty place */
        pid_t pid;
        Change change;
} Tracee;

typedef struct Recorder {
        FILE *log, *data;
        uint64_t n_data, n_changes;
        pid_t root;
        bool no_tmpfile;
        uint64_t kill_at; /* 0: never */
        uint64_t n_armed; /* changes since SIGUSR1 */
        bool kill_after, kill_caller;
        Tracee *tracees;
        size_t n_tracees;
} Recorder;

_Noreturn static void die(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

/* what tracees say */

static size_t peek(pid_t tid, uint64_t address, void *ret, size_t n) {
        struct iovec local = { ret, n }, remote = { (void *) (uintptr_t) address, n };
        ssize_t k = process_vm_readv(tid, &local, 1, &remote, 1, 0);

        return k < 0 ? 0 : (size_t) k;
}

static void peek_text(pid_t tid, uint64_t address, char ret[static NAME_BYTES]) {
        size_t n = 0;

        while (n + 1 < NAME_BYTES && peek(tid, address + n, ret + n, 1) == 1 && ret[n])
                n++;
        ret[n] = '\0';
}

static bool stat_fd(pid_t pid, uint64_t fd, struct stat *ret) {
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) pid, (int) fd);
        return stat(path, ret) == 0;
}

/* A path that this process can use for @name relative to @fd of the other. */
static void locate(const Tracee *tracee, const Change *change, int fd, int name,
                   char ret[static 2 * NAME_BYTES]) {
        char text[NAME_BYTES];
        int directory = fd < 0 ? AT_FDCWD : (int) change->arguments[fd];

        peek_text(tracee->tid, change->arguments[name], text);
        if (strncmp(text, "/proc/self/", 11) == 0)
                (void) snprintf(ret, 2 * NAME_BYTES, "/proc/%d/%s", (int) tracee->pid, text + 11);
        else if (text[0] == '/')
                (void) snprintf(ret, 2 * NAME_BYTES, "%s", text);
        else if (directory == AT_FDCWD)
                (void) snprintf(ret, 2 * NAME_BYTES, "/proc/%d/cwd/%s", (int) tracee->pid, text);
        else
                (void) snprintf(ret, 2 * NAME_BYTES, "/proc/%d/fd/%d/%s", (int) tracee->pid,
                                directory, text);
}

/* writing down */

static void put_text(FILE *log, const char *text) {
        (void) fputc('"', log);
        for (const unsigned char *c = (const unsigned char *) text; *c; c++)
                if (*c < 0x20 || *c >= 0x7f || *c == '"' || *c == '\\')
                        (void) fprintf(log, "\\u%04x", *c);
                else
                        (void) fputc(*c, log);
        (void) fputc('"', log);
}

static void put_inode(FILE *log, const char *key, const struct stat *st) {
        (void) fprintf(log, ", \"%s\": \"%u.%u:%llu\"", key, major(st->st_dev), minor(st->st_dev),
                       (unsigned long long) st->st_ino);
}

/* The directory and the last word of a path, as DIRECTORY and NAME. */
static void put_place(FILE *log, const char *directory_key, const char *name_key, char *path) {
        char *slash = strrchr(path, '/');
        struct stat st;

        *slash = '\0';
        if (stat(*path ? path : "/", &st) == 0)
                put_inode(log, directory_key, &st);
        *slash = '/';
        (void) fprintf(log, ", \"%s\": ", name_key);
        put_text(log, slash + 1);
}

static void begin(Recorder *recorder, const Tracee *tracee, const char *word) {
        (void) fprintf(recorder->log, "{\"n\": %llu, \"pid\": %d, \"op\": \"%s\"",
                       (unsigned long long) recorder->n_changes, (int) tracee->pid, word);
}

static void end(Recorder *recorder) {
        (void) fputs("}\n", recorder->log);
}

static void put_data(Recorder *recorder, const void *bytes, size_t n) {
        (void) fprintf(recorder->log, ", \"data\": [%llu, %zu]",
                       (unsigned long long) recorder->n_data, n);
        if (fwrite(bytes, 1, n, recorder->data) != n)
                die("data");
        recorder->n_data += n;
}

static uint64_t position(pid_t pid, int fd) {
        unsigned long long value = 0;
        char path[64];
        FILE *info;

        (void) snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int) pid, fd);
        info = fopen(path, "re");
        if (!info || fscanf(info, "pos: %llu", &value) != 1)
                die(path);
        (void) fclose(info);
        return value;
}

/* What was written is read from the file: the ways to write are many. */
static void put_write(Recorder *recorder, const Tracee *tracee, const Change *change, size_t n) {
        int fd = (int) change->arguments[0], file;
        uint64_t offset = change->row->number == SYS_pwrite64 ? change->arguments[3]
                                                              : position(tracee->pid, fd) - n;
        char *bytes = malloc(n + 1), path[64];
        struct stat st;

        (void) snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) tracee->pid, fd);
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (!bytes || file < 0 || pread(file, bytes, n, (off_t) offset) != (ssize_t) n ||
            fstat(file, &st) < 0)
                die(path);
        begin(recorder, tracee, "write");
        put_inode(recorder->log, "inode", &st);
        (void) fprintf(recorder->log, ", \"offset\": %llu", (unsigned long long) offset);
        put_data(recorder, bytes, n);
        end(recorder);
        (void) close(file);
        free(bytes);
}

static size_t gather(pid_t tid, uint64_t address, size_t n_vectors, char *bytes) {
        struct iovec vectors[MAX_VECTORS];
        size_t n = 0;

        if (n_vectors > MAX_VECTORS)
                n_vectors = MAX_VECTORS;
        n_vectors = peek(tid, address, vectors, n_vectors * sizeof(*vectors)) / sizeof(*vectors);
        for (size_t i = 0; i < n_vectors && n < MAX_SEND_BYTES; i++) {
                size_t left = MAX_SEND_BYTES - n;

                n += peek(tid, (uint64_t) (uintptr_t) vectors[i].iov_base, bytes + n,
                          vectors[i].iov_len < left ? vectors[i].iov_len : left);
        }
        return n;
}

/* Returns whether it is more than a report of progress. */
static bool put_send(Recorder *recorder, const Tracee *tracee, const Change *change) {
        static char bytes[MAX_SEND_BYTES];
        struct msghdr message;
        struct stat st;
        size_t n = 0;

        if (change->row->number == SYS_sendmsg) {
                if (peek(tracee->tid, change->arguments[1], &message, sizeof(message)) ==
                    sizeof(message))
                        n = gather(tracee->tid, (uint64_t) (uintptr_t) message.msg_iov,
                                   message.msg_iovlen, bytes);
        } else if (change->row->number == SYS_writev) {
                n = gather(tracee->tid, change->arguments[1], change->arguments[2], bytes);
        } else {
                n = change->arguments[2] < sizeof(bytes) ? change->arguments[2] : sizeof(bytes);
                n = peek(tracee->tid, change->arguments[1], bytes, n);
        }
        begin(recorder, tracee, "send");
        if (stat_fd(tracee->pid, change->arguments[0], &st))
                put_inode(recorder->log, "socket", &st);
        put_data(recorder, bytes, n);
        end(recorder);
        return !memmem(bytes, n, "\"progress\"", 10);
}

static void put_open(Recorder *recorder, const Tracee *tracee, const Change *change, int64_t fd) {
        char path[2 * NAME_BYTES];
        struct stat st;

        if (!stat_fd(tracee->pid, (uint64_t) fd, &st))
                die("an opened file");
        locate(tracee, change, change->row->fd, change->row->name, path);
        begin(recorder, tracee, "create");
        put_inode(recorder->log, "inode", &st);
        (void) fprintf(recorder->log, ", \"flags\": %d",
                       (int) change->arguments[change->row->name + 1]);
        if (!(change->arguments[change->row->name + 1] & UNNAMED))
                put_place(recorder->log, "directory", "name", path);
        end(recorder);
}

/* One place, or two; what is there now is the inode. */
static void put_entry(Recorder *recorder, const Tracee *tracee, const Change *change,
                      const char *word) {
        const CallRow *row = change->row;
        char path[2 * NAME_BYTES];
        struct stat st;

        begin(recorder, tracee, word);
        locate(tracee, change, row->fd, row->name, path);
        if (row->kind != KIND_LINK)
                put_place(recorder->log, "directory", "name", path);
        if (row->new_name >= 0) {
                locate(tracee, change, row->new_fd, row->new_name, path);
                put_place(recorder->log, "new_directory", "new_name", path);
        }
        if (row->kind != KIND_UNLINK && lstat(path, &st) == 0)
                put_inode(recorder->log, "inode", &st);
        end(recorder);
}

static void put_on_fd(Recorder *recorder, const Tracee *tracee, const Change *change,
                      const char *word) {
        struct stat st;

        begin(recorder, tracee, word);
        if (change->row->fd >= 0 && stat_fd(tracee->pid, change->arguments[0], &st))
                put_inode(recorder->log, "inode", &st);
        if (change->row->kind == KIND_TRUNCATE)
                (void) fprintf(recorder->log, ", \"size\": %llu",
                               (unsigned long long) change->arguments[1]);
        end(recorder);
}

static void put_change(Recorder *recorder, const Tracee *tracee, int64_t result) {
        const Change *change = &tracee->change;

        switch (change->row->kind) {
        case KIND_OPEN:
                put_open(recorder, tracee, change, result);
                break;
        case KIND_WRITE:
                put_write(recorder, tracee, change, (size_t) result);
                break;
        case KIND_TRUNCATE:
                put_on_fd(recorder, tracee, change, "truncate");
                break;
        case KIND_LINK:
                put_entry(recorder, tracee, change, "link");
                break;
        case KIND_RENAME:
                put_entry(recorder, tracee, change, "rename");
                break;
        case KIND_UNLINK:
                put_entry(recorder, tracee, change, "unlink");
                break;
        case KIND_MKDIR:
                put_entry(recorder, tracee, change, "mkdir");
                break;
        case KIND_SYNC:
                put_on_fd(recorder, tracee, change, "sync");
                break;
        case KIND_SYNC_ALL:
                put_on_fd(recorder, tracee, change, "sync-all");
                break;
        case KIND_UNKNOWN:
                begin(recorder, tracee, "unknown");
                (void) fprintf(recorder->log, ", \"call\": %ld", change->row->number);
                end(recorder);
                break;
        case KIND_SEND:
        case KIND_NONE:
        default:
                break;
        }
}

/* which calls are changes */

/* NULL for calls that change no file and send nothing. */
static const CallRow *classify(const Tracee *tracee, uint64_t number, const uint64_t *arguments) {
        static CallRow sends;
        const CallRow *row = NULL;
        uint64_t flags = 0;
        struct stat st;

        for (size_t i = 0; i < N_CALLS && !row; i++)
                if (call_rows[i].number == (long) number)
                        row = &call_rows[i];
        if (!row)
                return NULL;
        /* The first word of struct open_how. */
        if (row->number == SYS_openat2 &&
            (peek(tracee->tid, arguments[2], &flags, sizeof(flags)) != sizeof(flags) ||
             !(flags & (O_CREAT | O_TRUNC | UNNAMED))))
                return NULL;
        if (row->kind == KIND_OPEN && !(arguments[row->name + 1] & (O_CREAT | UNNAMED)))
                return NULL;
        if (row->kind == KIND_WRITE) {
                if (arguments[0] == STDERR_FILENO)
                        return NULL; /* the log */
                if (!stat_fd(tracee->pid, arguments[0], &st))
                        return NULL;
                if (S_ISSOCK(st.st_mode)) {
                        sends = *row;
                        sends.kind = KIND_SEND;
                        return &sends;
                }
                return S_ISREG(st.st_mode) ? row : NULL;
        }
        return row;
}

/*
 * EOPNOTSUPP, as from a file system that never heard of it: the call is left out, because filters
 * of the tracee see it only after this.
 */
static void hide_tmpfile(const Tracee *tracee, const CallRow *row) {
#if defined(__x86_64__) || defined(__aarch64__)
        struct user_regs_struct registers;
        struct iovec all = { &registers, sizeof(registers) };
#if defined(__aarch64__)
        int number = -1;
        struct iovec call = { &number, sizeof(number) };
#endif

        if (row->number != SYS_openat)
                return;
        if (ptrace(PTRACE_GETREGSET, tracee->tid, NT_PRSTATUS, &all) < 0)
                die("PTRACE_GETREGSET");
#if defined(__x86_64__)
        registers.orig_rax = UINT64_MAX;
        registers.rax = (uint64_t) -EOPNOTSUPP;
#else
        registers.regs[0] = (uint64_t) -EOPNOTSUPP;
        if (ptrace(PTRACE_SETREGSET, tracee->tid, NT_ARM_SYSTEM_CALL, &call) < 0)
                die("PTRACE_SETREGSET");
#endif
        if (ptrace(PTRACE_SETREGSET, tracee->tid, NT_PRSTATUS, &all) < 0)
                die("PTRACE_SETREGSET");
#else
#error "which registers have the number and the result of a call here?"
#endif
}

/* tracing */

static Tracee *find_tracee(Recorder *recorder, pid_t tid) {
        Tracee *empty = NULL;
        unsigned long long pid = 0;
        char path[64], line[256];
        FILE *status;

        for (size_t i = 0; i < recorder->n_tracees; i++) {
                if (recorder->tracees[i].tid == tid)
                        return &recorder->tracees[i];
                if (recorder->tracees[i].tid == 0)
                        empty = &recorder->tracees[i];
        }
        if (!empty) {
                size_t n = recorder->n_tracees + 1;

                recorder->tracees = realloc(recorder->tracees, n * sizeof(Tracee));
                if (!recorder->tracees)
                        die("realloc");
                empty = &recorder->tracees[recorder->n_tracees++];
        }
        (void) snprintf(path, sizeof(path), "/proc/%d/status", (int) tid);
        status = fopen(path, "re");
        while (status && fgets(line, sizeof(line), status))
                if (sscanf(line, "Tgid: %llu", &pid) == 1)
                        break;
        if (status)
                (void) fclose(status);
        *empty = (Tracee){ .tid = tid, .pid = pid ? (pid_t) pid : tid };
        return empty;
}

static bool kill_now(Recorder *recorder, const Tracee *tracee, bool after) {
        pid_t victim;

        if (tracee->change.n_armed == 0 || tracee->change.n_armed != recorder->kill_at ||
            recorder->kill_after != after)
                return false;
        victim = recorder->kill_caller ? tracee->pid : recorder->root;
        begin(recorder, tracee, "kill");
        (void) fprintf(recorder->log, ", \"victim\": \"%s\"}\n",
                       victim == recorder->root ? "root" : "child");
        (void) fflush(recorder->log);
        (void) kill(victim, SIGKILL);
        return true;
}

/* Returns how the tracee goes on. */
static int on_entry(Recorder *recorder, Tracee *tracee) {
        struct __ptrace_syscall_info info = {};
        const CallRow *row;
        bool counts = true;

        if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof(info), &info) < 0)
                return PTRACE_CONT; /* killed meanwhile */
        row = classify(tracee, info.seccomp.nr, (const uint64_t *) info.seccomp.args);
        if (!row)
                return PTRACE_CONT;
        if (recorder->no_tmpfile && row->kind == KIND_OPEN &&
            (info.seccomp.args[row->name + 1] & UNNAMED))
                hide_tmpfile(tracee, row);
        tracee->change.row = row;
        memcpy(tracee->change.arguments, info.seccomp.args, sizeof(tracee->change.arguments));
        recorder->n_changes++;
        if (row->kind == KIND_SEND)
                counts = put_send(recorder, tracee, &tracee->change);
        tracee->change.n_armed = is_armed && counts ? ++recorder->n_armed : 0;
        if (kill_now(recorder, tracee, false))
                return PTRACE_CONT;
        if (row->kind == KIND_SEND && tracee->change.n_armed != recorder->kill_at)
                return PTRACE_CONT;
        return PTRACE_SYSCALL;
}

static void on_exit_of_call(Recorder *recorder, Tracee *tracee) {
        struct __ptrace_syscall_info info = {};

        if (!tracee->change.row ||
            ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof(info), &info) < 0)
                return;
        if (!info.exit.is_error)
                put_change(recorder, tracee, info.exit.rval);
        tracee->change.row = NULL;
        (void) kill_now(recorder, tracee, true);
}

static void on_stop(Recorder *recorder, pid_t tid, int status) {
        Tracee *tracee = find_tracee(recorder, tid);
        int number = WSTOPSIG(status), event = status >> 16, how = PTRACE_CONT;

        if (event == PTRACE_EVENT_SECCOMP) {
                how = on_entry(recorder, tracee);
                number = 0;
        } else if (number == (SIGTRAP | 0x80)) {
                on_exit_of_call(recorder, tracee);
                number = 0;
        } else if (event != 0 || number == SIGSTOP) {
                number = 0; /* the first stop of a child, or what tells of one */
        }
        (void) ptrace((enum __ptrace_request) how, tid, NULL, (long) number);
}

static void trace(Recorder *recorder) {
        for (;;) {
                int status;
                pid_t tid = waitpid(-1, &status, __WALL);

                if (tid < 0 && errno == EINTR)
                        continue;
                if (tid < 0)
                        return; /* all are gone */
                if (WIFSTOPPED(status)) {
                        on_stop(recorder, tid, status);
                        continue;
                }
                find_tracee(recorder, tid)->tid = 0;
                if (tid == recorder->root) {
                        begin(recorder, &(Tracee){ .pid = tid }, "exit");
                        (void) fprintf(recorder->log, ", \"status\": %d", status);
                        end(recorder);
                }
                (void) fflush(recorder->log);
        }
}

/* the command */

static void install_filter(void) {
        struct sock_filter filter[3 + N_CALLS] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        };
        struct sock_fprog program = { .len = 3 + N_CALLS, .filter = filter };

        for (size_t i = 0; i < N_CALLS; i++)
                filter[1 + i] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                              (uint32_t) call_rows[i].number,
                                                              (uint8_t) (N_CALLS - i), 0);
        filter[1 + N_CALLS] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        filter[2 + N_CALLS] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
        if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                die("PR_SET_NO_NEW_PRIVS");
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                die("PR_SET_SECCOMP");
}

static pid_t start(char **command) {
        const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                             PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP |
                             PTRACE_O_EXITKILL;
        pid_t child = fork();
        int status;

        if (child < 0)
                die("fork");
        if (child == 0) {
                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                        die("PTRACE_TRACEME");
                (void) raise(SIGSTOP);
                install_filter();
                (void) execvp(command[0], command);
                die(command[0]);
        }
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
            ptrace(PTRACE_SETOPTIONS, child, NULL, options) < 0 ||
            ptrace(PTRACE_CONT, child, NULL, NULL) < 0)
                die("ptrace");
        return child;
}

static void pass_on(int number) {
        (void) kill(command_pid, number);
}

static void arm(int number) {
        is_armed = 1;
}

static FILE *create(const char *path, const char *suffix) {
        char *name;
        FILE *file;

        if (asprintf(&name, "%s%s", path, suffix) < 0)
                die("asprintf");
        file = fopen(name, "we");
        if (!file)
                die(name);
        free(name);
        return file;
}

int main(int argc, char **argv) {
        Recorder recorder = {};
        int i = 1;

        for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
                if (strcmp(argv[i], "--no-tmpfile") == 0)
                        recorder.no_tmpfile = true;
                else if (i + 1 < argc && strcmp(argv[i], "--kill") == 0)
                        recorder.kill_at = strtoull(argv[++i], NULL, 10);
                else if (i + 1 < argc && strcmp(argv[i], "--when") == 0)
                        recorder.kill_after = strcmp(argv[++i], "after") == 0;
                else if (i + 1 < argc && strcmp(argv[i], "--victim") == 0)
                        recorder.kill_caller = strcmp(argv[++i], "caller") == 0;
        }
        if (argc - i < 2) {
                (void) fputs("record [OPTIONS] LOG COMMAND...\n", stderr);
                return EXIT_FAILURE;
        }
        recorder.log = create(argv[i], "");
        recorder.data = create(argv[i], ".data");
        recorder.root = command_pid = start(argv + i + 1);
        (void) signal(SIGTERM, pass_on);
        (void) signal(SIGINT, pass_on);
        (void) signal(SIGUSR1, arm);
        trace(&recorder);
        free(recorder.tracees);
        if (fclose(recorder.log) != 0 || fclose(recorder.data) != 0)
                die(argv[i]);
        return EXIT_SUCCESS;
}
