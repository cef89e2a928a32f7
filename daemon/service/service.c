/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "job/descriptor/timer.h"
#include "job/job.h"
#include "log/log.h"
#include "service/method/folding.h"
#include "service/method/listening.h"
#include "service/method/loading.h"
#include "service/method/memory-jobs.h"
#include "service/method/method.h"
#include "service/method/upkeep.h"

/* methods */

#define USE_INDEXED true
#define USE_PLAIN false
#define METHOD_ROW(interface, name_, handler, record_, use) \
        { .name = interface "." #name_,                     \
          .handle = handler,                                \
          .record = RECORD_##record_,                       \
          .uses_index = USE_##use },
#define PROFILER_ROW(...) METHOD_ROW(PROFILER_INTERFACE, __VA_ARGS__)
#define VARLINK_ROW(...) METHOD_ROW(VARLINK_SERVICE, __VA_ARGS__)

const Method methods[] = { PROFILER_METHODS(PROFILER_ROW) VARLINK_METHODS(VARLINK_ROW){} };

/* turns */

static void on_jobs_changed(void *userdata) {
        Manager *manager = userdata;

        hung_follow(&manager->hung, manager->pool);
        (void) sd_event_source_set_enabled(manager->turn, SD_EVENT_ONESHOT);
}

static int on_turn(sd_event_source *source, void *userdata) {
        Manager *manager = userdata;

        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++) {
                QueueEntry *entry;

                /* No capture begins before it is known how threads are read. */
                while ((kind != QUEUE_ADDING || !manager->is_loading) &&
                       (entry = queue_next(&manager->queues[kind]))) {
                        Request *request = (void *) ((char *) entry - offsetof(Request, entry));

                        request_settle(request, request_start_job(request));
                }
        }
        if (manager->on_activity)
                manager->on_activity(manager->userdata);
        return 0;
}

/*
 * A killed job leaves its temporary behind where the file system has no unnamed files, and between
 * the two steps of a replacement everywhere. Temporaries of analyses are discarded by their
 * request. When the job that cleans is killed, the next request that adds a snapshot tries again.
 */
static void on_killed(const JobTerms *terms, void *userdata) {
        Manager *manager = userdata;

        if (!terms->writes_spool)
                return;
        manager->is_cleaned = false;
        clean_spool(manager);
}

/* signs of life */

/*
 * A client gives up a daemon that sends nothing for LIMIT_SILENCE_NS. Jobs are silent while they
 * wait for a disk or compute, and requests while they wait in a queue. One message more or less
 * does not matter: every caller gets one each time, except where it does not read.
 */
static int on_heartbeat(sd_event_source *source, uint64_t usec, void *userdata) {
        static const Span waiting = SPAN_LITERAL(REQUEST_WAITING),
                          working = SPAN_LITERAL("{\"progress\":{\"phase\":\"working\","
                                                 "\"done\":0}}");
        Manager *manager = userdata;

        for (Request *request = manager->requests; request; request = request->next)
                if (request->more && request->connection && !request->is_over &&
                    !connection_is_full(request->connection))
                        connection_continue(request->connection,
                                            request->entry.place == QUEUE_WAITING ? waiting
                                                                                  : working);
        if (manager->requests)
                timer_start(source, manager->heartbeat_ns);
        return 0;
}

/* tables of programs, and the listener */

static int on_look(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        timer_start(source, LIMIT_FOLD_INTERVAL_NS);
        folding_look(manager);
        listening_look(manager);
        return 0;
}

/* events of connections */

static void on_call(Connection *connection, const Call *call, void *userdata) {
        Manager *manager = userdata;
        const Method *method = methods;
        const char *end = strrchr(call->method, '.');
        Span interface = { call->method,
                           end ? (size_t) (end - call->method) : strlen(call->method) };
        Request *request;
        int enabled, r;

        while (method->name && strcmp(method->name, call->method) != 0)
                method++;
        if (!method->name) {
                if (end &&
                    (span_is(interface, PROFILER_INTERFACE) || span_is(interface, VARLINK_SERVICE)))
                        connection_error(connection, WIRE_ERROR_METHOD_NOT_FOUND,
                                         &(WireErrorDetail){ .subject = span_of(call->method) });
                else
                        connection_error(connection, WIRE_ERROR_INTERFACE_NOT_FOUND,
                                         &(WireErrorDetail){ .subject = interface });
                return;
        }
        r = request_new(manager, method, connection, call, &request);
        if (r < 0) {
                connection_error(connection, WIRE_ERROR_JOB_FAILED,
                                 &(WireErrorDetail){ .reason = strerror(-r) });
                return;
        }
        log_debug("uid %u calls %s", (unsigned) request->uid, method->name);
        if (sd_event_source_get_enabled(manager->heartbeat, &enabled) == 0)
                timer_start(manager->heartbeat, manager->heartbeat_ns);
        if (spool_refresh(manager->spool)) {
                manager->is_cleaned = false; /* a crash may have left something there */
                if (manager->on_spool)
                        manager->on_spool(manager->userdata);
        }
        if (!method->uses_index || manager->spool->dir_fd < 0 ||
            spool_index_is_current(manager->index, manager->spool->dir_fd)) {
                request_settle(request, request_handle(request));
                return;
        }
        /* It is handled when the survey has ended, and keeps the descriptors of the call. */
        request->n_call_fds = MIN_OF(connection->stream->n_fds, ELEMENTSOF(request->call_fds));
        for (size_t i = 0; i < request->n_call_fds; i++)
                request->call_fds[i] = frame_stream_take_fd(connection->stream, i);
        request->survey = manager->is_surveying ? SURVEY_NEXT : SURVEY_THIS;
        /* Unless this fails, the request may be answered and freed by now. */
        r = survey_start(manager);
        if (r == 0)
                return;
        request->survey = SURVEY_NONE;
        request_settle(request, r);
}

/* The request is freed, or left to end without a caller. */
static void on_hangup(Connection *connection, void *userdata) {
        Request *request = connection->call_data;

        log_debug("uid %u hung up during %s", (unsigned) request->uid, request->method->name);
        if (!request->is_kept &&
            (!request->job || !request->stage->outlives_caller || request->is_stopping)) {
                (void) request_free(request);
                return;
        }
        request->connection = NULL;
        request->more = false;
        /* It may have waited for the caller to read. */
        queue_wake(&request->entry);
        if (request->job)
                job_resume(request->job);
        request_settle(request, request->is_kept ? 0 : request_stop(request));
}

static void on_stop(Connection *connection, void *userdata) {
        Request *request = connection->call_data;

        request_settle(request, request_stop(request));
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

int service_new(const Manager *setup, Manager **ret) {
        Manager *manager = malloc(sizeof(*manager));
        int r;

        if (!manager)
                return -ENOMEM;
        *manager = *setup;
        manager->failures = (LogLimit){ .interval_ns = 60 * NSEC_PER_SEC,
                                        .burst = LIMIT_LOGGED_FAILURES_PER_MINUTE };
        manager->heartbeat_ns = LIMIT_HEARTBEAT_NS;
        manager->started_ns = clock_now_ns(CLOCK_MONOTONIC);
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++)
                manager->queues[kind] = (Queue){ .users = setup->users, .kind = (QueueKind) kind };
        hung_init(&manager->hung, setup->fd_store);
        r = spool_index_new(&manager->index);
        if (r == 0)
                r = held_files_init(&manager->held, setup->event, setup->users);
        if (r == 0)
                r = timer_new(setup->event, &manager->heartbeat, "service-heartbeat", 0,
                              on_heartbeat, manager);
        if (r == 0)
                r = timer_new(setup->event, &manager->look, "service-look", NSEC_PER_USEC, on_look,
                              manager);
        if (r == 0)
                r = sd_event_add_defer(setup->event, &manager->turn, on_turn, manager);
        if (r < 0) {
                (void) service_free(manager);
                return r;
        }
        (void) sd_event_source_set_description(manager->turn, "service-turn");
        (void) sd_event_source_set_enabled(manager->turn, SD_EVENT_OFF);
        timer_start(manager->look, LIMIT_FOLD_INTERVAL_NS);
        setup->pool->on_killed = on_killed;
        setup->pool->on_changed = on_jobs_changed;
        setup->pool->userdata = manager;
        memory_jobs_prepare(setup->fd_store);
        *ret = manager;
        return 0;
}

Manager *service_free(Manager *manager) {
        if (!manager)
                return NULL;

        manager->is_over = true;
        while (manager->requests)
                (void) request_free(manager->requests);
        manager->listening.job = job_free(manager->listening.job);
        manager->calls = sd_event_source_disable_unref(manager->calls);
        manager->pool->on_killed = NULL;
        manager->pool->on_changed = NULL;
        manager->heartbeat = sd_event_source_disable_unref(manager->heartbeat);
        manager->look = sd_event_source_disable_unref(manager->look);
        manager->turn = sd_event_source_disable_unref(manager->turn);
        loading_drop_clocks(manager);
        held_files_done(&manager->held);
        (void) fd_close(manager->hung.fd);
        manager->index = spool_index_free(manager->index);
        free(manager);
        return NULL;
}

void service_stop(Manager *manager) {
        const WireErrorDetail detail = { .reason = "The daemon is stopping." };

        manager->is_over = true;
        while (manager->requests) {
                Request *request = manager->requests;

                if (request->connection)
                        (void) !request_fail(request, WIRE_ERROR_JOB_FAILED, &detail);
                (void) request_free(request);
        }
}

void service_configure(Manager *manager, const ManagerSettings *settings) {
        manager->settings = *settings;
        (void) sd_event_source_set_enabled(manager->turn, SD_EVENT_ONESHOT);
        loading_reconsider(manager);
        listening_reconsider(manager);
        loading_limit_reasons(manager);
}

void service_load_programs(Manager *manager) {
        loading_start(manager);
        listening_begin(manager);
        loading_limit_reasons(manager);
}

void service_open_spool(Manager *manager) {
        clean_spool(manager);
        if (manager->spool->dir_fd >= 0 &&
            !spool_index_is_current(manager->index, manager->spool->dir_fd))
                (void) !survey_start(manager); /* the first call tries again */
}
