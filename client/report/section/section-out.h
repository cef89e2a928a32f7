/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SectionOut
 *
 * The member "sections" of show and compare, written while its parts come: arrays of one name in
 * successive replies become one. Rows are copied as they are.
 */

#include <json-c/json.h>
#include "render/json-out.h"

#define SECTION_NAME_CHARS 64

/* Zeroed: nothing is written. */
typedef struct SectionOut {
        bool begun;
        char name[SECTION_NAME_CHARS]; /* of the array that is open; "" for none */
} SectionOut;

/* @part is {NAME: [ROW...]...}; a name that is no word of small letters is left out. */
void section_out_add(SectionOut *sections, JsonOut *out, json_object *part);
/* Closes the member, which is empty when no part came. */
void section_out_end(SectionOut *sections, JsonOut *out);
