/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/rollup.h"

#include <errno.h>

#include "capture/scene/process-memory.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"

#define SMAPS_LEAST_NS (100 * NSEC_PER_MSEC) /* however little is left of the budget */

/* reading, on a thread that can be left behind */

typedef struct RollupFile {
        int dir_fd; /* of the thread; borrowed */
        int result; /* of procfs_read() */
        size_t n;
        char text[PROCFS_BUFFER_BYTES];
} RollupFile;

static void read_file(void *memory) {
        RollupFile *file = memory;

        file->result =
                procfs_read(file->dir_fd, "smaps_rollup", file->text, sizeof(file->text), &file->n);
}

static const PatientWork rollup_work = { .n_bytes = sizeof(RollupFile), .run = read_file };

/* the step */

void rollup_init(Rollup *rollup, RollupBudget *budget) {
        *rollup = (Rollup){ .budget = budget };
}

void rollup_done(Rollup *rollup) {
        rollup->thread = patient_thread_free(rollup->thread);
}

/*
 * Waits for the file as long as the budget lasts, at least SMAPS_LEAST_NS. A file that does not
 * arrive in time uses up all of the budget. *ret is borrowed until the next call.
 */
static int ask(Rollup *rollup, const CaptureSystem *system, int dir_fd, Span *ret) {
        RollupBudget *budget = rollup->budget;
        uint64_t begin_ns, spent_ns = atomic_load(&budget->spent_ns);
        RollupFile *file;
        int r = 0;

        if (spent_ns >= budget->limit_ns)
                return -ETIMEDOUT;
        if (!rollup->thread)
                r = patient_thread_new(&rollup_work, &rollup->thread);
        if (r < 0)
                return r;
        begin_ns = system->now_ns(system->userdata);
        file = patient_thread_memory(rollup->thread);
        file->dir_fd = dir_fd;
        r = patient_thread_run(rollup->thread, MAX_OF(budget->limit_ns - spent_ns, SMAPS_LEAST_NS));
        atomic_fetch_add(&budget->spent_ns, system->now_ns(system->userdata) - begin_ns);
        if (r == -ETIMEDOUT) {
                atomic_fetch_add(&budget->spent_ns, budget->limit_ns);
                rollup->thread = patient_thread_free(rollup->thread);
                return r;
        }
        *ret = (Span){ file->text, file->n };
        return file->result;
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
        proc_smaps_write_json(&json, &smaps);
        r = json_writer_finish(&json);
        if (r < 0) {
                scene->error = r;
                return (TextPlace){};
        }
        return (TextPlace){ .at = at, .n = scene->texts.n - at, .is_set = true };
}

/* The process is not read because of its size, which is noted. */
static bool is_too_large(const Rollup *rollup, Scene *scene, const BatchProcess *process) {
        const RollupBudget *budget = rollup->budget;
        uint64_t bytes;

        if (budget->mode != SMAPS_MODE_SMALL ||
            !thread_sample_memory(&scene_find_leader(scene, process)->sample, &bytes) ||
            bytes <= budget->largest.max_bytes)
                return false;
        scene->tally.n_smaps_large++;
        scene->tally.smaps_largest_bytes = MAX_OF(scene->tally.smaps_largest_bytes, bytes);
        return true;
}

TextPlace rollup_read(Rollup *rollup, Scene *scene, const BatchProcess *process) {
        ThreadSlot *slot = process_memory_find(scene, process);
        SourceOutcome outcome;
        Span text;
        int r;

        if (rollup->budget->mode == SMAPS_MODE_NONE || !slot)
                return (TextPlace){};
        if (!scene->host->gates.has_file[SOURCE_SMAPS_ROLLUP])
                outcome = SOURCE_OUTCOME_unsupported;
        else if (is_too_large(rollup, scene, process))
                outcome = SOURCE_OUTCOME_other;
        else if (rollup->budget->mode == SMAPS_MODE_SMALL &&
                 !largest_has(&rollup->budget->largest, process->tgid)) {
                scene_find_leader(scene, process)->sample.smaps_unasked = true;
                return (TextPlace){};
        } else {
                r = scene_open_thread(scene, process, slot);
                if (r == 0)
                        r = ask(rollup, scene->host->system, slot->fd, &text);
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
