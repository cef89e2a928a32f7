/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view-texts.h"

static size_t n_used(const ViewTexts *texts, unsigned n) {
        return n > 0 ? texts->ends[n - 1] : 0;
}

bool view_texts_add(ViewTexts *texts, Span text) {
        size_t used = n_used(texts, texts->n);

        if (texts->n >= VIEW_TEXTS_MAX || text.n > VIEW_TEXTS_BYTES - used)
                return false;
        if (text.n > 0)
                memcpy(texts->bytes + used, text.bytes, text.n);
        texts->ends[texts->n++] = (uint16_t) (used + text.n);
        return true;
}

Span view_texts_get(const ViewTexts *texts, unsigned index) {
        size_t begin = n_used(texts, index);

        return (Span){ texts->bytes + begin, texts->ends[index] - begin };
}
