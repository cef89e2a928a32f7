/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/survey.h"

#include <errno.h>
#include <stdlib.h>

#include "service/request/request.h"
#include "wire/message-object.h"

typedef struct Survey {
        Desk *desk;
        bool is_done;
        Buffer failure; /* of the job, by failure_pack() */
} Survey;

bool survey_is_due(const Desk *desk) {
        int fd = spool_dir_fd(desk->spool);

        return fd >= 0 && !spool_index_is_current(desk->index, fd);
}

static Request *find_waiting(const Desk *desk) {
        Request *found = NULL;

        /* The newest request is the first in the list. */
        for (Request *request = desk->requests; request; request = request->next)
                if (request->survey == SURVEY_THIS)
                        found = request;
        return found;
}

/* In the order in which the calls came. */
static void wake_all(Survey *survey) {
        WireErrorDetail detail = { .reason = "No job could be started to read the spool." };
        WireError error = WIRE_ERROR_JOB_FAILED;
        Request *request;
        int r;

        (void) !failure_unpack(buffer_span(&survey->failure), &error, &detail);
        while ((request = find_waiting(survey->desk))) {
                request->survey = SURVEY_NONE;
                r = survey->is_done ? request_handle(request)
                                    : request_fail(request, error, &detail);
                request_settle(request, r);
        }
}

/*
 * While others keep changing the directory, a survey ends without having seen all of it. Calls that
 * came while it ran then wait for the next one, which sees at least what was there when they came.
 */
static bool is_next_needed(const Survey *survey) {
        bool is_due = survey->is_done && survey_is_due(survey->desk), is_needed = false;

        for (Request *request = survey->desk->requests; request; request = request->next) {
                if (request->survey != SURVEY_NEXT)
                        continue;
                is_needed |= is_due;
                if (!is_due)
                        request->survey = SURVEY_THIS;
        }
        return is_needed;
}

static void survey_free(void *state) {
        Survey *survey = state;
        bool is_needed = is_next_needed(survey);

        survey->desk->is_surveying = false;
        wake_all(survey);
        for (Request *request = survey->desk->requests; request; request = request->next)
                if (request->survey == SURVEY_NEXT)
                        request->survey = SURVEY_THIS;
        if (is_needed && survey_start(survey->desk) < 0) {
                survey->is_done = false;
                wake_all(survey);
        }
        buffer_done(&survey->failure);
        free(survey);
}

static int on_entries(Request *request, Span parameters) {
        Survey *survey = request->state;
        _cleanup_(message_object_freep) json_object *reply = NULL;
        json_object *entries;
        int r;

        r = request_parse(parameters, &reply);
        if (r < 0)
                return r;
        entries = json_object_object_get(reply, "entries");
        if (!json_object_is_type(entries, json_type_array))
                return -EBADMSG;
        for (size_t i = 0; r == 0 && i < json_object_array_length(entries); i++)
                r = spool_index_add(survey->desk->index, json_object_array_get_idx(entries, i));
        return r;
}

static int on_surveyed(Request *request, const JobReply *reply) {
        Survey *survey = request->state;
        _cleanup_(message_object_freep) json_object *parameters = NULL;
        int r = reply->kind == PACKET_LAST ? request_parse(reply->body, &parameters) : -EBADMSG;

        if (r == 0)
                r = spool_index_end(survey->desk->index,
                                    json_object_object_get(parameters, "stamp"));
        if (r != 0)
                return r;
        survey->is_done = true;
        return request_finish(request);
}

static int on_failed(Request *request, WireError error, const WireErrorDetail *detail) {
        Survey *survey = request->state;

        (void) !failure_pack(&survey->failure, error, detail);
        return request_fail(request, error, detail);
}

static int method_survey(Request *request) {
        static const Stage stage = {
                .on_part = on_entries,
                .on_result = on_surveyed,
                .on_failure = on_failed,
        };
        _cleanup_(order_freep) Order *order = NULL;
        int r;

        r = spool_index_begin(request->desk->index);
        if (r != 0)
                return r;
        request->more = true;
        order = request_new_order(request, ORDER_SURVEY);
        if (!order)
                return -ENOMEM;
        r = request_add_spool(request, &order->spool.spool);
        return r == 0 ? request_submit(request, order, QUEUE_SURVEYING, &stage) : r;
}

int survey_start(Desk *desk) {
        static const Method method = { "io.ctprof.Job.Survey", method_survey, RECORD_SURVEYED,
                                       false };
        Survey *survey;
        Request *request;

        if (desk->is_surveying)
                return 0;
        survey = malloc(sizeof(*survey));
        if (!survey || request_new(desk, &method, NULL, NULL, &request) < 0) {
                free(survey);
                return -ENOMEM;
        }
        *survey = (Survey){ .desk = desk, .failure = { .max_bytes = LIMIT_REPLY_BYTES } };
        request_keep(request, survey, survey_free);
        desk->is_surveying = true;
        request_settle(request, method_survey(request));
        return 0;
}

void survey_await(Request *request) {
        int r;

        request_keep_fds(request);
        request->survey = request->desk->is_surveying ? SURVEY_NEXT : SURVEY_THIS;
        /* Unless this fails, the request may be answered and freed by now. */
        r = survey_start(request->desk);
        if (r == 0)
                return;
        request->survey = SURVEY_NONE;
        request_settle(request, r);
}
