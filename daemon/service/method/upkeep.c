/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/upkeep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/request/request.h"

/* cleaning */

/* The state is true when it is done. */
static void cleaning_release(Request *request) {
        const bool *is_done = request->state;

        request->manager->is_cleaning = false;
        if (!*is_done)
                request->manager->is_cleaned = false;
}

static int on_cleaned(Request *request, const JobReply *reply) {
        *(bool *) request->state = true;
        return request_answer(request, SPAN_LITERAL("{}"), NULL, 0);
}

void clean_spool(Manager *manager) {
        static const Method method = { "io.ctprof.Job.Clean", NULL, RECORD_CLEANED, false };
        static const Stage stage = { .on_result = on_cleaned };
        _cleanup_(freep) Order *order = NULL;
        Request *request;
        int r = -ENOMEM;

        if (manager->is_cleaned || manager->is_cleaning || manager->spool->dir_fd < 0)
                return;
        /*
         * To start a job costs a private daemon as much as an eighth of a small capture, and hardly
         * ever is there anything to remove. Nobody but its one caller waits while it looks itself.
         */
        if (manager->is_private && !spool_may_be_unclean(manager->spool)) {
                manager->is_cleaned = true;
                return;
        }
        if (request_new(manager, &method, NULL, NULL, &request) < 0) {
                log_warning(0, "Could not clean the spool, will try again later: %s",
                            strerror(ENOMEM));
                return;
        }
        if (request_keep(request, sizeof(bool), cleaning_release)) {
                manager->is_cleaned = manager->is_cleaning = true;
                order = request_new_order(request, ORDER_CLEAN);
        }
        if (order)
                r = request_add_spool(request, &order->spool.spool);
        if (r == 0)
                r = request_submit(request, order, QUEUE_ADDING, &stage);
        request_settle(request, r);
}

/* surveys */

typedef struct Survey {
        bool is_done;
        Buffer failure; /* of the job, by failure_pack() */
} Survey;

/* Handles the calls that wait for this one, in the order in which they came. */
static void wake_all(Manager *manager, const Survey *survey) {
        WireErrorDetail detail = { .reason = "No job could be started to read the spool." };
        WireError error = WIRE_ERROR_JOB_FAILED;
        Request *found;

        (void) !failure_unpack(buffer_span(&survey->failure), &error, &detail);
        for (;;) {
                found = NULL;
                /* The newest request is the first in the list. */
                for (Request *request = manager->requests; request; request = request->next)
                        if (request->survey == SURVEY_THIS)
                                found = request;
                if (!found)
                        return;
                found->survey = SURVEY_NONE;
                request_settle(found, survey->is_done ? request_handle(found)
                                                      : request_fail(found, error, &detail));
        }
}

/*
 * While others keep changing the directory, a survey ends without having seen all of it. Calls that
 * came while it ran then wait for the next one, which sees at least what was there when they came.
 */
static void survey_release(Request *own) {
        Manager *manager = own->manager;
        Survey *survey = own->state;
        int dir_fd = manager->spool->dir_fd;
        bool is_due = survey->is_done && dir_fd >= 0 &&
                      !spool_index_is_current(manager->index, dir_fd),
             is_needed = false;

        for (Request *request = manager->requests; request; request = request->next) {
                if (request->survey != SURVEY_NEXT)
                        continue;
                is_needed |= is_due;
                if (!is_due)
                        request->survey = SURVEY_THIS;
        }
        manager->is_surveying = false;
        wake_all(manager, survey);
        for (Request *request = manager->requests; request; request = request->next)
                if (request->survey == SURVEY_NEXT)
                        request->survey = SURVEY_THIS;
        if (is_needed && survey_start(manager) < 0) {
                survey->is_done = false;
                wake_all(manager, survey);
        }
        buffer_done(&survey->failure);
}

static int on_entries(Request *request, const JobReply *note) {
        return note->kind == PACKET_ENTRIES ? spool_index_add(request->manager->index, note->body)
                                            : 0;
}

static int on_surveyed(Request *request, const JobReply *reply) {
        Survey *survey = request->state;
        int r = reply->kind == PACKET_RESULT ? spool_index_end(request->manager->index, reply->body)
                                             : -EBADMSG;

        if (r != 0)
                return r;
        survey->is_done = true;
        return request_answer(request, SPAN_LITERAL("{}"), NULL, 0);
}

static int on_failed(Request *request, WireError error, const WireErrorDetail *detail) {
        Survey *survey = request->state;

        (void) !failure_pack(&survey->failure, error, detail);
        return request_fail(request, error, detail);
}

int survey_start(Manager *manager) {
        static const Method method = { "io.ctprof.Job.Survey", NULL, RECORD_SURVEYED, false };
        static const Stage stage = {
                .on_note = on_entries,
                .on_result = on_surveyed,
                .on_failure = on_failed,
        };
        _cleanup_(freep) Order *order = NULL;
        Survey *survey;
        Request *request;
        int r;

        if (manager->is_surveying)
                return 0;
        r = request_new(manager, &method, NULL, NULL, &request);
        if (r < 0)
                return r;
        survey = request_keep(request, sizeof(*survey), survey_release);
        if (!survey) {
                (void) request_free(request);
                return -ENOMEM;
        }
        survey->failure.max_bytes = LIMIT_REPLY_BYTES;
        manager->is_surveying = true;
        order = request_new_order(request, ORDER_SURVEY);
        r = order ? spool_index_begin(manager->index) : -ENOMEM;
        if (r == 0)
                r = request_add_spool(request, &order->spool.spool);
        if (r == 0)
                r = request_submit(request, order, QUEUE_SURVEYING, &stage);
        request_settle(request, r);
        return 0;
}
