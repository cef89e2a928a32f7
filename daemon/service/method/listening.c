/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/listening.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "exits/exit-line.h"
#include "job/sandbox/sandbox.h"
#include "job/job.h"
#include "job/fd-store.h"
#include "kernel/bpf/task-object.h"
#include "log/log.h"
#include "server/own-processes.h"
#include "service/request/request.h"

/* One that dies sooner is not started again at once, but with the next look. */
#define SHORT_LIFE_NS (5 * NSEC_PER_SEC)

static void end(Listening *listening) {
        listening->job = job_free(listening->job);
        listening->is_heard = false;
}

/* With programs that count exits, a listener would count them twice. */
static bool is_wanted(const Manager *manager) {
        static const char *const names[] = TASK_OBJECT_NAMES;
        _cleanup_(fd_closep) int programs =
                fd_store_borrow(manager->fd_store, names[TASK_OBJECT_EXIT]);

        if (manager->is_private || manager->is_loading || programs >= 0)
                return false;
        return manager->settings.exits == EXIT_CHOICE_TASKSTATS ||
               (manager->settings.exits == EXIT_CHOICE_AUTO &&
                sandbox_has_capabilities(JOB_LISTENING_CAPABILITIES));
}

/* the job */

static void start(Manager *manager);

/* It did not end because somebody wanted it to. */
static void lose(Manager *manager, const char *reason) {
        Listening *listening = &manager->listening;
        bool was_short = clock_now_ns(CLOCK_MONOTONIC) - listening->started_ns < SHORT_LIFE_NS;

        log_warning(0, "The ledger of threads that ended is lost, and another one begins: %s",
                    reason);
        listening->is_again = true;
        end(listening);
        if (!was_short)
                start(manager);
}

static void on_reply(Job *job, const JobReply *reply, void *userdata) {
        Manager *manager = userdata;
        Listening *listening = &manager->listening;
        char reason[MANAGER_REFUSAL_BYTES];

        if (reply->kind == PACKET_LISTENING) {
                listening->is_heard = true;
                log_info("Exits of threads are counted by messages of taskstats%s",
                         listening->is_again ? ", in a new ledger" : "");
        } else if (reply->is_last) {
                (void) snprintf(reason, sizeof(reason), "%s",
                                reply->detail.reason ? reply->detail.reason : "its job ended");
                if (listening->is_heard || reply->is_end) {
                        lose(manager, reason);
                        return;
                }
                memcpy(listening->refusal, reason, sizeof(listening->refusal));
                log_warning(0, "What threads do that end is not counted: %s", listening->refusal);
                end(listening);
        }
}

static void start(Manager *manager) {
        _cleanup_(freep) Order *order = order_new(ORDER_LISTEN);
        _cleanup_(buffer_done) Buffer body = {};
        Listening *listening = &manager->listening;
        int own = manager->own ? own_processes_lend(manager->own) : -EBADF, r = -ENOMEM;

        if (order) {
                order->listen.own = own >= 0;
                r = order_pack(order, &body);
        }
        listening->started_ns = clock_now_ns(CLOCK_MONOTONIC);
        if (r == 0)
                r = job_pool_start(manager->pool,
                                   &(JobOrder){
                                           .terms = &job_terms[JOB_LISTEN],
                                           .body = buffer_span(&body),
                                           .fds = &own,
                                           .n_fds = own >= 0,
                                   },
                                   on_reply, manager, &listening->job);
        if (r < 0)
                (void) fd_close(own);
        if (r < 0)
                log_warning(r, "The job that hears of exits could not be started");
}

void listening_begin(Manager *manager) {
        manager->listening.has_begun = true;
        listening_look(manager);
}

void listening_look(Manager *manager) {
        Listening *listening = &manager->listening;

        if (!listening->has_begun)
                return;
        if (!is_wanted(manager))
                end(listening);
        else if (!listening->job && listening->refusal[0] == '\0')
                start(manager);
}

void listening_reconsider(Manager *manager) {
        manager->listening.refusal[0] = '\0';
        listening_look(manager);
}

/* orders */

int listening_add(Request *request, CaptureOrder *order, bool is_probe) {
        const Manager *manager = request->manager;
        const Listening *listening = &manager->listening;
        Job *job = listening->job;
        const char *absence = NULL;
        int ends[2], r;

        if (manager->is_private && manager->settings.exits == EXIT_CHOICE_TASKSTATS)
                absence = "a private ctprofd, which lasts as long as one command, hears of no "
                          "exits";
        else if (is_wanted(manager) && listening->refusal[0] != '\0')
                absence = listening->refusal;
        else if (is_wanted(manager) && !job)
                absence = "the job that hears of exits ended and begins again soon";
        order->hears_exits = is_probe && !absence && job;
        if (!absence && job && !is_probe) {
                r = exit_line_new(&ends[0], &ends[1]);
                if (r < 0)
                        return r;
                r = job_send(job, PACKET_TELL, ends[0]);
                if (r == 0)
                        return request_add_fd(request, ends[1], &order->exit_line);
                (void) fd_close(ends[0]);
                (void) fd_close(ends[1]);
                absence = "the job that hears of exits takes no questions any more";
        }
        if (absence)
                (void) snprintf(order->no_exits, sizeof(order->no_exits), "%s", absence);
        return 0;
}
