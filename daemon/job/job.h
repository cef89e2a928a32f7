/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Job
 *
 * One order, obeyed by a child process of its own. The child runs this executable again, as "NAME
 * --job=KIND", with a socketpair as descriptor 3 and nothing else open. It gets one order and sends
 * replies; the last reply ends it. Whatever happens to the child (crash, deadline, lack of memory,
 * nonsense on the socket) becomes one sentence for the caller. The parent never waits for it and
 * never fails with it.
 *
 * A JobPool keeps every job from its start until its child is reaped, also when nobody waits for
 * the job any more. No child outlives the job pool.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "interface/interface.h"
#include "job/job-kind.h"
#include "job/packet.h"
#include "user/user.h"

#define JOB_EXIT_TEXT_BYTES 256

typedef struct Disposal Disposal;
typedef struct Job Job;
typedef struct JobPool JobPool;

typedef struct JobOrder {
        const JobTerms *terms;
        Span body;      /* of a PACKET_ORDER, which is sent before the start of the job returns */
        const int *fds; /* sent with it */
        size_t n_fds;
        uid_t uid;           /* the user who called: the child may send back their descriptors */
        uint64_t timeout_ns; /* 0: as in the terms */
        uint64_t max_file_bytes; /* RLIMIT_FSIZE, for every file it writes; 0: no bound */
} JobOrder;

/* @body and @detail are borrowed until the event ends. */
typedef struct JobReply {
        PacketKind kind; /* one that a job sends */
        Span body; /* of PART and LAST text without NUL, in UTF-8; of others what the job wrote */
        WireError error; /* of an ERROR, with @detail */
        WireErrorDetail detail;
} JobReply;

static inline bool job_reply_is_last(const JobReply *reply) {
        return reply->kind == PACKET_LAST || reply->kind == PACKET_RESULT ||
               reply->kind == PACKET_ERROR;
}

typedef struct JobEvents {
        /*
         * A reply or a note came. Its descriptors may be taken until this returns. If it is the
         * last one, it is the last event.
         */
        void (*on_reply)(Job *job, const JobReply *reply, void *userdata);
        /* The child ended without a last reply. @reason: "The capture job was killed ..." */
        void (*on_end)(Job *job, const char *reason, void *userdata);
} JobEvents;

/*
 * Ends the events, and kills a child that has not sent its last reply. May be called inside an
 * event.
 */
Job *job_free(Job *job);
DEFINE_CLEANUP(Job *, job_free);

/*
 * Asks a job whose clock is JOB_CLOCK_SILENCE to come to an end and answer with the results it has;
 * it gets its time limit once more for that. Asking a second time kills it, and on_end follows.
 */
_must_check_ int job_stop(Job *job);

/*
 * Tells a job whose clock is JOB_CLOCK_NONE something more, with @fd, which is taken over on
 * success. -EBUSY when it has not read what it was told before, -ENOTCONN when it has ended,
 * -errno.
 */
_must_check_ int job_send(Job *job, PacketKind kind, int fd);

/* Stop and resume reading replies. The child waits when its socket is full. */
void job_pause(Job *job);
void job_resume(Job *job);

pid_t job_pid(const Job *job);
/* The descriptors of a reply, inside on_reply. */
size_t job_n_fds(const Job *job);
int job_take_fd(Job *job, size_t index);

/* all jobs */

/*
 * Adopts @executable_fd on success, see spawner.h; @name becomes the children's argv[0]; @users and
 * @disposal are borrowed. Blocks SIGCHLD for good, because the event loop handles it.
 */
_must_check_ int job_pool_new(sd_event *event, Users *users, Disposal *disposal, int executable_fd,
                              const char *name, JobPool **ret);
/*
 * Kills and reaps the children that still run, but waits a moment at most. The caller must have
 * freed all jobs before.
 */
JobPool *job_pool_free(JobPool *pool);
DEFINE_CLEANUP(JobPool *, job_pool_free);

/* Sets RLIMIT_DATA of children that start from now on. The default is LIMIT_JOB_MEMORY_BYTES. */
void job_pool_set_memory(JobPool *pool, uint64_t max_bytes);

/*
 * Reports every child that a signal ended, ours or another, once it has ended: it may have left
 * files behind that it would have removed.
 */
typedef void (*JobPoolKilled)(const JobTerms *terms, void *userdata);
/* Tells, in events of the children, when one was freed or got stuck. */
typedef void (*JobPoolChanged)(void *userdata);
/* NULL stops the reports. */
void job_pool_watch(JobPool *pool, JobPoolKilled on_killed, JobPoolChanged on_changed,
                    void *userdata);

/*
 * Starts a job. On success the descriptors of @order belong to the job, which closes them once they
 * are sent. @events is borrowed.
 */
_must_check_ int job_pool_start(JobPool *pool, const JobOrder *order, const JobEvents *events,
                                void *userdata, Job **ret);

/* Counts the children of a kind, also those that were killed and have not ended yet. */
size_t job_pool_count_kind(const JobPool *pool, JobKind kind);
/* True when there is a child @pid; *ret_is_stuck tells whether it was killed in vain. */
bool job_pool_look(const JobPool *pool, pid_t pid, bool *ret_is_stuck);

/* A job that SIGKILL did not end: it hangs in the kernel. */
typedef struct StuckJob {
        const char *kind;
        pid_t pid;
        uid_t uid;
        uint64_t killed_realtime_ns;
} StuckJob;

/* The next one, from *@at on, 0 at first; false when there is none. */
_must_check_ bool job_pool_next_stuck(const JobPool *pool, size_t *at, StuckJob *ret);
/* Writes up to @n process ids of children, whether they work or end, and returns their number. */
size_t job_pool_get_pids(const JobPool *pool, pid_t *ret_pids, size_t n);

/* Why the parent killed the child. */
typedef enum JobKill {
        JOB_KILL_NONE,
        JOB_KILL_DEADLINE,
        JOB_KILL_SILENT,    /* it gave no reply for too long */
        JOB_KILL_LINGERING, /* it was asked to come to an end and did not */
        JOB_KILL_CANCELLED, /* it was asked twice */
        JOB_KILL_NONSENSE,  /* it sent something other than a reply */
        JOB_KILL_STUCK,     /* it passed its deadline, and SIGKILL did not end it */
        JOB_KILL_UNHEARD,   /* its socket failed: most likely memory ran out */
} JobKill;

/* One sentence about how a child ended. @status: si_code and si_status of waitid(2). */
void job_exit_text(const char *kind, JobKill kill, uint64_t timeout_ns, const siginfo_t *status,
                   char ret[static JOB_EXIT_TEXT_BYTES]);
