/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Words of a view
 *
 * Helpers for reading words and lists from a command line or a call, and for complaining about
 * them. Words from outside are quoted: cut, and without bytes that a terminal would obey.
 */

#include <stdbool.h>
#include "base/macro.h"
#include "base/span.h"

#define VIEW_COMPLAINT_BYTES 512
#define VIEW_WORD_CHARS 64 /* longer than any name */
#define VIEW_QUOTED_CHARS 48
#define VIEW_QUOTED_BYTES (VIEW_QUOTED_CHARS + 4)

enum {
        VIEW_OK,
        VIEW_E_INVALID, /* the complaint is a whole sentence that names the word and the way out */
};

/* Writes the complaint, of VIEW_COMPLAINT_BYTES; VIEW_E_INVALID. */
_printf_(2, 3) int view_complain(char *ret_complaint, const char *format, ...);
/*
 * @nearest: the name that may have been meant, NULL when none is near. @valid: the names there are,
 * as the end of a sentence.
 */
int view_complain_unknown(char *ret_complaint, const char *noun, Span word, const char *nearest,
                          const char *valid);
const char *view_quote(Span word, char ret_quoted[static VIEW_QUOTED_BYTES]);

/* Removes blanks at both ends. */
Span view_trim(Span word);
/* Takes the text before the first comma from @rest, trimmed; false if nothing is left. */
bool view_next_entry(Span *rest, Span *ret);
/* All names are lower-case: folding the word makes the comparison ignore case. */
Span view_fold_case(Span word, char ret_folded[static VIEW_WORD_CHARS]);
