/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "remote/host-set.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check-main.h"

/* All names of the set, with blanks between; the caller frees it. */
static char *joined(const HostSet *set) {
        Buffer text = {};
        char *result;

        for (size_t i = 0; i < set->n; i++)
                buffer_append_format(&text, "%s%s", i > 0 ? " " : "", set->names[i]);
        ck_assert_int_eq(buffer_take_text(&text, &result), 0);
        return result;
}

static const struct {
        const char *text, *names;
} sets[] = {
        { "web01", "web01" },
        { "web01,db1", "web01 db1" },
        { "web[01-03]", "web01 web02 web03" },
        { "web[9-11]", "web9 web10 web11" },
        { "web[09-11]", "web09 web10 web11" },
        { "web[099-100]", "web099 web100" },
        { "web[01-02,50]", "web01 web02 web50" },
        { "web[1,01,001]", "web1 web01 web001" },
        { "web[1-2].example.com,x", "web1.example.com web2.example.com x" },
        { "r[1-2]n[08-09]", "r1n08 r1n09 r2n08 r2n09" },
        { "root@web[1-2]:2222", "root@web1:2222 root@web2:2222" },
        { "[::1]", "[::1]" },
        { "root@[fe80::1%eth0]:22,web1", "root@[fe80::1%eth0]:22 web1" },
        { "a,b,a,b[1-2],b1", "a b b1 b2" },
        { "127.0.0.[1-2]", "127.0.0.1 127.0.0.2" },
        { "dom\\me@web", "dom\\me@web" },
        { "me@corp@web", "me@corp@web" },
        { "[1-2]", "1 2" },
};

START_TEST(a_text_stands_for_names) {
        char complaint[HOST_SET_COMPLAINT_BYTES];
        _cleanup_(freep) char *names = NULL;
        HostSet set = {};

        ck_assert_int_eq(host_set_add(&set, span_of(sets[_i].text), complaint), 0);
        names = joined(&set);
        ck_assert_str_eq(names, sets[_i].names);
        host_set_done(&set);
}
END_TEST

static const struct {
        const char *text, *what;
} wrong[] = {
        { "", "empty" },
        { ",", "empty" },
        { "a,", "empty" },
        { "a,,b", "empty" },
        { "-oProxyCommand=x", "begins with a dash" },
        { "-w", "begins with a dash" },
        { "me@-w", "begins with a dash" },
        { "web[", "does not end" },
        { "web[1", "does not end" },
        { "web]", "is no host" },
        { "web[]", "numbers and ranges" },
        { "web[a-b]", "numbers and ranges" },
        { "web[1-]", "numbers and ranges" },
        { "web[-1]", "numbers and ranges" },
        { "web[1,]", "numbers and ranges" },
        { "web[1-2-3]", "numbers and ranges" },
        { "web[1--2]", "numbers and ranges" },
        { "web[1234567890]", "numbers and ranges" },
        { "web[+1]", "numbers and ranges" },
        { "web[ 1]", "numbers and ranges" },
        { "web[2-1]", "before its begin" },
        { "web[01-1]", "same number of digits" },
        { "web[1-02]", "same number of digits" },
        { "web[1-5000]", "more hosts than" },
        { "web[0-999999999]", "more hosts than" },
        { "w[1-70][1-70]", "more hosts than" },
        { "w[1-4096],x", "one host more" },
        { "w[1][1][1][1][1]", "more than four" },
        { "a b", "is no host" },
        { "a\nb", "is no host" },
        { "a;b", "is no host" },
        { "$(x)", "is no host" },
        { "a/b", "is no host" },
        { "a'b", "is no host" },
        { "a\\b", "is no host" },
        { "w\303\244b", "is no host" },
        { "@web", "is no host" },
        { "me;x@web", "is no host" },
        { "web:", "no port" },
        { "web:0", "no port" },
        { "web:65536", "no port" },
        { "web:2x", "no port" },
        { "web:22:23", "several colons" },
        { "::1", "several colons" },
        { "fe80::1", "several colons" },
        { "[::1]x", "no port" },
        { "[::1", "does not end" },
        { "\x1b[2J", "does not end" },
};

START_TEST(what_stands_for_none_is_refused) {
        char complaint[HOST_SET_COMPLAINT_BYTES] = "";
        HostSet set = {};

        ck_assert_int_eq(host_set_add(&set, span_of(wrong[_i].text), complaint),
                         HOST_SET_E_INVALID);
        ck_assert_msg(strstr(complaint, wrong[_i].what), "\"%s\": %s", wrong[_i].text, complaint);
        for (const char *c = complaint; *c != '\0'; c++)
                ck_assert_int_ge((unsigned char) *c, ' ');
        host_set_done(&set);
}
END_TEST

/* Accents without a letter take no column of the complaint. */
START_TEST(the_complaint_of_a_name_without_width_has_a_bound) {
        char complaint[HOST_SET_COMPLAINT_BYTES + 1], name[2 * 4096];
        HostSet set = {};

        for (size_t i = 0; i < sizeof(name); i += 2)
                memcpy(&name[i], "\u0301", 2);
        complaint[HOST_SET_COMPLAINT_BYTES] = 'x';
        ck_assert_int_eq(host_set_add(&set, (Span){ name, sizeof(name) }, complaint),
                         HOST_SET_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "\u2026\" "));
        ck_assert_uint_lt(strlen(complaint), HOST_SET_COMPLAINT_BYTES);
        ck_assert_int_eq(complaint[HOST_SET_COMPLAINT_BYTES], 'x');
        host_set_done(&set);
}
END_TEST

START_TEST(a_name_has_a_bound) {
        char complaint[HOST_SET_COMPLAINT_BYTES], name[HOST_NAME_MAX_CHARS + 2];
        HostSet set = {};

        memset(name, 'a', sizeof(name));
        ck_assert_int_eq(host_set_add(&set, (Span){ name, HOST_NAME_MAX_CHARS }, complaint), 0);
        ck_assert_int_eq(host_set_add(&set, (Span){ name, HOST_NAME_MAX_CHARS + 1 }, complaint),
                         HOST_SET_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "longer than"));
        ck_assert_uint_eq(set.n, 1);
        host_set_done(&set);
}
END_TEST

START_TEST(as_many_as_there_may_be) {
        char complaint[HOST_SET_COMPLAINT_BYTES];
        HostSet set = {};

        ck_assert_int_eq(host_set_add(&set, SPAN_LITERAL("w[1-4096]"), complaint), 0);
        ck_assert_uint_eq(set.n, HOST_SET_MAX);
        /* One that is there already is none more. */
        ck_assert_int_eq(host_set_add(&set, SPAN_LITERAL("w1"), complaint), 0);
        ck_assert_int_eq(host_set_add(&set, SPAN_LITERAL("x"), complaint), HOST_SET_E_INVALID);
        host_set_done(&set);
}
END_TEST

START_TEST(a_file_has_a_list_a_line) {
        static const char text[] = "# ours\n\n  web[1-2] \t# two\r\ndb1,db2\nlast";
        char path[] = "/tmp/test-host-set-XXXXXX", complaint[HOST_SET_COMPLAINT_BYTES];
        _cleanup_(fd_closep) int fd = mkstemp(path);
        _cleanup_(freep) char *names = NULL;
        HostSet set = {};

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
        ck_assert_int_eq(host_set_add_file(&set, path, complaint), 0);
        names = joined(&set);
        ck_assert_str_eq(names, "web1 web2 db1 db2 last");
        ck_assert_int_eq(ftruncate(fd, HOST_LIST_MAX_BYTES + 1), 0);
        ck_assert_int_eq(host_set_add_file(&set, path, complaint), HOST_SET_E_UNREADABLE);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(host_set_add_file(&set, path, complaint), HOST_SET_E_UNREADABLE);
        ck_assert_ptr_nonnull(strstr(complaint, "No such file"));
        host_set_done(&set);
}
END_TEST

START_TEST(what_is_written_as_a_list) {
        ck_assert(!host_set_is_list(SPAN_LITERAL("web01")));
        ck_assert(!host_set_is_list(SPAN_LITERAL("[::1]:22")));
        ck_assert(host_set_is_list(SPAN_LITERAL("web[1]")));
        ck_assert(host_set_is_list(SPAN_LITERAL("a,b")));
        ck_assert(host_set_is_list(SPAN_LITERAL("[::1],a")));
}
END_TEST

static const struct {
        const char *name, *destination, *port;
} addresses[] = {
        { "web", "web", "" },
        { "web:22", "web", "22" },
        { "me@web:22", "me@web", "22" },
        { "[::1]", "::1", "" },
        { "me@[::1]:2222", "me@::1", "2222" },
        { "me@corp@web", "me@corp@web", "" },
};

START_TEST(ssh_gets_its_parts) {
        HostAddress address;

        host_address_parse(addresses[_i].name, &address);
        ck_assert_str_eq(address.text, addresses[_i].destination);
        ck_assert(span_is(address.destination, addresses[_i].destination));
        ck_assert(span_is(address.port, addresses[_i].port));
}
END_TEST

static const struct {
        const char *names, *folded;
} folds[] = {
        { "web07,web12", "web[07,12]" },
        { "web12,web07", "web[07,12]" },
        { "web01,web02,web03", "web[01-03]" },
        { "web1", "web1" },
        { "web1,db1", "web1,db1" },
        { "web9,web10,web11", "web[9-11]" },
        { "web09,web10", "web[09-10]" },
        { "web1,web01,web02", "web[1,01-02]" },
        { "a1.x2,a2.x2", "a[1-2].x2" },
        { "a1.x1,a1.x2", "a1.x[1-2]" },
        { "r1n1,r1n2,r2n1,r2n2", "r1n[1-2],r2n[1-2]" },
        { "web1:22,web2:22,web1:23", "web[1-2]:22,web1:23" },
        { "me@web1,me@web2,web1", "me@web[1-2],web1" },
        { "u1@web,u2@web", "u1@web,u2@web" },
        { "[::1],[::2]", "[::1],[::2]" },
        { "z,web1,a,web2", "z,web[1-2],a" },
        { "web[1-3],web[5-7],web9", "web[1-3,5-7,9]" },
        { "127.0.0.1,127.0.0.2", "127.0.0.[1-2]" },
        { "w1234567890123,w1234567890124", "w1234567890123,w1234567890124" },
        { "plain", "plain" },
};

START_TEST(names_fold_back) {
        char complaint[HOST_SET_COMPLAINT_BYTES];
        _cleanup_(freep) char *folded = NULL;
        Buffer text = {};
        HostSet set = {};

        ck_assert_int_eq(host_set_add(&set, span_of(folds[_i].names), complaint), 0);
        ck_assert_int_eq(host_set_fold((const char *const *) set.names, set.n, &text), 0);
        ck_assert_int_eq(buffer_take_text(&text, &folded), 0);
        ck_assert_str_eq(folded, folds[_i].folded);
        host_set_done(&set);
}
END_TEST

static int by_text(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static unsigned draw(uint64_t *random, unsigned n) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        return (unsigned) (*random >> 33) % n;
}

/* Names of few different parts, so that many of them fold. */
static void add_random(HostSet *set, uint64_t *random) {
        static const char *const fronts[] = { "a", "b", "me@a", "a1b", "" };
        static const char *const rears[] = { "", "x", ":22", "x7", "-03y" };
        char complaint[HOST_SET_COMPLAINT_BYTES], name[64];

        (void) snprintf(name, sizeof(name), "%s%0*u%s", fronts[draw(random, 5)],
                        (int) draw(random, 4), draw(random, 120), rears[draw(random, 5)]);
        ck_assert_int_eq(host_set_add(set, span_of(name), complaint), 0);
}

START_TEST(what_is_folded_stands_for_the_same) {
        char complaint[HOST_SET_COMPLAINT_BYTES];
        uint64_t random = (uint64_t) _i + 1;
        HostSet set = {}, again = {};
        Buffer text = {};

        for (unsigned n = draw(&random, 200) + 1; n > 0; n--)
                add_random(&set, &random);
        ck_assert_int_eq(host_set_fold((const char *const *) set.names, set.n, &text), 0);
        ck_assert_int_eq(host_set_add(&again, buffer_span(&text), complaint), 0);
        ck_assert_uint_eq(again.n, set.n);
        qsort(set.names, set.n, sizeof(*set.names), by_text);
        qsort(again.names, again.n, sizeof(*again.names), by_text);
        for (size_t i = 0; i < set.n; i++)
                ck_assert_str_eq(again.names[i], set.names[i]);
        buffer_done(&text);
        host_set_done(&set);
        host_set_done(&again);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-set");
        TCase *tcase = tcase_create("host-set");

        (void) setlocale(LC_CTYPE, "C.UTF-8");
        tcase_add_loop_test(tcase, a_text_stands_for_names, 0, ELEMENTSOF(sets));
        tcase_add_loop_test(tcase, what_stands_for_none_is_refused, 0, ELEMENTSOF(wrong));
        tcase_add_test(tcase, the_complaint_of_a_name_without_width_has_a_bound);
        tcase_add_test(tcase, a_name_has_a_bound);
        tcase_add_test(tcase, as_many_as_there_may_be);
        tcase_add_test(tcase, a_file_has_a_list_a_line);
        tcase_add_test(tcase, what_is_written_as_a_list);
        tcase_add_loop_test(tcase, ssh_gets_its_parts, 0, ELEMENTSOF(addresses));
        tcase_add_loop_test(tcase, names_fold_back, 0, ELEMENTSOF(folds));
        tcase_add_loop_test(tcase, what_is_folded_stands_for_the_same, 0, check_rounds(100));
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
