/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BackendChoice
 *
 * How a capture is to read threads. The names also stand in the head of a snapshot, as the backend
 * that did.
 */

#include "base/span.h"

// clang-format off
#define BACKEND_CHOICES(B)                                                                         \
        B(AUTO,   "auto")   /* through BPF where that works, else from files */                    \
        B(PROCFS, "procfs") /* from files */                                                       \
        B(BPF,    "bpf")    /* through BPF, or not at all */
// clang-format on

#define BACKEND_CHOICE_ID(id, name) BACKEND_CHOICE_##id,
typedef enum BackendChoice { BACKEND_CHOICES(BACKEND_CHOICE_ID) _BACKEND_CHOICE_MAX } BackendChoice;

const char *backend_choice_name(BackendChoice choice);
/* _BACKEND_CHOICE_MAX when there is none of that name. */
BackendChoice backend_choice_find(Span name);
