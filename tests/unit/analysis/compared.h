/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Compared
 *
 * Runs the whole engine over two arrays of threads and parses its output.
 */

#include <check.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json-text.h"
#include "side-setup.h"

typedef struct Threads {
        const ThreadSample *samples;
        size_t n;
} Threads;

typedef struct Compared {
        Comparison *comparison;
        json_object *lists[_COMPARISON_LIST_MAX];
} Compared;

static inline void compared_done(Compared *compared) {
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                json_object_put(compared->lists[list]);
        comparison_free(compared->comparison);
}

static inline json_object *compared_list(const Comparison *comparison, ComparisonList list) {
        json_object *objects;
        JsonWriter writer;

        json_write_array(json_text_begin(&writer));
        for (size_t i = 0; i < comparison->lists[list].n_shown; i++)
                comparison_write(comparison, list, i, &writer);
        json_write_end(&writer);
        objects = json_tokener_parse(json_text_end(&writer));
        ck_assert_ptr_nonnull(objects);
        return objects;
}

static inline void compared_begin(Compared *compared, const View *view, const SideSetup *setup,
                                  const Threads *sides) {
        ck_assert_int_eq(side_setup_compare(view, setup, &compared->comparison), 0);
        for (unsigned side = 0; side < setup->n_sides; side++)
                for (size_t i = 0;
                     i < sides[side].n && compared->comparison->table.threads.keys.has_census; i++)
                        ck_assert_int_eq(thread_groups_census(&compared->comparison->table.threads,
                                                              &sides[side].samples[i]),
                                         0);
}

static inline void compared_end(Compared *compared,
                                const SourceTable *const sources[static SIDES]) {
        ck_assert_int_eq(comparison_finish(compared->comparison, sources), 0);
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                compared->lists[list] = compared_list(compared->comparison, (ComparisonList) list);
}

/* @sides has as many entries as @setup. */
static inline Compared compared_of(const View *view, const SideSetup *setup, const Threads *sides,
                                   const SourceTable *const sources[static SIDES]) {
        Compared compared = { .comparison = NULL };

        compared_begin(&compared, view, setup, sides);
        for (unsigned side = 0; side < setup->n_sides; side++)
                for (size_t i = 0; i < sides[side].n; i++)
                        ck_assert_int_eq(side_setup_add(compared.comparison, (Side) side, NULL,
                                                        &sides[side].samples[i]),
                                         0);
        compared_end(&compared, sources);
        return compared;
}

static inline const ThreadSample *compared_life(const Threads *threads,
                                                const ThreadSample *sample) {
        for (size_t i = 0; i < threads->n; i++)
                if (threads->samples[i].tid == sample->tid &&
                    threads->samples[i].start_ticks == sample->start_ticks)
                        return &threads->samples[i];
        return NULL;
}

/* The same over a window, which the view must ask for; @sides are two sides of one boot. */
static inline Compared compared_window_of(const View *view, const SideSetup *setup,
                                          const Threads *sides,
                                          const SourceTable *const sources[static SIDES]) {
        Compared compared = { .comparison = NULL };

        compared_begin(&compared, view, setup, sides);
        for (size_t i = 0; i < sides[0].n; i++)
                ck_assert_int_eq(side_setup_add(compared.comparison, 0, &sides[0].samples[i],
                                                compared_life(&sides[1], &sides[0].samples[i])),
                                 0);
        for (size_t i = 0; i < sides[1].n; i++)
                if (!compared_life(&sides[0], &sides[1].samples[i]))
                        ck_assert_int_eq(
                                side_setup_add(compared.comparison, 0, NULL, &sides[1].samples[i]),
                                0);
        compared_end(&compared, sources);
        return compared;
}

/* The same output, in the same order. */
static inline void compared_assert_same(const Compared *a, const Compared *b) {
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++) {
                char *text = strdup(json_object_to_json_string(a->lists[list]));

                ck_assert_str_eq(text, json_object_to_json_string(b->lists[list]));
                free(text);
        }
}

/* Finds the group of @key; NULL when there is none. */
static inline json_object *compared_group(const Compared *compared, ComparisonList list,
                                          const char *key) {
        json_object *groups = compared->lists[list];

        for (size_t i = 0; i < json_object_array_length(groups); i++) {
                json_object *group = json_object_array_get_idx(groups, i);

                if (strcmp(json_object_get_string(json_object_object_get(group, "key")), key) == 0)
                        return group;
        }
        return NULL;
}

/* The JSON text at the path of keys that ends in NULL; "" when there is nothing. */
static inline const char *json_at(json_object *object, ...) {
        va_list keys;
        const char *key;

        va_start(keys, object);
        while ((key = va_arg(keys, const char *)))
                if (!json_object_object_get_ex(object, key, &object)) {
                        va_end(keys);
                        return "";
                }
        va_end(keys);
        return object ? json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN) : "null";
}
