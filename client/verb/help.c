/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/help.h"

#include "render/lines.h"
#include "session/complain.h"
#include "session/option-list.h"

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

void help_print(const Verb *verb, const Terminal *terminal, FILE *out) {
        /* Unlike data, help may be wrapped in a pipe, too: it is 80 columns wide there. */
        const Terminal page = { .out = true, .columns = terminal->out ? terminal->columns : 80 };
        const Lines lines = { out, &page, LABEL_COLUMNS };

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
        if (r == 0)
                help_print(verb, &session->terminal, stdout);
        return r;
}
