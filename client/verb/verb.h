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

#define VERB_ANY_ARGUMENTS SIZE_MAX

/* What views come in. */
#define VERB_VIEW_FORMATS \
        (FORMAT_BIT(TABLE) | FORMAT_BIT(CSV) | FORMAT_BIT(NDJSON) | FORMAT_BIT(HTML))

/* What an option means to a verb, where it is not the same to all that have it. */
typedef struct VerbOptionHelp {
        OptionId id;
        const char *argument_name; /* NULL: as in the table */
        const char *text;
} VerbOptionHelp;

typedef struct Verb {
        const char *name;
        const char *synopsis; /* what follows the name */
        const char *summary;  /* one line of help */
        const char *needs;    /* what it is that too few arguments lack: "a snapshot" */
        size_t min_arguments; /* without the verb itself */
        size_t max_arguments;
        uint64_t options;            /* OPTION_BIT() of those it takes besides the common ones */
        uint32_t formats;            /* FORMAT_BIT() of those it has, where it takes --format */
        const VerbOptionHelp *helps; /* ended by one without text; NULL: none */
        int (*run)(Session *session);
} Verb;

extern const Verb verb_capture;
extern const Verb verb_list;
extern const Verb verb_show;
extern const Verb verb_compare;
extern const Verb verb_run;
extern const Verb verb_metric_list;
extern const Verb verb_info;
extern const Verb verb_verify;
extern const Verb verb_remove;
extern const Verb verb_rename;
extern const Verb verb_export;
extern const Verb verb_import;
extern const Verb verb_status;
extern const Verb verb_help;

/* In the order of the help, ended by NULL. */
extern const Verb *const verb_table[];

/* NULL when there is none of that name; *ret_nearest is then what may have been meant, or NULL. */
const Verb *verb_find(const char *name, const char **ret_nearest);
/* Says that there is no verb @word; @nearest as verb_find() has it. STATUS_USAGE. */
int verb_complain_unknown(const char *word, const char *nearest);
