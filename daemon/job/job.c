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

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/name.h"
#include "job/descriptor/child.h"
#include "job/descriptor/disposal.h"
#include "job/descriptor/timer.h"
#include "job/spawner.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* How long a child that has answered may take to end by itself. */
#define JOB_FAREWELL_NS (5 * NSEC_PER_SEC)
#define JOB_TIMER_ACCURACY_US 10000
/* The main process makes frames of replies, with a few members around what a job wrote. */
#define JOB_REPLY_BYTES (LIMIT_REPLY_BYTES - 256u)
/* So many packets are read before other events are served. */
#define JOB_PACKETS_PER_TURN 16u
/* How long job_pool_free() waits for the children it killed. */
#define JOB_POOL_FAREWELL_MS 1000

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
        [JOB_KILL_HOLDING] = { "has answered and hangs in the kernel, where it could still change "
                               "what it has written",
                               NULL },
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

/* The first reason stays. The child should be gone in a moment. */
static void kill_child(Job *job, JobKill why) {
        if (job->kill == JOB_KILL_NONE)
                job->kill = why;
        /* A child that is not reaped keeps its process id, so no other process can be hit. */
        if (!job->exited)
                (void) kill(job->pid, SIGKILL);
        if (!job->killed && !job->exited)
                timer_start(job->deadline, JOB_FAREWELL_NS);
        if (!job->killed)
                job->killed_realtime_ns = clock_now_ns(CLOCK_REALTIME);
        job->killed = true;
}

/* A socket whose peer hung up is always ready, so the source is off unless it is needed. */
static void arm(Job *job) {
        bool reads = job->on_reply && !job->paused && !job->answered && !job->input_ended;

        (void) sd_event_source_set_enabled(job->io, reads ? SD_EVENT_ON : SD_EVENT_OFF);
}

/* replies */

static JobReply reply_of(Job *job) {
        PacketReader *reader = &job->reader;

        return (JobReply){
                .kind = reader->kind,
                .body = buffer_span(&reader->body),
                .fds = reader->fds,
                .n_fds = reader->n_fds,
                .is_last = reader->kind == PACKET_LAST || reader->kind == PACKET_RESULT ||
                           reader->kind == PACKET_ERROR,
        };
}

/* PACKET_E_MALFORMED when no job of ours could have written it. */
static int deliver(Job *job) {
        JobReply reply = reply_of(job);
        bool is_sound = false;

        switch (reply.kind) {
        case PACKET_PART:
        case PACKET_LAST:
                is_sound = reply.body.n > 0 && !memchr(reply.body.bytes, '\0', reply.body.n) &&
                           utf8_is_valid(reply.body);
                break;
        case PACKET_ERROR:
                is_sound = failure_unpack(reply.body, &reply.error, &reply.detail);
                break;
        case PACKET_RESULT:
        case PACKET_ENTRIES:
        case PACKET_CHANGE:
        case PACKET_MEMORY:
        case PACKET_FILES:
        case PACKET_UNWIND:
        case PACKET_CLOCKS:
        case PACKET_LEFT:
        case PACKET_LISTENING:
                is_sound = true;
                break;
        case PACKET_ORDER:
        case PACKET_STOP:
        case PACKET_TELL:
        case _PACKET_KIND_MAX:
                break;
        }
        if (!is_sound)
                return PACKET_E_MALFORMED;
        if (reply.is_last) {
                job->answered = true;
                timer_start(job->deadline, JOB_FAREWELL_NS);
        } else if (job->terms->clock == JOB_CLOCK_SILENCE && !job->stopping && !job->killed) {
                timer_start(job->deadline, job->timeout_ns);
        }
        job->held = job->waits && reply.is_last && reply.kind != PACKET_ERROR;
        if (!job->held)
                job->on_reply(job, &reply, job->userdata);
        return 0;
}

/* Frees a job at once. Its child must have been reaped, or is given up, or never was. */
static void forget(Job *job) {
        JobPool *pool = job->pool;

        for (size_t i = 0; i < pool->n_jobs; i++) {
                if (pool->jobs[i] != job)
                        continue;
                pool->jobs[i] = pool->jobs[--pool->n_jobs];
                if (pool->on_changed)
                        pool->on_changed(pool->userdata);
                break;
        }
        sd_event_source_disable_unref(job->deadline);
        sd_event_source_disable_unref(job->exit);
        sd_event_source_disable_unref(job->next);
        sd_event_source_disable_unref(job->io);
        packet_reader_done(&job->reader);
        (void) disposal_close_socket(pool->disposal, job->socket);
        charge_end(&job->stuck);
        charge_end(&job->hangable);
        free(job);
}

/*
 * Every event handler ends with this. It reports the end once the child has ended and all it sent
 * was read: a child may leave replies behind, and may live on after its last byte. A last reply
 * that waits for the end is delivered then. A child that cannot be killed is not waited for. A job
 * that was freed is released when its child has ended.
 */
static void settle(Job *job) {
        bool is_stuck = job->kill == JOB_KILL_STUCK, is_mute = job->input_ended && !job->answered;
        bool is_heard = job->on_reply && !job->paused;
        char reason[JOB_EXIT_TEXT_BYTES];
        JobReply last;

        if (is_heard && job->held && job->exited) {
                job->held = false;
                last = reply_of(job);
                job->on_reply(job, &last, job->userdata);
        } else if (is_heard && (is_mute || job->held) && (job->exited || is_stuck)) {
                job_exit_text(job->terms->word,
                              job->held && is_stuck ? JOB_KILL_HOLDING : job->kill, job->timeout_ns,
                              &job->status, reason);
                /* No event may come after this one. */
                job->answered = true;
                job->held = false;
                job->on_reply(job,
                              &(JobReply){ .kind = PACKET_ERROR,
                                           .error = WIRE_ERROR_JOB_FAILED,
                                           .detail = { .reason = reason },
                                           .is_last = true,
                                           .is_end = true },
                              job->userdata);
        }
        if (job->exited && !job->on_reply)
                forget(job);
        else
                arm(job);
}

/* event sources */

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Job *job = userdata;
        int r;

        for (unsigned i = 0; i < JOB_PACKETS_PER_TURN; i++) {
                if (!job->on_reply || job->paused || job->answered || job->input_ended)
                        break;
                r = packet_receive(&job->reader, job->socket);
                if (r == PACKET_E_AGAIN)
                        break;
                if (r == 0)
                        r = deliver(job);
                if (r == 0 || r == PACKET_E_PARTIAL)
                        continue;
                job->input_ended = true;
                if (r != PACKET_E_CLOSED)
                        kill_child(job, r < 0 ? JOB_KILL_UNHEARD : JOB_KILL_NONSENSE);
        }
        settle(job);
        return 0;
}

static int on_next(sd_event_source *source, void *userdata) {
        settle(userdata);
        return 0;
}

static int on_exit_child(sd_event_source *source, const siginfo_t *status, void *userdata) {
        Job *job = userdata;
        const JobPool *pool = job->pool;

        job->status = *status;
        job->exited = true;
        /*
         * sd-event reaps it when this returns. The next child may get its number then, which one
         * source can watch at a time.
         */
        job->exit = sd_event_source_disable_unref(job->exit);
        (void) sd_event_source_set_enabled(job->deadline, SD_EVENT_OFF);
        if (status->si_code != CLD_EXITED && pool->on_killed)
                pool->on_killed(job->terms, pool->userdata);
        settle(job);
        return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        const JobPool *pool = job->pool;

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
        if (pool->on_changed)
                pool->on_changed(pool->userdata);
        settle(job);
        return 0;
}

/* life */

static int start_child(Job *job, const JobOrder *order) {
        _cleanup_(fd_closep) int child_fd = -EBADF;
        sd_event *event = job->pool->event;
        char argument[64];
        int ends[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        job->socket = ends[0];
        child_fd = ends[1];
        (void) snprintf(argument, sizeof(argument), "--job=%s", job->terms->word);
        r = spawner_start(job->pool->spawner, argument, child_fd,
                          MIN_OF(job->pool->max_data_bytes, order->terms->max_data_bytes),
                          order->max_file_bytes, &job->pid);
        if (r < 0)
                return r;
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
        r = timer_new(event, &job->deadline, "job-deadline", JOB_TIMER_ACCURACY_US, on_deadline,
                      job);
        if (r < 0)
                return r;
        if (job->terms->clock != JOB_CLOCK_NONE)
                timer_start(job->deadline, job->timeout_ns);
        (void) sd_event_source_set_description(job->io, "job-io");
        (void) sd_event_source_set_description(job->next, "job-next");
        (void) sd_event_source_set_description(job->exit, "job-exit");

        r = packet_send(job->socket, PACKET_ORDER, order->body, order->fds, order->n_fds,
                        MSG_DONTWAIT);
        /* A child that does not take its order has ended, and its exit status says why. */
        if (r < 0 && r != -EPIPE)
                return r;
        for (size_t i = 0; i < order->n_fds; i++)
                (void) disposal_close(job->pool->disposal, order->fds[i]);
        return 0;
}

int job_pool_start(JobPool *pool, const JobOrder *order, JobEvent on_reply, void *userdata,
                   Job **ret) {
        Job *job;
        int r;

        /* Makes room first, because adding the job must not fail once its child runs. */
        r = ARRAY_RESERVE(pool->jobs, pool->n_allocated, pool->n_jobs + 1);
        if (r != 0)
                return r;
        job = malloc(sizeof(*job));
        if (!job)
                return -ENOMEM;
        *job = (Job){
                .pool = pool,
                .terms = order->terms,
                .uid = order->uid,
                .socket = -EBADF,
                .reader = { .max_bytes = JOB_REPLY_BYTES },
                .timeout_ns = order->timeout_ns > 0 ? order->timeout_ns : order->terms->time_ns,
                .waits = order->terms->wait == JOB_WAITS_ALWAYS ||
                         (order->terms->wait == JOB_WAITS_FOR_FILE && order->max_file_bytes > 0),
        };
        disposal_keeper_init(&job->keeper, pool->disposal, order->uid);
        job->reader.keeper = &job->keeper.keeper;
        /*
         * Until its child is reaped it may hang, also when it was killed or has answered: because
         * it reads a file that a caller sent, or for another reason, once it is known to be stuck.
         */
        if (!order->terms->counts_alone) {
                r = charge_begin(&job->stuck, pool->users, job->uid, USE_STUCK, 0);
                if (r == 0)
                        r = charge_begin(&job->hangable, pool->users, job->uid, USE_HANGABLE,
                                         order->terms->reads_foreign);
        }
        if (r == 0)
                r = start_child(job, order);
        if (r < 0) {
                job->exit = sd_event_source_disable_unref(job->exit);
                if (job->pid > 0) {
                        (void) kill(job->pid, SIGKILL);
                        (void) waitpid(job->pid, NULL, 0);
                }
                forget(job);
                return r;
        }
        job->on_reply = on_reply;
        job->userdata = userdata;
        pool->jobs[pool->n_jobs++] = job;
        *ret = job;
        return 0;
}

/* A function that called us may still use the job, so an event of its own destroys it later. */
Job *job_free(Job *job) {
        if (!job)
                return NULL;

        job->on_reply = NULL;
        if (!job->answered)
                kill_child(job, JOB_KILL_NONE);
        arm(job);
        (void) sd_event_source_set_enabled(job->next, SD_EVENT_ONESHOT);
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
        timer_start(job->deadline, job->timeout_ns);
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
                (void) disposal_close(job->pool->disposal, fd);
        return r == -EAGAIN ? -EBUSY : r == -EPIPE ? -ENOTCONN : r;
}

void job_pause(Job *job) {
        job->paused = true;
        /* It cannot send now, so its silence does not count against it. */
        if (job->terms->clock == JOB_CLOCK_SILENCE && !job->answered && !job->killed)
                (void) sd_event_source_set_enabled(job->deadline, SD_EVENT_OFF);
        arm(job);
}

void job_resume(Job *job) {
        if (job->paused && job->terms->clock == JOB_CLOCK_SILENCE && !job->answered && !job->killed)
                timer_start(job->deadline, job->timeout_ns);
        job->paused = false;
        (void) sd_event_source_set_enabled(job->next, SD_EVENT_ONESHOT);
}

/* the job pool */

int job_pool_new(sd_event *event, Users *users, Disposal *disposal, int executable_fd,
                 const char *name, JobPool **ret) {
        JobPool *pool = malloc(sizeof(*pool));
        int r;

        if (!pool)
                return -ENOMEM;
        *pool = (JobPool){
                .event = sd_event_ref(event),
                .users = users,
                .disposal = disposal,
                .max_data_bytes = LIMIT_JOB_MEMORY_BYTES,
        };
        r = spawner_new(executable_fd, name, &pool->spawner);
        if (r < 0)
                (void) job_pool_free(pool);
        else
                *ret = pool;
        return r;
}

JobPool *job_pool_free(JobPool *pool) {
        int timeout_ms = JOB_POOL_FAREWELL_MS;
        siginfo_t status;

        if (!pool)
                return NULL;

        for (size_t i = 0; i < pool->n_jobs; i++)
                if (!pool->jobs[i]->exited)
                        (void) kill(pool->jobs[i]->pid, SIGKILL);
        while (pool->n_jobs > 0) {
                (void) child_exit_await(pool->jobs[0]->pid, &status, &timeout_ms);
                forget(pool->jobs[0]);
        }
        free(pool->jobs);
        (void) spawner_free(pool->spawner);
        sd_event_unref(pool->event);
        free(pool);
        return NULL;
}

size_t job_pool_count_kind(const JobPool *pool, JobKind kind) {
        size_t n = 0;

        for (size_t i = 0; i < pool->n_jobs; i++)
                n += pool->jobs[i]->terms == &job_terms[kind];
        return n;
}
