/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapTrim
 *
 * Gives memory back after a burst of calls. malloc(3) itself only returns free memory at the end of
 * its heap, where one small allocation can keep megabytes.
 */

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/macro.h"

typedef struct HeapTrim HeapTrim;

/* Some seconds after anything happened in @event, which is borrowed. */
_must_check_ int heap_trim_new(sd_event *event, HeapTrim **ret);
HeapTrim *heap_trim_free(HeapTrim *trim);
DEFINE_CLEANUP(HeapTrim *, heap_trim_free);
