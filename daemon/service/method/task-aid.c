/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/task-aid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "job/vault.h"
#include "kernel/bpf/task-object.h"
#include "log/log.h"
#include "server/own-processes.h"
#include "service/method/folding.h"

#define NO_REASONS_OFF "waits are not counted by reason: ctprofd.conf says WaitReasons=off"
#define NO_REASONS_UNWANTED                                                                  \
        "waits were not being counted by reason, and this capture did not ask for it; with " \
        "WaitReasons=always in ctprofd.conf they always are"

static const char *const names[] = TASK_OBJECT_NAMES; /* in the vault */

bool task_aid_is_loaded(const Desk *desk) {
        _cleanup_(fd_closep) int held = vault_lend(desk->vault, names[TASK_OBJECT_TASKS]);

        return held >= 0;
}

bool task_aid_must_load(const Desk *desk, BackendChoice choice) {
        return choice != BACKEND_CHOICE_PROCFS && desk->bpf_refusal[0] == '\0' &&
               !task_aid_is_loaded(desk);
}

bool task_aid_counts_exits(const Desk *desk) {
        _cleanup_(fd_closep) int held = vault_lend(desk->vault, names[TASK_OBJECT_EXIT]);

        return held >= 0;
}

void task_aid_refuse(Desk *desk, const char *reason) {
        (void) snprintf(desk->bpf_refusal, sizeof(desk->bpf_refusal), "%s", reason);
        if (desk->settings.backend == BACKEND_CHOICE_BPF)
                log_warning(0, "Captures fail, because threads cannot be read through BPF: %s",
                            desk->bpf_refusal);
        else
                log_info("Threads are read from files: %s", desk->bpf_refusal);
}

void task_aid_drop(Desk *desk) {
        for (unsigned i = 0; i < _TASK_OBJECT_MAX; i++)
                vault_drop(desk->vault, names[i]);
        folding_drop(desk);
}

LoadOrder task_aid_load_order(const Desk *desk) {
        return (LoadOrder){ .ledger = desk->settings.exits == EXIT_CHOICE_AUTO ||
                                      desk->settings.exits == EXIT_CHOICE_BPF,
                            .waits = desk->settings.counts_waits };
}

static void keep_objects(Request *request, const ObjectsResult *result) {
        for (uint32_t i = 0; i < result->n; i++) {
                const char *name = names[result->objects[i]];
                _cleanup_(fd_closep) int fd = job_take_fd(request->job, i);

                /* What the service manager did not take is lost with this process alone. */
                if (fd >= 0 && vault_put(request->desk->vault, name, fd) < 0)
                        log_warning(0, "An object of the kernel could not be kept: %s", name);
        }
}

void task_aid_share_own(const Desk *desk) {
        _cleanup_(fd_closep) int fd = vault_lend(desk->vault, names[TASK_OBJECT_OWN]);
        int r = fd >= 0 && desk->own ? own_processes_share(desk->own, fd) : 0;

        if (r < 0)
                log_warning(r, "Programs cannot be told which processes are callers of ctprofd");
}

void task_aid_take(Request *request, const JobReply *reply) {
        Desk *desk = request->desk;
        ObjectsResult result;

        if (reply->kind == PACKET_RESULT && objects_result_unpack(reply->body, &result)) {
                folding_drop(desk); /* of a ledger that was lost */
                keep_objects(request, &result);
                task_aid_share_own(desk);
                folding_watch(desk);
                if (result.reason[0] != '\0')
                        (void) snprintf(desk->programs_refusal, sizeof(desk->programs_refusal),
                                        "%s", result.reason);
        }
        if (!task_aid_is_loaded(desk))
                task_aid_refuse(desk, desk->programs_refusal[0] ? desk->programs_refusal
                                                                : "what was loaded was lost");
}

/* Links of other programs are of no use to a capture: they hold what runs. */
static int lend_objects(Request *request, OrderFd tasks[static _TASK_OBJECT_MAX]) {
        static const TaskObject iterators[] = { TASK_OBJECT_TASKS, TASK_OBJECT_SEED };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(iterators) && r == 0; i++) {
                int fd = vault_lend(request->desk->vault, names[iterators[i]]);

                r = fd >= 0 ? request_add_fd(request, fd, &tasks[iterators[i]]) : 0;
        }
        return r == 0 ? folding_add(request, tasks) : r;
}

static void take_switch(const Desk *desk, TaskObjects *ret) {
        task_objects_init(ret);
        ret->fds[TASK_OBJECT_CONTROL] = vault_lend(desk->vault, names[TASK_OBJECT_CONTROL]);
        ret->fds[TASK_OBJECT_SEED] = vault_lend(desk->vault, names[TASK_OBJECT_SEED]);
}

bool task_aid_look_at_reasons(const Desk *desk, ReasonState *ret) {
        _cleanup_(task_objects_done) TaskObjects objects;

        take_switch(desk, &objects);
        return reasons_look(&objects, ret) == 0;
}

void task_aid_limit_reasons(const Desk *desk) {
        _cleanup_(task_objects_done) TaskObjects objects;
        int r = 0;

        take_switch(desk, &objects);
        if (desk->settings.reasons_ns != REASONS_FOREVER)
                r = reasons_limit(&objects, desk->settings.reasons_ns);
        if (r < 0)
                log_warning(r, "Waits are counted by reason for longer than WaitReasons= says");
}

void task_aid_add_reasons(const Desk *desk, CaptureOrder *order, bool are_wanted) {
        uint64_t stay_ns = desk->settings.reasons_ns;

        if (stay_ns == REASONS_FOREVER || (stay_ns > 0 && are_wanted))
                order->reasons_ns = stay_ns;
        else
                (void) snprintf(order->no_reasons, sizeof(order->no_reasons), "%s",
                                stay_ns == 0 ? NO_REASONS_OFF : NO_REASONS_UNWANTED);
}

int task_aid_add(Request *request, CaptureOrder *order, BackendChoice choice) {
        const Desk *desk = request->desk;
        char text[DESK_REFUSAL_BYTES + 64];

        if (choice == BACKEND_CHOICE_PROCFS)
                return 0;
        (void) snprintf(order->no_tasks, sizeof(order->no_tasks), "%s", desk->programs_refusal);
        if (task_aid_is_loaded(desk))
                return lend_objects(request, order->tasks);
        if (choice == BACKEND_CHOICE_AUTO)
                return 0;
        (void) snprintf(text, sizeof(text), "threads cannot be read through BPF: %s",
                        desk->bpf_refusal);
        return request_fail(request, WIRE_ERROR_JOB_FAILED, &(WireErrorDetail){ .reason = text });
}
