/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/desk/desk.h"

#include "base/clock.h"
#include "wire/limits.h"

DeskSettings desk_default_settings(void) {
        return (DeskSettings){
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

int desk_init(Desk *desk, sd_event *event, sd_event_handler_t on_turn, void *userdata) {
        int r;

        desk->started_ns = clock_now_ns(CLOCK_MONOTONIC);
        recorder_init(&desk->recorder);
        r = spool_index_new(&desk->index);
        if (r < 0)
                return r;
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++)
                desk->queues[kind] = (Queue){ .users = desk->users, .kind = (QueueKind) kind };
        r = lent_new(event, desk->users, &desk->lent);
        if (r == 0)
                r = hung_new(desk->vault, &desk->hung);
        if (r < 0)
                return r;
        r = sd_event_add_defer(event, &desk->turn, on_turn, userdata);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(desk->turn, "service-turn");
        (void) sd_event_source_set_enabled(desk->turn, SD_EVENT_OFF);
        return 0;
}

void desk_done(Desk *desk) {
        desk->turn = sd_event_source_disable_unref(desk->turn);
        desk->lent = lent_free(desk->lent);
        desk->hung = hung_free(desk->hung);
        desk->index = spool_index_free(desk->index);
}

void desk_configure(Desk *desk, const DeskSettings *settings) {
        desk->settings = *settings;
        desk_turn(desk);
}

void desk_turn(Desk *desk) {
        (void) sd_event_source_set_enabled(desk->turn, SD_EVENT_ONESHOT);
}

void desk_count_jobs(const Desk *desk, unsigned *ret_running, unsigned *ret_waiting) {
        *ret_running = *ret_waiting = 0;
        for (unsigned kind = 0; kind < _QUEUE_KIND_MAX; kind++) {
                *ret_running += (unsigned) users_count_all(desk->users, USE_RUNNING + kind);
                *ret_waiting += (unsigned) users_count_all(desk->users, USE_WAITING + kind);
        }
}
