/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/group/spread-names.h"

#include <stdlib.h>

#include "base/name-set.h"

struct SpreadNames {
        NameSet set;
        uint32_t last; /* the number added or found last: a thread asks once for each sum */
};

int spread_names_new(SpreadNames **ret) {
        SpreadNames *names = calloc(1, sizeof(*names));

        if (!names)
                return -ENOMEM;
        *ret = names;
        return 0;
}

SpreadNames *spread_names_free(SpreadNames *names) {
        if (names)
                name_set_done(&names->set);
        free(names);
        return NULL;
}

Span spread_names_get(const SpreadNames *names, uint32_t number) {
        return name_set_get(&names->set, number);
}

int spread_names_add(SpreadNames *names, Span name, uint32_t *ret) {
        size_t number;
        int r;

        name.n = MIN_OF(name.n, (size_t) SPREAD_NAME_BYTES);
        if (names->set.n == 0 || !span_equal(spread_names_get(names, names->last), name)) {
                r = name_set_add(&names->set, name, &number);
                if (r != 0)
                        return r;
                if (number > UINT32_MAX)
                        return -ENOMEM;
                names->last = (uint32_t) number;
        }
        *ret = names->last;
        return 0;
}
