/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "base/bits.h"

static const size_t bit_rows[] = { 0, 1, 63, 64, 65, 127, 128 };

START_TEST(a_number_is_in_the_set_until_it_is_cleared) {
        uint64_t words[BITS_WORDS(129)] = { 0 };
        size_t bit = bit_rows[_i];

        ck_assert_uint_eq(sizeof(words), 3 * sizeof(uint64_t));
        bits_set(words, bit);
        bits_set(words, bit);
        for (size_t other = 0; other < 129; other++)
                ck_assert_int_eq(bits_has(words, other), other == bit);
        bits_clear(words, bit);
        ck_assert(!bits_has(words, bit));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("bits");
        TCase *sets = tcase_create("sets");

        tcase_add_loop_test(sets, a_number_is_in_the_set_until_it_is_cleared, 0,
                            sizeof(bit_rows) / sizeof(bit_rows[0]));
        suite_add_tcase(suite, sets);
        return check_main(suite);
}
