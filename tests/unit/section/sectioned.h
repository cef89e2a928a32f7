/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sectioned
 *
 * Fills sections from texts and gives their rows back as text, which lives until the next call.
 */

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/section/section-json.h"
#include "analysis/section/sections.h"
#include "view/view-part.h"

static Buffer sectioned_buffer;

static inline Sections *sectioned_new(ViewAxis axis, const char *list, unsigned n_sides) {
        char complaint[VIEW_COMPLAINT_BYTES];
        Sections *sections;
        View view;

        view_init(&view);
        view.axis = axis;
        if (list)
                ck_assert_int_eq(view_set(&view, VIEW_PART_sections, span_of(list), complaint),
                                 VIEW_OK);
        ck_assert_int_eq(sections_new(&view, n_sides, &sections), 0);
        return sections;
}

static inline void sectioned_cgroup(Sections *sections, unsigned side, const char *key,
                                    const char *json) {
        ck_assert_int_eq(sections_add_cgroup(sections, side, span_of(key), span_of(json)), 0);
}

/* One part of at most about @n_bytes; *ret_done when it is the last. */
static inline const char *sectioned_part(const Sections *sections, SectionCursor *cursor,
                                         size_t n_bytes, bool *ret_done) {
        JsonWriter writer;
        const char *text;

        buffer_done(&sectioned_buffer);
        buffer_init(&sectioned_buffer, 0);
        json_writer_init(&writer, &sectioned_buffer);
        *ret_done = section_part_write(sections, cursor, &writer, n_bytes);
        ck_assert_int_eq(json_writer_finish(&writer), 0);
        ck_assert_int_eq(buffer_terminate(&sectioned_buffer, &text), 0);
        return text;
}

/* Finishes the sections and returns all rows. */
static inline const char *sectioned_text(Sections *sections) {
        SectionCursor cursor = {};
        const char *text;
        bool done;

        ck_assert_int_eq(sections_finish(sections, NULL, NULL), 0);
        text = sectioned_part(sections, &cursor, SIZE_MAX, &done);
        ck_assert(done);
        return text;
}
