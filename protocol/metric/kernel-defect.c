/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/kernel-defect.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

typedef struct Release {
        unsigned major, minor;
} Release;

typedef struct Defect {
        const char *prefix;
        Release first, fixed;
        const char *text;
} Defect;

#define DEFECT_ROW(id, prefix, major, minor, fixed_major, fixed_minor, text) \
        [KERNEL_DEFECT_##id] = { prefix, { major, minor }, { fixed_major, fixed_minor }, text },
static const Defect defects_table[_KERNEL_DEFECT_MAX] = { KERNEL_DEFECTS(DEFECT_ROW) };

static bool is_before(Release a, Release b) {
        return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

KernelDefects kernel_defects_of(const char *release) {
        KernelDefects defects = 0;
        unsigned long numbers[2];
        Release of;
        char *end;

        /* "6.12.1-amd64": the first two numbers. */
        for (unsigned i = 0; i < ELEMENTSOF(numbers); i++) {
                numbers[i] = strtoul(release, &end, 10);
                if (end == release || numbers[i] > UINT16_MAX || (i == 0 && *end != '.'))
                        return 0;
                release = end + 1;
        }
        of = (Release){ (unsigned) numbers[0], (unsigned) numbers[1] };
        for (unsigned i = 0; i < _KERNEL_DEFECT_MAX; i++) {
                const Defect *defect = &defects_table[i];
                bool is_fixed = defect->fixed.major > 0 && !is_before(of, defect->fixed);

                if (!is_before(of, defect->first) && !is_fixed)
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
