/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/moved-list.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

/* Which thread it was, without gaps: the bytes are a key. */
typedef struct Life {
        uint64_t tgid, tid, start_ticks;
} Life;

/* A name in the bytes of all names. */
typedef struct NamePlace {
        size_t at, n;
        bool is_known;
} NamePlace;

struct MovedThread {
        Life life;
        NamePlace pcomm, comm, cgroup;
        bool has_kthread, kthread, self;
};

void moved_list_done(MovedList *list) {
        free(list->threads);
        buffer_done(&list->names);
        index_done(&list->index);
        *list = (MovedList){ .threads = NULL };
}

static Life life_of(const ThreadSample *sample) {
        return (Life){ (uint64_t) sample->tgid, (uint64_t) sample->tid, sample->start_ticks };
}

static Span key_of(const void *owner, size_t element) {
        const MovedList *list = owner;

        return (Span){ (const char *) &list->threads[element].life, sizeof(Life) };
}

static size_t find(const MovedList *list, const Life *life) {
        return index_find(&list->index, (Span){ (const char *) life, sizeof(*life) }, key_of, list);
}

static int keep_name(MovedList *list, Span name, NamePlace *ret) {
        *ret = (NamePlace){ list->names.n, name.n, name.bytes };
        return name.n > 0 ? buffer_append(&list->names, name.bytes, name.n) : 0;
}

int moved_list_add(MovedList *list, const ThreadSample *ended) {
        MovedThread thread = {
                .life = life_of(ended),
                .has_kthread = ended->has_kthread,
                .kthread = ended->kthread,
                .self = ended->self,
        };
        int r;

        if (find(list, &thread.life) != INDEX_NONE)
                return 0;
        r = keep_name(list, ended->pcomm, &thread.pcomm);
        if (r == 0)
                r = keep_name(list, ended->comm, &thread.comm);
        if (r == 0)
                r = keep_name(list, ended->cgroup, &thread.cgroup);
        if (r == 0)
                r = ARRAY_RESERVE(list->threads, list->n_allocated, list->n + 1);
        if (r != 0)
                return r;
        list->threads[list->n] = thread;
        r = index_add(&list->index, key_of(list, list->n), list->n);
        list->n += r == 0;
        return r;
}

static Span name_of(const MovedList *list, const NamePlace *place) {
        if (!place->is_known)
                return (Span){ NULL, 0 };
        return (Span){ place->n > 0 ? list->names.bytes + place->at : "", place->n };
}

void moved_list_rename(const MovedList *list, ThreadSample *gone) {
        const Life life = life_of(gone);
        const MovedThread *thread;
        size_t at;

        if (list->n == 0)
                return;
        at = find(list, &life);
        if (at == INDEX_NONE)
                return;
        thread = &list->threads[at];
        gone->pcomm = name_of(list, &thread->pcomm);
        gone->comm = name_of(list, &thread->comm);
        gone->cgroup = name_of(list, &thread->cgroup);
        gone->has_kthread = thread->has_kthread;
        gone->kthread = thread->kthread;
        gone->self = thread->self;
}
