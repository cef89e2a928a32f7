/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/pairing/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/name-set.h"
#include "analysis/key/thread-key.h"

/* kinds of threads */

void kind_set_done(KindSet *set) {
        free(set->kinds);
        *set = (KindSet){ .kinds = NULL };
}

static int by_number(const void *a, const void *b) {
        uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;

        return (left > right) - (left < right);
}

void kind_set_settle(KindSet *set) {
        size_t last = 0;

        if (set->n == 0)
                return;
        qsort(set->kinds, set->n, sizeof(*set->kinds), by_number);
        for (size_t i = 1; i < set->n; i++)
                if (set->kinds[i] != set->kinds[last])
                        set->kinds[++last] = set->kinds[i];
        set->n = last + 1;
}

/* A full set is settled first; it grows only if that did not free half of it. */
int kind_set_add(KindSet *set, uint64_t kind) {
        int r;

        if (set->n > 0 && set->kinds[set->n - 1] == kind)
                return 0;
        if (set->n == set->n_allocated) {
                kind_set_settle(set);
                if (set->n * 2 >= set->n_allocated) {
                        r = ARRAY_RESERVE(set->kinds, set->n_allocated, set->n_allocated + 1);
                        if (r != 0)
                                return r;
                }
        }
        set->kinds[set->n++] = kind;
        return 0;
}

uint64_t kind_set_shared(const KindSet *a, const KindSet *b) {
        uint64_t n = 0;

        for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
                uint64_t left = a->kinds[i], right = b->kinds[j];

                n += left == right;
                i += left <= right;
                j += right <= left;
        }
        return n;
}

/* roots of cgroups */

/* The length of the last component of @path including its slash; 0 when there is none. */
static size_t tail_of(Span path) {
        for (size_t n = 1; n <= path.n; n++)
                if (path.bytes[path.n - n] == '/')
                        return n;
        return 0;
}

void cgroup_roots(Span before, Span after, Span *ret_before, Span *ret_after) {
        *ret_before = before;
        *ret_after = after;
        for (;;) {
                size_t n = tail_of(before);

                if (n == 0 || n != tail_of(after) ||
                    memcmp(before.bytes + before.n - n, after.bytes + after.n - n, n) != 0)
                        break;
                before.n -= n;
                after.n -= n;
        }
        if (before.n == 0 || after.n == 0)
                return;
        *ret_before = before;
        *ret_after = after;
}

bool cgroup_is_below(Span path, Span root, Span *ret_rest) {
        if (path.n < root.n || memcmp(path.bytes, root.bytes, root.n) != 0 ||
            (path.n > root.n && path.bytes[root.n] != '/'))
                return false;
        *ret_rest = (Span){ path.bytes + root.n, path.n - root.n };
        return true;
}

int cgroup_append_moved(Buffer *name, Span root, Span rest) {
        buffer_append(name, root.bytes, root.n);
        return buffer_append(name, rest.bytes, rest.n);
}

/* One cgroup; the id of the group is its key. */
typedef struct Cgroup {
        const Group *group;
        KindSet sides[SIDES];
        bool paired;
} Cgroup;

/* The numbers stand for the keys of the roots. */
typedef struct Match {
        PairingMatch match;
        size_t before_root_key, after_root_key;
} Match;

struct Pairing {
        KeyPart *keys;    /* borrowed; may be NULL */
        GroupTable table; /* finds keys; its groups have the indices of the cgroups and no sides */
        Cgroup *cgroups;  /* owned */
        size_t n_cgroups;
        size_t n_allocated;
        Match *matches; /* owned */
        size_t n_matches;
        NameSet roots; /* the keys of the roots of matches */
        Buffer skeleton;
        NameSet kinds; /* the skeletons of all threads; their numbers are in the sides */
};

/* life */

int pairing_new(KeyPart *keys, Pairing **ret) {
        Pairing *pairing = calloc(1, sizeof(*pairing));

        if (!pairing)
                return -ENOMEM;
        pairing->keys = keys;
        *ret = pairing;
        return 0;
}

Pairing *pairing_free(Pairing *pairing) {
        if (!pairing)
                return NULL;
        for (size_t i = 0; i < pairing->n_cgroups; i++)
                for (unsigned side = 0; side < SIDES; side++)
                        kind_set_done(&pairing->cgroups[i].sides[side]);
        free(pairing->cgroups);
        free(pairing->matches);
        buffer_done(&pairing->skeleton);
        name_set_done(&pairing->kinds);
        name_set_done(&pairing->roots);
        group_table_done(&pairing->table);
        free(pairing);
        return NULL;
}

/* threads */

int pairing_add(Pairing *pairing, Span cgroup, unsigned side, const ThreadSample *sample) {
        Group *group;
        size_t kind;
        int r;

        if (cgroup.n == 0)
                return 0; /* the cgroup of these threads is not known */
        r = group_table_obtain(&pairing->table, cgroup, &group);
        if (r != 0)
                return r;
        if (pairing->table.n_groups > pairing->n_cgroups) {
                r = ARRAY_RESERVE(pairing->cgroups, pairing->n_allocated, pairing->n_cgroups + 1);
                if (r != 0)
                        return r;
                pairing->cgroups[pairing->n_cgroups++] = (Cgroup){ .group = group };
        }
        buffer_clear(&pairing->skeleton);
        pattern_append_skeleton(&pairing->skeleton, sample->pcomm);
        buffer_append_byte(&pairing->skeleton, '\0'); /* no name contains it */
        r = pattern_append_skeleton(&pairing->skeleton, sample->comm);
        if (r == 0)
                r = name_set_add(&pairing->kinds, buffer_span(&pairing->skeleton), &kind);
        if (r == 0)
                r = kind_set_add(&pairing->cgroups[group->index].sides[side], kind);
        return r;
}

/* matches */

typedef struct Candidate {
        Cgroup *before, *after;
        uint64_t n_shared, n_all;
} Candidate;

static Span key_of(const Cgroup *cgroup) {
        return group_key(cgroup->group);
}

static bool is_only(const Cgroup *cgroup, unsigned side) {
        return !cgroup->paired && cgroup->sides[side].n > 0 && cgroup->sides[1 - side].n == 0;
}

static Candidate weigh(Cgroup *before, Cgroup *after) {
        const KindSet *left = &before->sides[0], *right = &after->sides[1];
        uint64_t n_shared = kind_set_shared(left, right);

        return (Candidate){ before, after, n_shared, left->n + right->n - n_shared };
}

/* Best first. The numbers count threads, so products cannot overflow. */
static int by_match(const void *a, const void *b) {
        const Candidate *left = a, *right = b;
        uint64_t left_share = left->n_shared * right->n_all;
        uint64_t right_share = right->n_shared * left->n_all;
        int r;

        if (left_share != right_share)
                return left_share > right_share ? -1 : 1;
        if (left->n_shared != right->n_shared)
                return left->n_shared > right->n_shared ? -1 : 1;
        r = span_compare(key_of(left->before), key_of(right->before));
        return r != 0 ? r : span_compare(key_of(left->after), key_of(right->after));
}

static int by_key(const void *a, const void *b) {
        return span_compare(key_of(*(Cgroup *const *) a), key_of(*(Cgroup *const *) b));
}

/* The key of a cgroup of that path, which need not exist; borrowed as by key_part_resolve(). */
static int resolve(const Pairing *pairing, Span path, Span *ret) {
        *ret = path;
        return pairing->keys ? key_part_resolve(pairing->keys, path, ret) : 0;
}

static int add_root(Pairing *pairing, Span root, size_t *ret) {
        Span key;
        int r = resolve(pairing, root, &key);

        return r == 0 ? name_set_add(&pairing->roots, key, ret) : r;
}

/* Adds a match with its roots; the cgroups are set by pair(). */
static int add_match(Pairing *pairing, const PairingMatch *match) {
        Match added = { .match = *match };
        int r;

        r = add_root(pairing, match->before_root, &added.before_root_key);
        if (r == 0)
                r = add_root(pairing, match->after_root, &added.after_root_key);
        if (r == 0)
                pairing->matches[pairing->n_matches++] = added;
        return r;
}

static int pair(Pairing *pairing, const Candidate *candidate, const PairingMatch *roots) {
        PairingMatch match = *roots;

        candidate->before->paired = candidate->after->paired = true;
        match.before = key_of(candidate->before);
        match.after = key_of(candidate->after);
        match.n_shared = candidate->n_shared;
        match.n_all = candidate->n_all;
        return add_match(pairing, &match);
}

static int take(Pairing *pairing, const Candidate *candidate) {
        PairingMatch match = { .by = PAIRING_CONTENT };

        if (candidate->before->paired || candidate->after->paired)
                return 0;
        cgroup_roots(key_of(candidate->before), key_of(candidate->after), &match.before_root,
                     &match.after_root);
        return pair(pairing, candidate, &match);
}

/* True if @key is at or below the later root of @match; finds the earlier root and the rest. */
static bool is_moved(const Pairing *pairing, const Match *match, Span key, Span *ret_root,
                     Span *ret_rest) {
        *ret_root = match->match.before_root;
        if (cgroup_is_below(key, match->match.after_root, ret_rest))
                return true;
        *ret_root = name_set_get(&pairing->roots, match->before_root_key);
        return cgroup_is_below(key, name_set_get(&pairing->roots, match->after_root_key), ret_rest);
}

/* Finds the cgroup of a key that is on @side only; else NULL. */
static Cgroup *find_only(Pairing *pairing, Span key, unsigned side) {
        const Group *group = group_table_find(&pairing->table, key);
        Cgroup *cgroup = group ? &pairing->cgroups[group->index] : NULL;

        return cgroup && is_only(cgroup, side) ? cgroup : NULL;
}

static int take_stated(Pairing *pairing, const ViewTexts *pairs) {
        for (unsigned i = 0; i + 1 < pairs->n; i += 2) {
                Span old = view_texts_get(pairs, i), new = view_texts_get(pairs, i + 1);
                PairingMatch match = { .by = PAIRING_STATED,
                                       .before_root = old,
                                       .after_root = new };
                Cgroup *before = find_only(pairing, old, 0);
                Cgroup *after = find_only(pairing, new, 1);
                Candidate candidate;
                int r;

                if (!before || !after)
                        continue;
                candidate = weigh(before, after);
                r = pair(pairing, &candidate, &match);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* children of paired cgroups */

/* Pairs cgroups of one side only below the roots of @match; tells whether there were any. */
static int take_children(Pairing *pairing, const Match *match, bool *ret_any) {
        PairingMatch child = match->match;

        child.by = PAIRING_PARENT;
        *ret_any = false;
        for (size_t i = 0; i < pairing->n_cgroups; i++) {
                Cgroup *after = &pairing->cgroups[i], *before;
                Span root, rest, key;
                Candidate candidate;
                int r;

                if (!is_only(after, 1) || !is_moved(pairing, match, key_of(after), &root, &rest))
                        continue;
                buffer_clear(&pairing->skeleton);
                r = cgroup_append_moved(&pairing->skeleton, root, rest);
                if (r == 0)
                        r = resolve(pairing, buffer_span(&pairing->skeleton), &key);
                if (r != 0)
                        return r;
                before = find_only(pairing, key, 0);
                if (!before)
                        continue;
                candidate = weigh(before, after);
                r = pair(pairing, &candidate, &child);
                if (r != 0)
                        return r;
                *ret_any = true;
        }
        return 0;
}

/* Adds the pairs of the view whose cgroups have no threads of their own. */
static int take_stated_roots(Pairing *pairing, const ViewTexts *pairs) {
        for (unsigned i = 0; i + 1 < pairs->n; i += 2) {
                PairingMatch match = {
                        .before = view_texts_get(pairs, i),
                        .after = view_texts_get(pairs, i + 1),
                        .by = PAIRING_STATED,
                };
                size_t at = pairing->n_matches;
                bool any, taken = false;
                Match root;
                int r;

                for (size_t k = 0; k < at && !taken; k++)
                        taken = pairing->matches[k].match.by == PAIRING_STATED &&
                                span_equal(pairing->matches[k].match.after_root, match.after);
                if (taken)
                        continue;
                match.before_root = match.before;
                match.after_root = match.after;
                r = add_match(pairing, &match);
                if (r != 0)
                        return r;
                root = pairing->matches[at];
                r = take_children(pairing, &root, &any);
                if (r != 0)
                        return r;
                if (!any)
                        pairing->n_matches = at;
        }
        return 0;
}

static int take_all_children(Pairing *pairing) {
        size_t n_parents = pairing->n_matches;

        for (size_t i = 0; i < n_parents; i++) {
                Match match = pairing->matches[i];
                bool any;
                int r;

                if (match.match.by == PAIRING_PARENT)
                        continue;
                r = take_children(pairing, &match, &any);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Lists the cgroups of one side only, sorted by key. */
static size_t list_only(Pairing *pairing, unsigned side, Cgroup **ret) {
        size_t n = 0;

        for (size_t i = 0; i < pairing->n_cgroups; i++)
                if (is_only(&pairing->cgroups[i], side) &&
                    pairing->cgroups[i].sides[side].n >= PAIRING_MIN_SHARED)
                        ret[n++] = &pairing->cgroups[i];
        qsort(ret, n, sizeof(*ret), by_key);
        return n;
}

/*
 * Visits every pair that may match. Equal sets cannot be matched better: the first visit pairs them
 * at once, so that a host full of equal containers does not fill the list of candidates.
 */
static int take_found(Pairing *pairing) {
        Cgroup **befores = calloc(pairing->n_cgroups + 1, sizeof(*befores));
        Cgroup **afters = calloc(pairing->n_cgroups + 1, sizeof(*afters));
        Candidate *candidates = calloc(PAIRING_MAX_MATCHES, sizeof(*candidates)), candidate;
        int r = befores && afters && candidates ? 0 : -ENOMEM;
        size_t n = r == 0 ? list_only(pairing, 0, befores) : 0, n_candidates = 0;
        size_t n_afters = r == 0 ? list_only(pairing, 1, afters) : 0;

        for (size_t visit = 0; visit < 2 * n && r == 0; visit++)
                for (size_t j = 0; j < n_afters && !befores[visit % n]->paired && r == 0; j++) {
                        Cgroup *before = befores[visit % n], *after = afters[j];
                        uint64_t left = before->sides[0].n, right = after->sides[1].n;

                        /* Sets of too different sizes cannot share nine tenths. */
                        if (after->paired || MIN_OF(left, right) * 10 < MAX_OF(left, right) * 9)
                                continue;
                        candidate = weigh(before, after);
                        if (candidate.n_shared < PAIRING_MIN_SHARED ||
                            candidate.n_shared * 10 < candidate.n_all * 9)
                                continue;
                        if (visit < n && candidate.n_shared == candidate.n_all)
                                r = take(pairing, &candidate);
                        else if (visit >= n && n_candidates < PAIRING_MAX_MATCHES)
                                candidates[n_candidates++] = candidate;
                }
        if (r == 0)
                qsort(candidates, n_candidates, sizeof(*candidates), by_match);
        for (size_t i = 0; i < n_candidates && r == 0; i++)
                r = take(pairing, &candidates[i]);
        free(candidates);
        free(afters);
        free(befores);
        return r;
}

int pairing_match(Pairing *pairing, const View *view) {
        size_t n_matches = pairing->n_cgroups + view->pairs.n + 1;
        int r;

        pairing->matches = calloc(n_matches, sizeof(*pairing->matches));
        if (!pairing->matches)
                return -ENOMEM;
        for (size_t i = 0; i < pairing->n_cgroups; i++)
                for (unsigned side = 0; side < SIDES; side++)
                        kind_set_settle(&pairing->cgroups[i].sides[side]);
        /* Stated pairs take precedence over found ones, also below them. */
        r = take_stated(pairing, &view->pairs);
        if (r != 0)
                return r;
        r = take_stated_roots(pairing, &view->pairs);
        if (r != 0)
                return r;
        r = take_all_children(pairing);
        if (r != 0 || !view->pairing)
                return r;
        r = take_found(pairing);
        return r != 0 ? r : take_all_children(pairing);
}

size_t pairing_n(const Pairing *pairing) {
        return pairing->n_matches;
}

const PairingMatch *pairing_get(const Pairing *pairing, size_t index) {
        return &pairing->matches[index].match;
}

size_t pairing_write_json(const Pairing *pairing, JsonWriter *writer) {
        static const char *const origins[] = { [PAIRING_STATED] = "stated",
                                               [PAIRING_CONTENT] = "content",
                                               [PAIRING_PARENT] = "parent" };
        size_t n = 0, first_byte = writer->buffer->n;

        json_write_array(writer);
        for (unsigned parents = 0; parents < 2; parents++)
                for (size_t i = 0; pairing && i < pairing->n_matches && n < PAIRING_MAX_WRITTEN &&
                                   writer->buffer->n - first_byte < PAIRING_MAX_WRITTEN_BYTES;
                     i++) {
                        const PairingMatch *match = &pairing->matches[i].match;

                        if ((match->by == PAIRING_PARENT) != parents)
                                continue;
                        n++;
                        json_write_object(writer);
                        json_write_member_name(writer, "before", match->before);
                        json_write_member_name(writer, "after", match->after);
                        json_write_member_name(writer, "by", span_of(origins[match->by]));
                        json_write_member_name(writer, "beforeRoot", match->before_root);
                        json_write_member_name(writer, "afterRoot", match->after_root);
                        json_write_member_u64(writer, "shared", match->n_shared);
                        json_write_key(writer, "jaccard");
                        if (match->n_all > 0)
                                json_write_double(writer,
                                                  (double) match->n_shared / (double) match->n_all);
                        else
                                json_write_null(writer);
                        json_write_end(writer);
                }
        json_write_end(writer);
        return n;
}

int pairing_append_old_name(const Pairing *pairing, Span key, Buffer *name) {
        _cleanup_(buffer_done) Buffer moved = { .bytes = NULL };
        Span root, rest, best_root = { NULL, 0 }, best_rest = { NULL, 0 }, old;
        int r;

        for (size_t i = 0; i < pairing->n_matches; i++) {
                const Match *match = &pairing->matches[i];

                if (span_equal(match->match.after, key))
                        return buffer_append(name, match->match.before.bytes,
                                             match->match.before.n);
                /* The deepest root is the nearest. */
                if (is_moved(pairing, match, key, &root, &rest) &&
                    (!best_root.bytes || rest.n < best_rest.n)) {
                        best_root = root;
                        best_rest = rest;
                }
        }
        if (!best_root.bytes)
                return 0;
        r = cgroup_append_moved(&moved, best_root, best_rest);
        if (r == 0)
                r = resolve(pairing, buffer_span(&moved), &old);
        return r == 0 ? buffer_append(name, old.bytes, old.n) : r;
}
