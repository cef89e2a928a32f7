/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Heard
 *
 * Collects the complaints about a configuration, one in a line.
 */

#include <stdio.h>
#include <string.h>
#include "config/config.h"

typedef struct Heard {
        char text[4096];
        unsigned n_wrong, n_unknown;
} Heard;

static inline void heard_take(ConfigFault fault, const char *text, void *userdata) {
        Heard *heard = userdata;
        size_t n = strlen(heard->text);

        (void) snprintf(heard->text + n, sizeof(heard->text) - n, "%s\n", text);
        heard->n_wrong += fault == CONFIG_FAULT_WRONG;
        heard->n_unknown += fault == CONFIG_FAULT_UNKNOWN;
}

static inline ConfigListener heard_listener(Heard *heard) {
        *heard = (Heard){};
        return (ConfigListener){ .on_fault = heard_take, .userdata = heard };
}
