/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "job/job.h"
#include "log/log.h"
#include "service/method/folding.h"
#include "service/method/listening.h"
#include "service/method/loading.h"
#include "service/method/memory-jobs.h"
#include "service/method/method.h"
#include "service/method/upkeep.h"

/* turns */

void service_tell_activity(const Service *service) {
        unsigned n_running, n_waiting;

        queue_count(service->manager.users, &n_running, &n_waiting);
        if (service->on_activity)
                service->on_activity(n_running, n_waiting, service->userdata);
}

/*
 * A job that has ended its call may still hang, when it was killed or closes its files, and holds
 * its memory until it is gone. So it goes on to count, and a user waits for jobs that may come to
 * hang. If some are known to, the request passes, to be refused.
 */
static bool may_read(uid_t uid, void *userdata) {
        const Service *service = userdata;

        return users_ask(service->manager.users, uid, USE_STUCK, 1) != USER_OK ||
               users_ask(service->manager.users, uid, USE_HANGABLE, 1) == USER_OK;
}

/* No capture begins before it is known how threads are read. */
static bool may_add(uid_t uid, void *userdata) {
        const Service *service = userdata;

        return !service->manager.is_loading;
}

static void on_jobs_changed(void *userdata) {
        const Manager *manager = &((Service *) userdata)->manager;

        hung_follow(manager->hung, manager->pool);
        manager_turn(manager);
}

static int on_turn(sd_event_source *source, void *userdata) {
        Service *service = userdata;

        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++)
                for (;;) {
                        QueueEntry *entry = queue_next(&service->manager.queues[kind]);
                        Request *request;

                        if (!entry)
                                break;
                        request = (Request *) (void *) ((char *) entry - offsetof(Request, entry));
                        request_settle(request, request_start_job(request));
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
        service->manager.is_cleaned = false;
        clean_spool(&service->manager);
}

/* signs of life */

/*
 * A client gives up a daemon that sends nothing for LIMIT_SILENCE_NS. Jobs are silent while they
 * wait for a disk or compute, and requests while they wait in a queue. One message more or less
 * does not matter: every caller gets one each time, except where it does not read.
 */
static int on_heartbeat(sd_event_source *source, uint64_t usec, void *userdata) {
        static const Span waiting = SPAN_LITERAL("{\"progress\":{\"phase\":\"waiting\","
                                                 "\"done\":0}}"),
                          working = SPAN_LITERAL("{\"progress\":{\"phase\":\"working\","
                                                 "\"done\":0}}");
        Service *service = userdata;

        for (Request *request = service->manager.requests; request; request = request->next)
                if (request->more && request->connection && !request->is_over &&
                    !connection_is_full(request->connection))
                        connection_continue(request->connection,
                                            request->entry.place == QUEUE_WAITING ? waiting
                                                                                  : working);
        if (service->manager.requests) {
                (void) sd_event_source_set_time_relative(source, service->manager.heartbeat_ns /
                                                                         NSEC_PER_USEC);
                (void) sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        }
        return 0;
}

/* tables of programs, and the listener */

static int on_look(sd_event_source *source, uint64_t usec, void *userdata) {
        Service *service = userdata;

        (void) sd_event_source_set_time_relative(source, LIMIT_FOLD_INTERVAL_NS / NSEC_PER_USEC);
        (void) sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        folding_look(&service->manager);
        listening_look(&service->manager);
        return 0;
}

/* events of connections */

static void on_call(Connection *connection, const Call *call, void *userdata) {
        Service *service = userdata;
        const Method *method = method_find(span_of(call->method));
        const char *end = strrchr(call->method, '.');
        Span interface = { call->method,
                           end ? (size_t) (end - call->method) : strlen(call->method) };
        Request *request;
        int enabled, r;

        if (!method) {
                if (end &&
                    (span_is(interface, PROFILER_INTERFACE) || span_is(interface, VARLINK_SERVICE)))
                        connection_error(connection, WIRE_ERROR_METHOD_NOT_FOUND,
                                         &(WireErrorDetail){ .subject = span_of(call->method) });
                else
                        connection_error(connection, WIRE_ERROR_INTERFACE_NOT_FOUND,
                                         &(WireErrorDetail){ .subject = interface });
                return;
        }
        r = request_new(&service->manager, method, connection, call, &request);
        if (r < 0) {
                connection_error(connection, WIRE_ERROR_JOB_FAILED,
                                 &(WireErrorDetail){ .reason = strerror(-r) });
                return;
        }
        log_debug("uid %u calls %s", (unsigned) request->uid, method->name);
        if (sd_event_source_get_enabled(service->heartbeat, &enabled) == 0) {
                (void) sd_event_source_set_time_relative(
                        service->heartbeat, service->manager.heartbeat_ns / NSEC_PER_USEC);
                (void) sd_event_source_set_enabled(service->heartbeat, SD_EVENT_ONESHOT);
        }
        spool_refresh(service->manager.spool);
        if (method->uses_index && survey_is_due(&service->manager))
                survey_await(request);
        else
                request_settle(request, request_handle(request));
}

/* Asks a job that has no end of its own for the answer it has by now. */
static int stop(Request *request) {
        if (!request->terms || request->terms->clock != JOB_CLOCK_SILENCE || request->is_stopping)
                return 0;
        request->is_stopping = true;
        return request->job ? job_stop(request->job) : 0;
}

/* The request is freed, or left to end without a caller. */
static void on_hangup(Connection *connection, void *userdata) {
        Request *request = connection->call_data;

        log_debug("uid %u hung up during %s", (unsigned) request->uid, request->method->name);
        if (!request->job || !request->stage->outlives_caller || request->is_stopping) {
                (void) request_free(request);
                return;
        }
        request->connection = NULL;
        request->more = false;
        /* It may have waited for the caller to read. */
        queue_wake(&request->entry);
        job_resume(request->job);
        request_settle(request, stop(request));
}

static void on_stop(Connection *connection, void *userdata) {
        Request *request = connection->call_data;

        request_settle(request, stop(request));
}

static void on_drained(Connection *connection, void *userdata) {
        Request *request = connection->call_data;
        int r = 0;

        if (request->on_drained) {
                r = request->on_drained(request);
        } else if (request->job) {
                queue_wake(&request->entry);
                job_resume(request->job);
        }
        request_settle(request, r);
}

const ConnectionEvents service_events = {
        .on_call = on_call,
        .on_hangup = on_hangup,
        .on_stop = on_stop,
        .on_drained = on_drained,
};

/* life */

ManagerSettings manager_default_settings(void) {
        return (ManagerSettings){
                .backend = BACKEND_CHOICE_AUTO,
                .loading_threads = LIMIT_LOADING_THREADS,
                .exits = EXIT_CHOICE_AUTO,
                .counts_waits = true,
                .reasons_ns = LIMIT_REASONS_NS,
                .smaps = SMAPS_MODE_SMALL,
                .smaps_max_rss_bytes = LIMIT_SMAPS_MAX_RSS_BYTES,
                .smaps_max_processes = LIMIT_SMAPS_PROCESSES,
                .smaps_ns = LIMIT_SMAPS_NS,
                .heap = true,
                .commands = COMMAND_LINES_SHORT,
                .heap_ns = LIMIT_HEAP_NS,
                .capture_ns = LIMIT_CAPTURE_NS,
                .analysis_ns = LIMIT_ANALYSIS_NS,
        };
}

int service_new(const ServiceSetup *setup, Service **ret) {
        _cleanup_(service_freep) Service *service = NULL;
        Manager *manager;
        int r;

        service = malloc(sizeof(*service));
        if (!service)
                return -ENOMEM;
        *service = (Service){
                .manager = {
                        .users = setup->users,
                        .disposal = setup->disposal,
                        .pool = setup->pool,
                        .fd_store = setup->fd_store,
                        .spool = setup->spool,
                        .own = setup->own,
                        .settings = setup->settings,
                        .is_private = setup->is_private,
                        .recorder.failures = {
                                .interval_ns = 60 * NSEC_PER_SEC,
                                .burst = LIMIT_LOGGED_FAILURES_PER_MINUTE,
                        },
                        .heartbeat_ns = LIMIT_HEARTBEAT_NS,
                        .started_ns = clock_now_ns(CLOCK_MONOTONIC),
                },
                .on_activity = setup->on_activity,
                .userdata = setup->userdata,
        };
        manager = &service->manager;
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++)
                manager->queues[kind] = (Queue){
                        .users = setup->users,
                        .kind = (QueueKind) kind,
                        .gate = kind == QUEUE_READING  ? may_read
                                : kind == QUEUE_ADDING ? may_add
                                                       : NULL,
                        .userdata = service,
                };
        r = spool_index_new(&manager->index);
        if (r == 0)
                r = held_files_new(setup->event, setup->users, &manager->held);
        if (r == 0)
                r = hung_new(setup->fd_store, &manager->hung);
        if (r < 0)
                return r;
        r = sd_event_add_defer(setup->event, &manager->turn, on_turn, service);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(manager->turn, "service-turn");
        (void) sd_event_source_set_enabled(manager->turn, SD_EVENT_OFF);
        r = sd_event_add_time_relative(setup->event, &service->heartbeat, CLOCK_MONOTONIC, 0, 0,
                                       on_heartbeat, service);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(service->heartbeat, "service-heartbeat");
        (void) sd_event_source_set_enabled(service->heartbeat, SD_EVENT_OFF);
        r = sd_event_add_time_relative(setup->event, &service->look, CLOCK_MONOTONIC,
                                       LIMIT_FOLD_INTERVAL_NS / NSEC_PER_USEC, NSEC_PER_USEC,
                                       on_look, service);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(service->look, "service-look");
        manager->look = service->look;
        setup->pool->on_killed = on_killed;
        setup->pool->on_changed = on_jobs_changed;
        setup->pool->userdata = service;
        memory_jobs_prepare(setup->fd_store);

        *ret = TAKE_PTR(service);
        return 0;
}

Service *service_free(Service *service) {
        if (!service)
                return NULL;

        service->manager.is_over = true;
        while (service->manager.requests)
                (void) request_free(service->manager.requests);
        service->manager.listening.job = job_free(service->manager.listening.job);
        service->manager.calls = sd_event_source_disable_unref(service->manager.calls);
        service->manager.pool->on_killed = NULL;
        service->manager.pool->on_changed = NULL;
        service->heartbeat = sd_event_source_disable_unref(service->heartbeat);
        service->look = sd_event_source_disable_unref(service->look);
        service->manager.turn = sd_event_source_disable_unref(service->manager.turn);
        service->manager.held = held_files_free(service->manager.held);
        service->manager.hung = hung_free(service->manager.hung);
        service->manager.index = spool_index_free(service->manager.index);
        free(service);
        return NULL;
}

void service_stop(Service *service) {
        const WireErrorDetail detail = { .reason = "The daemon is stopping." };

        service->manager.is_over = true;
        while (service->manager.requests) {
                Request *request = service->manager.requests;

                if (request->connection)
                        (void) !request_fail(request, WIRE_ERROR_JOB_FAILED, &detail);
                (void) request_free(request);
        }
}

void service_configure(Service *service, const ManagerSettings *settings) {
        service->manager.settings = *settings;
        manager_turn(&service->manager);
        loading_reconsider(&service->manager);
        listening_reconsider(&service->manager);
        loading_limit_reasons(&service->manager);
}

void service_load_programs(Service *service) {
        loading_start(&service->manager);
        listening_begin(&service->manager);
        loading_limit_reasons(&service->manager);
}

void service_open_spool(Service *service) {
        clean_spool(&service->manager);
        if (survey_is_due(&service->manager))
                (void) !survey_start(&service->manager); /* the first call tries again */
}
