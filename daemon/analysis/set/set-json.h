/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* A group of two sets as JSON: the object SetGroup of the interface. */

#include "analysis/set/set-family.h"
#include "analysis/set/set-group.h"
#include "json/json-writer.h"
#include "snapshot/source.h"

/* @sources of each side; NULL: not recorded. */
void set_group_write_json(JsonWriter *writer, const SetFamily *family,
                          const SourceTable *const sources[static SIDES], const SetGroup *group);
