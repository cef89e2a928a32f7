/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * The table of settings, and how a fault is told: for the files of this directory.
 */

#include "config/config.h"

typedef enum SettingType { SETTING_SIZE, SETTING_TIME, SETTING_COUNT, SETTING_BOOL } SettingType;

typedef struct Setting {
        const char *section, *key;
        SettingType type;
        uint64_t lowest, highest, standard;
} Setting;

extern const Setting settings[_SETTING_MAX];

/* "ORIGIN: WHAT" */
void config_tell(const ConfigListener *listener, ConfigFault fault, const char *origin,
                 const char *what);
