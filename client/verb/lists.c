/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The lists of the client for fill-lists.py, which reads this file after the preprocessor. It is
 * never compiled.
 */

#include "report/group/group-columns.h"
#include "session/option-list.h"
#include "session/options.h"
#include "verb/verbs.h"

// clang-format off
#define TEXT(...) #__VA_ARGS__
#define OPTION_ROW(group_, id_, name_, letter_, argument_, argument_name_, help_) \
        ROW{"list": "options", "group": group_, "id": #id_, "name": name_, "letter": letter_, \
            "argument": #argument_, "argument_name": argument_name_, "help": help_}END

#define COMMON(id, name, letter, argument, argument_name, taken, help) \
        OPTION_ROW("common", id, name, letter, argument, argument_name, help)
OPTIONS_COMMON(COMMON)

#define OF_VERBS(id, name, letter, argument, argument_name, taken, help) \
        OPTION_ROW("verbs", id, name, letter, argument, argument_name, help)
OPTIONS_OF_VERBS(OF_VERBS)

#define OF_VIEWS(id, name, letter, argument, argument_name, taken, help) \
        OPTION_ROW("views", id, name, letter, argument, argument_name, help)
OPTIONS_OF_VIEWS(OF_VIEWS)

#define VERB(id, name_, synopsis, summary_, needs, min, max, options_, formats_, hosts) \
        ROW{"list": "verbs", "name": name_, "summary": summary_, "options": TEXT(options_), \
            "formats": TEXT(formats_)}END
VERBS(VERB)

#define FORMAT(id_, name_) ROW{"list": "formats", "id": #id_, "name": name_}END
FORMATS(FORMAT)

#define COLUMN(id, name_, header, right, shrink, omit, sides_) \
        ROW{"list": "columns", "name": name_, "sides": #sides_}END
GROUP_COLUMNS(COLUMN)
// clang-format on
