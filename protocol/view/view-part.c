/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view-part.h"

#include <float.h>
#include <fnmatch.h>
#include <stddef.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name.h"
#include "view/glob.h"
#include "wire/limits.h"

/* The names of a list in one text, "a, b": what a complaint offers. */
#define LISTED(id, name, ...) ", " name
#define OFFER(list) (&(list)[2])
#define LISTED_COLUMN(id, name, ...) " " name

#define NAME(id, name, ...) name,
#define TYPED(id, name, typed, ...) typed,
#define LISTED_TYPED(id, name, typed, ...) ", " typed
static const char *const axis_names[] = { VIEW_AXES(NAME) VIEW_AXES(TYPED) };
static const char *const section_names[] = { METRIC_SECTIONS(NAME) SECTIONS(NAME) };

#define THRESHOLD_CHARS 15 /* so many digits a double holds exactly */

/* Puts one word of a list into @view. */
typedef int (*Add)(View *view, Span word, char *ret_complaint);

/* lists */

static int add_list(View *view, Span list, Add add, const char *noun, char *ret_complaint) {
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
                        if (earlier.n == entry.n &&
                            strncasecmp(earlier.bytes, entry.bytes, entry.n) == 0)
                                return view_complain(ret_complaint,
                                                     "The %s \"%s\" is named twice: name it once.",
                                                     noun, view_quote(entry, quoted));
                r = add(view, view_fold_case(entry, folded), ret_complaint);
                if (r != VIEW_OK)
                        return r;
        }
        return VIEW_OK;
}

static Span json_text(json_object *value) {
        return (Span){ json_object_get_string(value), (size_t) json_object_get_string_len(value) };
}

static int decode_list(View *view, json_object *array, Add add, const char *noun,
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

/* axis */

static int put_axis(View *view, Span word, char *ret_complaint) {
        unsigned axis = name_find(word, axis_names, ELEMENTSOF(axis_names));

        if (axis == ELEMENTSOF(axis_names))
                return view_complain_unknown(
                        ret_complaint, "grouping", word,
                        name_nearest(word, axis_names, ELEMENTSOF(axis_names)),
                        OFFER(VIEW_AXES(LISTED_TYPED) ", and pcomm and comm for the first two"));
        view->axis = (ViewAxis) (axis % _VIEW_AXIS_MAX);
        return VIEW_OK;
}

/* cgroup_flatten */

static int set_cgroup_flatten(View *view, Span glob, char *ret_complaint) {
        char quoted[VIEW_QUOTED_BYTES];
        int r = glob_check_path(glob);

        if (r != GLOB_OK)
                return view_complain(ret_complaint, "The glob \"%s\" for cgroups is malformed: %s.",
                                     view_quote(glob, quoted), glob_fault(r));
        for (unsigned i = 0; i < view->cgroup_flatten.n; i++)
                if (span_equal(view_texts_get(&view->cgroup_flatten, i), glob))
                        return VIEW_OK; /* the earlier one would always match first */
        if (!view_texts_add(&view->cgroup_flatten, glob))
                return view_complain(
                        ret_complaint,
                        "The globs for cgroups are more than %u, or longer than %u bytes "
                        "in all.",
                        VIEW_TEXTS_MAX, VIEW_TEXTS_BYTES);
        return VIEW_OK;
}

/* A glob off the wire, where bytes travel as names do. */
static int put_flatten_name(View *view, Span name, char *ret_complaint) {
        _cleanup_(buffer_done) Buffer bytes;
        int r;

        buffer_init(&bytes, 0);
        r = name_unescape(&bytes, name);
        return r == 0 ? set_cgroup_flatten(view, buffer_span(&bytes), ret_complaint) : r;
}

/* sections */

static int put_section(View *view, Span word, char *ret_complaint) {
        const unsigned n = ELEMENTSOF(section_names);
        unsigned i = name_find(word, section_names, n);

        if (i == n)
                return view_complain_unknown(ret_complaint, "section", word,
                                             name_nearest(word, section_names, n),
                                             OFFER(METRIC_SECTIONS(LISTED) SECTIONS(LISTED)));
        if (i < _METRIC_SECTION_MAX)
                view->sections[i] = true;
        else
                view->tables[i - _METRIC_SECTION_MAX] = true;
        return VIEW_OK;
}

/* metrics */

static int put_metric(View *view, Span word, char *ret_complaint) {
        ViewColumn column = view_column_find(word);
        MetricId metric = metric_find(word);
        DerivedId derived = derived_find(word);

        if (metric < _METRIC_MAX)
                view->metrics[metric] = true;
        else if (derived < _DERIVED_MAX)
                view->derived[derived] = true;
        else if (column < _VIEW_COLUMN_MAX)
                for (unsigned i = 0; i < view_columns[column].n_metrics; i++)
                        view->metrics[view_columns[column].metrics[i]] = true;
        else
                return view_complain_unknown(ret_complaint, "metric", word,
                                             metric_nearest_name(word),
                                             "the names that \"ctprofctl metric-list\" shows, "
                                             "and" VIEW_COLUMNS(LISTED_COLUMN));
        return VIEW_OK;
}

static int put_metric_glob(View *view, Span word, char *ret_complaint) {
        char glob[VIEW_WORD_CHARS], quoted[VIEW_QUOTED_BYTES];
        bool matched = false;

        if (word.n >= sizeof(glob) ||
            (!memchr(word.bytes, '*', word.n) && !memchr(word.bytes, '?', word.n) &&
             !memchr(word.bytes, '[', word.n)))
                return put_metric(view, word, ret_complaint);

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

/* pairs */

static int put_pair(View *view, Span old_key, Span new_key, char *ret_complaint) {
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

static int set_pairs(View *view, Span text, char *ret_complaint) {
        const char *sign = text.n > 0 ? memchr(text.bytes, '=', text.n) : NULL;
        char quoted[VIEW_QUOTED_BYTES];
        size_t n_old;

        if (!sign)
                return view_complain(ret_complaint, "\"%s\" is no pair of cgroups: write OLD=NEW.",
                                     view_quote(text, quoted));
        n_old = (size_t) (sign - text.bytes);
        return put_pair(view, (Span){ text.bytes, n_old }, (Span){ sign + 1, text.n - n_old - 1 },
                        ret_complaint);
}

static int decode_pairs(View *view, json_object *value, char *ret_complaint) {
        bool is_good = json_object_is_type(value, json_type_array);

        for (size_t i = 0; is_good && i < json_object_array_length(value); i++) {
                _cleanup_(buffer_done) Buffer old_key = {}, new_key = {};
                json_object *pair = json_object_array_get_idx(value, i), *old_name, *new_name;
                int r;

                if (!json_object_is_type(pair, json_type_object) ||
                    json_object_object_length(pair) != 2 ||
                    !json_object_object_get_ex(pair, "old", &old_name) ||
                    !json_object_object_get_ex(pair, "new", &new_name) ||
                    !json_object_is_type(old_name, json_type_string) ||
                    !json_object_is_type(new_name, json_type_string)) {
                        is_good = false;
                        break;
                }
                r = name_unescape(&old_key, json_text(old_name));
                if (r == 0)
                        r = name_unescape(&new_key, json_text(new_name));
                if (r == 0)
                        r = put_pair(view, buffer_span(&old_key), buffer_span(&new_key),
                                     ret_complaint);
                if (r != VIEW_OK)
                        return r;
        }
        return is_good ? VIEW_OK
                       : view_complain(
                                 ret_complaint,
                                 "The pairs of a view are an array of {old, new}, two texts.");
}

/* filter and threshold */

static int set_filter(View *view, Span glob, char *ret_complaint) {
        char quoted[VIEW_QUOTED_BYTES];
        int r = glob_check_text(glob);

        if (r != GLOB_OK)
                return view_complain(ret_complaint, "The filter \"%s\" is malformed: %s.",
                                     view_quote(glob, quoted), glob_fault(r));
        memcpy(view->filter, glob.bytes, glob.n);
        view->n_filter = glob.n;
        return VIEW_OK;
}

static int set_threshold(View *view, Span text, char *ret_complaint) {
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

#define PART_KEY(id, key, ...) [VIEW_PART_##id] = key,
static const char *const part_keys[_VIEW_PART_MAX] = { VIEW_PARTS(PART_KEY) };

int view_set(View *view, ViewPartId part, Span text,
             char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        char folded[VIEW_WORD_CHARS];
        View changed = *view;
        int r = VIEW_E_INVALID;

        switch (part) {
        case VIEW_PART_axis:
                return put_axis(view, view_fold_case(view_trim(text), folded), ret_complaint);
        case VIEW_PART_cgroup_flatten:
                return set_cgroup_flatten(view, text, ret_complaint);
        case VIEW_PART_sections:
                changed.has_sections = true; /* what the default has is not wanted then */
                memset(changed.sections, 0, sizeof(changed.sections));
                memset(changed.tables, 0, sizeof(changed.tables));
                r = add_list(&changed, text, put_section, "section", ret_complaint);
                break;
        case VIEW_PART_metrics:
                changed.has_metrics = true;
                memset(changed.metrics, 0, sizeof(changed.metrics));
                memset(changed.derived, 0, sizeof(changed.derived));
                r = add_list(&changed, text, put_metric_glob, "metric", ret_complaint);
                break;
        case VIEW_PART_pairs:
                return set_pairs(view, text, ret_complaint);
        case VIEW_PART_sort:
                return view_sort_parse(text, &view->sort, ret_complaint);
        case VIEW_PART_filter:
                return set_filter(view, text, ret_complaint);
        case VIEW_PART_threshold:
                return set_threshold(view, text, ret_complaint);
        case _VIEW_PART_MAX:
                return VIEW_E_INVALID;
        }
        if (r == VIEW_OK)
                *view = changed;
        return r;
}

static int decode_part(View *view, ViewPartId part, json_object *value, char *ret_complaint) {
        _cleanup_(buffer_done) Buffer bytes = {};
        bool is_text = json_object_is_type(value, json_type_string);
        double threshold = json_object_get_double(value);
        int r;

        if (!is_text &&
            (part == VIEW_PART_axis || part == VIEW_PART_sort || part == VIEW_PART_filter))
                return view_complain(ret_complaint, "The member %s of a view is a text.",
                                     part_keys[part]);
        switch (part) {
        case VIEW_PART_axis:
                return put_axis(view, json_text(value), ret_complaint);
        case VIEW_PART_cgroup_flatten:
                return decode_list(view, value, put_flatten_name, "glob", ret_complaint);
        case VIEW_PART_sections:
                view->has_sections = true;
                memset(view->sections, 0, sizeof(view->sections));
                memset(view->tables, 0, sizeof(view->tables));
                return decode_list(view, value, put_section, "section", ret_complaint);
        case VIEW_PART_metrics:
                view->has_metrics = true;
                memset(view->metrics, 0, sizeof(view->metrics));
                memset(view->derived, 0, sizeof(view->derived));
                return decode_list(view, value, put_metric, "metric", ret_complaint);
        case VIEW_PART_pairs:
                return decode_pairs(view, value, ret_complaint);
        case VIEW_PART_sort:
                return view_sort_parse(json_text(value), &view->sort, ret_complaint);
        case VIEW_PART_filter:
                r = name_unescape(&bytes, json_text(value));
                return r == 0 ? set_filter(view, buffer_span(&bytes), ret_complaint) : r;
        case VIEW_PART_threshold:
                if ((!json_object_is_type(value, json_type_int) &&
                     !json_object_is_type(value, json_type_double)) ||
                    !(threshold >= 0 && threshold <= DBL_MAX))
                        return view_complain(ret_complaint,
                                             "The member threshold of a view is a number of "
                                             "percent, not less than 0.");
                view->has_threshold = true;
                view->threshold = threshold;
                return VIEW_OK;
        case _VIEW_PART_MAX:
                break;
        }
        return VIEW_E_INVALID;
}

#define FLAG_ROW(member, key, default_, text) { key, offsetof(View, member) },
#define MEMBER_KEY(member, key, ...) ", " key
static const struct {
        const char *key;
        size_t offset;
} flags[] = { VIEW_FLAGS(FLAG_ROW) };

/* A list that is not set is left out. */
void view_write_json(JsonWriter *writer, const View *view) {
        json_write_object(writer);
        json_write_member_text(writer, "groupBy", view_axis_names[view->axis]);
        if (view->cgroup_flatten.n > 0) {
                json_write_key(writer, "cgroupFlatten");
                json_write_array(writer);
                for (unsigned i = 0; i < view->cgroup_flatten.n; i++)
                        json_write_name(writer, view_texts_get(&view->cgroup_flatten, i));
                json_write_end(writer);
        }
        if (view->has_sections) {
                json_write_key(writer, "sections");
                json_write_array(writer);
                for (unsigned id = 0; id < ELEMENTSOF(section_names); id++)
                        if (id < _METRIC_SECTION_MAX ? view->sections[id]
                                                     : view->tables[id - _METRIC_SECTION_MAX])
                                json_write_text(writer, section_names[id]);
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
        if (view->pairs.n > 0) {
                json_write_key(writer, "pairs");
                json_write_array(writer);
                for (unsigned i = 0; i + 1 < view->pairs.n; i += 2) {
                        json_write_object(writer);
                        json_write_member_name(writer, "old", view_texts_get(&view->pairs, i));
                        json_write_member_name(writer, "new", view_texts_get(&view->pairs, i + 1));
                        json_write_end(writer);
                }
                json_write_end(writer);
        }
        json_write_key(writer, "sortBy");
        view_sort_write_json(writer, &view->sort);
        if (view->n_filter > 0)
                json_write_member_name(writer, "filter", (Span){ view->filter, view->n_filter });
        if (view->has_threshold) {
                json_write_key(writer, "threshold");
                json_write_double(writer, view->threshold);
        }
        for (size_t i = 0; i < _VIEW_NUMBER_MAX; i++)
                json_write_member_u64(writer, view_numbers[i].key,
                                      *(const uint32_t *) (const void *) ((const char *) view +
                                                                          view_numbers[i].offset));
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                json_write_member_bool(
                        writer, flags[i].key,
                        *(const bool *) (const void *) ((const char *) view + flags[i].offset));
        json_write_end(writer);
}

int view_decode(json_object *object, View *ret, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        char quoted[VIEW_QUOTED_BYTES];
        View view;
        int r;

        view_init(&view);
        if (!object) {
                *ret = view;
                return VIEW_OK;
        }
        if (!json_object_is_type(object, json_type_object))
                return view_complain(ret_complaint, "A view is an object.");

        json_object_object_foreach(object, key, value) {
                Span name = span_of(key);
                unsigned part = name_find(name, part_keys, _VIEW_PART_MAX);
                size_t number = 0, flag = 0;

                while (number < _VIEW_NUMBER_MAX && !span_is(name, view_numbers[number].key))
                        number++;
                while (flag < ELEMENTSOF(flags) && !span_is(name, flags[flag].key))
                        flag++;
                if (!value) /* clients may send an optional member as null */
                        continue;
                if (part < _VIEW_PART_MAX) {
                        r = decode_part(&view, (ViewPartId) part, value, ret_complaint);
                        if (r != VIEW_OK)
                                return r;
                } else if (number < _VIEW_NUMBER_MAX) {
                        const ViewNumber *row = &view_numbers[number];

                        if (!json_object_is_type(value, json_type_int) ||
                            json_object_get_int64(value) < 0 ||
                            json_object_get_int64(value) > UINT32_MAX)
                                return view_complain(
                                        ret_complaint,
                                        "The member %s of a view is a number of %s, %s.", row->key,
                                        row->noun, row->zero);
                        *(uint32_t *) (void *) ((char *) &view + row->offset) =
                                (uint32_t) json_object_get_int64(value);
                } else if (flag < ELEMENTSOF(flags)) {
                        if (!json_object_is_type(value, json_type_boolean))
                                return view_complain(ret_complaint,
                                                     "The member %s of a view is true or false.",
                                                     flags[flag].key);
                        *(bool *) (void *) ((char *) &view + flags[flag].offset) =
                                json_object_get_boolean(value);
                } else
                        return view_complain(ret_complaint,
                                             "A view has no member \"%s\": it has %s.",
                                             view_quote(name, quoted),
                                             &(VIEW_PARTS(MEMBER_KEY) VIEW_NUMBERS(MEMBER_KEY)
                                                       VIEW_FLAGS(MEMBER_KEY))[2]);
        }
        *ret = view;
        return VIEW_OK;
}
