/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapTrim
 *
 * Gives memory back that a burst of calls has used. malloc(3) itself only returns what is free at
 * the end of its heap, where one small allocation that lives on keeps megabytes.
 */

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/macro.h"

typedef struct HeapTrim HeapTrim;

/* Some seconds after anything happened in @event, which is borrowed. */
_must_check_ int heap_trim_new(sd_event *event, HeapTrim **ret);
HeapTrim *heap_trim_free(HeapTrim *trim);
DEFINE_CLEANUP(HeapTrim *, heap_trim_free);
