/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/quartiles.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
        double left = *(const double *) a, right = *(const double *) b;

        return left < right ? -1 : left > right;
}

/* The value @quarters of the way through the sorted @values. */
static double at(const double *values, size_t n, size_t quarters) {
        size_t index = quarters * (n - 1) / 4;
        double rest = (double) (quarters * (n - 1) % 4) / 4;

        if (quarters * (n - 1) % 4 == 0)
                return values[index];
        /* So that equal neighbours give exactly that value, and large ones do not overflow. */
        return values[index] + rest * (values[index + 1] - values[index]);
}

Quartiles quartiles_of(double *values, size_t n) {
        if (n == 0)
                return (Quartiles){ .n = 0 };
        qsort(values, n, sizeof(*values), by_value);
        return (Quartiles){
                .n = n,
                .min = values[0],
                .q1 = at(values, n, 1),
                .median = at(values, n, 2),
                .q3 = at(values, n, 3),
                .max = values[n - 1],
        };
}
