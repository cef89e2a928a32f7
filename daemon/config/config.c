/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/setting.h"

typedef struct SettingValue {
        uint64_t number;
        char *origin; /* owned; NULL: nobody set it */
} SettingValue;

struct Config {
        SettingValue values[_SETTING_MAX];
};

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

void config_tell(const ConfigListener *listener, ConfigFault fault, const char *origin,
                 const char *what) {
        char text[CONFIG_COMPLAINT_BYTES];

        (void) snprintf(text, sizeof(text), "%s: %s", origin, what);
        listener->on_fault(fault, text, listener->userdata);
}

static int refuse_value(const ConfigListener *listener, const Setting *setting, Span value,
                        const char *origin) {
        char lowest[QUANTITY_TEXT_BYTES], highest[QUANTITY_TEXT_BYTES];
        char what[CONFIG_COMPLAINT_BYTES];
        int n = (int) MIN_OF(value.n, (size_t) 64);
        uint64_t number;

        if (!setting_parse(setting, value, &number)) {
                (void) snprintf(what, sizeof(what), "%s=: \"%.*s\" is not %s", setting->key, n,
                                value.bytes, setting_type_text(setting));
        } else {
                setting_format(setting, setting->lowest, lowest);
                setting_format(setting, setting->highest, highest);
                (void) snprintf(what, sizeof(what), "%s=: \"%.*s\" is not between %s and %s",
                                setting->key, n, value.bytes, lowest, highest);
        }
        config_tell(listener, CONFIG_FAULT_WRONG, origin, what);
        return CONFIG_E_WRONG;
}

int config_set(Config *config, SettingId id, Span value, const char *origin,
               const ConfigListener *listener) {
        const Setting *setting = &settings[id];
        uint64_t number = setting->standard;
        char *copy = NULL;

        if (value.n > 0) {
                if (!setting_parse(setting, value, &number) || number < setting->lowest ||
                    number > setting->highest)
                        return refuse_value(listener, setting, value, origin);
                copy = strdup(origin);
                if (!copy)
                        return -ENOMEM;
        }
        free(config->values[id].origin);
        config->values[id] = (SettingValue){ .number = number, .origin = copy };
        return CONFIG_OK;
}

/* what is known */

bool config_is_set(const Config *config, SettingId id) {
        return config->values[id].origin;
}

uint64_t config_get(const Config *config, SettingId id) {
        return config->values[id].number;
}

static void dump_setting(const Setting *setting, const SettingValue *value, Buffer *ret) {
        char text[QUANTITY_TEXT_BYTES] = "";

        if (value->origin || value->number != SETTING_AUTOMATIC || setting->type != SETTING_SIZE)
                setting_format(setting, value->number, text);
        if (value->origin)
                buffer_append_format(ret, "# %s\n%s=%s\n", value->origin, setting->key, text);
        else
                buffer_append_format(ret, "#%s=%s\n", setting->key, text);
}

int config_dump(const Config *config, Buffer *ret) {
        const char *section = NULL;

        for (unsigned id = 0; id < _SETTING_MAX; id++) {
                if (!section || strcmp(section, settings[id].section) != 0)
                        buffer_append_format(ret, "%s[%s]\n", section ? "\n" : "",
                                             settings[id].section);
                section = settings[id].section;
                dump_setting(&settings[id], &config->values[id], ret);
        }
        return buffer_failure(ret);
}
