/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/sections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "analysis/section/section-choice.h"

static void cgroup_entry_done(void *payload) {
        CgroupEntry *entry = payload;

        for (unsigned side = 0; side < SECTION_SIDES; side++) {
                if (entry->sides[side])
                        cgroup_record_done(entry->sides[side]);
                free(entry->sides[side]);
        }
}

int sections_new(const View *view, unsigned n_sides, Sections **ret) {
        Sections *sections = calloc(1, sizeof(*sections));

        if (!sections)
                return -ENOMEM;
        sections->view = *view;
        sections->n_sides = n_sides;
        for (unsigned side = 0; side < SECTION_SIDES; side++)
                sections->smaps_max_rss_bytes[side] = UINT64_MAX;
        for (SectionId id = 0; id < _SECTION_MAX; id++)
                if (view_table_abouts[id] == SECTION_ABOUT_CGROUPS && view_wants_table(view, id))
                        sections->wants_cgroups = true;
        *ret = sections;
        return 0;
}

Sections *sections_free(Sections *sections) {
        if (!sections)
                return NULL;
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                free(sections->cut[id]);
        free(sections->cgroup_list);
        key_tree_done(&sections->cgroups, cgroup_entry_done);
        smaps_done(&sections->smaps);
        for (unsigned side = 0; side < SECTION_SIDES; side++) {
                count_map_done(&sections->sched_ext[side].events);
                host_totals_done(&sections->totals[side]);
        }
        for (unsigned part = 0; part < _HOST_PART_MAX; part++)
                free(sections->host_lines[part].lines);
        key_tree_done(&sections->names, NULL);
        free(sections);
        return NULL;
}

/* Turns the result of reading a record into a result of sections_add_*(). */
static int settle(Sections *sections, int r, const char *record, const char *complaint) {
        if (r != JSON_E_MALFORMED)
                return err_fold(r);
        (void) snprintf(sections->complaint, sizeof(sections->complaint), "its %s: %s", record,
                        complaint);
        return SECTIONS_E_MALFORMED;
}

/* input */

int sections_add_cgroup(Sections *sections, unsigned side, Span key, Span json) {
        /* The filter applies to new names, so records that may be renamed are filtered later. */
        bool is_filtered_late =
                sections->n_sides == 2 && (sections->view.pairing || sections->view.pairs.n > 0);
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        CgroupRecord *record, **place;
        KeyNode *node;
        int r;

        if (!sections->wants_cgroups ||
            (!is_filtered_late && !view_filter_matches(&sections->view, key)))
                return 0;
        record = calloc(1, sizeof(*record));
        if (!record)
                return -ENOMEM;
        r = settle(sections, cgroup_record_scan(record, json, &sections->names, complaint),
                   "record of a cgroup", complaint);
        if (r == 0)
                r = err_fold(key_tree_put(&sections->cgroups, sizeof(CgroupEntry), key, &node));
        if (r == 0) {
                place = &cgroup_entry(node)->sides[side];
                if (*place)
                        r = err_fold(cgroup_record_merge(*place, record));
                else
                        *place = TAKE_PTR(record);
        }
        if (record)
                cgroup_record_done(record);
        free(record);
        return r;
}

int sections_add_smaps(Sections *sections, unsigned side, Span process, Span json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";

        if (!view_wants_table(&sections->view, SECTION_SMAPS_ROLLUP))
                return 0;
        return settle(sections,
                      smaps_add(&sections->smaps, side, process, json, &sections->names, complaint),
                      "memory map of a process", complaint);
}

int sections_add_memory(Sections *sections, unsigned side, const ThreadSample *sample,
                        bool has_smaps) {
        SmapsGap gap = SMAPS_GAP_NONE;
        uint64_t bytes;

        if (!view_wants_table(&sections->view, SECTION_SMAPS_ROLLUP))
                return 0;
        if (!has_smaps && thread_sample_memory(sample, &bytes) &&
            bytes > sections->smaps_max_rss_bytes[side])
                gap = SMAPS_GAP_SIZE;
        else if (sample->smaps_unasked && sections->smaps_max_processes[side] > 0)
                gap = SMAPS_GAP_UNASKED;
        return err_fold(smaps_add_counts(&sections->smaps, side, sample, gap, &sections->names));
}

int sections_add_of_host(Sections *sections, unsigned side, SectionId id, Span json) {
        _Static_assert(HOST_COMPLAINT_BYTES <= MEMBER_COMPLAINT_BYTES, "either one has room");
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        HostPartId part;

        if (!view_wants_table(&sections->view, id))
                return 0;
        if (id == SECTION_HOST_PRESSURE)
                return settle(sections,
                              member_scan_text(json, pressure_scan_member,
                                               &(PressureScan){ .record = &sections->host[side] },
                                               complaint),
                              "pressure", complaint);
        if (id == SECTION_SCHED_EXT)
                return settle(sections,
                              sched_ext_record_scan(&sections->sched_ext[side], json,
                                                    &sections->names, complaint),
                              "sched_ext", complaint);
        part = section_host_part(id);
        return settle(sections, host_totals_scan(&sections->totals[side], part, json, complaint),
                      host_parts[part].member, complaint);
}

int sections_rename(Sections *sections, KeyOfName old_name_of, void *userdata) {
        int r = 0;

        for (KeyNode *node = sections->cgroups.first; node && r == 0; node = node->next) {
                CgroupEntry *entry = cgroup_entry(node), *old;
                Span name = { NULL, 0 };
                KeyNode *found;

                if (entry->sides[0] || !entry->sides[1])
                        continue;
                r = err_fold(old_name_of(userdata, node->key, &name));
                if (r != 0 || name.n == 0)
                        continue;
                found = key_tree_find(&sections->cgroups, name);
                old = found ? cgroup_entry(found) : NULL;
                if (old && old->sides[0] && !old->sides[1])
                        old->sides[1] = TAKE_PTR(entry->sides[1]);
        }
        return r;
}

int sections_finish(Sections *sections, KeyOfName key_of, void *userdata) {
        int r = 0;

        if (sections->smaps.processes.n > 0 && key_of)
                r = smaps_regroup(&sections->smaps, key_of, userdata);
        if (sections->smaps.processes.n > 0 && r == 0)
                r = smaps_order(&sections->smaps, sections->n_sides, &sections->names);
        if (r == 0)
                r = key_tree_list(&sections->cgroups, key_node_compare, &sections->cgroup_list);
        for (size_t i = 0; r == 0 && i < sections->cgroups.n; i++) {
                KeyNode *node = sections->cgroup_list[i];
                const CgroupEntry *entry = cgroup_entry(node);

                /* An entry whose record moved to its old name is empty. */
                if ((entry->sides[0] || entry->sides[1]) &&
                    view_filter_matches(&sections->view, node->key))
                        sections->cgroup_list[sections->n_cgroups++] = node;
                else
                        continue;
                for (unsigned k = 0; k < SECTION_SIDES * _PRESSURE_RESOURCE_MAX; k++) {
                        const CgroupRecord *record = entry->sides[k % SECTION_SIDES];
                        bool *has = &sections->has_pressure[0][k / SECTION_SIDES];

                        *has = *has || (record &&
                                        pressure_record_has(&record->pressure, k / SECTION_SIDES));
                }
        }
        for (unsigned i = 0; i < _PRESSURE_RESOURCE_MAX; i++)
                sections->has_pressure[1][i] = pressure_record_has(&sections->host[0], i) ||
                                               pressure_record_has(&sections->host[1], i);
        if (r == 0)
                r = sections_choose(sections);
        for (unsigned part = 0; r == 0 && part < _HOST_PART_MAX; part++) {
                if (!sections->totals[0].parts[part].has && !sections->totals[1].parts[part].has)
                        continue;
                r = host_lines_make(&sections->host_lines[part], (HostPartId) part,
                                    sections->totals, sections->n_sides, sections->same_boot,
                                    sections->view.limit);
                sections->n_cut[SECTION_HOST_CPU + part] = sections->host_lines[part].n_cut;
        }
        if (r != 0)
                return err_fold(r);
        for (SectionId id = 0; id < _SECTION_MAX; id++)
                sections->shown[id] =
                        view_wants_table(&sections->view, id) && section_has_data(sections, id);
        return 0;
}
