/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * GroupAccount
 *
 * The accounts of the groups of a comparison and their weights (analysis/account). A group has one
 * account for each thing that is compared: of a state or an interval there is one, of two totals
 * one each, and
 * so of two intervals.
 */

#include <stdbool.h>
#include "analysis/account/account.h"
#include "analysis/account/host-use.h"
#include "analysis/account/weight.h"
#include "analysis/group/group.h"
#include "analysis/group/judge.h"
#include "analysis/group/life-tally.h"
#include "analysis/group/side.h"
#include "json/json-writer.h"
#include "metric/kernel-defect.h"
#include "view/view-sort.h"

/*
 * What accounts are made with. Of an interval everything is kept under SIDE_AFTER, where the work
 * was counted; of a state under SIDE_BEFORE.
 */
typedef struct GroupAccounts {
        bool is_interval;
        bool of_intervals; /* the sides are two intervals */
        unsigned n_sides;  /* of the groups */
        Period periods[SIDES];
        KernelDefects defects[SIDES];
        Amount waits_since_ns[SIDES]; /* of whole lives: when the account of waits began */
        Amount reasons_since_ns[SIDES];
        const char *no_reasons[SIDES]; /* as AccountBasis has it; borrowed */
        HostUse hosts[SIDES];
        WeightScale scales[SIDES];
} GroupAccounts;

/* The sides that have an account: from *ret_first, as many as it returns. */
unsigned group_accounts_sides(const GroupAccounts *accounts, unsigned *ret_first);
/* Call when the hosts are known. */
void group_accounts_scale(GroupAccounts *accounts);

/*
 * The account of @group on @side; false if there is none, because it has no thread there. A group
 * whose threads all ended in an interval has one that says nothing but how many.
 */
bool group_account(const GroupAccounts *accounts, const Group *group, unsigned side,
                   Figures figures, Account *ret);
/*
 * The figure that a column of the overview has of @side, per second where it is a rate of one of
 * two intervals; of memory in an interval by how much it grew. 0 if the group has no part in that
 * side. False if it is not known.
 */
bool group_figure(const GroupAccounts *accounts, const Group *group, unsigned side, Figures figures,
                  ViewColumn column, double *ret);
/* Sets the weights by which the group is ordered. */
void group_weigh(const GroupAccounts *accounts, Group *group);

/* Writes the member "weight"; null if it is not known in numbers. */
void group_write_weight(JsonWriter *writer, const GroupAccounts *accounts, const Group *group,
                        Figures figures);
/*
 * Writes the member "time", which is whole: of @side, or if that is BOTH_SIDES of the interval, or
 * of both sides as {before, after}.
 */
void group_write_time(JsonWriter *writer, const GroupAccounts *accounts, const Group *group,
                      unsigned side);
/* Writes the member "accounts", which are cut: of each side, null where it has none. */
void group_write_accounts(JsonWriter *writer, const GroupAccounts *accounts, const Group *group);
