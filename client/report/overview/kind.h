/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ReportKind
 *
 * A view is groups by columns. A column has an end, and a begin if it is about what was done
 * between the two: a state is one column without a begin, an interval one with it, totals are two
 * without, two intervals two with, and sets are two of which each is the medians of many. Whatever
 * prints a view asks for its columns and sides here; a kind is a row of this table.
 */

#include <stdbool.h>
#include <stddef.h>

typedef enum ReportKind {
        REPORT_SNAPSHOT,  /* "state": one snapshot */
        REPORT_PAIR,      /* "totals": two snapshots side by side */
        REPORT_SETS,      /* "sets": two sets of snapshots side by side */
        REPORT_INTERVAL,  /* "interval": the work between two snapshots */
        REPORT_INTERVALS, /* "intervals": two intervals side by side */
        _REPORT_KIND_MAX,
} ReportKind;

typedef struct ReportSetting {
        const char *name; /* on the wire and in rows */
        size_t n_columns; /* a group has an account of each */
        bool has_begin;   /* a column counts work, which has a rate per second */
        /*
         * A value of a metric has two sides, which are the ends of an interval or one of each
         * column; else it is one.
         */
        size_t n_sides;
        const char *sides[2];  /* members of an entry, and names in rows */
        const char *words[2];  /* of the sides in sentences and headers */
        const char *labels[2]; /* the same of groups that only one side has */
        size_t n_lists;        /* 3: groups of one side stand in lists of their own */
        const char *lists[3];  /* members of a reply */
        const char *hidden[2]; /* how many groups of these are not in the reply */
        bool has_sections;     /* tables beside the groups */
        bool of_medians;       /* a column is many; rows of the overview are made of the groups */
} ReportSetting;

extern const ReportSetting report_settings[_REPORT_KIND_MAX];
