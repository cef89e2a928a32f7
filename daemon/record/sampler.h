/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sampler
 *
 * Switches the programs of a recording on, passes what they say on to the job that unwinds, and
 * switches them off. It looks into no stack and into no file: it reads what processes have mapped,
 * and opens the files.
 *
 * The period grows where more samples come than are wanted, so that a storm of switches costs a
 * bounded share of a CPU; every sample has its own weight, so that sums stay true.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "record/record-message.h"

typedef struct SamplerOptions {
        int socket;              /* of the job that unwinds */
        pid_t unwinder;          /* that job, which is left out, as this process is */
        int ring, control;       /* maps: TASK_OBJECT_SAMPLES, TASK_OBJECT_CONTROL */
        int go_on, fork, waking; /* programs; negative: it is not there */
        size_t n_clocks;         /* of CPUs that run, see kernel/bpf/clock-event.h */
        int rest, symbols;       /* links of iterators: TASK_OBJECT_REST, TASK_OBJECT_SYMBOLS */
        int lengths;             /* map: TASK_OBJECT_LENGTHS; negative: lengths are not counted */
        int ticks;               /* map: TASK_OBJECT_TICKS; negative: clocks are not watched */
        bool waiting, running;
        bool frames; /* of the kernel */
        RecordWakers wakers;
        uint32_t stack_bytes; /* of user mode that are copied; 0: none */
        bool pointers;        /* but for waits that go on: frame pointers lead to the callers */
        uint64_t period_ns;
        uint64_t limit_ns;        /* it lasts no longer: waits are counted by reason until then */
        uint64_t max_samples;     /* a second; more make the period grow */
        const RecordScope *scope; /* borrowed */
        /*
         * Gives the stack of user mode of a thread that goes on waiting: its memory is read by
         * another job, which its owner can keep waiting. *ret has RECORD_MAX_STACK_BYTES. Returns
         * how many bytes there are; 0: none. NULL: nobody reads.
         */
        size_t (*read_stack)(void *userdata, const RecordSample *sample, void *ret);
        /*
         * Waits until @socket has room (POLLOUT) or an answer (POLLIN): the other job may take its
         * time. 0 or -errno. NULL: nobody is told meanwhile that this one lives.
         */
        int (*await)(void *userdata, short events);
        void *userdata;
} SamplerOptions;

typedef struct Sampler Sampler;

/*
 * Opens what takes a privilege: symbols of the kernel. All descriptors are borrowed. -ENOTSUP: whom
 * a process starts cannot be seen. -errno.
 */
_must_check_ int sampler_new(const SamplerOptions *options, Sampler **ret);
Sampler *sampler_free(Sampler *sampler);
DEFINE_CLEANUP(Sampler *, sampler_free);

/* Begins. -EBUSY: a recording is on. -errno. */
_must_check_ int sampler_start(Sampler *sampler);
/*
 * Passes on what has come, until CLOCK_MONOTONIC is @until_ns: the rest is for sampler_stop(). To
 * be called every SAMPLER_REST_NS or sooner. -EPIPE, -errno.
 */
_must_check_ int sampler_pass(Sampler *sampler, uint64_t until_ns);
#define SAMPLER_REST_NS UINT64_C(20000000)
/* RECORD_END_UNKNOWN, unless the job that unwinds has said why nothing more should be taken. */
RecordEnd sampler_end(const Sampler *sampler);
/* Ends, passes on the rest, and the waits that go on. -EPIPE, -errno. */
_must_check_ int sampler_stop(Sampler *sampler);
/* Writes the facts about the recording so far into *ret. */
void sampler_summarize(const Sampler *sampler, RecordSummary *ret);
