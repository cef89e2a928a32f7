/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/backend-choice.h"

#include "base/name.h"

#define CHOICE_NAME(id, name) name,
static const char *const choice_names[] = { BACKEND_CHOICES(CHOICE_NAME) };

const char *backend_choice_name(BackendChoice choice) {
        return choice_names[choice];
}

BackendChoice backend_choice_find(Span name) {
        return (BackendChoice) name_find(name, choice_names, _BACKEND_CHOICE_MAX);
}
