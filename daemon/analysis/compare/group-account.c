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

void group_weigh(Group *group) {
        const Columns *columns = group->columns;

        for (unsigned figures = 0; figures < _FIGURES_MAX; figures++) {
                Shares shares[COLUMNS_MAX] = {};
                double *weight = &group->weights[figures];

                for (unsigned i = 0; i < columns->n; i++) {
                        WeightScale scale = weight_scale_of(
                                &columns->of[i].host, period_elapsed_ns(&columns->of[i].period));
                        Account account;
                        bool has = group_account(group, i, (Figures) figures, &account);

                        shares[i] = shares_of(&scale, has ? &account : NULL);
                }
                group->has_weight = columns->n == 1
                                            ? weight_of(&shares[0], weight)
                                            : weight_between(&shares[0], &shares[1], weight);
        }
}
