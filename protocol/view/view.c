/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view.h"

#include <stddef.h>

#include "base/macro.h"
#include "base/name.h"
#include "view/glob.h"

#define KIND_NAME(id, name) name,
const char *const view_kind_names[_VIEW_KIND_MAX] = { VIEW_KINDS(KIND_NAME) };

#define AXIS_NAME(id, name, typed, header) name,
#define AXIS_HEADER(id, name, typed, header) header,
const char *const view_axis_names[_VIEW_AXIS_MAX] = { VIEW_AXES(AXIS_NAME) };
const char *const view_axis_headers[_VIEW_AXIS_MAX] = { VIEW_AXES(AXIS_HEADER) };

#define TABLE_NAME(id, name, ...) name,
#define TABLE_ABOUT(id, name, about, ...) SECTION_ABOUT_##about,
#define TABLE_OF_STATES true
#define TABLE_OF_COUNTS false
#define TABLE_FORM(id, name, about, text, of, source, ...) \
        { TABLE_OF_##of, SOURCE_##source, __VA_ARGS__ },
const char *const view_table_names[_SECTION_MAX] = { SECTIONS(TABLE_NAME) };
const SectionAbout view_table_abouts[_SECTION_MAX] = { SECTIONS(TABLE_ABOUT) };
const SectionForm view_table_forms[_SECTION_MAX] = { SECTIONS(TABLE_FORM) };

#define NUMBER_ROW(member, key_, default_, noun_, zero_, text) \
        [VIEW_NUMBER_##member] = { (key_), offsetof(View, member), (noun_), (zero_) },
const ViewNumber view_numbers[_VIEW_NUMBER_MAX] = { VIEW_NUMBERS(NUMBER_ROW) };

#define NUMBER_DEFAULT(member, key, default_, ...) .member = (default_),
#define FLAG_DEFAULT(member, key, default_, text) .member = (default_),
#define SECTION_SHOWN(id, name, shown, text) [METRIC_SECTION_##id] = (shown),

void view_init(View *view) {
        *view = (View){
                VIEW_FLAGS(FLAG_DEFAULT) VIEW_NUMBERS(NUMBER_DEFAULT).axis = VIEW_AXIS_PCOMM,
                .sections = { METRIC_SECTIONS(SECTION_SHOWN) },
                .sort = { .order = VIEW_ORDER_WEIGHT },
        };
        memset(view->tables, true, sizeof(view->tables));
}

/* Where metrics are named, and no sections, they are wanted of all sections. */
bool view_wants_metric(const View *view, MetricId id) {
        return view->has_metrics ? view->metrics[id] && (!view->has_sections ||
                                                         view->sections[metric_table[id].section])
                                 : view->sections[metric_table[id].section];
}

bool view_wants_derived(const View *view, DerivedId id) {
        return view->has_metrics ? view->derived[id] && (!view->has_sections ||
                                                         view->sections[derived_table[id].section])
                                 : view->sections[derived_table[id].section];
}

bool view_wants_table(const View *view, SectionId id) {
        bool has_cgroups = view->axis == VIEW_AXIS_CGROUP || view->axis == VIEW_AXIS_ALL;

        return view->tables[id] && (has_cgroups || view_table_abouts[id] != SECTION_ABOUT_CGROUPS);
}

bool view_filter_matches(const View *view, Span text) {
        return view->n_filter == 0 ||
               glob_matches_text((Span){ view->filter, view->n_filter }, text);
}

static size_t n_used(const ViewTexts *texts, unsigned n) {
        return n > 0 ? texts->ends[n - 1] : 0;
}

bool view_texts_add(ViewTexts *texts, Span text) {
        size_t used = n_used(texts, texts->n);

        if (texts->n >= VIEW_TEXTS_MAX || text.n > VIEW_TEXTS_BYTES - used)
                return false;
        if (text.n > 0)
                memcpy(texts->bytes + used, text.bytes, text.n);
        texts->ends[texts->n++] = (uint16_t) (used + text.n);
        return true;
}

Span view_texts_get(const ViewTexts *texts, unsigned index) {
        size_t begin = n_used(texts, index);

        return (Span){ texts->bytes + begin, texts->ends[index] - begin };
}
