/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/task-aid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "job/vault.h"
#include "log/log.h"
#include "service/request/transfer.h"

#define TASKS_NAME "tasks" /* in the vault */

static bool is_loaded(const Desk *desk) {
        _cleanup_(fd_closep) int held = vault_lend(desk->vault, TASKS_NAME);

        return held >= 0;
}

bool task_aid_must_load(const Desk *desk, BackendChoice choice) {
        return choice != BACKEND_CHOICE_PROCFS && desk->bpf_refusal[0] == '\0' && !is_loaded(desk);
}

void task_aid_refuse(Desk *desk, const char *reason) {
        (void) snprintf(desk->bpf_refusal, sizeof(desk->bpf_refusal), "%s", reason);
        log_info("Threads are read from files: %s", desk->bpf_refusal);
}

void task_aid_take(Request *request, Span frame) {
        _cleanup_(fd_closep) int fd = job_take_fd(request->job, 0);
        json_object *reply, *reason;

        if (fd < 0 &&
            transfer_decode(frame, JOB_KEY_REASON, json_type_string, &reply, &reason) == 0) {
                task_aid_refuse(request->desk, json_object_get_string(reason));
                json_object_put(reply);
        } else if (fd < 0 || vault_put(request->desk->vault, TASKS_NAME, fd) < 0)
                task_aid_refuse(request->desk, "what was loaded could not be kept");
}

int task_aid_write(Request *request, JsonWriter *writer, BackendChoice choice) {
        char text[DESK_REFUSAL_BYTES + 64];
        int fd;

        if (choice == BACKEND_CHOICE_PROCFS)
                return 0;
        fd = vault_lend(request->desk->vault, TASKS_NAME);
        if (fd >= 0)
                return request_add_fd(request, writer, JOB_KEY_TASKS, fd);
        if (choice == BACKEND_CHOICE_AUTO)
                return 0;
        (void) snprintf(text, sizeof(text), "threads cannot be read through BPF: %s",
                        request->desk->bpf_refusal);
        return request_fail(request, WIRE_ERROR_JOB_FAILED, &(WireErrorDetail){ .reason = text });
}
