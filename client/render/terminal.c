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
#define DEFAULT_ROWS 24
#define MAX_SIZE 10000

bool terminal_is(int fd) {
        return isatty(fd) != 0;
}

/* Takes what the user says in the environment, if it is believable. */
static bool size_from(const char *variable, size_t least, size_t *ret) {
        const char *text = getenv(variable);
        uint32_t size;

        if (!text || !number_parse_u32(span_of(text), &size) || size < least || size > MAX_SIZE)
                return false;
        *ret = size;
        return true;
}

void terminal_init(Terminal *terminal) {
        static const char *const noes[] = { "0", "no", "n", "false", "f", "off" };
        const char *term = getenv("TERM"), *colours = getenv("SYSTEMD_COLORS");
        bool dumb = !term || strcmp(term, "dumb") == 0;
        struct winsize size;

        *terminal = (Terminal){
                .out = isatty(STDOUT_FILENO) != 0,
                .err = isatty(STDERR_FILENO) != 0 && !dumb,
        };
        terminal->colour = terminal->out && (colours || (!getenv("NO_COLOR") && !dumb));
        for (size_t i = 0; colours && i < sizeof(noes) / sizeof(noes[0]); i++)
                if (strcasecmp(colours, noes[i]) == 0)
                        terminal->colour = false;
        if (terminal->out || terminal->err) {
                if (ioctl(terminal->out ? STDOUT_FILENO : STDERR_FILENO, TIOCGWINSZ, &size) != 0)
                        size = (struct winsize){};
                terminal->columns = size.ws_col == 0 ? DEFAULT_COLUMNS : size.ws_col;
                if (terminal->columns < MIN_COLUMNS)
                        terminal->columns = MIN_COLUMNS;
                terminal->rows = size.ws_row == 0 ? DEFAULT_ROWS : size.ws_row;
                (void) size_from("COLUMNS", MIN_COLUMNS, &terminal->columns);
                (void) size_from("LINES", 1, &terminal->rows);
        }

        terminal->utf8 = setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
        if (!terminal->utf8)
                (void) setlocale(LC_CTYPE, "C.UTF-8");
}
