/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/reply-names.h"

#include "base/name.h"
#include "render/cell.h"

/* The members of replies that are names, have names, or are lists of either. */
static const char *const members[] = {
        "snapshot", "snapshots",  "before",  "after",    "results",
        "rotated",  "unreadable", "oldName", "replaced",
};

/* A name that is not there or null is left to the verb. */
static const char *check_name(json_object *name, char *ret_quoted) {
        const char *complaint;

        if (!name)
                return NULL;
        complaint = json_object_is_type(name, json_type_string)
                            ? snapshot_name_complaint(cell_string(name))
                            : "is not a text";
        if (complaint)
                (void) quote_json(name, ret_quoted);
        return complaint;
}

/* @value: a name, or an object with the member "name". */
static const char *check_one(json_object *value, char *ret_quoted) {
        if (json_object_is_type(value, json_type_object))
                value = cell_member(value, "name");
        return check_name(value, ret_quoted);
}

static const char *check(json_object *value, char *ret_quoted) {
        const char *complaint = NULL;

        if (!json_object_is_type(value, json_type_array))
                return check_one(value, ret_quoted);
        for (size_t i = 0; !complaint && i < cell_length(value); i++)
                complaint = check_one(cell_element(value, i), ret_quoted);
        return complaint;
}

const char *reply_names_complaint(json_object *parameters, char ret_quoted[static QUOTE_BYTES]) {
        const char *complaint = NULL;

        for (size_t i = 0; !complaint && i < ELEMENTSOF(members); i++)
                complaint = check(cell_member(parameters, members[i]), ret_quoted);
        return complaint;
}
