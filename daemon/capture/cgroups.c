/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "kernel/cgroupfs/cgroup-stats.h"
#include "kernel/cgroupfs/cgroupfs.h"
#include "kernel/procfs/proc-task.h"

/* the set */

void cgroup_set_done(CgroupSet *set) {
        for (size_t i = 0; i < set->n_entries; i++)
                free(set->entries[i]);
        free(set->entries);
        index_done(&set->index);
        index_done(&set->index_of_ids);
        *set = (CgroupSet){};
}

static Span path_of(const void *owner, size_t element) {
        return ((const CgroupSet *) owner)->entries[element]->path;
}

int cgroup_set_add(CgroupSet *set, Span path, CgroupEntry **ret) {
        size_t found = index_find(&set->index, path, path_of, set);
        CgroupEntry *entry;
        char *bytes;
        int r;

        if (found != INDEX_NONE) {
                *ret = set->entries[found];
                return 0;
        }
        r = ARRAY_RESERVE(set->entries, set->n_allocated, set->n_entries + 1);
        if (r < 0)
                return r;
        entry = malloc(sizeof(*entry) + path.n); /* the path follows its entry */
        if (!entry)
                return -ENOMEM;
        bytes = (char *) (entry + 1);
        if (path.n > 0)
                memcpy(bytes, path.bytes, path.n);
        *entry = (CgroupEntry){ .path = { bytes, path.n }, .number = set->n_entries };
        r = index_add(&set->index, path, set->n_entries);
        if (r < 0) {
                free(entry);
                return r;
        }
        set->entries[set->n_entries++] = entry;
        *ret = entry;
        return 0;
}

static Span id_of(const void *owner, size_t element) {
        const CgroupEntry *entry = ((const CgroupSet *) owner)->entries[element];

        return (Span){ (const char *) &entry->id, sizeof(entry->id) };
}

static int set_id(CgroupSet *set, CgroupEntry *entry, uint64_t id) {
        entry->id = id;
        return index_add(&set->index_of_ids, id_of(set, entry->number), entry->number);
}

const CgroupEntry *cgroup_set_find(const CgroupSet *set, uint64_t id) {
        const Span bytes = { (const char *) &id, sizeof(id) };
        size_t found = index_find(&set->index_of_ids, bytes, id_of, set);

        return found == INDEX_NONE ? NULL : set->entries[found];
}

int cgroup_set_merge(CgroupSet *set, const CgroupSet *other) {
        for (size_t i = 0; i < other->n_entries; i++) {
                const CgroupEntry *from = other->entries[i];
                bool outside = cgroup_path_is_outside(from->path);
                Span path = from->path;
                CgroupEntry *entry;
                int r;

                if (!from->inhabited)
                        continue;
                do {
                        r = cgroup_set_add(set, path, &entry);
                        if (r < 0)
                                return r;
                        if (entry->inhabited)
                                break; /* and so are all above it */
                        entry->inhabited = true;
                } while (!outside && cgroup_path_parent(path, &path));
                r = cgroup_set_add(set, from->path, &entry);
                if (r == 0 && from->id != 0 && !cgroup_set_find(set, from->id))
                        r = set_id(set, entry, from->id);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        const CgroupEntry *const *x = a, *const *y = b;

        return span_compare((*x)->path, (*y)->path);
}

/* membership */

/*
 * Reads which cgroup @slot is in. When it cannot be told, *ret stays as it is, and either the slot
 * vanished or the reason was counted.
 */
static void read_cgroup(Readings *readings, const BatchProcess *process, ThreadSlot *slot,
                        TextPlace *ret) {
        ProcCgroup cgroup;
        size_t n;
        int r;

        r = readings_open_thread(readings, process, slot);
        if (r == 0)
                r = text_file_read(slot->fd, "cgroup", readings->file, sizeof(readings->file), &n);
        if (r == TEXT_E_ABSENT || r == TEXT_E_VANISHED) {
                thread_slot_vanish(slot);
                return;
        }
        if (r == 0)
                r = proc_cgroup_parse((Span){ readings->file, n }, &cgroup);
        if (r != 0) {
                readings->tally.counts[SOURCE_CGROUP][text_file_outcome(r)]++;
                return;
        }
        readings->tally.counts[SOURCE_CGROUP]
                              [cgroup.has_path ? SOURCE_OUTCOME_ok : SOURCE_OUTCOME_unsupported]++;
        if (cgroup.has_path)
                *ret = readings_add_text(readings, cgroup.path);
}

/* ids */

/*
 * The thread may have moved since its id was read, and a path can be made anew: only what the
 * directory at the path confirms is remembered.
 */
static void learn_id(Readings *readings, CgroupSet *set, Span path, uint64_t id) {
        const Cgroupfs *cgroupfs = readings->host->cgroupfs;
        _cleanup_(fd_closep) int fd = -EBADF;
        struct statx directory;
        CgroupEntry *entry;
        int r = cgroup_set_add(set, path, &entry);

        if (r == 0 && entry->id == 0 && cgroupfs && !cgroup_path_is_outside(path) &&
            cgroupfs_open_group(cgroupfs, path, &fd) == 0 &&
            statx(fd, "", AT_EMPTY_PATH, STATX_INO, &directory) == 0 && directory.stx_ino == id)
                r = set_id(set, entry, id);
        if (r < 0)
                readings->error = r;
}

/* By the ids of their cgroups. */
static void find_groups(Readings *readings, const BatchProcess *process, CgroupSet *set) {
        ThreadSlot *slots = &readings->slots[process->first];

        for (size_t i = 0; i < process->n; i++) {
                ThreadSlot *slot = &slots[i];
                const CgroupEntry *found;

                /* Siblings mostly are in the cgroup of the one before. */
                if (i > 0 && slot->cgroup_id == slots[i - 1].cgroup_id &&
                    slots[i - 1].cgroup.is_set) {
                        slot->cgroup = slots[i - 1].cgroup;
                        continue;
                }
                if (!slot->kept)
                        continue;
                found = cgroup_set_find(set, slot->cgroup_id);
                if (found) {
                        readings->tally.counts[SOURCE_CGROUP][SOURCE_OUTCOME_ok]++;
                        slot->cgroup = readings_add_text(readings, found->path);
                        continue;
                }
                read_cgroup(readings, process, slot, &slot->cgroup);
                if (slot->cgroup.is_set)
                        learn_id(readings, set, readings_text(readings, slot->cgroup),
                                 slot->cgroup_id);
        }
}

void cgroups_read_membership(Readings *readings, const BatchProcess *process, CgroupSet *set) {
        CgroupThreading threading = CGROUP_THREADING_WHOLE;
        const Cgroupfs *cgroupfs = readings->host->cgroupfs;
        ThreadSlot *slots = &readings->slots[process->first], *spokesman;
        TextPlace place = {};
        CgroupEntry *entry;

        if (!readings->host->gates.has_file[SOURCE_CGROUP]) {
                readings->tally.counts[SOURCE_CGROUP][SOURCE_OUTCOME_unsupported]++;
                return;
        }
        if (slots[0].cgroup_id != 0) {
                find_groups(readings, process, set);
                return;
        }
        do { /* until one is read that has not vanished */
                /* Preferably a living one is read for all, as an exited one may have left. */
                spokesman = NULL;
                for (size_t i = 0; i < process->n && (!spokesman || spokesman->is_zombie); i++)
                        if (slots[i].kept && (!spokesman || !slots[i].is_zombie))
                                spokesman = &slots[i];
                if (!spokesman)
                        return;
                read_cgroup(readings, process, spokesman, &place);
        } while (spokesman->vanished);
        if (!place.is_set)
                return;
        if (process->n > 1 || process->is_split) {
                _cleanup_(fd_closep) int fd = -EBADF;

                if (cgroup_set_add(set, readings_text(readings, place), &entry) < 0) {
                        readings->error = -ENOMEM;
                        return;
                }
                /* A cgroup whose type cannot be read may be threaded: each thread is asked then. */
                if (entry->threading == CGROUP_THREADING_UNKNOWN) {
                        bool threaded = true;

                        if (cgroupfs && span_is(entry->path, "/"))
                                threaded = readings->host->gates.root_is_threaded;
                        else if (cgroupfs && !cgroup_path_is_outside(entry->path) &&
                                 cgroupfs_open_group(cgroupfs, entry->path, &fd) == 0)
                                (void) !cgroup_is_threaded(fd, &threaded);
                        entry->threading =
                                threaded ? CGROUP_THREADING_SPREAD : CGROUP_THREADING_WHOLE;
                }
                threading = entry->threading;
        }
        for (size_t i = 0; i < process->n; i++) {
                if (!slots[i].kept)
                        continue;
                if (threading == CGROUP_THREADING_WHOLE || &slots[i] == spokesman)
                        slots[i].cgroup = place;
                else
                        read_cgroup(readings, process, &slots[i], &slots[i].cgroup);
        }
}

/* statistics */

static void count_both(Tally *tally, SourceOutcome outcome) {
        tally->counts[SOURCE_CGROUP_STATS][outcome]++;
        tally->counts[SOURCE_CGROUP_PRESSURE][outcome]++;
}

int cgroups_write(const CaptureHost *host, const CgroupSet *set, Pace *pace, SnapshotWriter *writer,
                  Tally *tally) {
        _cleanup_(buffer_done) Buffer scratch = {}, json = {};
        _cleanup_(freep) CgroupEntry **entries = calloc(set->n_entries + 1, sizeof(*entries));
        int r = 0;

        if (!entries)
                return -ENOMEM;
        for (size_t i = 0; i < set->n_entries; i++)
                entries[i] = set->entries[i];
        qsort(entries, set->n_entries, sizeof(*entries), compare_entries);
        for (size_t i = 0; r == 0 && i < set->n_entries; i++) {
                _cleanup_(fd_closep) int fd = -EBADF;
                Span path = entries[i]->path;
                CgroupCounts counts = {};

                /* A path that leads out of the mount is refused before it is looked up. */
                r = cgroup_path_is_outside(path) ? CGROUPFS_E_OUTSIDE
                                                 : cgroupfs_open_group(host->cgroupfs, path, &fd);
                if (r == CGROUPFS_E_OUTSIDE || r == TEXT_E_MALFORMED) {
                        count_both(tally, SOURCE_OUTCOME_unsupported);
                        tally->n_groups_outside++;
                } else if (r != 0) {
                        count_both(tally, r == TEXT_E_VANISHED || r == TEXT_E_ABSENT
                                                  ? SOURCE_OUTCOME_vanished
                                                  : text_file_outcome(r));
                } else {
                        buffer_clear(&json);
                        r = cgroup_stats_read(fd, &scratch, &json, &counts);
                        tally_add_counts(tally, SOURCE_CGROUP_STATS, counts.stats);
                        tally_add_counts(tally, SOURCE_CGROUP_PRESSURE, counts.pressure);
                        if (r < 0)
                                return r;
                        /* One that went meanwhile is left out. */
                        r = r > 0 ? 0
                                  : snapshot_writer_entry(writer, SNAPSHOT_SECTION_CGROUPS, path,
                                                          buffer_span(&json));
                        if (r != 0)
                                return r;
                }
                r = pace_step(pace, host->system, "cgroups", i + 1, set->n_entries);
        }
        return r;
}
