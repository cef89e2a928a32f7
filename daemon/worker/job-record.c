/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/heap/memory-question.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "record/collector.h"
#include "record/sampler.h"
#include "record/course/steps.h"
#include "record/recording-document.h"
#include "helper/helper.h"
#include "spool/snapshot-file.h"
#include "wire/limits.h"

/*
 * Jobs of a recording. One takes the samples: it has privileges, and looks into nothing. One makes
 * stacks of them: it looks into everything, and may do nothing. One puts the document of these and
 * the snapshots of both ends into one file.
 */

/* record */

/* A memory job keeps its own time; this is for one that says nothing. */
#define REST_PATIENCE_NS (5 * NSEC_PER_SEC)
/* One that unwinds may be starved by what it is to tell of. */
#define UNWIND_PATIENCE_NS (240 * NSEC_PER_SEC)
#define UNWIND_LOOK_MS 500

/* The number of a cgroup's directory is its id. */
static int find_cgroup(Work *work, RecordScope *scope) {
        _cleanup_(cgroupfs_freep) Cgroupfs *cgroupfs = NULL;
        _cleanup_(fd_closep) int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(fd_closep) int group = -EBADF;
        struct stat status;
        int r;

        if (proc < 0)
                return -errno;
        r = cgroupfs_open(proc, &cgroupfs);
        if (r == 0)
                r = cgroupfs_open_group(cgroupfs, span_of(scope->cgroup), &group);
        if (r < 0)
                return r;
        if (r > 0 || fstat(group, &status) < 0)
                return work_refuse_parameter(
                        work, "filter",
                        r == CGROUPFS_E_NO_MOUNT ? "No cgroups of version 2 are mounted here."
                        : r == TEXT_E_MALFORMED
                                ? "A cgroup is a path as in /proc/PID/cgroup, from / on."
                                : "There is no such cgroup.");
        scope->filter.cgroup = status.st_ino;
        return 0;
}

/* readings */

/* When the accounts of all threads are read: at both ends of sampling, and between two steps. */
typedef struct Pacer {
        SampledTimes sampled;
        TaskTable *end; /* owned; as it was when sampling ended */
        SampledTerms end_terms;
        int *socket; /* borrowed; of the job that unwinds, which keeps what is told */
        const TaskObjects *objects;
        LedgerControl *control; /* mapped */

        Steps *steps;                       /* owned; NULL: there are none */
        uint64_t every_ns, next_ns, end_ns; /* CLOCK_MONOTONIC */
        uint64_t n_taken;
} Pacer;

static void pacer_done(Pacer *pacer) {
        sampled_times_done(&pacer->sampled);
        pacer->end = task_table_free(pacer->end);
        pacer->steps = steps_free(pacer->steps);
        if (pacer->control)
                (void) munmap(pacer->control, sizeof(*pacer->control));
        pacer->control = NULL;
}

static int tell_group(void *userdata, const CourseGroup *group) {
        return record_message_send(*(int *) userdata, RECORD_MESSAGE_GROUP, group, sizeof(*group),
                                   NULL, 0, -1);
}

static int tell_step(void *userdata, const CourseStep *step) {
        return record_message_send(*(int *) userdata, RECORD_MESSAGE_STEP, step, sizeof(*step),
                                   NULL, 0, -1);
}

static int tell_cells(void *userdata, const CourseCell *cells, size_t n) {
        return record_message_send(*(int *) userdata, RECORD_MESSAGE_CELLS, cells,
                                   n * sizeof(*cells), NULL, 0, -1);
}

static int tell_times(void *userdata, const SampledTime *all, size_t n) {
        return record_message_send(*(int *) userdata, RECORD_MESSAGE_TIMES, all, n * sizeof(*all),
                                   NULL, 0, -1);
}

/* @socket is borrowed as long as the pacer. */
static int pacer_init(Pacer *pacer, const RecordOrder *order, const TaskObjects *objects,
                      int *socket) {
        const StepsSink sink = {
                .group = tell_group, .step = tell_step, .cells = tell_cells, .userdata = socket
        };
        void *memory;

        memory = mmap(NULL, sizeof(LedgerControl), PROT_READ, MAP_SHARED,
                      objects->fds[TASK_OBJECT_CONTROL], 0);
        if (memory == MAP_FAILED)
                return -errno;
        pacer->control = memory;
        pacer->objects = objects;
        pacer->socket = socket;
        if (order->every_ns == 0)
                return 0;
        if (objects->fds[TASK_OBJECT_TASKS] < 0 || objects->fds[TASK_OBJECT_ROWS] < 0)
                return -EBADMSG;
        pacer->every_ns = order->every_ns;
        return steps_new(&sink, getppid(), (pid_t) order->caller_pid, &pacer->steps);
}

/* Where that does not work, stacks have a little time that is not theirs: no reason to fail. */
static TaskTable *read_accounts(const Pacer *pacer, SampledTerms *ret_terms) {
        int fd = pacer->objects->fds[TASK_OBJECT_TASKS];
        TaskTable *tasks = NULL;

        *ret_terms = (SampledTerms){ pacer->control->reasons.epoch,
                                     pacer->control->waits_since_ns != 0 };
        return fd >= 0 && task_table_read(fd, &tasks) == 0 ? tasks : NULL;
}

static int pacer_begin(Pacer *pacer, uint64_t now_ns, uint64_t limit_ns, size_t *ret_n_threads) {
        SampledTerms terms;
        _cleanup_(task_table_freep) TaskTable *tasks = read_accounts(pacer, &terms);
        int r = tasks ? sampled_times_begin(&pacer->sampled, tasks, &terms) : 0;

        *ret_n_threads = tasks ? task_table_count(tasks) : 0;
        if (r < 0 || !pacer->steps)
                return r;
        pacer->next_ns = now_ns + pacer->every_ns;
        pacer->end_ns = now_ns + limit_ns;
        return steps_take(pacer->steps, pacer->objects, pacer->control);
}

/* A reading that is late makes one step longer; half a step in the end is part of the last one. */
static int pacer_pass(Pacer *pacer, uint64_t now_ns) {
        if (!pacer->steps || now_ns < pacer->next_ns || pacer->n_taken + 1 >= LIMIT_STEPS ||
            now_ns + pacer->every_ns / 2 > pacer->end_ns)
                return 0;
        pacer->n_taken++;
        pacer->next_ns +=
                (now_ns - pacer->next_ns) / pacer->every_ns * pacer->every_ns + pacer->every_ns;
        return steps_take(pacer->steps, pacer->objects, pacer->control);
}

/* Samples are passed on until then: one after the other may take long where files are read. */
static uint64_t pacer_until(const Pacer *pacer, uint64_t now_ns, uint64_t end_ns) {
        return pacer->steps && pacer->next_ns > now_ns ? MIN_OF(pacer->next_ns, end_ns) : end_ns;
}

/* How long nothing has to be done, at most as long as samples may wait. */
static int pacer_rest_ms(const Pacer *pacer, uint64_t now_ns) {
        uint64_t rest_ns = SAMPLER_REST_NS;

        if (pacer->steps && pacer->next_ns > now_ns)
                rest_ns = MIN_OF(rest_ns, pacer->next_ns - now_ns);
        return (int) ((rest_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

/* Sampling is about to end, and the last step ends with it. */
static int pacer_stop(Pacer *pacer) {
        pacer->end = read_accounts(pacer, &pacer->end_terms);
        return pacer->steps ? steps_take(pacer->steps, pacer->objects, pacer->control) : 0;
}

/* Tells of what is known when all samples were told. */
static int pacer_end(Pacer *pacer, RecordSummary *summary) {
        StepsFacts facts;
        int r = 0;

        if (pacer->end)
                r = sampled_times_end(&pacer->sampled, pacer->end, &pacer->end_terms, tell_times,
                                      pacer->socket);
        if (r < 0 || !pacer->steps)
                return r;
        r = steps_end(pacer->steps);
        steps_get_facts(pacer->steps, &facts);
        summary->every_ns = pacer->every_ns;
        summary->n_unsettled_steps = facts.n_unsettled;
        summary->n_missed_steps = facts.n_missed;
        summary->course_places = facts.places;
        return r;
}

/* what a recording is made with */

typedef struct Recorder {
        Work *work;        /* borrowed */
        Helper *helper;    /* borrowed; of the memory job */
        int socket;        /* borrowed; to the unwinding job */
        uint64_t begun_ns; /* CLOCK_MONOTONIC; 0: it has not begun, and there is no progress */
        size_t n_threads;  /* then; 0: nobody has counted them */
        const RecordControl *control; /* mapped */
} Recorder;

/*
 * A sign of life, also while what was taken is passed on and unwound, which takes minutes where
 * jobs hardly get a CPU.
 */
static int tell_progress(const Recorder *recorder) {
        uint64_t limit_ns = recorder->work->order->record.limit_ns;
        uint64_t passed_ns = clock_now_ns(CLOCK_MONOTONIC) - recorder->begun_ns;
        const AnswerCount counts[] = {
                { "samples", recorder->control->n_samples },
                { "lost", record_count_lost(recorder->control) },
                { "threads", recorder->n_threads },
        };

        return answer_progress_with(&recorder->work->answer, "recording",
                                    MIN_OF(passed_ns, limit_ns), limit_ns, counts,
                                    ELEMENTSOF(counts) - (recorder->n_threads == 0));
}

/* For the unwinding job; after this its silence is that of the recording. */
static int await_unwinder(void *userdata, short events) {
        const Recorder *recorder = userdata;
        struct pollfd socket = { .fd = recorder->socket, .events = events };
        uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC), until_ns = now_ns + UNWIND_PATIENCE_NS;
        int r = 0;

        while (recorder->begun_ns != 0 && r == 0 && now_ns < until_ns) {
                r = tell_progress(recorder);
                if (r == 0 && poll(&socket, 1, UNWIND_LOOK_MS) > 0)
                        break;
                now_ns = clock_now_ns(CLOCK_MONOTONIC);
        }
        return r;
}

static bool fits(uint32_t question, size_t n) {
        return question == MEMORY_QUESTION_STACK && n == sizeof(StackAnswered);
}

/* The main process starts the memory job, or closes @peer_fd, which ends the helper. */
static int open_memory(void *userdata, int peer_fd) {
        _cleanup_(fd_closep) int owned = peer_fd;
        const Recorder *recorder = userdata;

        return answer_packet(&recorder->work->answer, PACKET_MEMORY, (Span){}, &owned, 1);
}

static size_t read_stack(void *userdata, const RecordSample *sample, void *ret) {
        const Recorder *recorder = userdata;
        const StackAsked asked = {
                .life = { .tgid = sample->tgid, .tid = sample->tid, .owner = sample->owner },
                .sp = sample->sp,
                .n_switches = sample->n_switches,
        };
        const HelperQuestion question = {
                .question = MEMORY_QUESTION_STACK,
                .body = { (const char *) &asked, sizeof(asked) },
                .fd = -EBADF,
        };
        StackAnswered answer;
        size_t n;

        if (helper_ask(recorder->helper, &question,
                       clock_now_ns(CLOCK_MONOTONIC) + REST_PATIENCE_NS, &answer, &n) != 0 ||
            answer.failure != HEAP_FAILURE_NONE || answer.n > sizeof(answer.bytes))
                return 0;
        memcpy(ret, answer.bytes, answer.n);
        return answer.n;
}

static int record_until_told(Recorder *recorder, Sampler *sampler, Pacer *pacer, RecordEnd *ret) {
        Work *work = recorder->work;
        const RecordOrder *order = &work->order->record;
        struct pollfd wait = { .fd = work->answer.socket, .events = POLLIN };
        int r = sampler_start(sampler);
        /* Read after the sampler noted its beginning: a recording lasts as long as asked for. */
        uint64_t begun_ns = clock_now_ns(CLOCK_MONOTONIC), passed_ns = 0;

        recorder->begun_ns = begun_ns;
        recorder->control = &pacer->control->record;
        if (r == 0)
                r = pacer_begin(pacer, begun_ns, order->limit_ns, &recorder->n_threads);
        /* It was ended before it began. */
        *ret = order->limit_ns > 0 ? RECORD_END_TIME : RECORD_END_CALL;
        while (r == 0 && passed_ns < order->limit_ns) {
                if (poll(&wait, 1, pacer_rest_ms(pacer, begun_ns + passed_ns)) < 0 &&
                    errno != EINTR)
                        return -errno;
                if (wait.revents != 0) {
                        r = packet_receive(work->answer.reader, work->answer.socket);
                        if (r == 0 && work->answer.reader->kind == PACKET_STOP) {
                                *ret = RECORD_END_CALL;
                                break;
                        }
                        /* The main process has exited, or the caller has hung up. */
                        r = r == PACKET_E_AGAIN ? 0 : r == PACKET_E_CLOSED ? -EPIPE : -EBADMSG;
                }
                if (r == 0)
                        r = sampler_pass(sampler, pacer_until(pacer, begun_ns + passed_ns,
                                                              begun_ns + order->limit_ns));
                passed_ns = clock_now_ns(CLOCK_MONOTONIC) - begun_ns;
                if (r == 0)
                        r = pacer_pass(pacer, begun_ns + passed_ns);
                if (r == 0)
                        r = tell_progress(recorder);
                if (r == 0 && sampler_end(sampler) != RECORD_END_UNKNOWN) {
                        *ret = sampler_end(sampler);
                        break;
                }
        }
        return r;
}

/*
 * The unwinding job tells two things: who it is, when it begins, and how it went, when it has
 * written the document. That it was full by then is no news.
 */
static int hear(Recorder *recorder, RecordMessageKind kind, void *ret, size_t n) {
        uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];
        RecordMessage message;
        int r;

        for (unsigned i = 0; i == 0 || (i == 1 && message.kind == RECORD_MESSAGE_FULL); i++) {
                r = await_unwinder(recorder, POLLIN);
                if (r < 0)
                        return r;
                r = record_message_receive(recorder->socket, space, &message);
                if (r < 0)
                        return r == -EPIPE ? -ECONNRESET : r;
                (void) fd_close(message.fd);
        }
        if (message.kind != kind || message.n != n)
                return -EBADMSG;
        memcpy(ret, message.body, n);
        return 0;
}

static int answer_recorded(Work *work, const RecordSummary *summary) {
        const RecordControl *control = &summary->control;
        const RecordResult result = {
                .ended_by = summary->ended_by,
                .n_samples = control->n_samples,
                .n_lost = record_count_lost(control),
                .unclocked = summary->unclocked,
        };

        return answer_packet(&work->answer, PACKET_RESULT,
                             (Span){ (const char *) &result, sizeof(result) }, NULL, 0);
}

/* Nobody is told of this where it is the main process that has exited. */
static int tell_lost_unwinder(Work *work, int error) {
        static const WireErrorDetail lost = {
                .reason = "The job that unwinds stacks ended early, most likely because memory "
                          "ran out.",
        };

        if (error != -EPIPE && error != -ECONNRESET)
                return error;
        return work_refuse(work, WIRE_ERROR_JOB_FAILED, &lost);
}

int work_record(Work *work) {
        RecordOrder *order = &work->order->record;
        RecordScope *scope = &order->scope;
        _cleanup_(fd_closep) int output = work_take_fd(work, order->output);
        _cleanup_(fd_closep) int socket = -EBADF;
        _cleanup_(task_objects_done) TaskObjects tasks;
        _cleanup_(sampler_freep) Sampler *sampler = NULL;
        _cleanup_(helper_freep) Helper *helper = NULL;
        _cleanup_(pacer_done) Pacer pacer = {};
        Recorder recorder = { .work = work };
        const HelperTerms terms = {
                .max_answer_bytes = sizeof(StackAnswered),
                .fits = fits,
                .open = open_memory,
                .userdata = &recorder,
        };
        SamplerOptions options;
        RecordProcess unwinder = {};
        RecordEnd ended_by = RECORD_END_UNKNOWN;
        RecordSummary summary;
        static const WireErrorDetail too_large = {
                .reason = "What was recorded is larger than RecordingBytes= of ctprofd.conf(5) or "
                          "than the space that the spool has left; record for a shorter time, "
                          "fewer threads or with a longer period.",
        };
        int pair[2], r;
        uint64_t failure = 0;

        if (!memchr(scope->comm, '\0', sizeof(scope->comm)) ||
            !memchr(scope->cgroup, '\0', sizeof(scope->cgroup)))
                return -EBADMSG;
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++)
                tasks.fds[i] = work_take_fd(work, order->tasks[i]);
        if (tasks.fds[TASK_OBJECT_SAMPLES] < 0 || tasks.fds[TASK_OBJECT_CONTROL] < 0 || output < 0)
                return -EBADMSG;
        r = scope->cgroup[0] != '\0' ? find_cgroup(work, scope) : 0;
        if (r != 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        recorder.socket = socket = pair[0];
        r = answer_packet(&work->answer, PACKET_UNWIND, (Span){}, &pair[1], 1);
        (void) close(pair[1]);
        if (r == 0)
                r = hear(&recorder, RECORD_MESSAGE_PROCESS, &unwinder, sizeof(unwinder));
        if (r < 0)
                return tell_lost_unwinder(work, r);
        options = (SamplerOptions){
                .socket = socket,
                .unwinder = (pid_t) unwinder.tgid,
                .ring = tasks.fds[TASK_OBJECT_SAMPLES],
                .control = tasks.fds[TASK_OBJECT_CONTROL],
                .go_on = tasks.fds[TASK_OBJECT_GO_ON],
                .fork = tasks.fds[TASK_OBJECT_FORK],
                .waking = tasks.fds[TASK_OBJECT_WAKING],
                .n_clocks = order->n_clocks,
                .rest = tasks.fds[TASK_OBJECT_REST],
                .symbols = tasks.fds[TASK_OBJECT_SYMBOLS],
                .lengths = tasks.fds[TASK_OBJECT_LENGTHS],
                .ticks = tasks.fds[TASK_OBJECT_TICKS],
                .waiting = order->waiting,
                .running = order->running,
                .frames = order->frames,
                .wakers = order->wakers,
                .stack_bytes = order->stack_bytes,
                .pointers = order->pointers,
                .period_ns = order->period_ns,
                .limit_ns = order->limit_ns,
                .max_samples = order->max_samples,
                .read_stack = read_stack,
                .await = await_unwinder,
                .userdata = &recorder,
                .scope = scope,
        };
        r = helper_new(&terms, &helper);
        recorder.helper = helper;
        if (r == 0)
                r = sampler_new(&options, &sampler);
        if (r == -ENOTSUP)
                return work_refuse(
                        work, WIRE_ERROR_JOB_FAILED,
                        &(WireErrorDetail){ .reason = "this kernel does not let programs see which "
                                                      "processes begin, so that those of a command "
                                                      "cannot be told from others" });
        if (r == 0)
                r = pacer_init(&pacer, order, &tasks, &socket);
        if (r == 0)
                r = work_confine(work, work->terms->kept_inside);
        if (r == 0)
                r = record_until_told(&recorder, sampler, &pacer, &ended_by);
        if (r == 0)
                r = pacer_stop(&pacer);
        if (r == 0)
                r = sampler_stop(sampler);
        helper = helper_free(helper);
        if (r < 0)
                return tell_lost_unwinder(work, r);
        sampler_summarize(sampler, &summary);
        summary.waiting = order->waiting;
        summary.running = order->running;
        summary.ended_by = ended_by;
        r = pacer_end(&pacer, &summary);
        if (r == 0)
                r = record_message_send(socket, RECORD_MESSAGE_END, &summary, sizeof(summary), NULL,
                                        0, output);
        if (r == 0)
                r = hear(&recorder, RECORD_MESSAGE_END, &failure, sizeof(failure));
        if (r == 0 && failure != 0)
                return work_refuse(work, WIRE_ERROR_JOB_FAILED, &too_large);
        return r == 0 ? answer_recorded(work, &summary) : tell_lost_unwinder(work, r);
}

/* unwind */

_Static_assert(MODULE_FD_END + 200 <= SANDBOX_RECEIVED_MANY_MAX,
               "there is room for descriptors that are not kept");

/*
 * The time that is spent on finding lines of the source. The caller that waits for the recording
 * waits for this, too. It is a third of the time for which a job may be silent.
 */
#define FIND_LINES_NS (20 * NSEC_PER_SEC)

static RecordingFacts facts_of(const RecordSummary *summary, const Collector *collector) {
        const RecordControl *control = &summary->control;
        RecordingFacts facts = {
                .start_boottime_ns = summary->begin_boottime_ns,
                .end_boottime_ns = summary->end_boottime_ns,
                .period_ns = control->period_ns,
                .clock_ns = control->clock_ns,
                .n_period_changes = summary->n_periods,
                .n_stack_bytes = control->n_stack_bytes,
                .n_samples = control->n_samples - MIN_OF(summary->n_left_out, control->n_samples),
                .n_processes = summary->n_processes,
                .n_lost_processes = summary->n_lost_processes,
                .n_lost_ring = control->n_lost_ring,
                .n_lost_pending = control->n_lost_pending,
                .n_lost_storage = control->n_lost_storage,
                .n_busy = control->n_busy,
                .n_late = control->n_late,
                .n_unseen = control->n_unseen,
                .n_without_frames = control->n_without_frames,
                .n_without_stack = control->n_without_stack + summary->n_unread_rest,
                .n_overflow = collector_table(collector)->n_overflow,
                .waiting = summary->waiting,
                .running = summary->running,
                .frames = control->has_frames,
                .pointers = control->has_pointers,
                .wakers = control->wakers == RECORD_WAKERS_ALL,
                .holders = control->wakers != RECORD_WAKERS_NONE,
                .n_wakes = control->n_wakes,
                .n_lost_wakes = control->n_lost_wakes,
                .histogram = summary->has_lengths,
                .objects = summary->waiting,
                .n_lost_lengths = control->n_lost_lengths,
                .n_unknown_lengths = control->n_unknown_lengths,
                .sees_return = summary->sees_return,
                .has_clock = summary->has_clock,
                .unclocked = summary->unclocked,
                .ended_by = summary->ended_by,
                .scope = summary->scope,
                .every_ns = summary->every_ns,
                .n_unsettled = summary->n_unsettled_steps,
                .n_missed = summary->n_missed_steps,
                .course_places = summary->course_places,
        };

        collector_count(collector, &facts.n_complete, &facts.n_cut);
        return facts;
}

/* The document is in a container of its own until it is joined with the snapshots. */
static int write_document(const Collector *collector, const RecordSummary *summary, bool has_lines,
                          uint64_t n_lost_lines, int output) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *writer = NULL;
        RecordingFacts facts = facts_of(summary, collector);
        Head head = { .format_version = HEAD_FORMAT_VERSION };
        uint64_t n_bytes;
        int r = snapshot_file_writer_new(output, &writer);

        facts.lines = has_lines;
        facts.n_lost_lines = n_lost_lines;
        if (r == 0)
                r = recording_document_write(
                        &facts, collector_table(collector), collector_course(collector),
                        collector_modules(collector), snapshot_file_writer_write, writer);
        return r == 0 ? snapshot_file_writer_finish(writer, &head, &n_bytes) : r;
}

int work_unwind(Work *work) {
        _cleanup_(fd_closep) int socket = work_take_fd(work, work->order->unwind.socket);
        _cleanup_(collector_freep) Collector *collector = NULL;
        uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];
        RecordMessage message;
        RecordSummary summary;
        const RecordProcess self = { .tgid = (uint64_t) getpid() };
        uint64_t is_too_large = 0, n_lost_lines = 0;
        int r = collector_new(&collector);

        if (r == 0 && work->order->unwind.lines)
                collector_want_lines(collector);
        if (r == 0)
                r = record_message_send(socket, RECORD_MESSAGE_PROCESS, &self, sizeof(self), NULL,
                                        0, -1);
        if (r == 0)
                r = collector_run(collector, socket, work->order->unwind.max_bytes,
                                  work->order->unwind.lines ? LIMIT_UNWOUND_FOR_LINES_BYTES
                                                            : LIMIT_UNWOUND_BYTES,
                                  space, &message);
        if (r == 0) {
                _cleanup_(fd_closep) int output = message.fd;

                if (message.n != sizeof(summary) || output < 0)
                        return -EBADMSG;
                memcpy(&summary, message.body, sizeof(summary));
                if (work->order->unwind.lines)
                        r = collector_find_lines(collector, FIND_LINES_NS, &n_lost_lines);
                if (r == 0)
                        r = write_document(collector, &summary, work->order->unwind.lines,
                                           n_lost_lines, output);
                if (r == -EFBIG || r == -ENOSPC || r == -EDQUOT) {
                        is_too_large = 1;
                        r = 0;
                }
        }
        if (r == 0)
                r = record_message_send(socket, RECORD_MESSAGE_END, &is_too_large,
                                        sizeof(is_too_large), NULL, 0, -1);
        return r == 0 ? answer_texts(&work->answer, NULL, 0) : r;
}

/* join */

static int read_part(int fd, Head *ret) {
        SnapshotFault fault = {};
        int r = snapshot_file_read_head(fd, ret, &fault);

        return r > 0 ? -EBADMSG : r;
}

/* The head is that of the snapshot at the end, but for when it began and what it is called. */
int work_join(Work *work) {
        const JoinOrder *order = &work->order->join;
        int parts[SNAPSHOT_RECORDING_PARTS] = {
                work_take_fd(work, order->begin),
                work_take_fd(work, order->end),
                work_take_fd(work, order->recording),
        };
        _cleanup_(fd_closep) int output = work_take_fd(work, order->output);
        _cleanup_(head_done) Head begin = {}, head = {};
        _cleanup_(buffer_done) Buffer text = {};
        SnapshotFault fault = {};
        JsonWriter writer;
        uint64_t n_bytes;
        int r = read_part(parts[0], &begin);

        if (r == 0)
                r = read_part(parts[1], &head);
        if (r == 0) {
                head.has_start_realtime = begin.has_start_realtime;
                head.start_realtime_ns = begin.start_realtime_ns;
                head.has_start_boottime = begin.has_start_boottime;
                head.start_boottime_ns = begin.start_boottime_ns;
                head.has_document_bytes = false;
                head.complete = head.complete && begin.complete;
                head.tagged = order->tagged;
                head.has_uid = true;
                head.uid = order->uid;
                memcpy(head.name, order->name.text, sizeof(head.name));
                if (head.name[0] == '\0')
                        r = work_time_name(&begin, head.name);
        }
        if (r == 0)
                r = snapshot_file_join(parts, output, &head, &n_bytes, &fault);
        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                (void) fd_close(parts[i]);
        if (r > 0)
                return work_refuse_fault(work, head.name, &fault);
        if (r == 0) {
                json_writer_init(&writer, &text);
                head.has_size = true;
                head.size_bytes = n_bytes;
                head_write_json(&writer, &head);
                r = json_writer_finish(&writer);
        }
        return r == 0 ? answer_texts(&work->answer, (const Span[]){ buffer_span(&text) }, 1) : r;
}
