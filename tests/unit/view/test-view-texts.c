/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "view/view.h"

START_TEST(texts_keep_their_order_and_bytes) {
        ViewTexts texts = { .n = 0 };

        ck_assert(view_texts_add(&texts, span_of("one")));
        ck_assert(view_texts_add(&texts, (Span){ NULL, 0 }));
        ck_assert(view_texts_add(&texts, (Span){ "a\0b", 3 }));
        ck_assert_uint_eq(texts.n, 3);
        ck_assert(span_is(view_texts_get(&texts, 0), "one"));
        ck_assert(span_is(view_texts_get(&texts, 1), ""));
        ck_assert(span_equal(view_texts_get(&texts, 2), (Span){ "a\0b", 3 }));
}
END_TEST

START_TEST(the_number_of_texts_is_bounded) {
        ViewTexts texts = { .n = 0 };

        for (unsigned i = 0; i < VIEW_TEXTS_MAX; i++)
                ck_assert(view_texts_add(&texts, span_of("x")));
        ck_assert(!view_texts_add(&texts, span_of("")));
        ck_assert_uint_eq(texts.n, VIEW_TEXTS_MAX);
}
END_TEST

START_TEST(their_bytes_are_bounded_in_all) {
        static char long_text[VIEW_TEXTS_BYTES];
        ViewTexts texts = { .n = 0 };

        memset(long_text, 'x', sizeof(long_text));
        ck_assert(view_texts_add(&texts, (Span){ long_text, VIEW_TEXTS_BYTES - 1 }));
        ck_assert(!view_texts_add(&texts, span_of("ab")));
        ck_assert(view_texts_add(&texts, span_of("a")));
        ck_assert(view_texts_add(&texts, span_of("")));
        ck_assert(!view_texts_add(&texts, span_of("a")));
        ck_assert(span_is(view_texts_get(&texts, 1), "a"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("view-texts");
        TCase *texts = tcase_create("texts");

        tcase_add_test(texts, texts_keep_their_order_and_bytes);
        tcase_add_test(texts, the_number_of_texts_is_bounded);
        tcase_add_test(texts, their_bytes_are_bounded_in_all);
        suite_add_tcase(suite, texts);
        return check_main(suite);
}
