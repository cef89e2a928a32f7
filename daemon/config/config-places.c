/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/config.h"

#define CONFIG_DROP_INS 256 /* more of them are a mistake */
#define CONFIG_SUFFIX ".conf"

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

static bool is_drop_in(const char *name) {
        size_t n = strlen(name), n_suffix = sizeof(CONFIG_SUFFIX) - 1;

        return name[0] != '.' && n > n_suffix && strcmp(name + n - n_suffix, CONFIG_SUFFIX) == 0;
}

static bool has_name(const DropIns *list, const char *name) {
        for (size_t i = 0; i < list->n; i++)
                if (strcmp(list->entries[i].name, name) == 0)
                        return true;
        return false;
}

static int add_drop_in(DropIns *list, const char *directory, const char *name) {
        DropIn *entry = &list->entries[list->n];

        if (asprintf(&entry->path, "%s/%s", directory, name) < 0)
                return -ENOMEM;
        entry->name = entry->path + strlen(directory) + 1;
        list->n++;
        return 0;
}

/* Whether the name exists although it could not be opened, such as a dangling link. */
static bool is_there(const char *path) {
        struct stat status;

        return lstat(path, &status) == 0;
}

static int refuse(const ConfigListener *listener, const char *path, int error) {
        config_tell(listener, CONFIG_FAULT_WRONG, path,
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
                if (!is_drop_in(entry->d_name) || has_name(list, entry->d_name))
                        continue;
                if (list->n == CONFIG_DROP_INS) {
                        config_tell(listener, CONFIG_FAULT_WRONG, directory,
                                    "the directory has too many \".conf\" files");
                        r = CONFIG_E_WRONG;
                        break;
                }
                r = add_drop_in(list, directory, entry->d_name);
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

static int load_main(Config *config, const char *const *directories, size_t n_directories,
                     const char *name, const ConfigListener *listener) {
        char path[CONFIG_COMPLAINT_BYTES / 2];
        bool found = false;
        int r = 0;

        for (size_t i = 0; i < n_directories && !found; i++) {
                (void) snprintf(path, sizeof(path), "%s/%s", directories[i], name);
                r = load_if_there(config, path, listener, &found);
        }
        return r;
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
        int main_result, r;

        main_result = load_main(config, directories, n_directories, name, listener);
        if (main_result < 0)
                return main_result;
        r = load_drop_ins(config, directories, n_directories, name, listener);
        return r != CONFIG_OK ? r : main_result;
}
