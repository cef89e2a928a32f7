/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * Where the time of threads goes, from each of their switches: wait-witness OBJECT
 *
 * OBJECT has the programs that tell them. Prints "ready" when those are attached that have to be
 * before the account that is to be checked, and reads lines:
 *
 * "watch TID": attaches the others, which come after the account, and prints "ready" again.
 *
 * "TID NS": prints what the thread had done when it was NS old, in nanoseconds since the first
 * event of it: how long it ran, waited on a run queue, was blocked on storage, was blocked
 * otherwise, slept; how much of the two blocked times passed between a waker's beginning and the
 * run queue; by how much an account whose programs run between ours may differ in each of the two;
 * how often it was blocked on storage, and otherwise; how often it was not told how a wait ended,
 * so that the kernel's counts had to; and how many events were lost of all threads.
 */

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "wait-witness.h"

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x0002u
#define TASK_NOLOAD 0x0400u

#define LOOK_MS 50

typedef enum Part { RUNNING, QUEUED, STORAGE, BLOCKED, ASLEEP, _PART_MAX } Part;

typedef struct Account {
        uint64_t ns[_PART_MAX], n[_PART_MAX], waking_ns[_PART_MAX], apart_ns[_PART_MAX];
        uint64_t n_torn;
} Account;

static WitnessEvent *events;
static size_t n_events, max_events;

/*
 * Keeps the events in the order of their times. They come in the order in which programs took room
 * in the ring, and programs on two CPUs may do that in one order and read the clock in the other:
 * a thread is about to sleep on one CPU while another already wakes it.
 */
static int keep_event(void *unused, void *bytes, size_t n_bytes) {
        const WitnessEvent *event = bytes;
        size_t at;

        if (n_events == max_events) {
                max_events = max_events ? 2 * max_events : 1 << 16;
                events = reallocarray(events, max_events, sizeof(*events));
                if (!events)
                        err(1, "no memory for %zu events", max_events);
        }
        for (at = n_events++; at > 0 && events[at - 1].at_ns > event->at_ns; at--)
                events[at] = events[at - 1];
        events[at] = *event;
        return 0;
}

static bool is_wait(Part part) {
        return part == STORAGE || part == BLOCKED || part == ASLEEP;
}

/* What the thread does from @event on, if it did @part until then. */
static Part next_part(const WitnessEvent *event, Part part) {
        switch ((WitnessKind) event->kind) {
        case WITNESS_SWITCHED_IN:
                return RUNNING;
        case WITNESS_WAKING:
                return part;
        case WITNESS_WOKEN:
                return is_wait(part) ? QUEUED : part;
        case WITNESS_SWITCHED_OUT:
                if (event->state == 0)
                        return QUEUED;
                if (!(event->state & TASK_UNINTERRUPTIBLE) || event->state & TASK_NOLOAD)
                        return ASLEEP;
                return event->is_io_wait ? STORAGE : BLOCKED;
        }
        errx(1, "an event of kind %" PRIu32, (uint32_t) event->kind);
}

/* From one time that a thread is switched out to the next. */
typedef struct Turn {
        const WitnessEvent *begin;
        Part part;      /* that began then */
        Account before; /* with this part begun */
        bool is_torn;   /* an event between them was not told */
} Turn;

/*
 * Some kernels tell nothing of what happens on an idle CPU for some milliseconds. What a thread did
 * meanwhile is known from the kernel's counts once it is switched out.
 */
static void mend(const Turn *turn, const WitnessEvent *end, Account *account) {
        uint64_t ns = end->at_ns - turn->begin->at_ns;
        uint64_t run_ns = end->run_ns - turn->begin->run_ns;
        uint64_t queued_ns = end->run_delay_ns - turn->begin->run_delay_ns;
        uint64_t n_torn = account->n_torn + 1;

        *account = turn->before;
        account->n_torn = n_torn;
        run_ns = run_ns < ns ? run_ns : ns;
        queued_ns = queued_ns < ns - run_ns ? queued_ns : ns - run_ns;
        account->ns[RUNNING] += run_ns;
        account->ns[QUEUED] += queued_ns;
        account->ns[turn->part] += ns - run_ns - queued_ns;
        account->apart_ns[turn->part] += end->apart_ns;
}

static void add_event(const WitnessEvent *event, Part *part, uint64_t *last_ns, uint64_t *waking_ns,
                      Turn *turn, Account *account) {
        Part next = next_part(event, *part);

        account->ns[*part] += event->at_ns - *last_ns;
        *last_ns = event->at_ns;
        if (event->kind == WITNESS_WAKING) {
                *waking_ns = event->at_ns;
                return;
        }
        if (event->kind == WITNESS_WOKEN && is_wait(*part)) {
                account->apart_ns[*part] += event->apart_ns;
                if (*waking_ns != 0)
                        account->waking_ns[*part] += event->at_ns - *waking_ns;
        }
        *waking_ns = 0;
        if (event->kind == WITNESS_SWITCHED_IN && is_wait(*part))
                turn->is_torn = true;
        if (event->kind == WITNESS_SWITCHED_OUT) {
                if (turn->begin && (turn->is_torn || *part != RUNNING))
                        mend(turn, event, account);
                account->n[next]++;
                account->apart_ns[next] += event->apart_ns;
                *turn = (Turn){ .begin = event, .part = next, .before = *account };
        }
        *part = next;
}

/* Returns false if nothing was seen of the thread by then. */
static bool add_up(uint32_t tid, uint64_t age_ns, Account *account) {
        uint64_t last_ns = 0, waking_ns = 0, moment_ns = 0;
        Part part = RUNNING; /* until the first event it is not known what it did */
        Turn turn = {};

        *account = (Account){};
        for (size_t i = 0; i < n_events; i++) {
                const WitnessEvent *event = &events[i];

                if (event->tid != tid)
                        continue;
                moment_ns = event->start_ns + age_ns;
                if (event->at_ns > moment_ns)
                        break;
                if (last_ns == 0)
                        last_ns = event->at_ns;
                add_event(event, &part, &last_ns, &waking_ns, &turn, account);
        }
        if (last_ns == 0)
                return false;
        account->ns[part] += moment_ns - last_ns;
        return true;
}

static void answer(uint32_t tid, uint64_t age_ns, uint64_t n_lost) {
        Account account;

        if (!add_up(tid, age_ns, &account))
                errx(1, "nothing is known of thread %" PRIu32 " at that age", tid);
        for (unsigned i = 0; i < _PART_MAX; i++)
                printf("%" PRIu64 " ", account.ns[i]);
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 "\n",
               account.waking_ns[STORAGE], account.waking_ns[BLOCKED], account.apart_ns[STORAGE],
               account.apart_ns[BLOCKED], account.n[STORAGE], account.n[BLOCKED], account.n_torn,
               n_lost);
        (void) fflush(stdout);
}

static int map_of(const struct bpf_object *object, const char *name) {
        int fd = bpf_object__find_map_fd_by_name(object, name);

        if (fd < 0)
                errx(1, "no map %s", name);
        return fd;
}

/* Attaches the programs whose names begin with @prefix, for as long as this process lives. */
static void attach(const struct bpf_object *object, const char *prefix) {
        struct bpf_program *program;

        bpf_object__for_each_program(program, object) {
                if (strncmp(bpf_program__name(program), prefix, strlen(prefix)) == 0 &&
                    !bpf_program__attach(program))
                        err(1, "%s", bpf_program__name(program));
        }
        printf("ready\n");
        (void) fflush(stdout);
}

static void watch(const struct bpf_object *object, uint32_t tid) {
        uint32_t one = 1;

        if (bpf_map_update_elem(map_of(object, "chosen"), &tid, &one, BPF_ANY) < 0)
                err(1, "thread %" PRIu32, tid);
        attach(object, "tell_");
}

/* Lines in whole: whoever asks sends one and reads the answer. */
static bool serve(const struct bpf_object *object) {
        uint64_t age_ns, n_lost = 0;
        uint32_t tid, zero = 0;
        char line[64];

        if (!fgets(line, sizeof(line), stdin))
                return false;
        if (sscanf(line, "watch %" SCNu32, &tid) == 1) {
                watch(object, tid);
                return true;
        }
        if (sscanf(line, "%" SCNu32 " %" SCNu64, &tid, &age_ns) != 2)
                errx(1, "not a thread and its age: %s", line);
        if (bpf_map_lookup_elem(map_of(object, "n_lost"), &zero, &n_lost) < 0)
                err(1, "bpf");
        answer(tid, age_ns, n_lost);
        return true;
}

int main(int argc, char **argv) {
        struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
        struct bpf_object *object;
        struct ring_buffer *ring;
        bool goes_on = true;

        if (argc != 2)
                errx(2, "usage: wait-witness OBJECT");
        object = bpf_object__open_file(argv[1], NULL);
        if (!object || bpf_object__load(object) < 0)
                err(1, "%s", argv[1]);
        ring = ring_buffer__new(map_of(object, "events"), keep_event, NULL, NULL);
        if (!ring)
                err(1, "ring buffer");
        attach(object, "note_");
        while (goes_on) {
                int n = poll(&input, 1, LOOK_MS);

                if (ring_buffer__consume(ring) < 0)
                        errx(1, "the ring cannot be read");
                if (n > 0)
                        goes_on = serve(object);
        }
        ring_buffer__free(ring);
        bpf_object__close(object);
        free(events);
        return 0;
}
