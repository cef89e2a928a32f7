/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/heap-trim.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define TRIM_INTERVAL_US UINT64_C(3000000)
#define TRIM_ACCURACY_US UINT64_C(1000000)

/* The C library starts with this value and lets it grow to 32 MiB as buffers are freed. */
#define MMAP_THRESHOLD_BYTES (128 * 1024)

struct HeapTrim {
        sd_event_source *timer; /* runs when something happened since the last trim */
        sd_event_source *post;
        bool is_over; /* the trim itself is what happened in this iteration */
};

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata) {
        HeapTrim *trim = userdata;

        (void) malloc_trim(0);
        trim->is_over = true;
        return 0;
}

/* At the end of every iteration of the loop in which anything was served. */
static int on_post(sd_event_source *source, void *userdata) {
        HeapTrim *trim = userdata;
        int is_running = SD_EVENT_OFF;

        (void) sd_event_source_get_enabled(trim->timer, &is_running);
        if (!trim->is_over && is_running == SD_EVENT_OFF) {
                (void) sd_event_source_set_time_relative(trim->timer, TRIM_INTERVAL_US);
                (void) sd_event_source_set_enabled(trim->timer, SD_EVENT_ONESHOT);
        }
        trim->is_over = false;
        return 0;
}

int heap_trim_new(sd_event *event, HeapTrim **ret) {
        _cleanup_(heap_trim_freep) HeapTrim *trim = NULL;
        int r;

        trim = calloc(1, sizeof(*trim));
        if (!trim)
                return -ENOMEM;
        /* Setting it keeps it: large buffers stay mappings of their own, unmapped when freed. */
        (void) mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        r = sd_event_add_time_relative(event, &trim->timer, CLOCK_MONOTONIC, TRIM_INTERVAL_US,
                                       TRIM_ACCURACY_US, on_timer, trim);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(trim->timer, "heap-trim");
        r = sd_event_add_post(event, &trim->post, on_post, trim);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(trim);
        return 0;
}

HeapTrim *heap_trim_free(HeapTrim *trim) {
        if (!trim)
                return NULL;
        sd_event_source_disable_unref(trim->post);
        sd_event_source_disable_unref(trim->timer);
        free(trim);
        return NULL;
}
