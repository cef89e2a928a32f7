/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/setting.h"

#define CONFIG_FILE_BYTES (256u * 1024u)

/*
 * inih reports neither line numbers nor more than the first line it could not read. It asks for one
 * line after the other, so this reader counts them: a line that should be an assignment but does
 * not reach the handler is wrong.
 */
typedef struct ConfigFile {
        Config *config;
        const char *path;
        const ConfigListener *listener;
        Span rest;
        unsigned line;
        bool expects; /* this line should assign */
        bool assigned;
        bool wrong; /* at least one line was wrong */
        int error;
} ConfigFile;

static const char *origin_of(const ConfigFile *file, char ret[static CONFIG_COMPLAINT_BYTES]) {
        (void) snprintf(ret, CONFIG_COMPLAINT_BYTES, "%s:%u", file->path, file->line);
        return ret;
}

static void tell(ConfigFile *file, ConfigFault fault, const char *what) {
        char origin[CONFIG_COMPLAINT_BYTES];

        file->wrong |= fault == CONFIG_FAULT_WRONG;
        config_tell(file->listener, fault, origin_of(file, origin), what);
}

/* lines */

static void end_line(ConfigFile *file) {
        if (file->expects && !file->assigned)
                tell(file, CONFIG_FAULT_WRONG,
                     "the line is neither a section, an assignment nor a comment");
        file->expects = file->assigned = false;
}

/* The blanks of inih: isspace(3) in the C locale. */
static bool is_blank(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

static Span take_line(Span *rest) {
        const char *end = memchr(rest->bytes, '\n', rest->n);
        size_t n = end ? (size_t) (end - rest->bytes) : rest->n;
        Span line = { rest->bytes, n };

        n += end ? 1 : 0;
        *rest = (Span){ rest->bytes + n, rest->n - n };
        while (line.n > 0 && is_blank(line.bytes[line.n - 1]))
                line.n--;
        /* inih takes a line that begins with a blank for a continuation. */
        while (line.n > 0 && is_blank(line.bytes[0]))
                line = (Span){ line.bytes + 1, line.n - 1 };
        return line;
}

/* False for a line that inih must not get to see. */
static bool begin_line(ConfigFile *file, Span line, size_t max) {
        if (line.n == 0 || line.bytes[0] == '#' || line.bytes[0] == ';')
                return false;
        if (line.n > max || memchr(line.bytes, '\0', line.n)) {
                tell(file, CONFIG_FAULT_WRONG,
                     line.n > max ? "the line is too long" : "the line contains a NUL byte");
                return false;
        }
        if (line.bytes[0] == '[' && !memchr(line.bytes, ']', line.n)) {
                tell(file, CONFIG_FAULT_WRONG, "the section name has no closing \"]\"");
                return false;
        }
        file->expects = line.bytes[0] != '[';
        return true;
}

/* As fgets(3). */
static char *read_line(char *ret, int n_room, void *stream) {
        ConfigFile *file = stream;
        Span line;

        end_line(file);
        if (file->rest.n == 0 || file->error < 0 || n_room < 2)
                return NULL;
        file->line++;
        line = take_line(&file->rest);
        if (!begin_line(file, line, (size_t) n_room - 2))
                line.n = 0;
        memcpy(ret, line.bytes, line.n);
        memcpy(ret + line.n, "\n", sizeof("\n"));
        return ret;
}

static void tell_unknown(ConfigFile *file, const char *section, const char *key) {
        char what[CONFIG_COMPLAINT_BYTES];

        if (section[0] == '\0')
                (void) snprintf(what, sizeof(what),
                                "%s= comes before the first section and is ignored", key);
        else
                (void) snprintf(what, sizeof(what),
                                "there is no %s= in section [%s]; the line is ignored", key,
                                section);
        tell(file, CONFIG_FAULT_UNKNOWN, what);
}

static int on_assignment(void *userdata, const char *section, const char *key, const char *value) {
        ConfigFile *file = userdata;
        char origin[CONFIG_COMPLAINT_BYTES];
        int r;

        file->assigned = true;
        for (unsigned id = 0; id < _SETTING_MAX; id++) {
                if (strcmp(settings[id].section, section) != 0 ||
                    strcmp(settings[id].key, key) != 0)
                        continue;
                r = config_set(file->config, (SettingId) id, span_of(value),
                               origin_of(file, origin), file->listener);
                file->wrong |= r == CONFIG_E_WRONG;
                file->error = r < 0 ? r : file->error;
                return 1;
        }
        tell_unknown(file, section, key);
        return 1;
}

/* files */

/* Opened without waiting, in case it is a FIFO; /dev/null is an empty file. */
static int read_file(const char *path, Buffer *ret) {
        _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        char *room;
        ssize_t n;
        int r;

        if (fd < 0)
                return -errno;
        do {
                r = buffer_reserve(ret, 4096, &room);
                if (r < 0)
                        return r == -EMSGSIZE ? -EFBIG : r;
                n = read(fd, room, 4096);
                if (n < 0)
                        return -errno;
                ret->n += (size_t) n;
        } while (n > 0);
        return 0;
}

int config_load_file(Config *config, const char *path, const ConfigListener *listener) {
        _cleanup_(buffer_done) Buffer text = { .max_bytes = CONFIG_FILE_BYTES };
        ConfigFile file = { .config = config, .path = path, .listener = listener };
        int r;

        r = read_file(path, &text);
        if (r < 0)
                return r;
        file.rest = buffer_span(&text);
        if (text.n >= 3 && memcmp(text.bytes, "\xef\xbb\xbf", 3) == 0) /* UTF-8's mark */
                file.rest = (Span){ text.bytes + 3, text.n - 3 };
        /* A failure can only be about lines, and those were reported. */
        (void) ini_parse_stream(read_line, &file, on_assignment, &file);
        if (file.error < 0)
                return file.error;
        return file.wrong ? CONFIG_E_WRONG : CONFIG_OK;
}
