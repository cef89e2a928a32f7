/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The lists of the protocol for fill-lists.py, which reads this file after the preprocessor. It is
 * never compiled.
 */

#include "metric/metric.h"
#include "snapshot/source.h"
#include "view/section-list.h"
#include "view/view.h"

// clang-format off
#define METRIC_SECTION(id_, name_, shown_, text_) \
        ROW{"list": "sections", "id": #id_, "name": name_, "text": text_, "default": shown_, \
            "about": "", "of": ""}END
METRIC_SECTIONS(METRIC_SECTION)

#define TABLE_SECTION(id_, name_, about_, text_, of_, ...) \
        ROW{"list": "sections", "id": #id_, "name": name_, "text": text_, "default": 1, \
            "about": #about_, "of": #of_}END
SECTIONS(TABLE_SECTION)

#define METRIC(name_, type, rule_, section_, class, source, gates_, text_) \
        ROW{"list": "metrics", "name": #name_, "rule": #rule_, "section": #section_, \
            "gates": gates_, "text": text_}END
METRICS(METRIC)

#define DERIVED_VALUE(name_, unit, section_, formula, inputs, text_) \
        ROW{"list": "derived", "name": #name_, "rule": "derived", "section": #section_, \
            "gates": "", "text": text_}END
DERIVED(DERIVED_VALUE)

#define SOURCE(id, name_) ROW{"list": "sources", "name": name_}END
SOURCES(SOURCE)

#define STATE(id, name_) ROW{"list": "source-states", "name": name_}END
SOURCE_STATES(STATE)

#define KIND(id, name_) ROW{"list": "kinds", "name": name_}END
VIEW_KINDS(KIND)

#define AXIS(id, name_, typed_, header) \
        ROW{"list": "axes", "name": name_}END ROW{"list": "typed-axes", "name": typed_}END
VIEW_AXES(AXIS)

#define ORDER(id, name_) ROW{"list": "orders", "name": name_}END
VIEW_ORDERS(ORDER)

#define COLUMN(id, name_, made_of, ...) ROW{"list": "overview-columns", "name": name_}END
VIEW_COLUMNS(COLUMN)

#define FLAG(member, key_, default_, text_) \
        ROW{"list": "view-flags", "name": key_, "default": #default_, "text": text_}END
VIEW_FLAGS(FLAG)

#define NUMBER(member, key_, default_, noun, zero, text_) \
        ROW{"list": "view-numbers", "name": key_, "text": text_}END
VIEW_NUMBERS(NUMBER)

#define PART(id, key_, type_, text_) \
        ROW{"list": "view-parts", "name": key_, "type": type_, "text": text_}END
VIEW_PARTS(PART)
// clang-format on
