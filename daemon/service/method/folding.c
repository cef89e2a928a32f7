/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/folding.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "job/vault.h"
#include "kernel/bpf/ledger.h"
#include "kernel/bpf/task-object.h"
#include "log/log.h"
#include "service/request/order.h"
#include "service/request/transfer.h"

/* One that folds the rows that rest, one for those that rest then, one that finds nothing to do. */
#define MAX_RUNS 4u

static const char *const object_names[] = TASK_OBJECT_NAMES;
static const char *const file_names[] = { "folded0", "folded1" }; /* in the vault */

typedef struct Fold {
        Desk *desk;
        unsigned n_runs;
} Fold;

/* files */

/* 0: there is none of that name. A fold begins a generation, so files have different ones. */
static uint64_t generation_of(const Desk *desk, const char *name) {
        _cleanup_(fd_closep) int fd = vault_lend(desk->vault, name);
        LedgerFileHead head;

        return fd >= 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head) ? head.generation : 0;
}

static const char *newest(const Desk *desk) {
        uint64_t even = generation_of(desk, file_names[0]),
                 odd = generation_of(desk, file_names[1]);

        if (even == 0 && odd == 0)
                return NULL;
        return file_names[odd > even];
}

void folding_drop(Desk *desk) {
        for (size_t i = 0; i < ELEMENTSOF(file_names); i++)
                vault_drop(desk->vault, file_names[i]);
}

/* The later file has all rows of the earlier one. */
static int keep(Desk *desk, int fd) {
        const char *earlier = newest(desk);
        const char *name = earlier == file_names[0] ? file_names[1] : file_names[0];
        int r = vault_put(desk->vault, name, fd);

        if (r < 0)
                return r;
        if (earlier)
                vault_drop(desk->vault, earlier);
        return 0;
}

/* orders */

static int lend(Request *request, JsonWriter *writer, const char *key, const char *held) {
        int fd = vault_lend(request->desk->vault, held);

        return fd >= 0 ? request_add_fd(request, writer, key, fd) : 0;
}

int folding_write(Request *request, JsonWriter *writer) {
        const char *file = newest(request->desk);
        int r = 0;

        for (unsigned i = TASK_OBJECT_CONTROL; i <= TASK_OBJECT_MOVED && r == 0; i++)
                r = lend(request, writer, object_names[i], object_names[i]);
        return r == 0 && file ? lend(request, writer, object_names[TASK_OBJECT_FOLDED], file) : r;
}

/* the request */

static int write_order(Request *request, JsonWriter *writer) {
        request_begin_order(request, writer);
        return folding_write(request, writer);
}

static const Stage folding;

/* What was folded is removed from the kernel's table by the next run, once the file is kept. */
static int on_folded(Request *request, Span frame) {
        _cleanup_(fd_closep) int fd = job_take_fd(request->job, 0);
        Fold *fold = request->state;
        JsonWriter writer;
        int r;

        if (fd < 0 || ++fold->n_runs == MAX_RUNS)
                return request_forward(request, frame);
        r = keep(fold->desk, fd);
        if (r < 0) {
                log_warning(r, "Rows of the ledger of the dead that were folded could not be kept");
                return request_forward(request, frame);
        }
        log_debug("Rows of the ledger of the dead were folded to make room");
        r = write_order(request, &writer);
        return r == 0 ? request_continue(request, &writer, JOB_METHOD_FOLD, JOB_FOLD, &folding) : r;
}

/* The rows are still in the kernel's table, or in the file that is kept. */
static int on_failed(Request *request, Span frame) {
        log_warning(0, "The job that makes room in the ledger of the dead failed: %.*s",
                    (int) MIN_OF(frame.n, (size_t) 512), frame.bytes);
        return request_fail_as(request, frame);
}

static const Stage folding = {
        .on_result = on_folded,
        .on_failure = on_failed,
        .keeps_place = true,
};

static int method_fold(Request *request) {
        JsonWriter writer;
        int r = write_order(request, &writer);

        return r == 0 ? request_submit(request, &writer, JOB_METHOD_FOLD, QUEUE_ADDING, JOB_FOLD,
                                       &folding)
                      : r;
}

static void fold_free(void *state) {
        Fold *fold = state;

        fold->desk->is_folding = false;
        free(fold);
}

static bool is_crowded(const Desk *desk) {
        _cleanup_(fd_closep) int fd = vault_lend(desk->vault, object_names[TASK_OBJECT_CONTROL]);

        return fd >= 0 && ledger_is_crowded(fd) > 0;
}

void folding_look(Desk *desk) {
        static const Method method = { JOB_METHOD_FOLD, method_fold, RECORD_NOTHING, false };
        Request *request;
        Fold *fold;

        if (desk->is_folding || !is_crowded(desk))
                return;
        fold = malloc(sizeof(*fold));
        if (!fold || request_new(desk, &method, NULL, NULL, &request) < 0) {
                free(fold); /* there is another look soon */
                return;
        }
        *fold = (Fold){ .desk = desk };
        request_keep(request, fold, fold_free);
        desk->is_folding = true;
        request_settle(request, method_fold(request));
}
