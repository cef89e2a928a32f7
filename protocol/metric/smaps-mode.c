/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/smaps-mode.h"

#include "base/name.h"

#define MODE_NAME(id, name) name,
static const char *const mode_names[] = { SMAPS_MODES(MODE_NAME) };

const char *smaps_mode_name(SmapsMode mode) {
        return mode_names[mode];
}

SmapsMode smaps_mode_find(Span name) {
        return (SmapsMode) name_find(name, mode_names, _SMAPS_MODE_MAX);
}
