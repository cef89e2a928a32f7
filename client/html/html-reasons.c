/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "html/html-reasons.h"

#include "render/cell.h"

/* Some places stay empty, so that the search for an unknown text ends soon. */
#define MAX_FILLED (HTML_REASONS_MAX / 4 * 3)

void html_reasons_done(HtmlReasons *reasons) {
        for (size_t i = 0; i < HTML_REASONS_MAX; i++)
                (void) json_object_put(reasons->texts[i]);
        *reasons = (HtmlReasons){};
}

/* FNV-1a. */
static uint64_t hash_of(Span text) {
        uint64_t hash = UINT64_C(14695981039346656037);

        for (size_t i = 0; i < text.n; i++)
                hash = (hash ^ (unsigned char) text.bytes[i]) * UINT64_C(1099511628211);
        return hash;
}

HtmlReason html_reasons_put(HtmlReasons *reasons, json_object *text, unsigned *ret_number) {
        Span bytes = cell_string(text);
        size_t place = hash_of(bytes) % HTML_REASONS_MAX;

        for (; reasons->texts[place]; place = (place + 1) % HTML_REASONS_MAX)
                if (span_equal(cell_string(reasons->texts[place]), bytes)) {
                        *ret_number = reasons->numbers[place];
                        return HTML_REASON_KNOWN;
                }
        if (reasons->n == MAX_FILLED)
                return HTML_REASON_HOMELESS;
        reasons->texts[place] = json_object_get(text);
        reasons->numbers[place] = reasons->n++;
        return HTML_REASON_NEW;
}
