/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Verb
 *
 * A command of ctprofctl: its name, the arguments and options it takes, and a function that runs
 * it. The function explains a failure on stderr and returns the exit status. Verbs are constant;
 * the session holds all state. The text of --help comes from the lists of verbs and options.
 */

#include <stddef.h>
#include <stdint.h>
#include "session/session.h"
#include "verb/verbs.h"

typedef enum VerbHosts {
        VERB_HOSTS_NONE, /* it asks no daemon, or does something here */
        VERB_HOSTS_ONE,
        VERB_HOSTS_MANY, /* its answers can stand beside each other */
} VerbHosts;

typedef struct Verb {
        const char *name;
        const char *synopsis; /* the arguments as the help shows them */
        const char *summary;  /* one line of help */
        const char *needs;    /* what too few arguments lack: "a snapshot" */
        size_t min_arguments; /* without the verb itself */
        size_t max_arguments;
        OptionBits options; /* OPTION_BIT() of the options it takes besides the common ones */
        uint32_t formats;   /* FORMAT_BIT() of its formats, if it takes --format */
        VerbHosts hosts;
        int (*run)(Session *session);
} Verb;

#define VERB_FUNCTION(id, ...) int verb_##id(Session *session);
VERBS(VERB_FUNCTION)
VERBS_HIDDEN(VERB_FUNCTION)

#define VERB_ID(id, ...) VERB_##id,
/* The hidden ones behind those that are listed. */
enum { VERBS(VERB_ID) VERBS_HIDDEN(VERB_ID) _VERB_MAX, _VERB_LISTED = VERB_bridge };

extern const Verb verb_table[_VERB_MAX];

/* Runs the verb that a command line names, or explains why there is none. The exit status. */
int dispatch(int argc, char *argv[]);
