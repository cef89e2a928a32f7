/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/verb.h"

#include <string.h>

#include "base/name.h"
#include "session/complain.h"

const Verb *const verb_table[] = {
        &verb_capture, &verb_list,   &verb_show,        &verb_compare, &verb_run,
        &verb_info,    &verb_verify, &verb_remove,      &verb_rename,  &verb_export,
        &verb_import,  &verb_status, &verb_metric_list, &verb_help,    NULL,
};

const Verb *verb_find(const char *name, const char **ret_nearest) {
        const char *names[ELEMENTSOF(verb_table)];
        size_t n = 0;

        for (; verb_table[n]; n++) {
                if (strcmp(verb_table[n]->name, name) == 0)
                        return verb_table[n];
                names[n] = verb_table[n]->name;
        }
        *ret_nearest = name_nearest(span_of(name), names, n);
        return NULL;
}

int verb_complain_unknown(const char *word, const char *nearest) {
        char quoted[QUOTE_BYTES];

        if (nearest)
                return complain(STATUS_USAGE, "Unknown verb %s, did you mean \"%s\"?",
                                quote(word, quoted), nearest);
        return complain(STATUS_USAGE, "Unknown verb %s: \"ctprofctl --help\" lists them all.",
                        quote(word, quoted));
}
