/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"

#define CONFIG_FILE_BYTES (256u * 1024u)
#define CONFIG_DROP_INS 256 /* more of them are a mistake */
#define CONFIG_SUFFIX ".conf"

/* rows and their values as text */

typedef enum SettingType {
        SETTING_SIZE,
        SETTING_TIME,
        SETTING_COUNT,
        SETTING_BOOL,          /* 0 or 1 */
        SETTING_SMAPS_MODE,    /* a SmapsMode */
        SETTING_COMMAND_LINES, /* a CommandLines */
        SETTING_BACKEND_CHOICE,
        SETTING_EXIT_CHOICE, /* an ExitChoice */
        SETTING_ACCOUNTING,  /* 0: off, 1: auto */
        SETTING_STAY,        /* a time; 0: off, QUANTITY_INFINITY: always */
} SettingType;

typedef struct Setting {
        const char *section, *key;
        SettingType type;
        uint64_t lowest, highest, standard;
} Setting;

static const Setting settings[_SETTING_MAX] = {
#define SETTING_ROW(id, section_, key_, type_, lowest_, highest_, standard_) \
        [SETTING_##id] = { .section = (section_),                            \
                           .key = (key_),                                    \
                           .type = SETTING_##type_,                          \
                           .lowest = (lowest_),                              \
                           .highest = (highest_),                            \
                           .standard = (standard_) },
        SETTINGS(SETTING_ROW)
#undef SETTING_ROW
};

/* The other words of systemd's files. */
static bool parse_bool(Span text, uint64_t *ret) {
        static const char *const words[2][5] = {
                { "no", "false", "off", "0", "n" },
                { "yes", "true", "on", "1", "y" },
        };

        for (unsigned value = 0; value < ELEMENTSOF(words); value++)
                for (size_t i = 0; i < ELEMENTSOF(words[value]); i++)
                        if (span_is(text, words[value][i])) {
                                *ret = value;
                                return true;
                        }
        return false;
}

/* The setting was a boolean once: its words stand for the modes that are nearest to them. */
static bool parse_smaps_mode(Span text, uint64_t *ret) {
        if (!parse_bool(text, ret))
                return false;
        *ret = *ret ? SMAPS_MODE_SMALL : SMAPS_MODE_NONE;
        return true;
}

/* "off" and "always" make no sense as times, so they have words. */
static bool parse_stay(Span text, uint64_t *ret) {
        if (span_is(text, "off") || span_is(text, "always")) {
                *ret = span_is(text, "off") ? 0 : QUANTITY_INFINITY;
                return true;
        }
        return quantity_parse_time(text, ret);
}

static void format_stay(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        if (value == 0 || value == QUANTITY_INFINITY)
                (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", value == 0 ? "off" : "always");
        else
                quantity_format_time(value, ret);
}

static void format_count(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]) {
        (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%" PRIu64, value);
}

#define WORD(id, name) name,
static const struct {
        const char *description;
        const char *words[4]; /* for the values from 0 on */
        bool (*parse)(Span text, uint64_t *ret);
        void (*format)(uint64_t value, char ret[static QUANTITY_TEXT_BYTES]);
} types[] = {
        [SETTING_SIZE] = { "a size like 512M or 4G",
                           {},
                           quantity_parse_size,
                           quantity_format_size },
        [SETTING_TIME] = { "a time like 90s or 1h 30min",
                           {},
                           quantity_parse_time,
                           quantity_format_time },
        [SETTING_COUNT] = { "a number", {}, number_parse_u64, format_count },
        [SETTING_BOOL] = { "yes or no", { "no", "yes" }, parse_bool, NULL },
        [SETTING_BACKEND_CHOICE] = { "auto, procfs or bpf", { BACKEND_CHOICES(WORD) }, NULL, NULL },
        [SETTING_EXIT_CHOICE] = { "auto, bpf, taskstats or off",
                                  { EXIT_CHOICES(WORD) },
                                  NULL,
                                  NULL },
        [SETTING_ACCOUNTING] = { "auto or off", { "off", "auto" }, NULL, NULL },
        [SETTING_STAY] = { "always, off or a time like 1h", {}, parse_stay, format_stay },
        [SETTING_SMAPS_MODE] = { "all, small or none",
                                 { SMAPS_MODES(WORD) },
                                 parse_smaps_mode,
                                 NULL },
        [SETTING_COMMAND_LINES] = { "short, full or no", { COMMAND_LINES(WORD) }, NULL, NULL },
};
#undef WORD

/* Does not look at the bounds. */
static bool parse_value(const Setting *setting, Span text, uint64_t *ret) {
        const char *const *words = types[setting->type].words;

        for (size_t i = 0; i < ELEMENTSOF(types->words) && words[i]; i++)
                if (span_is(text, words[i])) {
                        *ret = i;
                        return true;
                }
        return types[setting->type].parse && types[setting->type].parse(text, ret);
}

static void format_value(const Setting *setting, uint64_t value,
                         char ret[static QUANTITY_TEXT_BYTES]) {
        if (types[setting->type].format)
                types[setting->type].format(value, ret);
        else
                (void) snprintf(ret, QUANTITY_TEXT_BYTES, "%s", types[setting->type].words[value]);
}

/* life */

int config_new(Config **ret) {
        Config *config = calloc(1, sizeof(*config));

        if (!config)
                return -ENOMEM;
        for (unsigned id = 0; id < _SETTING_MAX; id++)
                config->values[id].number = settings[id].standard;
        *ret = config;
        return 0;
}

Config *config_free(Config *config) {
        if (!config)
                return NULL;
        for (unsigned id = 0; id < _SETTING_MAX; id++)
                free(config->values[id].origin);
        free(config);
        return NULL;
}

/* setting */

/* Tells the listener "ORIGIN: WHAT". */
static void tell(const ConfigListener *listener, ConfigFault fault, const char *origin,
                 const char *what) {
        char text[CONFIG_COMPLAINT_BYTES];

        /* A text that is too long is cut off. */
        if (snprintf(text, sizeof(text), "%s: %s", origin, what) >= 0)
                listener->on_fault(fault, text, listener->userdata);
}

int config_set(Config *config, SettingId id, Span value, const char *origin,
               const ConfigListener *listener) {
        const Setting *setting = &settings[id];
        char lowest[QUANTITY_TEXT_BYTES], highest[QUANTITY_TEXT_BYTES];
        int n = (int) MIN_OF(value.n, (size_t) 64);
        uint64_t number = setting->standard;
        char what[CONFIG_COMPLAINT_BYTES];
        char *copy = NULL;

        if (value.n > 0 && !parse_value(setting, value, &number)) {
                (void) snprintf(what, sizeof(what), "%s=: \"%.*s\" is not %s", setting->key, n,
                                value.bytes, types[setting->type].description);
                tell(listener, CONFIG_FAULT_WRONG, origin, what);
                return CONFIG_E_WRONG;
        }
        if (value.n > 0 && (number < setting->lowest || number > setting->highest)) {
                format_value(setting, setting->lowest, lowest);
                format_value(setting, setting->highest, highest);
                (void) snprintf(what, sizeof(what), "%s=: \"%.*s\" is not between %s and %s",
                                setting->key, n, value.bytes, lowest, highest);
                tell(listener, CONFIG_FAULT_WRONG, origin, what);
                return CONFIG_E_WRONG;
        }
        if (value.n > 0) {
                copy = strdup(origin);
                if (!copy)
                        return -ENOMEM;
        }
        free(config->values[id].origin);
        config->values[id] = (SettingValue){ .number = number, .origin = copy };
        return CONFIG_OK;
}

/* one file */

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

static void tell_line(ConfigFile *file, ConfigFault fault, const char *what) {
        char origin[CONFIG_COMPLAINT_BYTES];

        file->wrong |= fault == CONFIG_FAULT_WRONG;
        (void) snprintf(origin, sizeof(origin), "%s:%u", file->path, file->line);
        tell(file->listener, fault, origin, what);
}

/* The blanks of inih: isspace(3) in the C locale. */
static bool is_blank(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

/* As fgets(3). A line that inih must not get to see is an empty one. */
static char *read_line(char *ret, int n_room, void *stream) {
        ConfigFile *file = stream;
        size_t max = (size_t) n_room - 2, n;
        const char *end;
        Span line;

        if (file->expects && !file->assigned)
                tell_line(file, CONFIG_FAULT_WRONG,
                          "the line is neither a section, an assignment nor a comment");
        file->expects = file->assigned = false;
        if (file->rest.n == 0 || file->error < 0 || n_room < 2)
                return NULL;
        file->line++;
        end = memchr(file->rest.bytes, '\n', file->rest.n);
        line = (Span){ file->rest.bytes, end ? (size_t) (end - file->rest.bytes) : file->rest.n };
        n = line.n + (end ? 1 : 0);
        file->rest = (Span){ file->rest.bytes + n, file->rest.n - n };
        while (line.n > 0 && is_blank(line.bytes[line.n - 1]))
                line.n--;
        /* inih takes a line that begins with a blank for a continuation. */
        while (line.n > 0 && is_blank(line.bytes[0]))
                line = (Span){ line.bytes + 1, line.n - 1 };

        if (line.n == 0 || line.bytes[0] == '#' || line.bytes[0] == ';') {
                line.n = 0;
        } else if (line.n > max || memchr(line.bytes, '\0', line.n)) {
                tell_line(file, CONFIG_FAULT_WRONG,
                          line.n > max ? "the line is too long" : "the line contains a NUL byte");
                line.n = 0;
        } else if (line.bytes[0] == '[' && !memchr(line.bytes, ']', line.n)) {
                tell_line(file, CONFIG_FAULT_WRONG, "the section name has no closing \"]\"");
                line.n = 0;
        } else
                file->expects = line.bytes[0] != '[';
        memcpy(ret, line.bytes, line.n);
        memcpy(ret + line.n, "\n", sizeof("\n"));
        return ret;
}

static int on_assignment(void *userdata, const char *section, const char *key, const char *value) {
        ConfigFile *file = userdata;
        char origin[CONFIG_COMPLAINT_BYTES], what[CONFIG_COMPLAINT_BYTES];
        int r;

        file->assigned = true;
        for (unsigned id = 0; id < _SETTING_MAX; id++) {
                if (strcmp(settings[id].section, section) != 0 ||
                    strcmp(settings[id].key, key) != 0)
                        continue;
                (void) snprintf(origin, sizeof(origin), "%s:%u", file->path, file->line);
                r = config_set(file->config, (SettingId) id, span_of(value), origin,
                               file->listener);
                file->wrong |= r == CONFIG_E_WRONG;
                file->error = r < 0 ? r : file->error;
                return 1;
        }
        if (section[0] == '\0')
                (void) snprintf(what, sizeof(what),
                                "%s= comes before the first section and is ignored", key);
        else
                (void) snprintf(what, sizeof(what),
                                "there is no %s= in section [%s]; the line is ignored", key,
                                section);
        tell_line(file, CONFIG_FAULT_UNKNOWN, what);
        return 1;
}

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

/* the files of a host */

typedef struct DropIn {
        char *path; /* owned; the name behind the last slash decides */
        const char *name;
} DropIn;

typedef struct DropIns {
        DropIn *entries;
        size_t n;
} DropIns;

static void drop_ins_done(DropIns *list) {
        for (size_t i = 0; i < list->n; i++)
                free(list->entries[i].path);
        free(list->entries);
}

/* True when the name exists although it could not be opened, such as a dangling link. */
static bool is_there(const char *path) {
        struct stat status;

        return lstat(path, &status) == 0;
}

static int refuse(const ConfigListener *listener, const char *path, int error) {
        tell(listener, CONFIG_FAULT_WRONG, path,
             error == ENOENT ? "the symbolic link points to nothing" : strerror(error));
        return CONFIG_E_WRONG;
}

/* Adds the drop-ins of @directory except those whose name an earlier directory has. */
static int add_directory(DropIns *list, const char *directory, const ConfigListener *listener) {
        DIR *handle = opendir(directory);
        struct dirent *entry;
        int error = handle ? 0 : errno, r = 0;

        if ((error == ENOENT || error == ENOTDIR) && !is_there(directory))
                return CONFIG_OK;
        if (!handle)
                return refuse(listener, directory, error);
        while (r == 0 && (entry = readdir(handle))) {
                const char *name = entry->d_name;
                DropIn *added = &list->entries[list->n];
                size_t n = strlen(name), n_suffix = sizeof(CONFIG_SUFFIX) - 1, i = 0;

                if (name[0] == '.' || n <= n_suffix ||
                    strcmp(name + n - n_suffix, CONFIG_SUFFIX) != 0)
                        continue;
                while (i < list->n && strcmp(list->entries[i].name, name) != 0)
                        i++;
                if (i < list->n)
                        continue;
                if (list->n == CONFIG_DROP_INS) {
                        tell(listener, CONFIG_FAULT_WRONG, directory,
                             "the directory has too many \".conf\" files");
                        r = CONFIG_E_WRONG;
                        break;
                }
                if (asprintf(&added->path, "%s/%s", directory, name) < 0) {
                        r = -ENOMEM;
                        break;
                }
                added->name = added->path + strlen(directory) + 1;
                list->n++;
        }
        (void) closedir(handle);
        return r;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(((const DropIn *) a)->name, ((const DropIn *) b)->name);
}

/* CONFIG_OK when the file does not exist. */
static int load_if_there(Config *config, const char *path, const ConfigListener *listener,
                         bool *ret_found) {
        int r = config_load_file(config, path, listener);

        *ret_found = (r != -ENOENT && r != -ENOTDIR) || is_there(path);
        if (!*ret_found)
                return CONFIG_OK;
        return r >= 0 || r == -ENOMEM ? r : refuse(listener, path, -r);
}

static int load_drop_ins(Config *config, const char *const *directories, size_t n_directories,
                         const char *name, const ConfigListener *listener) {
        _cleanup_(drop_ins_done) DropIns list = {};
        char directory[CONFIG_COMPLAINT_BYTES / 2];
        bool found, wrong = false;
        int r;

        list.entries = calloc(CONFIG_DROP_INS, sizeof(*list.entries));
        if (!list.entries)
                return -ENOMEM;
        for (size_t i = 0; i < n_directories; i++) {
                (void) snprintf(directory, sizeof(directory), "%s/%s.d", directories[i], name);
                r = add_directory(&list, directory, listener);
                if (r < 0)
                        return r;
                wrong |= r == CONFIG_E_WRONG;
        }
        qsort(list.entries, list.n, sizeof(*list.entries), compare_names);
        for (size_t i = 0; i < list.n; i++) {
                r = load_if_there(config, list.entries[i].path, listener, &found);
                if (r < 0)
                        return r;
                wrong |= r == CONFIG_E_WRONG;
        }
        return wrong ? CONFIG_E_WRONG : CONFIG_OK;
}

int config_load(Config *config, const char *const *directories, size_t n_directories,
                const char *name, const ConfigListener *listener) {
        char path[CONFIG_COMPLAINT_BYTES / 2];
        int main_result = CONFIG_OK, r;
        bool found = false;

        for (size_t i = 0; i < n_directories && !found; i++) {
                (void) snprintf(path, sizeof(path), "%s/%s", directories[i], name);
                main_result = load_if_there(config, path, listener, &found);
        }
        if (main_result < 0)
                return main_result;
        r = load_drop_ins(config, directories, n_directories, name, listener);
        return r != CONFIG_OK ? r : main_result;
}

/* the settings as a file */

int config_dump(const Config *config, Buffer *ret) {
        const char *section = NULL;

        for (unsigned id = 0; id < _SETTING_MAX; id++) {
                const Setting *setting = &settings[id];
                const SettingValue *value = &config->values[id];
                char text[QUANTITY_TEXT_BYTES] = "";

                if (!section || strcmp(section, setting->section) != 0)
                        buffer_append_format(ret, "%s[%s]\n", section ? "\n" : "",
                                             setting->section);
                section = setting->section;
                if (value->origin || value->number != SETTING_AUTOMATIC ||
                    setting->type != SETTING_SIZE)
                        format_value(setting, value->number, text);
                if (value->origin)
                        buffer_append_format(ret, "# %s\n%s=%s\n", value->origin, setting->key,
                                             text);
                else
                        buffer_append_format(ret, "#%s=%s\n", setting->key, text);
        }
        return buffer_failure(ret);
}
