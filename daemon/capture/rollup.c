/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/rollup.h"

#include <errno.h>

#include "capture/scene/process-memory.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"

/*
 * Waits for the file for half of what is left of the budget, or for as long as everybody is waited
 * for. *ret is borrowed until the next patient reading of the scene.
 */
static int ask(RollupBudget *budget, Scene *scene, const ThreadSlot *slot, Span *ret) {
        const CaptureSystem *system = scene->host->system;
        uint64_t begin_ns, spent_ns = atomic_load(&budget->spent_ns);
        int r;

        if (spent_ns >= budget->limit_ns)
                return -ETIMEDOUT;
        begin_ns = system->now_ns(system->userdata);
        r = scene_read_blocking(scene, slot, "smaps_rollup",
                                MAX_OF((budget->limit_ns - spent_ns) / 2, BLOCKING_FILE_LEAST_NS),
                                ret);
        atomic_fetch_add(&budget->spent_ns, system->now_ns(system->userdata) - begin_ns);
        return r;
}

TextPlace rollup_read(RollupBudget *budget, Scene *scene, const BatchProcess *process) {
        ThreadSlot *slot = process_memory_find(scene, process);
        size_t at = scene->texts.n;
        ProcSmaps smaps;
        JsonWriter json;
        Span text;
        int r;

        if (budget->mode == SMAPS_MODE_NONE || !slot)
                return (TextPlace){};
        if (!scene->host->gates.has_file[SOURCE_SMAPS_ROLLUP]) {
                tally_add(&scene->tally, SOURCE_SMAPS_ROLLUP, SOURCE_OUTCOME_unsupported);
                return (TextPlace){};
        }
        if (budget->mode == SMAPS_MODE_SMALL) {
                ThreadSample *leader = &scene_find_leader(scene, process)->sample;
                Tally *tally = &scene->tally;
                uint64_t bytes;

                if (thread_sample_memory(leader, &bytes) && bytes > budget->largest.max_bytes) {
                        tally->n_smaps_large++;
                        tally->smaps_largest_bytes = MAX_OF(tally->smaps_largest_bytes, bytes);
                        tally_add(tally, SOURCE_SMAPS_ROLLUP, SOURCE_OUTCOME_other);
                        return (TextPlace){};
                }
                if (!largest_has(&budget->largest, process->tgid)) {
                        leader->smaps_unasked = true;
                        return (TextPlace){};
                }
        }
        r = scene_open_thread(scene, process, slot);
        if (r == 0)
                r = ask(budget, scene, slot, &text);
        if (r != 0) {
                scene->tally.n_smaps_skipped += r == -ETIMEDOUT;
                /* One that is exiting has given up its memory, but its rows were whole before. */
                tally_add(&scene->tally, SOURCE_SMAPS_ROLLUP,
                          r == PROCFS_E_ABSENT ? SOURCE_OUTCOME_vanished : text_file_outcome(r));
                return (TextPlace){};
        }
        r = proc_smaps_parse(text, &smaps);
        tally_add(&scene->tally, SOURCE_SMAPS_ROLLUP, text_file_outcome(r));
        json_writer_init(&json, &scene->texts);
        number_map_write_json(&json, &smaps);
        r = json_writer_finish(&json);
        if (r < 0) {
                scene->error = r;
                return (TextPlace){};
        }
        return (TextPlace){ .at = at, .n = scene->texts.n - at, .is_set = true };
}
