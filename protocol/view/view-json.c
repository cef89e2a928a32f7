/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view-json.h"

#include <float.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name.h"
#include "view/view-put.h"
#include "wire/limits.h"

#define FLAG_ROW(member, key, default_, text) { key, offsetof(View, member) },
#define MEMBER_KEY(member, key, ...) ", " key
static const struct {
        const char *key;
        size_t offset;
} flags[] = { VIEW_FLAGS(FLAG_ROW) };

static const void *member_of(const View *view, size_t offset) {
        return (const char *) view + offset;
}

void view_write_json(JsonWriter *writer, const View *view) {
        json_write_object(writer);
        json_write_member_text(writer, "groupBy", view_axis_name(view->axis));
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
                for (unsigned section = 0; section < _METRIC_SECTION_MAX; section++)
                        if (view->sections[section])
                                json_write_text(writer,
                                                metric_section_name((MetricSection) section));
                for (unsigned id = 0; id < _SECTION_MAX; id++)
                        if (view->tables[id])
                                json_write_text(writer, view_table_name((SectionId) id));
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
        for (size_t i = 0; i < _VIEW_NUMBER_MAX; i++)
                json_write_member_u64(writer, view_numbers[i].key,
                                      *(const uint32_t *) member_of(view, view_numbers[i].offset));
        json_write_key(writer, "sortBy");
        view_sort_write_json(writer, &view->sort);
        if (view->n_filter > 0)
                json_write_member_name(writer, "filter", (Span){ view->filter, view->n_filter });
        if (view->has_threshold) {
                json_write_key(writer, "threshold");
                json_write_double(writer, view->threshold);
        }
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                json_write_member_bool(writer, flags[i].key,
                                       *(const bool *) member_of(view, flags[i].offset));
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

static int decode_flag(json_object *value, size_t index, View *view, char *ret_complaint) {
        if (!json_object_is_type(value, json_type_boolean))
                return view_complain(ret_complaint, "The member %s of a view is true or false.",
                                     flags[index].key);
        *(bool *) (void *) ((char *) view + flags[index].offset) = json_object_get_boolean(value);
        return VIEW_OK;
}

static int decode_number(json_object *value, size_t index, View *view, char *ret_complaint) {
        const ViewNumber *number = &view_numbers[index];

        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0 ||
            json_object_get_int64(value) > UINT32_MAX)
                return view_complain(ret_complaint,
                                     "The member %s of a view is a number of %s, %s.", number->key,
                                     number->noun, number->zero);
        *(uint32_t *) (void *) ((char *) view + number->offset) =
                (uint32_t) json_object_get_int64(value);
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
        if (r != 0)
                return r;
        r = name_unescape(&new_key, json_text(new_name));
        if (r != 0)
                return r;
        return view_put_pair(view, buffer_span(&old_key), buffer_span(&new_key), ret_complaint);
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
                return view_put_axis(view, json_text(value), ret_complaint);
        }
        if (span_is(name, "sections")) {
                view_drop_sections(view);
                return decode_list(view, value, view_put_section, "section", ret_complaint);
        }
        if (span_is(name, "metrics")) {
                view_drop_metrics(view);
                return decode_list(view, value, view_put_metric, "metric", ret_complaint);
        }
        if (span_is(name, "cgroupFlatten"))
                return decode_list(view, value, view_put_flatten_name, "glob", ret_complaint);
        if (span_is(name, "sortBy"))
                return decode_order(value, view, ret_complaint);
        if (span_is(name, "filter"))
                return decode_filter(value, view, ret_complaint);
        if (span_is(name, "pairs"))
                return decode_pairs(value, view, ret_complaint);
        if (span_is(name, "threshold"))
                return decode_threshold(value, view, ret_complaint);
        for (size_t i = 0; i < _VIEW_NUMBER_MAX; i++)
                if (span_is(name, view_numbers[i].key))
                        return decode_number(value, i, view, ret_complaint);
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (span_is(name, flags[i].key))
                        return decode_flag(value, i, view, ret_complaint);
        return view_complain(ret_complaint,
                             "A view has no member \"%s\": it has groupBy, cgroupFlatten, "
                             "sections, metrics, sortBy, filter, pairs, "
                             "threshold" VIEW_NUMBERS(MEMBER_KEY) VIEW_FLAGS(MEMBER_KEY) ".",
                             view_quote(name, quoted));
}

int view_decode(json_object *object, View *ret, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        View view;
        int r;

        view_init(&view);
        if (object) {
                if (!json_object_is_type(object, json_type_object))
                        return view_complain(ret_complaint, "A view is an object.");

                /* Clients may send an optional member as null: treat it as absent. */
                json_object_object_foreach(object, key, value) {
                        r = value ? decode_member(&view, key, value, ret_complaint) : VIEW_OK;
                        if (r != VIEW_OK)
                                return r;
                }
        }
        *ret = view;
        return VIEW_OK;
}
