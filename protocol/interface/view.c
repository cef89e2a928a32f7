/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interface/view.h"

#include <fnmatch.h>
#include <float.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name.h"
#include "interface/glob.h"
#include "interface/view-words.h"
#include "wire/limits.h"

#define AXIS_NAME(id, name, header) name,
#define AXIS_HEADER(id, name, header) header,
static const char *const axis_names[] = { VIEW_AXES(AXIS_NAME) };
static const char *const axis_headers[] = { VIEW_AXES(AXIS_HEADER) };

#define SECTION_NAME(id, name, ...) name,
#define SECTION_NEEDS_CGROUPS(id, name, needs_cgroups) needs_cgroups,
static const char *const section_names[] = { METRIC_SECTIONS(SECTION_NAME) SECTIONS(SECTION_NAME) };
static const char *const *const table_names = section_names + _METRIC_SECTION_MAX;
static const bool table_needs_cgroups[] = { SECTIONS(SECTION_NEEDS_CGROUPS) };

#define THRESHOLD_CHARS 15 /* so many digits a double holds exactly */

/* Puts one word of a list into @view. */
typedef int (*ViewAdd)(View *view, Span word, char *ret_complaint);

void view_init(View *view) {
        *view = (View){
                .axis = VIEW_AXIS_PCOMM,
                .thread_normalize = true,
                .cgroup_normalize = true,
                .pairing = true,
                .limit = VIEW_DEFAULT_LIMIT,
        };
        for (unsigned section = 0; section < _METRIC_SECTION_MAX; section++)
                view->sections[section] = section != METRIC_SECTION_TASKSTATS_ACCOUNTING;
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                view->tables[id] = true;
}

static int set_axis(View *view, Span word, char *ret_complaint) {
        for (unsigned axis = 0; axis < _VIEW_AXIS_MAX; axis++) {
                if (!span_is(word, axis_names[axis]))
                        continue;
                view->axis = (ViewAxis) axis;
                return VIEW_OK;
        }
        return view_complain_unknown(ret_complaint, "grouping", word,
                                     name_nearest(word, axis_names, ELEMENTSOF(axis_names)),
                                     "Valid are pcomm, comm, comm-exact, cgroup, all and thread.");
}

static int add_section(View *view, Span word, char *ret_complaint) {
        MetricSection section = metric_section_find(word);

        if (section < _METRIC_SECTION_MAX) {
                view->sections[section] = true;
                return VIEW_OK;
        }
        for (unsigned id = 0; id < _SECTION_MAX; id++) {
                if (!span_is(word, table_names[id]))
                        continue;
                view->tables[id] = true;
                return VIEW_OK;
        }
        return view_complain_unknown(
                ret_complaint, "section", word,
                name_nearest(word, section_names, ELEMENTSOF(section_names)),
                "Valid are primary, taskstats-delay, taskstats-accounting, "
                "derived, smaps-rollup, cgroup-stats, cgroup-limits, memory-stat, "
                "memory-events, pressure, host-pressure and sched-ext.");
}

static int add_metric(View *view, Span word, char *ret_complaint) {
        MetricId metric = metric_find(word);
        DerivedId derived = derived_find(word);

        if (metric < _METRIC_MAX)
                view->metrics[metric] = true;
        else if (derived < _DERIVED_MAX)
                view->derived[derived] = true;
        else
                return view_complain_unknown(ret_complaint, "metric", word,
                                             metric_nearest_name(word),
                                             "\"ctprofctl metric-list\" lists them all.");
        return VIEW_OK;
}

static int add_flatten(View *view, Span glob, char *ret_complaint) {
        char quoted[VIEW_QUOTED_BYTES];
        int r = glob_check_path(glob);

        if (r != GLOB_OK)
                return view_complain(ret_complaint, "The glob \"%s\" for cgroups is malformed: %s.",
                                     view_quote(glob, quoted), glob_fault(r));
        for (unsigned i = 0; i < view->cgroup_flatten.n; i++)
                if (span_equal(view_texts_get(&view->cgroup_flatten, i), glob))
                        return VIEW_OK; /* the earlier one wins every time */
        if (!view_texts_add(&view->cgroup_flatten, glob))
                return view_complain(
                        ret_complaint,
                        "The globs for cgroups are more than %u, or longer than %u bytes "
                        "in all.",
                        VIEW_TEXTS_MAX, VIEW_TEXTS_BYTES);
        return VIEW_OK;
}

/* A glob off the wire, where bytes travel as names do. */
static int add_flatten_name(View *view, Span name, char *ret_complaint) {
        _cleanup_(buffer_done) Buffer bytes;
        int r;

        buffer_init(&bytes, 0);
        r = name_unescape(&bytes, name);
        return r == 0 ? add_flatten(view, buffer_span(&bytes), ret_complaint) : r;
}

static bool has_wildcard(Span word) {
        for (size_t i = 0; i < word.n; i++)
                if (word.bytes[i] == '*' || word.bytes[i] == '?' || word.bytes[i] == '[')
                        return true;
        return false;
}

static int add_metric_glob(View *view, Span word, char *ret_complaint) {
        char glob[VIEW_WORD_CHARS], quoted[VIEW_QUOTED_BYTES];
        bool matched = false;

        if (word.n >= sizeof(glob) || !has_wildcard(word))
                return add_metric(view, word, ret_complaint);

        memcpy(glob, word.bytes, word.n);
        glob[word.n] = '\0';
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                if (fnmatch(glob, metric_table[id].name, FNM_NOESCAPE) != 0)
                        continue;
                view->metrics[id] = true;
                matched = true;
        }
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                if (fnmatch(glob, derived_table[id].name, FNM_NOESCAPE) != 0)
                        continue;
                view->derived[id] = true;
                matched = true;
        }
        if (!matched)
                return view_complain(
                        ret_complaint,
                        "No metric matches \"%s\". \"ctprofctl metric-list\" lists them all.",
                        view_quote(word, quoted));
        return VIEW_OK;
}

static int add_list(View *view, Span list, ViewAdd add, const char *noun, char *ret_complaint) {
        Span whole = { list.bytes ? list.bytes : "", list.n }, rest = whole, entry;
        unsigned n = 0;
        int r;

        while (view_next_entry(&rest, &entry)) {
                char folded[VIEW_WORD_CHARS], quoted[VIEW_QUOTED_BYTES];
                Span before = { whole.bytes, (size_t) (entry.bytes - whole.bytes) }, earlier;

                if (entry.n == 0)
                        return view_complain(
                                ret_complaint,
                                "The list of %ss has an empty entry: separate names by one "
                                "comma each.",
                                noun);
                if (++n > LIMIT_NAMES_PER_LIST)
                        return view_complain(ret_complaint,
                                             "The list of %ss has more than %u entries.", noun,
                                             LIMIT_NAMES_PER_LIST);
                while (n > 1 && view_next_entry(&before, &earlier))
                        if (view_equal_any_case(earlier, entry))
                                return view_complain(ret_complaint,
                                                     "The %s \"%s\" is named twice: name it once.",
                                                     noun, view_quote(entry, quoted));
                r = add(view, view_fold_case(entry, folded), ret_complaint);
                if (r != VIEW_OK)
                        return r;
        }
        return VIEW_OK;
}

static void drop_sections(View *view) {
        view->has_sections = true;
        memset(view->sections, 0, sizeof(view->sections));
        memset(view->tables, 0, sizeof(view->tables));
}

static void drop_metrics(View *view) {
        view->has_metrics = true;
        memset(view->metrics, 0, sizeof(view->metrics));
        memset(view->derived, 0, sizeof(view->derived));
}

int view_set_axis(View *view, Span name, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        char folded[VIEW_WORD_CHARS];

        return set_axis(view, view_fold_case(view_trim(name), folded), ret_complaint);
}

int view_set_sections(View *view, Span list, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        View changed = *view;
        int r;

        drop_sections(&changed);
        r = add_list(&changed, list, add_section, "section", ret_complaint);
        if (r != VIEW_OK)
                return r;
        *view = changed;
        return VIEW_OK;
}

int view_set_metrics(View *view, Span list, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        View changed = *view;
        int r;

        drop_metrics(&changed);
        r = add_list(&changed, list, add_metric_glob, "metric", ret_complaint);
        if (r != VIEW_OK)
                return r;
        *view = changed;
        return VIEW_OK;
}

int view_add_cgroup_flatten(View *view, Span glob,
                            char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        return add_flatten(view, glob, ret_complaint);
}

static int add_pair(View *view, Span old_key, Span new_key, char *ret_complaint) {
        ViewTexts pairs = view->pairs;

        if (old_key.n == 0 || new_key.n == 0 || span_equal(old_key, new_key))
                return view_complain(ret_complaint,
                                     "A pair of cgroups is two different paths, OLD=NEW.");
        if (!view_texts_add(&pairs, old_key) || !view_texts_add(&pairs, new_key))
                return view_complain(ret_complaint,
                                     "The pairs of cgroups are more than %u, or longer than %u "
                                     "bytes in all.",
                                     VIEW_TEXTS_MAX / 2, VIEW_TEXTS_BYTES);
        view->pairs = pairs;
        return VIEW_OK;
}

int view_add_pair(View *view, Span text, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        const char *sign = text.n > 0 ? memchr(text.bytes, '=', text.n) : NULL;
        char quoted[VIEW_QUOTED_BYTES];
        size_t n_old;

        if (!sign)
                return view_complain(ret_complaint, "\"%s\" is no pair of cgroups: write OLD=NEW.",
                                     view_quote(text, quoted));
        n_old = (size_t) (sign - text.bytes);
        return add_pair(view, (Span){ text.bytes, n_old }, (Span){ sign + 1, text.n - n_old - 1 },
                        ret_complaint);
}

int view_set_sort(View *view, Span text, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        return view_sort_parse(text, &view->sort, ret_complaint);
}

int view_set_filter(View *view, Span glob, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        char quoted[VIEW_QUOTED_BYTES];
        int r = glob_check_text(glob);

        if (r != GLOB_OK)
                return view_complain(ret_complaint, "The filter \"%s\" is malformed: %s.",
                                     view_quote(glob, quoted), glob_fault(r));
        memcpy(view->filter, glob.bytes, glob.n);
        view->n_filter = glob.n;
        return VIEW_OK;
}

int view_set_threshold(View *view, Span text, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        Span digits = view_trim(text);
        char quoted[VIEW_QUOTED_BYTES];
        double value = 0, place = 0;
        bool has_digit = false;

        if (digits.n > 0 && digits.bytes[digits.n - 1] == '%')
                digits = view_trim((Span){ digits.bytes, digits.n - 1 });
        for (size_t i = 0; i < digits.n && digits.n <= THRESHOLD_CHARS; i++) {
                char byte = digits.bytes[i];

                if (byte == '.' && !(place > 0)) {
                        place = 1;
                        continue;
                }
                has_digit = byte >= '0' && byte <= '9';
                if (!has_digit)
                        break;
                value = value * 10 + (byte - '0');
                place *= 10;
        }
        if (!has_digit)
                return view_complain(ret_complaint,
                                     "The threshold \"%s\" is no percentage: it is a number of at "
                                     "most %d characters, as 5 or 0.5.",
                                     view_quote(text, quoted), THRESHOLD_CHARS);
        view->has_threshold = true;
        view->threshold = place > 0 ? value / place : value;
        return VIEW_OK;
}

static void write_texts(JsonWriter *writer, const char *key, const ViewTexts *texts) {
        json_write_key(writer, key);
        json_write_array(writer);
        for (unsigned i = 0; i < texts->n; i++)
                json_write_name(writer, view_texts_get(texts, i));
        json_write_end(writer);
}

static void write_pairs(JsonWriter *writer, const ViewTexts *pairs) {
        json_write_key(writer, "pairs");
        json_write_array(writer);
        for (unsigned i = 0; i + 1 < pairs->n; i += 2) {
                json_write_object(writer);
                json_write_member_name(writer, "old", view_texts_get(pairs, i));
                json_write_member_name(writer, "new", view_texts_get(pairs, i + 1));
                json_write_end(writer);
        }
        json_write_end(writer);
}

void view_write_json(JsonWriter *writer, const View *view) {
        json_write_object(writer);
        json_write_member_text(writer, "groupBy", axis_names[view->axis]);
        json_write_member_bool(writer, "threadNormalize", view->thread_normalize);
        json_write_member_bool(writer, "cgroupNormalize", view->cgroup_normalize);
        if (view->cgroup_flatten.n > 0)
                write_texts(writer, "cgroupFlatten", &view->cgroup_flatten);
        if (view->has_sections) {
                json_write_key(writer, "sections");
                json_write_array(writer);
                for (unsigned section = 0; section < _METRIC_SECTION_MAX; section++)
                        if (view->sections[section])
                                json_write_text(writer, section_names[section]);
                for (unsigned id = 0; id < _SECTION_MAX; id++)
                        if (view->tables[id])
                                json_write_text(writer, table_names[id]);
                json_write_end(writer);
        }
        if (view->has_metrics) {
                json_write_key(writer, "metrics");
                json_write_array(writer);
                for (unsigned id = 0; id < _METRIC_MAX; id++)
                        if (view->metrics[id])
                                json_write_text(writer, metric_table[id].name);
                for (unsigned id = 0; id < _DERIVED_MAX; id++)
                        if (view->derived[id])
                                json_write_text(writer, derived_table[id].name);
                json_write_end(writer);
        }
        json_write_member_bool(writer, "pairing", view->pairing);
        if (view->pairs.n > 0)
                write_pairs(writer, &view->pairs);
        json_write_member_u64(writer, "limit", view->limit);
        json_write_key(writer, "sortBy");
        view_sort_write_json(writer, &view->sort);
        if (view->n_filter > 0)
                json_write_member_name(writer, "filter", (Span){ view->filter, view->n_filter });
        if (view->has_threshold) {
                json_write_key(writer, "threshold");
                json_write_double(writer, view->threshold);
        }
        json_write_member_bool(writer, "changedOnly", view->changed_only);
        json_write_member_bool(writer, "self", view->self);
        json_write_end(writer);
}

static Span json_text(json_object *value) {
        return (Span){ json_object_get_string(value), (size_t) json_object_get_string_len(value) };
}

static int decode_list(View *view, json_object *array, ViewAdd add, const char *noun,
                       char *ret_complaint) {
        char quoted[VIEW_QUOTED_BYTES];
        size_t n;
        int r;

        if (!json_object_is_type(array, json_type_array))
                return view_complain(ret_complaint, "The %ss of a view are an array of texts.",
                                     noun);
        n = json_object_array_length(array);
        if (n > LIMIT_NAMES_PER_LIST)
                return view_complain(ret_complaint, "The list of %ss has more than %u entries.",
                                     noun, LIMIT_NAMES_PER_LIST);

        for (size_t i = 0; i < n; i++) {
                json_object *element = json_object_array_get_idx(array, i);

                if (!json_object_is_type(element, json_type_string))
                        return view_complain(ret_complaint,
                                             "The %ss of a view are an array of texts.", noun);
                for (size_t j = 0; j < i; j++)
                        if (span_equal(json_text(json_object_array_get_idx(array, j)),
                                       json_text(element)))
                                return view_complain(ret_complaint,
                                                     "The %s \"%s\" is named twice: name it once.",
                                                     noun, view_quote(json_text(element), quoted));
                r = add(view, json_text(element), ret_complaint);
                if (r != VIEW_OK)
                        return r;
        }
        return VIEW_OK;
}

static int decode_bool(json_object *value, const char *key, bool *ret, char *ret_complaint) {
        if (!json_object_is_type(value, json_type_boolean))
                return view_complain(ret_complaint, "The member %s of a view is true or false.",
                                     key);
        *ret = json_object_get_boolean(value);
        return VIEW_OK;
}

static int decode_limit(json_object *value, uint32_t *ret, char *ret_complaint) {
        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0 ||
            json_object_get_int64(value) > UINT32_MAX)
                return view_complain(
                        ret_complaint,
                        "The member limit of a view is a number of groups, 0 for all.");
        *ret = (uint32_t) json_object_get_int64(value);
        return VIEW_OK;
}

static int decode_filter(json_object *value, View *view, char *ret_complaint) {
        _cleanup_(buffer_done) Buffer bytes;
        int r;

        buffer_init(&bytes, 0);
        if (!json_object_is_type(value, json_type_string))
                return view_complain(ret_complaint, "The member filter of a view is a text.");
        r = name_unescape(&bytes, json_text(value));
        return r == 0 ? view_set_filter(view, buffer_span(&bytes), ret_complaint) : r;
}

static int decode_pair(json_object *pair, View *view, char *ret_complaint) {
        _cleanup_(buffer_done) Buffer old_key = { .bytes = NULL }, new_key = { .bytes = NULL };
        json_object *old_name, *new_name;
        int r;

        if (!json_object_is_type(pair, json_type_object) || json_object_object_length(pair) != 2 ||
            !json_object_object_get_ex(pair, "old", &old_name) ||
            !json_object_object_get_ex(pair, "new", &new_name) ||
            !json_object_is_type(old_name, json_type_string) ||
            !json_object_is_type(new_name, json_type_string))
                return view_complain(ret_complaint,
                                     "The pairs of a view are an array of {old, new}, two texts.");
        r = name_unescape(&old_key, json_text(old_name));
        if (r == 0)
                r = name_unescape(&new_key, json_text(new_name));
        if (r != 0)
                return r;
        return add_pair(view, buffer_span(&old_key), buffer_span(&new_key), ret_complaint);
}

static int decode_pairs(json_object *value, View *view, char *ret_complaint) {
        int r = VIEW_OK;

        if (!json_object_is_type(value, json_type_array))
                return view_complain(ret_complaint,
                                     "The pairs of a view are an array of {old, new}, two texts.");
        for (size_t i = 0; i < json_object_array_length(value) && r == VIEW_OK; i++)
                r = decode_pair(json_object_array_get_idx(value, i), view, ret_complaint);
        return r;
}

static int decode_threshold(json_object *value, View *view, char *ret_complaint) {
        double threshold = json_object_get_double(value);

        if ((!json_object_is_type(value, json_type_int) &&
             !json_object_is_type(value, json_type_double)) ||
            !(threshold >= 0 && threshold <= DBL_MAX))
                return view_complain(ret_complaint, "The member threshold of a view is a number of "
                                                    "percent, not less than 0.");
        view->has_threshold = true;
        view->threshold = threshold;
        return VIEW_OK;
}

static int decode_order(json_object *value, View *view, char *ret_complaint) {
        if (!json_object_is_type(value, json_type_string))
                return view_complain(ret_complaint, "The member sortBy of a view is a text.");
        return view_sort_parse(json_text(value), &view->sort, ret_complaint);
}

static int decode_member(View *view, const char *key, json_object *value, char *ret_complaint) {
        char quoted[VIEW_QUOTED_BYTES];
        Span name = span_of(key);

        if (span_is(name, "groupBy")) {
                if (!json_object_is_type(value, json_type_string))
                        return view_complain(ret_complaint,
                                             "The member groupBy of a view is a text.");
                return set_axis(view, json_text(value), ret_complaint);
        }
        if (span_is(name, "sections")) {
                drop_sections(view);
                return decode_list(view, value, add_section, "section", ret_complaint);
        }
        if (span_is(name, "metrics")) {
                drop_metrics(view);
                return decode_list(view, value, add_metric, "metric", ret_complaint);
        }
        if (span_is(name, "limit"))
                return decode_limit(value, &view->limit, ret_complaint);
        if (span_is(name, "threadNormalize"))
                return decode_bool(value, key, &view->thread_normalize, ret_complaint);
        if (span_is(name, "cgroupNormalize"))
                return decode_bool(value, key, &view->cgroup_normalize, ret_complaint);
        if (span_is(name, "cgroupFlatten"))
                return decode_list(view, value, add_flatten_name, "glob", ret_complaint);
        if (span_is(name, "sortBy"))
                return decode_order(value, view, ret_complaint);
        if (span_is(name, "filter"))
                return decode_filter(value, view, ret_complaint);
        if (span_is(name, "pairing"))
                return decode_bool(value, key, &view->pairing, ret_complaint);
        if (span_is(name, "pairs"))
                return decode_pairs(value, view, ret_complaint);
        if (span_is(name, "threshold"))
                return decode_threshold(value, view, ret_complaint);
        if (span_is(name, "changedOnly"))
                return decode_bool(value, key, &view->changed_only, ret_complaint);
        if (span_is(name, "self"))
                return decode_bool(value, key, &view->self, ret_complaint);
        return view_complain(ret_complaint,
                             "A view has no member \"%s\": it has groupBy, threadNormalize, "
                             "cgroupNormalize, cgroupFlatten, sections, metrics, sortBy, filter, "
                             "pairing, pairs, "
                             "threshold, limit, changedOnly and self.",
                             view_quote(name, quoted));
}

int view_decode(json_object *object, View *ret, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        View view;
        int r;

        view_init(&view);
        if (object) {
                if (!json_object_is_type(object, json_type_object))
                        return view_complain(ret_complaint, "A view is an object.");

                /* A null member is the same as none: that is how optional members may be sent. */
                json_object_object_foreach(object, key, value) {
                        r = value ? decode_member(&view, key, value, ret_complaint) : VIEW_OK;
                        if (r != VIEW_OK)
                                return r;
                }
        }
        *ret = view;
        return VIEW_OK;
}

const char *view_axis_name(ViewAxis axis) {
        return axis_names[axis];
}

const char *view_axis_header(ViewAxis axis) {
        return axis_headers[axis];
}

static bool wants_section(const View *view, MetricSection section) {
        return view->sections[section] || (view->has_metrics && !view->has_sections);
}

bool view_wants_metric(const View *view, MetricId id) {
        return wants_section(view, metric_table[id].section) &&
               (!view->has_metrics || view->metrics[id]);
}

bool view_wants_derived(const View *view, DerivedId id) {
        return wants_section(view, derived_table[id].section) &&
               (!view->has_metrics || view->derived[id]);
}

const char *view_table_name(SectionId id) {
        return table_names[id];
}

bool view_wants_table(const View *view, SectionId id) {
        bool has_cgroups = view->axis == VIEW_AXIS_CGROUP || view->axis == VIEW_AXIS_ALL;

        return view->tables[id] && (has_cgroups || !table_needs_cgroups[id]);
}

bool view_filter_matches(const View *view, Span text) {
        return view->n_filter == 0 ||
               glob_matches_text((Span){ view->filter, view->n_filter }, text);
}
