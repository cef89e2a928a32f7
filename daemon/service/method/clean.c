/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/clean.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/request/request.h"

typedef struct Cleaning {
        Desk *desk;
        bool is_done;
} Cleaning;

static void cleaning_free(void *state) {
        Cleaning *cleaning = state;

        cleaning->desk->is_cleaning = false;
        if (!cleaning->is_done)
                cleaning->desk->is_cleaned = false;
        free(cleaning);
}

static int on_cleaned(Request *request, const JobReply *reply) {
        Cleaning *cleaning = request->state;

        cleaning->is_done = true;
        return request_finish(request);
}

static int method_clean(Request *request) {
        static const Stage stage = { .on_result = on_cleaned };
        _cleanup_(order_freep) Order *order = request_new_order(request, ORDER_CLEAN);
        int r;

        if (!order)
                return -ENOMEM;
        r = request_add_spool(request, &order->spool.spool);
        return r == 0 ? request_submit(request, order, QUEUE_ADDING, &stage) : r;
}

void clean_spool(Desk *desk) {
        static const Method method = { "io.ctprof.Job.Clean", method_clean, RECORD_CLEANED, false };
        Cleaning *cleaning;
        Request *request;

        if (desk->is_cleaned || desk->is_cleaning || spool_dir_fd(desk->spool) < 0)
                return;
        /*
         * To start a job costs a private daemon as much as an eighth of a small capture, and hardly
         * ever is there anything to remove. Nobody but its one caller waits while it looks itself.
         */
        if (desk->is_private && !spool_may_be_unclean(desk->spool)) {
                desk->is_cleaned = true;
                return;
        }
        cleaning = malloc(sizeof(*cleaning));
        if (!cleaning || request_new(desk, &method, NULL, NULL, &request) < 0) {
                log_warning(0, "Could not clean the spool, will try again later: %s",
                            strerror(ENOMEM));
                free(cleaning);
                return;
        }
        *cleaning = (Cleaning){ .desk = desk };
        request_keep(request, cleaning, cleaning_free);
        desk->is_cleaned = desk->is_cleaning = true;
        request_settle(request, method_clean(request));
}
