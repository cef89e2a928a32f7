/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Setting
 *
 * The rows of setting-list.h as data, and the values of each type as text.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "config/quantity.h"
#include "config/setting-list.h"

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

extern const Setting settings[_SETTING_MAX];

/* Does not look at the bounds. */
bool setting_parse(const Setting *setting, Span text, uint64_t *ret);
void setting_format(const Setting *setting, uint64_t value, char ret[static QUANTITY_TEXT_BYTES]);
/* What a value of this type looks like, for messages: "a size like 512M or 4G". */
const char *setting_type_text(const Setting *setting);
