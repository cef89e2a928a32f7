/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/command.h"

#include <string.h>

#include "base/name.h"

bool command_next(Span *rest, Span *ret) {
        const char *end = rest->n > 0 ? memchr(rest->bytes, '\0', rest->n) : NULL;
        size_t n = end ? (size_t) (end - rest->bytes) : 0;

        if (!end)
                return false;
        *ret = (Span){ rest->bytes, n };
        *rest = (Span){ rest->bytes + n + 1, rest->n - n - 1 };
        return true;
}

/* interpreters */

/*
 * The options that are followed by something else than the program to run. Letters may be put
 * together behind one hyphen, as getopt(3) has it; words are whole arguments, separated by blanks.
 */
typedef struct Interpreter {
        const char *name;
        const char *program;  /* letters: what follows is text of a program, not its name */
        const char *operand;  /* letters: what follows belongs to the option */
        const char *attached; /* letters: so does the rest of the argument */
        const char *program_words, *operand_words;
} Interpreter;

// clang-format off
static const Interpreter interpreters[] = {
        { "python",  "c",    "WXQ",    "",            "", "--check-hash-based-pycs" },
        { "pypy",    "c",    "WX",     "",            "", "--jit" },
        { "perl",    "eE",   "I",      "MmiFxdDCVl0", "", "" },
        { "ruby",    "e",    "IrCE",   "KTWxFi0",     "", "--encoding --external-encoding" },
        { "php",     "rRBE", "cdtSzF", "",            "--run",
          "--php-ini --define --docroot --server" },
        { "node",    "ep",   "rC",     "",            "--eval --print",
          "--require --import --loader --experimental-loader --conditions --input-type --title" },
        { "nodejs",  "ep",   "rC",     "",            "--eval --print",
          "--require --import --loader --experimental-loader --conditions --input-type --title" },
        { "lua",     "e",    "l",      "",            "", "" },
        { "luajit",  "e",    "l",      "jO",          "", "" },
        { "tclsh",   "",     "",       "",            "", "-encoding" },
        { "wish",    "",     "",       "",            "",
          "-encoding -display -geometry -name -use" },
        { "Rscript", "e",    "",       "",            "", "" },
        { "julia",   "eE",   "JLptC",  "",            "--eval --print",
          "--project --load --procs --threads --sysimage" },
        { "guile",   "c",    "Llex",   "",            "", "" },
        { "java",    "",     "",       "",            "",
          "-cp -classpath --class-path -p --module-path --upgrade-module-path --add-modules "
          "--limit-modules --add-exports --add-opens --add-reads --source" },
        { "mono",    "",     "",       "",            "", "--config" },
        { "dotnet",  "",     "",       "",            "",
          "--depsfile --runtimeconfig --fx-version --roll-forward --additionalprobingpath "
          "--additional-deps" },
        { "sh",      "c",    "o",      "",            "", "" },
        { "bash",    "c",    "oO",     "",            "", "--rcfile --init-file" },
        { "dash",    "c",    "o",      "",            "", "" },
        { "ash",     "c",    "o",      "",            "", "" },
        { "ksh",     "c",    "o",      "",            "", "" },
        { "mksh",    "c",    "o",      "",            "", "" },
        { "zsh",     "c",    "o",      "",            "", "" },
        { "fish",    "c",    "Cdo",    "",            "--command", "--init-command" },
};
// clang-format on

static Span last_component(Span path) {
        for (size_t i = path.n; i > 0; i--)
                if (path.bytes[i - 1] == '/')
                        return (Span){ path.bytes + i, path.n - i };
        return path;
}

/*
 * The hyphen in front of the name of a login shell is no part of it, nor is the "@" of a process
 * that is not to be killed at the end of a boot.
 */
static Span program_name(Span argument) {
        Span name = last_component(argument);

        if (name.n > 1 && (name.bytes[0] == '-' || name.bytes[0] == '@'))
                name = (Span){ name.bytes + 1, name.n - 1 };
        return name;
}

static bool is_among(Span word, const char *words) {
        while (*words != '\0') {
                size_t n = strcspn(words, " ");

                if (span_equal(word, (Span){ words, n }))
                        return true;
                words += n + (words[n] == ' ');
        }
        return false;
}

typedef enum Option {
        OPTION_FLAG,
        OPTION_OPERAND, /* the next argument belongs to it */
        OPTION_PROGRAM, /* there is no program but that text */
} Option;

static Option find_option(const Interpreter *interpreter, Span option) {
        if (is_among(option, interpreter->program_words))
                return OPTION_PROGRAM;
        if (is_among(option, interpreter->operand_words))
                return OPTION_OPERAND;
        for (size_t i = 1; i < option.n && option.bytes[1] != '-'; i++) {
                char letter = option.bytes[i];

                if (letter == '\0' || strchr(interpreter->attached, letter))
                        break;
                if (strchr(interpreter->program, letter))
                        return OPTION_PROGRAM;
                if (strchr(interpreter->operand, letter))
                        return i + 1 == option.n ? OPTION_OPERAND : OPTION_FLAG;
        }
        return OPTION_FLAG;
}

/* Finds the program that the interpreter runs, among the arguments behind its own. */
static bool find_program(const Interpreter *interpreter, Span rest, Span *ret) {
        const Span device = SPAN_LITERAL("/dev/");
        Span argument;

        while (command_next(&rest, &argument)) {
                Option option;

                if (span_is(argument, "--"))
                        return command_next(&rest, ret) && ret->n > 0;
                if (argument.n == 0 || span_is(argument, "-"))
                        return false;
                /* "/dev/stdin", and "/dev/fd/63" as shells name what another program writes. */
                if (argument.n > device.n && memcmp(argument.bytes, device.bytes, device.n) == 0)
                        return false;
                if (argument.bytes[0] != '-') {
                        *ret = argument;
                        return true;
                }
                option = find_option(interpreter, argument);
                if (option == OPTION_PROGRAM ||
                    (option == OPTION_OPERAND && !command_next(&rest, &argument)))
                        return false;
        }
        return false;
}

/* commands */

size_t command_shorten(Span text, char ret[static COMMAND_MAX_BYTES]) {
        Span rest = text, name, kept[2] = {}; /* the program, and what it interprets */
        size_t n = 0, n_kept = 1, n_zeros = 0;

        if (!command_next(&rest, &kept[0]) || program_name(kept[0]).n == 0)
                return 0;
        /*
         * It may be a title: a process writes over its arguments from their beginning, and leaves
         * zeros or nothing behind.
         */
        while (n_zeros < rest.n && rest.bytes[n_zeros] == '\0')
                n_zeros++;
        if (n_zeros == rest.n && memchr(kept[0].bytes, ' ', kept[0].n))
                return 0;
        /* "python3.11" and "perl5.36.0" are called by their version. */
        name = program_name(kept[0]);
        while (name.n > 0 && (name.bytes[name.n - 1] == '.' ||
                              (name.bytes[name.n - 1] >= '0' && name.bytes[name.n - 1] <= '9')))
                name.n--;
        for (size_t i = 0; i < ELEMENTSOF(interpreters); i++)
                if (span_is(name, interpreters[i].name)) {
                        n_kept += find_program(&interpreters[i], rest, &kept[1]);
                        break;
                }
        for (size_t i = 0; i < n_kept && kept[i].n < COMMAND_MAX_BYTES - n; i++) {
                memcpy(ret + n, kept[i].bytes, kept[i].n);
                n += kept[i].n;
                ret[n++] = '\0';
        }
        return n;
}

size_t command_keep(Span text, char ret[static COMMAND_MAX_BYTES]) {
        size_t n;

        while (text.n > 0 && text.bytes[text.n - 1] == '\0')
                text.n--;
        n = MIN_OF(text.n, (size_t) COMMAND_MAX_BYTES - 1);
        if (n == 0)
                return 0;
        memcpy(ret, text.bytes, n);
        ret[n] = '\0';
        return n + 1;
}

int command_append_name(Buffer *buffer, Span command) {
        Span first, program;

        if (!command_next(&command, &first))
                return buffer_failure(buffer);
        first = program_name(first);
        (void) buffer_append(buffer, first.bytes, first.n);
        if (command_next(&command, &program) && program.n > 0) {
                Span name = last_component(program);

                (void) buffer_append_byte(buffer, ' ');
                (void) buffer_append(buffer, name.n > 0 ? name.bytes : program.bytes,
                                     name.n > 0 ? name.n : program.n);
        }
        return buffer_failure(buffer);
}
