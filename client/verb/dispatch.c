/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/name.h"
#include "call/cancel.h"
#include "config.h"
#include "render/lines.h"
#include "session/complain.h"
#include "session/option-list.h"
#include "verb/fan-out.h"

#define LABEL_COLUMNS 25
#define LABEL_BYTES 64

/* the verbs */

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
        { &verb_table[VERB_##verb], OPTION_##option, (argument_name), (text) },
/* The meaning of an option to one verb, if it differs from the general one. */
typedef struct Help {
        const Verb *verb;
        OptionId option;
        const char *argument_name; /* NULL: as in the list of options */
        const char *text;
} Help;
static const Help helps[] = { VERB_HELPS(HELP_ROW) };

static int take_verb(const char *word, const Verb **ret) {
        const char *names[_VERB_LISTED], *nearest;
        char quoted[QUOTE_BYTES];

        for (size_t i = 0; i < _VERB_MAX; i++) {
                if (strcmp(verb_table[i].name, word) == 0) {
                        *ret = &verb_table[i];
                        return 0;
                }
                if (i < _VERB_LISTED)
                        names[i] = verb_table[i].name;
        }
        nearest = name_nearest(span_of(word), names, _VERB_LISTED);
        if (nearest)
                return complain(STATUS_USAGE, "Unknown verb %s, did you mean \"%s\"?",
                                quote(word, quoted), nearest);
        return complain(STATUS_USAGE, "Unknown verb %s: \"ctprofctl --help\" lists them all.",
                        quote(word, quoted));
}

/* help */

static void print_options(const Lines *lines, const Verb *verb, OptionBits bits) {
        for (unsigned id = 0; id < _OPTION_MAX; id++) {
                const OptionRow *row = &option_table[id];
                const char *argument_name = row->argument_name, *text = row->help;
                bool is_optional = row->argument == OPTION_ARGUMENT_OPTIONAL;
                char label[LABEL_BYTES], letter[] = { '-', row->letter, ',', ' ', '\0' };

                if ((bits >> id & 1) == 0)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(helps); i++) {
                        if (helps[i].verb != verb || helps[i].option != id)
                                continue;
                        text = helps[i].text;
                        if (helps[i].argument_name)
                                argument_name = helps[i].argument_name;
                }
                (void) snprintf(label, sizeof(label), "  %s--%s%s%s%s",
                                row->letter != 0 ? letter : "", row->name,
                                row->argument == OPTION_ARGUMENT_REQUIRED ? " "
                                : is_optional                             ? "[="
                                                                          : "",
                                argument_name, is_optional ? "]" : "");
                lines_print(lines, label, text);
        }
}

/* @verb: NULL for the program as a whole. */
static int show_help(Session *session, const Verb *verb) {
        const Terminal *terminal = &session->terminal;
        /* Unlike data, help may be wrapped in a pipe, too: it is 80 columns wide there. */
        const Terminal page = { .out = true, .columns = terminal->out ? terminal->columns : 80 };
        const Lines lines = { .out = stdout, .terminal = &page, .label_columns = LABEL_COLUMNS };
        char label[LABEL_BYTES];
        int r;

        r = session_page(session);
        if (r != 0)
                return r;
        if (verb) {
                (void) printf("ctprofctl %s [OPTIONS...]%s%s\n\n%s.\n", verb->name,
                              verb->synopsis[0] != '\0' ? " " : "", verb->synopsis, verb->summary);
                if (verb->options != 0)
                        (void) puts("\nOptions:");
                print_options(&lines, verb, verb->options);
        } else {
                (void) fputs("ctprofctl [OPTIONS...] VERB [ARGUMENTS...]\n\n"
                             "Take host-wide snapshots of every thread, show and compare them.\n\n"
                             "Verbs:\n",
                             stdout);
                for (size_t i = 0; i < _VERB_LISTED; i++) {
                        const char *synopsis = verb_table[i].synopsis;

                        (void) snprintf(label, sizeof(label), "  %s%s%s", verb_table[i].name,
                                        synopsis[0] != '\0' ? " " : "", synopsis);
                        lines_print(&lines, label, verb_table[i].summary);
                }
        }
        (void) printf("\n%s:\n", verb ? "Common options" : "Options of all verbs");
        print_options(&lines, verb, OPTION_COMMON_BITS);
        if (!verb)
                (void) fputs(
                        "\n\"ctprofctl VERB --help\" tells the options of a verb; a SNAPSHOT is a "
                        "name in the\nspool, latest, latest~1, ..., or the path of a file. See "
                        "ctprofctl(1).\n",
                        stdout);
        return 0;
}

int verb_help(Session *session) {
        const Options *options = session->options;
        const Verb *verb = NULL;
        int r = options->n_arguments > 1 ? take_verb(options->arguments[1], &verb) : 0;

        return r == 0 ? show_help(session, verb) : r;
}

#define REFUSAL_ROW(name_, option_, why_) { verb_##name_, OPTION_##option_, (why_) },
static const struct {
        int (*run)(Session *session);
        OptionId option;
        const char *why;
} refusals[] = { VERB_REFUSALS(REFUSAL_ROW) };

/*
 * Refuses options that contradict each other or that the verb does not take, and the same of
 * arguments and hosts.
 */
static int check(const Options *options, const Verb *verb) {
        OptionBits strange = options->given & ~(OPTION_COMMON_BITS | verb->options);
        size_t n_arguments = options->n_arguments - 1;
        char quoted[QUOTE_BYTES];

        for (unsigned id = 0; strange != 0 && id < _OPTION_MAX; id++) {
                if ((strange >> id & 1) == 0)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(refusals); i++)
                        if (refusals[i].run == verb->run && refusals[i].option == id)
                                return complain(STATUS_USAGE, "%s", refusals[i].why);
                return complain(STATUS_USAGE, "\"%s\" does not take --%s.", verb->name,
                                option_table[id].name);
        }
        if (options->format != _FORMAT_MAX && (verb->formats >> options->format & 1) == 0) {
                _cleanup_(buffer_done) Buffer list = {};
                const char *text;
                int r;

                for (unsigned id = 0; id < _FORMAT_MAX; id++)
                        if (verb->formats >> id & 1)
                                buffer_append_format(&list, "%s%s", list.n > 0 ? ", " : "",
                                                     format_name((Format) id));
                r = buffer_terminate(&list, &text);
                if (r < 0)
                        return complain_errno(r, "explain the format");
                return complain(STATUS_USAGE, "\"%s\" has no --format %s: there are %s.",
                                verb->name, format_name(options->format), text);
        }
        if (options_have(options, OPTION_LOCAL) && options->socket_path)
                return complain(STATUS_USAGE,
                                "--local starts a daemon and --socket names one: give "
                                "only one of them.");
        if (options->spool_path && !options_have(options, OPTION_LOCAL))
                return complain(STATUS_USAGE, "--spool goes with --local: a daemon has its own.");

        if (n_arguments < verb->min_arguments)
                return complain(STATUS_USAGE, "\"%s\" needs %s, as in \"ctprofctl %s %s\".",
                                verb->name, verb->needs, verb->name, verb->synopsis);
        if (n_arguments > verb->max_arguments)
                return complain(STATUS_USAGE, "\"%s\" does not take the argument %s.", verb->name,
                                quote(options->arguments[1 + verb->max_arguments], quoted));

        if (options->n_hosts == 0 && !options->hosts_path)
                return options_have(options, OPTION_FANOUT)
                               ? complain(STATUS_USAGE,
                                          "--fanout is for several hosts: --host or --hosts-file "
                                          "names them.")
                               : 0;
        if (verb->hosts == VERB_HOSTS_NONE)
                return complain(STATUS_USAGE, "\"%s\" takes no --host: %s.", verb->name,
                                verb->run == verb_run
                                        ? "COMMAND runs here, and would be captured there; run "
                                          "ctprofctl there, or capture before and after it"
                                        : "it asks no daemon");
        if (options_have(options, OPTION_LOCAL))
                return complain(STATUS_USAGE,
                                "--local starts a daemon here and --host asks one elsewhere: give "
                                "only one of them.");
        return 0;
}

/* many of them */

/* The file that "export" is told to write, "-" for stdout; NULL: it names one itself. */
static const char *export_file(const Options *options, const Verb *verb) {
        size_t n_operands = options_have(options, OPTION_CHANGES) ? 1 : 2;

        return verb->run == verb_export && options->n_arguments > n_operands
                       ? options->arguments[n_operands]
                       : NULL;
}

static FanOutForm form_of(const Session *session, const Verb *verb) {
        const Options *options = session->options;

        if (session->json != JSON_STYLE_OFF)
                return FAN_OUT_JSON;
        /* An export of a snapshot tells people where it is, unless it is what is printed. */
        if (verb->run == verb_export && !options_have(options, OPTION_CHANGES) &&
            !export_file(options, verb))
                return FAN_OUT_TEXT;
        if (options->format == FORMAT_CSV)
                return FAN_OUT_CSV;
        return options->format == FORMAT_NDJSON || options_have(options, OPTION_CHANGES)
                       ? FAN_OUT_NDJSON
                       : FAN_OUT_TEXT;
}

/* Refuses what only one host can be asked. */
static int check_many(const Options *options, const Verb *verb, size_t n_hosts) {
        const char *file = export_file(options, verb);
        bool is_rows = options_have(options, OPTION_CHANGES) || options->format == FORMAT_NDJSON;

        if (verb->hosts == VERB_HOSTS_ONE)
                return complain(STATUS_USAGE,
                                "\"%s\" takes one --host at a time, and %zu %s named.", verb->name,
                                n_hosts, n_hosts == 1 ? "is, in a list," : "are");
        if (options->output_path)
                return complain(STATUS_USAGE,
                                "--output names one file, and each host has a snapshot of its "
                                "own: capture them, then \"export\" writes a file for each.");
        if (verb->run == verb_record && options->for_ns == 0)
                return complain(STATUS_USAGE,
                                "\"record\" needs --for TIME with several hosts: they record at "
                                "the same time, each to its end.");
        if (options->format == FORMAT_FOLDED || options->format == FORMAT_PPROF ||
            options->format == FORMAT_SPEEDSCOPE)
                return complain(STATUS_USAGE, "--format %s is for the stacks of one host.",
                                format_name(options->format));
        if (options->format == FORMAT_HTML)
                return complain(STATUS_USAGE,
                                "--format html is a page for one host: a page of several would be "
                                "none.");
        if (file && (strcmp(file, "-") != 0 || !is_rows))
                return complain(STATUS_USAGE,
                                "Each host has a file of its own, HOST-NAME with its suffix: leave "
                                "%s out%s.",
                                strcmp(file, "-") == 0 ? "\"-\"" : "FILE",
                                is_rows ? ", or write \"-\" for the rows of all" : "");
        return 0;
}

/* One host that is named as one is asked as the daemon here would be. */
static int run_on_hosts(Session *session, const Verb *verb) {
        _cleanup_(host_set_done) HostSet hosts = {};
        const Options *options = session->options;
        char complaint[HOST_SET_COMPLAINT_BYTES];
        int r = 0;

        for (size_t i = 0; r == 0 && i < options->n_hosts; i++)
                r = host_set_add(&hosts, span_of(options->hosts[i]), complaint);
        if (r == 0 && options->hosts_path)
                r = host_set_add_file(&hosts, options->hosts_path, complaint);
        if (r < 0)
                return complain_errno(r, "read the hosts");
        if (r != 0)
                return complain(r == HOST_SET_E_INVALID ? STATUS_USAGE : STATUS_FAILED, "%s",
                                complaint);
        if (hosts.n == 0)
                return complain(STATUS_USAGE, "--hosts-file names no host.");
        if (options->hosts_path || hosts.n > 1 || host_set_is_list(span_of(options->hosts[0]))) {
                r = check_many(options, verb, hosts.n);
                return r == 0 ? fan_out(session, form_of(session, verb), verb->run, &hosts) : r;
        }
        session->host = hosts.names[0];
        r = verb->run(session);
        session->host = NULL;
        return r;
}

int dispatch(int argc, char *argv[]) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        const Verb *verb = NULL;
        Options options;
        Session session;
        int r;

        r = options_parse(argc, argv, clock_now_ns(CLOCK_REALTIME), &options, complaint);
        if (r == OPTIONS_E_INVALID)
                return complain(STATUS_USAGE, "%s", complaint);
        if (r != 0)
                return complain_errno(r, "read the command line");
        session_init(&session, &options);
        if (options.n_arguments > 0)
                r = take_verb(options.arguments[0], &verb);
        if (r == 0 && options_have(&options, OPTION_VERSION))
                (void) puts("ctprofctl " CTPROF_VERSION);
        else if (r == 0 && options_have(&options, OPTION_HELP))
                r = show_help(&session, verb);
        else if (r == 0 && !verb)
                r = complain(STATUS_USAGE, "No verb is given: \"ctprofctl --help\" lists them.");
        else if (r == 0) {
                r = check(&options, verb);
                if (r == 0)
                        r = options.n_hosts > 0 || options.hosts_path ? run_on_hosts(&session, verb)
                                                                      : verb->run(&session);
        }
        return session_done(&session, r);
}
