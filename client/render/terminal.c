/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/span.h"

#define DEFAULT_COLUMNS 80
#define MIN_COLUMNS 20
#define MAX_COLUMNS 10000

bool terminal_is(int fd) {
        return isatty(fd) != 0;
}

static bool is_false(const char *text) {
        static const char *const words[] = { "0", "no", "n", "false", "f", "off" };

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
                if (strcasecmp(text, words[i]) == 0)
                        return true;
        return false;
}

static bool wants_colour(bool dumb) {
        const char *colours = getenv("SYSTEMD_COLORS");

        if (colours)
                return !is_false(colours);
        return !getenv("NO_COLOR") && !dumb;
}

static size_t find_columns(int fd) {
        const char *text = getenv("COLUMNS");
        struct winsize size;
        uint32_t columns;

        if (text && number_parse_u32(span_of(text), &columns) && columns >= MIN_COLUMNS &&
            columns <= MAX_COLUMNS)
                return columns;
        if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
                return size.ws_col < MIN_COLUMNS ? MIN_COLUMNS : size.ws_col;
        return DEFAULT_COLUMNS;
}

void terminal_init(Terminal *terminal) {
        const char *term = getenv("TERM");
        bool dumb = !term || strcmp(term, "dumb") == 0;

        *terminal = (Terminal){
                .out = terminal_is(STDOUT_FILENO),
                .err = terminal_is(STDERR_FILENO) && !dumb,
        };
        terminal->colour = terminal->out && wants_colour(dumb);
        if (terminal->out || terminal->err)
                terminal->columns = find_columns(terminal->out ? STDOUT_FILENO : STDERR_FILENO);

        if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
                (void) setlocale(LC_CTYPE, "C.UTF-8");
}
