/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/procfs/procfs-backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/number.h"
#include "capture/procfs/task-reader.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/proc-walk.h"

#define PATH_BYTES 64   /* "TGID/task/TID" */
#define STATM_BYTES 192 /* seven numbers */

/* Writes "PID" and @suffix, ended by a NUL; returns the number of bytes before it. */
static size_t format_path(pid_t pid, const char *suffix, char *ret_path) {
        size_t n = number_format_u64((uint64_t) pid, ret_path), n_suffix = strlen(suffix);

        memcpy(ret_path + n, suffix, n_suffix + 1);
        return n + n_suffix;
}

/* Reads stat of the leader of a process, below @dir_fd; by @guard, unless that is NULL. */
static int read_leader(pid_t tgid, int dir_fd, BlockingFile *guard,
                       char file[static PROCFS_BUFFER_BYTES], ProcStat *ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char path[PATH_BYTES];
        Span text = { file, 0 };
        int r;

        *ret = (ProcStat){};
        if (guard) {
                BlockingQuestion question = { .dir_fd = dir_fd, .path = path, .name = "stat" };

                (void) format_path(tgid, "/status", path);
                question.owner = task_reader_find_owner(dir_fd, path, file);
                (void) format_path(tgid, "", path);
                r = blocking_file_read(guard, &question, BLOCKING_FILE_LEAST_NS, &fd, &text);
        } else {
                (void) format_path(tgid, "/stat", path);
                r = text_file_read(dir_fd, path, file, PROCFS_BUFFER_BYTES, &text.n);
        }
        return r == 0 ? proc_stat_parse(text, ret) : r;
}

/* the walk: processes in ascending order, the threads of each when its turn comes */

typedef struct ProcfsWalk {
        const CaptureHost *host;
        Tally *tally;
        ProcWalk processes;
        size_t n_walked;  /* processes all of whose threads have been given to batches */
        ProcWalk threads; /* of the process at hand, if there is one */
        size_t n_given;   /* of these threads, to batches */
        bool has_process;
        BatchProcess process; /* the one at hand; first and n are set for each batch */
        bool is_guarded;
        BlockingFile blocking;
        char file[PROCFS_BUFFER_BYTES];
} ProcfsWalk;

static void procfs_walk_free(void *userdata) {
        ProcfsWalk *walk = userdata;

        if (!walk)
                return;
        proc_walk_done(&walk->processes);
        proc_walk_done(&walk->threads);
        (void) blocking_thread_free(walk->blocking.thread);
        free(walk);
}

static int procfs_walk_new(const CaptureHost *host, pid_t only, Tally *tally, void **ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        ProcfsWalk *walk = calloc(1, sizeof(*walk));
        ProcWalk *list;
        size_t n = 0;
        int r;

        if (!walk)
                return -ENOMEM;
        walk->host = host;
        walk->tally = tally;
        list = &walk->processes;
        r = text_file_open_directory(host->proc_fd, ".", &fd);
        if (r == 0)
                r = proc_walk_list(list, fd);
        if (r != 0) {
                procfs_walk_free(walk);
                if (r < 0)
                        return r;
                return r == TEXT_E_DENIED ? -EACCES : -ENOENT;
        }
        /*
         * Every pid namespace has a process 1. Without it the mount hides other users' processes
         * (hidepid=invisible), and the list is not complete.
         */
        tally->processes_hidden = list->n_ids == 0 || list->ids[0] != 1;
        if (only != 0 && list->n_ids > 0) {
                bool has_first = false;

                /* Also the first process where it is listed: it is hardly ever the same user's. */
                for (size_t i = 0; i < list->n_ids; i++)
                        has_first |= list->ids[i] == 1;
                if (has_first && only != 1 && list->n_ids > 1)
                        list->ids[n++] = 1;
                list->ids[n++] = only;
                list->n_ids = n;
        }
        *ret = walk;
        return 0;
}

int procfs_walk_one(const CaptureHost *host, pid_t pid, Tally *tally, void **ret) {
        ProcfsWalk *walk = calloc(1, sizeof(*walk));

        if (!walk || proc_walk_put(&walk->processes, pid) != 0) {
                procfs_walk_free(walk);
                return -ENOMEM;
        }
        walk->host = host;
        walk->tally = tally;
        walk->is_guarded = true;
        *ret = walk;
        return 0;
}

/*
 * statm is the cheapest file that tells how much of a process is resident; it tells nothing of
 * swap. A reader that cannot see the memory of other users should not spend the places of those it
 * can.
 */
int procfs_offer_process(const CaptureHost *host, pid_t pid, Largest *largest) {
        LargestProcess process = { .tgid = pid };
        char path[PATH_BYTES], text[STATM_BYTES];
        uint64_t n_pages;
        struct stat file;
        size_t n;

        (void) format_path(pid, "/statm", path);
        if (text_file_read(host->proc_fd, path, text, sizeof(text), &n) != 0 ||
            proc_statm_parse((Span){ text, n }, &n_pages) != 0)
                return 0;
        process.resident_bytes =
                number_multiply_saturating(n_pages, (uint64_t) sysconf(_SC_PAGESIZE));
        if (!host->gates.has_sys_ptrace || host->gates.in_user_namespace)
                process.is_closed =
                        fstatat(host->proc_fd, path, &file, 0) < 0 || file.st_uid != geteuid();
        return largest_offer(largest, process);
}

static int procfs_offer_memory(void *userdata, Largest *largest) {
        const ProcfsWalk *walk = userdata;
        int r = 0;

        if (walk->processes.n_ids <= largest->n_max)
                return 0;
        for (size_t i = 0; r == 0 && i < walk->processes.n_ids; i++)
                r = procfs_offer_process(walk->host, walk->processes.ids[i], largest);
        return r;
}

/* Lists the threads of the next process. One that went meanwhile has none. */
static int open_process(ProcfsWalk *walk) {
        pid_t tgid = walk->processes.ids[walk->n_walked];
        BatchProcess *process = &walk->process;
        char path[PATH_BYTES];
        ProcStat stat;
        int r;

        *process = (BatchProcess){ .tgid = tgid };
        walk->n_given = 0;
        walk->has_process = true;
        (void) format_path(tgid, "/task", path);
        r = proc_walk_list_threads(&walk->threads, walk->host->proc_fd, path, tgid);
        if (r == -ENOMEM)
                return r;
        if (r != 0) {
                walk->tally->counts[SOURCE_STAT][r == TEXT_E_ABSENT || r == TEXT_E_VANISHED
                                                         ? SOURCE_OUTCOME_vanished
                                                         : text_file_outcome(r)]++;
                return 0;
        }
        if (walk->threads.n_ids <= BATCH_MAX_THREADS)
                return 0;
        /* It is read in several batches, all with this name and start time. */
        process->is_split = true;
        r = read_leader(tgid, walk->host->proc_fd, walk->is_guarded ? &walk->blocking : NULL,
                        walk->file, &stat);
        if (r != 0 && !stat.has_identity)
                return 0;
        process->has_leader = true;
        process->start_ticks = stat.starttime;
        process->n_name = MIN_OF(stat.comm.n, sizeof(process->name));
        memcpy(process->name, stat.comm.bytes, process->n_name);
        return 0;
}

static int procfs_walk_next(void *userdata, Batch *batch) {
        ProcfsWalk *walk = userdata;
        int r;

        while (walk->n_walked < walk->processes.n_ids) {
                size_t n;

                if (!walk->has_process) {
                        r = open_process(walk);
                        if (r < 0)
                                return r;
                }
                /* A process is divided only when no batch could hold it. */
                n = MIN_OF(walk->threads.n_ids - walk->n_given, (size_t) BATCH_MAX_THREADS);
                if (batch->n_tids + n > BATCH_MAX_THREADS)
                        break;
                if (n > 0) {
                        BatchProcess *added = &batch->processes[batch->n_processes++];

                        *added = walk->process;
                        added->first = batch->n_tids;
                        added->n = n;
                        memcpy(batch->tids + batch->n_tids, walk->threads.ids + walk->n_given,
                               n * sizeof(*batch->tids));
                        batch->n_tids += n;
                        walk->n_given += n;
                }
                if (walk->n_given == walk->threads.n_ids) {
                        walk->has_process = false;
                        walk->n_walked++;
                }
        }
        batch->n_walked = walk->n_walked;
        batch->n_listed = walk->processes.n_ids;
        return 0;
}

/* reading */

/* Every batch of a process that is read in parts must find the same process. */
static int check_same_process(TaskReader *reader, const BatchProcess *process, int task_fd) {
        Readings *readings = reader->readings;
        ProcStat stat;
        int r = read_leader(process->tgid, task_fd, reader->is_guarded ? &readings->blocking : NULL,
                            readings->file, &stat);

        if (!stat.has_identity)
                return r;
        return stat.starttime == process->start_ticks ? 0 : TEXT_E_VANISHED;
}

static void read_threads(TaskReader *reader, const BatchProcess *process) {
        Readings *readings = reader->readings;
        /*
         * One walk of a longer path is cheaper than two opens, and most processes have one thread.
         */
        bool is_alone = process->n == 1 && !process->is_split;
        int proc_fd = readings->host->proc_fd, flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
        _cleanup_(fd_closep) int task_fd = -EBADF;
        char path[PATH_BYTES];
        int error = 0;

        if (!is_alone) {
                /* All tids found below this descriptor are threads of this process. */
                (void) format_path(process->tgid, "/task", path);
                task_fd = openat(proc_fd, path, flags);
                error = task_fd < 0 ? text_file_code(errno) : 0;
                if (error == 0 && process->is_split && process->has_leader)
                        error = check_same_process(reader, process, task_fd);
        }
        for (size_t i = 0; i < process->n; i++) {
                ThreadSlot *slot = &readings->slots[process->first + i];
                size_t n = is_alone ? format_path(process->tgid, "/task/", path) : 0;
                int r = error;

                (void) format_path(slot->tid, "", path + n);
                if (r == 0) {
                        slot->fd = openat(is_alone ? proc_fd : task_fd, path, flags);
                        r = slot->fd < 0 ? text_file_code(errno) : 0;
                }
                if (r == 0) {
                        task_reader_read(reader, slot);
                        continue;
                }
                slot->vanished = r == TEXT_E_ABSENT || r == TEXT_E_VANISHED;
                thread_slot_note(slot, SOURCE_STAT, text_file_outcome(r));
        }
}

int procfs_reader_new_guarded(Readings *readings, void **ret) {
        int r = task_reader_new(readings, ret);

        if (r == 0)
                ((TaskReader *) *ret)->is_guarded = true;
        return r;
}

static void procfs_read_batch(void *userdata) {
        TaskReader *reader = userdata;
        Readings *readings = reader->readings;
        const Batch *batch = readings->batch;

        for (size_t i = 0; i < batch->n_processes; i++)
                read_threads(reader, &batch->processes[i]);
        task_reader_ask(reader);
        /*
         * The executable of threads that taskstats did not answer for. AT_STATX_DONT_SYNC:
         * attributes that the kernel has cached will do, as a file system that does not answer (a
         * dead NFS server) must not stop the capture.
         */
        for (size_t i = 0; i < batch->n_processes; i++) {
                ThreadSlot *slots = &readings->slots[batch->processes[i].first];
                bool is_known = false;
                struct statx file;

                for (size_t k = 0; k < batch->processes[i].n; k++) {
                        ThreadSample *sample = &slots[k].sample;

                        if (!slots[k].kept || sample->has_exe || !slots[k].has_space)
                                continue;
                        if (!is_known &&
                            statx(slots[k].fd, "exe", AT_STATX_DONT_SYNC, STATX_INO, &file) < 0)
                                break; /* not permitted, or none: absent */
                        is_known = true;
                        sample->exe_dev = makedev(file.stx_dev_major, file.stx_dev_minor);
                        sample->exe_inode = file.stx_ino;
                        sample->has_exe = true;
                }
        }
}

/* confirmation */

/*
 * Everything that has been read of the leader is of one task. When another thread executes
 * a program, it takes over the leader's number, start time and descriptor, but not its counters
 * (de_thread() of fs/exec.c). It shows in one of these: the task lives although the leader had
 * exited, it has a new address space, or a count is less than it was. A leader that executed a
 * program itself has a new address space too and is taken for another task.
 *
 * A process with one thread would have to start a second one, and that to execute a program, before
 * its last file is read: too unlikely to read one more file of each such process.
 */
static void procfs_confirm(void *userdata, const BatchProcess *process) {
        ThreadSlot *leader = process->leader;
        const ThreadSample *sample;
        bool is_same;
        ProcStat now;
        Span text;
        int r;

        if (!leader || !leader->kept || leader->num_threads <= 1)
                return;
        sample = &leader->sample;
        r = task_reader_read_stat(userdata, leader, &text);
        if (r == 0)
                r = proc_stat_parse(text, &now);
        if (r != 0)
                is_same = r != TEXT_E_ABSENT && r != TEXT_E_VANISHED;
        else if (leader->is_zombie)
                /* Several may have taken over and exited in turn; exe is read of a living one. */
                is_same = !sample->has_exe && (now.state == 'Z' || now.state == 'X');
        else if (leader->start_stack != 0 && now.start_stack != 0 &&
                 now.start_stack != leader->start_stack)
                is_same = false;
        else
                is_same = !thread_sample_has(sample, METRIC_minflt) ||
                          !(now.present >> PROC_STAT_minflt & 1) ||
                          now.minflt >= thread_sample_get(sample, METRIC_minflt);
        if (!is_same)
                thread_slot_vanish(leader);
}

/* why files of threads and taskstats could not be read, in the words of users */

#define TASKSTATS_DENIED \
        "taskstats needs CAP_NET_ADMIN in the initial user namespace: " REASON_RUN_PRIVILEGED
#define FOREIGN_PIDS                                                                          \
        "/proc belongs to another pid namespace than this process, so system calls know its " \
        "threads by other numbers"
#define NO_SCHED "this kernel has no /proc/PID/sched: it was built without CONFIG_SCHED_DEBUG"

static const char *taskstats_reason(const Gates *gates, SourceOutcome cause) {
        if (gates->foreign_pids)
                return FOREIGN_PIDS;
        if (cause == SOURCE_OUTCOME_denied)
                return TASKSTATS_DENIED;
        if (gates->taskstats == -EPROTO)
                return "struct taskstats of this kernel is too old to be read: before version 8";
        if (cause == SOURCE_OUTCOME_unsupported)
                return "this kernel was built without CONFIG_TASKSTATS";
        return NULL;
}

/* The kernel could account delays, and only a setting keeps it from that. */
static bool delays_are_off(const Gates *gates) {
        return gates->taskstats == 0 && gates->has_delay_members && !gates->only_processes &&
               gates->delay_trust == DELAY_TRUST_COUNTED;
}

static const char *delay_reason(const Gates *gates, SourceOutcome cause) {
        if (gates->taskstats != 0 || cause != SOURCE_OUTCOME_unsupported)
                return taskstats_reason(gates, cause);
        if (!gates->has_delay_members)
                return "this kernel was built without CONFIG_TASK_DELAY_ACCT";
        if (gates->only_processes)
                return REASON_ONLY_PROCESSES;
        if (delays_are_off(gates))
                return "delay accounting is off: " SOURCE_REMEDY_DELAYS_AT_BOOT
                       ", or " SOURCE_REMEDY_DELAYS " for tasks started from then on";
        return "threads without any delay may predate kernel.task_delayacct="
               "1: " SOURCE_REMEDY_DELAYS_AT_BOOT " to account all threads from their start";
}

static bool irq_time_is_unknown(const Gates *gates) {
        return gates->taskstats == 0 && !(gates->has_delay_members && gates->only_processes) &&
               !gates->irq_time_accounted && !gates->has_pressure;
}

/* NULL: there is nothing special to say. */
static const char *find_reason(const Gates *gates, SourceId id, SourceOutcome cause) {
        /* The kernel wants both CAP_SYS_PTRACE (first index) and CAP_DAC_READ_SEARCH (second). */
        static const char *const io_reasons[2][2] = {
                { "reading other users' /proc/PID/io needs CAP_SYS_PTRACE and "
                  "CAP_DAC_READ_SEARCH: " REASON_RUN_PRIVILEGED,
                  "reading other users' /proc/PID/io needs CAP_SYS_PTRACE beside "
                  "CAP_DAC_READ_SEARCH: " REASON_RUN_PRIVILEGED },
                { "reading other users' /proc/PID/io needs CAP_DAC_READ_SEARCH beside "
                  "CAP_SYS_PTRACE: " REASON_RUN_PRIVILEGED,
                  "/proc/PID/io of some processes is refused even with CAP_SYS_PTRACE and "
                  "CAP_DAC_READ_SEARCH: a security policy protects them" },
        };
        bool is_unsupported = cause == SOURCE_OUTCOME_unsupported;

        switch ((unsigned) id) {
        case SOURCE_STAT:
                if (cause == SOURCE_OUTCOME_denied)
                        return "/proc is mounted with hidepid: threads of other users are hidden "
                               "from a reader without CAP_SYS_PTRACE";
                return NULL;
        case SOURCE_SCHEDSTAT:
                return is_unsupported ? "this kernel was built without CONFIG_SCHED_INFO" : NULL;
        case SOURCE_SCHED:
                return is_unsupported ? NO_SCHED : NULL;
        case SOURCE_SCHEDSTATS:
                if (!is_unsupported)
                        return NULL;
                if (!gates->has_file[SOURCE_SCHED])
                        return NO_SCHED;
                if (gates->only_processes)
                        return REASON_ONLY_PROCESSES;
                if (!gates->has_sysctl_schedstats)
                        return "this kernel was built without CONFIG_SCHEDSTATS";
                if (!gates->schedstats_on)
                        return "schedstats are off: " SOURCE_REMEDY_SCHEDSTATS;
                return "schedstats were switched on or off during the capture";
        case SOURCE_IO:
                if (is_unsupported)
                        return "this kernel was built without CONFIG_TASK_IO_ACCOUNTING";
                if (cause != SOURCE_OUTCOME_denied)
                        return NULL;
                if (gates->in_user_namespace)
                        return REASON_IN_USER_NAMESPACE;
                return io_reasons[gates->has_sys_ptrace][gates->has_dac_read_search];
        case SOURCE_AFFINITY:
                return gates->foreign_pids ? FOREIGN_PIDS : NULL;
        case SOURCE_TASKSTATS:
                return taskstats_reason(gates, cause);
        case SOURCE_TASKSTATS_IRQ:
                if (is_unsupported && irq_time_is_unknown(gates))
                        return "without /proc/pressure/irq it is unknown whether interrupt time is "
                               "accounted: " SOURCE_REMEDY_PRESSURE
                               " (a kernel built with CONFIG_IRQ_TIME_ACCOUNTING)";
                return delay_reason(gates, cause);
        case SOURCE_TASKSTATS_DELAY:
                return delay_reason(gates, cause);
        default:
                return NULL;
        }
}

static void procfs_explain(const Gates *gates, const Tally *tally, SourceId id, SourceOutcome cause,
                           Source *source) {
        const char *reason = cause == SOURCE_OUTCOME_ok ? NULL : find_reason(gates, id, cause);

        if (reason)
                source_set(source, source->state, "%s", reason);
        /* An unsupported source may be missing by a setting and not by the kernel's build. */
        source->switched_off = cause == SOURCE_OUTCOME_unsupported &&
                               ((id == SOURCE_SCHEDSTATS && gates->has_file[SOURCE_SCHED] &&
                                 !gates->only_processes && gates->has_sysctl_schedstats &&
                                 !gates->schedstats_on) ||
                                (id == SOURCE_TASKSTATS_DELAY && delays_are_off(gates)) ||
                                (id == SOURCE_TASKSTATS_IRQ && delays_are_off(gates) &&
                                 !irq_time_is_unknown(gates)));
        if (id == SOURCE_STAT && tally->processes_hidden)
                source_set(source, SOURCE_STATE_PARTIAL,
                           "/proc is mounted with hidepid: processes of other users are hidden "
                           "from a reader without CAP_SYS_PTRACE");
        /* Not knowing which zeros are measurements is partial, even where every value was 0. */
        if (id == SOURCE_TASKSTATS_DELAY && source->state == SOURCE_STATE_UNAVAILABLE &&
            gates->taskstats == 0 && gates->has_delay_members &&
            gates->delay_trust == DELAY_TRUST_YOUNG)
                source->state = SOURCE_STATE_PARTIAL;
        if (id != SOURCE_TASKSTATS_IRQ)
                return;
        if (source->counts[SOURCE_OUTCOME_ok] > 0 && !gates->irq_time_accounted)
                source_set(source, SOURCE_STATE_PARTIAL,
                           "irq delays of 0 are left out: without /proc/pressure/irq only a thread "
                           "with irq delays shows that interrupt time is accounted");
        if (source_was_tried(source))
                return;
        if (gates->taskstats == 0 && !gates->has_irq_members)
                source_set(source, SOURCE_STATE_NOT_APPLICABLE,
                           "struct taskstats of this kernel (version %u) has no irq delays: they "
                           "came with version 14",
                           gates->taskstats_version);
        else
                source_set(source, SOURCE_STATE_NOT_APPLICABLE,
                           "this kernel does not account interrupt time: "
                           "CONFIG_IRQ_TIME_ACCOUNTING is off");
}

const Backend procfs_backend = {
        .name = "procfs",
        .sources = {
                [SOURCE_STAT] = SOURCE_BACKEND_PROCFS,
                [SOURCE_SCHEDSTAT] = SOURCE_BACKEND_PROCFS,
                [SOURCE_SCHED] = SOURCE_BACKEND_PROCFS,
                [SOURCE_SCHEDSTATS] = SOURCE_BACKEND_PROCFS,
                [SOURCE_STATUS] = SOURCE_BACKEND_PROCFS,
                [SOURCE_IO] = SOURCE_BACKEND_PROCFS,
                [SOURCE_CGROUP] = SOURCE_BACKEND_PROCFS,
                [SOURCE_AFFINITY] = SOURCE_BACKEND_PROCFS,
                [SOURCE_TASKSTATS] = SOURCE_BACKEND_TASKSTATS,
                [SOURCE_TASKSTATS_DELAY] = SOURCE_BACKEND_TASKSTATS,
                [SOURCE_TASKSTATS_IRQ] = SOURCE_BACKEND_TASKSTATS,
        },
        .walk_new = procfs_walk_new,
        .offer_memory = procfs_offer_memory,
        .walk_next = procfs_walk_next,
        .walk_free = procfs_walk_free,
        .reader_new = task_reader_new,
        .read = procfs_read_batch,
        .confirm = procfs_confirm,
        .reader_free = task_reader_free,
        .explain = procfs_explain,
};
