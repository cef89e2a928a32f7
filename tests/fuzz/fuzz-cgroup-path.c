/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of cgroups and names of threads on their way to a key: globs against a naive matcher that
 * tries everything, skeletons against what they promise, and the keys that threads get by them.
 *
 * Aims at: protocol/view/glob.c daemon/analysis/key/thread-key.c
 *          daemon/analysis/key/thread-key.c
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "analysis/key/thread-key.h"
#include "base/name.h"
#include "view/glob.h"
#include "view/view.h"
#include "view/view-part.h"
#include "oracle.h"

#define NAIVE_MAX_BYTES 64 /* of a glob and of a text: what trying everything can take */
#define MAX_SAMPLES 24

/* globs, the naive way */

/* The position behind the set that opens at @at, 0 when it is not closed. */
static size_t naive_set_end(Span glob, size_t at) {
        size_t first = at + 1;

        if (first < glob.n && strchr("!^", glob.bytes[first]) && glob.bytes[first] != '\0')
                first++;
        for (size_t end = first + 1; end < glob.n; end++)
                if (glob.bytes[end] == ']')
                        return end + 1;
        return 0;
}

/* A text as its characters: code points, and bytes that belong to none behind all of these. */
typedef struct Characters {
        uint32_t codes[NAIVE_MAX_BYTES];
        size_t n;
} Characters;

static Characters characters_of(Span text) {
        static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        Characters ret = { .n = 0 };

        for (size_t i = 0, n; i < text.n; i += n) {
                const unsigned char *bytes = (const unsigned char *) text.bytes + i;
                uint32_t *code = &ret.codes[ret.n++];

                n = utf8_character((Span){ text.bytes + i, text.n - i });
                *code = n > 0 ? bytes[0] & masks[n] : UINT32_C(0x110000) + bytes[0];
                for (size_t j = 1; j < n; j++)
                        *code = *code << 6 | (bytes[j] & 0x3f);
                n = n > 0 ? n : 1;
        }
        return ret;
}

/* The position behind the set that opens at @at and is closed. */
static size_t naive_set_close(const Characters *glob, size_t at) {
        size_t end = at + 1;

        end += glob->codes[end] == '!' || glob->codes[end] == '^';
        do
                end++;
        while (glob->codes[end] != ']');
        return end + 1;
}

static bool naive_set_has(const Characters *glob, size_t at, size_t end, uint32_t code) {
        const uint32_t *set = glob->codes;
        bool negated = set[at + 1] == '!' || set[at + 1] == '^', found = false;
        size_t i = at + 1 + negated;

        while (i < end - 1) {
                bool range = i + 2 < end - 1 && set[i + 1] == '-';

                found |= set[i] <= code && code <= set[range ? i + 2 : i];
                i += range ? 3 : 1;
        }
        return found != negated;
}

static bool is_stars(Span glob, size_t at) {
        return at + 1 < glob.n && glob.bytes[at] == '*' && glob.bytes[at + 1] == '*';
}

static Span drop(Span text, size_t n) {
        return (Span){ text.bytes + n, text.n - n };
}

/* What is known of "does the glob from here match the text from there". */
typedef enum Known { KNOWN_NOTHING, KNOWN_NO, KNOWN_YES } Known;

typedef struct Naive {
        Characters glob, text;
        bool is_path;
        Known known[NAIVE_MAX_BYTES + 1][NAIVE_MAX_BYTES + 1];
} Naive;

static bool matches_from(Naive *naive, size_t at, size_t i);

/* "**" and its '/' stand for nothing, or for a component and its '/' and again; at the end for all
 * that is left. */
static bool stars_match(Naive *naive, size_t at, size_t i) {
        if (at + 2 == naive->glob.n)
                return i < naive->text.n;
        if (matches_from(naive, at + 3, i))
                return true;
        for (size_t end = i; end < naive->text.n; end++)
                if (naive->text.codes[end] == '/')
                        return end > i && matches_from(naive, at, end + 1);
        return false;
}

static bool try_match(Naive *naive, size_t at, size_t i) {
        const Characters *glob = &naive->glob, *text = &naive->text;
        bool is_slash = i < text->n && naive->is_path && text->codes[i] == '/';
        size_t end;

        if (at == glob->n)
                return i == text->n;
        if (naive->is_path && at + 1 < glob->n && glob->codes[at] == '*' &&
            glob->codes[at + 1] == '*')
                return stars_match(naive, at, i);
        if (glob->codes[at] == '*')
                return matches_from(naive, at + 1, i) ||
                       (i < text->n && !is_slash && matches_from(naive, at, i + 1));
        if (i == text->n)
                return false;
        switch (glob->codes[at]) {
        case '[':
                end = naive_set_close(glob, at);
                return !is_slash && naive_set_has(glob, at, end, text->codes[i]) &&
                       matches_from(naive, end, i + 1);
        case '?':
                return !is_slash && matches_from(naive, at + 1, i + 1);
        default:
                return glob->codes[at] == text->codes[i] && matches_from(naive, at + 1, i + 1);
        }
}

static bool matches_from(Naive *naive, size_t at, size_t i) {
        Known *known = &naive->known[at][i];

        if (*known == KNOWN_NOTHING)
                *known = try_match(naive, at, i) ? KNOWN_YES : KNOWN_NO;
        return *known == KNOWN_YES;
}

static bool naive_matches(Span glob, Span text, bool is_path) {
        Naive naive = {
                .glob = characters_of(glob),
                .text = characters_of(text),
                .is_path = is_path,
        };

        return matches_from(&naive, 0, 0);
}

/* Every '[' is closed; and in a path a "**" stands between slashes or at an end. */
static bool naive_is_glob(Span glob, bool is_path) {
        size_t start = 0;

        for (size_t at = 0; at < glob.n;) {
                if (glob.bytes[at] == '[') {
                        at = naive_set_end(glob, at);
                        if (at == 0)
                                return false;
                        continue;
                }
                if (is_path && is_stars(glob, at) &&
                    (at != start || (at + 2 < glob.n && glob.bytes[at + 2] != '/')))
                        return false;
                if (glob.bytes[at++] == '/')
                        start = at;
        }
        return glob.n > 0 && glob.n <= GLOB_MAX_BYTES;
}

static void check_glob(Span glob, Span text, bool is_path) {
        int r = is_path ? glob_check_path(glob) : glob_check_text(glob);
        bool matches;

        fuzz_expect((r == 0) == naive_is_glob(glob, is_path), "a glob is well-formed or it is not");
        if (r != 0) {
                fuzz_expect(glob_fault(r) != NULL, "what is wrong has words");
                return;
        }
        matches = is_path ? glob_matches_path(glob, text) : glob_matches_text(glob, text);
        if (glob.n <= NAIVE_MAX_BYTES && text.n <= NAIVE_MAX_BYTES)
                fuzz_expect(matches == naive_matches(glob, text, is_path),
                            "\"%.*s\" against \"%.*s\" is %d", (int) glob.n, glob.bytes,
                            (int) text.n, text.bytes, !matches);
}

static void check_globs(FuzzInput input) {
        Span glob = fuzz_take_until(&input, '\n'), text = fuzz_take_rest(&input);

        check_glob(glob, text, true);
        check_glob(glob, text, false);
}

/* skeletons */

typedef int (*Skeleton)(Buffer *buffer, Span name);

/* The skeleton alone; @buffer is borrowed by it. */
static Span skeleton_of(Skeleton append, Span name, Buffer *buffer) {
        buffer_clear(buffer);
        fuzz_expect(append(buffer, name) == 0, "there is memory for a skeleton");
        return buffer_span(buffer);
}

/* The same name with other digits, but for 0, which begins "0x". */
static void renumber(char *bytes, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (bytes[i] >= '1' && bytes[i] <= '9')
                        bytes[i] = (char) ('1' + (bytes[i] - '0') % 9);
}

static void check_skeleton(Skeleton append, Span name) {
        _cleanup_(buffer_done) Buffer buffer = {}, other = {};
        _cleanup_(freep) char *renumbered = fuzz_copy(name);
        Span skeleton = skeleton_of(append, name, &buffer), again;

        fuzz_expect(skeleton.n <= 3 * name.n, "a skeleton is at most three times as long");
        for (size_t i = 0; i < skeleton.n; i++)
                fuzz_expect(skeleton.bytes[i] < '0' || skeleton.bytes[i] > '9' ||
                                    (skeleton.n - i >= 5 &&
                                     memcmp(skeleton.bytes + i, "0x{H}", 5) == 0),
                            "a skeleton has no digit but the one of 0x{H}");
        renumber(renumbered, name.n);
        again = skeleton_of(append, (Span){ renumbered, name.n }, &other);
        fuzz_expect(span_equal(skeleton, again), "other numbers have the same skeleton");
        /* A name may be "0x{H}", whose 0 is a number then, or an instance without its UUID. */
        if (append != pattern_append_skeleton ||
            memmem(skeleton.bytes ? skeleton.bytes : "", skeleton.n, "0x", 2))
                return;
        again = skeleton_of(append, skeleton, &other);
        fuzz_expect(span_equal(skeleton, again), "the skeleton of a skeleton is itself");
}

/* "name@" of "name@instance.service", when there is no structure in the instance. */
static bool find_service(Span component, Span *ret_name) {
        Span name, rest;

        if (!oracle_split(component, '@', &name, &rest) || rest.n <= 8 ||
            memcmp(rest.bytes + rest.n - 8, ".service", 8) != 0)
                return false;
        for (size_t i = 0; i < rest.n - 8; i++)
                if (rest.bytes[i] == '.' || rest.bytes[i] == '_' || rest.bytes[i] == '-')
                        return false;
        *ret_name = (Span){ name.bytes, name.n + 1 };
        return true;
}

/* Components have their own skeletons, or that of an instance, and slashes stay. */
static void check_path_skeleton(Span path) {
        _cleanup_(buffer_done) Buffer buffer = {}, part = {}, expected = {};
        Span own, rest = path, component = path;

        for (bool more = true; more;) {
                more = oracle_split(rest, '/', &component, &rest);
                if (!more)
                        component = rest;
                if (find_service(component, &own)) {
                        own = skeleton_of(pattern_append_skeleton, own, &part);
                        fuzz_expect(buffer_append(&expected, own.bytes, own.n) == 0 &&
                                            buffer_append_text(&expected, "{I}.service") == 0,
                                    "there is memory for a skeleton");
                } else {
                        own = skeleton_of(pattern_append_skeleton, component, &part);
                        fuzz_expect(buffer_append(&expected, own.bytes, own.n) == 0,
                                    "there is memory for a skeleton");
                }
                fuzz_expect(!more || buffer_append_byte(&expected, '/') == 0,
                            "there is memory for a slash");
        }
        fuzz_expect(span_equal(skeleton_of(cgroup_append_skeleton, path, &buffer),
                               buffer_span(&expected)),
                    "a path's skeleton is that of its components");
}

static void check_skeletons(FuzzInput input) {
        while (input.n > 0) {
                Span name = fuzz_take_until(&input, '\n');

                if (name.n == 0)
                        continue;
                check_skeleton(pattern_append_skeleton, name);
                check_skeleton(cgroup_append_skeleton, name);
                check_path_skeleton(name);
        }
}

/* keys */

typedef struct Threads {
        ThreadSample samples[MAX_SAMPLES];
        unsigned n;
} Threads;

/* A line a thread: cgroup, tab, process, tab, thread. */
static void take_threads(FuzzInput *input, Threads *ret) {
        ret->n = 0;
        while (input->n > 0 && ret->n < MAX_SAMPLES) {
                Span line = fuzz_take_until(input, '\n');
                FuzzInput names = { line.bytes, line.n };

                ret->samples[ret->n++] = (ThreadSample){
                        .tgid = 1 + (pid_t) ret->n / 2,
                        .tid = 1 + (pid_t) ret->n,
                        .start_ticks = ret->n,
                        .cgroup = fuzz_take_until(&names, '\t'),
                        .pcomm = fuzz_take_until(&names, '\t'),
                        .comm = fuzz_take_rest(&names),
                };
        }
}

static void take_view(FuzzInput *input, View *ret) {
        char complaint[VIEW_COMPLAINT_BYTES];
        uint8_t bits = fuzz_take_u8(input);

        view_init(ret);
        ret->axis = bits % _VIEW_AXIS_MAX;
        ret->thread_normalize = bits & 0x40;
        ret->cgroup_normalize = bits & 0x80;
        for (unsigned n = fuzz_take_u8(input) % 4; n > 0; n--)
                if (view_set(ret, VIEW_PART_cgroup_flatten, fuzz_take_until(input, '\n'),
                             complaint) != VIEW_OK)
                        fuzz_expect(complaint[0] != '\0', "what is wrong has words");
}

static void expect_name_or_pattern(Span key, Span name, bool is_cgroup, const View *view) {
        _cleanup_(buffer_done) Buffer buffer = {};
        Span glob;

        if (span_equal(key, name))
                return;
        if (is_cgroup && cgroup_flatten(&view->cgroup_flatten, name, &glob)) {
                fuzz_expect(span_equal(key, glob), "a path that a glob matches is the glob");
                return;
        }
        fuzz_expect(is_cgroup ? view->cgroup_normalize : view->thread_normalize,
                    "a name that is not normalised stays");
        fuzz_expect(span_equal(key, skeleton_of(is_cgroup ? cgroup_append_skeleton
                                                          : pattern_append_skeleton,
                                                name, &buffer)),
                    "a key is a name or its skeleton");
}

/* Of the axis "all" the parts by their lengths, since names may hold the joint. */
static void check_parts(const ThreadKey *key, const ThreadSample *sample, const View *view) {
        Span thread, process, label = key->label;

        fuzz_expect(key->n_cgroup + key->n_process + 2 <= label.n, "a key has room for its parts");
        fuzz_expect(label.bytes[key->n_cgroup] == KEY_JOINT &&
                            label.bytes[key->n_cgroup + 1 + key->n_process] == KEY_JOINT,
                    "joints are where the lengths say");
        process = (Span){ label.bytes + key->n_cgroup + 1, key->n_process };
        thread = drop(label, key->n_cgroup + key->n_process + 2);
        expect_name_or_pattern((Span){ label.bytes, key->n_cgroup }, sample->cgroup, true, view);
        expect_name_or_pattern(process, sample->pcomm, false, view);
        expect_name_or_pattern(thread, sample->comm, false, view);
}

static void check_key(const ThreadKey *key, const ThreadSample *sample, const View *view) {
        switch (view->axis) {
        case VIEW_AXIS_PCOMM:
                expect_name_or_pattern(key->label, sample->pcomm, false, view);
                break;
        case VIEW_AXIS_COMMAND:
                expect_name_or_pattern(key->label, sample->command_name, false, view);
                break;
        case VIEW_AXIS_COMM:
                expect_name_or_pattern(key->label, sample->comm, false, view);
                break;
        case VIEW_AXIS_COMM_EXACT:
                fuzz_expect(span_equal(key->label, sample->comm), "an exact name stays");
                break;
        case VIEW_AXIS_CGROUP:
                expect_name_or_pattern(key->label, sample->cgroup, true, view);
                break;
        case VIEW_AXIS_ALL:
                check_parts(key, sample, view);
                break;
        case VIEW_AXIS_THREAD:
                fuzz_expect(!key->is_pattern, "a thread is no pattern");
                fuzz_expect(key->label.n >= sample->pcomm.n + sample->comm.n + 2,
                            "a thread's key has its names");
                break;
        case _VIEW_AXIS_MAX:
                break;
        }
}

/* The keys of all threads, each a copy with a NUL behind; owned. */
static void make_keys(const Threads *threads, const View *view, bool backwards,
                      Buffer ret[static MAX_SAMPLES]) {
        ThreadKeys keys;

        thread_keys_init(&keys, view, BOOTS_SAME);
        for (unsigned n = 0; n < threads->n * keys.n_parts; n++) {
                unsigned i = n / keys.n_parts;
                KeyPart *part = &keys.parts[n % keys.n_parts];
                Span name =
                        key_part_name(part, &threads->samples[backwards ? threads->n - 1 - i : i]);

                fuzz_expect(key_part_census(part, name) == 0, "a name can be counted");
        }
        for (unsigned n = 0; n < threads->n; n++) {
                unsigned i = backwards ? threads->n - 1 - n : n;
                ThreadKey key;

                fuzz_expect(thread_keys_make(&keys, n % 2, &threads->samples[i], &key) == 0,
                            "a thread has a key");
                fuzz_expect(!key.is_pattern || keys.has_patterns, "patterns are where they may be");
                check_key(&key, &threads->samples[i], view);
                fuzz_expect(buffer_append(&ret[i], key.id.bytes, key.id.n) == 0, "it can be kept");
        }
        thread_keys_done(&keys);
}

/* In whatever order the threads come, the same ones meet. */
static void check_keys(FuzzInput input) {
        static Threads threads;
        Buffer forwards[MAX_SAMPLES] = {}, backwards[MAX_SAMPLES] = {};
        View view;

        take_view(&input, &view);
        take_threads(&input, &threads);
        make_keys(&threads, &view, false, forwards);
        make_keys(&threads, &view, true, backwards);
        for (unsigned i = 0; i < threads.n; i++) {
                fuzz_expect(span_equal(buffer_span(&forwards[i]), buffer_span(&backwards[i])),
                            "a key does not depend on the order of threads");
                buffer_done(&forwards[i]);
                buffer_done(&backwards[i]);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);

        switch (fuzz_take_u8(&input)) {
        case 'g':
                check_globs(input);
                break;
        case 's':
                check_skeletons(input);
                break;
        case 'k':
                check_keys(input);
                break;
        default:
                break;
        }
        return 0;
}
