/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "job/vault.h"
#include "wire/limits.h"

#define DIGEST "d1"

static Vault *vault;
static int manager; /* the service manager's end of its notify socket */
static char text[1024];

static void setup(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char name[64];
        int n;

        manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ck_assert_int_ge(manager, 0);
        n = snprintf(name, sizeof(name), "@ctprof-test-vault-%d", (int) getpid());
        memcpy(address.sun_path + 1, name + 1, (size_t) n - 1);
        ck_assert_int_eq(bind(manager, (const struct sockaddr *) &address,
                              (socklen_t) (offsetof(struct sockaddr_un, sun_path) + (size_t) n)),
                         0);
        ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
        ck_assert_int_eq(vault_new(DIGEST, &vault), 0);
}

static void teardown(void) {
        vault = vault_free(vault);
        manager = fd_close(manager);
        ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
}

/* The next message of the vault as text, "" when there is none; *ret_fd: what came along. */
static const char *next_message(int *ret_fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(int)) + 256];
                struct cmsghdr header;
        } control = {};
        struct iovec vector = { .iov_base = text, .iov_len = sizeof(text) - 1 };
        struct msghdr message = { .msg_iov = &vector,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = sizeof(control.bytes) };
        ssize_t n = recvmsg(manager, &message, MSG_CMSG_CLOEXEC);

        *ret_fd = -EBADF;
        text[n > 0 ? n : 0] = '\0';
        if (n < 0)
                return text;
        for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part;
             part = CMSG_NXTHDR(&message, part))
                if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
                        memcpy(ret_fd, CMSG_DATA(part), sizeof(int));
        return text;
}

static void expect_message(const char *expected) {
        int fd;

        ck_assert_str_eq(next_message(&fd), expected);
        ck_assert_int_lt(fd, 0);
}

static bool is_same(int a, int b) {
        struct stat a_status, b_status;

        return fstat(a, &a_status) == 0 && fstat(b, &b_status) == 0 &&
               a_status.st_dev == b_status.st_dev && a_status.st_ino == b_status.st_ino;
}

static int make(void) {
        int fd = memfd_create("object", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}

static bool is_open(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(what_is_put_is_lent_and_stored) {
        int fd = make(), stored, lent;

        ck_assert_int_eq(vault_put(vault, "stats", fd), VAULT_OK);
        ck_assert_str_eq(next_message(&stored), "FDSTORE=1\nFDPOLL=0\nFDNAME=object.stats@" DIGEST);
        ck_assert(is_same(stored, fd));
        expect_message("");

        lent = vault_lend(vault, "stats");
        ck_assert(is_same(lent, fd));
        ck_assert_int_ne(lent, fd);
        ck_assert_int_eq(fcntl(lent, F_GETFD), FD_CLOEXEC);
        fd_close(fd);
        fd_close(lent);
        lent = vault_lend(vault, "stats");
        ck_assert(is_same(lent, stored));
        fd_close(lent);
        fd_close(stored);
        ck_assert_int_eq(vault_lend(vault, "other"), -ENOENT);
}
END_TEST

START_TEST(borrowers_share_the_object) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), a, b;
        eventfd_t value = 0;

        ck_assert_int_eq(vault_put(vault, "count", fd), VAULT_OK);
        fd_close(fd);
        a = vault_lend(vault, "count");
        b = vault_lend(vault, "count");
        ck_assert_int_eq(eventfd_write(a, 7), 0);
        ck_assert_int_eq(eventfd_read(b, &value), 0);
        ck_assert_uint_eq(value, 7);
        fd_close(a);
        fd_close(b);
}
END_TEST

START_TEST(another_of_the_same_name_takes_its_place) {
        int first = make(), second = make(), lent, stored;

        ck_assert_int_eq(vault_put(vault, "stats", first), VAULT_OK);
        (void) next_message(&stored);
        fd_close(stored);
        ck_assert_int_eq(vault_put(vault, "stats", second), VAULT_OK);
        expect_message("FDSTOREREMOVE=1\nFDNAME=object.stats@" DIGEST);
        (void) next_message(&stored);
        ck_assert(is_same(stored, second));
        lent = vault_lend(vault, "stats");
        ck_assert(is_same(lent, second));
        fd_close(lent);
        fd_close(stored);
        fd_close(first);
        fd_close(second);
}
END_TEST

START_TEST(what_is_dropped_is_dropped_everywhere) {
        int fd = make(), stored;

        ck_assert_int_eq(vault_put(vault, "a", fd), VAULT_OK);
        (void) next_message(&stored);
        fd_close(stored);
        ck_assert_int_eq(vault_put(vault, "b", fd), VAULT_OK);
        (void) next_message(&stored);
        fd_close(stored);
        vault_drop(vault, "a");
        expect_message("FDSTOREREMOVE=1\nFDNAME=object.a@" DIGEST);
        vault_drop(vault, "a");
        expect_message("");
        ck_assert_int_eq(vault_lend(vault, "a"), -ENOENT);
        stored = vault_lend(vault, "b");
        ck_assert_int_ge(stored, 0);
        fd_close(stored);
        fd_close(fd);
}
END_TEST

START_TEST(what_the_manager_kept_comes_back) {
        int fd = make(), twice = dup(fd), lent;

        ck_assert(vault_adopt(vault, "object.stats@" DIGEST, fd));
        ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
        ck_assert(vault_adopt(vault, "object.stats@" DIGEST, twice));
        ck_assert(!is_open(twice));
        expect_message(""); /* it has it already */
        ck_assert_uint_eq(vault_n_outdated(vault), 0);
        lent = vault_lend(vault, "stats");
        ck_assert(is_same(lent, fd));
        fd_close(lent);
}
END_TEST

START_TEST(what_another_version_made_is_closed_for_good) {
        int fd = make();

        ck_assert_uint_eq(vault_n_outdated(vault), 0);
        ck_assert(vault_adopt(vault, "object.stats@d0", fd));
        ck_assert_uint_eq(vault_n_outdated(vault), 1);
        ck_assert(!is_open(fd));
        expect_message("FDSTOREREMOVE=1\nFDNAME=object.stats@d0");
        ck_assert_int_eq(vault_lend(vault, "stats"), -ENOENT);
}
END_TEST

static const char *const foreign_rows[] = {
        "varlink", "stored", "object.", "object.stats", "object.@" DIGEST, "object.Stats@" DIGEST,
        ""
};

START_TEST(other_descriptors_are_left_alone) {
        int fd = make();

        ck_assert(!vault_adopt(vault, foreign_rows[_i], fd));
        ck_assert(is_open(fd));
        expect_message("");
        fd_close(fd);
}
END_TEST

START_TEST(the_vault_has_a_bound) {
        int fd = make(), stored;
        char name[32];

        for (unsigned i = 0; i < LIMIT_HELD_OBJECTS; i++) {
                (void) snprintf(name, sizeof(name), "n%u", i);
                ck_assert_int_eq(vault_put(vault, name, fd), VAULT_OK);
                (void) next_message(&stored);
                fd_close(stored);
        }
        ck_assert_int_eq(vault_put(vault, "one-more", fd), -ENOSPC);
        ck_assert_int_eq(vault_put(vault, "n0", fd), VAULT_OK); /* in place of itself */
        fd_close(fd);
}
END_TEST

START_TEST(names_are_plain) {
        char longest[VAULT_NAME_MAX_CHARS + 2];
        int fd = make();

        memset(longest, 'x', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        ck_assert_int_eq(vault_put(vault, longest, fd), -EINVAL);
        ck_assert_int_eq(vault_put(vault, longest + 1, fd), VAULT_OK);
        ck_assert_int_eq(vault_put(vault, "", fd), -EINVAL);
        ck_assert_int_eq(vault_put(vault, "a@b", fd), -EINVAL);
        ck_assert_int_eq(vault_put(vault, "a\nFDSTOREREMOVE=1", fd), -EINVAL);
        ck_assert_int_eq(vault_put(vault, "closed", -1), -EBADF);
        fd_close(fd);
}
END_TEST

START_TEST(a_manager_that_does_not_take_it_is_told) {
        int fd = make(), lent;

        manager = fd_close(manager);
        ck_assert_int_eq(vault_put(vault, "stats", fd), VAULT_E_NOT_STORED);
        lent = vault_lend(vault, "stats");
        ck_assert(is_same(lent, fd));
        fd_close(lent);
        ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
        /* Without a service manager there is no restart to survive. */
        ck_assert_int_eq(vault_put(vault, "stats", fd), VAULT_OK);
        fd_close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("vault");
        TCase *held = tcase_create("held");

        tcase_add_checked_fixture(held, setup, teardown);
        tcase_add_test(held, what_is_put_is_lent_and_stored);
        tcase_add_test(held, borrowers_share_the_object);
        tcase_add_test(held, another_of_the_same_name_takes_its_place);
        tcase_add_test(held, what_is_dropped_is_dropped_everywhere);
        tcase_add_test(held, what_the_manager_kept_comes_back);
        tcase_add_test(held, what_another_version_made_is_closed_for_good);
        tcase_add_loop_test(held, other_descriptors_are_left_alone, 0, ELEMENTSOF(foreign_rows));
        tcase_add_test(held, the_vault_has_a_bound);
        tcase_add_test(held, names_are_plain);
        tcase_add_test(held, a_manager_that_does_not_take_it_is_told);
        suite_add_tcase(suite, held);
        return check_main(suite);
}
