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

#include "job/fd-store.h"
#include "wire/limits.h"

#define DIGEST "d1"

static FdStore *fd_store;
static int manager; /* the service manager's end of its notify socket */
static char text[1024];

static void setup(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        char name[64];
        int n;

        manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ck_assert_int_ge(manager, 0);
        n = snprintf(name, sizeof(name), "@ctprof-test-store-%d", (int) getpid());
        memcpy(address.sun_path + 1, name + 1, (size_t) n - 1);
        ck_assert_int_eq(bind(manager, (const struct sockaddr *) &address,
                              (socklen_t) (offsetof(struct sockaddr_un, sun_path) + (size_t) n)),
                         0);
        ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
        ck_assert_int_eq(fd_store_new(DIGEST, &fd_store), 0);
}

static void teardown(void) {
        fd_store = fd_store_free(fd_store);
        manager = fd_close(manager);
        ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
}

/*
 * The next message of the descriptor store as text, "" when there is none; *ret_fd: what came
 * along.
 */
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
        int fd = make(), stored, held;

        ck_assert_int_eq(fd_store_put(fd_store, "stats", fd), FD_STORE_OK);
        ck_assert_str_eq(next_message(&stored), "FDSTORE=1\nFDPOLL=0\nFDNAME=object.stats@" DIGEST);
        ck_assert(is_same(stored, fd));
        expect_message("");

        held = fd_store_borrow(fd_store, "stats");
        ck_assert(is_same(held, fd));
        ck_assert_int_ne(held, fd);
        ck_assert_int_eq(fcntl(held, F_GETFD), FD_CLOEXEC);
        fd_close(fd);
        fd_close(held);
        held = fd_store_borrow(fd_store, "stats");
        ck_assert(is_same(held, stored));
        fd_close(held);
        fd_close(stored);
        ck_assert_int_eq(fd_store_borrow(fd_store, "other"), -ENOENT);
}
END_TEST

START_TEST(borrowers_share_the_object) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), a, b;
        eventfd_t value = 0;

        ck_assert_int_eq(fd_store_put(fd_store, "count", fd), FD_STORE_OK);
        fd_close(fd);
        a = fd_store_borrow(fd_store, "count");
        b = fd_store_borrow(fd_store, "count");
        ck_assert_int_eq(eventfd_write(a, 7), 0);
        ck_assert_int_eq(eventfd_read(b, &value), 0);
        ck_assert_uint_eq(value, 7);
        fd_close(a);
        fd_close(b);
}
END_TEST

START_TEST(another_of_the_same_name_takes_its_place) {
        int first = make(), second = make(), held, stored;

        ck_assert_int_eq(fd_store_put(fd_store, "stats", first), FD_STORE_OK);
        (void) next_message(&stored);
        fd_close(stored);
        ck_assert_int_eq(fd_store_put(fd_store, "stats", second), FD_STORE_OK);
        expect_message("FDSTOREREMOVE=1\nFDNAME=object.stats@" DIGEST);
        (void) next_message(&stored);
        ck_assert(is_same(stored, second));
        held = fd_store_borrow(fd_store, "stats");
        ck_assert(is_same(held, second));
        fd_close(held);
        fd_close(stored);
        fd_close(first);
        fd_close(second);
}
END_TEST

START_TEST(what_is_dropped_is_dropped_everywhere) {
        int fd = make(), stored;

        ck_assert_int_eq(fd_store_put(fd_store, "a", fd), FD_STORE_OK);
        (void) next_message(&stored);
        fd_close(stored);
        ck_assert_int_eq(fd_store_put(fd_store, "b", fd), FD_STORE_OK);
        (void) next_message(&stored);
        fd_close(stored);
        fd_store_drop(fd_store, "a");
        expect_message("FDSTOREREMOVE=1\nFDNAME=object.a@" DIGEST);
        fd_store_drop(fd_store, "a");
        expect_message("");
        ck_assert_int_eq(fd_store_borrow(fd_store, "a"), -ENOENT);
        stored = fd_store_borrow(fd_store, "b");
        ck_assert_int_ge(stored, 0);
        fd_close(stored);
        fd_close(fd);
}
END_TEST

START_TEST(what_the_manager_kept_comes_back) {
        int fd = make(), twice = dup(fd), held;

        ck_assert(fd_store_adopt(fd_store, "object.stats@" DIGEST, fd));
        ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
        ck_assert(fd_store_adopt(fd_store, "object.stats@" DIGEST, twice));
        ck_assert(!is_open(twice));
        expect_message(""); /* it has it already */
        ck_assert_uint_eq(fd_store_n_outdated(fd_store), 0);
        held = fd_store_borrow(fd_store, "stats");
        ck_assert(is_same(held, fd));
        fd_close(held);
}
END_TEST

START_TEST(what_another_version_made_is_closed_for_good) {
        int fd = make();

        ck_assert_uint_eq(fd_store_n_outdated(fd_store), 0);
        ck_assert(fd_store_adopt(fd_store, "object.stats@d0", fd));
        ck_assert_uint_eq(fd_store_n_outdated(fd_store), 1);
        ck_assert(!is_open(fd));
        expect_message("FDSTOREREMOVE=1\nFDNAME=object.stats@d0");
        ck_assert_int_eq(fd_store_borrow(fd_store, "stats"), -ENOENT);
}
END_TEST

static const char *const foreign_rows[] = {
        "varlink", "stored", "object.", "object.stats", "object.@" DIGEST, "object.Stats@" DIGEST,
        ""
};

START_TEST(other_descriptors_are_left_alone) {
        int fd = make();

        ck_assert(!fd_store_adopt(fd_store, foreign_rows[_i], fd));
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
                ck_assert_int_eq(fd_store_put(fd_store, name, fd), FD_STORE_OK);
                (void) next_message(&stored);
                fd_close(stored);
        }
        ck_assert_int_eq(fd_store_put(fd_store, "one-more", fd), -ENOSPC);
        ck_assert_int_eq(fd_store_put(fd_store, "n0", fd), FD_STORE_OK); /* in place of itself */
        fd_close(fd);
}
END_TEST

START_TEST(names_are_plain) {
        char longest[FD_STORE_NAME_MAX_CHARS + 2];
        int fd = make();

        memset(longest, 'x', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = '\0';
        ck_assert_int_eq(fd_store_put(fd_store, longest, fd), -EINVAL);
        ck_assert_int_eq(fd_store_put(fd_store, longest + 1, fd), FD_STORE_OK);
        ck_assert_int_eq(fd_store_put(fd_store, "", fd), -EINVAL);
        ck_assert_int_eq(fd_store_put(fd_store, "a@b", fd), -EINVAL);
        ck_assert_int_eq(fd_store_put(fd_store, "a\nFDSTOREREMOVE=1", fd), -EINVAL);
        ck_assert_int_eq(fd_store_put(fd_store, "closed", -1), -EBADF);
        fd_close(fd);
}
END_TEST

START_TEST(a_manager_that_does_not_take_it_is_told) {
        int fd = make(), held;

        manager = fd_close(manager);
        ck_assert_int_eq(fd_store_put(fd_store, "stats", fd), FD_STORE_E_NOT_STORED);
        held = fd_store_borrow(fd_store, "stats");
        ck_assert(is_same(held, fd));
        fd_close(held);
        ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
        /* Without a service manager there is no restart to survive. */
        ck_assert_int_eq(fd_store_put(fd_store, "stats", fd), FD_STORE_OK);
        fd_close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("fd-store");
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
