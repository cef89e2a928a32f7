/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-json.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/section/section-choice.h"

/* reasons */

#define NO_SUCH_NUMBER "this kernel does not tell it"

static const struct {
        SourceId source;
        const char *not_there; /* when the cgroup or process is not on that side */
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
        [SECTION_HOST_CPU] = { SOURCE_HOST_CPU, "this CPU was not online", NO_SUCH_NUMBER },
        [SECTION_HOST_MEMORY] = { SOURCE_HOST_MEMORY, NO_SUCH_NUMBER, NO_SUCH_NUMBER },
        [SECTION_HOST_DISK] = { SOURCE_HOST_DISK, "there is no such disk", NO_SUCH_NUMBER },
        [SECTION_HOST_NETWORK] = { SOURCE_HOST_NETWORK, "there is no such interface",
                                   NO_SUCH_NUMBER },
        [SECTION_SCHED_EXT] = { SOURCE_SCHED_EXT, "this kernel has no sched_ext",
                                "this kernel has no such file, or there is no scheduler" },
};

/*
 * A source that is not available explains every absent value. A source that was read in part does
 * not, because the cgroup may have vanished.
 */
void section_reason_write(const Sections *sections, JsonWriter *writer, SectionId id,
                          const SectionGap gaps[static SECTION_SIDES]) {
        static const char *const prefixes[] = { "before: ", "after: " };
        char text[SECTION_REASON_BYTES + 32] = "";
        size_t n = 0;

        for (unsigned side = 0; side < SECTION_SIDES && side < sections->n_sides; side++) {
                const SectionGap *gap = &gaps[side];
                const SourceTable *table = sections->sources[side];
                const Source *source = table ? &table->sources[section_words[id].source] : NULL;
                const char *words =
                        gap->there ? section_words[id].no_value : section_words[id].not_there;
                const char *partly = "";

                if (!gap->absent)
                        continue;
                if (gap->words)
                        words = gap->words;
                else if (!source && gap->there)
                        words = "not recorded by this file";
                else if (source && source->state == SOURCE_STATE_PARTIAL)
                        partly = source->reason;
                else if (source && source->state != SOURCE_STATE_OK)
                        words = source->reason[0] != '\0' ? source->reason
                                                          : source_state_names[source->state];
                n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s%s%s%s", n > 0 ? "; " : "",
                                       sections->n_sides > 1 ? prefixes[side] : "", words,
                                       partly[0] != '\0' ? ", or was not readable: " : "", partly);
        }
        if (n > 0)
                json_write_member_text(writer, "reason", text);
}

/* rows */

/* Writes the next row of a section; false when there is none. */
typedef bool (*RowWrite)(const Sections *sections, SectionCursor *cursor, JsonWriter *writer);

/* The view's limit leaves it out. */
static bool is_cut(const Sections *sections, SectionId id, size_t i) {
        return sections->cut[id] && sections->cut[id][i];
}

static void note_gaps(SectionGap gaps[static SECTION_SIDES],
                      const Reading sides[static SECTION_SIDES]) {
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                gaps[side].absent |= sides[side].state == READING_ABSENT;
}

/* cgroups */

static void write_cpus_sides(JsonWriter *writer, unsigned n_sides, const CgroupEntry *entry) {
        Reading sides[SECTION_SIDES] = {};

        for (unsigned side = 0; side < MIN_OF(n_sides, (unsigned) SECTION_SIDES); side++)
                if (entry->sides[side])
                        sides[side] =
                                cgroup_cpus(entry->sides[side]->fields[CGROUP_FIELD_MAX_QUOTA_US],
                                            entry->sides[side]->fields[CGROUP_FIELD_MAX_PERIOD_US]);
        if (n_sides == 1)
                cgroup_cpus_write(writer, sides[0]);
        else
                reading_write_change(writer, sides, reading_delta(sides[0], sides[1]),
                                     cgroup_cpus_write);
}

/* The fields of @section, object by object as in the document. */
static void write_fields(const Sections *sections, JsonWriter *writer, KeyNode *node, SectionId id,
                         CgroupFieldSection section) {
        const CgroupEntry *entry = cgroup_entry(node);
        SectionGap gaps[] = { { .there = entry->sides[0] }, { .there = entry->sides[1] } };
        const char *object = NULL;

        json_write_object(writer);
        json_write_member_name(writer, "cgroup", node->key);
        for (CgroupField field = 0; field < _CGROUP_FIELD_MAX; field++) {
                const CgroupFieldRow *row = &cgroup_field_table[field];
                Reading sides[SECTION_SIDES];

                if (row->section != section)
                        continue;
                if (!object || strcmp(row->object, object) != 0) {
                        if (object)
                                json_write_end(writer);
                        object = row->object;
                        json_write_key(writer, object);
                        json_write_object(writer);
                }
                cgroup_field_sides(entry, field, sides);
                note_gaps(gaps, sides);
                json_write_key(writer, row->member);
                reading_write_sides(writer, sections->n_sides, sides);
                if (field == CGROUP_FIELD_MAX_PERIOD_US) {
                        json_write_key(writer, "cpus");
                        write_cpus_sides(writer, sections->n_sides, entry);
                }
        }
        json_write_end(writer);
        section_reason_write(sections, writer, id, gaps);
        json_write_end(writer);
}

/* The next cgroup of its statistics or of its limits, whichever section the cursor is in. */
static bool write_next_fields(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        SectionId id = cursor->section;
        CgroupFieldSection section =
                id == SECTION_CGROUP_LIMITS ? CGROUP_FIELD_LIMITS : CGROUP_FIELD_STATS;

        while (cursor->item < sections->n_cgroups) {
                KeyNode *node = sections->cgroup_list[cursor->item];

                if (is_cut(sections, id, cursor->item++))
                        continue;
                if (section == CGROUP_FIELD_LIMITS && !cgroup_has_limits(cgroup_entry(node)))
                        continue;
                if (!sections_keep_fields(sections, cgroup_entry(node), section)) {
                        cursor->n_hidden++;
                        continue;
                }
                write_fields(sections, writer, node, id, section);
                return true;
        }
        return false;
}

/* numbers under keys */

/* The members of a row in the sections of numbers under keys. */
static const struct {
        const char *group, *key, *value;
} count_rows[_SECTION_MAX] = {
        [SECTION_SMAPS_ROLLUP] = { "process", "key", "value" },
        [SECTION_MEMORY_STAT] = { "cgroup", "key", "value" },
        [SECTION_MEMORY_EVENTS] = { "cgroup", "event", "count" },
};

#define LEFT_OUT_BYTES 256

/*
 * Says why a value of a process's memory is absent, where that does not follow from the source:
 * "1 of 2 processes left out for size, 300 MiB: ...; 1 of 2 processes not asked for: ..."
 */
static void explain_memory(const Sections *sections, const SmapsEntry *entry, Span key,
                           char ret_texts[static SECTION_SIDES][LEFT_OUT_BYTES],
                           SectionGap gaps[static SECTION_SIDES]) {
        for (unsigned side = 0; side < SECTION_SIDES; side++) {
                const SmapsCount *count = &entry->counts[side];
                const char *plural = count->n_counted == 1 ? "" : "es";
                char *text = ret_texts[side];
                int n = 0;

                if (smaps_is_counted(key)) {
                        gaps[side].words = "no such process has memory, or the snapshot is of an "
                                           "earlier version";
                        continue;
                }
                if (count->n_left_out + count->n_unasked > 0)
                        gaps[side].words = text;
                if (count->n_left_out > 0)
                        n = snprintf(text, LEFT_OUT_BYTES,
                                     "%" PRIu64 " of %" PRIu64
                                     " process%s left out for size, %" PRIu64
                                     " MiB: the bound was SmapsMaxRss=%" PRIu64 "M",
                                     count->n_left_out, count->n_counted, plural,
                                     count->left_out_bytes >> 20,
                                     sections->smaps_max_rss_bytes[side] >> 20);
                if (count->n_unasked > 0)
                        (void) snprintf(text + n, LEFT_OUT_BYTES - (size_t) n,
                                        "%s%" PRIu64 " of %" PRIu64 " process%s not asked for: "
                                        "SmapsMaxProcesses=%" PRIu64 " reads the largest",
                                        n > 0 ? "; " : "", count->n_unasked, count->n_counted,
                                        plural, sections->smaps_max_processes[side]);
        }
}

static void write_count(const Sections *sections, SectionId id, JsonWriter *writer, KeyNode *node,
                        Span key, const Reading *sides) {
        char texts[SECTION_SIDES][LEFT_OUT_BYTES];
        bool smaps = id == SECTION_SMAPS_ROLLUP;
        bool is_bytes = smaps || (id == SECTION_MEMORY_STAT && memory_stat_is_gauge(key));
        SectionGap gaps[SECTION_SIDES] = {};

        note_gaps(gaps, sides);
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                gaps[side].there = smaps ? smaps_entry(node)->counts[side].n_rolled_up > 0
                                         : cgroup_entry(node)->sides[side] != NULL;
        if (smaps)
                explain_memory(sections, smaps_entry(node), key, texts, gaps);
        json_write_object(writer);
        json_write_member_name(writer, count_rows[id].group, node->key);
        json_write_key(writer, count_rows[id].key);
        json_write_span(writer, key);
        json_write_member_text(writer, "unit", is_bytes ? "bytes" : "count");
        json_write_key(writer, count_rows[id].value);
        reading_write_sides(writer, sections->n_sides, sides);
        section_reason_write(sections, writer, id, gaps);
        json_write_end(writer);
}

static bool write_next_count(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        SectionId id = cursor->section;
        bool smaps = id == SECTION_SMAPS_ROLLUP;
        KeyNode *const *list = smaps ? sections->smaps.list : sections->cgroup_list;
        size_t n = smaps ? sections->smaps.n_listed : sections->n_cgroups;

        for (; cursor->item < n; cursor->item++, cursor->walk = (CountWalk){}) {
                KeyNode *node = list[cursor->item];
                const CountMap *maps[SECTION_SIDES] = {};
                Reading sides[SECTION_SIDES];
                Span key;

                if (is_cut(sections, id, cursor->item))
                        continue;
                for (unsigned side = 0; side < SECTION_SIDES; side++) {
                        const CgroupRecord *record = smaps ? NULL : cgroup_entry(node)->sides[side];

                        if (smaps)
                                maps[side] = &smaps_entry(node)->sides[side];
                        else if (record)
                                maps[side] =
                                        id == SECTION_MEMORY_STAT ? &record->stat : &record->events;
                }
                while (count_walk_next(&cursor->walk, maps, &key, sides)) {
                        /* With one side it is worth a row that a large process has no Pss. */
                        bool lacks_pss = smaps && sections->n_sides == 1 &&
                                         smaps_entry(node)->counts[0].n_left_out > 0 &&
                                         span_is(key, "Pss");

                        if (!sections_keep_count(sections, sides) && !lacks_pss) {
                                cursor->n_hidden++;
                                continue;
                        }
                        write_count(sections, id, writer, node, key, sides);
                        return true;
                }
        }
        return false;
}

/* pressure: items are cgroups, resource after resource; positions are halves */

/* Rows of one resource, from the cursor's position on; @node is NULL for the host. */
static bool write_halves(const Sections *sections, SectionCursor *cursor, JsonWriter *writer,
                         const KeyNode *node, const PressureRecord *const records[static 2],
                         const bool there[static SECTION_SIDES], unsigned resource) {
        SectionId id = node ? SECTION_PRESSURE : SECTION_HOST_PRESSURE;
        Span cgroup = {};

        if (node)
                cgroup = node->key;
        while (cursor->position < _PRESSURE_HALF_MAX) {
                unsigned half = (unsigned) cursor->position++;
                Reading sides[_PRESSURE_VALUE_MAX][SECTION_SIDES];
                SectionGap gaps[SECTION_SIDES] = { { .there = there[0] }, { .there = there[1] } };

                if (!pressure_half_sides(records, sections->n_sides, resource, half, sides))
                        continue;
                if (!sections_keep_some(sections, sides, _PRESSURE_VALUE_MAX)) {
                        cursor->n_hidden++;
                        continue;
                }
                for (unsigned i = 0; i < _PRESSURE_VALUE_MAX; i++)
                        note_gaps(gaps, sides[i]);
                json_write_object(writer);
                pressure_members_write(writer, cgroup, sections->n_sides, resource, half, sides);
                section_reason_write(sections, writer, id, gaps);
                json_write_end(writer);
                return true;
        }
        return false;
}

static bool write_pressure(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        size_t n = sections->n_cgroups;

        for (; cursor->item < n * _PRESSURE_RESOURCE_MAX; cursor->item++, cursor->position = 0) {
                unsigned resource = (unsigned) (cursor->item / n);
                size_t i = cursor->item % n;
                const CgroupEntry *entry = cgroup_entry(sections->cgroup_list[i]);
                const PressureRecord *records[SECTION_SIDES] = {};
                const bool there[] = { entry->sides[0], entry->sides[1] };

                if (i == 0 && !section_has_pressure(sections, resource)) {
                        cursor->item += n - 1;
                        continue;
                }
                if (is_cut(sections, SECTION_PRESSURE, i))
                        continue;
                for (unsigned side = 0; side < SECTION_SIDES; side++)
                        records[side] = there[side] ? &entry->sides[side]->pressure : NULL;
                if (write_halves(sections, cursor, writer, sections->cgroup_list[i], records, there,
                                 resource))
                        return true;
        }
        return false;
}

static bool write_host_pressure(const Sections *sections, SectionCursor *cursor,
                                JsonWriter *writer) {
        static const bool there[SECTION_SIDES] = { true, true };
        const PressureRecord *const records[] = { &sections->host[0], &sections->host[1] };

        for (; cursor->item < _PRESSURE_RESOURCE_MAX; cursor->item++, cursor->position = 0) {
                unsigned resource = (unsigned) cursor->item;

                if (section_has_host_pressure(sections, resource) &&
                    write_halves(sections, cursor, writer, NULL, records, there, resource))
                        return true;
        }
        return false;
}

static bool write_sched_ext(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        const View *view = &sections->view;
        SchedExtRow row;

        while (sched_ext_next(sections->n_sides, sections->sched_ext, &cursor->position,
                              &cursor->walk, &row)) {
                SectionGap gaps[SECTION_SIDES] = {};
                bool keep = true; /* with one side all rows, because they are few */

                if (sections->n_sides > 1 && !row.is_text)
                        keep = sections_keep(sections, row.numbers);
                else if (sections->n_sides > 1) /* texts do not change by a percentage */
                        keep = !view->has_threshold &&
                               (!view->changed_only || row.texts[0] != row.texts[1]);
                if (!keep) {
                        cursor->n_hidden++;
                        continue;
                }
                for (unsigned side = 0; side < SECTION_SIDES; side++)
                        gaps[side] = (SectionGap){
                                .absent = row.is_text ? !row.texts[side]
                                                      : row.numbers[side].state == READING_ABSENT,
                                .there = sections->sched_ext[side].has,
                        };
                json_write_object(writer);
                sched_ext_members_write(writer, sections->n_sides, &row);
                section_reason_write(sections, writer, SECTION_SCHED_EXT, gaps);
                json_write_end(writer);
                return true;
        }
        return false;
}

static bool write_host(const Sections *sections, SectionCursor *cursor, JsonWriter *writer) {
        HostPartId part = section_host_part(cursor->section);
        const HostLines *lines = &sections->host_lines[part];

        while (cursor->item < lines->n) {
                const HostLine *line = &lines->lines[cursor->item++];
                SectionGap gaps[SECTION_SIDES] = {};

                if (!sections_keep_count(sections, line->sides)) {
                        cursor->n_hidden++;
                        continue;
                }
                note_gaps(gaps, line->sides);
                for (unsigned side = 0; side < SECTION_SIDES; side++)
                        gaps[side].there = line->there[side];
                json_write_object(writer);
                host_line_write(writer, part, sections->n_sides, line);
                section_reason_write(sections, writer, cursor->section, gaps);
                json_write_end(writer);
                return true;
        }
        return false;
}

static const RowWrite row_writers[_SECTION_MAX] = {
        [SECTION_SMAPS_ROLLUP] = write_next_count,
        [SECTION_CGROUP_STATS] = write_next_fields,
        [SECTION_CGROUP_LIMITS] = write_next_fields,
        [SECTION_MEMORY_STAT] = write_next_count,
        [SECTION_MEMORY_EVENTS] = write_next_count,
        [SECTION_PRESSURE] = write_pressure,
        [SECTION_HOST_PRESSURE] = write_host_pressure,
        [SECTION_SCHED_EXT] = write_sched_ext,
        [SECTION_HOST_CPU] = write_host,
        [SECTION_HOST_MEMORY] = write_host,
        [SECTION_HOST_DISK] = write_host,
        [SECTION_HOST_NETWORK] = write_host,
};

bool section_part_write(const Sections *sections, SectionCursor *cursor, JsonWriter *writer,
                        size_t n_bytes) {
        bool more = false;
        size_t n_rows = 0;

        json_write_object(writer);
        while (cursor->section < _SECTION_MAX) {
                if (sections->shown[cursor->section]) {
                        json_write_key(writer, view_table_names[cursor->section]);
                        json_write_array(writer);
                        more = true;
                        while (more && (n_rows == 0 || writer->buffer->n < n_bytes)) {
                                more = row_writers[cursor->section](sections, cursor, writer);
                                n_rows += more;
                                cursor->n_rows += more;
                        }
                        json_write_end(writer);
                }
                if (more) /* the part is full */
                        break;
                *cursor = (SectionCursor){ .section = cursor->section + 1,
                                           .n_hidden = cursor->n_hidden,
                                           .n_rows = cursor->n_rows };
        }
        json_write_end(writer);
        return !more;
}

uint64_t section_n_cut(const Sections *sections) {
        uint64_t n = 0;

        for (SectionId id = 0; id < _SECTION_MAX; id++)
                n += sections->n_cut[id];
        return n;
}

void section_cuts_write(const Sections *sections, JsonWriter *writer) {
        json_write_object(writer);
        for (SectionId id = 0; id < _SECTION_MAX; id++)
                if (sections->n_cut[id] > 0)
                        json_write_member_u64(writer, view_table_names[id], sections->n_cut[id]);
        json_write_end(writer);
}
