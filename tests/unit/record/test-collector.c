/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "record/collector.h"
#include "record/course/sampled-times.h"
#include "small-elf.h"
#include "wire/limits.h"

#define BASE UINT64_C(0x555500000000)
#define STACK UINT64_C(0x7ffc00000000)
#define TGID 40

static Collector *collector;

static int memory_with(const void *bytes, size_t n) {
        int fd = memfd_create("test", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(pwrite(fd, bytes, n, 0), (ssize_t) n);
        return fd;
}

static int program(void) {
        char elf[SMALL_ELF_BYTES];

        small_elf_make(elf);
        return memory_with(elf, sizeof(elf));
}

/* A message whose body ends where the memory does. */
static int take(RecordMessageKind kind, const void *first, size_t n_first, const void *second,
                size_t n_second, int fd) {
        char *body = malloc(n_first + n_second + 1);
        RecordMessage message = { .kind = kind, .n = n_first + n_second, .fd = fd };
        int r;

        ck_assert_ptr_nonnull(body);
        body = realloc(body, message.n > 0 ? message.n : 1);
        if (n_first > 0)
                memcpy(body, first, n_first);
        if (n_second > 0)
                memcpy(body + n_first, second, n_second);
        message.body = body;
        r = collector_take(collector, &message);
        /* It is closed, or kept. */
        ck_assert_int_lt(message.fd, 0);
        free(body);
        return r;
}

static int take_module(const char *path, int fd) {
        const RecordModule module = { .dev = 1, .inode = 2 };

        return take(RECORD_MESSAGE_MODULE, &module, sizeof(module), path, strlen(path), fd);
}

static int stripped_program(void) {
        char elf[SMALL_ELF_BYTES];

        small_elf_make(elf);
        small_elf_strip(elf);
        return memory_with(elf, sizeof(elf));
}

/* For the first module. */
static int take_debug(int fd) {
        const RecordDebug debug = {};

        return take(RECORD_MESSAGE_DEBUG, &debug, sizeof(debug), NULL, 0, fd);
}

static int take_process(const Mapping *mappings, size_t n) {
        const RecordProcess process = { .tgid = TGID, .comm = "program" };

        return take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), mappings,
                    n * sizeof(*mappings), -EBADF);
}

static const Mapping text = { BASE + SMALL_ELF_WORK, BASE + SMALL_ELF_BYTES, SMALL_ELF_WORK, 0 };

/* Called by another one, which was called by start. */
static const uint64_t stack[] = { 0, BASE + SMALL_ELF_WORK + 8, 0, BASE + SMALL_ELF_START + 8 };

static RecordSample sample_of(size_t n_stack_bytes) {
        RecordSample sample = {
                .tid = TGID + 1,
                .tgid = TGID,
                .n_stack_bytes = (uint32_t) n_stack_bytes,
                .place = RECORD_PLACE_lock,
                .has_registers = true,
                .wait = { 7, 7 },
                .comm = "worker",
                .process = "leader",
        };

        sample.registers[SMALL_ELF_PC_AT] = BASE + SMALL_ELF_WORK + 4;
        sample.registers[SMALL_ELF_SP_AT] = STACK;
        return sample;
}

static int take_sample(const RecordSample *sample, size_t n_stack_bytes) {
        return take(RECORD_MESSAGE_SAMPLE, sample, sizeof(*sample), stack, n_stack_bytes, -EBADF);
}

/* The frames of a stack, the outermost first: names with a blank behind each. */
static const char *frames_of(uint32_t number) {
        static char line[4096];
        const StackTable *table = collector_table(collector);
        size_t at = number > 0 ? table->stacks[number - 1] : 0, n = 0;

        line[0] = '\0';
        for (; at < table->stacks[number]; at++) {
                const StackFrame *frame = &table->frames[table->numbers[at]];

                if (frame->name != 0)
                        n += (size_t) snprintf(line + n, sizeof(line) - n, "%s ",
                                               table->names.bytes + frame->name);
                else
                        n += (size_t) snprintf(line + n, sizeof(line) - n, "+%#llx ",
                                               (unsigned long long) frame->offset);
        }
        return line;
}

static const char *last_frames(void) {
        const StackTable *table = collector_table(collector);

        return frames_of(table->samples[table->n_samples - 1].key.stack);
}

static void set_up(void) {
        ck_assert_int_eq(collector_new(&collector), 0);
}

static void tear_down(void) {
        collector = collector_free(collector);
}

static void take_program(void) {
        ck_assert_int_eq(take_module("/usr/bin/program", program()), 0);
        ck_assert_int_eq(take_process(&text, 1), 0);
}

START_TEST(a_stack_becomes_names) {
        RecordSample sample = sample_of(sizeof(stack));
        uint64_t n_complete, n_cut;
        const StackTable *table;

        take_program();
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "start work work ");
        collector_count(collector, &n_complete, &n_cut);
        ck_assert(n_complete == 1 && n_cut == 0);
        table = collector_table(collector);
        ck_assert_str_eq(table->threads[0].comm, "worker");
        ck_assert_str_eq(table->threads[0].process, "program");
        ck_assert_uint_eq(table->samples[0].long_ns, 7);

        /* Half of the stack was not copied. */
        sample.n_stack_bytes = sizeof(stack) / 2;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack) / 2), 0);
        ck_assert_str_eq(last_frames(), "[stack cut] work work ");
        collector_count(collector, &n_complete, &n_cut);
        ck_assert(n_complete == 1 && n_cut == 1);
}
END_TEST

/* Also in a file whose frames come before their table, it is the table that leads to them. */
START_TEST(frames_are_found_by_their_table) {
        RecordSample sample = sample_of(sizeof(stack));
        char elf[SMALL_ELF_BYTES];

        small_elf_make(elf);
        small_elf_hide_frame(elf);
        ck_assert_int_eq(take_module("/usr/bin/program", memory_with(elf, sizeof(elf))), 0);
        ck_assert_int_eq(take_process(&text, 1), 0);
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "start work work ");
}
END_TEST

/*
 * The first function of a thread need not say that nobody called it, if its name does. Of a
 * function without call frame information libdw guesses the caller by frame pointers, for arm64
 * also where there are none: it is that function once more.
 */
START_TEST(first_functions_of_threads) {
#if defined(__aarch64__)
        static const char *const expected[] = { "clone work work ",
                                                "[stack cut] close close work work " };
#else
        static const char *const expected[] = { "clone work work ",
                                                "[stack cut] close work work " };
#endif
        RecordSample sample = sample_of(sizeof(stack));
        uint64_t n_complete, n_cut;
        char elf[SMALL_ELF_BYTES];

        small_elf_make(elf);
        memcpy(elf + SMALL_ELF_NAMES_AT + sizeof("\0work"), _i == 0 ? "clone" : "close", 5);
        small_elf_forget_start(elf);
        ck_assert_int_eq(take_module("/usr/bin/program", memory_with(elf, sizeof(elf))), 0);
        ck_assert_int_eq(take_process(&text, 1), 0);
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), expected[_i]);
        collector_count(collector, &n_complete, &n_cut);
        ck_assert_uint_eq(n_cut, (unsigned) _i);
}
END_TEST

/*
 * What frame pointers lead to is not unwound; a part of a word is none. This file does not say
 * where its program is entered, so nobody knows whether that was the first function.
 */
START_TEST(callers_become_names) {
        RecordSample sample = sample_of(0);
        const uint64_t callers[] = { BASE + SMALL_ELF_WORK + 4, BASE + SMALL_ELF_WORK + 8,
                                     BASE + SMALL_ELF_START + 8, 1 };
        uint64_t n_complete, n_cut;

        take_program();
        sample.has_callers = true;
        for (size_t n = 0; n <= sizeof(callers); n += 4) {
                static const char *const expected[] = {
                        "[stack cut] ",
                        "[stack cut] work ",
                        "[stack cut] work work ",
                        "[stack cut] start work work ",
                        "[stack cut] [unknown] start work work ",
                };

                sample.n_stack_bytes = (uint32_t) n;
                ck_assert_int_eq(
                        take(RECORD_MESSAGE_SAMPLE, &sample, sizeof(sample), callers, n, -EBADF),
                        0);
                ck_assert_str_eq(last_frames(), expected[n / sizeof(*callers)]);
        }
        collector_count(collector, &n_complete, &n_cut);
        ck_assert(n_complete == 0 && n_cut == 9);
}
END_TEST

START_TEST(each_part_of_an_interval_has_its_place) {
        RecordSample sample = sample_of(0);
        const StackTable *table = collector_table(collector);

        sample.is_kernel_thread = true;
        sample.queue = (RecordPart){ 1, 10 };
        sample.running = (RecordPart){ 2, 2 };
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_uint_eq(table->n_samples, 3);
        ck_assert_uint_eq(table->samples[0].key.place, RECORD_PLACE_lock);
        ck_assert_uint_eq(table->samples[1].key.place, RECORD_PLACE_run_queue);
        ck_assert_uint_eq(table->samples[1].short_ns, 10);
        ck_assert_uint_eq(table->samples[2].key.place, RECORD_PLACE_running);
        /* Without a wait, and without any part. */
        sample.place = _RECORD_PLACE_MAX;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        sample.queue = sample.running = (RecordPart){};
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_uint_eq(table->n_samples, 3);
}
END_TEST

START_TEST(samples_without_a_stack_say_why) {
        RecordSample sample = sample_of(sizeof(stack));

        /* Before its process was told. */
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "[process ended] ");
        ck_assert_str_eq(collector_table(collector)->threads[0].process, "leader");
        take_program();
        sample.is_late = true;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "[went on unseen] ");
        sample.is_late = false;
        sample.has_registers = false;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "");
        sample = sample_of(0);
        sample.registers[SMALL_ELF_PC_AT] = 4711; /* nothing is mapped there */
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_str_eq(last_frames(), "[stack cut] [unknown] ");
}
END_TEST

/* With a filter: it tells which threads that takes, whether they have samples or not. */
START_TEST(a_sample_without_a_part_is_a_thread) {
        RecordSample sample = sample_of(0);

        sample.wait = (RecordPart){};
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_uint_eq(collector_table(collector)->n_threads, 1);
        ck_assert_uint_eq(collector_table(collector)->n_samples, 0);
        ck_assert_uint_eq(collector_table(collector)->n_stacks, 0);
}
END_TEST

START_TEST(the_kernel_has_names) {
        static const char symbols[] = "ffffffff81000000 T first\nffffffff81000100 t second\nx";
        RecordSample sample = sample_of(0);

        ck_assert_int_eq(take(RECORD_MESSAGE_KERNEL, NULL, 0, NULL, 0,
                              memory_with(symbols, sizeof(symbols) - 1)),
                         0);
        ck_assert_int_eq(take(RECORD_MESSAGE_KERNEL, NULL, 0, NULL, 0, -EBADF), -EBADMSG);
        sample.is_kernel_thread = true;
        sample.n_frames = 3;
        sample.frames[0] = UINT64_C(0xffffffff81000120);
        sample.frames[1] = UINT64_C(0xffffffff81000010);
        sample.frames[2] = 16;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        /* There are no addresses of the kernel. */
        ck_assert_str_eq(last_frames(), "+0 first second ");
}
END_TEST

/* Functions of the kernel, each in 256 bytes of its own; the program has those of its file. */
static const char *const kernel_names[] = {
        "try_to_wake_up",
        "bpf_prog_1234_record_waking",
        "bpf_trace_run1",
        "hrtimer_wakeup",
        "asm_sysvec_apic_timer_interrupt",
        "entry_SYSCALL_64_after_hwframe",
        "futex_wake",
        "handle_softirqs",
        "__local_bh_enable_ip",
        "process_backlog",
        "virtnet_poll",
        "irqentry_exit_to_user_mode",
        "do_exit",
        "ret_from_fork_asm",
        "run_ksoftirqd",
        "worker_thread",
        "vfs_read",
};
#define KERNEL_BASE UINT64_C(0xffffffff81000000)

static void take_kernel(void) {
        char lines[2048] = "";
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(kernel_names); i++)
                n += (size_t) snprintf(lines + n, sizeof(lines) - n, "%llx t %s\n",
                                       (unsigned long long) (KERNEL_BASE + i * 256),
                                       kernel_names[i]);
        ck_assert_int_eq(take(RECORD_MESSAGE_KERNEL, NULL, 0, NULL, 0, memory_with(lines, n)), 0);
}

static void set_frames(RecordSample *sample, const char *const *names) {
        for (sample->n_frames = 0; names[sample->n_frames]; sample->n_frames++) {
                size_t at = 0;

                while (strcmp(kernel_names[at], names[sample->n_frames]) != 0)
                        at++;
                sample->frames[sample->n_frames] = KERNEL_BASE + at * 256 + 16;
        }
}

#define OURS "bpf_prog_1234_record_waking", "bpf_trace_run1"
#define INTERRUPT "asm_sysvec_apic_timer_interrupt"
#define CALL "entry_SYSCALL_64_after_hwframe"

static const struct {
        const char *frames[12]; /* innermost first */
        const char *stack;      /* that is kept, the outermost first; NULL: nothing is known */
        bool is_interrupt, is_idle, is_of_kernel;
} wakers[] = {
        { .frames = { OURS, "try_to_wake_up", "futex_wake", CALL },
          .stack = "start work work " CALL " futex_wake try_to_wake_up " },
        /* Of who was interrupted there is nothing. */
        { .frames = { OURS, "try_to_wake_up", "hrtimer_wakeup", INTERRUPT, "vfs_read", CALL },
          .stack = INTERRUPT " hrtimer_wakeup try_to_wake_up ",
          .is_interrupt = true },
        { .frames = { OURS, "try_to_wake_up", "hrtimer_wakeup", "handle_softirqs", INTERRUPT },
          .stack = INTERRUPT " handle_softirqs hrtimer_wakeup try_to_wake_up ",
          .is_interrupt = true },
        /* On its way back from one, a thread does what is its own. */
        { .frames = { "try_to_wake_up", "do_exit", "irqentry_exit_to_user_mode", INTERRUPT },
          .stack = "start work work " INTERRUPT
                   " irqentry_exit_to_user_mode do_exit try_to_wake_up " },
        /* What it has sent to its own host, and what has come from others meanwhile. */
        { .frames = { "try_to_wake_up", "process_backlog", "handle_softirqs",
                      "__local_bh_enable_ip", CALL },
          .stack = "start work work " CALL " __local_bh_enable_ip handle_softirqs process_backlog "
                   "try_to_wake_up " },
        { .frames = { "try_to_wake_up", "virtnet_poll", "handle_softirqs", "__local_bh_enable_ip",
                      CALL },
          .stack = "handle_softirqs virtnet_poll try_to_wake_up ",
          .is_interrupt = true },
        { .frames = { "try_to_wake_up", "process_backlog", "handle_softirqs", "run_ksoftirqd",
                      "ret_from_fork_asm" },
          .stack = "run_ksoftirqd handle_softirqs process_backlog try_to_wake_up ",
          .is_interrupt = true,
          .is_of_kernel = true },
        { .frames = { "try_to_wake_up", "worker_thread", "ret_from_fork_asm" },
          .stack = "ret_from_fork_asm worker_thread try_to_wake_up ",
          .is_of_kernel = true },
        /* An idle CPU does nothing itself. */
        { .frames = { "try_to_wake_up" },
          .stack = "try_to_wake_up ",
          .is_interrupt = true,
          .is_idle = true },
        { .stack = NULL },
};

START_TEST(wakers_are_threads_or_interrupts) {
        const StackTable *table = collector_table(collector);
        RecordSample waker = sample_of(sizeof(stack)), sample = sample_of(0);
        const StackSampleKey *key;

        take_program();
        take_kernel();
        waker.is_waker = true;
        waker.wake = 70000;
        waker.wait.weight_ns = 0;
        waker.is_kernel_thread = wakers[_i].is_of_kernel;
        waker.tid = wakers[_i].is_idle ? 0 : TGID + 5;
        memcpy(waker.comm, "waker", 6);
        set_frames(&waker, wakers[_i].frames);
        ck_assert_int_eq(take_sample(&waker, sizeof(stack)), 0);
        ck_assert_uint_eq(table->n_samples, 0);
        sample.wake = waker.wake;
        sample.queue = (RecordPart){ 1, 10 };
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_uint_eq(table->n_samples, 2);
        /* Only the wait has one. */
        ck_assert_uint_eq(table->samples[1].key.waker, STACK_WAKER_NONE);
        key = &table->samples[0].key;
        if (!wakers[_i].stack) {
                ck_assert_uint_eq(key->waker, STACK_WAKER_UNKNOWN);
                return;
        }
        ck_assert_str_eq(frames_of(key->waker_stack), wakers[_i].stack);
        if (wakers[_i].is_interrupt) {
                ck_assert_uint_eq(key->waker, STACK_WAKER_INTERRUPT);
                ck_assert_uint_eq(table->n_threads, 1); /* not who was interrupted */
                return;
        }
        ck_assert_uint_ge(key->waker, STACK_WAKER_FIRST);
        ck_assert_str_eq(table->threads[key->waker - STACK_WAKER_FIRST].comm, "waker");
        ck_assert_str_eq(table->threads[key->waker - STACK_WAKER_FIRST].process, "program");
        ck_assert(table->threads[key->waker - STACK_WAKER_FIRST].only_wakes);
        ck_assert(!table->threads[key->thread].only_wakes);
        /* Where stacks of the kernel are not wanted, they tell of interrupts all the same. */
        waker.hides_frames = true;
        ck_assert_int_eq(take_sample(&waker, sizeof(stack)), 0);
        sample.queue = (RecordPart){};
        sample.wait = (RecordPart){ 9, 9 };
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        key = &table->samples[table->n_samples - 1].key;
        ck_assert_str_eq(frames_of(key->waker_stack),
                         wakers[_i].is_of_kernel ? "" : "start work work ");
}
END_TEST

/* A thread waits for 100 ms for a lock that TGID + 5 gives back then; 0: that is not seen. */
static const struct {
        RecordSample deed; /* of that one, meanwhile; of 8 times of the clock if it runs */
        unsigned held;     /* a place plus 1 */
} holders[] = {
        { { .seen_ns = 1090, .place = RECORD_PLACE_sleep, .wait = { 80, 80 } },
          RECORD_PLACE_sleep + 1 },
        /* Half of it is the least. */
        { { .seen_ns = 1090, .place = RECORD_PLACE_sleep, .wait = { 49, 49 } }, 0 },
        /* What it did before does not count, and what ends later is not seen. */
        { { .seen_ns = 1030, .place = RECORD_PLACE_sleep, .wait = { 500, 500 } }, 0 },
        { { .seen_ns = 1101, .place = RECORD_PLACE_sleep, .wait = { 80, 80 } }, 0 },
        /* It had a CPU late. */
        { { .seen_ns = 1090, .place = _RECORD_PLACE_MAX, .queue = { 70, 70 } },
          RECORD_PLACE_run_queue + 1 },
        { { .seen_ns = 1095, .place = RECORD_PLACE_sleep, .wait = { 20, 20 }, .queue = { 60, 60 } },
          RECORD_PLACE_run_queue + 1 },
        /* It waited for a lock itself, so that it had none. */
        { { .seen_ns = 1090, .place = RECORD_PLACE_lock, .wait = { 80, 80 } }, 0 },
        { { .seen_ns = 1010, .place = _RECORD_PLACE_MAX, .running = { 0, 10 } },
          RECORD_PLACE_running + 1 },
};

START_TEST(holders_of_locks) {
        const StackTable *table = collector_table(collector);
        RecordSample waker = sample_of(sizeof(stack)), deed = sample_of(0);
        RecordSample sample = sample_of(0);
        const StackSampleKey *key;

        take_program();
        take_kernel();
        waker.is_waker = true;
        waker.wake = sample.wake = 9;
        waker.tid = deed.tid = TGID + 5;
        waker.seen_ns = 1100;
        set_frames(&waker, (const char *const[]){ "futex_wake", CALL, NULL });
        deed.place = holders[_i].deed.place;
        deed.seen_ns = holders[_i].deed.seen_ns;
        deed.wait = holders[_i].deed.wait;
        deed.queue = holders[_i].deed.queue;
        deed.running = holders[_i].deed.running;
        for (unsigned i = 0; i < (deed.running.weight_ns > 0 ? 8 : 1); i++) {
                ck_assert_int_eq(take_sample(&deed, 0), 0);
                deed.seen_ns += 10;
        }
        ck_assert_int_eq(take_sample(&waker, sizeof(stack)), 0);
        sample.wait = (RecordPart){ 100, 100 };
        sample.seen_ns = 1150;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        key = &table->samples[table->n_samples - 1].key;
        ck_assert_uint_ge(key->waker, STACK_WAKER_FIRST);
        ck_assert_uint_eq(key->held, holders[_i].held);
        if (key->held > 0)
                ck_assert_str_eq(frames_of(key->held_stack), "[stack cut] work ");
        /* Only locks have holders. */
        sample.place = RECORD_PLACE_pipe;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_uint_eq(table->samples[table->n_samples - 1].key.held, 0);
}
END_TEST

/*
 * The one that gives the lock back has waited for it, too: the one before it counts, if that was
 * for at least half of the time.
 */
START_TEST(holders_behind_others) {
        static const uint64_t waited[] = { 90, 40 };
        const StackTable *table = collector_table(collector);

        take_program();
        take_kernel();
        for (size_t i = 0; i < ELEMENTSOF(waited); i++) {
                RecordSample waker = sample_of(sizeof(stack)), sample = sample_of(0);
                RecordSample asleep = sample_of(0);
                const StackSampleKey *first, *second;
                uint64_t begin = 10000 * (i + 1);

                /* TGID + 5 sleeps and gives it to TGID + 6, which gives it to TGID + 7. */
                asleep.tid = waker.tid = TGID + 5;
                asleep.place = RECORD_PLACE_sleep;
                asleep.seen_ns = begin + waited[i];
                asleep.wait = (RecordPart){ waited[i], waited[i] };
                ck_assert_int_eq(take_sample(&asleep, 0), 0);
                waker.is_waker = true;
                set_frames(&waker, (const char *const[]){ "futex_wake", CALL, NULL });
                waker.wake = sample.wake = 100 * (i + 1);
                waker.seen_ns = sample.seen_ns = begin + waited[i];
                ck_assert_int_eq(take_sample(&waker, sizeof(stack)), 0);
                sample.tid = TGID + 6;
                sample.place = RECORD_PLACE_lock;
                sample.wait = (RecordPart){ waited[i], waited[i] };
                ck_assert_int_eq(take_sample(&sample, 0), 0);
                first = &table->samples[table->n_samples - 1].key;
                ck_assert_uint_eq(first->held, RECORD_PLACE_sleep + 1);
                waker.tid = TGID + 6;
                waker.wake++;
                waker.seen_ns = begin + 100;
                ck_assert_int_eq(take_sample(&waker, sizeof(stack)), 0);
                sample.tid = TGID + 7;
                sample.wake++;
                sample.seen_ns = begin + 100;
                sample.wait = (RecordPart){ 100, 100 };
                ck_assert_int_eq(take_sample(&sample, 0), 0);
                first = &table->samples[table->n_samples - 2].key;
                second = &table->samples[table->n_samples - 1].key;
                ck_assert_uint_eq(table->threads[second->waker - STACK_WAKER_FIRST].tid,
                                  TGID + (i == 0 ? 5 : 6));
                ck_assert_uint_eq(second->held, i == 0 ? first->held : 0);
        }
}
END_TEST

START_TEST(wakers_that_are_not_there) {
        static const struct {
                uint64_t wake;
                uint32_t waker;
        } rows[] = {
                { RECORD_WAKE_NONE, STACK_WAKER_NONE },
                { RECORD_WAKE_UNKNOWN, STACK_WAKER_UNKNOWN },
                { RECORD_WAKE_LATER, STACK_WAKER_LATER },
                { RECORD_WAKE_FIRST, STACK_WAKER_UNKNOWN }, /* it was lost */
                { UINT64_MAX, STACK_WAKER_UNKNOWN },
        };
        const StackTable *table = collector_table(collector);
        RecordSample sample = sample_of(0), waker = sample_of(0);

        sample.is_kernel_thread = true;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                sample.wake = rows[i].wake;
                sample.tid = 100 + (uint32_t) i;
                ck_assert_int_eq(take_sample(&sample, 0), 0);
                ck_assert_uint_eq(table->samples[i].key.waker, rows[i].waker);
        }
        /* A stack that is cut before it tells, and one whose functions have no names. */
        take_kernel();
        waker.is_waker = true;
        waker.is_kernel_thread = true;
        waker.wake = sample.wake = 8;
        waker.n_frames = RECORD_MAX_FRAMES;
        for (size_t i = 0; i < RECORD_MAX_FRAMES; i++)
                waker.frames[i] = KERNEL_BASE;
        ck_assert_int_eq(take_sample(&waker, 0), 0);
        sample.tid = 200;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_uint_eq(table->samples[table->n_samples - 1].key.waker, STACK_WAKER_UNKNOWN);
        waker.n_frames = 1;
        waker.frames[0] = 16;
        ck_assert_int_eq(take_sample(&waker, 0), 0);
        sample.tid = 201;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert_uint_eq(table->samples[table->n_samples - 1].key.waker, STACK_WAKER_UNKNOWN);
}
END_TEST

/* What is behind the names of a file that changes, or is none, are places in it. */
START_TEST(files_that_cannot_be_read) {
        const RecordSample sample = sample_of(0);

        ck_assert_int_eq(take_module("/usr/bin/program", -EBADF), 0);
        ck_assert_int_eq(take_module("/usr/bin/text", memory_with("#!/bin/sh\n", 10)), 0);
        for (size_t i = 0; i < 2; i++) {
                Mapping mapping = text;

                mapping.module = i;
                ck_assert_int_eq(take_process(&mapping, 1), 0);
                ck_assert_int_eq(take_sample(&sample, 0), 0);
                ck_assert_str_eq(last_frames(), "[stack cut] +0x1004 ");
        }
}
END_TEST

START_TEST(symbols_of_a_debug_file) {
        const RecordSample sample = sample_of(sizeof(stack));
        char other[SMALL_ELF_BYTES];

        small_elf_make(other);
        other[SMALL_ELF_ID_AT + 16]++;
        ck_assert_int_eq(take_debug(program()), -EBADMSG);
        ck_assert_int_eq(take_module("/usr/bin/program", stripped_program()), 0);
        ck_assert_int_eq(take_process(&text, 1), 0);
        ck_assert_int_eq(take_debug(-EBADF), -EBADMSG);
        ck_assert_int_eq(take(RECORD_MESSAGE_DEBUG, "x", 1, NULL, 0, program()), -EBADMSG);
        /* Of another build, without symbols either, and none of a program. */
        ck_assert_int_eq(take_debug(memory_with(other, sizeof(other))), 0);
        ck_assert_int_eq(take_debug(stripped_program()), 0);
        ck_assert_int_eq(take_debug(memory_with("\177ELF", 4)), 0);
        ck_assert_uint_eq(collector_modules(collector)->all[0]->symbols.n, 0);
        ck_assert_int_eq(take_debug(program()), 0);
        ck_assert_int_eq(take_debug(program()), 0);
        ck_assert_uint_eq(collector_modules(collector)->all[0]->symbols.n, 2);
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "start work work ");
}
END_TEST

static const struct {
        bool is_stripped, has_file;
        DebugFileName name;
} sought_rows[] = {
        { false, true, {} },
        { true, true, { .build_id = "6275696c642d6964", .link = "a.debug" } },
        { true, false, {} },
};

/* The one answer to a module is what its debug file is called; nothing else has an answer. */
START_TEST(debug_files_are_asked_for) {
        const RecordModule module = { .dev = 1, .inode = 2 };
        static uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];
        const RecordDebug debug = {};
        int pair[2], fd = sought_rows[_i].is_stripped ? stripped_program() : program();
        RecordMessage message;

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_MODULE, &module,
                                             sizeof(module), "/a", 2,
                                             sought_rows[_i].has_file ? fd : -1),
                         0);
        ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_DEBUG, &debug, sizeof(debug),
                                             NULL, 0, fd),
                         0);
        ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_END, NULL, 0, NULL, 0, -1), 0);
        ck_assert_int_eq(collector_run(collector, pair[1], UINT64_MAX, UINT64_MAX, space, &message),
                         0);
        ck_assert_int_eq(message.kind, RECORD_MESSAGE_END);
        (void) close(pair[1]);
        ck_assert_int_eq(record_message_receive(pair[0], space, &message), 0);
        ck_assert_int_eq(message.kind, RECORD_MESSAGE_SEEK);
        ck_assert_uint_eq(message.n, sizeof(DebugFileName));
        ck_assert_int_eq(memcmp(message.body, &sought_rows[_i].name, sizeof(DebugFileName)), 0);
        ck_assert_int_eq(record_message_receive(pair[0], space, &message), -EPIPE);
        (void) close(pair[0]);
        (void) close(fd);
}
END_TEST

static const struct {
        uint64_t max_bytes, max_held;
        RecordEnd end; /* RECORD_END_UNKNOWN: nothing is said */
} full_rows[] = {
        { UINT64_MAX, UINT64_MAX, RECORD_END_UNKNOWN },
        { 2000, UINT64_MAX, RECORD_END_BYTES },
        { UINT64_MAX, 2000, RECORD_END_MEMORY },
};

/* It says once that it is full, and goes on to take what comes. */
START_TEST(it_says_that_it_is_full) {
        static uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];
        RecordMessage message;
        const RecordFull *full;
        int pair[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        for (uint32_t i = 0; i < 30; i++) {
                RecordSample sample = sample_of(0);

                sample.tid = 1000 + i;
                sample.n_frames = 1;
                ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_SAMPLE, &sample,
                                                     sizeof(sample), NULL, 0, -1),
                                 0);
        }
        ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_END, NULL, 0, NULL, 0, -1), 0);
        ck_assert_int_eq(collector_run(collector, pair[1], full_rows[_i].max_bytes,
                                       full_rows[_i].max_held, space, &message),
                         0);
        ck_assert_int_eq(message.kind, RECORD_MESSAGE_END);
        ck_assert_uint_eq(collector_table(collector)->n_threads, 30);
        (void) close(pair[1]);
        if (full_rows[_i].end != RECORD_END_UNKNOWN) {
                ck_assert_int_eq(record_message_receive(pair[0], space, &message), 0);
                ck_assert_int_eq(message.kind, RECORD_MESSAGE_FULL);
                ck_assert_uint_eq(message.n, sizeof(*full));
                full = message.body;
                ck_assert_uint_eq(full->end, full_rows[_i].end);
        }
        ck_assert_int_eq(record_message_receive(pair[0], space, &message), -EPIPE);
        (void) close(pair[0]);
}
END_TEST

/*
 * What is known of processes counts, too, also of those that have ended. What was known of one
 * before it changed does not count any more.
 */
START_TEST(processes_make_it_full) {
        static uint64_t space[RECORD_MESSAGE_MAX_BYTES / 8];
        enum { MAPPINGS = 1000, PROCESSES = 8 };
        const size_t max_held = MAPPINGS * PROCESSES / 2 * sizeof(Mapping);
        Mapping mappings[MAPPINGS];
        RecordMessage message;
        int pair[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert_int_eq(take_module("/usr/bin/program", -EBADF), 0);
        for (size_t i = 0; i < MAPPINGS; i++)
                mappings[i] = (Mapping){ 4096 * i, 4096 * (i + 1), 0, 0 };
        for (unsigned i = 0; i < PROCESSES; i++) {
                const RecordProcess process = { .tgid = _i == 0 ? TGID : TGID + i };

                ck_assert_int_eq(record_message_send(pair[0], RECORD_MESSAGE_PROCESS, &process,
                                                     sizeof(process), mappings, sizeof(mappings),
                                                     -1),
                                 0);
                /* More than fit are not in the socket at a time. */
                ck_assert_int_eq(
                        record_message_send(pair[0], RECORD_MESSAGE_END, NULL, 0, NULL, 0, -1), 0);
                ck_assert_int_eq(
                        collector_run(collector, pair[1], UINT64_MAX, max_held, space, &message),
                        0);
        }
        (void) close(pair[1]);
        if (_i == 1) {
                ck_assert_int_eq(record_message_receive(pair[0], space, &message), 0);
                ck_assert_int_eq(message.kind, RECORD_MESSAGE_FULL);
                ck_assert_uint_eq(((const RecordFull *) message.body)->end, RECORD_END_MEMORY);
        } else
                ck_assert_int_eq(record_message_receive(pair[0], space, &message), -EPIPE);
        (void) close(pair[0]);
}
END_TEST

/* A sample within memory of no file. */
static const char *frames_at(uint64_t address, uint64_t seen_ns) {
        RecordSample sample = sample_of(0);
        static uint32_t tid;

        sample.tid = ++tid; /* so that it is the last one */
        sample.registers[SMALL_ELF_PC_AT] = address;
        sample.seen_ns = seen_ns;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        return last_frames();
}

START_TEST(code_made_at_run_time) {
        static const char lines[] = "555500000100 10 made\n555500000110 10 _ZN3jit4wo";
        const Mapping memory = { BASE, BASE + 0x1000, 0, 0 };
        RecordProcess process = { .tgid = TGID, .image = 1, .comm = "program" };
        int map = memory_with(lines, sizeof(lines) - 1);

        ck_assert_int_eq(take_module(MODULE_PATH_JIT, -EBADF), 0);
        /* Nobody has told of the process. */
        ck_assert_int_eq(take(RECORD_MESSAGE_JIT, &process, sizeof(process), NULL, 0, dup(map)), 0);
        ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), &memory,
                              sizeof(memory), -EBADF),
                         0);
        ck_assert_str_eq(frames_at(BASE + 0x104, 5), "[stack cut] [unknown] ");
        ck_assert_int_eq(take(RECORD_MESSAGE_JIT, &process, sizeof(process) - 1, NULL, 0, dup(map)),
                         -EBADMSG);
        ck_assert_int_eq(take(RECORD_MESSAGE_JIT, &process, sizeof(process), NULL, 0, -EBADF),
                         -EBADMSG);
        ck_assert_int_eq(take(RECORD_MESSAGE_JIT, &process, sizeof(process), NULL, 0, dup(map)), 0);
        ck_assert_str_eq(frames_at(BASE + 0x104, 5), "[stack cut] made ");
        ck_assert_str_eq(frames_at(BASE + 0x114, 5), "[stack cut] [unknown] ");
        /* More of it is read after a while. */
        ck_assert_int_eq(pwrite(map, "rkEv\n", 5, sizeof(lines) - 1), 5);
        ck_assert_str_eq(frames_at(BASE + 0x114, 6), "[stack cut] [unknown] ");
        ck_assert_str_eq(frames_at(BASE + 0x114, 2000000000), "[stack cut] jit::work() ");
        ck_assert_str_eq(frames_at(BASE + 0x104, 2000000000), "[stack cut] made ");
        /* Another program does not have it. */
        process.image = 2;
        ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), &memory,
                              sizeof(memory), -EBADF),
                         0);
        ck_assert_str_eq(frames_at(BASE + 0x104, 4000000000), "[stack cut] [unknown] ");
        (void) close(map);
}
END_TEST

/* The last descriptor that is kept, and the first one that is not. */
START_TEST(one_map_too_many) {
        static const char lines[] = "555500000100 10 made\n";
        const Mapping memory = { BASE, BASE + 0x1000, 0, 0 };
        const RecordProcess process = { .tgid = TGID, .comm = "program" };
        int map, fd;

        if (check_skips(check_lacks_descriptors(MODULE_FD_END + 1)))
                return;
        map = memory_with(lines, sizeof(lines) - 1);
        fd = fcntl(map, F_DUPFD_CLOEXEC, MODULE_FD_END - 1 + _i);
        ck_assert_int_eq(fd, MODULE_FD_END - 1 + _i);
        ck_assert_int_eq(take_module(MODULE_PATH_JIT, -EBADF), 0);
        ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), &memory,
                              sizeof(memory), -EBADF),
                         0);
        ck_assert_int_eq(take(RECORD_MESSAGE_JIT, &process, sizeof(process), NULL, 0, fd), 0);
        ck_assert_str_eq(frames_at(BASE + 0x104, 5),
                         _i == 0 ? "[stack cut] made " : "[stack cut] [unknown] ");
        ck_assert_int_eq(fcntl(fd, F_GETFD) < 0, _i == 1);
        (void) close(map);
}
END_TEST

/* The memory for such names is bounded, however many there are. */
START_TEST(code_without_end) {
        const Mapping memory = { BASE, BASE + 0x1000, 0, 0 };
        const RecordProcess process = { .tgid = TGID, .comm = "program" };
        int map = memory_with("", 0);
        char line[1024];

        memset(line, 'x', sizeof(line));
        for (uint64_t i = 0; i < 30000; i++) {
                line[snprintf(line, sizeof(line), "%llx 1", (unsigned long long) (BASE + i))] = ' ';
                line[sizeof(line) - 1] = '\n';
                ck_assert_int_eq(write(map, line, sizeof(line)), sizeof(line));
        }
        ck_assert_int_eq(take_module(MODULE_PATH_JIT, -EBADF), 0);
        ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), &memory,
                              sizeof(memory), -EBADF),
                         0);
        ck_assert_int_eq(take(RECORD_MESSAGE_JIT, &process, sizeof(process), NULL, 0, map), 0);
        ck_assert_int_eq(strncmp(frames_at(BASE + 5, 5), "[stack cut] xxx", 15), 0);
        ck_assert_str_eq(frames_at(BASE + 29000, 5), "[stack cut] [unknown] ");
        ck_assert_str_eq(frames_at(BASE + 29000, 5000000000), "[stack cut] [unknown] ");
}
END_TEST

START_TEST(code_of_the_kernel_in_each_process) {
        const Mapping mapping = { BASE, BASE + 0x4000, 0, 0 };
        const Symbol *symbol;
        Module *module;

        if (check_skips(check_lacks_own_mappings()))
                return;
        ck_assert_int_eq(take_module(MODULE_PATH_VDSO, -EBADF), 0);
        ck_assert_int_eq(take_process(&mapping, 1), 0);
        module = collector_modules(collector)->all[0];
        ck_assert_ptr_nonnull(module->elf);
        ck_assert_str_ne(module->build_id, "");
        ck_assert_int_eq(module_find_symbol(module, 0, &symbol), 0);
        ck_assert_ptr_null(symbol);
        ck_assert_uint_gt(module->symbols.n, 0);
        symbol = &module->symbols.all[0];
        ck_assert_ptr_nonnull(strstr(frames_at(BASE + symbol->begin, 5),
                                     symbol_table_text(&module->symbols, symbol->name)));
}
END_TEST

/* what waits are on */

/* That of the last sample; "" where it is not told. */
static const char *last_object(void) {
        const StackTable *table = collector_table(collector);
        uint32_t object = table->samples[table->n_samples - 1].key.object;

        if (object == STACK_OBJECT_NONE)
                return "";
        if (object == STACK_OBJECT_OTHERS)
                return "[others]";
        return table->names.bytes + table->objects[object - 1].name;
}

static void take_name(const char *name, bool is_mapped_file, uint64_t offset) {
        const RecordObjectName told = { is_mapped_file, offset };

        ck_assert_int_eq(
                take(RECORD_MESSAGE_OBJECT, &told, sizeof(told), name, strlen(name), -EBADF), 0);
}

static const char *object_of(const RecordObject *object) {
        RecordSample sample = sample_of(sizeof(stack));

        sample.object = *object;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        return last_object();
}

START_TEST(a_file_has_the_path_that_was_told) {
        const RecordObject file = { .kind = RECORD_OBJECT_FILE };
        RecordSample sample = sample_of(sizeof(stack));

        take_program();
        take_name("/var/lib/data", false, 0);
        ck_assert_str_eq(object_of(&file), "/var/lib/data");
        /* It is of one sample alone. */
        ck_assert_str_eq(object_of(&file), "");
        take_name("/var/lib/data", false, 0);
        ck_assert_str_eq(object_of(&(RecordObject){}), "");
        ck_assert_str_eq(object_of(&file), "");
        /* And of the wait, not of what comes behind it. */
        take_name("/var/lib/data", false, 0);
        sample.object = file;
        sample.queue = (RecordPart){ 5, 5 };
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_object(), "");
        ck_assert_int_eq(take(RECORD_MESSAGE_OBJECT, &(RecordObjectName){},
                              sizeof(RecordObjectName), NULL, 0, -EBADF),
                         -EBADMSG);
        sample.object.kind = _RECORD_OBJECT_MAX;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), -EBADMSG);
}
END_TEST

static const struct {
        RecordSocket socket;
        const char *text;
} socket_rows[] = {
        { { .family = AF_INET,
            .protocol = IPPROTO_TCP,
            .port = 40000,
            .peer_port = 5432,
            .address = { 127, 0, 0, 1 },
            .peer_address = { 192, 0, 2, 255 } },
          "tcp 192.0.2.255:5432" },
        { { .family = AF_INET, .protocol = IPPROTO_TCP, .port = 80, .is_listening = true },
          "tcp at 0.0.0.0:80, listening" },
        { { .family = AF_INET, .protocol = IPPROTO_UDP, .port = 53, .address = { 127, 0, 0, 53 } },
          "udp at 127.0.0.53:53" },
        { { .family = AF_INET, .protocol = IPPROTO_UDP }, "udp" },
        { { .family = AF_INET, .protocol = 255, .port = 1, .peer_port = 1 }, "ip 0.0.0.0:1" },
        { { .family = AF_INET6,
            .protocol = IPPROTO_TCP,
            .peer_port = 443,
            .peer_address = { 0x20, 1, 0xd, 0xb8, [15] = 1 } },
          "tcp [2001:db8::1]:443" },
        { { .family = AF_INET6,
            .protocol = IPPROTO_TCP,
            .peer_port = 443,
            .peer_address = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } },
          "tcp 192.0.2.1:443" },
        { { .family = AF_UNIX, .peer_pid = 7, .peer_comm = "sixteen letters!" },
          "unix socket of sixteen letters! (7)" },
        { { .family = AF_UNIX, .peer_pid = TGID, .peer_comm = "program" }, "unix socket" },
        { { .family = AF_UNIX }, "unix socket" },
        { { .family = AF_UNIX, .peer_pid = 7, .is_listening = true }, "unix socket, listening" },
        { { .family = AF_NETLINK }, "netlink socket" },
        { { .family = 0xffff }, "socket of family 65535" },
};

START_TEST(a_socket_has_an_other_side) {
        const RecordObject object = { .kind = RECORD_OBJECT_SOCKET,
                                      .socket = socket_rows[_i].socket };

        ck_assert_str_eq(object_of(&object), socket_rows[_i].text);
}
END_TEST

static const struct {
        uint64_t address;
        const char *told;
        bool is_mapped_file;
        const char *text;
} futex_rows[] = {
        { BASE + SMALL_ELF_WORDS, "[heap]", false, "words in program" },
        { BASE + SMALL_ELF_WORDS + 63, NULL, false, "words+0x3f in program" },
        { BASE + SMALL_ELF_WORDS + 64, NULL, false, "[program+0x14c0]" },
        { BASE + 0x10, NULL, false, "[program+0x10]" }, /* before the code, and of the same file */
        { BASE - 1, NULL, false, "" },
        { BASE + SMALL_ELF_BYTES, "[heap]", false, "[heap]" },
        { 0, "/dev/shm/x", true, "/dev/shm/x+0x1234" },
        { UINT64_MAX, NULL, false, "" },
};

START_TEST(a_futex_has_a_variable_or_a_mapping) {
        const RecordObject futex = { .kind = RECORD_OBJECT_FUTEX, .futex = futex_rows[_i].address };

        take_program();
        if (futex_rows[_i].told)
                take_name(futex_rows[_i].told, futex_rows[_i].is_mapped_file, 0x1234);
        ck_assert_str_eq(object_of(&futex), futex_rows[_i].text);
}
END_TEST

/* Nothing is known of the process, but for what was told of its memory. */
START_TEST(a_futex_of_a_process_that_is_gone) {
        const RecordObject futex = { .kind = RECORD_OBJECT_FUTEX, .futex = BASE };

        ck_assert_str_eq(object_of(&futex), "");
        take_name("[anonymous]", false, 0);
        ck_assert_str_eq(object_of(&futex), "[anonymous]");
}
END_TEST

START_TEST(modules_of_no_sense) {
        const RecordModule module = {};

        ck_assert_int_eq(take(RECORD_MESSAGE_MODULE, NULL, 0, NULL, 0, program()), -EBADMSG);
        for (size_t n = 1; n <= sizeof(module); n++)
                ck_assert_int_eq(take(RECORD_MESSAGE_MODULE, &module, n, NULL, 0, -EBADF),
                                 -EBADMSG);
        ck_assert_uint_eq(collector_modules(collector)->n, 0);
        for (unsigned i = 0; i < MODULES_MAX; i++)
                ck_assert_int_eq(take_module("/x", -EBADF), 0);
        ck_assert_int_eq(take_module("/x", program()), -E2BIG);
}
END_TEST

static const struct {
        Mapping mappings[2];
        size_t n;
        int r;
} mapping_rows[] = {
        { { { 1, 2, 0, 0 } }, 0, 0 },
        { { { 1, 2, 0, 0 }, { 2, 3, 0, 0 } }, 2, 0 },
        { { { 0, UINT64_MAX, UINT64_MAX, 0 } }, 1, 0 },
        { { { 1, 2, 0, 1 } }, 1, -EBADMSG }, /* a module that was not told */
        { { { 1, 2, 0, SIZE_MAX } }, 1, -EBADMSG },
        { { { 2, 2, 0, 0 } }, 1, -EBADMSG }, /* empty, or backwards */
        { { { 3, 2, 0, 0 } }, 1, -EBADMSG },
        { { { 1, 3, 0, 0 }, { 2, 4, 0, 0 } }, 2, -EBADMSG }, /* overlap */
        { { { 5, 6, 0, 0 }, { 1, 2, 0, 0 } }, 2, -EBADMSG }, /* descend */
};

START_TEST(mappings_ascend_and_have_modules) {
        RecordSample sample = sample_of(sizeof(stack));

        ck_assert_int_eq(take_module("/usr/bin/program", program()), 0);
        ck_assert_int_eq(take_process(mapping_rows[_i].mappings, mapping_rows[_i].n),
                         mapping_rows[_i].r);
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        /* A message that was refused changed nothing. */
        ck_assert_int_eq(take_process(&text, 1), 0);
        ck_assert_int_eq(take_process(mapping_rows[_i].mappings, mapping_rows[_i].n),
                         mapping_rows[_i].r);
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        if (mapping_rows[_i].r != 0)
                ck_assert_str_eq(last_frames(), "start work work ");
}
END_TEST

START_TEST(processes_of_a_wrong_size) {
        const RecordProcess process = { .tgid = TGID };
        char bytes[2 * sizeof(Mapping)] = "";

        for (size_t n = 0; n < sizeof(process); n++)
                ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, n, NULL, 0, -EBADF),
                                 -EBADMSG);
        for (size_t n = 1; n < sizeof(bytes); n++)
                ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), bytes, n,
                                      program()),
                                 -EBADMSG);
}
END_TEST

START_TEST(samples_of_a_wrong_size) {
        RecordSample sample = sample_of(sizeof(stack));

        take_program();
        for (size_t n = 0; n < sizeof(sample); n++)
                ck_assert_int_eq(take(RECORD_MESSAGE_SAMPLE, &sample, n, NULL, 0, -EBADF),
                                 -EBADMSG);
        for (size_t n = 0; n < sizeof(stack); n++)
                ck_assert_int_eq(take_sample(&sample, n), -EBADMSG);
        sample.n_stack_bytes = UINT32_MAX;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), -EBADMSG);
        sample = sample_of(0);
        sample.n_frames = RECORD_MAX_FRAMES + 1;
        ck_assert_int_eq(take_sample(&sample, 0), -EBADMSG);
        sample.n_frames = UINT32_MAX;
        ck_assert_int_eq(take_sample(&sample, 0), -EBADMSG);
        sample.n_frames = RECORD_MAX_FRAMES;
        ck_assert_int_eq(take_sample(&sample, 0), 0);
        sample.place = _RECORD_PLACE_MAX + 1;
        ck_assert_int_eq(take_sample(&sample, 0), -EBADMSG);
}
END_TEST

/* Rows of one name are one, whatever is behind the end of the name. */
START_TEST(lengths_are_added_up) {
        StackLengths row = {
                .key = { .process = "app", .comm = "worker\0was-long", .place = RECORD_PLACE_lock },
                .lengths = { .n = { [3] = 2 }, .ns = { [3] = UINT64_MAX - 5 } },
        };
        const StackTable *table = collector_table(collector);

        ck_assert_int_eq(take(RECORD_MESSAGE_LENGTHS, &row, sizeof(row), NULL, 0, -EBADF), 0);
        memcpy(row.key.comm, "worker\0another-", sizeof(row.key.comm));
        row.lengths.ns[3] = 6;
        ck_assert_int_eq(take(RECORD_MESSAGE_LENGTHS, &row, sizeof(row), NULL, 0, -EBADF), 0);
        row.key.place = RECORD_PLACE_run_queue;
        ck_assert_int_eq(take(RECORD_MESSAGE_LENGTHS, &row, sizeof(row), NULL, 0, -EBADF), 0);
        ck_assert_uint_eq(table->n_lengths, 2);
        ck_assert_uint_eq(table->lengths[0].lengths.n[3], 4);
        ck_assert_uint_eq(table->lengths[0].lengths.ns[3], UINT64_MAX);
        ck_assert_uint_eq(table->lengths[1].lengths.ns[3], 6);
        row.key.place = _RECORD_PLACE_MAX;
        ck_assert_int_eq(take(RECORD_MESSAGE_LENGTHS, &row, sizeof(row), NULL, 0, -EBADF),
                         -EBADMSG);
        row.key.place = 0;
        ck_assert_int_eq(take(RECORD_MESSAGE_LENGTHS, &row, sizeof(row) - 1, NULL, 0, -EBADF),
                         -EBADMSG);
}
END_TEST

/* Of threads that are in the table; others have nothing to divide. */
START_TEST(times_of_sampled_threads) {
        RecordSample sample = sample_of(0);
        SampledTime times[2] = {
                { .start_boottime_ns = 1, .tid = 9999, .tgid = 9999, .ns = { 1 } },
                { .start_boottime_ns = sample.start_boottime_ns,
                  .tid = sample.tid,
                  .tgid = sample.tgid,
                  .ns = { [RECORD_PLACE_lock] = 77 } },
        };
        const StackTable *table = collector_table(collector);

        ck_assert_int_eq(take_sample(&sample, 0), 0);
        ck_assert(table->n_threads == 1 && !table->threads[0].has_times);
        ck_assert_int_eq(take(RECORD_MESSAGE_TIMES, times, sizeof(times), NULL, 0, -EBADF), 0);
        ck_assert_uint_eq(table->n_threads, 1);
        ck_assert(table->threads[0].has_times);
        ck_assert_uint_eq(table->threads[0].ns[RECORD_PLACE_lock], 77);
        ck_assert_int_eq(take(RECORD_MESSAGE_TIMES, times, sizeof(times) - 1, NULL, 0, -EBADF),
                         -EBADMSG);
}
END_TEST

START_TEST(kinds_that_are_not_for_it) {
        ck_assert_int_eq(take(RECORD_MESSAGE_END, NULL, 0, NULL, 0, program()), -EBADMSG);
        ck_assert_int_eq(take(RECORD_MESSAGE_SEEK, NULL, 0, NULL, 0, program()), -EBADMSG);
        ck_assert_int_eq(take(_RECORD_MESSAGE_MAX, NULL, 0, NULL, 0, program()), -EBADMSG);
}
END_TEST

/* More processes than are ready at a time: each still has its stacks. */
START_TEST(many_processes) {
        RecordSample sample = sample_of(sizeof(stack));
        RecordProcess process = { .comm = "program" };

        take_program();
        for (unsigned round = 0; round < 2; round++)
                for (unsigned i = 0; i < 30; i++) {
                        process.tgid = sample.tgid = 1000 + i;
                        if (round == 0)
                                ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process,
                                                      sizeof(process), &text, sizeof(text), -EBADF),
                                                 0);
                        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
                }
        ck_assert_uint_eq(collector_table(collector)->n_stacks, 1);
        ck_assert_str_eq(last_frames(), "start work work ");
        ck_assert_uint_eq(collector_table(collector)->n_threads, 30);
}
END_TEST

/* A process of which nothing is kept is not taken for one that has ended. */
START_TEST(too_many_processes) {
        RecordSample sample = sample_of(sizeof(stack));
        RecordProcess process = { .comm = "program" };

        take_program();
        for (unsigned i = 1; i < 65536; i++) {
                process.tgid = 1000 + i;
                ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), &text,
                                      sizeof(text), -EBADF),
                                 0);
        }
        sample.tgid = (uint32_t) process.tgid;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "start work work ");
        process.tgid = ++sample.tgid;
        ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), &text,
                              sizeof(text), -EBADF),
                         0);
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "[too many processes] ");
        /* One that is known may still change. */
        ck_assert_int_eq(take_process(NULL, 0), 0);
        sample.tgid = TGID;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "[process ended] ");
}
END_TEST

/* 4096 processes have as many as are told of each, and there is no room for another one. */
START_TEST(too_many_mappings) {
        static Mapping mappings[RECORD_MAPPINGS_MAX];
        RecordSample sample = sample_of(sizeof(stack));
        RecordProcess process = { .comm = "program" };

        ck_assert_int_eq(take_module("/usr/bin/program", program()), 0);
        mappings[0] = text;
        for (size_t i = 1; i < RECORD_MAPPINGS_MAX; i++)
                mappings[i] = (Mapping){ BASE + 0x10000 * i, BASE + 0x10000 * i + 1, 0, 0 };
        for (unsigned i = 0; i < 4096; i++) {
                process.tgid = 1000 + i;
                ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), mappings,
                                      sizeof(mappings), -EBADF),
                                 0);
        }
        sample.tgid = (uint32_t) process.tgid;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "start work work ");
        ck_assert_int_eq(take_process(&text, 1), 0);
        sample.tgid = TGID;
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "[too many processes] ");
        /* Until another one has fewer. */
        ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process, sizeof(process), NULL, 0, -EBADF),
                         0);
        ck_assert_int_eq(take_process(&text, 1), 0);
        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
        ck_assert_str_eq(last_frames(), "start work work ");
}
END_TEST

/* In a process that may have as much memory as the job: -errno. */
static int fill_and_find_lines(uint64_t max_held) {
        const struct rlimit limit = { LIMIT_UNWIND_JOB_BYTES, LIMIT_UNWIND_JOB_BYTES };
        RecordSample sample = sample_of(0);
        uint64_t n_lost;
        int r = setrlimit(RLIMIT_DATA, &limit) < 0 ? -errno : 0;

        sample.is_kernel_thread = true;
        sample.queue = sample.running = (RecordPart){ 5, 5 };
        collector_want_lines(collector);
        for (uint32_t i = 0; r == 0 && stack_table_bytes(collector_table(collector)) < max_held;
             i++) {
                sample.tid = 1000 + i / RECORD_MAX_FRAMES;
                sample.n_frames = i % RECORD_MAX_FRAMES;
                r = take_sample(&sample, 0);
        }
        return r == 0 ? collector_find_lines(collector, 0, &n_lost) : r;
}

/* A recording that ends for want of memory has enough for all that follows. */
START_TEST(what_is_held_can_be_added_up_anew) {
        pid_t child;
        int status;

        if (check_skips(check_lacks_bound_of_memory()))
                return;
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
                _exit(fill_and_find_lines(LIMIT_UNWOUND_FOR_LINES_BYTES) == 0 ? 0 : 3);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("collector");
        TCase *tcase = tcase_create("collector");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, a_stack_becomes_names);
        tcase_add_test(tcase, callers_become_names);
        tcase_add_test(tcase, frames_are_found_by_their_table);
        tcase_add_loop_test(tcase, first_functions_of_threads, 0, 2);
        tcase_add_test(tcase, each_part_of_an_interval_has_its_place);
        tcase_add_test(tcase, samples_without_a_stack_say_why);
        tcase_add_test(tcase, a_sample_without_a_part_is_a_thread);
        tcase_add_test(tcase, the_kernel_has_names);
        tcase_add_loop_test(tcase, wakers_are_threads_or_interrupts, 0, ELEMENTSOF(wakers));
        tcase_add_loop_test(tcase, holders_of_locks, 0, ELEMENTSOF(holders));
        tcase_add_test(tcase, holders_behind_others);
        tcase_add_test(tcase, wakers_that_are_not_there);
        tcase_add_test(tcase, files_that_cannot_be_read);
        tcase_add_test(tcase, symbols_of_a_debug_file);
        tcase_add_loop_test(tcase, debug_files_are_asked_for, 0, ELEMENTSOF(sought_rows));
        tcase_add_loop_test(tcase, it_says_that_it_is_full, 0, ELEMENTSOF(full_rows));
        tcase_add_loop_test(tcase, processes_make_it_full, 0, 2);
        tcase_add_test(tcase, code_made_at_run_time);
        tcase_add_loop_test(tcase, one_map_too_many, 0, 2);
        tcase_add_test(tcase, code_without_end);
        tcase_add_test(tcase, code_of_the_kernel_in_each_process);
        tcase_add_test(tcase, a_file_has_the_path_that_was_told);
        tcase_add_loop_test(tcase, a_socket_has_an_other_side, 0, ELEMENTSOF(socket_rows));
        tcase_add_loop_test(tcase, a_futex_has_a_variable_or_a_mapping, 0, ELEMENTSOF(futex_rows));
        tcase_add_test(tcase, a_futex_of_a_process_that_is_gone);
        tcase_add_test(tcase, modules_of_no_sense);
        tcase_add_loop_test(tcase, mappings_ascend_and_have_modules, 0, ELEMENTSOF(mapping_rows));
        tcase_add_test(tcase, processes_of_a_wrong_size);
        tcase_add_test(tcase, samples_of_a_wrong_size);
        tcase_add_test(tcase, lengths_are_added_up);
        tcase_add_test(tcase, times_of_sampled_threads);
        tcase_add_test(tcase, kinds_that_are_not_for_it);
        tcase_add_test(tcase, many_processes);
        tcase_add_test(tcase, too_many_processes);
        tcase_add_test(tcase, too_many_mappings);
        tcase_add_test(tcase, what_is_held_can_be_added_up_anew);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
