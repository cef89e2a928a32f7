/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "record/collector.h"
#include "small-elf.h"

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

START_TEST(kinds_that_are_not_for_it) {
        ck_assert_int_eq(take(RECORD_MESSAGE_END, NULL, 0, NULL, 0, program()), -EBADMSG);
        ck_assert_int_eq(take(_RECORD_MESSAGE_MAX, NULL, 0, NULL, 0, program()), -EBADMSG);
}
END_TEST

/* More processes than are ready at a time: each still has its stacks. */
START_TEST(many_processes) {
        RecordSample sample = sample_of(sizeof(stack));
        RecordProcess process = { .comm = "program" };

        take_program();
        for (unsigned round = 0; round < 2; round++)
                for (unsigned i = 0; i < 100; i++) {
                        process.tgid = sample.tgid = 1000 + i;
                        if (round == 0)
                                ck_assert_int_eq(take(RECORD_MESSAGE_PROCESS, &process,
                                                      sizeof(process), &text, sizeof(text), -EBADF),
                                                 0);
                        ck_assert_int_eq(take_sample(&sample, sizeof(stack)), 0);
                }
        ck_assert_uint_eq(collector_table(collector)->n_stacks, 1);
        ck_assert_str_eq(last_frames(), "start work work ");
        ck_assert_uint_eq(collector_table(collector)->n_threads, 100);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("collector");
        TCase *tcase = tcase_create("collector");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, a_stack_becomes_names);
        tcase_add_test(tcase, each_part_of_an_interval_has_its_place);
        tcase_add_test(tcase, samples_without_a_stack_say_why);
        tcase_add_test(tcase, a_sample_without_a_part_is_a_thread);
        tcase_add_test(tcase, the_kernel_has_names);
        tcase_add_test(tcase, files_that_cannot_be_read);
        tcase_add_test(tcase, modules_of_no_sense);
        tcase_add_loop_test(tcase, mappings_ascend_and_have_modules, 0, ELEMENTSOF(mapping_rows));
        tcase_add_test(tcase, processes_of_a_wrong_size);
        tcase_add_test(tcase, samples_of_a_wrong_size);
        tcase_add_test(tcase, kinds_that_are_not_for_it);
        tcase_add_test(tcase, many_processes);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
