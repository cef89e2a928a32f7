/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-reason.h"

#include <stdio.h>

static const struct {
        SourceId source;
        const char *not_there; /* what the row is about */
        const char *no_value;
} section_words[_SECTION_MAX] = {
        [SECTION_SMAPS_ROLLUP] = { SOURCE_SMAPS_ROLLUP,
                                   "no process of this name has readable memory maps",
                                   "this kernel has no such line" },
        [SECTION_CGROUP_STATS] = { SOURCE_CGROUP_STATS, "there is no such cgroup",
                                   "this cgroup has no such file" },
        [SECTION_CGROUP_LIMITS] = { SOURCE_CGROUP_STATS, "there is no such cgroup",
                                    "this cgroup has no such file" },
        [SECTION_MEMORY_STAT] = { SOURCE_CGROUP_STATS, "there is no such cgroup",
                                  "this cgroup has no such line" },
        [SECTION_MEMORY_EVENTS] = { SOURCE_CGROUP_STATS, "there is no such cgroup",
                                    "this cgroup has no such line" },
        [SECTION_PRESSURE] = { SOURCE_CGROUP_PRESSURE, "there is no such cgroup",
                               "this cgroup has no such file" },
        [SECTION_HOST_PRESSURE] = { SOURCE_HOST_PRESSURE, "this kernel keeps no pressure",
                                    "this kernel has no such file" },
        [SECTION_SCHED_EXT] = { SOURCE_SCHED_EXT, "this kernel has no sched_ext",
                                "this kernel has no such file, or there is no scheduler" },
};

/*
 * A source that is not there at all explains everything; one that was read in part cannot take the
 * blame for a cgroup that may be gone.
 */
static void explain(const Sections *sections, unsigned side, SectionId id, bool there,
                    char ret_text[static SECTION_REASON_BYTES / 2]) {
        const SourceTable *table = sections->sources[side];
        const Source *source = table ? &table->sources[section_words[id].source] : NULL;
        const char *words = there ? section_words[id].no_value : section_words[id].not_there;

        if (!source) {
                words = there ? "not recorded by this file" : words;
        } else if (source->state != SOURCE_STATE_OK && source->state != SOURCE_STATE_PARTIAL) {
                words = source->reason[0] != '\0' ? source->reason
                                                  : source_state_name(source->state);
        } else if (source->state == SOURCE_STATE_PARTIAL && source->reason[0] != '\0') {
                (void) snprintf(ret_text, SECTION_REASON_BYTES / 2, "%s, or was not readable: %s",
                                words, source->reason);
                return;
        }
        (void) snprintf(ret_text, SECTION_REASON_BYTES / 2, "%s", words);
}

void section_reason_write(const Sections *sections, JsonWriter *writer, SectionId id,
                          const SectionGap gaps[static SECTION_SIDES]) {
        static const char *const prefixes[] = { "before: ", "after: " };
        char text[SECTION_REASON_BYTES + 32] = "", one[SECTION_REASON_BYTES / 2] = "";
        size_t n = 0;

        for (unsigned side = 0; side < sections->n_sides; side++) {
                if (!gaps[side].absent)
                        continue;
                explain(sections, side, id, gaps[side].there, one);
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s%s", n > 0 ? "; " : "",
                                       sections->n_sides > 1 ? prefixes[side] : "", one);
        }
        if (n > 0)
                json_write_member_text(writer, "reason", text);
}
