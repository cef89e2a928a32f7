/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/help.h"

#include "render/lines.h"
#include "verb/option-list.h"

#define LABEL_COLUMNS 25
#define LABEL_BYTES 64

static void print_option(const Lines *lines, const OptionRow *row) {
        char label[LABEL_BYTES], letter[] = "-x, ";

        letter[1] = row->letter;
        (void) snprintf(label, sizeof(label), "  %s--%s%s%s%s", row->letter != 0 ? letter : "",
                        row->name,
                        row->argument == OPTION_ARGUMENT_REQUIRED   ? " "
                        : row->argument == OPTION_ARGUMENT_OPTIONAL ? "[="
                                                                    : "",
                        row->argument_name, row->argument == OPTION_ARGUMENT_OPTIONAL ? "]" : "");
        lines_print(lines, label, row->help);
}

static void print_options(const Lines *lines, uint64_t bits) {
        for (unsigned id = 0; id < _OPTION_MAX; id++)
                if (bits >> id & 1)
                        print_option(lines, &option_table[id]);
}

static void print_verb(const Lines *lines, const Verb *verb) {
        char label[LABEL_BYTES];

        (void) snprintf(label, sizeof(label), "  %s%s%s", verb->name,
                        verb->synopsis[0] != '\0' ? " " : "", verb->synopsis);
        lines_print(lines, label, verb->summary);
}

void help_print(const Verb *verb, const Terminal *terminal, FILE *out) {
        /* Text without data in it: as wide as pages are where nobody says how wide. */
        const Terminal page = { .out = true, .columns = terminal->out ? terminal->columns : 80 };
        const Lines lines = { out, &page, LABEL_COLUMNS };

        if (verb) {
                (void) fprintf(out, "ctprofctl [OPTIONS...] %s%s%s\n\n%s.\n", verb->name,
                               verb->synopsis[0] != '\0' ? " " : "", verb->synopsis, verb->summary);
                if (verb->options != 0)
                        (void) fputs("\nOptions:\n", out);
                print_options(&lines, verb->options);
        } else {
                (void) fputs("ctprofctl [OPTIONS...] VERB [ARGUMENTS...]\n\n"
                             "Take host-wide snapshots of every thread, show and compare them.\n\n"
                             "Verbs:\n",
                             out);
                for (size_t i = 0; verb_table[i]; i++)
                        print_verb(&lines, verb_table[i]);
        }
        (void) fprintf(out, "\n%s:\n", verb ? "Common options" : "Options of all verbs");
        print_options(&lines, OPTION_COMMON_BITS);
        if (!verb)
                (void) fputs(
                        "\n\"ctprofctl VERB --help\" tells the options of a verb; a SNAPSHOT is a "
                        "name in the\nspool, latest, latest~1, ..., or the path of a file. See "
                        "ctprofctl(1).\n",
                        out);
}
