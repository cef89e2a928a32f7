/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/group-account.h"

unsigned group_accounts_sides(const GroupAccounts *accounts, unsigned *ret_first) {
        *ret_first = accounts->is_interval ? SIDE_AFTER : SIDE_BEFORE;
        return accounts->is_interval ? 1 : accounts->n_sides;
}

void group_accounts_scale(GroupAccounts *accounts) {
        for (unsigned side = 0; side < SIDES; side++)
                accounts->scales[side] = weight_scale_of(
                        &accounts->hosts[side], period_elapsed_ns(&accounts->periods[side]));
}

bool group_account(const GroupAccounts *accounts, const Group *group, unsigned side,
                   Figures figures, Account *ret) {
        const Aggregate *aggregate = group->sides[side];
        AccountBasis basis = {
                .work = aggregate,
                .n_threads = aggregate ? aggregate->n_threads : 0,
                .tally = &group->tallies[side],
                .period = &accounts->periods[side],
                .dead = group->dead[side],
                .figures = figures,
                .waits_since_ns = accounts->waits_since_ns[side],
                .reasons_since_ns = accounts->reasons_since_ns[side],
                .no_reasons = accounts->no_reasons[side],
                .is_of_kernel = !group->has_program,
                .defects = accounts->defects[side],
                .host = &accounts->hosts[side],
        };

        if (!accounts->is_interval && !aggregate)
                return false;
        basis.started_by = group_starters(group, side);
        if (accounts->is_interval) {
                basis.window = group->window;
                basis.sides = group->sides;
                basis.lives = &group->window->lives;
        } else if (group->works[side]) {
                basis.lives = &group->works[side]->lives;
        }
        *ret = account_of(&basis);
        return true;
}

bool group_figure(const GroupAccounts *accounts, const Group *group, unsigned side, Figures figures,
                  ViewColumn column, double *ret) {
        Account account;
        Amount amount;

        *ret = 0;
        if (!group_account(accounts, group, side, figures, &account))
                return true;
        amount = account_figure(&account, column);
        *ret = (double) amount.n;
        if (column == VIEW_COLUMN_RSS && accounts->is_interval) {
                *ret -= (double) account.rss_before_bytes.n;
                return amount.known || account.rss_before_bytes.known;
        }
        if (accounts->of_intervals && column != VIEW_COLUMN_PEAK && column != VIEW_COLUMN_RSS &&
            group->elapsed_ns[side] > 0)
                *ret *= (double) NSEC_PER_SEC / (double) group->elapsed_ns[side];
        return amount.known;
}

static Shares shares_on(const GroupAccounts *accounts, const Group *group, unsigned side,
                        Figures figures) {
        Account account;
        bool has = group_account(accounts, group, side, figures, &account);

        return shares_of(&accounts->scales[side], has ? &account : NULL);
}

static bool weigh(const GroupAccounts *accounts, const Group *group, Figures figures, double *ret) {
        Shares shares[SIDES] = {};
        unsigned first, n = group_accounts_sides(accounts, &first);

        for (unsigned i = 0; i < n; i++)
                shares[i] = shares_on(accounts, group, first + i, figures);
        return n == 1 ? weight_of(&shares[0], ret) : weight_between(&shares[0], &shares[1], ret);
}

void group_weigh(const GroupAccounts *accounts, Group *group) {
        for (unsigned figures = 0; figures < _FIGURES_MAX; figures++)
                group->has_weight =
                        weigh(accounts, group, (Figures) figures, &group->weights[figures]);
}

/* JSON */

void group_write_weight(JsonWriter *writer, const GroupAccounts *accounts, const Group *group,
                        Figures figures) {
        unsigned first, n = group_accounts_sides(accounts, &first);
        bool known = group->has_weight;

        for (unsigned i = 0; i < n; i++)
                known = known && accounts->scales[first + i].known;
        json_write_key(writer, "weight");
        if (known)
                json_write_double(writer, group->weights[figures]);
        else
                json_write_null(writer);
}

static void write_time(JsonWriter *writer, const GroupAccounts *accounts, const Group *group,
                       unsigned side) {
        Account account;

        if (group_account(accounts, group, side, FIGURES_WHOLE, &account))
                account_write_time_json(writer, &account);
        else
                json_write_null(writer);
}

void group_write_time(JsonWriter *writer, const GroupAccounts *accounts, const Group *group,
                      unsigned side) {
        json_write_key(writer, "time");
        if (accounts->is_interval) {
                write_time(writer, accounts, group, SIDE_AFTER);
        } else if (side != BOTH_SIDES) {
                write_time(writer, accounts, group, side);
        } else {
                json_write_object(writer);
                json_write_key(writer, accounts->of_intervals ? "a" : "before");
                write_time(writer, accounts, group, SIDE_BEFORE);
                json_write_key(writer, accounts->of_intervals ? "b" : "after");
                write_time(writer, accounts, group, SIDE_AFTER);
                json_write_end(writer);
        }
}

void group_write_accounts(JsonWriter *writer, const GroupAccounts *accounts, const Group *group) {
        unsigned first, n = group_accounts_sides(accounts, &first);

        json_write_key(writer, "accounts");
        json_write_array(writer);
        for (unsigned i = 0; i < n; i++) {
                Account account;

                if (group_account(accounts, group, first + i, FIGURES_CUT, &account))
                        account_write_json(writer, &account);
                else
                        json_write_null(writer);
        }
        json_write_end(writer);
}
