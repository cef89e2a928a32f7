/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job/workshop.h"
#include "log/log.h"
#include "service/method/clean.h"
#include "service/method/method.h"

struct Service {
        Desk desk;
        void (*on_activity)(unsigned n_running, unsigned n_waiting, void *userdata);
        void *userdata;
};

/* turns */

static Request *request_of(QueueEntry *entry) {
        return (Request *) (void *) ((char *) entry - offsetof(Request, entry));
}

void service_tell_activity(const Service *service) {
        unsigned n_running, n_waiting;

        desk_count_jobs(&service->desk, &n_running, &n_waiting);
        if (service->on_activity)
                service->on_activity(n_running, n_waiting, service->userdata);
}

static int on_turn(sd_event_source *source, void *userdata) {
        Service *service = userdata;

        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++)
                for (;;) {
                        QueueEntry *entry = queue_next(service->desk.queues[kind]);

                        if (!entry)
                                break;
                        request_settle(request_of(entry), request_start_job(request_of(entry)));
                }
        service_tell_activity(service);
        return 0;
}

/*
 * A killed job leaves its temporary behind where the file system has no unnamed files, and between
 * the two steps of a replacement everywhere. Temporaries of analyses are discarded by their
 * request. When the job that cleans is killed, the next request that adds a snapshot tries again.
 */
static void on_killed(const JobTerms *terms, void *userdata) {
        Service *service = userdata;

        if (!terms->writes_spool)
                return;
        service->desk.is_cleaned = false;
        clean_spool(&service->desk);
}

/* events of connections */

static void on_call(Connection *connection, const Call *call, void *userdata) {
        Service *service = userdata;
        const Method *method;
        Request *request;
        int r;

        method = method_find_or_refuse(connection, call->method);
        if (!method)
                return;
        r = request_new(&service->desk, method, connection, call, &request);
        if (r < 0) {
                connection_error(connection, WIRE_ERROR_JOB_FAILED,
                                 &(WireErrorDetail){ .reason = strerror(-r) });
                return;
        }
        log_debug("uid %u calls %s", (unsigned) request->uid, method->name);
        r = spool_refresh(service->desk.spool);
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

static size_t weigh(const Connection *connection, void *userdata) {
        const Request *request = connection_call_data(connection);

        return request ? request_memory(request) : 0;
}

const ConnectionEvents service_events = {
        .on_call = on_call,
        .on_hangup = on_hangup,
        .on_stop = on_stop,
        .on_drained = on_drained,
        .weigh = weigh,
};

/* life */

int service_new(const ServiceSetup *setup, Service **ret) {
        _cleanup_(service_freep) Service *service = NULL;
        int r;

        service = malloc(sizeof(*service));
        if (!service)
                return -ENOMEM;
        *service = (Service){
                .desk = {
                        .disposal = setup->disposal,
                        .workshop = setup->workshop,
                        .spool = setup->spool,
                        .settings = setup->settings,
                },
                .on_activity = setup->on_activity,
                .userdata = setup->userdata,
        };
        r = desk_init(&service->desk, setup->event, on_turn, service);
        if (r < 0)
                return r;
        workshop_watch_killed(setup->workshop, on_killed, service);

        *ret = TAKE_PTR(service);
        return 0;
}

Service *service_free(Service *service) {
        if (!service)
                return NULL;

        while (service->desk.requests)
                (void) request_free(service->desk.requests);
        workshop_watch_killed(service->desk.workshop, NULL, NULL);
        desk_done(&service->desk);
        free(service);
        return NULL;
}

Desk *service_desk(Service *service) {
        return &service->desk;
}

void service_stop(Service *service) {
        const WireErrorDetail detail = { .reason = "The daemon is stopping." };

        while (service->desk.requests) {
                Request *request = service->desk.requests;

                if (request->connection)
                        (void) !request_fail(request, WIRE_ERROR_JOB_FAILED, &detail);
                (void) request_free(request);
        }
}

int service_configure(Service *service, const DeskSettings *settings) {
        return desk_configure(&service->desk, settings);
}

void service_clean_spool(Service *service) {
        clean_spool(&service->desk);
}
