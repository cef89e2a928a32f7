/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/dispatch.h"

#include <stdio.h>

#include "base/buffer.h"
#include "call/cancel.h"
#include "config.h"
#include "render/lines.h"
#include "session/complain.h"
#include "session/option-list.h"
#include "verb/verb.h"

#define LABEL_COLUMNS 25
#define LABEL_BYTES 64

static void print_option(const Lines *lines, const Verb *verb, unsigned id) {
        const OptionRow *row = &option_table[id];
        const VerbHelp *help = verb_find_help(verb, (OptionId) id);
        char label[LABEL_BYTES], letter[] = "-x, ";

        letter[1] = row->letter;
        (void) snprintf(label, sizeof(label), "  %s--%s%s%s%s", row->letter != 0 ? letter : "",
                        row->name,
                        row->argument == OPTION_ARGUMENT_REQUIRED   ? " "
                        : row->argument == OPTION_ARGUMENT_OPTIONAL ? "[="
                                                                    : "",
                        help && help->argument_name ? help->argument_name : row->argument_name,
                        row->argument == OPTION_ARGUMENT_OPTIONAL ? "]" : "");
        lines_print(lines, label, help ? help->text : row->help);
}

static void print_options(const Lines *lines, const Verb *verb, uint64_t bits) {
        for (unsigned id = 0; id < _OPTION_MAX; id++)
                if (bits >> id & 1)
                        print_option(lines, verb, id);
}

static void print_verb(const Lines *lines, const Verb *verb) {
        char label[LABEL_BYTES];

        (void) snprintf(label, sizeof(label), "  %s%s%s", verb->name,
                        verb->synopsis[0] != '\0' ? " " : "", verb->synopsis);
        lines_print(lines, label, verb->summary);
}

/* @verb: NULL for the program as a whole. */
static void print_help(const Verb *verb, const Terminal *terminal, FILE *out) {
        /* Unlike data, help may be wrapped in a pipe, too: it is 80 columns wide there. */
        const Terminal page = { .out = true, .columns = terminal->out ? terminal->columns : 80 };
        const Lines lines = { .out = out, .terminal = &page, .label_columns = LABEL_COLUMNS };

        if (verb) {
                (void) fprintf(out, "ctprofctl %s [OPTIONS...]%s%s\n\n%s.\n", verb->name,
                               verb->synopsis[0] != '\0' ? " " : "", verb->synopsis, verb->summary);
                if (verb->options != 0)
                        (void) fputs("\nOptions:\n", out);
                print_options(&lines, verb, verb->options);
        } else {
                (void) fputs("ctprofctl [OPTIONS...] VERB [ARGUMENTS...]\n\n"
                             "Take host-wide snapshots of every thread, show and compare them.\n\n"
                             "Verbs:\n",
                             out);
                for (size_t i = 0; i < _VERB_MAX; i++)
                        print_verb(&lines, &verb_table[i]);
        }
        (void) fprintf(out, "\n%s:\n", verb ? "Common options" : "Options of all verbs");
        print_options(&lines, verb, OPTION_COMMON_BITS);
        if (!verb)
                (void) fputs(
                        "\n\"ctprofctl VERB --help\" tells the options of a verb; a SNAPSHOT is a "
                        "name in the\nspool, latest, latest~1, ..., or the path of a file. See "
                        "ctprofctl(1).\n",
                        out);
}

int verb_help(Session *session) {
        const Options *options = session->options;
        const char *nearest;
        const Verb *verb = NULL;
        int r;

        if (options->n_arguments > 1) {
                verb = verb_find(options->arguments[1], &nearest);
                if (!verb)
                        return verb_complain_unknown(options->arguments[1], nearest);
        }
        r = session_page(session);
        if (r != 0)
                return r;
        print_help(verb, &session->terminal, stdout);
        return STATUS_DONE;
}

/* Explains that the format belongs to another verb. */
static int complain_format(const Options *options, const Verb *verb) {
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
        return complain(STATUS_USAGE, "\"%s\" has no --format %s: there are %s.", verb->name,
                        format_name(options->format), text);
}

#define REFUSAL_ROW(name_, option_, why_) { verb_##name_, OPTION_##option_, (why_) },
static const struct {
        int (*run)(Session *session);
        OptionId option;
        const char *why;
} refusals[] = { VERB_REFUSALS(REFUSAL_ROW) };

static int refuse_option(const Verb *verb, unsigned id) {
        for (size_t i = 0; i < ELEMENTSOF(refusals); i++)
                if (refusals[i].run == verb->run && refusals[i].option == id)
                        return complain(STATUS_USAGE, "%s", refusals[i].why);
        return complain(STATUS_USAGE, "\"%s\" does not take --%s.", verb->name,
                        option_table[id].name);
}

/* Refuses options that contradict each other and options that the verb does not take. */
static int check_options(const Options *options, const Verb *verb) {
        uint64_t strange = options->given & ~(OPTION_COMMON_BITS | verb->options);

        for (unsigned id = 0; id < _OPTION_MAX; id++)
                if (strange >> id & 1)
                        return refuse_option(verb, id);
        if (options->format != _FORMAT_MAX && (verb->formats >> options->format & 1) == 0)
                return complain_format(options, verb);
        if (options_have(options, OPTION_LOCAL) && options->socket_path)
                return complain(STATUS_USAGE,
                                "--local starts a daemon and --socket names one: give "
                                "only one of them.");
        if (options->spool_path && !options_have(options, OPTION_LOCAL))
                return complain(STATUS_USAGE, "--spool goes with --local: a daemon has its own.");
        return 0;
}

static int check_arguments(const Options *options, const Verb *verb) {
        size_t n = options->n_arguments - 1;
        char quoted[QUOTE_BYTES];

        if (n < verb->min_arguments)
                return complain(STATUS_USAGE, "\"%s\" needs %s, as in \"ctprofctl %s %s\".",
                                verb->name, verb->needs, verb->name, verb->synopsis);
        if (n > verb->max_arguments)
                return complain(STATUS_USAGE, "\"%s\" does not take the argument %s.", verb->name,
                                quote(options->arguments[1 + verb->max_arguments], quoted));
        return 0;
}

static int run(Session *session) {
        const Options *options = session->options;
        const char *nearest = NULL;
        const Verb *verb = NULL;
        int r;

        if (options->n_arguments > 0) {
                verb = verb_find(options->arguments[0], &nearest);
                if (!verb)
                        return verb_complain_unknown(options->arguments[0], nearest);
        }
        if (options_have(options, OPTION_VERSION)) {
                (void) puts("ctprofctl " CTPROF_VERSION);
                return STATUS_DONE;
        }
        if (options_have(options, OPTION_HELP)) {
                r = session_page(session);
                if (r != 0)
                        return r;
                print_help(verb, &session->terminal, stdout);
                return STATUS_DONE;
        }
        if (!verb)
                return complain(STATUS_USAGE, "No verb is given: \"ctprofctl --help\" lists them.");
        r = check_options(options, verb);
        if (r != 0)
                return r;
        r = check_arguments(options, verb);
        return r == 0 ? verb->run(session) : r;
}

int dispatch(int argc, char *argv[]) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;
        Session session;
        int r;

        r = options_parse(argc, argv, realtime_now_ns(), &options, complaint);
        if (r == OPTIONS_E_INVALID)
                return complain(STATUS_USAGE, "%s", complaint);
        if (r != 0)
                return complain_errno(r, "read the command line");
        session_init(&session, &options);
        return session_done(&session, run(&session));
}
