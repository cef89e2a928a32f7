/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Job
 *
 * One order, obeyed by a child process of its own. The child runs this executable again, as "NAME
 * --job=KIND", with a socketpair as descriptor 3 and nothing else open. It gets one order and sends
 * replies; the last reply ends it, or, where a file has to stay as it is then (JobWait), comes when
 * the child has ended. Whatever happens to the child (crash, deadline, lack of memory, nonsense on
 * the socket) becomes one sentence for the caller. The parent never waits for it and never fails
 * with it.
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
#include "base/macro.h"
#include "base/span.h"
#include "interface/interface.h"
#include "job/descriptor/disposal.h"
#include "job/job-kind.h"
#include "job/packet.h"
#include "user/user.h"

#define JOB_EXIT_TEXT_BYTES 256

typedef struct Job Job;
typedef struct JobPool JobPool;
typedef struct Spawner Spawner;

typedef struct JobOrder {
        const JobTerms *terms;
        Span body;      /* of a PACKET_ORDER, which is sent before the start of the job returns */
        const int *fds; /* sent with it */
        size_t n_fds;
        uid_t uid;           /* the user who called: the child may send back their descriptors */
        uint64_t timeout_ns; /* 0: as in the terms */
        uint64_t max_file_bytes; /* RLIMIT_FSIZE, for every file it writes; 0: no bound */
} JobOrder;

/* @body, @fds and @detail are borrowed until the event ends. */
typedef struct JobReply {
        PacketKind kind; /* one that a job sends */
        Span body; /* of PART and LAST text without NUL, in UTF-8; of others what the job wrote */
        int *fds;  /* descriptors that are not taken are closed */
        size_t n_fds;
        WireError error; /* of an ERROR, with @detail */
        WireErrorDetail detail;
        bool is_last; /* a LAST, a RESULT or an ERROR: the last event */
        /* The child ended without one; the reason in @detail: "The capture job was killed ..." */
        bool is_end;
} JobReply;

/* A reply or a note came, or the job has ended. */
typedef void (*JobEvent)(Job *job, const JobReply *reply, void *userdata);

/* Why the parent killed the child. */
typedef enum JobKill {
        JOB_KILL_NONE,
        JOB_KILL_DEADLINE,
        JOB_KILL_SILENT,    /* it gave no reply for too long */
        JOB_KILL_LINGERING, /* it was asked to come to an end and did not */
        JOB_KILL_CANCELLED, /* it was asked twice */
        JOB_KILL_NONSENSE,  /* it sent something other than a reply */
        JOB_KILL_STUCK,     /* it passed its deadline, and SIGKILL did not end it */
        JOB_KILL_HOLDING,   /* the same, after its last reply: it holds the files that it wrote */
        JOB_KILL_UNHEARD,   /* its socket failed: most likely memory ran out */
} JobKill;

struct Job {
        JobPool *pool;
        const JobTerms *terms;
        JobEvent on_reply; /* NULL: the caller has freed the job */
        void *userdata;
        uid_t uid;
        Charge hangable, stuck; /* of a kind that counts for its user */
        int socket;             /* owned */
        PacketReader reader;
        DisposalKeeper keeper; /* of the reader */
        pid_t pid;             /* 0: none yet */
        uint64_t timeout_ns;

        bool paused;
        bool stopping;    /* it was asked to come to an end and answer */
        bool waits;       /* its last reply waits for the end of the child */
        bool answered;    /* the last reply came */
        bool held;        /* the reader has that reply, which was not delivered yet */
        bool input_ended; /* nothing more comes from the child */
        bool exited;      /* the child has ended */
        bool killed;
        uint64_t killed_realtime_ns;
        JobKill kill; /* JOB_KILL_STUCK: SIGKILL did not end it, it hangs in the kernel */
        siginfo_t status;

        sd_event_source *io;
        sd_event_source *next; /* settles it in an event of its own */
        sd_event_source *exit;
        sd_event_source *deadline;
};

struct JobPool {
        sd_event *event; /* owned; users and disposal are borrowed */
        Users *users;
        Disposal *disposal;
        Spawner *spawner;
        Job **jobs; /* owned, all of them */
        size_t n_jobs, n_allocated;
        uint64_t max_data_bytes; /* RLIMIT_DATA of children that start from now on */
        /*
         * Tells of every child that a signal ended, ours or another, once it has ended: it may have
         * left files behind that it would have removed. NULL, as the next, at first.
         */
        void (*on_killed)(const JobTerms *terms, void *userdata);
        /* Tells, in events of the children, when one was freed or got stuck. */
        void (*on_changed)(void *userdata);
        void *userdata;
};

/*
 * Ends the events, and kills a child that has not sent its last reply. May be called inside an
 * event.
 */
Job *job_free(Job *job);

/*
 * Asks a job whose clock is JOB_CLOCK_SILENCE to come to an end and answer with the results it has;
 * it gets its time limit once more for that. Asking a second time kills it, and its end follows.
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

/* all jobs */

/*
 * Adopts @executable_fd on success, see spawner.h; @name becomes the children's argv[0]; @users and
 * @disposal are borrowed.
 */
_must_check_ int job_pool_new(sd_event *event, Users *users, Disposal *disposal, int executable_fd,
                              const char *name, JobPool **ret);
/*
 * Kills and reaps the children that still run, but waits a moment at most. The caller must have
 * freed all jobs before.
 */
JobPool *job_pool_free(JobPool *pool);

/*
 * Starts a job. On success the descriptors of @order belong to the job, which closes them once they
 * are sent.
 */
_must_check_ int job_pool_start(JobPool *pool, const JobOrder *order, JobEvent on_reply,
                                void *userdata, Job **ret);

/* Counts the children of a kind, also those that were killed and have not ended yet. */
size_t job_pool_count_kind(const JobPool *pool, JobKind kind);

/* One sentence about how a child ended. @status: si_code and si_status of waitid(2). */
void job_exit_text(const char *kind, JobKill kill, uint64_t timeout_ns, const siginfo_t *status,
                   char ret[static JOB_EXIT_TEXT_BYTES]);
