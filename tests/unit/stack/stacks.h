/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Stacks
 *
 * What a test puts into a store, and what comes out of it as text.
 */

#include <check.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include "stack/stack-store.h"

#define KERNEL(leaf)                                                                       \
        "\"entry_SYSCALL_64_after_hwframe\",\"do_syscall_64\",\"__x64_sys_futex\",\"" leaf \
        "\",\"schedule\",\"__schedule\""

#define STACK_OF(process, thread, place, ns, error, exact, frames)                  \
        "{\"process\":\"" process "\",\"thread\":\"" thread "\",\"place\":\"" place \
        "\",\"ns\":" ns ",\"samples\":3,\"maxNs\":1,\"standardErrorNs\":" error     \
        ",\"exact\":" exact ",\"frames\":[" frames "]}"
#define STACK(process, place, ns, frames) STACK_OF(process, process, place, ns, "0", "true", frames)

static inline json_object *parsed(const char *json) {
        json_object *object = json_tokener_parse(json);

        ck_assert_msg(object, "%s", json);
        return object;
}

/* Adds the stacks of a JSON array. */
static inline void fill_side(StackStore *store, unsigned side, const char *json) {
        json_object *stacks = parsed(json);

        for (size_t i = 0; i < json_object_array_length(stacks); i++)
                ck_assert_int_eq(stack_store_add(store, side, json_object_array_get_idx(stacks, i)),
                                 0);
        (void) json_object_put(stacks);
}
static inline void fill(StackStore *store, const char *json) {
        fill_side(store, 0, json);
}

typedef struct Written {
        char *text;
        size_t n;
        FILE *file;
} Written;

static inline void written_begin(Written *written) {
        *written = (Written){};
        written->file = open_memstream(&written->text, &written->n);
        ck_assert_ptr_nonnull(written->file);
}

/* The caller frees the text. */
static inline void written_end(Written *written) {
        ck_assert_int_eq(fclose(written->file), 0);
}
