/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/rollup.h"

#include <errno.h>

#include "capture/batch/process-memory.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"

TextPlace rollup_read(RollupBudget *budget, Readings *readings, const BatchProcess *process) {
        const CaptureSystem *system = readings->host->system;
        ThreadSlot *slot = process_memory_find(readings, process);
        size_t at = readings->texts.n;
        ProcSmaps smaps;
        JsonWriter json;
        Span text;
        int r;

        if (budget->mode == SMAPS_MODE_NONE || !slot)
                return (TextPlace){};
        if (!readings->host->gates.has_file[SOURCE_SMAPS_ROLLUP]) {
                readings->tally.counts[SOURCE_SMAPS_ROLLUP][SOURCE_OUTCOME_unsupported]++;
                return (TextPlace){};
        }
        if (budget->mode == SMAPS_MODE_SMALL) {
                ThreadSample *leader = &process->leader->sample;
                Tally *tally = &readings->tally;
                uint64_t bytes;

                if (thread_sample_memory(leader, &bytes) && bytes > budget->largest.max_bytes) {
                        tally->n_smaps_large++;
                        tally->smaps_largest_bytes = MAX_OF(tally->smaps_largest_bytes, bytes);
                        tally->counts[SOURCE_SMAPS_ROLLUP][SOURCE_OUTCOME_other]++;
                        return (TextPlace){};
                }
                if (!largest_has(&budget->largest, process->tgid)) {
                        leader->smaps_unasked = true;
                        return (TextPlace){};
                }
        }
        r = readings_open_thread(readings, process, slot);
        if (r == 0) {
                const BlockingQuestion file = { .owner = slot->owner,
                                                .dir_fd = slot->fd,
                                                .name = "smaps_rollup" };
                uint64_t begin_ns, left_ns, spent_ns = atomic_load(&budget->spent_ns);

                r = -ETIMEDOUT;
                if (spent_ns < budget->limit_ns) {
                        /* Half of it is for this file, but as much as for everybody. */
                        left_ns = budget->limit_ns - spent_ns;
                        begin_ns = system->now_ns(system->userdata);
                        r = blocking_file_read(&readings->blocking, &file,
                                               MAX_OF(left_ns / 2, BLOCKING_FILE_LEAST_NS), NULL,
                                               &text);
                        atomic_fetch_add(&budget->spent_ns,
                                         system->now_ns(system->userdata) - begin_ns);
                }
        }
        if (r != 0) {
                SourceOutcome outcome = text_file_outcome(r);

                readings->tally.n_smaps_skipped += r == -ETIMEDOUT;
                /* One that is exiting has given up its memory, but its rows were whole before. */
                if (r == TEXT_E_ABSENT)
                        outcome = SOURCE_OUTCOME_vanished;
                readings->tally.counts[SOURCE_SMAPS_ROLLUP][outcome]++;
                return (TextPlace){};
        }
        r = proc_smaps_parse(text, &smaps);
        readings->tally.counts[SOURCE_SMAPS_ROLLUP][text_file_outcome(r)]++;
        json_writer_init(&json, &readings->texts);
        number_map_write_json(&json, &smaps);
        r = json_writer_finish(&json);
        if (r < 0) {
                readings->error = r;
                return (TextPlace){};
        }
        return (TextPlace){ .at = at, .n = readings->texts.n - at, .is_set = true };
}
