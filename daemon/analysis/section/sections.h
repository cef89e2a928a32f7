/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Sections
 *
 * The parts of show (one side) and compare (two sides) besides groups of threads: records go in,
 * rows come out. Memory grows with the number of keys. The calls in their only order:
 *
 *     sections_new()
 *     sources, bounds of smaps, ticks a second and whether both sides are of one boot, which are
 *                           members of Sections, where the side's file records them
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
        SECTIONS_E_MALFORMED, /* see the complaint of the sections */
};

/* @view is copied; @n_sides 1: show, 2: compare. */
_must_check_ int sections_new(const View *view, unsigned n_sides, Sections **ret);
Sections *sections_free(Sections *sections);
DEFINE_CLEANUP(Sections *, sections_free);

/* input: SECTIONS_E_MALFORMED when @json is not what a snapshot has there */

/* @key: of the cgroup, as groups have it. Records of one key and side are merged. */
_must_check_ int sections_add_cgroup(Sections *sections, unsigned side, Span key, Span json);
/* A process with its own name; sections_finish() puts it under a key. */
_must_check_ int sections_add_smaps(Sections *sections, unsigned side, Span process, Span json);
/*
 * The kernel's counts of the memory of the process whose leader @sample is, under its own name,
 * too; nothing for other threads. @has_smaps: it is also given to sections_add_smaps().
 */
_must_check_ int sections_add_memory(Sections *sections, unsigned side, const ThreadSample *sample,
                                     bool has_smaps);
/*
 * The record of a section of the host: its pressure, sched_ext, or one part of its totals, of which
 * sections_finish() makes lines.
 */
_must_check_ int sections_add_of_host(Sections *sections, unsigned side, SectionId id, Span json);

/*
 * @old_name_of gives the former name of a cgroup of the later side, or nothing if it was not
 * renamed. A record that only the later side has moves to its old name, if only the earlier side
 * has that. 0 or -ENOMEM.
 */
_must_check_ int sections_rename(Sections *sections, KeyOfName old_name_of, void *userdata);
/* @key_of gives the key of a process's name; NULL: the name itself. */
_must_check_ int sections_finish(Sections *sections, KeyOfName key_of, void *userdata);
