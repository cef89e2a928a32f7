/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/compare/group-account.h"

bool group_account(const Group *group, unsigned column, Figures figures, Account *ret) {
        const GroupColumn *of = &group->of[column];

        if (!of->ends[SIDE_AFTER] && !columns_are_ends(group->columns))
                return false;
        *ret = account_of(&group->columns->of[column], of, !group->has_program, figures);
        return true;
}

bool group_figure(const Group *group, unsigned column, Figures figures, ViewColumn figure,
                  double *ret) {
        uint64_t elapsed_ns = group->columns->of[column].setup.elapsed_ns;
        Account account;
        Amount amount;

        *ret = 0;
        if (!group_account(group, column, figures, &account))
                return true;
        amount = account_figure(&account, figure);
        *ret = (double) amount.n;
        if (figure == VIEW_COLUMN_RSS && columns_are_ends(group->columns)) {
                *ret -= (double) account.rss_before_bytes.n;
                return amount.known || account.rss_before_bytes.known;
        }
        if (columns_are_intervals(group->columns) && figure != VIEW_COLUMN_PEAK &&
            figure != VIEW_COLUMN_RSS && elapsed_ns > 0)
                *ret *= (double) NSEC_PER_SEC / (double) elapsed_ns;
        return amount.known;
}

static WeightScale scale_of(const Column *column) {
        return weight_scale_of(&column->host, period_elapsed_ns(&column->period));
}

static bool weigh(const Group *group, Figures figures, double *ret) {
        const Columns *columns = group->columns;
        Shares shares[COLUMNS_MAX] = {};

        for (unsigned i = 0; i < columns->n; i++) {
                WeightScale scale = scale_of(&columns->of[i]);
                Account account;
                bool has = group_account(group, i, figures, &account);

                shares[i] = shares_of(&scale, has ? &account : NULL);
        }
        return columns->n == 1 ? weight_of(&shares[0], ret)
                               : weight_between(&shares[0], &shares[1], ret);
}

void group_weigh(Group *group) {
        for (unsigned figures = 0; figures < _FIGURES_MAX; figures++)
                group->has_weight = weigh(group, (Figures) figures, &group->weights[figures]);
}

/* JSON */

const char *columns_side_name(const Columns *columns, unsigned side) {
        if (columns_are_intervals(columns))
                return side == SIDE_BEFORE ? "a" : "b";
        return side == SIDE_BEFORE ? "before" : "after";
}

void group_write_weight(JsonWriter *writer, const Group *group, Figures figures) {
        bool known = group->has_weight;

        for (unsigned i = 0; i < group->columns->n; i++)
                known = known && scale_of(&group->columns->of[i]).known;
        json_write_key(writer, "weight");
        if (known)
                json_write_double(writer, group->weights[figures]);
        else
                json_write_null(writer);
}

static void write_time(JsonWriter *writer, const Group *group, unsigned column) {
        Account account;

        if (group_account(group, column, FIGURES_WHOLE, &account))
                account_write_time_json(writer, &account);
        else
                json_write_null(writer);
}

void group_write_time(JsonWriter *writer, const Group *group, unsigned side) {
        json_write_key(writer, "time");
        if (group->columns->n == 1 || side != BOTH_SIDES) {
                write_time(writer, group, columns_index(group->columns, side));
                return;
        }
        json_write_object(writer);
        for (unsigned i = 0; i < SIDES; i++) {
                json_write_key(writer, columns_side_name(group->columns, i));
                write_time(writer, group, i);
        }
        json_write_end(writer);
}

void group_write_accounts(JsonWriter *writer, const Group *group) {
        json_write_key(writer, "accounts");
        json_write_array(writer);
        for (unsigned i = 0; i < group->columns->n; i++) {
                Account account;

                if (group_account(group, i, FIGURES_CUT, &account))
                        account_write_json(writer, &account);
                else
                        json_write_null(writer);
        }
        json_write_end(writer);
}
