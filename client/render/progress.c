/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "render/when.h"

#define PATIENCE_NS (NSEC_PER_SEC / 5)
#define REDRAW_NS (NSEC_PER_SEC / 10)
#define BAR_MAX_CHARS 30

/* Words for the phases of the interface; any other phase is "Working". */
static const struct {
        const char *phase, *words;
} phase_words[] = {
        { "threads", "Reading threads" }, { "cgroups", "Reading cgroups" },
        { "writing", "Writing" },         { "reading", "Reading snapshots" },
        { "waiting", "Waiting" },         { "working", "Working" },
        { "recording", "Recording" },
};

void progress_format(const char *phase, uint64_t done, bool has_total, uint64_t total,
                     const char *more, size_t columns, char ret_line[static PROGRESS_LINE_BYTES]) {
        char counts[2 * WHEN_CHARS + 8], so_far[WHEN_CHARS], in_all[WHEN_CHARS],
                bar[BAR_MAX_CHARS + 1] = "";
        const char *words = "Working";
        size_t n_bar, n_filled;
        bool is_time;

        for (size_t i = 0; i < ELEMENTSOF(phase_words); i++)
                if (strcmp(phase_words[i].phase, phase) == 0)
                        words = phase_words[i].words;
        /* It is a time then, and not a count. */
        is_time = strcmp(phase, "recording") == 0;
        if (!has_total || total == 0) {
                if (is_time)
                        when_format_span(done, WHEN_ROUGH, counts);
                else
                        (void) snprintf(counts, sizeof(counts), "%llu", (unsigned long long) done);
                (void) snprintf(ret_line, PROGRESS_LINE_BYTES, "%s %s%s", words, counts, more);
                return;
        }
        /* New threads can appear during the count. */
        total = MAX_OF(total, done);
        if (is_time) {
                when_format_span(done, WHEN_ROUGH, so_far);
                when_format_span(total, WHEN_ROUGH, in_all);
                (void) snprintf(counts, sizeof(counts), "%s of %s", so_far, in_all);
        } else {
                (void) snprintf(counts, sizeof(counts), "%llu/%llu", (unsigned long long) done,
                                (unsigned long long) total);
        }
        n_bar = strlen(words) + strlen(counts) + strlen(more) + 4;
        n_bar = columns > n_bar ? MIN_OF(columns - n_bar, (size_t) BAR_MAX_CHARS) : 0;
        n_filled = (size_t) ((double) n_bar * ((double) done / (double) total));
        memset(bar, '.', n_bar);
        memset(bar, '#', MIN_OF(n_filled, n_bar));
        (void) snprintf(ret_line, PROGRESS_LINE_BYTES, "%s [%s] %s%s", words, bar, counts, more);
}

/* ", 208 threads, 1379 samples, 3 lost": what there is of it. */
static void format_counts(json_object *object, char more[static PROGRESS_MORE_BYTES]) {
        static const struct {
                const char *member, *one, *many;
                bool tells_zero;
        } counts[] = {
                { "threads", "thread", "threads", true },
                { "samples", "sample", "samples", true },
                { "lost", "lost", "lost", false },
        };
        size_t n = 0;

        more[0] = '\0';
        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                json_object *count;
                unsigned long long number;

                if (!json_object_object_get_ex(object, counts[i].member, &count))
                        continue;
                number = json_object_get_uint64(count);
                if (number > 0 || counts[i].tells_zero)
                        n += (size_t) snprintf(more + n, PROGRESS_MORE_BYTES - n, ", %llu %s",
                                               number,
                                               number == 1 ? counts[i].one : counts[i].many);
        }
}

void progress_update(Progress *progress, json_object *object, uint64_t now_mono_ns) {
        char line[PROGRESS_LINE_BYTES], more[PROGRESS_MORE_BYTES];
        json_object *phase, *done, *total;

        if (!progress->enabled || !json_object_object_get_ex(object, "phase", &phase) ||
            !json_object_is_type(phase, json_type_string) ||
            !json_object_object_get_ex(object, "done", &done))
                return;
        /* The job says nothing, and the daemon that it works: what was said last stands. */
        if (progress->drawn && strcmp(json_object_get_string(phase), "working") == 0)
                return;
        if (!progress->begun) {
                progress->begun = true;
                progress->begun_mono_ns = now_mono_ns;
        }
        if (now_mono_ns - progress->begun_mono_ns < PATIENCE_NS ||
            (progress->drawn && now_mono_ns - progress->drawn_mono_ns < REDRAW_NS))
                return;
        if (!json_object_object_get_ex(object, "total", &total))
                total = NULL;
        format_counts(object, more);
        progress_format(json_object_get_string(phase), json_object_get_uint64(done), total != NULL,
                        json_object_get_uint64(total), more, progress->columns, line);
        (void) fprintf(stderr, "\r\033[K%.*s", (int) (progress->columns - 1), line);
        (void) fflush(stderr);
        progress->drawn = true;
        progress->drawn_mono_ns = now_mono_ns;
}

void progress_clear(Progress *progress) {
        progress->begun = false;
        if (!progress->drawn)
                return;
        (void) fputs("\r\033[K", stderr);
        (void) fflush(stderr);
        progress->drawn = false;
}
