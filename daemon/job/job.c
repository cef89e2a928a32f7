/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/name.h"
#include "job/descriptor/child.h"
#include "job/descriptor/disposal.h"
#include "job/spawner.h"
#include "wire/frame-keeper.h"
#include "wire/limits.h"

/* How long a child that has answered may take to end by itself. */
#define JOB_FAREWELL_NS (5 * NSEC_PER_SEC)
#define JOB_TIMER_ACCURACY_US 10000
/* The main process makes frames of replies, with a few members around what a job wrote. */
#define JOB_REPLY_BYTES (LIMIT_REPLY_BYTES - 256u)
/* So many packets are read before other events are served. */
#define JOB_PACKETS_PER_TURN 16u

struct Job {
        const JobSetup *setup;
        const JobTerms *terms;
        const JobEvents *events; /* NULL: the caller has freed the job */
        void *userdata;
        uid_t uid;
        Charge hangable, stuck; /* of a kind that counts for its user */
        int socket;             /* owned */
        PacketReader reader;
        DisposalKeeper keeper; /* of both */
        pid_t pid;             /* 0: none yet */
        uint64_t timeout_ns;

        bool paused;
        bool stopping;    /* it was asked to come to an end and answer */
        bool answered;    /* the last reply was delivered */
        bool input_ended; /* nothing more comes from the child */
        bool exited;      /* the child has ended */
        bool killed;
        uint64_t killed_realtime_ns;
        JobKill kill;
        siginfo_t status;

        sd_event_source *io;
        sd_event_source *next; /* settles it in an event of its own */
        sd_event_source *exit;
        sd_event_source *deadline;
};

/* the reason of an end */

/* Why the parent killed the child. A text with an @after has the time limit in between. */
static const struct {
        const char *before;
        const char *after; /* NULL: the reason has no time */
} kill_rows[] = {
        [JOB_KILL_DEADLINE] = { "took longer than", "and was stopped" },
        [JOB_KILL_SILENT] = { "gave no sign of life for", "and was stopped" },
        [JOB_KILL_LINGERING] = { "was asked to end, did not within", "and was stopped" },
        [JOB_KILL_CANCELLED] = { "was stopped before it could answer", NULL },
        [JOB_KILL_NONSENSE] = { "gave a malformed reply and was stopped", NULL },
        [JOB_KILL_STUCK] = { "took longer than",
                             "and hangs in the kernel, where nothing can stop it" },
        [JOB_KILL_UNHEARD] = { "was stopped: the daemon could not talk to it", NULL },
};

/* Signals that say more than their name. */
static const struct {
        int number;
        const char *text;
} signal_rows[] = {
        { SIGKILL, "was killed, most likely because memory ran out" },
        { SIGSYS, "was stopped by its sandbox: it made a system call it may not make" },
        { SIGXCPU, "used more CPU time than it may" },
        { SIGXFSZ, "wrote a larger file than it may" },
};

void job_exit_text(const char *kind, JobKill kill, uint64_t timeout_ns, const siginfo_t *status,
                   char ret[static JOB_EXIT_TEXT_BYTES]) {
        size_t n = (size_t) snprintf(ret, JOB_EXIT_TEXT_BYTES, "The %s job ", kind);
        size_t left = JOB_EXIT_TEXT_BYTES - n;

        ret += n;
        if (kill != JOB_KILL_NONE) {
                if (kill_rows[kill].after)
                        (void) snprintf(ret, left, "%s %" PRIu64 " s %s.", kill_rows[kill].before,
                                        timeout_ns / NSEC_PER_SEC, kill_rows[kill].after);
                else
                        (void) snprintf(ret, left, "%s.", kill_rows[kill].before);
                return;
        }
        if (status->si_code == CLD_EXITED) {
                if (status->si_status == SPAWNER_EXIT_EXEC)
                        (void) snprintf(ret, left, "could not be started.");
                else
                        (void) snprintf(ret, left, "ended with status %d and without an answer.",
                                        status->si_status);
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(signal_rows); i++)
                if (signal_rows[i].number == status->si_status) {
                        (void) snprintf(ret, left, "%s.", signal_rows[i].text);
                        return;
                }
        (void) snprintf(ret, left, "crashed (signal %d, %s).", status->si_status,
                        strsignal(status->si_status));
}

const JobTerms *job_terms_of(const Job *job) {
        return job->terms;
}

pid_t job_pid(const Job *job) {
        return job->pid;
}

uid_t job_uid(const Job *job) {
        return job->uid;
}

size_t job_n_fds(const Job *job) {
        return job->reader.n_fds;
}

int job_take_fd(Job *job, size_t index) {
        return packet_take_fd(&job->reader, index);
}

bool job_is_stuck(const Job *job) {
        return job->kill == JOB_KILL_STUCK;
}

uint64_t job_killed_realtime_ns(const Job *job) {
        return job->killed_realtime_ns;
}

/* A child that is not reaped keeps its process id, so no other process can be hit. */
void job_kill(Job *job) {
        if (job->pid > 0 && !job->exited)
                (void) kill(job->pid, SIGKILL);
}

static void start_deadline(Job *job, uint64_t ns) {
        (void) sd_event_source_set_time_relative(job->deadline, ns / NSEC_PER_USEC);
        (void) sd_event_source_set_enabled(job->deadline, SD_EVENT_ONESHOT);
}

/* The first reason stays. The child should be gone in a moment. */
static void kill_child(Job *job, JobKill why) {
        if (job->kill == JOB_KILL_NONE)
                job->kill = why;
        job_kill(job);
        if (!job->killed && !job->exited)
                start_deadline(job, JOB_FAREWELL_NS);
        if (!job->killed)
                job->killed_realtime_ns = clock_now_ns(CLOCK_REALTIME);
        job->killed = true;
}

/* A socket whose peer hung up is always ready, so the source is off unless it is needed. */
static void arm(Job *job) {
        bool reads = job->events && !job->paused && !job->answered && !job->input_ended;

        (void) sd_event_source_set_enabled(job->io, reads ? SD_EVENT_ON : SD_EVENT_OFF);
}

/* replies */

/* @r: a negative errno of the socket, or a positive code when the reply was malformed. */
static void give_up(Job *job, int r) {
        job->input_ended = true;
        kill_child(job, r < 0 ? JOB_KILL_UNHEARD : JOB_KILL_NONSENSE);
}

/* Whether a job of ours could have written it. */
static bool make_reply(const PacketReader *reader, JobReply *ret) {
        Span body = buffer_span(&reader->body);

        *ret = (JobReply){ .kind = reader->kind, .body = body };
        switch (reader->kind) {
        case PACKET_PART:
        case PACKET_LAST:
                return body.n > 0 && !memchr(body.bytes, '\0', body.n) && utf8_is_valid(body);
        case PACKET_ERROR:
                return failure_unpack(body, &ret->error, &ret->detail);
        case PACKET_RESULT:
        case PACKET_CHANGE:
        case PACKET_MEMORY:
        case PACKET_FILES:
        case PACKET_LEFT:
        case PACKET_LISTENING:
                return true;
        case PACKET_ORDER:
        case PACKET_STOP:
        case PACKET_TELL:
        case _PACKET_KIND_MAX:
                break;
        }
        return false;
}

static void deliver(Job *job) {
        JobReply reply;

        if (!make_reply(&job->reader, &reply)) {
                give_up(job, PACKET_E_MALFORMED);
                return;
        }
        if (job_reply_is_last(&reply)) {
                job->answered = true;
                start_deadline(job, JOB_FAREWELL_NS);
        } else if (job->terms->clock == JOB_CLOCK_SILENCE && !job->stopping && !job->killed) {
                start_deadline(job, job->timeout_ns);
        }
        job->events->on_reply(job, &reply, job->userdata);
}

static void read_packets(Job *job) {
        int r = 0;

        for (unsigned i = 0; i < JOB_PACKETS_PER_TURN; i++) {
                if (!job->events || job->paused || job->answered || job->input_ended)
                        return;
                r = packet_receive(&job->reader, job->socket);
                if (r == PACKET_E_AGAIN)
                        return;
                if (r == PACKET_E_CLOSED)
                        job->input_ended = true;
                else if (r == 0)
                        deliver(job);
                else if (r != PACKET_E_PARTIAL)
                        give_up(job, r);
        }
}

/*
 * Reports the end once the child has ended and all it sent was read: a child may leave replies
 * behind, and may live on after its last byte. A child that cannot be killed is not waited for.
 */
static void tell_end(Job *job) {
        char reason[JOB_EXIT_TEXT_BYTES];

        if (!(job->exited || job_is_stuck(job)) || !job->input_ended || job->answered ||
            job->paused || !job->events)
                return;
        job_exit_text(job->terms->word, job->kill, job->timeout_ns, &job->status, reason);
        job->answered = true; /* no event may come after this one */
        job->events->on_end(job, reason, job->userdata);
}

/* Every event handler ends with this. Destroys a job that was freed and whose child is gone. */
static void settle(Job *job) {
        tell_end(job);
        if (job->exited && !job->events)
                (void) job_destroy(job);
        else
                arm(job);
}

/* event sources */

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Job *job = userdata;

        read_packets(job);
        settle(job);
        return 0;
}

static int on_next(sd_event_source *source, void *userdata) {
        settle(userdata);
        return 0;
}

static int on_exit_child(sd_event_source *source, const siginfo_t *status, void *userdata) {
        Job *job = userdata;

        job->status = *status;
        job->exited = true;
        /*
         * sd-event reaps it when this returns. The next child may get its number then, which one
         * source can watch at a time.
         */
        job->exit = sd_event_source_disable_unref(job->exit);
        (void) sd_event_source_set_enabled(job->deadline, SD_EVENT_OFF);
        job->setup->on_exit(job, status, job->setup->owner);
        settle(job);
        return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;

        if (!job->killed) {
                JobKill why = JOB_KILL_DEADLINE;

                if (job->stopping)
                        why = JOB_KILL_LINGERING;
                else if (job->terms->clock == JOB_CLOCK_SILENCE)
                        why = JOB_KILL_SILENT;
                kill_child(job, why);
                return 0;
        }
        /* SIGKILL did not end it within JOB_FAREWELL_NS, so it hangs in the kernel. */
        job->kill = JOB_KILL_STUCK;
        job->input_ended = true;
        charge_set(&job->hangable, 1);
        charge_set(&job->stuck, 1);
        job->setup->on_stuck(job, job->setup->owner);
        settle(job);
        return 0;
}

/* life */

static int add_sources(Job *job) {
        sd_event *event = job->setup->event;
        int r;

        r = sd_event_add_io(event, &job->io, job->socket, EPOLLIN, on_io, job);
        if (r < 0)
                return r;
        r = sd_event_add_defer(event, &job->next, on_next, job);
        if (r < 0)
                return r;
        (void) sd_event_source_set_enabled(job->next, SD_EVENT_OFF);
        r = child_exit_watch(event, &job->exit, job->pid, on_exit_child, job);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(event, &job->deadline, CLOCK_MONOTONIC,
                                       job->timeout_ns / NSEC_PER_USEC, JOB_TIMER_ACCURACY_US,
                                       on_deadline, job);
        if (r < 0)
                return r;

        if (job->terms->clock == JOB_CLOCK_NONE)
                (void) sd_event_source_set_enabled(job->deadline, SD_EVENT_OFF);

        (void) sd_event_source_set_description(job->io, "job-io");
        (void) sd_event_source_set_description(job->next, "job-next");
        (void) sd_event_source_set_description(job->exit, "job-exit");
        (void) sd_event_source_set_description(job->deadline, "job-deadline");
        return 0;
}

/* A child that does not take its order has ended, and its exit status says why. */
static int send_order(Job *job, const JobOrder *order) {
        int r = packet_send(job->socket, PACKET_ORDER, order->body, order->fds, order->n_fds,
                            MSG_DONTWAIT);

        if (r < 0 && r != -EPIPE)
                return r;
        for (size_t i = 0; i < order->n_fds; i++)
                frame_keeper_close(&job->keeper.keeper, order->fds[i]);
        return 0;
}

static int start_child(Job *job, const JobOrder *order, uint64_t max_data_bytes) {
        _cleanup_(fd_closep) int child_fd = -EBADF;
        char argument[64];
        int ends[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        job->socket = ends[0];
        child_fd = ends[1];
        (void) snprintf(argument, sizeof(argument), "--job=%s", job->terms->word);
        r = spawner_start(job->setup->spawner,
                          &(SpawnOrder){ .argument = argument,
                                         .socket_fd = child_fd,
                                         .max_data_bytes = MIN_OF(max_data_bytes,
                                                                  order->terms->max_data_bytes),
                                         .max_file_bytes = order->max_file_bytes },
                          &job->pid);
        if (r == 0)
                r = add_sources(job);
        return r < 0 ? r : send_order(job, order);
}

static void destroy(Job *job) {
        sd_event_source_disable_unref(job->deadline);
        sd_event_source_disable_unref(job->exit);
        sd_event_source_disable_unref(job->next);
        sd_event_source_disable_unref(job->io);
        packet_reader_done(&job->reader);
        frame_keeper_close_socket(&job->keeper.keeper, job->socket);
        charge_end(&job->stuck);
        charge_end(&job->hangable);
        free(job);
}

/* Takes back a job that job_new() could not complete: kills its child and waits for it. */
static void abandon(Job *job) {
        job->exit = sd_event_source_disable_unref(job->exit);
        job_kill(job);
        if (job->pid > 0)
                (void) waitpid(job->pid, NULL, 0);
        destroy(job);
}

/*
 * Until it is gone it may hang, also when it was killed or has answered: because it reads a file
 * that a caller sent, or for another reason, once it is known to be stuck.
 */
static int charge(Job *job, Users *users) {
        int r;

        if (job->terms->counts_alone)
                return 0;
        r = charge_begin(&job->stuck, users, job->uid, USE_STUCK, 0);
        return r == 0 ? charge_begin(&job->hangable, users, job->uid, USE_HANGABLE,
                                     job->terms->reads_foreign)
                      : r;
}

int job_new(const JobSetup *setup, const JobOrder *order, uint64_t max_data_bytes,
            const JobEvents *events, void *userdata, Job **ret) {
        uint64_t timeout_ns = order->timeout_ns;
        Job *job;
        int r;

        job = malloc(sizeof(*job));
        if (!job)
                return -ENOMEM;
        *job = (Job){
                .setup = setup,
                .terms = order->terms,
                .uid = order->uid,
                .socket = -EBADF,
                .timeout_ns = timeout_ns > 0 ? timeout_ns : order->terms->time_ns,
        };
        packet_reader_init(&job->reader, JOB_REPLY_BYTES);
        disposal_keeper_init(&job->keeper, setup->disposal, order->uid);
        job->reader.keeper = &job->keeper.keeper;
        r = charge(job, setup->users);
        if (r == 0)
                r = start_child(job, order, max_data_bytes);
        if (r < 0) {
                abandon(job);
                return r;
        }
        job->events = events;
        job->userdata = userdata;
        *ret = job;
        return 0;
}

/* A function that called us may still use the job, so an event of its own destroys it later. */
Job *job_free(Job *job) {
        if (!job)
                return NULL;

        job->events = NULL;
        if (!job->answered)
                kill_child(job, JOB_KILL_NONE);
        arm(job);
        (void) sd_event_source_set_enabled(job->next, SD_EVENT_ONESHOT);
        return NULL;
}

Job *job_destroy(Job *job) {
        job->setup->on_gone(job, job->setup->owner);
        destroy(job);
        return NULL;
}

int job_stop(Job *job) {
        int r;

        assert(job->terms->clock == JOB_CLOCK_SILENCE);
        if (job->answered || job->input_ended || job->killed)
                return 0;
        if (job->stopping) {
                kill_child(job, JOB_KILL_CANCELLED);
                return 0;
        }
        r = packet_send(job->socket, PACKET_STOP, (Span){}, NULL, 0, MSG_DONTWAIT);
        if (r < 0 && r != -EPIPE)
                return r;
        job->stopping = true;
        start_deadline(job, job->timeout_ns);
        arm(job);
        return 0;
}

int job_send(Job *job, PacketKind kind, int fd) {
        int r;

        assert(job->terms->clock == JOB_CLOCK_NONE);
        if (job->answered || job->input_ended || job->killed)
                return -ENOTCONN;
        r = packet_send(job->socket, kind, (Span){}, &fd, 1, MSG_DONTWAIT);
        if (r == 0)
                frame_keeper_close(&job->keeper.keeper, fd);
        return r == -EAGAIN ? -EBUSY : r == -EPIPE ? -ENOTCONN : r;
}

/* A paused job cannot send, so its silence does not count against it. */
static bool is_excused(const Job *job) {
        return job->terms->clock == JOB_CLOCK_SILENCE && !job->answered && !job->killed;
}

void job_pause(Job *job) {
        job->paused = true;
        if (is_excused(job))
                (void) sd_event_source_set_enabled(job->deadline, SD_EVENT_OFF);
        arm(job);
}

void job_resume(Job *job) {
        if (job->paused && is_excused(job))
                start_deadline(job, job->timeout_ns);
        job->paused = false;
        (void) sd_event_source_set_enabled(job->next, SD_EVENT_ONESHOT);
}
