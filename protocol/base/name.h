/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Name
 *
 * Two kinds. The name of a snapshot is a word of a small alphabet that is also a file name. The
 * name of a thread or cgroup is bytes; JSON is UTF-8; so bytes that are not valid UTF-8 travel as
 * the characters U+EF80..U+EFFF, and a genuine character of U+EF00..U+EFFF is escaped byte by byte
 * in the same way, which makes the escape lossless.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"

#define SNAPSHOT_NAME_MAX_CHARS 64
#define SNAPSHOT_FILE_SUFFIX ".ctprof.zst"

/*
 * NULL when @name may name a snapshot, else why not, as the rest of a sentence that begins with the
 * name ("is longer than 64 characters").
 */
const char *snapshot_name_complaint(Span name);
/*
 * The same for a name that is given now: it must not contain "..", which stands between the two
 * snapshots of an interval, nor end in a dot. A snapshot that has such a name keeps it.
 */
const char *snapshot_name_new_complaint(Span name);

/*
 * "latest" is 0 back, "latest~N" is N; a number past 2^64-1 counts as that. False, also where N has
 * a leading zero, when @text is neither.
 */
bool snapshot_name_is_relative(Span text, uint64_t *ret_back);

/* True when a user who writes @text means a file: it contains a slash or ends in ".zst". */
bool snapshot_name_is_file(const char *text);

/*
 * The name of a snapshot file that has none inside: the last component of its path without
 * ".ctprof.zst" or ".zst". Borrowed from @path; not necessarily a valid name.
 */
Span snapshot_name_of_path(const char *path);

/* Finds @name in a list of names; @n_names when it is not there. */
unsigned name_find(Span name, const char *const *names, unsigned n_names);

/* Appends @bytes as valid UTF-8 under the escape; nothing else is changed (no JSON quoting). */
_must_check_ int name_escape(Buffer *buffer, Span bytes);
/* The inverse. */
_must_check_ int name_unescape(Buffer *buffer, Span text);
/* Appends one byte of any value under the escape, which is undone in the same way. */
int name_escape_byte(Buffer *buffer, unsigned char byte);
/*
 * The same escape for control bytes, too (U+EF01 to U+EF1F, U+EF7F): a key joins names by one of
 * them, and is unique only if no name has it.
 */
_must_check_ int name_escape_controls(Buffer *buffer, Span bytes);
/* The inverse. */
_must_check_ int name_unescape_controls(Buffer *buffer, Span text);

/* Length of the valid UTF-8 character (RFC 3629) at the start of @text, 0 when there is none. */
size_t utf8_character(Span text);
/* The code point of @character, which is a single valid one. */
uint32_t utf8_code(Span character);
bool utf8_is_valid(Span text);

/*
 * Hidden characters
 *
 * Characters that nobody sees but that change what is seen: controls, which terminals obey, and the
 * invisible ones of Unicode, which reorder, join or hide the text beside them. Names of threads and
 * cgroups may have them; whatever we print for people or for other programs shows them by an
 * escape: \xNN on a terminal, \uNNNN in JSON, U+EF00 plus each byte in CSV and HTML.
 */

/*
 * The length of the hidden character at the start of @text; 0 if there is another one, none, or a
 * byte that is not UTF-8. *ret_code is its code point; NULL: not wanted.
 */
size_t hidden_character(Span text, uint32_t *ret_code);
