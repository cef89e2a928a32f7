/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * MemberScan
 *
 * Reads the objects inside a snapshot's records member by member. Any of them may be null.
 */

#include "base/macro.h"
#include "base/span.h"
#include "json/json-scanner.h"

/* The next value: an object or null. */
_must_check_ int member_scan_value(JsonScanner *scanner, JsonOnMember on_member, void *userdata);

/* Long enough for any complaint of the scanner with its offset. */
#define MEMBER_COMPLAINT_BYTES 192

/*
 * A whole text that is one such value. JSON_E_MALFORMED: *ret_complaint tells what and where.
 */
_must_check_ int member_scan_text(Span json, JsonOnMember on_member, void *userdata,
                                  char ret_complaint[static MEMBER_COMPLAINT_BYTES]);
