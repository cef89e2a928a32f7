/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/descriptor/disposal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "base/array.h"
#include "job/descriptor/child.h"
#include "job/descriptor/timer.h"

#define NOBODY ((uid_t) -1) /* not a valid user */

/* The lane of all sockets: closing one does not flush a file, so none delays others for long. */
#define SOCKETS NOBODY

#define DISPOSAL_CHILDREN 32u
#define DISPOSAL_RETRY_NS NSEC_PER_SEC
/*
 * How long a socket may linger in a child. This must be much longer than handling a signal takes,
 * or a child on a slow machine would do nothing else.
 */
#define DISPOSAL_TICK_US 5000
#define DISPOSAL_FAREWELL_MS 1000

typedef struct FdList {
        int *fds;
        size_t n, n_allocated;
} FdList;

/* Descriptors that are closed by one child after the other. */
typedef struct Lane {
        struct Lane *next;
        Disposal *disposal;
        uid_t uid;
        Charge charge;
        FdList waiting; /* the next child will close these */
        FdList closing; /* the present child closes these */
        pid_t pid;      /* of the present child; 0: there is none */
        sd_event_source *exit;
} Lane;

struct Disposal {
        sd_event *event;
        Users *users; /* borrowed */
        sd_event_source *turn;
        Lane *lanes;
        unsigned n_children;
        int stand_in_fd; /* takes the place of a closed descriptor until its number is free */
        uid_t *owners;   /* indexed by descriptor; NOBODY for our own */
        size_t n_owners;
};

/* the child */

static void on_tick(int number) {
}

/*
 * Closes the files by putting a stand-in at each number. Only the parent frees the numbers, after
 * the child has succeeded; when a child fails, the next one can therefore do its whole list again.
 * The timer's signal interrupts a close that lingers on a socket. It does not interrupt a flush:
 * the child waits for as long as that takes.
 */
static _noreturn_ void close_all(const FdList *list, int stand_in_fd, pid_t parent) {
        const struct itimerval ticks = { .it_interval = { .tv_usec = DISPOSAL_TICK_US },
                                         .it_value = { .tv_usec = DISPOSAL_TICK_US } };
        const struct sigaction action = { .sa_handler = on_tick };
        sigset_t blocked;

        (void) sigfillset(&blocked);
        (void) sigdelset(&blocked, SIGALRM);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
            sigprocmask(SIG_SETMASK, &blocked, NULL) < 0 || sigaction(SIGALRM, &action, NULL) < 0 ||
            setitimer(ITIMER_REAL, &ticks, NULL) < 0)
                _exit(EXIT_FAILURE);
        for (size_t i = 0; i < list->n; i++)
                if (dup3(stand_in_fd, list->fds[i], O_CLOEXEC) < 0)
                        _exit(EXIT_FAILURE);
        _exit(EXIT_SUCCESS);
}

/* lanes */

static void drop_lane(Lane **link) {
        Lane *lane = *link;

        *link = lane->next;
        charge_end(&lane->charge);
        sd_event_source_disable_unref(lane->exit);
        free(lane->closing.fds);
        free(lane->waiting.fds);
        free(lane);
}

/* Without memory it is closed here: waiting is better than a leak. */
static void lane_add(Lane *lane, int fd) {
        FdList *list = &lane->waiting;

        if (ARRAY_RESERVE(list->fds, list->n_allocated, list->n + 1) != 0)
                (void) fd_close(fd);
        else
                list->fds[list->n++] = fd;
}

/*
 * The child has ended. Frees the numbers if it succeeded; otherwise the next child gets the whole
 * list. @source: NULL where that was not heard by an event.
 */
static int on_exit_child(sd_event_source *source, const siginfo_t *status, void *userdata) {
        Lane *lane = userdata;
        Disposal *disposal = lane->disposal;
        bool is_done = status->si_code == CLD_EXITED && status->si_status == EXIT_SUCCESS;

        lane->exit = sd_event_source_disable_unref(lane->exit);
        lane->pid = 0;
        disposal->n_children--;
        for (size_t i = 0; i < lane->closing.n; i++)
                if (is_done)
                        (void) fd_close(lane->closing.fds[i]);
                else
                        lane_add(lane, lane->closing.fds[i]);
        lane->closing.n = 0;
        charge_set(&lane->charge, lane->waiting.n);
        timer_start(disposal->turn, is_done ? 0 : DISPOSAL_RETRY_NS);
        return 0;
}

static bool lane_start(Lane *lane) {
        Disposal *disposal = lane->disposal;
        FdList emptied = { .fds = lane->closing.fds, .n_allocated = lane->closing.n_allocated };
        pid_t parent = getpid(), child;

        child = child_fork(false);
        if (child == 0)
                close_all(&lane->waiting, disposal->stand_in_fd, parent);
        if (child < 0)
                return false;
        /* The child's list must stay as it is, so new descriptors go to the other one. */
        lane->closing = lane->waiting;
        lane->waiting = emptied;
        lane->pid = child;
        disposal->n_children++;
        /* If its end cannot be watched, every turn looks whether it has ended. */
        if (child_exit_watch(disposal->event, &lane->exit, child, on_exit_child, lane) < 0)
                timer_start(disposal->turn, DISPOSAL_RETRY_NS);
        return true;
}

static int on_turn(sd_event_source *source, uint64_t usec, void *userdata) {
        Disposal *disposal = userdata;
        Lane **link = &disposal->lanes;

        /* Notices the end of children that could not be watched, and drops lanes that are idle. */
        while (*link) {
                Lane *lane = *link;
                siginfo_t status;

                if (lane->pid > 0 && !lane->exit) {
                        if (child_exit_take(lane->pid, &status))
                                (void) on_exit_child(NULL, &status, lane);
                        else
                                timer_start(disposal->turn, DISPOSAL_RETRY_NS);
                }
                if (lane->pid == 0 && lane->waiting.n == 0)
                        drop_lane(link);
                else
                        link = &lane->next;
        }
        for (Lane *lane = disposal->lanes; lane; lane = lane->next) {
                if (lane->pid > 0 || lane->waiting.n == 0)
                        continue;
                if (disposal->n_children == DISPOSAL_CHILDREN)
                        break; /* the end of one of them comes back here */
                if (!lane_start(lane)) {
                        timer_start(disposal->turn, DISPOSAL_RETRY_NS);
                        break;
                }
        }
        return 0;
}

static void put_away(Disposal *disposal, int fd, uid_t uid) {
        Lane *lane = disposal->lanes;

        while (lane && lane->uid != uid)
                lane = lane->next;
        if (!lane) {
                lane = malloc(sizeof(*lane));
                if (lane)
                        *lane = (Lane){ .disposal = disposal, .uid = uid };
                if (lane && charge_begin(&lane->charge, disposal->users, uid, USE_CLOSING, 0) < 0) {
                        free(lane);
                        lane = NULL;
                }
                if (!lane) {
                        (void) fd_close(fd); /* waiting is better than a leak */
                        return;
                }
                lane->next = disposal->lanes;
                disposal->lanes = lane;
        }
        lane_add(lane, fd);
        charge_set(&lane->charge, lane->waiting.n + lane->closing.n);
        if (lane->pid == 0)
                timer_start(disposal->turn, 0);
}

/* descriptors */

int disposal_close(Disposal *disposal, int fd) {
        uid_t uid = NOBODY;

        if (fd >= 0 && (size_t) fd < disposal->n_owners)
                uid = TAKE(disposal->owners[fd], NOBODY);
        if (uid == NOBODY)
                return fd_close(fd);
        put_away(disposal, fd, uid);
        return -EBADF;
}

int disposal_close_socket(Disposal *disposal, int fd) {
        int n_unread = 0;

        if (fd < 0)
                return -EBADF;
        /* After this nobody can send any more, so the number of unread bytes is final. */
        (void) shutdown(fd, SHUT_RD);
        if (ioctl(fd, SIOCINQ, &n_unread) < 0 || n_unread == 0)
                return fd_close(fd);
        put_away(disposal, fd, SOCKETS);
        return -EBADF;
}

static void keeper_note(int fd, void *userdata) {
        const DisposalKeeper *keeper = userdata;
        Disposal *disposal = keeper->disposal;
        size_t n = disposal->n_owners;

        if (ARRAY_RESERVE(disposal->owners, disposal->n_owners, (size_t) fd + 1) != 0)
                return;
        for (; n < disposal->n_owners; n++)
                disposal->owners[n] = NOBODY;
        disposal->owners[fd] = keeper->uid;
}

static void keeper_close(int fd, void *userdata) {
        const DisposalKeeper *keeper = userdata;

        (void) disposal_close(keeper->disposal, fd);
}

static void keeper_close_socket(int fd, void *userdata) {
        const DisposalKeeper *keeper = userdata;

        (void) disposal_close_socket(keeper->disposal, fd);
}

void disposal_keeper_init(DisposalKeeper *keeper, Disposal *disposal, uid_t uid) {
        *keeper = (DisposalKeeper){
                .keeper = {
                        .note = keeper_note,
                        .close = keeper_close,
                        .close_socket = keeper_close_socket,
                        .userdata = keeper,
                },
                .disposal = disposal,
                .uid = uid,
        };
}

unsigned disposal_n_children(const Disposal *disposal) {
        return disposal->n_children;
}

/* life */

int disposal_new(sd_event *event, Users *users, Disposal **ret) {
        _cleanup_(disposal_freep) Disposal *disposal = NULL;
        sigset_t child;
        int r;

        disposal = malloc(sizeof(*disposal));
        if (!disposal)
                return -ENOMEM;
        *disposal = (Disposal){
                .event = sd_event_ref(event),
                .users = users,
                .stand_in_fd = -EBADF,
        };

        disposal->stand_in_fd = eventfd(0, EFD_CLOEXEC);
        if (disposal->stand_in_fd < 0)
                return -errno;
        /* As sd_event_add_child() requires. */
        (void) sigemptyset(&child);
        (void) sigaddset(&child, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
                return -errno;
        r = timer_new(event, &disposal->turn, "disposal-turn", 1, on_turn, disposal);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(disposal);
        return 0;
}

/* A child that does not end in time dies with this process: PR_SET_PDEATHSIG. */
static void await_end(Lane *lane, int *timeout_ms) {
        siginfo_t status;

        lane->exit = sd_event_source_disable_unref(lane->exit);
        if (child_exit_await(lane->pid, &status, timeout_ms))
                (void) on_exit_child(NULL, &status, lane);
}

Disposal *disposal_free(Disposal *disposal) {
        int timeout_ms = DISPOSAL_FAREWELL_MS;

        if (!disposal)
                return NULL;
        while (disposal->lanes) {
                Lane *lane = disposal->lanes;

                if (lane->pid > 0)
                        await_end(lane, &timeout_ms);
                if (lane->waiting.n > 0 && lane_start(lane))
                        await_end(lane, &timeout_ms);
                drop_lane(&disposal->lanes);
        }
        sd_event_source_disable_unref(disposal->turn);
        sd_event_unref(disposal->event);
        (void) fd_close(disposal->stand_in_fd);
        free(disposal->owners);
        free(disposal);
        return NULL;
}
