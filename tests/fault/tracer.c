/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault-tracer FD PROGRAM [ARGUMENT...]
 *
 * Runs a program and all it starts, lists its system calls and lets one of them fail. Commands come
 * as lines on the socket FD, which is answered there:
 *
 *     begin                            lists calls from now on, and answers "begun"
 *     begin NTH COUNT KIND CALL...     ... and spoils the NTH call that is described so, and the
 *                                      COUNT - 1 that follow; COUNT 0: every one from there on
 *     always KIND ENDING               calls described so in the end fail at all times besides
 *     end                              "fired N", the list, and a line with a dot
 *
 * KIND is an error number, by which the call fails without having been made; "late:" and a number,
 * by which it fails although it was made, as close(2) does; "short", by which it is done in part;
 * or "cut", by which the descriptors of a message are lost as they are where the receiver may have
 * no more. The program starts with the first command, and everything is killed when the socket
 * closes.
 *
 * ptrace(2) and not a seccomp notifier, because that can neither shorten a call nor let it fail
 * after it was made. The filter makes one stop of every call where PTRACE_SYSCALL makes two.
 */
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE_OPTIONS                                                                             \
        (PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
         PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)
#define SYSCALL_STOP (SIGTRAP | 0x80)

enum { KIND_ERROR, KIND_LATE, KIND_SHORT, KIND_CUT };

/* What to spoil, and what was seen. The control thread writes it, the tracing one acts on it. */
static struct {
        pthread_mutex_t lock;
        pthread_cond_t begun;
        bool running, armed, listing;
        int kind, error;
        unsigned long nth, count, n_seen, n_fired;
        char call[CALL_BYTES], ending[CALL_BYTES]; /* "" for none */
        int always_error;
        char *list;
        size_t n_list, n_allocated;
} plan = { .lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER };

/* A call that was changed and is to be put right when it returns. */
typedef struct Spoiled {
        pid_t tid; /* 0: none */
        int kind, error;
        struct user_regs_struct registers; /* arguments are the caller's, who keeps using them */
        unsigned long message;
        struct msghdr before;
        struct iovec place_before;
} Spoiled;

static Spoiled spoiled;
static pid_t daemon_pid;

static void die(const char *what) {
        perror(what);
        exit(125);
}

/* control */

static void note(const char *call) {
        size_t n = strlen(call) + 1;

        if (plan.n_list + n > plan.n_allocated) {
                plan.n_allocated = 2 * (plan.n_allocated + n);
                plan.list = realloc(plan.list, plan.n_allocated);
                if (!plan.list)
                        die("list");
        }
        memcpy(plan.list + plan.n_list, call, n);
        plan.list[plan.n_list + n - 1] = '\n';
        plan.n_list += n;
}

static void begin(const char *line, FILE *control) {
        char kind[32] = "";
        int n = 0;

        plan.n_list = plan.n_seen = plan.n_fired = 0;
        plan.listing = true;
        plan.armed = sscanf(line, "begin %lu %lu %31s %n", &plan.nth, &plan.count, kind, &n) == 3;
        if (plan.armed) {
                (void) snprintf(plan.call, sizeof(plan.call), "%s", line + n);
                plan.kind = strcmp(kind, "short") == 0       ? KIND_SHORT
                            : strcmp(kind, "cut") == 0       ? KIND_CUT
                            : strncmp(kind, "late:", 5) == 0 ? KIND_LATE
                                                             : KIND_ERROR;
                plan.error = atoi(plan.kind == KIND_LATE ? kind + 5 : kind);
        }
        plan.running = true;
        (void) pthread_cond_signal(&plan.begun);
        (void) fprintf(control, "begun\n");
        (void) fflush(control);
}

static void answer(FILE *control) {
        plan.armed = plan.listing = false;
        (void) fprintf(control, "fired %lu\n", plan.n_fired);
        (void) fwrite(plan.list, 1, plan.n_list, control);
        (void) fprintf(control, ".\n");
        (void) fflush(control);
}

static void *serve_control(void *userdata) {
        int fd = *(const int *) userdata;
        FILE *control = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
        char line[CALL_BYTES + 64];

        if (!control || !out)
                die("control");
        while (fgets(line, sizeof(line), control)) {
                line[strcspn(line, "\n")] = '\0';
                (void) pthread_mutex_lock(&plan.lock);
                if (strncmp(line, "begin", 5) == 0)
                        begin(line, out);
                else if (sscanf(line, "always %d %500[^\n]", &plan.always_error, plan.ending) != 2)
                        answer(out);
                (void) pthread_mutex_unlock(&plan.lock);
        }
        _exit(0);
}

static bool is_never_made(const char *call) {
        size_t n = strlen(plan.ending), n_call = strlen(call);

        return n > 0 && n <= n_call && strcmp(call + n_call - n, plan.ending) == 0;
}

/* Whether this call is to be spoiled. */
static bool is_due(const char *call) {
        bool due = false;

        (void) pthread_mutex_lock(&plan.lock);
        if (plan.listing)
                note(call);
        if (plan.armed && strcmp(call, plan.call) == 0) {
                plan.n_seen++;
                due = plan.n_seen >= plan.nth &&
                      (plan.count == 0 || plan.n_seen < plan.nth + plan.count);
                plan.n_fired += due;
        }
        (void) pthread_mutex_unlock(&plan.lock);
        return due;
}

/* spoiling */

/* Half of what is written, one byte of what is read. Messages are put right on return. */
static void shorten_message(pid_t tid, unsigned long address, bool sends) {
        struct msghdr message;
        struct iovec place;

        if (!memory_read(tid, address, &message, sizeof(message)) || message.msg_iovlen == 0 ||
            !memory_read(tid, (unsigned long) message.msg_iov, &place, sizeof(place)))
                return;
        spoiled.message = address;
        spoiled.before = message;
        spoiled.place_before = place;
        message.msg_iovlen = 1;
        place.iov_len = sends ? (place.iov_len + 1) / 2 : 1;
        (void) memory_write(tid, address, &message, sizeof(message));
        (void) memory_write(tid, (unsigned long) message.msg_iov, &place, sizeof(place));
}

static void cut_message(pid_t tid, unsigned long address) {
        struct msghdr message;

        if (!memory_read(tid, address, &message, sizeof(message)))
                return;
        message.msg_controllen = 0;
        (void) memory_write(tid, address, &message, sizeof(message));
}

static void shorten(pid_t tid, struct user_regs_struct *registers) {
        switch (registers->orig_rax) {
        case SYS_read:
        case SYS_pread64:
        case SYS_recvfrom:
                registers->rdx = registers->rdx > 0;
                break;
        case SYS_write:
        case SYS_pwrite64:
        case SYS_sendto:
                registers->rdx = (registers->rdx + 1) / 2;
                break;
        case SYS_copy_file_range:
                registers->r8 = (registers->r8 + 1) / 2;
                break;
        case SYS_brk:
                registers->rdi = 0; /* which is how this one fails: the break stays where it is */
                break;
        case SYS_sendmsg:
        case SYS_recvmsg:
                shorten_message(tid, registers->rsi, registers->orig_rax == SYS_sendmsg);
                return;
        default:
                return;
        }
        (void) ptrace(PTRACE_SETREGS, tid, NULL, registers);
}

static enum __ptrace_request refuse(pid_t tid, struct user_regs_struct *registers, int error) {
        registers->orig_rax = (unsigned long long) -1;
        registers->rax = (unsigned long long) -error;
        (void) ptrace(PTRACE_SETREGS, tid, NULL, registers);
        return PTRACE_CONT;
}

/* Returns how the thread goes on. */
static enum __ptrace_request spoil(pid_t tid, struct user_regs_struct *registers) {
        if (plan.kind == KIND_ERROR)
                return refuse(tid, registers, plan.error);
        spoiled = (Spoiled){
                .tid = tid, .kind = plan.kind, .error = plan.error, .registers = *registers
        };
        if (plan.kind == KIND_SHORT)
                shorten(tid, registers);
        if (plan.kind == KIND_CUT)
                cut_message(tid, registers->rsi);
        return PTRACE_SYSCALL;
}

static enum __ptrace_request on_call(pid_t tid) {
        struct user_regs_struct registers;
        char call[CALL_BYTES];

        if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) < 0)
                return PTRACE_CONT;
        call_describe(tid, daemon_pid, &registers, call);
        if (is_due(call))
                return spoil(tid, &registers);
        return is_never_made(call) ? refuse(tid, &registers, plan.always_error) : PTRACE_CONT;
}

static void on_return(pid_t tid) {
        struct user_regs_struct registers;

        if (spoiled.tid != tid)
                return;
        if (spoiled.message != 0) {
                (void) memory_write(tid, (unsigned long) spoiled.before.msg_iov,
                                    &spoiled.place_before, sizeof(spoiled.place_before));
                (void) memory_write(tid, spoiled.message + offsetof(struct msghdr, msg_iovlen),
                                    &spoiled.before.msg_iovlen, sizeof(spoiled.before.msg_iovlen));
        }
        if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) == 0) {
                if (spoiled.kind == KIND_LATE)
                        registers.rax = (unsigned long long) -spoiled.error;
                registers.rdi = spoiled.registers.rdi;
                registers.rdx = spoiled.registers.rdx;
                registers.r8 = spoiled.registers.r8;
                (void) ptrace(PTRACE_SETREGS, tid, NULL, &registers);
        }
        spoiled = (Spoiled){};
}

/* tracing */

static void on_stop(pid_t tid, int status) {
        enum __ptrace_request next = PTRACE_CONT;
        int number = WSTOPSIG(status), event = status >> 16, deliver = 0;

        switch (event) {
        case PTRACE_EVENT_SECCOMP:
                next = on_call(tid);
                break;
        case PTRACE_EVENT_EXEC:
                call_note_exec(tid, daemon_pid);
                break;
        case PTRACE_EVENT_STOP:
                if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN ||
                    number == SIGTTOU)
                        next = PTRACE_LISTEN;
                break;
        case 0:
                if (number == SYSCALL_STOP)
                        on_return(tid);
                else
                        deliver = number;
                break;
        default:
                break;
        }
        (void) ptrace(next, tid, NULL, deliver);
}

/* The status of the daemon, once everything has ended. */
static int trace(void) {
        int status, result = 0;
        pid_t tid;

        while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
                if (tid < 0)
                        continue;
                if (WIFSTOPPED(status)) {
                        on_stop(tid, status);
                        continue;
                }
                call_forget_role(tid);
                if (tid == daemon_pid)
                        result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        return result;
}

/* in the child */

static void stop_at_calls(void) {
        struct sock_filter instructions[] = {
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        };
        const struct sock_fprog filter = { .len = 1, .filter = instructions };

        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
                die("seccomp, which needs CAP_SYS_ADMIN");
}

static void become(int gate_fd, char *arguments[]) {
        char byte;

        if (read(gate_fd, &byte, 1) != 1)
                _exit(125);
        (void) close(gate_fd);
        stop_at_calls();
        (void) execv(arguments[0], arguments);
        die(arguments[0]);
}

int main(int argc, char *argv[]) {
        int control_fd = argc > 2 ? atoi(argv[1]) : -1, gate[2];
        pthread_t control;

        if (argc < 3 || fcntl(control_fd, F_SETFD, FD_CLOEXEC) < 0 || pipe2(gate, O_CLOEXEC) < 0)
                die("usage: fault-tracer FD PROGRAM [ARGUMENT...]");
        daemon_pid = fork();
        if (daemon_pid < 0)
                die("fork");
        if (daemon_pid == 0)
                become(gate[0], argv + 2);
        (void) close(gate[0]);
        if (ptrace(PTRACE_SEIZE, daemon_pid, NULL, TRACE_OPTIONS) < 0)
                die("ptrace");
        if (pthread_create(&control, NULL, serve_control, &control_fd) != 0)
                die("thread");
        (void) pthread_mutex_lock(&plan.lock);
        while (!plan.running)
                (void) pthread_cond_wait(&plan.begun, &plan.lock);
        (void) pthread_mutex_unlock(&plan.lock);
        if (write(gate[1], "", 1) != 1)
                die("gate");
        (void) close(gate[1]);
        return trace();
}
