/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Waiters
 *
 * One thread for each kind of wait, which waits again and again and measures each wait with its own
 * clock.
 *
 *     waiters DIRECTORY
 *
 * Writes a line "TID KIND REASON" for each, and an empty one; a kind that this host refuses is not
 * among them. Then each line "TID TIME" that it reads, of CLOCK_BOOTTIME in ns, is answered with
 * how long and how often the thread had waited by then: "NANOSECONDS WAITS". Ends when standard
 * input does.
 *
 * A wait is what passes on the clock, less what the thread ran and waited for a CPU meanwhile. Many
 * kinds need somebody who ends the wait: their peers do that some milliseconds after the last one.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 4000000L
#define PATH_BYTES 4096

#define MAX_WAITS (1u << 16)

typedef struct Wait {
        uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
        uint64_t ns;               /* of that, as the thread says */
} Wait;

/* What the thread's clocks say at one moment. */
typedef struct Moment {
        uint64_t ns, run_ns, delay_ns;
} Moment;

typedef struct Waiter Waiter;
struct Waiter {
        const char *kind, *reason;
        bool (*open)(Waiter *waiter); /* false: this host refuses it */
        void (*wait)(Waiter *waiter); /* once, between begin() and end() */
        void (*poke)(Waiter *waiter); /* by the peer, again and again; NULL: it needs none */
        int fds[2];
        pthread_mutex_t mutex;
        pthread_cond_t condition;
        sem_t semaphore;
        char *page;
        aio_context_t aio;
        Moment begun;
        /* shared, as one may be another process */
        struct {
                int tid;
                size_t n;
                Wait waits[MAX_WAITS];
        } * done;
};

static const char *directory;

static uint64_t clock_ns(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static uint64_t delay_ns(void) {
        static __thread int fd = -1;
        unsigned long long run, delay = 0;
        char text[128];
        ssize_t n;

        if (fd < 0)
                fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        n = pread(fd, text, sizeof(text) - 1, 0);
        if (n > 0) {
                text[n] = '\0';
                if (sscanf(text, "%llu %llu", &run, &delay) != 2)
                        delay = 0;
        }
        return delay;
}

/*
 * A thread that waited for a CPU while its clocks were read has clocks of two moments, and reads
 * them again: after fork() that is one in ten, and always in the same direction.
 */
static Moment moment_now(void) {
        uint64_t delay = delay_ns();
        Moment moment;

        for (;;) {
                moment.delay_ns = delay;
                moment.run_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
                moment.ns = clock_ns(CLOCK_MONOTONIC);
                delay = delay_ns();
                if (delay == moment.delay_ns)
                        return moment;
        }
}

static void begin(Waiter *waiter) {
        waiter->begun = moment_now();
}

static void end(Waiter *waiter) {
        Moment now = moment_now(), begun = waiter->begun;
        uint64_t elapsed = now.ns - begun.ns;
        uint64_t awake = now.run_ns - begun.run_ns + now.delay_ns - begun.delay_ns;
        size_t n = waiter->done->n;

        if (n == MAX_WAITS)
                return;
        waiter->done->waits[n] = (Wait){ begun.ns, now.ns, elapsed > awake ? elapsed - awake : 0 };
        __atomic_store_n(&waiter->done->n, n + 1, __ATOMIC_RELEASE);
}

static void pause_a_little(void) {
        const struct timespec time = { 0, PAUSE_NS };

        (void) nanosleep(&time, NULL);
}

static struct timespec soon(clockid_t clock) {
        uint64_t ns = clock_ns(clock) + (uint64_t) PAUSE_NS;

        return (struct timespec){ (time_t) (ns / 1000000000u), (long) (ns % 1000000000u) };
}

static void name_of(char *path, size_t n, const char *name) {
        (void) snprintf(path, n, "%s/%s", directory, name);
}

/* locks: a peer holds them */

static bool open_mutex(Waiter *waiter) {
        return pthread_mutex_init(&waiter->mutex, NULL) == 0;
}

static bool open_inheriting(Waiter *waiter) {
        pthread_mutexattr_t attributes;

        (void) pthread_mutexattr_init(&attributes);
        return pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0 &&
               pthread_mutex_init(&waiter->mutex, &attributes) == 0;
}

static void hold_mutex(Waiter *waiter) {
        (void) pthread_mutex_lock(&waiter->mutex);
        pause_a_little();
        (void) pthread_mutex_unlock(&waiter->mutex);
        (void) usleep(100);
}

static void wait_mutex(Waiter *waiter) {
        begin(waiter);
        (void) pthread_mutex_lock(&waiter->mutex);
        end(waiter);
        (void) pthread_mutex_unlock(&waiter->mutex);
        (void) usleep(200);
}

/* other futexes */

static bool open_condition(Waiter *waiter) {
        return open_mutex(waiter) && pthread_cond_init(&waiter->condition, NULL) == 0;
}

static void wait_condition(Waiter *waiter) {
        struct timespec until = soon(CLOCK_REALTIME);

        (void) pthread_mutex_lock(&waiter->mutex);
        begin(waiter);
        (void) pthread_cond_timedwait(&waiter->condition, &waiter->mutex, &until);
        end(waiter);
        (void) pthread_mutex_unlock(&waiter->mutex);
}

static bool open_semaphore(Waiter *waiter) {
        return sem_init(&waiter->semaphore, 0, 0) == 0;
}

static void post(Waiter *waiter) {
        (void) sem_post(&waiter->semaphore);
}

static void wait_semaphore(Waiter *waiter) {
        begin(waiter);
        (void) sem_wait(&waiter->semaphore);
        end(waiter);
}

static void *do_pause(void *userdata) {
        pause_a_little();
        return userdata;
}

static void wait_join(Waiter *waiter) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, do_pause, waiter) != 0)
                return;
        begin(waiter);
        (void) pthread_join(thread, NULL);
        end(waiter);
}

/* time */

static void wait_nanosleep(Waiter *waiter) {
        const struct timespec time = { 0, PAUSE_NS };

        begin(waiter);
        (void) syscall(SYS_nanosleep, &time, NULL);
        end(waiter);
}

static void wait_clock(Waiter *waiter) {
        struct timespec until = soon(CLOCK_MONOTONIC);

        begin(waiter);
        (void) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        end(waiter);
}

/* readiness */

static bool open_event(Waiter *waiter) {
        waiter->fds[0] = waiter->fds[1] = eventfd(0, EFD_CLOEXEC);
        return waiter->fds[0] >= 0;
}

static void wait_poll(Waiter *waiter) {
        struct pollfd poll_fd = { .fd = waiter->fds[0], .events = POLLIN };

        begin(waiter);
        (void) poll(&poll_fd, 1, PAUSE_NS / 1000000);
        end(waiter);
}

static void wait_select(Waiter *waiter) {
        struct timeval time = { 0, PAUSE_NS / 1000 };
        fd_set set;

        FD_ZERO(&set);
        FD_SET(waiter->fds[0], &set);
        begin(waiter);
        (void) select(waiter->fds[0] + 1, &set, NULL, NULL, &time);
        end(waiter);
}

static bool open_epoll(Waiter *waiter) {
        struct epoll_event event = { .events = EPOLLIN };

        if (!open_event(waiter))
                return false;
        waiter->fds[0] = epoll_create1(EPOLL_CLOEXEC);
        return waiter->fds[0] >= 0 &&
               epoll_ctl(waiter->fds[0], EPOLL_CTL_ADD, waiter->fds[1], &event) == 0;
}

static void wait_epoll(Waiter *waiter) {
        struct epoll_event event;

        begin(waiter);
        (void) epoll_wait(waiter->fds[0], &event, 1, PAUSE_NS / 1000000);
        end(waiter);
}

/* files: a peer writes one byte, or eight */

static bool open_pipe(Waiter *waiter) {
        return pipe2(waiter->fds, O_CLOEXEC) == 0;
}

static bool open_socket(Waiter *waiter) {
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, waiter->fds) == 0;
}

static bool open_terminal(Waiter *waiter) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
                return false;
        slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        waiter->fds[0] = slave;
        waiter->fds[1] = master;
        return slave >= 0;
}

static void write_line(Waiter *waiter) {
        (void) !write(waiter->fds[1], "\n", 1);
}

static void write_event(Waiter *waiter) {
        const uint64_t one = 1;

        (void) !write(waiter->fds[1], &one, sizeof(one));
}

static void wait_read(Waiter *waiter) {
        char bytes[8];

        begin(waiter);
        (void) !read(waiter->fds[0], bytes, sizeof(bytes));
        end(waiter);
}

static void wait_receive(Waiter *waiter) {
        char byte;

        begin(waiter);
        (void) recv(waiter->fds[0], &byte, 1, 0);
        end(waiter);
}

/* asynchronous I/O: of nothing, until the time is over */

static bool open_aio(Waiter *waiter) {
        return syscall(SYS_io_setup, 1, &waiter->aio) == 0;
}

static void wait_aio(Waiter *waiter) {
        struct timespec time = { 0, PAUSE_NS };
        struct io_event event;

        begin(waiter);
        (void) syscall(SYS_io_getevents, waiter->aio, 1L, 1L, &event, &time);
        end(waiter);
}

/* processes and signals */

static void wait_child(Waiter *waiter) {
        pid_t pid = fork();

        if (pid == 0) {
                pause_a_little();
                _exit(0);
        }
        begin(waiter);
        (void) waitpid(pid, NULL, 0);
        end(waiter);
}

static void wait_signal(Waiter *waiter) {
        const struct timespec time = { 0, PAUSE_NS };
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGUSR2);
        begin(waiter);
        (void) sigtimedwait(&set, NULL, &time);
        end(waiter);
}

/* The child only sleeps, and its parent sleeps uninterruptibly until it has ended. */
static void wait_vfork(Waiter *waiter) {
        pid_t pid;

        begin(waiter);
        pid = vfork();
        if (pid == 0) {
                const struct timespec time = { 0, PAUSE_NS };

                (void) syscall(SYS_nanosleep, &time, NULL);
                _exit(0);
        }
        end(waiter);
        (void) waitpid(pid, NULL, 0);
}

/* locks of files: of a peer that opened them for itself */

static bool open_locked(Waiter *waiter) {
        char path[PATH_BYTES];

        name_of(path, sizeof(path), waiter->kind);
        for (int i = 0; i < 2; i++) {
                waiter->fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
                if (waiter->fds[i] < 0)
                        return false;
        }
        return true;
}

static void hold_flock(Waiter *waiter) {
        (void) flock(waiter->fds[1], LOCK_EX);
        pause_a_little();
        (void) flock(waiter->fds[1], LOCK_UN);
        (void) usleep(100);
}

static void wait_flock(Waiter *waiter) {
        begin(waiter);
        (void) flock(waiter->fds[0], LOCK_EX);
        end(waiter);
        (void) flock(waiter->fds[0], LOCK_UN);
        (void) usleep(200);
}

static void set_record(int fd, short type) {
        struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

        (void) fcntl(fd, F_OFD_SETLKW, &lock);
}

static void hold_record(Waiter *waiter) {
        set_record(waiter->fds[1], F_WRLCK);
        pause_a_little();
        set_record(waiter->fds[1], F_UNLCK);
        (void) usleep(100);
}

static void wait_record(Waiter *waiter) {
        begin(waiter);
        set_record(waiter->fds[0], F_WRLCK);
        end(waiter);
        set_record(waiter->fds[0], F_UNLCK);
        (void) usleep(200);
}

/* System V */

static bool open_semaphores(Waiter *waiter) {
        waiter->fds[0] = semget(IPC_PRIVATE, 1, 0600);
        return waiter->fds[0] >= 0;
}

static void wait_semaphores(Waiter *waiter) {
        const struct timespec time = { 0, PAUSE_NS };
        struct sembuf take = { .sem_op = -1 };

        begin(waiter);
        (void) semtimedop(waiter->fds[0], &take, 1, &time);
        end(waiter);
}

static bool open_queue(Waiter *waiter) {
        waiter->fds[0] = msgget(IPC_PRIVATE, 0600);
        return waiter->fds[0] >= 0;
}

struct message {
        long type;
        char byte;
};

static void send_message(Waiter *waiter) {
        const struct message message = { .type = 1 };

        (void) msgsnd(waiter->fds[0], &message, 1, IPC_NOWAIT);
}

static void wait_message(Waiter *waiter) {
        struct message message;

        begin(waiter);
        (void) msgrcv(waiter->fds[0], &message, 1, 0, 0);
        end(waiter);
}

/* System calls that another thread answers: one waits in the call, the other in ioctl for it. */

static Waiter *asker; /* who asks sets fds[0] of who answers */

static bool open_asker(Waiter *waiter) {
        asker = waiter;
        waiter->fds[0] = -1;
        return sem_init(&waiter->semaphore, 0, 0) == 0;
}

/* Once, in the thread itself: from then on its getppid() waits. */
static int begin_asking(void) {
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return (int) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                             &program);
}

static void wait_answer(Waiter *waiter) {
        if (waiter->fds[0] < 0) {
                int fd = begin_asking();

                waiter->fds[0] = fd < 0 ? -2 : fd;
        }
        if (waiter->fds[0] < 0) {
                pause_a_little();
                return;
        }
        begin(waiter);
        (void) syscall(SYS_getppid);
        end(waiter);
        pause_a_little(); /* so that the other waits as well */
}

static void wait_question(Waiter *waiter) {
        struct seccomp_notif question = {};
        struct seccomp_notif_resp answer = {};
        int fd = asker->fds[0];

        if (fd < 0) {
                pause_a_little();
                return;
        }
        begin(waiter);
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &question) < 0)
                return;
        end(waiter);
        pause_a_little();
        answer.id = question.id;
        (void) ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Faults that a peer serves. */

static bool open_faults(Waiter *waiter) {
        struct uffdio_register range = {};
        struct uffdio_api api = { .api = UFFD_API };
        int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC);

        if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0)
                return false;
        waiter->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (waiter->page == MAP_FAILED)
                return false;
        range.range.start = (uintptr_t) waiter->page;
        range.range.len = 4096;
        range.mode = UFFDIO_REGISTER_MODE_MISSING;
        waiter->fds[0] = fd;
        return ioctl(fd, UFFDIO_REGISTER, &range) == 0;
}

static void serve_fault(Waiter *waiter) {
        struct pollfd poll_fd = { .fd = waiter->fds[0], .events = POLLIN };
        struct uffdio_zeropage zero = {};
        struct uffd_msg message;

        if (poll(&poll_fd, 1, 100) <= 0 ||
            read(waiter->fds[0], &message, sizeof(message)) != sizeof(message))
                return;
        pause_a_little();
        zero.range.start = (uintptr_t) waiter->page;
        zero.range.len = 4096;
        (void) ioctl(waiter->fds[0], UFFDIO_ZEROPAGE, &zero);
}

static void wait_fault(Waiter *waiter) {
        begin(waiter);
        (void) *(volatile char *) waiter->page;
        end(waiter);
        (void) madvise(waiter->page, 4096, MADV_DONTNEED);
}

/* A process of its own stops itself, and the peer lets it go on. */

static void wait_stopped(Waiter *waiter) {
        begin(waiter);
        (void) raise(SIGSTOP);
        end(waiter);
}

static void go_on(Waiter *waiter) {
        pid_t pid = __atomic_load_n(&waiter->done->tid, __ATOMIC_ACQUIRE);
        int status;

        if (pid == 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
                return;
        pause_a_little();
        (void) kill(pid, SIGCONT);
}

/* Writing back. */

static bool open_synced(Waiter *waiter) {
        char path[PATH_BYTES];

        name_of(path, sizeof(path), waiter->kind);
        waiter->fds[0] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        return waiter->fds[0] >= 0;
}

static void wait_sync(Waiter *waiter) {
        (void) !pwrite(waiter->fds[0], waiter, 512, (off_t) (waiter->done->n % 64 * 4096));
        begin(waiter);
        (void) fsync(waiter->fds[0]);
        end(waiter);
}

static bool open_nothing(Waiter *waiter) {
        return true;
}

// clang-format off
#define WAITER(kind_, reason_, open_, wait_, poke_)                                                \
        { .kind = kind_, .reason = reason_, .open = open_, .wait = wait_, .poke = poke_ }
static Waiter waiters[] = {
        WAITER("mutex", "lock", open_mutex, wait_mutex, hold_mutex),
        WAITER("inheriting", "lock", open_inheriting, wait_mutex, hold_mutex),
        WAITER("condition", "futex", open_condition, wait_condition, NULL),
        WAITER("semaphore", "futex", open_semaphore, wait_semaphore, post),
        WAITER("join", "futex", open_nothing, wait_join, NULL),
        WAITER("nanosleep", "sleep", open_nothing, wait_nanosleep, NULL),
        WAITER("clock", "sleep", open_nothing, wait_clock, NULL),
        WAITER("poll", "poll", open_event, wait_poll, NULL),
        WAITER("select", "poll", open_event, wait_select, NULL),
        WAITER("epoll", "poll", open_epoll, wait_epoll, NULL),
        WAITER("pipe", "pipe", open_pipe, wait_read, write_line),
        WAITER("socket", "socket", open_socket, wait_receive, write_line),
        WAITER("socket-read", "socket", open_socket, wait_read, write_line),
        WAITER("terminal", "terminal", open_terminal, wait_read, write_line),
        WAITER("event", "file", open_event, wait_read, write_event),
        WAITER("aio", "async_io", open_aio, wait_aio, NULL),
        WAITER("child", "child", open_nothing, wait_child, NULL),
        WAITER("signal", "signal", open_nothing, wait_signal, NULL),
        WAITER("flock", "file_lock", open_locked, wait_flock, hold_flock),
        WAITER("record", "file_lock", open_locked, wait_record, hold_record),
        WAITER("semaphores", "ipc", open_semaphores, wait_semaphores, NULL),
        WAITER("queue", "ipc", open_queue, wait_message, send_message),
        WAITER("asker", "other", open_asker, wait_answer, NULL),
        WAITER("answerer", "ioctl", open_nothing, wait_question, NULL),
        WAITER("fault", "fault", open_faults, wait_fault, serve_fault),
        WAITER("stopped", "stopped", open_nothing, wait_stopped, go_on),
        WAITER("vfork", "uninterruptible", open_nothing, wait_vfork, NULL),
        WAITER("fsync", "sync", open_synced, wait_sync, NULL),
};
// clang-format on
#define N_WAITERS (sizeof(waiters) / sizeof(*waiters))

static void *run_waiter(void *userdata) {
        Waiter *waiter = userdata;

        (void) prctl(PR_SET_NAME, waiter->kind);
        __atomic_store_n(&waiter->done->tid, (int) syscall(SYS_gettid), __ATOMIC_RELEASE);
        for (;;)
                waiter->wait(waiter);
        return NULL;
}

static void *run_peer(void *userdata) {
        const Waiter *waiter = userdata;

        (void) prctl(PR_SET_NAME, "peer");
        for (;;) {
                pause_a_little();
                waiter->poke(userdata);
        }
        return NULL;
}

static bool start(Waiter *waiter) {
        pthread_t thread;
        pid_t pid = 0;

        waiter->done = mmap(NULL, sizeof(*waiter->done), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (waiter->done == MAP_FAILED || !waiter->open(waiter))
                return false;
        if (waiter->wait == wait_stopped) {
                pid = fork();
                if (pid == 0) {
                        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                        (void) run_waiter(waiter);
                }
        } else if (pthread_create(&thread, NULL, run_waiter, waiter) != 0)
                return false;
        if (pid < 0 || (waiter->poke && pthread_create(&thread, NULL, run_peer, waiter) != 0))
                return false;
        while (__atomic_load_n(&waiter->done->tid, __ATOMIC_ACQUIRE) == 0)
                pause_a_little();
        return true;
}

/* Of a wait in progress as much of it as of its time has passed. */
static void answer(const Waiter *waiter, uint64_t time_ns) {
        size_t n = __atomic_load_n(&waiter->done->n, __ATOMIC_ACQUIRE), n_begun = 0;
        double ns = 0;

        for (size_t i = 0; i < n; i++) {
                const Wait *wait = &waiter->done->waits[i];
                uint64_t elapsed = wait->end_ns - wait->begin_ns;

                if (wait->begin_ns >= time_ns)
                        break;
                n_begun++;
                ns += wait->end_ns <= time_ns || elapsed == 0
                              ? (double) wait->ns
                              : (double) wait->ns * (double) (time_ns - wait->begin_ns) /
                                        (double) elapsed;
        }
        (void) printf("%.0f %zu\n", ns, n_begun);
        (void) fflush(stdout);
}

int main(int argc, char **argv) {
        uint64_t boottime_ns = clock_ns(CLOCK_BOOTTIME), since_ns = clock_ns(CLOCK_MONOTONIC);
        unsigned long long time_ns;
        bool is_there[N_WAITERS];
        sigset_t set;
        int tid;

        if (argc != 2)
                return 2;
        directory = argv[1];
        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGUSR2);
        (void) pthread_sigmask(SIG_BLOCK, &set, NULL);
        for (size_t i = 0; i < N_WAITERS; i++) {
                is_there[i] = start(&waiters[i]);
                if (is_there[i])
                        (void) printf("%d %s %s\n", waiters[i].done->tid, waiters[i].kind,
                                      waiters[i].reason);
        }
        (void) printf("\n");
        (void) fflush(stdout);
        while (scanf("%d %llu", &tid, &time_ns) == 2)
                for (size_t i = 0; i < N_WAITERS; i++)
                        if (is_there[i] && waiters[i].done->tid == tid)
                                answer(&waiters[i], time_ns - boottime_ns + since_ns);
        for (size_t i = 0; i < N_WAITERS; i++) {
                if (waiters[i].open == open_semaphores)
                        (void) semctl(waiters[i].fds[0], 0, IPC_RMID);
                else if (waiters[i].open == open_queue)
                        (void) msgctl(waiters[i].fds[0], IPC_RMID, NULL);
        }
        return 0;
}
