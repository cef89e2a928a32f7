/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an iterator of the kernel writes: 'r' is the bytes themselves; anything else begins a list
 * of records whose lengths are made right, so that their numbers can be anything. Each record is
 * found once, in order, with all of its parts inside of what was read, and every number can be
 * turned into what users see.
 *
 * Aims at: daemon/kernel/bpf/task-table.c, daemon/kernel/bpf/task-value.c
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "kernel/bpf/task-table.h"
#include "kernel/bpf/task-value.h"

#define MAX_AFFINITY_WORDS 4

/* What of @n bytes the input has; the rest is 0. */
static void append_filled(Buffer *records, FuzzInput *input, size_t n) {
        Span given = fuzz_take(input, n);
        char *room;

        fuzz_expect(buffer_reserve(records, n, &room) == 0, "there is memory");
        memset(room, 0, n);
        if (given.n > 0)
                memcpy(room, given.bytes, given.n);
        records->n += n;
}

static void append_record(Buffer *records, FuzzInput *input) {
        static const size_t sizes[] = { sizeof(TaskMemory),     sizeof(TaskDelays),
                                        sizeof(TaskSchedstats), sizeof(TaskWaits),
                                        sizeof(TaskReasons),    sizeof(TaskMark) };
        unsigned parts = fuzz_take_u8(input) & TASK_PARTS;
        size_t n = 8u * (fuzz_take_u8(input) % (MAX_AFFINITY_WORDS + 1)), at = records->n;
        TaskRecord *record;

        if (!(parts & TASK_PART_AFFINITY))
                n = 0;
        n += sizeof(TaskRecord);
        for (unsigned i = 0; i < ELEMENTSOF(sizes); i++)
                if (parts & (unsigned) TASK_PART_MEMORY << i)
                        n += sizes[i];
        append_filled(records, input, n);
        record = (TaskRecord *) (void *) (records->bytes + at);
        record->n_bytes = (unsigned) n;
        record->parts = parts;
        record->tid = record->tid % 0x7fffffff + 1;
        record->tgid = record->tgid % 0x7fffffff + 1;
}

/* The parts lie behind their record in the order of their bits, and fill it. */
static void check_parts(const Task *task) {
        const TaskRecord *record = task->record;
        const char *at = (const char *) (record + 1);

        fuzz_expect(!task->affinity == (task->n_affinity_words == 0), "a mask has words");
        if (task->affinity) {
                fuzz_expect((const char *) task->affinity == at, "the mask comes first");
                at += 8 * task->n_affinity_words;
        }
        fuzz_expect(!task->memory == !(record->parts & TASK_PART_MEMORY), "memory is told");
        if (task->memory) {
                fuzz_expect((const char *) task->memory == at, "memory follows");
                at += sizeof(*task->memory);
        }
        fuzz_expect(!task->delays == !(record->parts & TASK_PART_DELAYS), "delays are told");
        if (task->delays) {
                fuzz_expect((const char *) task->delays == at, "delays follow");
                at += sizeof(*task->delays);
        }
        fuzz_expect(!task->schedstats == !(record->parts & TASK_PART_SCHEDSTATS),
                    "schedstats are told");
        if (task->schedstats) {
                fuzz_expect((const char *) task->schedstats == at, "schedstats follow");
                at += sizeof(*task->schedstats);
        }
        fuzz_expect(!task->waits == !(record->parts & TASK_PART_WAITS), "waits are told");
        if (task->waits) {
                fuzz_expect((const char *) task->waits == at, "waits follow");
                at += sizeof(*task->waits);
        }
        fuzz_expect(!task->reasons == !(record->parts & TASK_PART_REASONS), "reasons are told");
        if (task->reasons) {
                fuzz_expect((const char *) task->reasons == at, "reasons follow");
                at += sizeof(*task->reasons);
        }
        fuzz_expect(!task->mark == !(record->parts & TASK_PART_MARK), "a mark is told");
        if (task->mark) {
                fuzz_expect((const char *) task->mark == at, "the mark follows");
                at += sizeof(*task->mark);
        }
        fuzz_expect(at == (const char *) record + record->n_bytes, "the parts fill the record");
}

static void check_values(const Task *task) {
        const TaskRecord *record = task->record;
        uint64_t user_ns, system_ns;

        fuzz_expect(strchr("RSDTtXZPI", task_state(record)) != NULL && task_state(record) != '\0',
                    "a state has a letter");
        task_cpu_times(record, &user_ns, &system_ns);
        if (record->has & TASK_HAS_PREV_TIMES)
                fuzz_expect(user_ns >= record->prev_user_ns && system_ns >= record->prev_system_ns,
                            "no CPU time falls");
        if (task->memory) {
                (void) task_library_code(task->memory, 4096);
                (void) task_device(task->memory->exe_dev);
                (void) task_resident(task->memory);
        }
}

static void check_table(const TaskTable *table, size_t n_bytes) {
        uint64_t last = 0, n_found = 0;

        for (size_t i = 0; i < task_table_count(table); i++) {
                Task task = task_table_get(table, i);
                uint64_t key = (uint64_t) task.record->tgid << 32 | task.record->tid;

                fuzz_expect(key >= last, "threads come in order");
                last = key;
                n_found += task.record->n_bytes;
                check_parts(&task);
                check_values(&task);
        }
        fuzz_expect(n_found == n_bytes, "each byte belongs to a record");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(task_table_freep) TaskTable *table = NULL;
        _cleanup_(buffer_done) Buffer records = {};
        FuzzInput input = fuzz_input(data, size);
        bool is_raw = fuzz_take_u8(&input) == 'r';
        size_t n;
        int r;

        if (is_raw) {
                Span rest = fuzz_take_rest(&input);

                fuzz_expect(buffer_append(&records, rest.bytes, rest.n) == 0, "there is memory");
        } else {
                while (input.n > 0)
                        append_record(&records, &input);
        }
        n = records.n;
        r = task_table_parse(&records, &table);
        fuzz_expect(r == 0 || (is_raw && r == -EBADMSG), "records that fit are taken: %d", r);
        if (r == 0)
                check_table(table, n);
        return 0;
}
