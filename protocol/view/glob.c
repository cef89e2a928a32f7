/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/glob.h"

#include <stdint.h>

#include "base/bits.h"
#include "base/name.h"

static const char *const faults[_GLOB_E_MAX] = {
        [GLOB_E_EMPTY] = "it is empty",
        [GLOB_E_TOO_LONG] = "it is longer than 1024 bytes",
        [GLOB_E_UNCLOSED] = "a [ in it is never closed",
        [GLOB_E_STARS] = "** has to be a whole component, between slashes",
};
_Static_assert(GLOB_MAX_BYTES == 1024, "the text above says so");

const char *glob_fault(int code) {
        return faults[code];
}

/* The position after the set that opens at @at; 0 if it is not closed. */
static size_t set_end(Span glob, size_t at) {
        size_t i = at + 1;

        if (i < glob.n && (glob.bytes[i] == '!' || glob.bytes[i] == '^'))
                i++;
        /* The first byte is a member even if it is ']'. */
        for (i++; i < glob.n; i++)
                if (glob.bytes[i] == ']')
                        return i + 1;
        return 0;
}

/* The character at @at, before the end of @text; a byte that begins none is one by itself. */
static Span character_at(Span text, size_t at) {
        Span rest = { text.bytes + at, text.n - at };
        size_t n = utf8_character(rest);

        return (Span){ rest.bytes, n == 0 ? 1 : n };
}

/* A number for the order in ranges: the code point; invalid bytes come after all of these. */
static uint32_t code_of(Span character) {
        unsigned char lead = (unsigned char) character.bytes[0];

        return character.n == 1 && lead >= 0x80 ? UINT32_C(0x110000) + lead : utf8_code(character);
}

static bool set_has(Span set, Span character) {
        Span members = { set.bytes + 1, set.n - 2 };
        bool negated = members.bytes[0] == '!' || members.bytes[0] == '^', found = false;
        uint32_t code = code_of(character);

        for (size_t i = negated; i < members.n;) {
                Span member = character_at(members, i);
                uint32_t low = code_of(member), high = low;

                i += member.n;
                if (i + 1 < members.n && members.bytes[i] == '-') {
                        member = character_at(members, i + 1);
                        high = code_of(member);
                        i += 1 + member.n;
                }
                found = found || (code >= low && code <= high);
        }
        return found != negated;
}

/* Matches one character with the pattern at *@at, and moves *@at past it on success. */
static bool match_one(Span glob, size_t *at, Span character) {
        size_t end = *at + 1;
        Span wanted;

        if (*at >= glob.n)
                return false;
        switch (glob.bytes[*at]) {
        case '?':
                break;
        case '[':
                end = set_end(glob, *at);
                if (!set_has((Span){ glob.bytes + *at, end - *at }, character))
                        return false;
                break;
        default:
                wanted = character_at(glob, *at);
                if (!span_equal(wanted, character))
                        return false;
                end = *at + wanted.n;
        }
        *at = end;
        return true;
}

/* Only the last star needs to be retried: everything before it matched as early as possible. */
bool glob_matches_text(Span glob, Span text) {
        size_t at = 0, i = 0, star_at = SIZE_MAX, star_i = 0;

        while (i < text.n) {
                Span character = character_at(text, i);

                if (at < glob.n && glob.bytes[at] == '*') {
                        star_at = ++at;
                        star_i = i;
                } else if (match_one(glob, &at, character)) {
                        i += character.n;
                } else if (star_at != SIZE_MAX) {
                        at = star_at;
                        star_i += character_at(text, star_i).n;
                        i = star_i;
                } else {
                        return false;
                }
        }
        while (at < glob.n && glob.bytes[at] == '*')
                at++;
        return at == glob.n;
}

/* The component of @glob that begins at @at; a '/' in a set does not end it. */
static Span component_at(Span glob, size_t at) {
        size_t end = at;

        while (end < glob.n && glob.bytes[end] != '/')
                end = glob.bytes[end] == '[' ? set_end(glob, end) : end + 1;
        return (Span){ glob.bytes + at, end - at };
}

int glob_check_text(Span glob) {
        if (glob.n == 0)
                return GLOB_E_EMPTY;
        if (glob.n > GLOB_MAX_BYTES)
                return GLOB_E_TOO_LONG;
        for (size_t at = 0; at < glob.n;) {
                if (glob.bytes[at] != '[') {
                        at++;
                        continue;
                }
                at = set_end(glob, at);
                if (at == 0)
                        return GLOB_E_UNCLOSED;
        }
        return GLOB_OK;
}

int glob_check_path(Span glob) {
        int r = glob_check_text(glob);

        for (size_t at = 0; r == GLOB_OK && at <= glob.n;) {
                Span component = component_at(glob, at);

                for (size_t i = 0; component.n != 2 && i + 1 < component.n;
                     i = component.bytes[i] == '[' ? set_end(component, i) : i + 1)
                        if (component.bytes[i] == '*' && component.bytes[i + 1] == '*')
                                return GLOB_E_STARS;
                at += component.n + 1;
        }
        return r;
}

/* A set of places in the glob: offsets of components, and one past the end for a full match. */
typedef struct Places {
        uint64_t words[BITS_WORDS(GLOB_MAX_BYTES + 2)];
} Places;

/*
 * Moves every place of @from over @component of the path, to @to. @rest is the path from there on.
 * True if the glob matches whatever the rest is.
 */
static bool step_over(Span glob, Places *from, Span component, Span rest, Places *ret_to) {
        for (size_t at = 0; at <= glob.n;) {
                Span wanted = component_at(glob, at);
                size_t next = at + wanted.n + 1;

                if (bits_has(from->words, at)) {
                        if (!span_is(wanted, "**")) {
                                if (glob_matches_text(wanted, component))
                                        bits_set(ret_to->words, next);
                        } else if (next > glob.n) {
                                if (rest.n > 0)
                                        return true;
                        } else {
                                bits_set(from->words, next); /* ** matches none */
                                if (component.n > 0)
                                        bits_set(ret_to->words, at);
                        }
                }
                at = next;
        }
        return false;
}

/*
 * Follows all places in parallel, component by component: how much a ** matches is known only at
 * the end, and backtracking could take exponential time.
 */
bool glob_matches_path(Span glob, Span path) {
        const char *bytes = path.n > 0 ? path.bytes : ""; /* a path may be unknown */
        Places places = { { 0 } };
        size_t at = 0;

        bits_set(places.words, 0);
        while (at <= path.n) {
                const char *slash = at < path.n ? memchr(bytes + at, '/', path.n - at) : NULL;
                size_t end = slash ? (size_t) (slash - bytes) : path.n;
                Places next = { { 0 } };

                if (step_over(glob, &places, (Span){ bytes + at, end - at },
                              (Span){ bytes + at, path.n - at }, &next))
                        return true;
                places = next;
                at = end + 1;
        }
        return bits_has(places.words, glob.n + 1);
}
