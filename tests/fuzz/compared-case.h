/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ComparedCase
 *
 * Two made snapshots and how they are to be compared, and all that the engine answers: its lists as
 * text and as objects, numbers exact.
 */

#include "side-setup.h"
#include "fuzz.h"
#include "json/json-scanner.h"
#include "made-threads.h"
#include "wire/limits.h"
#include "wire/message-object.h"
#include "wire/message.h"

typedef struct Case {
        View view;
        SideSetup setup;
        MadeThreads sides[2];
} Case;

/* All that a run of the engine answers. */
typedef struct Answer {
        Comparison *comparison;
        Buffer texts[_COMPARISON_LIST_MAX];
        json_object *lists[_COMPARISON_LIST_MAX];
        Buffer pairings;
} Answer;

static inline void answer_done(Answer *answer) {
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++) {
                (void) json_object_put(answer->lists[list]);
                buffer_done(&answer->texts[list]);
        }
        buffer_done(&answer->pairings);
        answer->comparison = comparison_free(answer->comparison);
}

static inline json_object *read_array(Span text) {
        const JsonLimits limits = { .max_depth = LIMIT_JSON_DEPTH, .max_token_bytes = text.n };
        _cleanup_(json_scanner_freep) JsonScanner *scanner = NULL;
        json_object *array = NULL;
        JsonToken token;

        fuzz_expect(json_scanner_new_text(text, &limits, &scanner) == 0, "memory");
        fuzz_expect(json_scanner_next(scanner, &token) == 0 &&
                            message_object_read(scanner, token, &(size_t){ SIZE_MAX }, &array) ==
                                    0 &&
                            json_scanner_expect(scanner, JSON_TOKEN_END) == 0,
                    "what is written is strict JSON: %s", scanner->complaint);
        return array;
}

static inline void write_list(Answer *answer, ComparisonList list) {
        JsonWriter writer;

        json_writer_init(&writer, &answer->texts[list]);
        json_write_array(&writer);
        for (size_t i = 0; i < answer->comparison->lists[list].n_shown; i++)
                comparison_write(answer->comparison, list, i, &writer);
        json_write_end(&writer);
        fuzz_expect(json_writer_finish(&writer) == 0, "every group can be written");
        answer->lists[list] = read_array(buffer_span(&answer->texts[list]));
}

static inline void fold(const Case *one, Comparison *comparison) {
        for (unsigned side = 0; side < one->setup.n_sides; side++)
                for (size_t i = 0; i < one->sides[side].n; i++)
                        fuzz_expect(side_setup_add(comparison, (Side) side, NULL,
                                                   &one->sides[side].samples[i]) == 0,
                                    "memory");
}

static inline void fold_lives(const Case *one, Comparison *comparison) {
        const MadeThreads *before = &one->sides[0], *after = &one->sides[1];

        for (size_t i = 0; i < before->n; i++)
                fuzz_expect(side_setup_add(comparison, 0, &before->samples[i],
                                           made_find(after, &before->samples[i])) == 0,
                            "memory");
        for (size_t i = 0; i < after->n; i++)
                if (!made_find(before, &after->samples[i]))
                        fuzz_expect(side_setup_add(comparison, 0, NULL, &after->samples[i]) == 0,
                                    "memory");
}

static inline bool has_lives(const Case *one) {
        return side_setup_is_interval(&one->setup, &one->view);
}

static inline Answer answer_of(const Case *one) {
        static const SourceTable *const no_sources[SIDES] = { NULL, NULL };
        Answer answer = { .comparison = NULL };
        JsonWriter writer;

        fuzz_expect(side_setup_compare(&one->view, &one->setup, &answer.comparison) == 0, "memory");
        if (answer.comparison->table.threads.keys.has_census)
                for (unsigned side = 0; side < one->setup.n_sides; side++)
                        for (size_t i = 0; i < one->sides[side].n; i++)
                                fuzz_expect(thread_groups_census(&answer.comparison->table.threads,
                                                                 &one->sides[side].samples[i]) == 0,
                                            "memory");
        if (has_lives(one))
                fold_lives(one, answer.comparison);
        else
                fold(one, answer.comparison);
        fuzz_expect(comparison_finish(answer.comparison, no_sources) == 0, "memory");
        for (unsigned list = 0; list < _COMPARISON_LIST_MAX; list++)
                write_list(&answer, (ComparisonList) list);
        json_writer_init(&writer, &answer.pairings);
        (void) pairing_write_json(answer.comparison->table.pairing, &writer);
        fuzz_expect(json_writer_finish(&writer) == 0, "pairings can be written");
        (void) json_object_put(read_array(buffer_span(&answer.pairings)));
        return answer;
}

/* reading answers */

static inline json_object *member(json_object *object, const char *key) {
        json_object *value = NULL;

        (void) json_object_object_get_ex(object, key, &value);
        return value;
}

static inline json_object *row_of(json_object *group, unsigned id) {
        return member(member(group, "metrics"), metric_table[id].name);
}

/* 0 where there is none. */
static inline uint64_t number_of(json_object *object, const char *key) {
        uint64_t magnitude = 0;
        bool negative = false;

        fuzz_expect(!member(object, key) ||
                            (message_get_integer(member(object, key), &negative, &magnitude) &&
                             !negative),
                    "%s is a number not below 0", key);
        return magnitude;
}

static inline size_t n_groups(const Answer *answer, ComparisonList list) {
        return json_object_array_length(answer->lists[list]);
}

static inline json_object *group_at(const Answer *answer, ComparisonList list, size_t index) {
        return json_object_array_get_idx(answer->lists[list], index);
}
