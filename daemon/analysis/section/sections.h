/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sections
 *
 * The parts of show (one side) and compare (two sides) besides groups of threads: records go in,
 * rows come out. Memory grows with the number of keys. The calls in their only order:
 *
 *     sections_new()
 *     sections_set_sources(), sections_set_smaps_bounds() where the side's file records them
 *     sections_add_*()      whatever the sides have, sides in any order; what no section of the
 *                           view needs is taken and forgotten
 *     sections_rename()     where cgroups may have been renamed
 *     sections_finish()     once
 *     section_part_write()  (section-json.h) until it is done
 *
 * A section without data is left out as a whole; with data it may still have no rows, when the view
 * wants only what moved. A filter of the view is for the keys of cgroups and processes; rows of the
 * host have no key, and stay. A limit is for how many cgroups, processes, CPUs, disks or interfaces
 * a section has.
 */

#include "base/cleanup.h"
#include "analysis/section/section-model.h"

enum {
        SECTIONS_OK,
        SECTIONS_E_MALFORMED, /* sections_complaint() */
};

/* @view is copied; @n_sides 1: show, 2: compare. */
_must_check_ int sections_new(const View *view, unsigned n_sides, Sections **ret);
Sections *sections_free(Sections *sections);
DEFINE_CLEANUP(Sections *, sections_free);

/* Whether some section needs such records. If not, the caller need not read them. */
bool sections_want_cgroups(const Sections *sections);
bool sections_want_smaps(const Sections *sections);

/* input: SECTIONS_E_MALFORMED when @json is not what a snapshot has there */

/* @key: of the cgroup, as groups have it. Records of one key and side are merged. */
_must_check_ int sections_add_cgroup(Sections *sections, unsigned side, Span key, Span json);
/* A process with its own name; sections_finish() puts it under a key. */
_must_check_ int sections_add_smaps(Sections *sections, unsigned side, Span process, Span json);
/*
 * What the kernel counts of the memory of the process whose leader @sample is, under its own name,
 * too; nothing for other threads. @has_smaps: it is also given to sections_add_smaps().
 */
_must_check_ int sections_add_memory(Sections *sections, unsigned side, const ThreadSample *sample,
                                     bool has_smaps);
_must_check_ int sections_add_host_pressure(Sections *sections, unsigned side, Span json);
/* The totals of the host; after all parts of both sides, sections_finish() makes lines of them. */
_must_check_ int sections_add_host_part(Sections *sections, unsigned side, HostPartId part,
                                        Span json);
/* @user_hz: as in the head of the capture of @side, 0 when it is not known. */
static inline void sections_set_user_hz(Sections *sections, unsigned side, uint32_t user_hz) {
        sections->totals[side].user_hz = user_hz;
}
/* The two sides are of one boot, so that counters of the host have rates. */
static inline void sections_set_same_boot(Sections *sections, bool same_boot) {
        sections->same_boot = same_boot;
}
_must_check_ int sections_add_sched_ext(Sections *sections, unsigned side, Span json);
/* The states of the sources in the capture of @side. @sources must live until all is written. */
static inline void sections_set_sources(Sections *sections, unsigned side,
                                        const SourceTable *sources) {
        sections->sources[side] = sources;
}
/*
 * The capture of @side left out smaps_rollup of processes with more memory than that, and read it
 * of at most @n_processes; 0: of all others.
 */
static inline void sections_set_smaps_bounds(Sections *sections, unsigned side, uint64_t bytes,
                                             uint64_t n_processes) {
        sections->smaps_max_rss_bytes[side] = bytes;
        sections->smaps_max_processes[side] = n_processes;
}
/* A sentence fragment without the name of the snapshot. */
const char *sections_complaint(const Sections *sections);

/*
 * @old_name_of gives the former name of a cgroup of the later side, or nothing if it was not
 * renamed. A record that only the later side has moves to its old name, if only the earlier side
 * has that. 0 or -ENOMEM.
 */
_must_check_ int sections_rename(Sections *sections, KeyOfName old_name_of, void *userdata);
/* @key_of gives the key of a process's name; NULL: the name itself. */
_must_check_ int sections_finish(Sections *sections, KeyOfName key_of, void *userdata);
