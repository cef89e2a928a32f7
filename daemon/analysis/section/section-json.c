/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/section-json.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/section/section-choice.h"

/* reasons */

/*
 * A source that is not available explains every absent value. A source that was read in part does
 * not, because the cgroup may have vanished.
 */
void section_reason_write(const Sections *sections, JsonWriter *writer, SectionId id,
                          const SectionGap gaps[static SECTION_SIDES]) {
        static const char *const prefixes[] = { "before: ", "after: " };
        const SectionForm *form = &view_table_forms[id];
        char text[SECTION_REASON_BYTES + 32] = "";
        size_t n = 0;

        for (unsigned side = 0; side < SECTION_SIDES && side < sections->n_sides; side++) {
                const SectionGap *gap = &gaps[side];
                const SourceTable *table = sections->sources[side];
                const Source *source = table ? &table->sources[form->source] : NULL;
                const char *words = gap->there ? form->no_value : form->not_there;
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

static void write_row(const Sections *sections, SectionId id, const SectionRow *row,
                      JsonWriter *writer) {
        const SectionForm *form = &view_table_forms[id];
        const HostLine *line = row->line;
        char texts[SECTION_SIDES][LEFT_OUT_BYTES];
        SectionGap gaps[] = { { .there = row->there[0] }, { .there = row->there[1] } };
        bool one_side = sections->n_sides == 1;
        const char *object = NULL;

        json_write_object(writer);
        if (row->node)
                json_write_member_name(writer, form->item, row->node->key);
        else if (line && line->item)
                json_write_member_text(writer, form->item, line->item);
        else if (line && form->item)
                json_write_member_null(writer, form->item);
        if (line && host_kinds[line->kind].name)
                json_write_member_text(writer, "kind", host_kinds[line->kind].name);
        if (row->resource) {
                json_write_member_text(writer, "resource", row->resource);
                json_write_member_text(writer, "row", row->half);
        }
        if (form->value) {
                json_write_key(writer, form->key);
                json_write_span(writer, row->key);
        }
        if (line)
                json_write_member_text(writer, "unit", line->unit);
        else if (form->value && id != SECTION_SCHED_EXT)
                json_write_member_text(writer, "unit",
                                       id == SECTION_SMAPS_ROLLUP ||
                                                       (id == SECTION_MEMORY_STAT &&
                                                        memory_stat_is_gauge(row->key))
                                               ? "bytes"
                                               : "count");
        for (unsigned i = 0; i < row->n_values; i++) {
                const RecordField *field = row->fields ? &row->fields[i] : NULL;
                const Reading *sides = row->values[i];
                bool is_cpus = field && field->unit == FIELD_UNIT_CPUS;
                void (*write)(JsonWriter *, Reading) = is_cpus ? cgroup_cpus_write : reading_write;

                if (field && field->object && (!object || strcmp(field->object, object) != 0)) {
                        if (object)
                                json_write_end(writer);
                        object = field->object;
                        json_write_key(writer, object);
                        json_write_object(writer);
                }
                json_write_key(writer, field ? field->member : form->value);
                if (one_side)
                        write(writer, sides[0]);
                else
                        reading_write_change(writer, sides,
                                             line ? line->delta : reading_delta(sides[0], sides[1]),
                                             write);
                for (unsigned side = 0; side < SECTION_SIDES && !is_cpus; side++)
                        gaps[side].absent |= sides[side].state == READING_ABSENT;
        }
        if (object)
                json_write_end(writer);
        if (row->is_text) {
                json_write_key(writer, form->value);
                if (!one_side)
                        json_write_object(writer);
                for (unsigned side = 0; side < sections->n_sides; side++) {
                        gaps[side].absent = !row->texts[side];
                        if (!one_side)
                                json_write_key(writer, side == 0 ? "before" : "after");
                        if (row->texts[side])
                                json_write_span(writer, row->texts[side]->key);
                        else
                                json_write_null(writer);
                }
                if (!one_side) {
                        json_write_member_null(writer, "delta");
                        json_write_end(writer);
                }
        }
        if (line && !one_side) {
                json_write_key(writer, "perSecond");
                if (line->has_rate)
                        json_write_double(writer, line->per_second);
                else
                        json_write_null(writer);
        }
        if (id == SECTION_SMAPS_ROLLUP)
                explain_memory(sections, smaps_entry(row->node), row->key, texts, gaps);
        section_reason_write(sections, writer, id, gaps);
        json_write_end(writer);
}

bool section_part_write(const Sections *sections, SectionCursor *cursor, JsonWriter *writer,
                        size_t n_bytes) {
        bool more = false;
        size_t n_rows = 0;
        SectionRow row;

        json_write_object(writer);
        while (cursor->section < _SECTION_MAX) {
                if (sections->shown[cursor->section]) {
                        json_write_key(writer, view_table_names[cursor->section]);
                        json_write_array(writer);
                        more = true;
                        while (more && (n_rows == 0 || writer->buffer->n < n_bytes)) {
                                more = section_next_row(sections, cursor, &row);
                                if (!more)
                                        break;
                                if (!section_row_is_wanted(sections, cursor->section, &row)) {
                                        cursor->n_hidden++;
                                        continue;
                                }
                                write_row(sections, cursor->section, &row, writer);
                                n_rows++;
                                cursor->n_rows++;
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
