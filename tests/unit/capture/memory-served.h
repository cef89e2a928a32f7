/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemoryServed
 *
 * A memory job that is a thread of this process, and reads what the test has it read.
 */

#include <check.h>
#include <pthread.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/heap/memory-job.h"

static struct {
        MemoryJobOptions options; /* of the next one */
        int start_error;
        unsigned n_started;
        pthread_t thread;
        int fd; /* owned by the thread */
        int result;
} memory_served;

static inline void *memory_served_run(void *userdata) {
        memory_served.result = memory_server_run(memory_served.fd, &memory_served.options);
        memory_served.fd = fd_close(memory_served.fd);
        return NULL;
}

/* As CaptureOptions has it. */
static inline int memory_served_open(void *userdata, int peer_fd) {
        memory_served.n_started++;
        memory_served.fd = peer_fd;
        if (memory_served.start_error == 0 &&
            pthread_create(&memory_served.thread, NULL, memory_served_run, NULL) == 0)
                return 0;
        memory_served.fd = fd_close(peer_fd);
        return memory_served.start_error;
}

/* When the room that asks is closed: waits for the one that was started since @n_before were. */
static inline void memory_served_join(unsigned n_before) {
        if (memory_served.n_started == n_before || memory_served.start_error != 0)
                return;
        ck_assert_int_eq(pthread_join(memory_served.thread, NULL), 0);
        ck_assert_int_eq(memory_served.result, 0);
}
