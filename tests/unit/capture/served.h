/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Served
 *
 * A file server on a thread of this process, and what it should say: the same finders on the same
 * file, read here.
 */

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/heap/file-job.h"

typedef struct Served {
        pthread_t thread;
        int fd; /* owned by the thread */
        int result;
} Served;

static inline void *served_run(void *userdata) {
        Served *served = userdata;

        served->result = file_server_run(served->fd);
        served->fd = fd_close(served->fd);
        return NULL;
}

/* Adopts @fd. */
static inline void served_start(Served *served, int fd) {
        *served = (Served){ .fd = fd };
        ck_assert_int_eq(pthread_create(&served->thread, NULL, served_run, served), 0);
}

/* What file_server_run() returned. */
static inline int served_join(Served *served) {
        ck_assert_int_eq(pthread_join(served->thread, NULL), 0);
        return served->result;
}

static inline void new_pair(int ret[2]) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret), 0);
}

static inline uint64_t size_of(int fd) {
        struct stat status;

        ck_assert_int_eq(fstat(fd, &status), 0);
        return (uint64_t) status.st_size;
}

static inline HeapLayout heap_layout_of(int fd) {
        HeapLayout layout;

        ck_assert_int_eq(heap_layout_find(fd, size_of(fd), &layout), 0);
        return layout;
}

static inline ThreadLayout thread_layout_of(int fd) {
        ThreadLayout layout;

        ck_assert_int_eq(thread_layout_find(fd, size_of(fd), &layout), 0);
        return layout;
}

/* Open ones of this process. */
static inline unsigned n_descriptors(void) {
        DIR *directory = opendir("/proc/self/fd");
        unsigned n = 0;

        ck_assert_ptr_nonnull(directory);
        while (readdir(directory))
                n++;
        (void) closedir(directory);
        return n;
}
