/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Options
 *
 * Parses a command line. Options may stand anywhere; everything after "--" is an argument. Values
 * are checked here, so that a wrong one is reported before anything is done. Texts are borrowed
 * from the arguments of main().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "metric/choice.h"
#include "view/view.h"
#include "render/json-out.h"
#include "session/option-list.h"

/* The formats of all verbs; verbs.h names those of each. */
#define FORMATS(F)          \
        F(TABLE, "table")   \
        F(CSV, "csv")       \
        F(CTPROF, "ctprof") \
        F(DENET, "denet")   \
        F(FOLDED, "folded") \
        F(HTML, "html")     \
        F(KTSTR, "ktstr")   \
        F(NDJSON, "ndjson") \
        F(PPROF, "pprof")   \
        F(SPEEDSCOPE, "speedscope")

#define FORMAT_ID(id, name) FORMAT_##id,
typedef enum Format {
        FORMATS(FORMAT_ID) _FORMAT_MAX, /* not given */
} Format;

#define FORMAT_BIT(id) (UINT32_C(1) << FORMAT_##id)

/* "ctprof": the name on the command line and on the wire. */
const char *format_name(Format format);

typedef enum JsonWish {
        JSON_WISH_OFF,
        JSON_WISH_SHORT,
        JSON_WISH_PRETTY,
        JSON_WISH_AUTO, /* no word was given: pretty for a terminal, short for a pipe */
} JsonWish;

/* The stacks that a recording takes: those of the kernel, those of user mode, both or none. */
typedef enum StackKinds {
        STACK_KINDS_NONE,
        STACK_KINDS_KERNEL,
        STACK_KINDS_USER,
        STACK_KINDS_BOTH,
        _STACK_KINDS_MAX,
} StackKinds;

/* --host may be given so often: each time it can name many. */
#define OPTIONS_MAX_HOSTS 64u
/* As many as a recording takes. */
#define OPTIONS_MAX_NUMBERS 16u

/* Numbers of processes or of users. */
typedef struct OptionNumbers {
        uint32_t all[OPTIONS_MAX_NUMBERS];
        size_t n;
} OptionNumbers;

typedef struct Options {
        OptionBits given; /* OPTION_BIT() of every option that was given */

        const char *socket_path; /* NULL: not given */
        const char *spool_path;
        JsonWish json;
        uint64_t timeout_ns; /* 0: not given */

        const char *hosts[OPTIONS_MAX_HOSTS]; /* a list of them each */
        size_t n_hosts;
        const char *hosts_path;
        uint32_t fanout; /* 0: not given */

        const char *tag;
        const char *output_path;
        SmapsMode smaps;       /* when it was given */
        BackendChoice backend; /* likewise */
        unsigned reasons;      /* likewise; 0 or 1 */
        uint64_t at_realtime_ns;
        uint64_t for_ns, period_ns, every_ns; /* 0: not given */
        StackKinds stack_kinds;               /* when it was given */
        uint64_t user_stack_bytes;            /* likewise; 0: none, or by frame pointers */
        bool has_frame_pointers;
        OptionNumbers pids, uids;
        const char *comm, *cgroup; /* NULL: not given */
        uint64_t min_ns, max_ns;   /* 0: not given */
        uint64_t since_realtime_ns, until_realtime_ns;
        Format format;

        View view;
        const char *columns;        /* NULL: not given */
        const char *before, *after; /* lists of snapshots; NULL: not given */
        double alpha;               /* when it was given */

        char **arguments; /* the verb first */
        size_t n_arguments;
} Options;

static inline bool options_have(const Options *options, OptionId id) {
        return options->given >> id & 1;
}

enum {
        OPTIONS_OK,
        OPTIONS_E_INVALID, /* the complaint is a sentence */
};

#define OPTIONS_COMPLAINT_BYTES 1024

/*
 * @argv is reordered as getopt_long(3) does. @now_realtime_ns: the time that "-2h" is relative to.
 */
_must_check_ int options_parse(int argc, char *argv[], uint64_t now_realtime_ns, Options *ret,
                               char ret_complaint[static OPTIONS_COMPLAINT_BYTES]);
/* Refuses --since behind --until, between which @what. 0 or an exit status after a sentence. */
int options_refuse_times(const Options *options, const char *what);
