/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/reservation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* With less than this a job is not started: not even a small snapshot would fit. */
#define LEAST_BYTES UINT64_C(65536)

int reservation_take_half(Request *request, int file) {
        const Desk *desk = request->desk;
        const SpoolLimits *limits = &desk->settings.spool;
        uint64_t others = request_sum_reserved(desk, request), half;
        char reason[256];
        SpoolFree space;
        int r;

        r = spool_free_space(spool_dir_fd(desk->spool), &space);
        if (r < 0)
                return r;
        if (space.n_bytes <= limits->keep_free_bytes)
                return request_refuse(
                        request, WIRE_ERROR_SPOOL_FULL,
                        "The spool is full: its file system has no space left but what must "
                        "stay free; remove snapshots, free space there, or lower that limit "
                        "(KeepFree=)");
        if (space.has_files && space.n_files < limits->keep_free_files) {
                (void) snprintf(reason, sizeof(reason),
                                "The spool is full: its file system has %" PRIu64 " inodes free "
                                "and %" PRIu64 " must stay free; remove snapshots or other files "
                                "there",
                                space.n_files, limits->keep_free_files);
                return request_refuse(request, WIRE_ERROR_SPOOL_FULL, reason);
        }
        space.n_bytes -= limits->keep_free_bytes;
        half = space.n_bytes > others ? (space.n_bytes - others) / 2 : 0;
        if (half < LEAST_BYTES && others > 0)
                return request_refuse(
                        request, WIRE_ERROR_BUSY,
                        "Running jobs may need all the space that the spool's file system "
                        "has left; try again when they have ended.");
        /* A larger one could not be kept. */
        if (limits->max_bytes > 0)
                half = MIN_OF(half, limits->max_bytes);
        request->reserved_bytes = request->max_file_bytes = MAX_OF(half, UINT64_C(1));
        request->reserved_fd = file;
        return 0;
}

int reservation_take_memory(Request *request) {
        Users *users = request->desk->users;
        char reason[256];

        lent_take_back(request->desk->lent);
        charge_end(&request->lent);
        if (users_ask(users, request->uid, USE_LENT, 2 * LIMIT_LENT_LEAST_BYTES) != USER_OK) {
                (void) snprintf(reason, sizeof(reason),
                                "Files of earlier exports and captures that are still open count "
                                "as %" PRIu64 " MiB of yours and %" PRIu64 " MiB of all users; "
                                "close some of them.",
                                users_count(users, request->uid, USE_LENT) >> 20,
                                users_count_all(users, USE_LENT) >> 20);
                return request_refuse(request, WIRE_ERROR_BUSY, reason);
        }
        request->max_file_bytes = users_room(users, request->uid, USE_LENT) / 2;
        return charge_begin(&request->lent, users, request->uid, USE_LENT, request->max_file_bytes);
}

int reservation_lend(Request *request, int file) {
        int r = lent_add(request->desk->lent, file, request->uid);

        if (r == 0)
                charge_end(&request->lent);
        return r;
}
