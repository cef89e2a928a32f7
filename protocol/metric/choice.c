/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/choice.h"

#include "base/name.h"

#define CHOICE_NAME(id, name) name,
const char *const backend_choice_names[_BACKEND_CHOICE_MAX] = { BACKEND_CHOICES(CHOICE_NAME) };

BackendChoice backend_choice_find(Span name) {
        return (BackendChoice) name_find(name, backend_choice_names, _BACKEND_CHOICE_MAX);
}

#define MODE_NAME(id, name) name,
const char *const smaps_mode_names[_SMAPS_MODE_MAX] = { SMAPS_MODES(MODE_NAME) };

SmapsMode smaps_mode_find(Span name) {
        return (SmapsMode) name_find(name, smaps_mode_names, _SMAPS_MODE_MAX);
}
