/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view-json.h"

#include <stddef.h>

#include "base/macro.h"
#include "view/view-part.h"

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
        for (unsigned part = 0; part < _VIEW_PART_MAX; part++)
                view_parts[part].write(writer, view);
        for (size_t i = 0; i < _VIEW_NUMBER_MAX; i++)
                json_write_member_u64(writer, view_numbers[i].key,
                                      *(const uint32_t *) member_of(view, view_numbers[i].offset));
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                json_write_member_bool(writer, flags[i].key,
                                       *(const bool *) member_of(view, flags[i].offset));
        json_write_end(writer);
}

static int decode_member(View *view, const char *key, json_object *value, char *ret_complaint) {
        char quoted[VIEW_QUOTED_BYTES];
        Span name = span_of(key);

        for (unsigned part = 0; part < _VIEW_PART_MAX; part++)
                if (span_is(name, view_parts[part].key))
                        return view_parts[part].decode(view, value, ret_complaint);
        for (size_t i = 0; i < _VIEW_NUMBER_MAX; i++)
                if (span_is(name, view_numbers[i].key)) {
                        const ViewNumber *number = &view_numbers[i];

                        if (!json_object_is_type(value, json_type_int) ||
                            json_object_get_int64(value) < 0 ||
                            json_object_get_int64(value) > UINT32_MAX)
                                return view_complain(
                                        ret_complaint,
                                        "The member %s of a view is a number of %s, %s.",
                                        number->key, number->noun, number->zero);
                        *(uint32_t *) (void *) ((char *) view + number->offset) =
                                (uint32_t) json_object_get_int64(value);
                        return VIEW_OK;
                }
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (span_is(name, flags[i].key)) {
                        if (!json_object_is_type(value, json_type_boolean))
                                return view_complain(ret_complaint,
                                                     "The member %s of a view is true or false.",
                                                     flags[i].key);
                        *(bool *) (void *) ((char *) view + flags[i].offset) =
                                json_object_get_boolean(value);
                        return VIEW_OK;
                }
        return view_complain(
                ret_complaint, "A view has no member \"%s\": it has %s.", view_quote(name, quoted),
                &(VIEW_PARTS(MEMBER_KEY) VIEW_NUMBERS(MEMBER_KEY) VIEW_FLAGS(MEMBER_KEY))[2]);
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
