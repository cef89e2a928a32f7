/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/index.h"
#include "kernel/procfs/process-map.h"
#include "kernel/text/text-file.h"
#include "record/object-finder.h"
#include "record/process-file.h"
#include "view/glob.h"

#define MAPS_BYTES (1u << 20)
/* Programs load libraries late: what is mapped is read again after a while, if samples come. */
#define MAPS_AGE_NS UINT64_C(1000000000)
#define MAX_PASSED 4096u
#define RATE_NS UINT64_C(100000000)
#define MAX_PERIOD_NS UINT64_C(1000000000)
/* The kernel wants room for all rows whose keys have one hash. */
#define LENGTH_ROWS 64u
/* Waits are counted by reason until the end was read as well, and captured. */
#define REASONS_REST_NS UINT64_C(60000000000)

typedef struct Known {
        uint32_t tgid;
        uint64_t image;   /* of the process: its number may be taken again, and it may execute */
        uint64_t read_ns; /* CLOCK_MONOTONIC */
        uint64_t digest;  /* of what was told of this image; 0: nothing was */
        bool is_lost;     /* it was told that this one has nothing */
        bool has_jit_map; /* which was told */
} Known;

typedef struct File {
        uint64_t dev, inode;
        size_t module; /* its number for the other job */
        bool is_open;
} File;

/* A module whose name of a debug file has not been answered. */
typedef struct Pending {
        RecordDebug debug;
        ProcessMapping mapping; /* its path is borrowed from the text */
} Pending;

struct Sampler {
        SamplerOptions options;
        LedgerControl *control; /* mapped */
        struct ring_buffer *ring;
        int hook, fork_hook, waking_hook; /* owned: links of @go_on, @fork and @waking */
        Known *known;
        size_t n_known, n_known_allocated;
        Index by_tgid;
        File *files;
        size_t n_files, n_files_allocated, n_modules;
        Pending pending[32];
        size_t n_pending;
        Index by_file;
        ObjectFinder objects;
        char *text; /* MAPS_BYTES */
        uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];
        Mapping mappings[RECORD_MAPPINGS_MAX];
        RecordLengthKey length_keys[LENGTH_ROWS];
        RecordLengths lengths[LENGTH_ROWS];
        RecordSummary summary;
        uint64_t rate_since_ns, n_rated, n_lost_rated, n_passed, until_ns;
        ClockWatch *watch;     /* owned; NULL: there is nothing to watch */
        const uint64_t *ticks; /* mapped */
        size_t n_ticks_bytes;
        int stat;    /* owned: the times of CPUs */
        int failure; /* of passing on within the ring */
        bool has_begun;
        uint64_t of_memory; /* the device of files in memory */
        RecordEnd full;     /* why nothing more should be taken; RECORD_END_UNKNOWN: it may be */
};

static int await(const Sampler *sampler, short events) {
        const SamplerOptions *options = &sampler->options;

        return options->await ? options->await(options->userdata, events) : 0;
}

/* The next message of the other job that is an answer: that it is full may come before it. */
static int receive_answer(Sampler *sampler, RecordMessageKind kind, RecordMessage *ret) {
        const RecordFull *full;
        int r;

        do {
                r = await(sampler, POLLIN);
                if (r < 0)
                        return r;
                r = record_message_receive(sampler->options.socket, sampler->space, ret);
                if (r < 0)
                        return r;
                ret->fd = fd_close(ret->fd);
                if (ret->kind == RECORD_MESSAGE_FULL) {
                        full = ret->body;
                        if (sampler->full != RECORD_END_UNKNOWN || ret->n != sizeof(*full) ||
                            full->end <= RECORD_END_CALL || full->end >= _RECORD_END_MAX)
                                return -EBADMSG;
                        sampler->full = (RecordEnd) full->end;
                } else if (ret->kind != kind)
                        return -EBADMSG;
        } while (ret->kind != kind);
        return 0;
}

/* clocks */

static int watch_clocks(Sampler *sampler) {
        int n_cpus = libbpf_num_possible_cpus();
        void *memory;

        if (n_cpus < 0)
                return n_cpus;
        sampler->stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
        if (sampler->stat < 0)
                return -errno; /* a service may be kept from it: then clocks are not watched */
        sampler->n_ticks_bytes = (size_t) n_cpus * sizeof(uint64_t);
        memory = mmap(NULL, sampler->n_ticks_bytes, PROT_READ, MAP_SHARED, sampler->options.ticks,
                      0);
        if (memory == MAP_FAILED)
                return -errno;
        sampler->ticks = memory;
        return clock_watch_new(sampler->ticks, (size_t) n_cpus, sampler->options.period_ns,
                               &sampler->watch);
}

static int look_at_clocks(Sampler *sampler) {
        uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
        size_t n;
        int r = file_read_at(sampler->stat, sampler->text, MAPS_BYTES, 0, &n);

        if (r == 0)
                clock_watch_look(sampler->watch, (Span){ sampler->text, n },
                                 (uint64_t) sysconf(_SC_CLK_TCK), now_ns);
        return r;
}

/* processes */

static Span key_of_known(const void *owner, size_t element) {
        const Sampler *sampler = owner;

        return (Span){ (const char *) &sampler->known[element].tgid, sizeof(uint32_t) };
}

static Span key_of_file(const void *owner, size_t element) {
        const Sampler *sampler = owner;

        return (Span){ (const char *) &sampler->files[element], offsetof(File, module) };
}

/*
 * The other job has read what files are called that have the symbols of those it was told of; this
 * one may open them. Only some wait, as nobody reads answers while others are sent. @root: of the
 * process.
 */
static int answer_pending(Sampler *sampler, int root) {
        int fds[DEBUG_FILES_MAX], socket = sampler->options.socket, r = 0;
        RecordMessage answer;
        size_t n;

        for (size_t i = 0; i < sampler->n_pending && r == 0; i++) {
                const Pending *pending = &sampler->pending[i];

                r = receive_answer(sampler, RECORD_MESSAGE_SEEK, &answer);
                if (r < 0)
                        return r;
                if (answer.n != sizeof(DebugFileName))
                        return -EBADMSG;
                n = process_file_open_debug(root, &pending->mapping, answer.body, fds);
                for (size_t k = 0; k < n; k++) {
                        if (r == 0)
                                r = record_message_send(socket, RECORD_MESSAGE_DEBUG,
                                                        &pending->debug, sizeof(pending->debug),
                                                        NULL, 0, fds[k]);
                        (void) fd_close(fds[k]);
                }
        }
        sampler->n_pending = 0;
        return r;
}

/*
 * A file that could not be opened, as its process had ended, is told of again with the next process
 * that has it.
 */
static int tell_file(Sampler *sampler, uint32_t tgid, int root, const ProcessMapping *mapping,
                     ProcessDevice *device, size_t *ret) {
        const RecordModule module = { mapping->dev, mapping->inode };
        File file = { .dev = mapping->dev, .inode = mapping->inode };
        Span key = { (const char *) &file, offsetof(File, module) };
        size_t found = index_find(&sampler->by_file, key, key_of_file, sampler);
        _cleanup_(fd_closep) int fd = -EBADF;
        int r;

        *ret = found == INDEX_NONE ? INDEX_NONE : sampler->files[found].module;
        if ((found != INDEX_NONE && sampler->files[found].is_open) ||
            sampler->n_modules >= MODULES_MAX)
                return 0;
        if (mapping->inode != 0)
                fd = process_file_open_mapped(tgid, mapping, device);
        if (found != INDEX_NONE && fd < 0)
                return 0;
        r = record_message_send(sampler->options.socket, RECORD_MESSAGE_MODULE, &module,
                                sizeof(module), mapping->path.n > 0 ? mapping->path.bytes : "?",
                                mapping->path.n > 0 ? mapping->path.n : 1, fd);
        if (r == 0 && found == INDEX_NONE)
                r = ARRAY_RESERVE(sampler->files, sampler->n_files_allocated, sampler->n_files + 1);
        if (r == 0 && found == INDEX_NONE)
                r = index_add(&sampler->by_file, key, sampler->n_files);
        if (r < 0)
                return r;
        file.module = *ret = sampler->n_modules++;
        file.is_open = fd >= 0 || mapping->inode == 0;
        sampler->files[found == INDEX_NONE ? sampler->n_files++ : found] = file;
        sampler->pending[sampler->n_pending++] = (Pending){ { *ret }, *mapping };
        return sampler->n_pending == ELEMENTSOF(sampler->pending) ? answer_pending(sampler, root)
                                                                  : 0;
}

/*
 * Memory of no file has a name in place of a path. That of the kernel is another one in programs of
 * 32 bits, which lie below 4 GiB; the oldest one, [vsyscall], has no code.
 */
static bool name_memory(ProcessMapping *mapping) {
        bool is_vdso = span_is(mapping->path, MODULE_PATH_VDSO) && mapping->start > UINT32_MAX;

        if (mapping->inode != 0)
                return true;
        if (span_is(mapping->path, "[vsyscall]"))
                return false;
        mapping->path = span_of(is_vdso ? MODULE_PATH_VDSO : MODULE_PATH_JIT);
        mapping->dev = is_vdso;
        mapping->offset = 0;
        return true;
}

/* Code of a compiler is often in many pieces that touch. */
static void add_mapping(Sampler *sampler, const ProcessMapping *mapping, size_t module, size_t *n) {
        Mapping *last = *n > 0 ? &sampler->mappings[*n - 1] : NULL;

        if (last && mapping->inode == 0 && last->module == module && last->end == mapping->start)
                last->end = mapping->end;
        else
                sampler->mappings[(*n)++] =
                        (Mapping){ mapping->start, mapping->end, mapping->offset, module };
}

/*
 * Tells of what a process has mapped, unless it was told so before. @sample is of it. One that has
 * ended has nothing: what was told of an earlier image is not its own.
 */
static int tell_process(Sampler *sampler, Known *known, const RecordSample *sample) {
        RecordProcess process = { .tgid = known->tgid, .image = known->image };
        _cleanup_(fd_closep) int root = process_file_open_root(known->tgid);
        bool has_memory = false, is_there;
        uint64_t n_lines = 0, digest;
        ProcessDevice device = { .of_memory = sampler->of_memory };
        ProcessMapping mapping;
        size_t n = 0, n_bytes;
        Cursor cursor;
        int r = process_file_read_maps(known->tgid, sampler->text, MAPS_BYTES, &n_bytes);

        if (r == -ENOMEM || r == -EMFILE)
                return r;
        memcpy(process.comm, sample->process, sizeof(process.comm));
        is_there = r == 0 && n_bytes > 0;
        if (is_there && sample->start_stack != 0 &&
            !process_file_is_of_image(known->tgid, sample->start_stack)) {
                is_there = false;
                /* A program that is being executed has another stack for a moment. */
                known->read_ns = 0;
        }
        if (!is_there) {
                if (known->digest != 0 || known->is_lost)
                        return 0;
                known->is_lost = true;
                sampler->summary.n_lost_processes++;
                return record_message_send(sampler->options.socket, RECORD_MESSAGE_PROCESS,
                                           &process, sizeof(process), NULL, 0, -1);
        }
        cursor = (Span){ sampler->text, n_bytes };
        while (r == 0 && process_map_next(&cursor, &mapping, &n_lines) == 0) {
                size_t number;

                if (!mapping.is_executable || !name_memory(&mapping))
                        continue;
                if (n == RECORD_MAPPINGS_MAX)
                        break;
                r = tell_file(sampler, known->tgid, root, &mapping, &device, &number);
                if (r == 0 && number != INDEX_NONE)
                        add_mapping(sampler, &mapping, number, &n);
                has_memory |= mapping.inode == 0 && mapping.dev == 0;
        }
        if (r == 0)
                r = answer_pending(sampler, root);
        if (r < 0)
                return r;
        digest = hash_bytes((Span){ (const char *) sampler->mappings, n * sizeof(Mapping) }, 1) | 1;
        if (digest != known->digest) {
                sampler->summary.n_processes += known->digest == 0;
                sampler->summary.n_lost_processes -= known->is_lost;
                known->is_lost = false;
                known->digest = digest;
                r = record_message_send(sampler->options.socket, RECORD_MESSAGE_PROCESS, &process,
                                        sizeof(process), sampler->mappings, n * sizeof(Mapping),
                                        -1);
        }
        if (r == 0 && has_memory && !known->has_jit_map) {
                _cleanup_(fd_closep) int fd = process_file_open_jit_map(root, known->tgid);

                known->has_jit_map = fd >= 0;
                if (fd >= 0)
                        r = record_message_send(sampler->options.socket, RECORD_MESSAGE_JIT,
                                                &process, sizeof(process), NULL, 0, fd);
        }
        return r;
}

static int know_process(Sampler *sampler, const RecordSample *sample) {
        Span key = { (const char *) &sample->tgid, sizeof(sample->tgid) };
        size_t found = index_find(&sampler->by_tgid, key, key_of_known, sampler);
        int r;

        if (found == INDEX_NONE) {
                r = ARRAY_RESERVE(sampler->known, sampler->n_known_allocated, sampler->n_known + 1);
                if (r == 0)
                        r = index_add(&sampler->by_tgid, key, sampler->n_known);
                if (r < 0)
                        return r;
                found = sampler->n_known++;
                sampler->known[found] = (Known){ .tgid = sample->tgid, .image = sample->image };
        } else if (sampler->known[found].image != sample->image) {
                sampler->known[found] = (Known){ .tgid = sample->tgid, .image = sample->image };
        } else if (sample->seen_ns < sampler->known[found].read_ns + MAPS_AGE_NS)
                return 0;
        sampler->known[found].read_ns = clock_now_ns(CLOCK_MONOTONIC);
        return tell_process(sampler, &sampler->known[found], sample);
}

/* samples */

static bool is_called(const char name[static TASK_COMM_BYTES], const char *glob) {
        return glob_matches_text(span_of(glob), (Span){ name, strnlen(name, TASK_COMM_BYTES) });
}

/* @comm: of the thread. */
static bool has_wanted_name(const Sampler *sampler, const char comm[static TASK_COMM_BYTES],
                            const char process[static TASK_COMM_BYTES]) {
        const char *wanted = sampler->options.scope->comm;

        return wanted[0] == '\0' || is_called(comm, wanted) || is_called(process, wanted);
}

/* Tells what the wait of the next sample is on, as far as that one does not do so itself. */
static int tell_object(Sampler *sampler, const RecordSample *sample) {
        RecordObjectName name;
        Span text;
        int r = object_finder_find(&sampler->objects, sample, sampler->text, MAPS_BYTES, &name,
                                   &text);

        return r < 0 || text.n == 0
                       ? r
                       : record_message_send(sampler->options.socket, RECORD_MESSAGE_OBJECT, &name,
                                             sizeof(name), text.bytes, text.n, -1);
}

/* 0; 1: it is of a thread with another name, and left out; -errno. */
static int pass_sample(Sampler *sampler, const RecordSample *sample, size_t n) {
        int r = 0;

        if (n < sizeof(*sample))
                return -EBADMSG;
        /*
         * The period grows also for those of other names, which the ring has had to hold, but not
         * for those of clocks, which have a period of their own.
         */
        sampler->n_rated += sample->running.weight_ns == 0;
        /* Whoever wakes belongs to the wait, of which programs have decided. */
        if (!sample->is_waker && !has_wanted_name(sampler, sample->comm, sample->process))
                return 1;
        if (!sample->is_kernel_thread && sample->has_registers)
                r = know_process(sampler, sample);
        if (r == 0)
                r = tell_object(sampler, sample);
        if (r == 0)
                r = await(sampler, POLLOUT);
        if (r == 0)
                r = record_message_send(sampler->options.socket, RECORD_MESSAGE_SAMPLE, sample, n,
                                        NULL, 0, -1);
        return r;
}

/*
 * Samples that come while others are passed on are left for the next call of sampler_pass(): they
 * might come without end.
 */
static int take_from_ring(void *userdata, void *bytes, size_t n) {
        Sampler *sampler = userdata;
        int r;

        if (!sampler->has_begun)
                return 0; /* an earlier recording has left it behind */
        r = pass_sample(sampler, bytes, n);
        sampler->summary.n_left_out += r > 0;
        if (r < 0 && sampler->failure == 0)
                sampler->failure = r;
        if (r < 0)
                return r;
        return ++sampler->n_passed < MAX_PASSED && clock_now_ns(CLOCK_MONOTONIC) < sampler->until_ns
                       ? 0
                       : -EAGAIN;
}

/*
 * Makes the period longer if there are too many samples. Samples that found no room in the ring
 * count, too: while others are unwound, only a few of many may be passed on.
 */
static void adapt(Sampler *sampler) {
        uint64_t n_lost = __atomic_load_n(&sampler->control->record.n_lost_ring, __ATOMIC_RELAXED);
        uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC), most;

        if (now_ns < sampler->rate_since_ns + RATE_NS)
                return;
        sampler->n_rated += n_lost - sampler->n_lost_rated;
        sampler->n_lost_rated = n_lost;
        most = sampler->options.max_samples * (now_ns - sampler->rate_since_ns) / NSEC_PER_SEC;
        if (sampler->n_rated > most && sampler->control->record.period_ns < MAX_PERIOD_NS) {
                __atomic_store_n(&sampler->control->record.period_ns,
                                 2 * sampler->control->record.period_ns, __ATOMIC_RELAXED);
                sampler->summary.n_periods++;
        }
        sampler->n_rated = 0;
        sampler->rate_since_ns = now_ns;
}

/* Without a question the other job has one thing to say, and it says it once. */
static int listen_to_unwinder(Sampler *sampler) {
        struct pollfd says = { .fd = sampler->options.socket, .events = POLLIN };
        RecordMessage message;

        if (sampler->full != RECORD_END_UNKNOWN || poll(&says, 1, 0) <= 0)
                return 0;
        return receive_answer(sampler, RECORD_MESSAGE_FULL, &message);
}

RecordEnd sampler_end(const Sampler *sampler) {
        return sampler->full;
}

int sampler_pass(Sampler *sampler, uint64_t until_ns) {
        int r;

        sampler->n_passed = 0;
        sampler->until_ns = until_ns;
        r = ring_buffer__consume(sampler->ring);
        if (sampler->failure < 0)
                return sampler->failure;
        if (r < 0 && r != -EAGAIN)
                return r;
        adapt(sampler);
        r = 0;
        if (sampler->watch && clock_watch_is_due(sampler->watch, clock_now_ns(CLOCK_MONOTONIC)))
                r = look_at_clocks(sampler);
        return r == 0 ? listen_to_unwinder(sampler) : r;
}

/* beginning and end */

/*
 * Reading all functions of the kernel takes longer than the ring has room for samples, so that none
 * is taken before it is done.
 */
static int tell_kernel(Sampler *sampler, int symbols) {
        RecordMessage answer;
        int r = record_message_send(sampler->options.socket, RECORD_MESSAGE_KERNEL, NULL, 0, NULL,
                                    0, symbols);

        return r < 0 ? r : receive_answer(sampler, RECORD_MESSAGE_KERNEL, &answer);
}

int sampler_new(const SamplerOptions *options, Sampler **ret) {
        _cleanup_(sampler_freep) Sampler *sampler = calloc(1, sizeof(*sampler));
        _cleanup_(fd_closep) int kernel = -EBADF;
        void *memory;
        int r;

        if (!sampler)
                return -ENOMEM;
        sampler->options = *options;
        sampler->hook = sampler->fork_hook = sampler->waking_hook = sampler->stat = -EBADF;
        sampler->of_memory = process_file_find_memory();
        sampler->text = malloc(MAPS_BYTES);
        if (!sampler->text)
                return -ENOMEM;
        memory = mmap(NULL, sizeof(LedgerControl), PROT_READ | PROT_WRITE, MAP_SHARED,
                      options->control, 0);
        if (memory == MAP_FAILED)
                return -errno;
        sampler->control = memory;
        sampler->ring = ring_buffer__new(options->ring, take_from_ring, sampler, NULL);
        if (!sampler->ring)
                return -errno;
        sampler->summary.has_clock = options->running && options->n_clocks > 0;
        if (sampler->summary.has_clock && options->ticks >= 0) {
                r = watch_clocks(sampler);
                if (r == -ENOMEM)
                        return r;
        }
        /* The program does nothing before the recording starts. */
        if (options->waiting && options->go_on >= 0) {
                sampler->hook = bpf_raw_tracepoint_open(NULL, options->go_on);
                sampler->summary.sees_return = sampler->hook >= 0;
        }
        if (options->scope->filter.starter != 0) {
                sampler->fork_hook =
                        options->fork >= 0 ? bpf_raw_tracepoint_open(NULL, options->fork) : -EBADF;
                if (sampler->fork_hook < 0)
                        return -ENOTSUP;
        }
        if (options->waiting && options->wakers != RECORD_WAKERS_NONE) {
                sampler->waking_hook = bpf_raw_tracepoint_open(NULL, options->waking);
                if (sampler->waking_hook < 0)
                        return -errno;
        }
        /* Functions of the kernel also tell whether an interrupt wakes. */
        if (options->frames || sampler->waking_hook >= 0) {
                /* Before 6.0 there is only the file. */
                kernel = options->symbols >= 0 ? bpf_iter_create(options->symbols)
                                               : open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
                r = kernel < 0 ? 0 : tell_kernel(sampler, kernel);
                if (r < 0)
                        return r;
        }
        *ret = sampler;
        sampler = NULL;
        return 0;
}

Sampler *sampler_free(Sampler *sampler) {
        if (!sampler)
                return NULL;
        sampler->hook = fd_close(sampler->hook);
        sampler->fork_hook = fd_close(sampler->fork_hook);
        sampler->waking_hook = fd_close(sampler->waking_hook);
        ring_buffer__free(sampler->ring);
        sampler->watch = clock_watch_free(sampler->watch);
        sampler->stat = fd_close(sampler->stat);
        if (sampler->ticks)
                (void) munmap((void *) (uintptr_t) sampler->ticks, sampler->n_ticks_bytes);
        if (sampler->control)
                (void) munmap(sampler->control, sizeof(LedgerControl));
        index_done(&sampler->by_tgid);
        index_done(&sampler->by_file);
        object_finder_done(&sampler->objects);
        free(sampler->known);
        free(sampler->files);
        free(sampler->text);
        free(sampler);
        return NULL;
}

/*
 * Takes all rows out of the table of lengths, which needs no memory while nothing is recorded. They
 * are passed on, but for those of a recording that was not ended.
 */
static int empty_lengths(Sampler *sampler, bool passes) {
        uint32_t cursor, n;
        bool has_begun = false, is_last = false;
        int r;

        while (!is_last) {
                n = LENGTH_ROWS;
                r = bpf_map_lookup_and_delete_batch(
                        sampler->options.lengths, has_begun ? &cursor : NULL, &cursor,
                        sampler->length_keys, sampler->lengths, &n, NULL);
                is_last = r == -ENOENT;
                if ((r < 0 && !is_last) || n > LENGTH_ROWS)
                        return r < 0 ? r : -EBADMSG;
                has_begun = true;
                for (uint32_t i = 0; i < n && passes; i++) {
                        const RecordLengthKey *key = &sampler->length_keys[i];

                        if (!has_wanted_name(sampler, key->comm, key->process))
                                continue;
                        r = record_message_send(sampler->options.socket, RECORD_MESSAGE_LENGTHS,
                                                key, sizeof(*key), &sampler->lengths[i],
                                                sizeof(sampler->lengths[i]), -1);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* A thread that gets none here gets it later, or its first interval is counted as lost. */
static void make_room_for_threads(const Sampler *sampler) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char nothing[64];

        if (sampler->options.rest < 0)
                return;
        fd = bpf_iter_create(sampler->options.rest);
        if (fd >= 0)
                (void) !read(fd, nothing, sizeof(nothing));
}

int sampler_start(Sampler *sampler) {
        RecordControl *control = &sampler->control->record;
        uint64_t now_ns, until_ns;
        int r = 0;

        if (control->id != 0)
                return -EBUSY;
        /* Samples and rows of lengths that an earlier recording left behind are not of this one. */
        r = ring_buffer__consume(sampler->ring);
        if (r < 0)
                return r;
        r = 0;
        sampler->summary.has_lengths = sampler->options.waiting && sampler->options.lengths >= 0;
        if (sampler->summary.has_lengths)
                r = empty_lengths(sampler, false);
        if (r < 0)
                return r;
        make_room_for_threads(sampler);
        now_ns = clock_now_ns(CLOCK_MONOTONIC);
        until_ns = now_ns + sampler->options.limit_ns + REASONS_REST_NS;
        *control = (RecordControl){
                .period_ns = sampler->options.period_ns,
                .clock_ns = sampler->options.period_ns,
                .n_stack_bytes = sampler->options.stack_bytes,
                .has_frames = sampler->options.frames,
                .has_pointers = sampler->options.pointers,
                .has_waits = sampler->options.waiting,
                .wakers = sampler->waking_hook >= 0 ? sampler->options.wakers : RECORD_WAKERS_NONE,
                .begun_ns = now_ns,
                .own = { (uint32_t) getpid(), (uint32_t) sampler->options.unwinder },
                .min_ns = sampler->options.scope->min_ns,
                .max_ns = sampler->options.scope->max_ns,
                .has_lengths = sampler->summary.has_lengths,
                .filter = sampler->options.scope->filter,
        };
        sampler->has_begun = true;
        sampler->rate_since_ns = now_ns;
        sampler->summary.begin_boottime_ns = clock_now_ns(CLOCK_BOOTTIME);
        /* Without the account of waits by reason the programs do not know when a wait began. */
        if (sampler->options.waiting && sampler->control->reasons.until_ns < until_ns)
                sampler->control->reasons.until_ns = until_ns;
        __atomic_store_n(&control->id, now_ns, __ATOMIC_SEQ_CST);
        return sampler->watch ? look_at_clocks(sampler) : 0;
}

/*
 * A wait that goes on is one sample: it lasts from its beginning here, or that of the recording.
 * With a filter there is one of each thread, maybe with no part: it is known then that it is taken.
 */
static int pass_rest(Sampler *sampler) {
        const SamplerOptions *options = &sampler->options;
        _cleanup_(fd_closep) int fd = -EBADF;
        struct {
                RecordSample sample;
                char stack[RECORD_MAX_STACK_BYTES];
        } rest;
        size_t n_stack;
        ssize_t n;
        int r = 0;

        if (sampler->options.rest < 0 ||
            (!sampler->options.waiting && !sampler->options.scope->filter.is_on))
                return 0;
        fd = bpf_iter_create(sampler->options.rest);
        if (fd < 0)
                return fd;
        while (r >= 0 && (n = read(fd, &rest.sample, sizeof(rest.sample))) > 0) {
                if (n != sizeof(rest.sample))
                        return -EIO;
                n_stack = 0;
                if (rest.sample.has_registers &&
                    has_wanted_name(sampler, rest.sample.comm, rest.sample.process)) {
                        if (options->read_stack)
                                n_stack = options->read_stack(options->userdata, &rest.sample,
                                                              rest.stack);
                        n_stack = MIN_OF(n_stack, options->stack_bytes);
                        sampler->summary.n_unread_rest += n_stack == 0;
                }
                rest.sample.n_stack_bytes = (uint32_t) n_stack;
                r = pass_sample(sampler, &rest.sample, sizeof(rest.sample) + n_stack);
        }
        return r < 0 ? r : n < 0 ? -errno : 0;
}

int sampler_stop(Sampler *sampler) {
        int r;

        __atomic_store_n(&sampler->control->record.end_ns, clock_now_ns(CLOCK_MONOTONIC),
                         __ATOMIC_SEQ_CST);
        sampler->summary.end_boottime_ns = clock_now_ns(CLOCK_BOOTTIME);
        __atomic_store_n(&sampler->control->record.has_lengths, 0, __ATOMIC_RELAXED);
        r = sampler->watch ? look_at_clocks(sampler) : 0;
        if (r == 0)
                r = pass_rest(sampler);
        __atomic_store_n(&sampler->control->record.id, 0, __ATOMIC_SEQ_CST);
        sampler->hook = fd_close(sampler->hook);
        sampler->fork_hook = fd_close(sampler->fork_hook);
        sampler->waking_hook = fd_close(sampler->waking_hook);
        /* No sample comes any more, so that this ends. */
        do
                r = r == 0 ? sampler_pass(sampler, UINT64_MAX) : r;
        while (r == 0 && sampler->n_passed == MAX_PASSED);
        return r == 0 && sampler->summary.has_lengths ? empty_lengths(sampler, true) : r;
}

void sampler_summarize(const Sampler *sampler, RecordSummary *ret) {
        *ret = sampler->summary;
        ret->control = sampler->control->record;
        ret->scope = *sampler->options.scope;
        ret->period_ns = ret->control.period_ns;
        if (sampler->watch)
                clock_watch_tell(sampler->watch, &ret->unclocked);
}
