/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/service.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job/workshop.h"
#include "log/log.h"
#include "service/record.h"
#include "service/request.h"
#include "wire/message.h"

struct Service {
        ServiceSetup setup;
        uint64_t started_ns; /* CLOCK_MONOTONIC */
        Queue *queues[_QUEUE_KIND_MAX];
        Request *requests; /* all of them */
        sd_event_source *turn;
        Recorder recorder;
        bool is_cleaned;  /* or about to be: that comes first in its queue */
        bool is_cleaning; /* by a request of ours */
};

static uint64_t now_mono_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

/* for requests */

const ServiceSetup *service_setup(const Service *service) {
        return &service->setup;
}

Queue *service_queue(const Service *service, QueueKind kind) {
        return service->queues[kind];
}

uint64_t service_uptime_ns(const Service *service) {
        return now_mono_ns() - service->started_ns;
}

void service_count_jobs(const Service *service, unsigned *ret_running, unsigned *ret_waiting) {
        *ret_running = *ret_waiting = 0;
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++) {
                *ret_running += queue_n_running(service->queues[kind]);
                *ret_waiting += queue_n_waiting(service->queues[kind]);
        }
}

void service_link(Service *service, Request *request) {
        request->next = service->requests;
        if (request->next)
                request->next->previous = request;
        service->requests = request;
}

void service_unlink(Service *service, Request *request) {
        if (request->next)
                request->next->previous = request->previous;
        if (request->previous)
                request->previous->next = request->next;
        else
                service->requests = request->next;
        if (!request->method)
                service->is_cleaning = false;
}

/* The next one that adds a snapshot tries again. */
static void note_unclean(Service *service, const char *reason) {
        char quoted[LOG_QUOTE_BYTES];

        service->is_cleaned = false;
        log_warning(0, "Could not clean the spool yet: %s", log_quote(span_of(reason), quoted));
}

static void record_unclean(Service *service, Span frame) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        json_object *reason = NULL;
        Reply reply;

        if (reply_decode(frame, &reply, complaint) != 0) {
                note_unclean(service, strerror(ENOMEM));
                return;
        }
        (void) json_object_object_get_ex(reply.parameters, "reason", &reason);
        note_unclean(service, reason ? json_object_get_string(reason) : reply.error);
        reply_done(&reply);
}

void service_record(Service *service, const Request *request, Span frame, bool is_error) {
        if (request->method)
                recorder_take(&service->recorder, request->method, request->uid,
                              request->parameters, frame, is_error, now_mono_ns());
        else if (is_error)
                record_unclean(service, frame);
}

/* turns */

void service_turn(Service *service) {
        (void) sd_event_source_set_enabled(service->turn, SD_EVENT_ONESHOT);
}

static Request *request_of(QueueEntry *entry) {
        return (Request *) (void *) ((char *) entry - offsetof(Request, entry));
}

void service_tell_activity(const Service *service) {
        unsigned n_running, n_waiting;

        service_count_jobs(service, &n_running, &n_waiting);
        if (service->setup.on_activity)
                service->setup.on_activity(n_running, n_waiting, service->setup.userdata);
}

static int on_turn(sd_event_source *source, void *userdata) {
        Service *service = userdata;

        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++)
                for (;;) {
                        QueueEntry *entry = queue_next(service->queues[kind]);

                        if (!entry)
                                break;
                        request_settle(request_of(entry), request_start_job(request_of(entry)));
                }
        service_tell_activity(service);
        return 0;
}

/*
 * A job that is killed leaves its temporary behind where a file system knows no unnamed files, and
 * anywhere between the two steps of a replacement. Those of analyses are ours to discard. When
 * cleaning itself is killed, the next that adds something tries again.
 */
static void on_killed(const JobTerms *terms, void *userdata) {
        Service *service = userdata;

        if (!terms->writes_spool)
                return;
        service->is_cleaned = false;
        service_clean_spool(service);
}

/* what connections tell */

static void refuse_unknown(Connection *connection, const char *method, bool known_interface) {
        const char *end = strrchr(method, '.');
        Span interface = { method, end ? (size_t) (end - method) : strlen(method) };

        if (known_interface)
                connection_error(connection, WIRE_ERROR_METHOD_NOT_FOUND,
                                 &(WireErrorDetail){ .subject = span_of(method) });
        else
                connection_error(connection, WIRE_ERROR_INTERFACE_NOT_FOUND,
                                 &(WireErrorDetail){ .subject = interface });
}

static void on_call(Connection *connection, const Call *call, void *userdata) {
        Service *service = userdata;
        const Method *method;
        bool known_interface;
        Request *request;
        int r;

        method = method_find(span_of(call->method), &known_interface);
        if (!method) {
                refuse_unknown(connection, call->method, known_interface);
                return;
        }
        r = request_new(service, method, connection, call, &request);
        if (r < 0) {
                connection_error(connection, WIRE_ERROR_JOB_FAILED,
                                 &(WireErrorDetail){ .reason = strerror(-r) });
                return;
        }
        log_debug("uid %u calls %s", (unsigned) request->uid, method->name);
        r = spool_refresh(request_setup(request)->spool);
        if (r == 0)
                r = method->handle(request);
        request_settle(request, r);
}

static void on_hangup(Connection *connection, void *userdata) {
        Request *request = connection_call_data(connection);

        log_debug("uid %u hung up during %s", (unsigned) request->uid, request->method->name);
        request_hang_up(request);
}

static void on_stop(Connection *connection, void *userdata) {
        Request *request = connection_call_data(connection);

        request_settle(request, request_stop(request));
}

static void on_drained(Connection *connection, void *userdata) {
        Request *request = connection_call_data(connection);

        request_settle(request, request_resume(request));
}

const ConnectionEvents service_events = {
        .on_call = on_call,
        .on_hangup = on_hangup,
        .on_stop = on_stop,
        .on_drained = on_drained,
};

/* life */

ServiceSettings service_default_settings(void) {
        return (ServiceSettings) {
                .smaps = true,
                .smaps_ns = LIMIT_SMAPS_NS,
                .capture_ns = LIMIT_CAPTURE_NS,
                .analysis_ns = LIMIT_ANALYSIS_NS,
                .captures = {
                        .max_running = 1,
                        .max_running_per_uid = 1,
                        .max_waiting = LIMIT_CAPTURES_WAITING,
                        .max_waiting_per_uid = LIMIT_CAPTURES_WAITING_PER_UID,
                },
                .analyses = {
                        .max_running = LIMIT_ANALYSES,
                        .max_running_per_uid = LIMIT_ANALYSES - 1,
                        .max_waiting = LIMIT_ANALYSES_WAITING,
                        .max_waiting_per_uid = LIMIT_ANALYSES_WAITING_PER_UID,
                },
        };
}

static QueueLimits limits_of(const ServiceSettings *settings, unsigned kind) {
        QueueLimits limits = kind == QUEUE_ADDING ? settings->captures : settings->analyses;

        if (kind == QUEUE_CHANGING)
                limits.max_running = limits.max_running_per_uid = 1;
        return limits;
}

/* Room for a line is only ever added, so what was enough before still is when another fails. */
int service_configure(Service *service, const ServiceSettings *settings) {
        int r = 0;

        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX && r == 0; kind++) {
                const QueueLimits limits = limits_of(settings, kind);

                r = queue_set_limits(service->queues[kind], &limits);
        }
        if (r < 0) {
                for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++) {
                        const QueueLimits limits = limits_of(&service->setup.settings, kind);

                        (void) !queue_set_limits(service->queues[kind], &limits);
                }
                return r;
        }
        service->setup.settings = *settings;
        service_turn(service);
        return 0;
}

static int add_queues(Service *service) {
        int r;

        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++) {
                const QueueLimits limits = limits_of(&service->setup.settings, kind);

                r = queue_new(&limits, &service->queues[kind]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int service_new(const ServiceSetup *setup, Service **ret) {
        _cleanup_(service_freep) Service *service = NULL;
        int r;

        service = calloc(1, sizeof(*service));
        if (!service)
                return -ENOMEM;
        service->setup = *setup;
        service->started_ns = now_mono_ns();
        recorder_init(&service->recorder);

        r = add_queues(service);
        if (r < 0)
                return r;
        r = sd_event_add_defer(setup->event, &service->turn, on_turn, service);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(service->turn, "service-turn");
        (void) sd_event_source_set_enabled(service->turn, SD_EVENT_OFF);
        workshop_watch_killed(setup->workshop, on_killed, service);

        *ret = TAKE_PTR(service);
        return 0;
}

Service *service_free(Service *service) {
        if (!service)
                return NULL;

        while (service->requests)
                (void) request_free(service->requests);
        workshop_watch_killed(service->setup.workshop, NULL, NULL);
        sd_event_source_disable_unref(service->turn);
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++)
                (void) queue_free(service->queues[kind]);
        free(service);
        return NULL;
}

void service_stop(Service *service) {
        const WireErrorDetail detail = { .reason = "The daemon is stopping." };

        while (service->requests) {
                Request *request = service->requests;

                if (request->connection)
                        (void) !request_fail(request, WIRE_ERROR_JOB_FAILED, &detail);
                (void) request_free(request);
        }
}

void service_clean_spool(Service *service) {
        static const Stage stage = {};
        JsonWriter writer;
        Request *request;
        int r;

        if (service->is_cleaned || service->is_cleaning || spool_dir_fd(service->setup.spool) < 0)
                return;
        service->is_cleaned = service->is_cleaning = true;
        r = request_new(service, NULL, NULL, NULL, &request);
        if (r < 0) {
                service->is_cleaning = false;
                note_unclean(service, strerror(-r));
                return;
        }
        request_begin_order(request, &writer);
        r = request_add_spool(request, &writer);
        if (r == 0)
                r = request_submit(request, &writer, JOB_INTERFACE ".Clean", QUEUE_ADDING,
                                   JOB_SPOOL, &stage);
        request_settle(request, r);
        if (r != 0) /* it did not come into the queue */
                service->is_cleaned = false;
}
