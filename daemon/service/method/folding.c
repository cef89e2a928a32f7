/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/folding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "job/descriptor/timer.h"
#include "job/fd-store.h"
#include "kernel/bpf/ledger.h"
#include "kernel/bpf/task-object.h"
#include "log/log.h"
#include "service/request/request.h"

/* One that folds the rows that rest, one for those that rest then, one that finds nothing to do. */
#define MAX_RUNS 4u
/*
 * A user who fills the table all the time gets no more than this of the CPU: until the next fold, a
 * thread that finds no room is added to a row of its owner.
 */
#define MIN_INTERVAL_NS NSEC_PER_SEC
/* Rows that have not grown for an hour need not go at once, and a few of them do no harm. */
#define AGING_INTERVAL_NS (600 * NSEC_PER_SEC)
#define MIN_AGING_ROWS 512u

static const char *const object_names[] = TASK_OBJECT_NAMES;
static const char *const file_names[] = { "folded0", "folded1" }; /* in the descriptor store */

typedef struct Fold {
        unsigned n_runs;
        bool is_forced;
} Fold;

/* files */

/* Zeroed: there is none of that name. */
static LedgerFileHead head_of(const Manager *manager, const char *name) {
        _cleanup_(fd_closep) int fd = fd_store_borrow(manager->fd_store, name);
        LedgerFileHead head;

        return fd >= 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head) ? head
                                                                            : (LedgerFileHead){};
}

/* A fold begins a generation, so files have different ones. */
static const char *newest(const Manager *manager) {
        uint64_t even = head_of(manager, file_names[0]).generation,
                 odd = head_of(manager, file_names[1]).generation;

        if (even == 0 && odd == 0)
                return NULL;
        return file_names[odd > even];
}

void folding_drop(Manager *manager) {
        manager->calls = sd_event_source_disable_unref(manager->calls);
        for (size_t i = 0; i < ELEMENTSOF(file_names); i++)
                fd_store_drop(manager->fd_store, file_names[i]);
}

/* orders */

int folding_add(Request *request, OrderFd tasks[static _TASK_OBJECT_MAX]) {
        const Manager *manager = request->manager;
        const char *file = newest(manager);
        int r = 0;

        for (unsigned i = TASK_OBJECT_CONTROL; i <= TASK_OBJECT_FOLDED && r == 0; i++) {
                const char *held = i == TASK_OBJECT_FOLDED ? file : object_names[i];
                int fd = held ? fd_store_borrow(manager->fd_store, held) : -EBADF;

                if (fd >= 0)
                        r = request_add_fd(request, fd, &tasks[i]);
        }
        return r;
}

/* the request */

static Order *new_order(Request *request) {
        _cleanup_(freep) Order *order = request_new_order(request, ORDER_FOLD);
        const Fold *fold = request->state;

        if (!order || folding_add(request, order->fold.tasks) != 0)
                return NULL;
        /* Once for rows of each generation. */
        order->fold.is_forced = fold->is_forced && fold->n_runs < 2;
        return TAKE_PTR(order);
}

static const Stage folding;

/*
 * The rows that were folded are removed from the kernel's table by the next run, once the file is
 * kept. It has all rows of the earlier one, which is dropped only then.
 */
static int on_folded(Request *request, const JobReply *reply) {
        _cleanup_(fd_closep) int fd = reply->n_fds > 0 ? TAKE_FD(reply->fds[0]) : -EBADF;
        _cleanup_(freep) Order *order = NULL;
        Fold *fold = request->state;
        FdStore *fd_store = request->manager->fd_store;
        const char *earlier;
        int r;

        if (fd < 0 || ++fold->n_runs == MAX_RUNS)
                return request_answer(request, SPAN_LITERAL("{}"), NULL, 0);
        earlier = newest(request->manager);
        r = fd_store_put(fd_store, earlier == file_names[0] ? file_names[1] : file_names[0], fd);
        if (r < 0) {
                log_warning(r, "Rows of the ledger of the dead that were folded could not be kept");
                return request_answer(request, SPAN_LITERAL("{}"), NULL, 0);
        }
        if (earlier)
                fd_store_drop(fd_store, earlier);
        log_debug("Rows of the ledger of the dead were folded to make room");
        order = new_order(request);
        return order ? request_continue(request, order, &folding) : -ENOMEM;
}

/* The rows are still in the kernel's table, or in the file that is kept. */
static int on_failed(Request *request, WireError error, const WireErrorDetail *detail) {
        log_warning(0, "The job that makes room in the ledger of the dead failed: %s",
                    detail->reason ? detail->reason : wire_error_names[error]);
        return request_fail(request, error, detail);
}

static const Stage folding = {
        .on_result = on_folded,
        .on_failure = on_failed,
        .keeps_place = true,
};

/* A call that came meanwhile is heard with the next look. */
static void fold_release(Request *request) {
        request->manager->is_folding = false;
}

/* calls of programs */

/* There may have been several. */
static int on_call(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Manager *manager = userdata;
        uint64_t since_ns = clock_now_ns(CLOCK_MONOTONIC) - manager->folded_ns;
        uint64_t delay_ns = MIN_INTERVAL_NS - MIN_OF(since_ns, MIN_INTERVAL_NS);

        if (ledger_hear_calls(fd) < 0)
                manager->calls = sd_event_source_disable_unref(manager->calls); /* looks go on */
        timer_start(manager->look, delay_ns);
        return 0;
}

void folding_watch(Manager *manager) {
        _cleanup_(fd_closep) int fd = -EBADF;

        if (manager->calls)
                return;
        fd = fd_store_borrow(manager->fd_store, object_names[TASK_OBJECT_CALLS]);
        if (fd < 0 ||
            sd_event_add_io(manager->event, &manager->calls, fd, EPOLLIN, on_call, manager) < 0)
                return;
        if (sd_event_source_set_io_fd_own(manager->calls, 1) < 0) {
                manager->calls = sd_event_source_disable_unref(manager->calls);
                return;
        }
        TAKE_FD(fd);
        (void) sd_event_source_set_description(manager->calls, "folding-calls");
}

/* looks */

void folding_look(Manager *manager) {
        static const Method method = { "io.ctprof.Job.Fold", NULL, RECORD_NOTHING, false };
        _cleanup_(fd_closep) int control_fd =
                fd_store_borrow(manager->fd_store, object_names[TASK_OBJECT_CONTROL]);
        const char *file = newest(manager);
        _cleanup_(freep) Order *order = NULL;
        bool is_forced = false;
        Request *request;
        Fold *fold;

        folding_watch(manager);
        /* So many rows that the old ones should go, where they have not gone lately. */
        if (control_fd >= 0)
                is_forced = ledger_count_rows(control_fd) +
                                            (file ? head_of(manager, file).n_rows : 0) >=
                                    MIN_AGING_ROWS &&
                            clock_now_ns(CLOCK_MONOTONIC) - manager->aged_ns >= AGING_INTERVAL_NS;
        if (manager->is_folding || control_fd < 0 ||
            !(is_forced || ledger_is_crowded(control_fd) > 0))
                return;
        if (request_new(manager, &method, NULL, NULL, &request) < 0)
                return; /* there is another look soon */
        fold = request_keep(request, sizeof(*fold), fold_release);
        if (!fold) {
                (void) request_free(request);
                return;
        }
        fold->is_forced = is_forced;
        manager->is_folding = true;
        manager->folded_ns = clock_now_ns(CLOCK_MONOTONIC);
        if (is_forced)
                manager->aged_ns = manager->folded_ns;
        order = new_order(request);
        request_settle(request,
                       order ? request_submit(request, order, QUEUE_ADDING, &folding) : -ENOMEM);
}
