/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/loading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "job/job-kind.h"
#include "job/sandbox/sandbox.h"
#include "job/fd-store.h"
#include "kernel/bpf/clock-event.h"
#include "log/log.h"
#include "server/own-processes.h"
#include "service/method/folding.h"
#include "service/method/listening.h"

#define SINCE_NAME "tasks-since" /* in the descriptor store */
#define LOADAVG_FILE "/proc/loadavg"
#define LOADAVG_BYTES 128

#define NO_CAPABILITIES \
        "to load BPF programs takes CAP_BPF and CAP_PERFMON, which this ctprofd was not given"
#define PAYS_LATER                                                                               \
        "a private ctprofd loads BPF programs for \"ctprofctl run\", for --backend bpf, and on " \
        "hosts of %u threads or more"
static const char *const names[] = TASK_OBJECT_NAMES; /* in the descriptor store */

/* A file in memory, so that it is kept with what was loaded, also by the service manager. */
typedef struct Since {
        uint64_t realtime_ns, boottime_ns;
} Since;

/* objects */

static bool is_loaded(const Manager *manager) {
        _cleanup_(fd_closep) int held =
                fd_store_borrow(manager->fd_store, names[TASK_OBJECT_TASKS]);

        return held >= 0;
}

bool loading_is_due(const Manager *manager, BackendChoice choice) {
        return choice != BACKEND_CHOICE_PROCFS && manager->bpf_refusal[0] == '\0' &&
               !is_loaded(manager);
}

/* Files are read from now on. */
static void refuse(Manager *manager, const char *reason) {
        (void) snprintf(manager->bpf_refusal, sizeof(manager->bpf_refusal), "%s", reason);
        if (manager->settings.backend == BACKEND_CHOICE_BPF)
                log_warning(0, "Captures fail, because threads cannot be read through BPF: %s",
                            manager->bpf_refusal);
        else
                log_info("Threads are read from files: %s", manager->bpf_refusal);
}

/* Tells what was loaded, also by an earlier process, which processes are callers. */
static void share_own(const Manager *manager) {
        _cleanup_(fd_closep) int fd = fd_store_borrow(manager->fd_store, names[TASK_OBJECT_OWN]);
        int r = fd >= 0 && manager->own ? own_processes_share(manager->own, fd) : 0;

        if (r < 0)
                log_warning(r, "Programs cannot be told which processes are callers of ctprofd");
}

/* the job that loads */

LoadOrder loading_order(const Manager *manager, bool captures_only) {
        return (LoadOrder){
                .programs = { .ledger = manager->settings.exits == EXIT_CHOICE_AUTO ||
                                        manager->settings.exits == EXIT_CHOICE_BPF,
                              .waits = manager->settings.counts_waits,
                              .captures_only = captures_only },
        };
}

/* From here on no program can be loaded, by this process or by one that it starts. */
static void renounce(void) {
        int r = sandbox_drop_capabilities(JOB_LOADING_CAPABILITIES);

        if (r < 0)
                log_warning(r, "Could not give up the capabilities that load BPF programs");
}

void loading_drop_clocks(Manager *manager) {
        while (manager->n_clocks > 0)
                (void) close(manager->clocks[--manager->n_clocks]);
        free(manager->clocks);
        manager->clocks = NULL;
        manager->n_clocks_allocated = 0;
}

int loading_take_clocks(Request *request, const JobReply *note) {
        Manager *manager = request->manager;

        if (note->kind != PACKET_CLOCKS || manager->n_clocks + note->n_fds > LIMIT_CLOCKS)
                return 0;
        if (ARRAY_RESERVE(manager->clocks, manager->n_clocks_allocated,
                          manager->n_clocks + note->n_fds) != 0)
                return -ENOMEM;
        for (size_t i = 0; i < note->n_fds; i++)
                manager->clocks[manager->n_clocks++] = TAKE_FD(note->fds[i]);
        return 0;
}

void loading_take(Request *request, const JobReply *reply) {
        Manager *manager = request->manager;
        bool is_new = false; /* clocks alone are opened for programs that were there */
        ObjectsResult result;
        Since since;
        int r = 0;

        if (reply->kind == PACKET_RESULT && objects_result_unpack(reply->body, &result)) {
                folding_drop(manager); /* of a ledger that was lost */
                for (uint32_t i = 0; i < result.n; i++) {
                        const char *name = names[result.objects[i]];
                        _cleanup_(fd_closep) int fd =
                                i < reply->n_fds ? TAKE_FD(reply->fds[i]) : -EBADF;

                        /* An object that the service manager did not take ends with us. */
                        if (fd >= 0 && fd_store_put(manager->fd_store, name, fd) < 0)
                                log_warning(0, "An object of the kernel could not be kept: %s",
                                            name);
                }
                is_new = result.n > 0;
                share_own(manager);
                folding_watch(manager);
                if (result.reason[0] != '\0')
                        (void) snprintf(manager->programs_refusal,
                                        sizeof(manager->programs_refusal), "%s", result.reason);
        }
        if (!is_loaded(manager)) {
                loading_drop_clocks(manager);
                refuse(manager, manager->programs_refusal[0] ? manager->programs_refusal
                                                             : "what was loaded was lost");
        } else if (is_new) {
                _cleanup_(fd_closep) int fd =
                        memfd_create("ctprof-since", MFD_CLOEXEC | MFD_ALLOW_SEALING);

                since = (Since){ clock_now_ns(CLOCK_REALTIME), clock_now_ns(CLOCK_BOOTTIME) };
                if (fd < 0 || write(fd, &since, sizeof(since)) != sizeof(since) ||
                    fcntl(fd, F_ADD_SEALS,
                          F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                        r = -errno;
                else
                        r = fd_store_put(manager->fd_store, SINCE_NAME, fd);
                if (r < 0)
                        log_debug("When BPF programs were loaded is not kept: %s", strerror(-r));
        }
        renounce();
}

void loading_fail(Request *request, const WireErrorDetail *detail) {
        char text[MANAGER_REFUSAL_BYTES];

        (void) snprintf(text, sizeof(text), "the job that loads BPF programs failed%s%s",
                        detail->reason ? ": " : "", detail->reason ? detail->reason : "");
        loading_drop_clocks(request->manager);
        refuse(request->manager, text);
        renounce();
}

/* at the start */

/* However the request ended, captures wait no longer, and know why when nothing was loaded. */
static void end_loading(Manager *manager) {
        manager->is_loading = false;
        if (manager->bpf_refusal[0] == '\0' && !is_loaded(manager) && !manager->is_over)
                refuse(manager, "no job could be started to load BPF programs");
        renounce();
        listening_look(manager);
        (void) sd_event_source_set_enabled(manager->turn, SD_EVENT_ONESHOT);
}

static void loading_release(Request *request) {
        end_loading(request->manager);
}

static int on_loaded(Request *request, const JobReply *reply) {
        loading_take(request, reply);
        return request_answer(request, SPAN_LITERAL("{}"), NULL, 0);
}

static int on_failed(Request *request, WireError error, const WireErrorDetail *detail) {
        loading_fail(request, detail);
        return request_fail(request, error, detail);
}

static void explain_none(Manager *manager) {
        if (manager->settings.backend == BACKEND_CHOICE_PROCFS)
                (void) snprintf(manager->bpf_refusal, sizeof(manager->bpf_refusal),
                                "this ctprofd loads no BPF programs, because it was started with "
                                "Backend=procfs: set another in ctprofd.conf and restart it");
        else
                (void) snprintf(manager->bpf_refusal, sizeof(manager->bpf_refusal),
                                "this ctprofd loads no BPF programs, because it was started with "
                                "Backend=procfs: Backend=%s takes effect when it is restarted",
                                backend_choice_names[manager->settings.backend]);
}

void loading_start(Manager *manager) {
        static const Method method = { "io.ctprof.Job.Load", NULL, RECORD_NOTHING, false };
        static const Stage stage = {
                .on_note = loading_take_clocks,
                .on_result = on_loaded,
                .on_failure = on_failed,
        };
        _cleanup_(fd_closep) int clock = -EBADF;
        _cleanup_(freep) Order *order = NULL;
        Request *request;
        int r = 0;

        if (manager->settings.backend == BACKEND_CHOICE_PROCFS) {
                manager->loads_none = true;
                for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++)
                        fd_store_drop(manager->fd_store, names[i]);
                folding_drop(manager);
                fd_store_drop(manager->fd_store, SINCE_NAME);
                explain_none(manager);
        }
        share_own(manager);
        /* An earlier process may have been killed while it recorded. */
        loading_end_sampling(manager);
        clock = fd_store_borrow(manager->fd_store, names[TASK_OBJECT_CLOCK]);
        if (!loading_is_due(manager, manager->settings.backend) && clock < 0) {
                renounce();
                return;
        }
        if (request_new(manager, &method, NULL, NULL, &request) < 0) {
                end_loading(manager);
                return;
        }
        request->release = loading_release;
        manager->is_loading = true;
        order = request_new_order(request, ORDER_LOAD);
        if (order)
                order->load = loading_order(manager, false);
        /*
         * Programs that an earlier process of the service loaded are still there, but its clocks
         * ended with it: the job opens only clocks.
         */
        if (order && is_loaded(manager))
                r = request_add_fd(request, TAKE_FD(clock), &order->load.clock);
        if (r == 0)
                r = order ? request_submit(request, order, QUEUE_LOADING, &stage) : -ENOMEM;
        request_settle(request, r);
}

void loading_reconsider(Manager *manager) {
        if (!manager->loads_none)
                return;
        explain_none(manager);
        if (loading_needs_restart(manager))
                log_warning(0, "Threads are still read from files: %s", manager->bpf_refusal);
}

bool loading_needs_restart(const Manager *manager) {
        return manager->loads_none && manager->settings.backend != BACKEND_CHOICE_PROCFS;
}

/* a private service */

/* True when the host has so many threads that loading pays; false when their number is unknown. */
static bool has_many_threads(const Manager *manager) {
        _cleanup_(fd_closep) int fd = open(LOADAVG_FILE, O_RDONLY | O_CLOEXEC);
        char text[LOADAVG_BYTES];
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        uint64_t n_threads = 0;
        const char *start;

        /* "0.20 0.18 0.12 1/80 11206": the second number of the fourth word. */
        text[n > 0 ? n : 0] = '\0';
        start = strchr(text, '/');
        if (start && !number_parse_u64((Span){ start + 1, strcspn(start + 1, " ") }, &n_threads))
                n_threads = 0;
        return n_threads >= manager->settings.loading_threads;
}

BackendChoice loading_choose(const Manager *manager, BackendChoice wish, bool is_end) {
        /* Loading that was refused once is not tried again, and each capture says why. */
        if (wish != BACKEND_CHOICE_AUTO || !manager->is_private || is_loaded(manager) ||
            manager->programs_refusal[0] != '\0')
                return wish;
        if (!sandbox_has_capabilities(JOB_LOADING_CAPABILITIES))
                return BACKEND_CHOICE_PROCFS;
        return is_end || has_many_threads(manager) ? BACKEND_CHOICE_AUTO : BACKEND_CHOICE_PROCFS;
}

/* orders and waits by reason */

static void take_switch(const Manager *manager, TaskObjects *ret) {
        *ret = TASK_OBJECTS_NONE;
        ret->fds[TASK_OBJECT_CONTROL] =
                fd_store_borrow(manager->fd_store, names[TASK_OBJECT_CONTROL]);
        ret->fds[TASK_OBJECT_SEED] = fd_store_borrow(manager->fd_store, names[TASK_OBJECT_SEED]);
}

bool loading_look_at_reasons(const Manager *manager, ReasonState *ret) {
        _cleanup_(task_objects_done) TaskObjects objects;

        take_switch(manager, &objects);
        return reasons_look(&objects, ret) == 0;
}

void loading_limit_reasons(const Manager *manager) {
        _cleanup_(task_objects_done) TaskObjects objects;
        int r = 0;

        take_switch(manager, &objects);
        if (manager->settings.reasons_ns != REASONS_FOREVER)
                r = reasons_limit(&objects, manager->settings.reasons_ns);
        if (r < 0)
                log_warning(r, "Waits are counted by reason for longer than WaitReasons= says");
}

/* Gives the job those of @objects that were loaded. */
static int lend(Request *request, const TaskObject *objects, size_t n,
                OrderFd tasks[static _TASK_OBJECT_MAX]) {
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                int fd = fd_store_borrow(request->manager->fd_store, names[objects[i]]);

                if (fd >= 0)
                        r = request_add_fd(request, fd, &tasks[objects[i]]);
        }
        return r;
}

int loading_add(Request *request, CaptureOrder *order, BackendChoice choice) {
        /* Links of other programs are of no use to a capture: they hold what runs. */
        static const TaskObject iterators[] = { TASK_OBJECT_TASKS, TASK_OBJECT_SEED };
        const Manager *manager = request->manager;
        char text[MANAGER_REFUSAL_BYTES + 64];
        int r;

        if (choice == BACKEND_CHOICE_PROCFS)
                return 0;
        (void) snprintf(order->no_tasks, sizeof(order->no_tasks), "%s", manager->programs_refusal);
        if (!is_loaded(manager)) {
                if (choice == BACKEND_CHOICE_AUTO)
                        return 0;
                (void) snprintf(text, sizeof(text), "threads cannot be read through BPF: %s",
                                manager->bpf_refusal);
                return request_refuse(request, WIRE_ERROR_JOB_FAILED, text);
        }
        r = lend(request, iterators, ELEMENTSOF(iterators), order->tasks);
        return r == 0 ? folding_add(request, order->tasks) : r;
}

int loading_add_sampling(Request *request, RecordOrder *record) {
        static const TaskObject objects[] = { TASK_OBJECT_SAMPLES, TASK_OBJECT_CONTROL,
                                              TASK_OBJECT_GO_ON,   TASK_OBJECT_FORK,
                                              TASK_OBJECT_REST,    TASK_OBJECT_SYMBOLS,
                                              TASK_OBJECT_WAKING,  TASK_OBJECT_LENGTHS,
                                              TASK_OBJECT_TICKS,   TASK_OBJECT_TASKS };
        const Manager *manager = request->manager;
        static const TaskObject of_steps[] = { TASK_OBJECT_ROWS };
        const char *what = NULL, *why = "this private ctprofd loaded programs for captures alone";
        char text[MANAGER_REFUSAL_BYTES + 64];
        int r = 0;

        if (manager->bpf_refusal[0])
                why = manager->bpf_refusal;
        else if (manager->programs_refusal[0])
                why = manager->programs_refusal;
        if (record->every_ns > 0)
                r = lend(request, of_steps, ELEMENTSOF(of_steps), record->tasks);
        if (r == 0)
                r = lend(request, objects, ELEMENTSOF(objects), record->tasks);
        /*
         * The recording tells which threads held locks only if the kernel accepts the program that
         * sees wake-ups.
         */
        if (record->wakers == RECORD_WAKERS_LOCKS && record->tasks[TASK_OBJECT_WAKING] == 0)
                record->wakers = RECORD_WAKERS_NONE;
        record->n_clocks = (uint32_t) manager->n_clocks;
        if (r == 0 && record->running)
                r = clock_events_start(manager->clocks, manager->n_clocks, record->period_ns);
        if (r != 0)
                return r;
        if (record->tasks[TASK_OBJECT_SAMPLES] == 0 || record->tasks[TASK_OBJECT_CONTROL] == 0)
                what = "nothing";
        else if (record->wakers != RECORD_WAKERS_NONE && record->tasks[TASK_OBJECT_WAKING] == 0)
                what = "no wakers";
        else if (record->every_ns > 0 &&
                 (record->tasks[TASK_OBJECT_TASKS] == 0 || record->tasks[TASK_OBJECT_ROWS] == 0))
                what = "no steps";
        if (!what)
                return 0;
        (void) snprintf(text, sizeof(text), "%s can be recorded: %s", what, why);
        return request_refuse(request, WIRE_ERROR_JOB_FAILED, text);
}

void loading_end_sampling(const Manager *manager) {
        _cleanup_(task_objects_done) TaskObjects objects;
        int r;

        clock_events_stop(manager->clocks, manager->n_clocks);
        take_switch(manager, &objects);
        r = sampling_end(&objects);
        if (r < 0)
                log_warning(r, "Programs may go on to take samples for a recording that has ended");
        /* A recording needs them for as long as it may last, which its end can come long before. */
        loading_limit_reasons(manager);
}

bool loading_look_at_sampling(const Manager *manager, RecordControl *ret) {
        _cleanup_(task_objects_done) TaskObjects objects;

        take_switch(manager, &objects);
        return sampling_look(&objects, ret) == 0 && ret->id != 0;
}

/* the status */

LoadingState loading_state(const Manager *manager) {
        _cleanup_(fd_closep) int fd = fd_store_borrow(manager->fd_store, SINCE_NAME);
        bool has_programs = is_loaded(manager);
        LoadingState state = { .backend = BACKEND_CHOICE_AUTO };
        const char *reason = "";
        Since since;

        /* This is why a capture that leaves the choice does not read threads through BPF. */
        if (manager->bpf_refusal[0] != '\0')
                reason = manager->bpf_refusal;
        else if (manager->settings.backend == BACKEND_CHOICE_PROCFS)
                reason = "the configuration says Backend=procfs";
        else if (manager->is_private && !has_programs &&
                 !sandbox_has_capabilities(JOB_LOADING_CAPABILITIES))
                reason = NO_CAPABILITIES;
        (void) snprintf(state.reason, sizeof(state.reason), "%s", reason);
        if (reason[0] == '\0' && manager->is_private && !has_programs &&
            manager->settings.backend == BACKEND_CHOICE_AUTO && !has_many_threads(manager))
                (void) snprintf(state.reason, sizeof(state.reason), PAYS_LATER,
                                manager->settings.loading_threads);

        if (state.reason[0] == '\0')
                state.backend = BACKEND_CHOICE_BPF;
        else if (manager->settings.backend != BACKEND_CHOICE_BPF)
                state.backend = BACKEND_CHOICE_PROCFS;
        if (has_programs && fd >= 0 && pread(fd, &since, sizeof(since), 0) == sizeof(since)) {
                state.has_since = true;
                state.since_realtime_ns = since.realtime_ns;
                state.since_boottime_ns = since.boottime_ns;
        }
        return state;
}
