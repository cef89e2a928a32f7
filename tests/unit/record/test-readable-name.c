/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>
#include <time.h>
#include "base/macro.h"
#include "record/program/readable-name.h"

static const struct {
        const char *name, *readable; /* NULL: it is none of these languages */
} rows[] = {
        { "_ZNSt6vectorIiSaIiEE9push_backEOi",
          "std::vector<int, std::allocator<int> >::push_back(int&&)" },
        { "_ZN3net6Server6acceptERKNS_7AddressE", "net::Server::accept(net::Address const&)" },
        { "_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()" },
        { "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
        { "_ZN4core3fmt5writeE", "core::fmt::write" },
        { "_RNvCs4fqI2P2rA04_7example4main", "example::main" },
        { "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
        { "main", NULL },
        { "", NULL },
        { "_Z", NULL },
        { "_R", NULL },
        { "_ZN3netE", "net" },
        { "_ZN9999999999999999999netE", NULL },
        { "_RNvC", NULL },
        { "_Z5worki_and_more", NULL },
};

START_TEST(names) {
        char text[READABLE_NAME_BYTES];
        uint64_t spent_ns = 0;

        ck_assert_int_eq(readable_name(rows[_i].name, &spent_ns, text), rows[_i].readable != NULL);
        if (rows[_i].readable)
                ck_assert_str_eq(text, rows[_i].readable);
}
END_TEST

/* The substitution of number @n. */
static void append_substitution(char *name, unsigned n) {
        static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char text[] = { 'S', digits[(n - 1) / 36 % 36], digits[(n - 1) % 36], '_', '\0' };

        if (n <= 36)
                memmove(text + 1, text + 2, 3);
        strcat(name, text);
}

/* A class of two of a class of two of ...: 2 to the power of @depth in all. */
static void append_classes(char *name, unsigned depth) {
        strcat(name, "1aIiiE");
        for (unsigned i = 0; i < depth; i++) {
                strcat(name, "S0_I");
                append_substitution(name, 2 + i);
                append_substitution(name, 2 + i);
                strcat(name, "E");
        }
}

/* A place but the first one: one less is written. */
static const char *digits_62(size_t n) {
        static const char digits[] =
                "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        static char text[3];

        n--;
        text[0] = n < 62 ? digits[n] : digits[n / 62];
        text[1] = n < 62 ? '\0' : digits[n % 62];
        return text;
}

static double cpu_seconds(void) {
        struct timespec now;

        ck_assert_int_eq(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
        return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Some hundred characters that are petabytes when they are read. */
START_TEST(names_that_have_no_end) {
        char name[MANGLED_NAME_BYTES] = "_Z1fI", text[READABLE_NAME_BYTES];
        uint64_t spent_ns = 0;
        double begun = cpu_seconds();

        append_classes(name, 60);
        strcat(name, "Evv");
        ck_assert(readable_name(name, &spent_ns, text));
        ck_assert_uint_eq(strlen(text), READABLE_NAME_BYTES - 1);
        ck_assert_str_eq(text + strlen(text) - 3, "...");
        ck_assert_int_eq(strncmp(text, "void f<a<int, int>, a<a<int, int>, a<int, int> >,", 49), 0);
        /* The same in Rust: pairs of what begins at a place behind "_R", in digits of base 62. */
        strcpy(name, "_RINvC1a1fTmmE");
        for (size_t at = 8, i = 0; i < 40; i++) {
                size_t next = strlen(name) - 2;
                char pair[16];

                (void) snprintf(pair, sizeof(pair), "TB%s_B%s_E", digits_62(at), digits_62(at));
                strcat(name, pair);
                at = next;
        }
        strcat(name, "E");
        ck_assert(readable_name(name, &spent_ns, text));
        ck_assert_uint_eq(strlen(text), READABLE_NAME_BYTES - 1);
        ck_assert_int_eq(strncmp(text, "a::f::<(u32, u32), ((u32, u32), (u32, u32)),", 44), 0);
        ck_assert(cpu_seconds() - begun < 1);
}
END_TEST

/* What is expanded is looked for in all of the classes, of which none is printed before. */
static void make_slow_name(char name[static MANGLED_NAME_BYTES]) {
        strcpy(name, "_Z1fI");
        append_classes(name, 60);
        strcat(name, "EDp");
        append_substitution(name, 62);
        strcat(name, "v");
}

START_TEST(names_that_take_too_long) {
        char name[MANGLED_NAME_BYTES], text[READABLE_NAME_BYTES];
        uint64_t spent_ns = 0;
        double begun = cpu_seconds();

        make_slow_name(name);
        (void) readable_name(name, &spent_ns, text);
        ck_assert(cpu_seconds() - begun < 2);
        /* It has left nothing behind. */
        ck_assert(readable_name("_ZN3net4workEv", &spent_ns, text));
        ck_assert_str_eq(text, "net::work()");
}
END_TEST

/* As many of them as one likes: past the time for all, others stay as they are, too. */
START_TEST(names_that_take_too_long_together) {
        char name[MANGLED_NAME_BYTES], text[READABLE_NAME_BYTES];
        uint64_t spent_ns = ALL_READABLE_MAX_NS - 1;
        double begun = cpu_seconds();

        make_slow_name(name);
        ck_assert(readable_name("_ZN3net4workEv", &(uint64_t){ 0 }, text));
        for (unsigned i = 0; i < 10000; i++)
                (void) readable_name(name, &spent_ns, text);
        ck_assert(cpu_seconds() - begun < 2);
        ck_assert_uint_ge(spent_ns, ALL_READABLE_MAX_NS);
        ck_assert(!readable_name("_ZN3net4workEv", &spent_ns, text));
}
END_TEST

START_TEST(long_names) {
        char name[MANGLED_NAME_BYTES + 1], text[READABLE_NAME_BYTES];
        uint64_t spent_ns = 0;

        for (size_t n = MANGLED_NAME_BYTES - 1; n <= MANGLED_NAME_BYTES; n++) {
                memset(name, 'x', n);
                (void) snprintf(name, 7, "_Z%zu", n - 7);
                name[6] = 'x';
                strcpy(name + n - 1, "v");
                ck_assert_int_eq(readable_name(name, &spent_ns, text), n < MANGLED_NAME_BYTES);
        }
        ck_assert_uint_eq(strlen(text), 1017 + 2);
        ck_assert_str_eq(text + 1017, "()");
}
END_TEST

/* Parts of parts, as deep as a name is long. */
START_TEST(deep_names) {
        static const char *const parts[] = { "P", "N", "1aI", "F", "J", "A1_", "DpT_", "RT_", "X" };
        char name[MANGLED_NAME_BYTES], text[READABLE_NAME_BYTES];
        uint64_t spent_ns = 0;

        for (size_t i = 0; i < ELEMENTSOF(parts); i++)
                for (unsigned is_rust = 0; is_rust < 2; is_rust++) {
                        size_t n_part = strlen(parts[i]);
                        size_t n = (size_t) snprintf(name, sizeof(name), "%s",
                                                     is_rust ? "_RINvC1a1f" : "_Z1f");

                        for (; n + n_part < sizeof(name) - 2; n += n_part)
                                memcpy(name + n, parts[i], n_part + 1);
                        (void) readable_name(name, &spent_ns, text);
                        memcpy(name + n, "i", 2);
                        (void) readable_name(name, &spent_ns, text);
                }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("readable-name");
        TCase *tcase = tcase_create("readable-name");

        tcase_add_loop_test(tcase, names, 0, ELEMENTSOF(rows));
        tcase_add_test(tcase, names_that_have_no_end);
        tcase_add_test(tcase, names_that_take_too_long);
        tcase_add_test(tcase, names_that_take_too_long_together);
        tcase_add_test(tcase, long_names);
        tcase_add_test(tcase, deep_names);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
