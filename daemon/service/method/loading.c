/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/loading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "job/job-kind.h"
#include "job/sandbox/sandbox.h"
#include "job/vault.h"
#include "log/log.h"
#include "service/method/listening.h"
#include "service/method/task-aid.h"
#include "service/request/request.h"

#define SINCE_NAME "tasks-since" /* in the vault */
#define LOADAVG_FILE "/proc/loadavg"
#define LOADAVG_BYTES 128

#define NO_CAPABILITIES \
        "to load BPF programs takes CAP_BPF and CAP_PERFMON, which this ctprofd was not given"
#define PAYS_LATER                                                                               \
        "a private ctprofd loads BPF programs for \"ctprofctl run\", for --backend bpf, and on " \
        "hosts of %u threads or more"

/* since when */

/* A file in memory, so that it is kept with what was loaded, also by the service manager. */
typedef struct Since {
        uint64_t realtime_ns, boottime_ns;
} Since;

static void note_since(const Desk *desk) {
        const Since since = { clock_now_ns(CLOCK_REALTIME), clock_now_ns(CLOCK_BOOTTIME) };
        _cleanup_(fd_closep) int fd = memfd_create("ctprof-since", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int r;

        if (fd < 0 || write(fd, &since, sizeof(since)) != sizeof(since) ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                r = -errno;
        else
                r = vault_put(desk->vault, SINCE_NAME, fd);
        if (r < 0)
                log_debug("When BPF programs were loaded is not kept: %s", strerror(-r));
}

static bool find_since(const Desk *desk, Since *ret) {
        _cleanup_(fd_closep) int fd = vault_lend(desk->vault, SINCE_NAME);

        return fd >= 0 && pread(fd, ret, sizeof(*ret), 0) == sizeof(*ret);
}

/* the end of it */

/* From here on no program can be loaded, by this process or by one that it starts. */
static void renounce(void) {
        int r = sandbox_drop_capabilities(JOB_LOADING_CAPABILITIES);

        if (r < 0)
                log_warning(r, "Could not give up the capabilities that load BPF programs");
}

void loading_take(Request *request, const JobReply *reply) {
        Desk *desk = request->desk;

        task_aid_take(request, reply);
        if (task_aid_is_loaded(desk))
                note_since(desk);
        renounce();
}

void loading_fail(Request *request, const WireErrorDetail *detail) {
        char text[DESK_REFUSAL_BYTES];

        (void) snprintf(text, sizeof(text), "the job that loads BPF programs failed%s%s",
                        detail->reason ? ": " : "", detail->reason ? detail->reason : "");
        task_aid_refuse(request->desk, text);
        renounce();
}

/* at the start */

/* However the request ended, captures wait no longer, and know why when nothing was loaded. */
static void loading_free(void *state) {
        Desk *desk = state;

        desk->is_loading = false;
        if (desk->bpf_refusal[0] == '\0' && !task_aid_is_loaded(desk) && !desk->is_over)
                task_aid_refuse(desk, "no job could be started to load BPF programs");
        renounce();
        listening_look(desk);
        desk_turn(desk);
}

static int on_loaded(Request *request, const JobReply *reply) {
        loading_take(request, reply);
        return request_finish(request);
}

static int on_failed(Request *request, WireError error, const WireErrorDetail *detail) {
        loading_fail(request, detail);
        return request_fail(request, error, detail);
}

static int method_load(Request *request) {
        static const Stage stage = { .on_result = on_loaded, .on_failure = on_failed };
        _cleanup_(order_freep) Order *order = request_new_order(request, ORDER_LOAD);

        if (!order)
                return -ENOMEM;
        order->load = task_aid_load_order(request->desk);
        return request_submit(request, order, QUEUE_LOADING, &stage);
}

static void explain_none(Desk *desk) {
        if (desk->settings.backend == BACKEND_CHOICE_PROCFS)
                (void) snprintf(desk->bpf_refusal, sizeof(desk->bpf_refusal),
                                "this ctprofd loads no BPF programs, because it was started with "
                                "Backend=procfs: set another in ctprofd.conf and restart it");
        else
                (void) snprintf(desk->bpf_refusal, sizeof(desk->bpf_refusal),
                                "this ctprofd loads no BPF programs, because it was started with "
                                "Backend=procfs: Backend=%s takes effect when it is restarted",
                                backend_choice_name(desk->settings.backend));
}

void loading_start(Desk *desk) {
        static const Method method = { "io.ctprof.Job.Load", method_load, RECORD_NOTHING, false };
        Request *request;

        if (desk->settings.backend == BACKEND_CHOICE_PROCFS) {
                desk->loads_none = true;
                task_aid_drop(desk);
                vault_drop(desk->vault, SINCE_NAME);
                explain_none(desk);
        }
        task_aid_share_own(desk);
        if (!task_aid_must_load(desk, desk->settings.backend)) {
                renounce();
                return;
        }
        if (request_new(desk, &method, NULL, NULL, &request) < 0) {
                loading_free(desk);
                return;
        }
        request_keep(request, desk, loading_free);
        desk->is_loading = true;
        request_settle(request, method_load(request));
}

void loading_reconsider(Desk *desk) {
        if (!desk->loads_none)
                return;
        explain_none(desk);
        if (loading_needs_restart(desk))
                log_warning(0, "Threads are still read from files: %s", desk->bpf_refusal);
}

bool loading_needs_restart(const Desk *desk) {
        return desk->loads_none && desk->settings.backend != BACKEND_CHOICE_PROCFS;
}

/* a private service */

/* The number of threads of the host; 0 when it is unknown. */
static uint64_t count_threads(void) {
        _cleanup_(fd_closep) int fd = open(LOADAVG_FILE, O_RDONLY | O_CLOEXEC);
        char text[LOADAVG_BYTES];
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        const char *start;
        uint64_t n_threads;

        /* "0.20 0.18 0.12 1/80 11206": the second number of the fourth word. */
        text[n > 0 ? n : 0] = '\0';
        start = strchr(text, '/');
        if (!start)
                return 0;
        start++;
        return number_parse_u64((Span){ start, strcspn(start, " ") }, &n_threads) ? n_threads : 0;
}

static bool has_many_threads(const Desk *desk) {
        return count_threads() >= desk->settings.loading_threads;
}

BackendChoice loading_choose(const Desk *desk, BackendChoice wish, bool is_end) {
        /* What was refused once is not tried again, and each capture says why. */
        if (wish != BACKEND_CHOICE_AUTO || !desk->is_private || task_aid_is_loaded(desk) ||
            desk->programs_refusal[0] != '\0')
                return wish;
        if (!sandbox_has_capabilities(JOB_LOADING_CAPABILITIES))
                return BACKEND_CHOICE_PROCFS;
        return is_end || has_many_threads(desk) ? BACKEND_CHOICE_AUTO : BACKEND_CHOICE_PROCFS;
}

/* the status */

static void say(LoadingState *state, const char *reason) {
        (void) snprintf(state->reason, sizeof(state->reason), "%s", reason);
}

/* Why a capture that leaves the choice does not read threads through BPF, if it does not. */
static void find_reason(const Desk *desk, LoadingState *state) {
        if (desk->bpf_refusal[0] != '\0')
                say(state, desk->bpf_refusal);
        else if (desk->settings.backend == BACKEND_CHOICE_PROCFS)
                say(state, "the configuration says Backend=procfs");
        else if (!desk->is_private || task_aid_is_loaded(desk))
                return;
        else if (!sandbox_has_capabilities(JOB_LOADING_CAPABILITIES))
                say(state, NO_CAPABILITIES);
        else if (desk->settings.backend == BACKEND_CHOICE_AUTO && !has_many_threads(desk))
                (void) snprintf(state->reason, sizeof(state->reason), PAYS_LATER,
                                desk->settings.loading_threads);
}

LoadingState loading_state(const Desk *desk) {
        LoadingState state = { .backend = BACKEND_CHOICE_AUTO };
        Since since;

        find_reason(desk, &state);
        if (state.reason[0] == '\0')
                state.backend = BACKEND_CHOICE_BPF;
        else if (desk->settings.backend != BACKEND_CHOICE_BPF)
                state.backend = BACKEND_CHOICE_PROCFS;
        if (task_aid_is_loaded(desk) && find_since(desk, &since)) {
                state.has_since = true;
                state.since_realtime_ns = since.realtime_ns;
                state.since_boottime_ns = since.boottime_ns;
        }
        return state;
}
