/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/moved-list.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

/* The identity of a thread. It has no gaps: its bytes are a key. */
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
        NamePlace names[3]; /* of process, thread and cgroup */
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

int moved_list_add(MovedList *list, const ThreadSample *ended) {
        MovedThread thread = {
                .life = life_of(ended),
                .has_kthread = ended->has_kthread,
                .kthread = ended->kthread,
                .self = ended->self,
        };
        const Span names[] = { ended->pcomm, ended->comm, ended->cgroup };
        const Span key = { (const char *) &thread.life, sizeof(thread.life) };
        int r = 0;

        if (index_find(&list->index, key, key_of, list) != INDEX_NONE)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(names) && r == 0; i++) {
                thread.names[i] = (NamePlace){ list->names.n, names[i].n, names[i].bytes };
                if (names[i].n > 0)
                        r = buffer_append(&list->names, names[i].bytes, names[i].n);
        }
        if (r == 0)
                r = ARRAY_RESERVE(list->threads, list->n_allocated, list->n + 1);
        if (r != 0)
                return r;
        list->threads[list->n] = thread;
        r = index_add(&list->index, key_of(list, list->n), list->n);
        list->n += r == 0;
        return r;
}

void moved_list_rename(const MovedList *list, ThreadSample *vanished) {
        Span *const names[] = { &vanished->pcomm, &vanished->comm, &vanished->cgroup };
        const Life life = life_of(vanished);
        const Span key = { (const char *) &life, sizeof(life) };
        const MovedThread *thread;
        size_t at;

        if (list->n == 0)
                return;
        at = index_find(&list->index, key, key_of, list);
        if (at == INDEX_NONE)
                return;
        thread = &list->threads[at];
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const NamePlace *place = &thread->names[i];
                const char *bytes = place->n > 0 ? list->names.bytes + place->at : "";

                *names[i] = place->is_known ? (Span){ bytes, place->n } : (Span){ NULL, 0 };
        }
        vanished->has_kthread = thread->has_kthread;
        vanished->kthread = thread->kthread;
        vanished->self = thread->self;
}
