/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/choice.h"

#include "base/name.h"

#define CHOICE_NAME(id, name) name,
static const char *const backend_names[] = { BACKEND_CHOICES(CHOICE_NAME) };

const char *backend_choice_name(BackendChoice choice) {
        return backend_names[choice];
}

BackendChoice backend_choice_find(Span name) {
        return (BackendChoice) name_find(name, backend_names, _BACKEND_CHOICE_MAX);
}

#define MODE_NAME(id, name) name,
static const char *const mode_names[] = { SMAPS_MODES(MODE_NAME) };

const char *smaps_mode_name(SmapsMode mode) {
        return mode_names[mode];
}

SmapsMode smaps_mode_find(Span name) {
        return (SmapsMode) name_find(name, mode_names, _SMAPS_MODE_MAX);
}
