/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "compare/pattern.h"

#define FIRST_KINDS 16

/* Hashes of kinds; sorted and distinct once settled. */
typedef struct KindSet {
        uint64_t *kinds; /* owned */
        size_t n_kinds;
        size_t n_allocated;
} KindSet;

/* One cgroup; the group's id is its key. */
typedef struct Cgroup {
        const Group *group;
        KindSet sides[GROUP_SIDES];
        bool paired;
} Cgroup;

struct Pairing {
        GroupTable table; /* finds keys; its groups have the indices of the cgroups and no sides */
        Cgroup *cgroups;  /* owned */
        size_t n_cgroups;
        size_t n_allocated;
        PairingMatch *matches; /* owned */
        size_t n_matches;
        Buffer skeleton;
};

/* life */

int pairing_new(Pairing **ret) {
        Pairing *pairing = calloc(1, sizeof(*pairing));

        if (!pairing)
                return -ENOMEM;
        *ret = pairing;
        return 0;
}

Pairing *pairing_free(Pairing *pairing) {
        if (!pairing)
                return NULL;
        for (size_t i = 0; i < pairing->n_cgroups; i++)
                for (unsigned side = 0; side < GROUP_SIDES; side++)
                        free(pairing->cgroups[i].sides[side].kinds);
        free(pairing->cgroups);
        free(pairing->matches);
        buffer_done(&pairing->skeleton);
        group_table_done(&pairing->table);
        free(pairing);
        return NULL;
}

/* sets of kinds */

static int by_number(const void *a, const void *b) {
        uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;

        return (left > right) - (left < right);
}

static void settle(KindSet *set) {
        size_t n = 0;

        if (set->n_kinds == 0)
                return;
        qsort(set->kinds, set->n_kinds, sizeof(*set->kinds), by_number);
        for (size_t i = 1; i < set->n_kinds; i++)
                if (set->kinds[i] != set->kinds[n])
                        set->kinds[++n] = set->kinds[i];
        set->n_kinds = n + 1;
}

/* A full set is settled first, and grows only when that did not make it half empty. */
static int add_kind(KindSet *set, uint64_t kind) {
        bool grow = false;

        if (set->n_kinds > 0 && set->kinds[set->n_kinds - 1] == kind)
                return 0;
        if (set->n_kinds == set->n_allocated) {
                settle(set);
                grow = set->n_kinds * 2 >= set->n_allocated;
        }
        if (grow) {
                size_t n_allocated = set->n_allocated > 0 ? set->n_allocated * 2 : FIRST_KINDS;
                uint64_t *kinds = realloc(set->kinds, n_allocated * sizeof(*kinds));

                if (!kinds)
                        return -ENOMEM;
                set->kinds = kinds;
                set->n_allocated = n_allocated;
        }
        set->kinds[set->n_kinds++] = kind;
        return 0;
}

static uint64_t count_shared(const KindSet *a, const KindSet *b) {
        uint64_t n = 0;

        for (size_t i = 0, j = 0; i < a->n_kinds && j < b->n_kinds;) {
                uint64_t left = a->kinds[i], right = b->kinds[j];

                n += left == right;
                i += left <= right;
                j += right <= left;
        }
        return n;
}

/* threads */

static int find_cgroup(Pairing *pairing, Span key, Cgroup **ret) {
        Group *group;
        int r;

        r = group_table_obtain(&pairing->table, key, &group);
        if (r != 0)
                return r;
        if (pairing->table.n_groups > pairing->n_cgroups) {
                if (pairing->n_cgroups == pairing->n_allocated) {
                        size_t n = pairing->n_allocated > 0 ? pairing->n_allocated * 2 : 64;
                        Cgroup *cgroups = realloc(pairing->cgroups, n * sizeof(*cgroups));

                        if (!cgroups)
                                return -ENOMEM;
                        pairing->cgroups = cgroups;
                        pairing->n_allocated = n;
                }
                pairing->cgroups[pairing->n_cgroups++] = (Cgroup){ .group = group };
        }
        *ret = &pairing->cgroups[group->index];
        return 0;
}

int pairing_add(Pairing *pairing, Span cgroup, unsigned side, const ThreadSample *sample) {
        Cgroup *entry;
        int r;

        if (cgroup.n == 0)
                return 0; /* it is not known where these threads are */
        r = find_cgroup(pairing, cgroup, &entry);
        if (r != 0)
                return r;
        buffer_clear(&pairing->skeleton);
        r = pattern_append_skeleton(&pairing->skeleton, sample->pcomm);
        if (r == 0)
                r = buffer_append_byte(&pairing->skeleton, '\0'); /* no name holds one */
        if (r == 0)
                r = pattern_append_skeleton(&pairing->skeleton, sample->comm);
        if (r != 0)
                return r;
        return add_kind(&entry->sides[side],
                        XXH3_64bits(pairing->skeleton.bytes, pairing->skeleton.n));
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
        return !cgroup->paired && cgroup->sides[side].n_kinds > 0 &&
               cgroup->sides[1 - side].n_kinds == 0;
}

static Candidate weigh(Cgroup *before, Cgroup *after) {
        const KindSet *left = &before->sides[0], *right = &after->sides[1];
        uint64_t n_shared = count_shared(left, right);

        return (Candidate){ before, after, n_shared, left->n_kinds + right->n_kinds - n_shared };
}

static bool is_match(const Candidate *candidate) {
        return candidate->n_shared >= PAIRING_MIN_SHARED &&
               candidate->n_shared * 10 >= candidate->n_all * 9;
}

/* Best first. The numbers are those of threads: no product overflows. */
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

static void take(Pairing *pairing, const Candidate *candidate) {
        if (candidate->before->paired || candidate->after->paired)
                return;
        candidate->before->paired = candidate->after->paired = true;
        pairing->matches[pairing->n_matches++] =
                (PairingMatch){ key_of(candidate->before), key_of(candidate->after),
                                candidate->n_shared, candidate->n_all };
}

static Cgroup *find_only(Pairing *pairing, Span key, unsigned side) {
        for (size_t i = 0; i < pairing->n_cgroups; i++)
                if (is_only(&pairing->cgroups[i], side) &&
                    span_equal(key_of(&pairing->cgroups[i]), key))
                        return &pairing->cgroups[i];
        return NULL;
}

static void take_stated(Pairing *pairing, const ViewTexts *pairs) {
        for (unsigned i = 0; i + 1 < pairs->n; i += 2) {
                Cgroup *before = find_only(pairing, view_texts_get(pairs, i), 0);
                Cgroup *after = find_only(pairing, view_texts_get(pairs, i + 1), 1);
                Candidate candidate;

                if (!before || !after)
                        continue;
                candidate = weigh(before, after);
                take(pairing, &candidate);
        }
}

/* Cgroups of one side only, by key. */
static size_t list_only(Pairing *pairing, unsigned side, Cgroup **ret) {
        size_t n = 0;

        for (size_t i = 0; i < pairing->n_cgroups; i++)
                if (is_only(&pairing->cgroups[i], side) &&
                    pairing->cgroups[i].sides[side].n_kinds >= PAIRING_MIN_SHARED)
                        ret[n++] = &pairing->cgroups[i];
        if (n > 1)
                qsort(ret, n, sizeof(*ret), by_key);
        return n;
}

/* Too different in size to share nine tenths, whatever is in them. */
static bool sizes_differ(const Cgroup *before, const Cgroup *after) {
        uint64_t left = before->sides[0].n_kinds, right = after->sides[1].n_kinds;

        return MIN_OF(left, right) * 10 < MAX_OF(left, right) * 9;
}

/* One-sided cgroups with enough in them, by key; and what may be made of them. */
typedef struct Search {
        Cgroup **befores, **afters;
        size_t n_befores, n_afters;
        Candidate *candidates;
        size_t n_candidates;
} Search;

/* Calls @visit for all that may match. */
static void search_each(Pairing *pairing, Search *search,
                        void (*visit)(Pairing *pairing, Search *search, const Candidate *found)) {
        for (size_t i = 0; i < search->n_befores; i++)
                for (size_t j = 0; j < search->n_afters && !search->befores[i]->paired; j++) {
                        Candidate candidate;

                        if (search->afters[j]->paired ||
                            sizes_differ(search->befores[i], search->afters[j]))
                                continue;
                        candidate = weigh(search->befores[i], search->afters[j]);
                        if (is_match(&candidate))
                                visit(pairing, search, &candidate);
                }
}

/*
 * Equal sets cannot be matched better and are paired at once, which keeps a host full of equal
 * containers from filling the list of candidates.
 */
static void visit_equal(Pairing *pairing, Search *search, const Candidate *found) {
        if (found->n_shared == found->n_all)
                take(pairing, found);
}

static void visit_similar(Pairing *pairing, Search *search, const Candidate *found) {
        if (search->n_candidates < PAIRING_MAX_MATCHES)
                search->candidates[search->n_candidates++] = *found;
}

static int take_found(Pairing *pairing) {
        Search search = {
                .befores = calloc(pairing->n_cgroups + 1, sizeof(*search.befores)),
                .afters = calloc(pairing->n_cgroups + 1, sizeof(*search.afters)),
                .candidates = calloc(PAIRING_MAX_MATCHES, sizeof(*search.candidates)),
        };
        bool complete = search.befores && search.afters && search.candidates;

        if (complete) {
                search.n_befores = list_only(pairing, 0, search.befores);
                search.n_afters = list_only(pairing, 1, search.afters);
                search_each(pairing, &search, visit_equal);
                search_each(pairing, &search, visit_similar);
                if (search.n_candidates > 1)
                        qsort(search.candidates, search.n_candidates, sizeof(*search.candidates),
                              by_match);
                for (size_t i = 0; i < search.n_candidates; i++)
                        take(pairing, &search.candidates[i]);
        }
        free(search.candidates);
        free(search.afters);
        free(search.befores);
        return complete ? 0 : -ENOMEM;
}

int pairing_match(Pairing *pairing, const View *view) {
        pairing->matches = calloc(pairing->n_cgroups + 1, sizeof(*pairing->matches));
        if (!pairing->matches)
                return -ENOMEM;
        for (size_t i = 0; i < pairing->n_cgroups; i++)
                for (unsigned side = 0; side < GROUP_SIDES; side++)
                        settle(&pairing->cgroups[i].sides[side]);
        take_stated(pairing, &view->pairs);
        return view->pairing ? take_found(pairing) : 0;
}

size_t pairing_n(const Pairing *pairing) {
        return pairing->n_matches;
}

const PairingMatch *pairing_get(const Pairing *pairing, size_t index) {
        return &pairing->matches[index];
}

void pairing_write_json(const Pairing *pairing, JsonWriter *writer) {
        json_write_array(writer);
        for (size_t i = 0; i < MIN_OF(pairing->n_matches, (size_t) PAIRING_MAX_WRITTEN); i++) {
                const PairingMatch *match = &pairing->matches[i];

                json_write_object(writer);
                json_write_member_name(writer, "before", match->before);
                json_write_member_name(writer, "after", match->after);
                json_write_member_u64(writer, "shared", match->n_shared);
                json_write_key(writer, "jaccard");
                json_write_double(writer, match->n_all > 0
                                                  ? (double) match->n_shared / (double) match->n_all
                                                  : 0);
                json_write_end(writer);
        }
        json_write_end(writer);
}
