/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ExitChoice
 *
 * Who counts what threads have done that end.
 */

#include "base/span.h"

// clang-format off
#define EXIT_CHOICES(E)                                                                            \
        E(AUTO,      "auto")      /* programs where BPF works, else the listener */                \
        E(BPF,       "bpf")       /* programs, or nobody */                                        \
        E(TASKSTATS, "taskstats") /* the listener, also where BPF works */                         \
        E(OFF,       "off")       /* nobody */
// clang-format on

#define EXIT_CHOICE_ID(id, name) EXIT_CHOICE_##id,
typedef enum ExitChoice { EXIT_CHOICES(EXIT_CHOICE_ID) _EXIT_CHOICE_MAX } ExitChoice;

const char *exit_choice_name(ExitChoice choice);
/* _EXIT_CHOICE_MAX when there is none of that name. */
ExitChoice exit_choice_find(Span name);
