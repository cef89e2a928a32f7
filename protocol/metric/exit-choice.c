/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/exit-choice.h"

#include "base/name.h"

#define CHOICE_NAME(id, name) name,
static const char *const choice_names[] = { EXIT_CHOICES(CHOICE_NAME) };

const char *exit_choice_name(ExitChoice choice) {
        return choice_names[choice];
}

ExitChoice exit_choice_find(Span name) {
        return (ExitChoice) name_find(name, choice_names, _EXIT_CHOICE_MAX);
}
