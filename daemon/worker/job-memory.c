/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "capture/heap/file-job.h"
#include "capture/heap/memory-job.h"
#include "wire/limits.h"

/* Jobs that answer questions of a capture until that is done, about memory and files of others. */

/* The files do not come with the order. */
int work_files(Work *work) {
        _cleanup_(fd_closep) int socket = work_take_fd(work, work->order->files.socket);
        int r = file_server_run(socket);

        return r == 0 ? answer_texts(&work->answer, NULL, 0) : r;
}

/* The main process starts the job, or closes @peer_fd, which ends the room that asks. */
static int open_files(void *userdata, int peer_fd) {
        Work *work = userdata;

        _cleanup_(fd_closep) int owned = peer_fd;

        return answer_packet(&work->answer, PACKET_FILES, (Span){}, &owned, 1);
}

/* If the main process cannot be told, it has exited, and this job will. */
static void on_left(void *userdata, const MemoryLife *life) {
        const OrderLife left = { life->start_ticks, life->tgid, life->owner };
        Work *work = userdata;

        (void) !answer_packet(&work->answer, PACKET_LEFT,
                              (Span){ (const char *) &left, sizeof(left) }, NULL, 0);
}

int work_memory(Work *work) {
        const MemoryOrder *order = &work->order->memory;
        _cleanup_(fd_closep) int socket = work_take_fd(work, order->socket);
        _cleanup_(fd_closep) int files = work_take_fd(work, order->files);
        _cleanup_(fd_closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        MemoryLife hung[LIMIT_HUNG_PROCESSES] = {};
        const MemoryJobOptions options = {
                .system = &capture_system_kernel,
                .limit_ns = order->limit_ns,
                .cache_fd = files,
                .open_files = open_files,
                .on_left = on_left,
                .userdata = work,
                .proc_fd = proc_fd,
                .hung = hung,
                .n_hung = order->n_hung,
                .barred_owners = order->barred,
                .n_barred_owners = order->n_barred,
        };
        int r;

        if (proc_fd < 0)
                return -errno;
        if (order->n_hung > ELEMENTSOF(hung) || order->n_barred > ELEMENTSOF(order->barred))
                return -E2BIG;
        for (uint32_t i = 0; i < order->n_hung; i++)
                hung[i] = (MemoryLife){ .start_ticks = order->hung[i].start_ticks,
                                        .tgid = order->hung[i].tgid };
        r = memory_server_run(socket, &options);
        return r == 0 ? answer_texts(&work->answer, NULL, 0) : r;
}
