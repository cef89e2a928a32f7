/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Verb
 *
 * One thing ctprofctl can do: a word, what it takes, and a function that does it and returns the
 * exit status, having said on stderr what went wrong. Verbs are constant; all state is the
 * session's.
 */

#include <stddef.h>
#include <stdint.h>
#include "session/session.h"
#include "verb/verbs.h"

typedef struct Verb {
        const char *name;
        const char *synopsis; /* what follows the name */
        const char *summary;  /* one line of help */
        const char *needs;    /* what too few arguments lack: "a snapshot" */
        size_t min_arguments; /* without the verb itself */
        size_t max_arguments;
        uint64_t options; /* OPTION_BIT() of those it takes besides the common ones */
        uint32_t formats; /* FORMAT_BIT() of those it has, where it takes --format */
        int (*run)(Session *session);
} Verb;

#define VERB_FUNCTION(id, ...) int verb_##id(Session *session);
VERBS(VERB_FUNCTION)

#define VERB_ID(id, ...) VERB_##id,
enum { VERBS(VERB_ID) _VERB_MAX };

extern const Verb verb_table[_VERB_MAX];

/* What an option means to a verb, where it does not mean the same to all. */
typedef struct VerbHelp {
        const char *argument_name; /* NULL: as in the list of options */
        const char *text;
} VerbHelp;

/* NULL when @id means to @verb what it means to all. */
const VerbHelp *verb_find_help(const Verb *verb, OptionId id);

/* NULL when there is none of that name; *ret_nearest is then what may have been meant, or NULL. */
const Verb *verb_find(const char *name, const char **ret_nearest);
/* Says that there is no verb @word; @nearest as verb_find() has it. STATUS_USAGE. */
int verb_complain_unknown(const char *word, const char *nearest);
