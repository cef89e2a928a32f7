/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/verb.h"

#include <string.h>

#include "base/name.h"
#include "session/complain.h"

#define VERB_ROW(id, name_, synopsis_, summary_, needs_, min, max, options_, formats_, hosts_) \
        [VERB_##id] = {                                                                        \
                .name = (name_),                                                               \
                .synopsis = (synopsis_),                                                       \
                .summary = (summary_),                                                         \
                .needs = (needs_),                                                             \
                .min_arguments = (min),                                                        \
                .max_arguments = (max),                                                        \
                .options = (options_),                                                         \
                .formats = (formats_),                                                         \
                .hosts = VERB_HOSTS_##hosts_,                                                  \
                .run = verb_##id,                                                              \
        },
const Verb verb_table[_VERB_MAX] = { VERBS(VERB_ROW) VERBS_HIDDEN(VERB_ROW) };

#define HELP_ROW(verb, option, argument_name, text) \
        { &verb_table[VERB_##verb], OPTION_##option, { (argument_name), (text) } },
static const struct {
        const Verb *verb;
        OptionId option;
        VerbHelp help;
} helps[] = { VERB_HELPS(HELP_ROW) };

const VerbHelp *verb_find_help(const Verb *verb, OptionId id) {
        for (size_t i = 0; i < ELEMENTSOF(helps); i++)
                if (helps[i].verb == verb && helps[i].option == id)
                        return &helps[i].help;
        return NULL;
}

const Verb *verb_find(const char *name, const char **ret_nearest) {
        const char *names[_VERB_LISTED];

        for (size_t i = 0; i < _VERB_MAX; i++) {
                if (strcmp(verb_table[i].name, name) == 0)
                        return &verb_table[i];
                if (i < _VERB_LISTED)
                        names[i] = verb_table[i].name;
        }
        *ret_nearest = name_nearest(span_of(name), names, _VERB_LISTED);
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
