/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake-jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/buffer.h"
#include "fuzz.h"
#include "job/job.h"
#include "order/order.h"

/* A job as the service sees it, of which it looks at what it was started with. */
typedef struct FakeJob {
        Job job;
        OrderMethod method;
        bool more;
        bool in_event, is_freed;
        int fd; /* of the reply at hand */
        struct FakeJob *next;
} FakeJob;

static JobPool fake_pool;
static FakeJob *jobs; /* the first that started is the last in the list */
static unsigned n_to_fail;
static unsigned n_killed[_JOB_KIND_MAX]; /* and not told of yet */

/* what jobs answer; only the shape counts */

static const char *const replies[_ORDER_METHOD_MAX] = {
        [ORDER_SHOW] = "{\"snapshot\":{\"name\":\"one\"},\"sections\":{}}",
        [ORDER_COMPARE] = "{\"sections\":{}}",
        [ORDER_COMPARE_SETS] = "{\"hiddenRows\":0}",
        [ORDER_VERIFY] = "{\"results\":[{\"name\":\"one\",\"ok\":true}]}",
        [ORDER_INFO] = "{\"snapshot\":{\"name\":\"one\"}}",
        [ORDER_REMOVE] = "{\"snapshots\":[{\"name\":\"one\"}]}",
        [ORDER_RENAME] = "{\"snapshots\":[{\"name\":\"two\"}],\"oldName\":\"one\"}",
        [ORDER_SURVEY] = "{}",
};

static const char *const results[_ORDER_METHOD_MAX][RESULT_MAX_TEXTS] = {
        [ORDER_CAPTURE] = { "[]", "old\n" },
        [ORDER_PROBE] = { "[{\"name\":\"stat\",\"state\":\"ok\"}]", "", "" },
        [ORDER_TELL_SOURCES] = { "[]", "", "{\"owners\":[]}" },
        [ORDER_PUBLISH] = { "{\"name\":\"new\"}", "older\noldest\n", "{\"name\":\"new\"}" },
        [ORDER_CONVERT] = { "{\"name\":\"one\"}" },
};

/* Appends what a job of ours would tell in the end; the kind of it. */
static PacketKind append_result(const FakeJob *job, Buffer *body) {
        Span texts[RESULT_MAX_TEXTS];
        size_t n = 0;

        if (replies[job->method]) {
                buffer_append_text(body, replies[job->method]);
                return PACKET_LAST;
        }
        while (n < RESULT_MAX_TEXTS && results[job->method][n]) {
                texts[n] = span_of(results[job->method][n]);
                n++;
        }
        fuzz_expect(result_pack(body, texts, n) == 0, "memory");
        return PACKET_RESULT;
}

/* for the target */

JobPool *fake_jobs_pool(void) {
        memset(n_killed, 0, sizeof(n_killed));
        return &fake_pool;
}

size_t fake_jobs_n(void) {
        size_t n = 0;

        for (const FakeJob *job = jobs; job; job = job->next)
                n++;
        return n;
}

void fake_jobs_fail_next(unsigned n) {
        n_to_fail = n;
}

static void unlink_job(FakeJob *job) {
        FakeJob **link = &jobs;

        while (*link && *link != job)
                link = &(*link)->next;
        if (*link)
                *link = job->next;
}

static void destroy(FakeJob *job) {
        if (job->fd >= 0)
                (void) fd_close(job->fd);
        free(job);
}

static void tell(FakeJob *job, FakeJobAct act, JobReply *reply) {
        bool continues = act == FAKE_JOB_PART || act == FAKE_JOB_NOTE;

        job->in_event = true;
        if (act == FAKE_JOB_END || act == FAKE_JOB_YOUNGEST_END)
                *reply = (JobReply){ .kind = PACKET_ERROR,
                                     .error = WIRE_ERROR_JOB_FAILED,
                                     .detail = { .reason = "The job died." },
                                     .is_end = true };
        reply->is_last = !continues;
        job->job.on_reply(&job->job, reply, job->job.userdata);
        job->in_event = false;
        fuzz_expect(continues || job->is_freed, "a job that has ended is freed");
        if (job->is_freed)
                destroy(job);
}

/* From outside of whoever freed the job, as when its child is reaped. */
static void tell_killed(void) {
        for (unsigned kind = 0; kind < _JOB_KIND_MAX; kind++)
                for (; n_killed[kind] > 0; n_killed[kind]--)
                        if (fake_pool.on_killed)
                                fake_pool.on_killed(&job_terms[kind], fake_pool.userdata);
}

static FakeJob *find_job(FakeJobAct act) {
        FakeJob *found = NULL;

        for (FakeJob *job = jobs; job; job = job->next)
                if (!job->job.paused && (act != FAKE_JOB_PART || job->more)) {
                        found = job;
                        if (act == FAKE_JOB_YOUNGEST_END)
                                break;
                }
        return found;
}

bool fake_jobs_act(FakeJobAct act, Span parameters) {
        JobReply reply = { .kind = PACKET_PART };
        Buffer body;
        FakeJob *job;

        tell_killed();
        job = find_job(act);
        if (!job)
                return false;
        buffer_init(&body, 0);
        if (act == FAKE_JOB_NOTE) {
                reply.kind = PACKET_MEMORY;
        } else if (act == FAKE_JOB_ERROR) {
                reply.kind = PACKET_ERROR;
                reply.error = WIRE_ERROR_SNAPSHOT_UNREADABLE;
                reply.detail = (WireErrorDetail){ .subject = SPAN_LITERAL("one"), .reason = "no" };
        } else if (act != FAKE_JOB_PART) {
                reply.kind = append_result(job, &body);
        }
        /* A job that was taken over tells what it likes. */
        if (parameters.n > 0 && act != FAKE_JOB_NOTE) {
                buffer_clear(&body);
                buffer_append(&body, parameters.bytes, parameters.n);
        } else if (act == FAKE_JOB_PART) {
                buffer_append_text(&body, "{}");
        }
        fuzz_expect(buffer_failure(&body) == 0, "memory");
        reply.body = buffer_span(&body);
        /* What was not taken goes with the next reply. */
        job->fd = fd_close(job->fd);
        if (act == FAKE_JOB_FILE || act == FAKE_JOB_NOTE)
                job->fd = eventfd(0, EFD_CLOEXEC);
        reply.fds = &job->fd;
        reply.n_fds = job->fd >= 0;
        tell(job, act, &reply);
        buffer_done(&body);
        return true;
}

/* for the service: daemon/job/job.h */

int job_pool_start(JobPool *pool, const JobOrder *order, JobEvent on_reply, void *userdata,
                   Job **ret) {
        Order *given = NULL;
        FakeJob *job;

        if (n_to_fail > 0) {
                n_to_fail--;
                return -EAGAIN;
        }
        job = calloc(1, sizeof(*job));
        fuzz_expect(job, "memory");
        *job = (FakeJob){
                .job = { .on_reply = on_reply, .userdata = userdata, .terms = order->terms },
                .fd = -EBADF,
                .next = jobs,
        };
        fuzz_expect(order_unpack(order->body, (JobKind) (order->terms - job_terms), order->n_fds,
                                 &given) == 0,
                    "an order is one of this version");
        job->method = given->method;
        job->more = given->more;
        free(given);
        for (size_t i = 0; i < order->n_fds; i++)
                (void) fd_close(order->fds[i]); /* as if they were sent */
        jobs = job;
        *ret = &job->job;
        return 0;
}

static FakeJob *fake_of(Job *job) {
        return (FakeJob *) (void *) ((char *) job - offsetof(FakeJob, job));
}

Job *job_free(Job *job) {
        FakeJob *fake;

        if (!job)
                return NULL;
        fake = fake_of(job);
        fuzz_expect(!fake->is_freed, "a job is freed once");
        unlink_job(fake);
        fake->is_freed = true;
        if (fake->in_event)
                return NULL;
        n_killed[job->terms - job_terms]++;
        destroy(fake);
        return NULL;
}

int job_stop(Job *job) {
        fuzz_expect(!fake_of(job)->is_freed, "a job that is freed is not asked for anything");
        return 0;
}

/* No service listens here. */
int job_send(Job *job, PacketKind kind, int fd) {
        fuzz_expect(false, "only a job that listens gets another call");
        return -ENOTCONN;
}

void job_pause(Job *job) {
        job->paused = true;
}

void job_resume(Job *job) {
        job->paused = false;
}

size_t job_pool_count_kind(const JobPool *pool, JobKind kind) {
        return 0;
}
