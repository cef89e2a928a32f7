/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/key/thread-key.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/name-set.h"
#include "view/glob.h"

#define UUID_BYTES 36
#define HEX_MIN_DIGITS 4

typedef enum ByteClass {
        BYTE_OTHER = 0,
        BYTE_SEPARATOR = 1 << 0,
        BYTE_DIGIT = 1 << 1,
        BYTE_LOWER_HEX = 1 << 2, /* a-f */
        BYTE_UPPER_HEX = 1 << 3, /* A-F */
} ByteClass;

static const unsigned char byte_classes[256] = {
        [' '] = BYTE_SEPARATOR,         ['\t'] = BYTE_SEPARATOR,        ['\n'] = BYTE_SEPARATOR,
        ['\v'] = BYTE_SEPARATOR,        ['\f'] = BYTE_SEPARATOR,        ['\r'] = BYTE_SEPARATOR,
        ['.'] = BYTE_SEPARATOR,         ['-'] = BYTE_SEPARATOR,         ['_'] = BYTE_SEPARATOR,
        ['/'] = BYTE_SEPARATOR,         [':'] = BYTE_SEPARATOR,         ['@'] = BYTE_SEPARATOR,
        ['+'] = BYTE_SEPARATOR,         ['['] = BYTE_SEPARATOR,         [']'] = BYTE_SEPARATOR,
        ['#'] = BYTE_SEPARATOR,         ['('] = BYTE_SEPARATOR,         [')'] = BYTE_SEPARATOR,
        ['='] = BYTE_SEPARATOR,         [','] = BYTE_SEPARATOR,         ['0' ... '9'] = BYTE_DIGIT,
        ['a' ... 'f'] = BYTE_LOWER_HEX, ['A' ... 'F'] = BYTE_UPPER_HEX,
};

static bool all_of(Span text, unsigned wanted) {
        for (size_t i = 0; i < text.n; i++)
                if (!(byte_classes[(unsigned char) text.bytes[i]] & wanted))
                        return false;
        return true;
}

/*
 * 8-4-4-4-12 digits at the start of @text, not followed by a further hex digit: that would be a
 * longer token.
 */
static bool begins_with_uuid(Span text) {
        const unsigned hex = BYTE_DIGIT | BYTE_LOWER_HEX;
        char joint;

        if (text.n < UUID_BYTES)
                return false;
        joint = text.bytes[8];
        if (joint != '-' && joint != '_')
                return false;
        for (size_t i = 0; i < UUID_BYTES; i++) {
                bool is_joint = i == 8 || i == 13 || i == 18 || i == 23;

                if (is_joint ? text.bytes[i] != joint
                             : !(byte_classes[(unsigned char) text.bytes[i]] & hex))
                        return false;
        }
        return text.n == UUID_BYTES ||
               !(byte_classes[(unsigned char) text.bytes[UUID_BYTES]] & hex);
}

/* Appends separators as they are, and what stands for each token between them. No UUID is left. */
static void append_tokens(Buffer *buffer, Span text) {
        const unsigned hex = BYTE_DIGIT | BYTE_LOWER_HEX;

        for (size_t i = 0, end; i < text.n; i = end) {
                bool separators = byte_classes[(unsigned char) text.bytes[i]] & BYTE_SEPARATOR;
                bool has_digit = false;
                Span token;

                for (end = i; end < text.n; end++) {
                        unsigned class = byte_classes[(unsigned char) text.bytes[end]];

                        if ((bool) (class & BYTE_SEPARATOR) != separators)
                                break;
                        has_digit = has_digit || (class & BYTE_DIGIT);
                }
                token = (Span){ text.bytes + i, end - i };
                if (!has_digit) {
                        buffer_append(buffer, token.bytes, token.n);
                        continue;
                }
                if (token.n > 2 && token.bytes[0] == '0' && token.bytes[1] == 'x' &&
                    all_of((Span){ token.bytes + 2, token.n - 2 }, hex | BYTE_UPPER_HEX)) {
                        buffer_append_text(buffer, "0x{H}");
                        continue;
                }
                if (token.n >= HEX_MIN_DIGITS && all_of(token, hex) && !all_of(token, BYTE_DIGIT)) {
                        buffer_append_text(buffer, "{H}");
                        continue;
                }
                for (size_t k = 0, after; k < token.n; k = after) {
                        bool digits = byte_classes[(unsigned char) token.bytes[k]] & BYTE_DIGIT;

                        for (after = k + 1; after < token.n; after++)
                                if ((bool) (byte_classes[(unsigned char) token.bytes[after]] &
                                            BYTE_DIGIT) != digits)
                                        break;
                        if (digits)
                                buffer_append_text(buffer, "{N}");
                        else
                                buffer_append(buffer, token.bytes + k, after - k);
                }
        }
}

int pattern_append_skeleton(Buffer *buffer, Span name) {
        size_t begin = 0, i = 0;

        if (name.n == 0) /* an unknown name has no bytes to read */
                return buffer_failure(buffer);
        while (i + UUID_BYTES <= name.n) {
                if (!begins_with_uuid((Span){ name.bytes + i, name.n - i })) {
                        i++;
                        continue;
                }
                append_tokens(buffer, (Span){ name.bytes + begin, i - begin });
                buffer_append_text(buffer, "{U}");
                begin = i += UUID_BYTES;
        }
        append_tokens(buffer, (Span){ name.bytes + begin, name.n - begin });
        return buffer_failure(buffer);
}

/* cgroups */

#define SERVICE_SUFFIX ".service"

bool cgroup_flatten(const ViewTexts *globs, Span path, Span *ret) {
        for (unsigned i = 0; i < globs->n; i++) {
                Span glob = view_texts_get(globs, i);

                if (!glob_matches_path(glob, path))
                        continue;
                *ret = glob;
                return true;
        }
        return false;
}

static void append_component(Buffer *buffer, Span component) {
        const Span suffix = SPAN_LITERAL(SERVICE_SUFFIX);
        const char *end = component.bytes + component.n - MIN_OF(suffix.n, component.n);
        const char *at = memchr(component.bytes, '@', (size_t) (end - component.bytes));
        bool has_instance = at && at + 1 < end && span_equal((Span){ end, suffix.n }, suffix);

        /* The instance is what stands between the first '@' and ".service". */
        for (size_t i = 1; has_instance && at + i < end; i++)
                has_instance = at[i] != '.' && at[i] != '_' && at[i] != '-';
        if (has_instance)
                component.n = (size_t) (at + 1 - component.bytes);
        pattern_append_skeleton(buffer, component);
        if (has_instance)
                buffer_append_text(buffer, "{I}" SERVICE_SUFFIX);
}

int cgroup_append_skeleton(Buffer *buffer, Span path) {
        for (size_t at = 0, end; at < path.n; at = end + 1) {
                const char *slash = memchr(path.bytes + at, '/', path.n - at);

                end = slash ? (size_t) (slash - path.bytes) : path.n;
                append_component(buffer, (Span){ path.bytes + at, end - at });
                if (slash)
                        buffer_append_byte(buffer, '/');
        }
        return buffer_failure(buffer);
}

/* census */

#define SHARED SIZE_MAX /* the skeleton has a second name */

int key_census_add(KeyCensus *census, Span skeleton, Span name) {
        size_t n_before = census->skeletons.n, number, first;
        int r;

        r = ARRAY_RESERVE(census->firsts, census->n_allocated, n_before + 1);
        if (r != 0)
                return r;
        r = name_set_add(&census->skeletons, skeleton, &number);
        if (r != 0)
                return r;
        if (number == n_before) {
                census->firsts[number] = SHARED;
                return name_set_add(&census->names, name, &census->firsts[number]);
        }
        first = census->firsts[number];
        if (first != SHARED && !span_equal(name_set_get(&census->names, first), name))
                census->firsts[number] = SHARED;
        return 0;
}

bool key_census_find(const KeyCensus *census, Span skeleton, Span *ret) {
        size_t number = name_set_find(&census->skeletons, skeleton);

        if (number == INDEX_NONE)
                return false;
        *ret = census->firsts[number] == SHARED
                       ? skeleton
                       : name_set_get(&census->names, census->firsts[number]);
        return true;
}

void key_part_init(KeyPart *part, KeyPartName of, const View *view, bool patterns) {
        *part = (KeyPart){ .of = of, .has_census = patterns };
        if (of == KEY_PART_CGROUP && view->cgroup_flatten.n > 0)
                part->flatten = &view->cgroup_flatten;
}

void key_part_done(KeyPart *part) {
        name_set_done(&part->census.skeletons);
        name_set_done(&part->census.names);
        free(part->census.firsts);
        buffer_done(&part->name);
        buffer_done(&part->skeleton);
        *part = (KeyPart){ .of = part->of };
}

Span key_part_name(const KeyPart *part, const ThreadSample *sample) {
        switch (part->of) {
        case KEY_PART_CGROUP:
                return sample->cgroup;
        case KEY_PART_PROCESS:
                return sample->pcomm;
        case KEY_PART_COMMAND:
                return sample->command_name;
        case KEY_PART_THREAD:
                break;
        }
        return sample->comm;
}

/* Finds the glob or skeleton of @name unless it is the cached one. */
static int set_name(KeyPart *part, Span name) {
        int r;

        if (part->has_name && span_equal(buffer_span(&part->name), name))
                return 0;
        part->has_name = false;
        buffer_clear(&part->name);
        buffer_clear(&part->skeleton);
        buffer_append(&part->name, name.bytes, name.n);
        part->is_flat = part->flatten && cgroup_flatten(part->flatten, name, &part->flat);
        if (part->has_census && !part->is_flat && part->of == KEY_PART_CGROUP)
                cgroup_append_skeleton(&part->skeleton, name);
        else if (part->has_census && !part->is_flat)
                pattern_append_skeleton(&part->skeleton, name);
        r = buffer_failure(&part->name);
        if (r == 0)
                r = buffer_failure(&part->skeleton);
        part->has_name = r == 0;
        return r;
}

int key_part_census(KeyPart *part, Span name) {
        int r;

        if (!part->has_census || (part->has_name && span_equal(buffer_span(&part->name), name)))
                return 0;
        r = set_name(part, name);
        if (r != 0 || part->is_flat)
                return r;
        return key_census_add(&part->census, buffer_span(&part->skeleton), name);
}

int key_part_make(KeyPart *part, Span name, Span *ret) {
        size_t number;
        int r;

        *ret = name;
        if (!part->has_census && !part->flatten)
                return 0;
        r = set_name(part, name);
        if (r != 0)
                return r;
        if (part->is_flat) {
                *ret = part->flat;
        } else if (part->has_census) {
                number = name_set_find(&part->census.skeletons, buffer_span(&part->skeleton));
                if (number != INDEX_NONE && part->census.firsts[number] == SHARED)
                        *ret = buffer_span(&part->skeleton);
        }
        return 0;
}

int key_part_resolve(KeyPart *part, Span text, Span *ret) {
        if (part->has_census && key_census_find(&part->census, text, ret))
                return 0;
        return key_part_make(part, text, ret);
}

void thread_keys_init(ThreadKeys *keys, const View *view, Boots boots) {
        /* The names that the key of an axis is made of; of a thread it is none of these. */
        static const struct {
                unsigned n;
                KeyPartName names[THREAD_KEY_MAX_PARTS];
        } axes[_VIEW_AXIS_MAX] = {
                [VIEW_AXIS_PCOMM] = { 1, { KEY_PART_PROCESS } },
                [VIEW_AXIS_COMM] = { 1, { KEY_PART_THREAD } },
                [VIEW_AXIS_COMM_EXACT] = { 1, { KEY_PART_THREAD } },
                [VIEW_AXIS_COMMAND] = { 1, { KEY_PART_COMMAND } },
                [VIEW_AXIS_CGROUP] = { 1, { KEY_PART_CGROUP } },
                [VIEW_AXIS_ALL] = { 3, { KEY_PART_CGROUP, KEY_PART_PROCESS, KEY_PART_THREAD } },
        };

        *keys = (ThreadKeys){ .axis = view->axis, .boots = boots };
        while (keys->n_parts < axes[view->axis].n) {
                KeyPart *part = &keys->parts[keys->n_parts];
                KeyPartName name = axes[view->axis].names[keys->n_parts];
                bool patterns =
                        name == KEY_PART_CGROUP
                                ? view->cgroup_normalize
                                : view->thread_normalize && view->axis != VIEW_AXIS_COMM_EXACT;

                key_part_init(part, name, view, patterns);
                keys->n_parts++;
                keys->has_census = keys->has_census || patterns;
                keys->has_patterns = keys->has_patterns || patterns || part->flatten;
                if (name == KEY_PART_CGROUP)
                        keys->cgroup = part;
        }
}

void thread_keys_done(ThreadKeys *keys) {
        for (unsigned i = 0; i < keys->n_parts; i++)
                key_part_done(&keys->parts[i]);
        keys->n_parts = 0;
        buffer_done(&keys->text);
}

/*
 * Within one boot, pid, tid and start identify a thread even if it renames itself. No thread
 * survives a reboot, so across two boots the side is part of the id. If the boots are not known,
 * the names are part of the id too, which makes a coincidence unlikely.
 */
static int make_thread_key(ThreadKeys *keys, Side side, const ThreadSample *sample,
                           ThreadKey *ret) {
        const uint64_t life[] = { (uint64_t) sample->tgid, (uint64_t) sample->tid,
                                  sample->start_ticks };
        const Span names[] = { sample->pcomm, sample->comm };
        size_t n_life, n_label;
        int r;

        buffer_clear(&keys->text);
        for (size_t i = 0; i < ELEMENTSOF(life); i++) {
                if (i > 0)
                        buffer_append_byte(&keys->text, KEY_JOINT);
                buffer_append_u64(&keys->text, life[i]);
        }
        n_life = keys->text.n;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                buffer_append_byte(&keys->text, KEY_JOINT);
                buffer_append(&keys->text, names[i].bytes, names[i].n);
        }
        n_label = keys->text.n;
        r = buffer_append_byte(&keys->text, (char) ('0' + side));
        if (r != 0)
                return r;

        *ret = (ThreadKey){ .label = { keys->text.bytes, n_label }, .n_process = sample->pcomm.n };
        switch (keys->boots) {
        case BOOTS_UNKNOWN:
                ret->id = ret->label;
                break;
        case BOOTS_SAME:
                ret->id = (Span){ keys->text.bytes, n_life };
                break;
        case BOOTS_DIFFERENT:
                ret->id = buffer_span(&keys->text);
                break;
        }
        return 0;
}

int thread_key_append_lengths(Buffer *label, size_t n_cgroup, size_t n_process) {
        size_t n_joints = 0;

        for (size_t i = 0; i < label->n; i++)
                n_joints += label->bytes[i] == KEY_JOINT;
        if (n_joints == THREAD_KEY_MAX_PARTS - 1)
                return buffer_failure(label);
        return buffer_append_format(label, "%c%zu,%zu", '\0', n_cgroup, n_process);
}

/* Joins several parts. Groups differ most in the last one. */
static int join_parts(ThreadKeys *keys, const ThreadSample *sample, ThreadKey *ret) {
        Span parts[THREAD_KEY_MAX_PARTS] = { { NULL, 0 } };
        size_t n_label;
        int r;

        buffer_clear(&keys->text);
        for (unsigned i = 0; i < keys->n_parts; i++) {
                r = key_part_make(&keys->parts[i], key_part_name(&keys->parts[i], sample),
                                  &parts[i]);
                if (r != 0)
                        return r;
                if (i > 0)
                        buffer_append_byte(&keys->text, KEY_JOINT);
                buffer_append(&keys->text, parts[i].bytes, parts[i].n);
        }
        n_label = keys->text.n;
        r = thread_key_append_lengths(&keys->text, parts[0].n, parts[1].n);
        if (r != 0)
                return r;
        *ret = (ThreadKey){ .id = buffer_span(&keys->text),
                            .label = { keys->text.bytes, n_label } };
        ret->name = key_part_name(&keys->parts[keys->n_parts - 1], sample);
        ret->is_pattern = !span_equal(parts[keys->n_parts - 1], ret->name);
        ret->n_cgroup = parts[0].n;
        ret->n_process = parts[1].n;
        return 0;
}

int thread_keys_make(ThreadKeys *keys, Side side, const ThreadSample *sample, ThreadKey *ret) {
        Span name, key;
        int r;

        if (keys->n_parts == 0)
                return make_thread_key(keys, side, sample, ret);
        if (keys->n_parts > 1)
                return join_parts(keys, sample, ret);
        name = key_part_name(&keys->parts[0], sample);
        r = key_part_make(&keys->parts[0], name, &key);
        if (r != 0)
                return r;
        *ret = (ThreadKey){ .id = key, .label = key, .name = name };
        ret->is_pattern = !span_equal(key, name);
        return 0;
}
