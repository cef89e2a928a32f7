/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/set/set-samples.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void set_samples_done(SetSamples *samples) {
        free(samples->values);
        samples->values = NULL;
}

static bool differ(double a, double b) {
        return a < b || a > b;
}

int set_samples_put(SetSamples *samples, size_t n_captures, size_t capture, double value) {
        assert(capture < n_captures && n_captures <= SET_MAX_CAPTURES);
        assert(!(samples->present >> capture & 1));
        if (!samples->present)
                samples->first = value;
        if (!samples->values && differ(value, samples->first)) {
                samples->values = calloc(n_captures, sizeof(*samples->values));
                if (!samples->values)
                        return -ENOMEM;
                for (size_t i = 0; i < n_captures; i++)
                        samples->values[i] = samples->first;
        }
        if (samples->values)
                samples->values[capture] = value;
        samples->present |= UINT64_C(1) << capture;
        return 0;
}

bool set_samples_vary(const SetSamples *samples) {
        return samples->values;
}

size_t set_samples_get(const SetSamples *samples, uint64_t captures,
                       double ret_values[static SET_MAX_CAPTURES]) {
        size_t n = 0;

        for (uint64_t bits = samples->present & captures; bits; bits &= bits - 1) {
                size_t capture = (size_t) __builtin_ctzll(bits);

                ret_values[n++] = samples->values ? samples->values[capture] : samples->first;
        }
        return n;
}

/* quartiles */

static int by_value(const void *a, const void *b) {
        double left = *(const double *) a, right = *(const double *) b;

        return left < right ? -1 : left > right;
}

/* The value at @quarters quarters of the sorted @values. */
static double at(const double *values, size_t n, size_t quarters) {
        size_t index = quarters * (n - 1) / 4;
        double rest = (double) (quarters * (n - 1) % 4) / 4;

        if (quarters * (n - 1) % 4 == 0)
                return values[index];
        /*
         * Interpolate so that equal neighbours give exactly their value and large ones do not
         * overflow.
         */
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
