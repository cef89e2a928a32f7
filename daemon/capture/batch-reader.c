/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "capture/process-reader.h"
#include "capture/task-reader.h"
#include "capture/thread-stats.h"
#include "kernel/procfs/proc-stat.h"
#include "snapshot/snapshot-writer.h"

struct BatchReader {
        const BatchScene *scene;
        Buffer texts;
        Tally tally;
        ProcessReader processes;
        TaskReader threads;
        ThreadStats stats;
        ThreadSlot slots[BATCH_MAX_THREADS];
};

int batch_reader_new(const BatchScene *scene, BatchReader **ret) {
        BatchReader *reader = calloc(1, sizeof(*reader));
        const Gates *gates = scene->gates;

        if (!reader)
                return -ENOMEM;
        reader->scene = scene;
        buffer_init(&reader->texts, 0);
        task_reader_init(&reader->threads, scene->system, gates, &reader->texts);
        process_reader_init(&reader->processes, scene, &reader->texts, &reader->tally);
        for (size_t i = 0; i < BATCH_MAX_THREADS; i++)
                reader->slots[i].fd = -EBADF;
        thread_stats_init(&reader->stats, scene->system, gates);
        *ret = reader;
        return 0;
}

void batch_reader_close(BatchReader *reader) {
        thread_stats_done(&reader->stats);
}

BatchReader *batch_reader_free(BatchReader *reader) {
        if (!reader)
                return NULL;
        thread_stats_done(&reader->stats);
        process_reader_done(&reader->processes);
        buffer_done(&reader->texts);
        free(reader);
        return NULL;
}

const Tally *batch_reader_tally(const BatchReader *reader) {
        return &reader->tally;
}

const CgroupSet *batch_reader_cgroups(const BatchReader *reader) {
        return &reader->processes.cgroups;
}

/* opening */

static void note_unopened(ThreadSlot *slot, int code) {
        slot->vanished = code == PROCFS_E_ABSENT || code == PROCFS_E_VANISHED;
        thread_slot_note(slot, SOURCE_STAT, text_file_outcome(code));
}

/* Opens the directory @path below @dir_fd for looking up files in it, no more. */
static int open_path(int dir_fd, const char *path, int *ret_fd) {
        int fd = openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return text_file_code(errno);
        *ret_fd = fd;
        return 0;
}

/* "TGID/task", and "/TID" behind it unless that is 0. */
static void format_task_path(pid_t tgid, pid_t tid, char ret_path[static 64]) {
        size_t n = number_format_u64((uint64_t) tgid, ret_path);

        memcpy(ret_path + n, "/task", 6);
        n += 5;
        if (tid == 0)
                return;
        ret_path[n++] = '/';
        n += number_format_u64((uint64_t) tid, ret_path + n);
        ret_path[n] = '\0';
}

/* A process that is read in pieces must be the same one for all of them. */
static int check_leader(BatchReader *reader, const BatchProcess *process, int task_fd) {
        char path[NUMBER_U64_CHARS + sizeof("/stat")];
        ProcStat stat;
        size_t n;
        int r;

        n = number_format_u64((uint64_t) process->tgid, path);
        memcpy(path + n, "/stat", sizeof("/stat"));
        r = procfs_read(task_fd, path, reader->threads.file, sizeof(reader->threads.file), &n);
        if (r != 0)
                return r;
        r = proc_stat_parse((Span){ reader->threads.file, n }, &stat);
        if (!stat.has_identity)
                return r;
        return stat.starttime == process->start_ticks ? 0 : PROCFS_E_VANISHED;
}

/* The task directory of @process, and with it the certainty that the tids below it are its own. */
static int open_process(BatchReader *reader, const BatchProcess *process, int *ret_fd) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char path[64];
        int r;

        format_task_path(process->tgid, 0, path);
        r = open_path(reader->scene->proc_fd, path, &fd);
        if (r == 0 && process->is_split && process->has_leader)
                r = check_leader(reader, process, fd);
        if (r != 0)
                return r;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int read_thread(BatchReader *reader, ThreadSlot *slot, int dir_fd, const char *path) {
        int r = open_path(dir_fd, path, &slot->fd);

        if (r != 0) {
                note_unopened(slot, r);
                return 0;
        }
        r = task_reader_read(&reader->threads, slot);
        if (r == 0 && slot->kept)
                thread_stats_read_files(&reader->stats, &reader->threads, slot);
        return r;
}

static int read_threads(BatchReader *reader, const BatchProcess *process) {
        ThreadSlot *slots = &reader->slots[process->first];
        _cleanup_(fd_closep) int task_fd = -EBADF;
        char path[64];
        int r;

        /*
         * One walk of a longer path is cheaper than two opens, and most processes have one thread.
         */
        if (process->n == 1 && !process->is_split) {
                format_task_path(process->tgid, slots[0].tid, path);
                return read_thread(reader, &slots[0], reader->scene->proc_fd, path);
        }
        r = open_process(reader, process, &task_fd);
        for (size_t i = 0; i < process->n; i++) {
                if (r != 0) {
                        note_unopened(&slots[i], r);
                        continue;
                }
                path[number_format_u64((uint64_t) slots[i].tid, path)] = '\0';
                r = read_thread(reader, &slots[i], task_fd, path);
                if (r < 0)
                        return r;
        }
        return 0; /* what could not be opened was noted, whatever the reason */
}

/* rows */

static bool is_another_of_us(const BatchScene *scene, const ThreadSample *sample) {
        return scene->has_self_exe && sample->has_exe && sample->exe_dev == scene->self_exe_dev &&
               sample->exe_inode == scene->self_exe_inode;
}

static int encode_row(BatchReader *reader, Batch *batch, BatchProcess *process, ThreadSlot *slot,
                      const ProcessReading *reading) {
        ThreadSample *sample = &slot->sample;
        bool is_leader = slot->tid == process->tgid;
        int r;

        sample->tgid = process->tgid;
        sample->self = reading->self || is_another_of_us(reader->scene, sample);
        sample->comm = thread_text_get(&reader->texts, slot->comm);
        sample->cpus = thread_text_get(&reader->texts, slot->cpus);
        sample->cgroup = thread_text_get(&reader->texts, slot->cgroup);
        sample->pcomm = process->is_split ? (Span){ process->has_leader ? process->name : NULL,
                                                    process->n_name }
                                          : thread_text_get(&reader->texts, reading->name);
        if (is_leader && slot->num_threads != 0)
                thread_sample_put(sample, METRIC_nr_threads, slot->num_threads);

        r = batch->rows.n > 0 ? buffer_append_byte(&batch->rows, ',') : 0;
        if (r == 0)
                r = snapshot_row_encode(&batch->rows, sample,
                                        is_leader ? thread_text_get(&reader->texts, reading->smaps)
                                                  : (Span){ NULL, 0 });
        if (r == 0 && sample->cgroup.bytes)
                r = process_reader_inhabit(&reader->processes, sample->cgroup);
        process->n_kept++;
        return r;
}

static int finish_process(BatchReader *reader, Batch *batch, BatchProcess *process) {
        ThreadSlot *slots = &reader->slots[process->first];
        ProcessReading reading = {};
        int r;

        r = process_reader_read(&reader->processes, process, slots, &reading);
        for (size_t i = 0; r == 0 && i < process->n; i++) {
                if (slots[i].kept)
                        r = encode_row(reader, batch, process, &slots[i], &reading);
                thread_slot_settle(&slots[i], &reader->tally);
        }
        return r;
}

static void prepare(BatchReader *reader, Batch *batch) {
        for (size_t i = 0; i < batch->n_tids; i++) {
                ThreadSlot *slot = &reader->slots[i];

                /* All but the sample, which is cleared when it is needed. */
                memset(slot, 0, offsetof(ThreadSlot, sample));
                slot->tid = batch->tids[i];
                slot->fd = -EBADF;
        }
        buffer_clear(&reader->texts);
}

void batch_reader_read(BatchReader *reader, Batch *batch) {
        int r = 0;

        prepare(reader, batch);
        for (size_t i = 0; r == 0 && i < batch->n_processes; i++)
                r = read_threads(reader, &batch->processes[i]);
        if (r == 0)
                thread_stats_ask(&reader->stats, &reader->threads, reader->slots, batch->n_tids);
        for (size_t i = 0; r == 0 && i < batch->n_processes; i++)
                r = finish_process(reader, batch, &batch->processes[i]);
        for (size_t i = 0; i < batch->n_tids; i++)
                reader->slots[i].fd = fd_close(reader->slots[i].fd);
        batch->error = r;
}
