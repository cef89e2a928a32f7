/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/kernel-defect.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* Releases are compared as one number; of both of theirs 16 bits are read. */
#define RELEASE(major, minor) ((uint32_t) (major) << 16 | (uint32_t) (minor))

typedef struct Defect {
        const char *prefix;
        uint32_t first, fixed; /* releases; 0: none */
        const char *text;
} Defect;

#define DEFECT_ROW(id, prefix, x, y, fixed_x, fixed_y, text) \
        [KERNEL_DEFECT_##id] = { prefix, RELEASE(x, y), RELEASE(fixed_x, fixed_y), text },
static const Defect defects_table[_KERNEL_DEFECT_MAX] = { KERNEL_DEFECTS(DEFECT_ROW) };

KernelDefects kernel_defects_of(const char *release) {
        KernelDefects defects = 0;
        unsigned long numbers[2];
        uint32_t of;
        char *end;

        /* "6.12.1-amd64": the first two numbers. */
        for (unsigned i = 0; i < ELEMENTSOF(numbers); i++) {
                numbers[i] = strtoul(release, &end, 10);
                if (end == release || numbers[i] > UINT16_MAX || (i == 0 && *end != '.'))
                        return 0;
                release = end + 1;
        }
        of = RELEASE(numbers[0], numbers[1]);
        for (unsigned i = 0; i < _KERNEL_DEFECT_MAX; i++) {
                const Defect *defect = &defects_table[i];

                if (of >= defect->first && (defect->fixed == 0 || of < defect->fixed))
                        defects |= UINT32_C(1) << i;
        }
        return defects;
}

const char *kernel_defects_of_metric(KernelDefects defects, MetricId id) {
        for (unsigned i = 0; i < _KERNEL_DEFECT_MAX; i++)
                if ((defects >> i & 1) && strncmp(metric_table[id].name, defects_table[i].prefix,
                                                  strlen(defects_table[i].prefix)) == 0)
                        return defects_table[i].text;
        return NULL;
}

const char *kernel_defects_of_derived(KernelDefects defects, DerivedId id) {
        const Derived *derived = &derived_table[id];
        const char *text = NULL;

        for (unsigned i = 0; i < derived->n_inputs && !text; i++)
                text = kernel_defects_of_metric(defects, derived->inputs[i]);
        return text;
}
