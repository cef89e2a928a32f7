/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Config
 *
 * The settings of the daemon: values of the configuration files, or the defaults. A line that
 * cannot be used is reported with its file and number and changes nothing; the caller decides
 * whether to go on. A file that is loaded later overrides earlier ones.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "config/setting-list.h"

#define CONFIG_COMPLAINT_BYTES 512

enum {
        CONFIG_OK,
        CONFIG_E_WRONG, /* some lines were wrong and reported; the others were used */
};

typedef struct SettingValue {
        /*
         * Bytes, nanoseconds, a count, 0 or 1 of a BOOL, or a SmapsMode; QUANTITY_INFINITY for
         * "infinity", and for automatic.
         */
        uint64_t number;
        char *origin; /* owned; NULL: nobody set it */
} SettingValue;

typedef struct Config {
        SettingValue values[_SETTING_MAX]; /* by SettingId */
} Config;

typedef enum ConfigFault {
        CONFIG_FAULT_WRONG,   /* a value, a line or a file that cannot be used */
        CONFIG_FAULT_UNKNOWN, /* a section or key of another version: no reason to refuse */
} ConfigFault;

typedef struct ConfigListener {
        /* @text: one sentence without its full stop, "FILE:LINE: ...". */
        void (*on_fault)(ConfigFault fault, const char *text, void *userdata);
        void *userdata;
} ConfigListener;

/* life */

/* Everything at its default. */
_must_check_ int config_new(Config **ret);
Config *config_free(Config *config);
DEFINE_CLEANUP(Config *, config_free);

/* reading */

/* One file, which must exist: else the negative errno of opening it, and nothing was told. */
_must_check_ int config_load_file(Config *config, const char *path, const ConfigListener *listener);
/*
 * Loads the configuration of a host from @directories, the most important one first: the first
 * "@name" that exists, then every "*.conf" of the directories "@name.d", sorted by name; of two
 * files with one name the first directory's counts. No file at all is fine.
 */
_must_check_ int config_load(Config *config, const char *const *directories, size_t n_directories,
                             const char *name, const ConfigListener *listener);
/* A setting from elsewhere; @origin is where, for messages. An empty value is the default. */
_must_check_ int config_set(Config *config, SettingId id, Span value, const char *origin,
                            const ConfigListener *listener);

/* The same settings as a file, with where each comes from; those at their default as comments. */
_must_check_ int config_dump(const Config *config, Buffer *ret);
