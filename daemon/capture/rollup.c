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
        r = scene_read_patiently(scene, slot, "smaps_rollup",
                                 MAX_OF((budget->limit_ns - spent_ns) / 2, PATIENT_FILE_LEAST_NS),
                                 ret);
        atomic_fetch_add(&budget->spent_ns, system->now_ns(system->userdata) - begin_ns);
        return r;
}

/* The rollup in @text as JSON. */
static TextPlace add_rollup(Scene *scene, Span text) {
        size_t at = scene->texts.n;
        ProcSmaps smaps;
        JsonWriter json;
        int r;

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

/* The process is not read because of its size, which is noted. */
static bool is_too_large(const RollupBudget *budget, Scene *scene, const BatchProcess *process) {
        uint64_t bytes;

        if (budget->mode != SMAPS_MODE_SMALL ||
            !thread_sample_memory(&scene_find_leader(scene, process)->sample, &bytes) ||
            bytes <= budget->largest.max_bytes)
                return false;
        scene->tally.n_smaps_large++;
        scene->tally.smaps_largest_bytes = MAX_OF(scene->tally.smaps_largest_bytes, bytes);
        return true;
}

TextPlace rollup_read(RollupBudget *budget, Scene *scene, const BatchProcess *process) {
        ThreadSlot *slot = process_memory_find(scene, process);
        SourceOutcome outcome;
        Span text;
        int r;

        if (budget->mode == SMAPS_MODE_NONE || !slot)
                return (TextPlace){};
        if (!scene->host->gates.has_file[SOURCE_SMAPS_ROLLUP])
                outcome = SOURCE_OUTCOME_unsupported;
        else if (is_too_large(budget, scene, process))
                outcome = SOURCE_OUTCOME_other;
        else if (budget->mode == SMAPS_MODE_SMALL &&
                 !largest_has(&budget->largest, process->tgid)) {
                scene_find_leader(scene, process)->sample.smaps_unasked = true;
                return (TextPlace){};
        } else {
                r = scene_open_thread(scene, process, slot);
                if (r == 0)
                        r = ask(budget, scene, slot, &text);
                if (r == 0)
                        return add_rollup(scene, text);
                outcome = text_file_outcome(r);
                /* It is exiting and has given up its memory, but its rows were whole before. */
                if (r == PROCFS_E_ABSENT)
                        outcome = SOURCE_OUTCOME_vanished;
                scene->tally.n_smaps_skipped += r == -ETIMEDOUT;
        }
        tally_add(&scene->tally, SOURCE_SMAPS_ROLLUP, outcome);
        return (TextPlace){};
}
