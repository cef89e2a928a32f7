/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/choice.h"

#define CHOICE_NAME(id, name) name,
const char *const backend_choice_names[_BACKEND_CHOICE_MAX] = { BACKEND_CHOICES(CHOICE_NAME) };

#define MODE_NAME(id, name) name,
const char *const smaps_mode_names[_SMAPS_MODE_MAX] = { SMAPS_MODES(MODE_NAME) };
