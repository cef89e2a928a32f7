/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <string.h>

#include "base/cleanup.h"
#include "metric/command.h"

#define TEXT(text) \
        { text, sizeof(text) - 1 }

/* A file as /proc has it, what is kept of it with NULs as blanks, and what groups are called. */
static const struct {
        Span file;
        const char *kept, *name;
} rows[] = {
        { TEXT("sleep\0"
               "60\0"),
          "sleep|", "sleep" },
        { TEXT("/usr/sbin/nginx\0"
               "-g\0"
               "daemon off;\0"),
          "/usr/sbin/nginx|", "nginx" },
        { TEXT("./relative/tool\0"), "./relative/tool|", "tool" },
        { TEXT("-bash\0"), "-bash|", "bash" },
        { TEXT("@dbus-daemon\0"
               "--system\0"),
          "@dbus-daemon|", "dbus-daemon" },
        { TEXT("mysql\0"
               "-psecret\0"),
          "mysql|", "mysql" },
        /* interpreters */
        { TEXT("python3\0"
               "/srv/worker.py\0"
               "--token=x\0"),
          "python3|/srv/worker.py|", "python3 worker.py" },
        { TEXT("/usr/bin/python3.11\0"
               "-u\0"
               "-W\0"
               "ignore\0"
               "web.py\0"
               "8080\0"),
          "/usr/bin/python3.11|web.py|", "python3.11 web.py" },
        { TEXT("python3\0"
               "-Werror\0"
               "web.py\0"),
          "python3|web.py|", "python3 web.py" },
        { TEXT("python3\0"
               "-m\0"
               "http.server\0"),
          "python3|http.server|", "python3 http.server" },
        { TEXT("python3\0"
               "-uc\0"
               "password = 1\0"),
          "python3|", "python3" },
        { TEXT("python3\0"
               "-\0"
               "secret\0"),
          "python3|", "python3" },
        { TEXT("python3\0"), "python3|", "python3" },
        { TEXT("bash\0"
               "/dev/fd/63\0"),
          "bash|", "bash" },
        { TEXT("sh\0"
               "-ec\0"
               "curl -u a:b x\0"),
          "sh|", "sh" },
        { TEXT("/bin/sh\0"
               "/etc/init.d/x\0"
               "start\0"),
          "/bin/sh|/etc/init.d/x|", "sh x" },
        { TEXT("bash\0"
               "-o\0"
               "pipefail\0"
               "run.sh\0"),
          "bash|run.sh|", "bash run.sh" },
        { TEXT("bash\0"
               "--rcfile\0"
               "rc\0"
               "--\0"
               "-odd.sh\0"),
          "bash|-odd.sh|", "bash -odd.sh" },
        { TEXT("perl\0"
               "-MLWP::Simple\0"
               "get.pl\0"),
          "perl|get.pl|", "perl get.pl" },
        { TEXT("perl\0"
               "-ne\0"
               "print\0"),
          "perl|", "perl" },
        { TEXT("node\0"
               "--max-old-space-size=64\0"
               "-r\0"
               "x\0"
               "/a/b/server.js\0"),
          "node|/a/b/server.js|", "node server.js" },
        { TEXT("node\0"
               "--eval\0"
               "secret()\0"),
          "node|", "node" },
        { TEXT("java\0"
               "-Xmx1g\0"
               "-cp\0"
               "/l/a.jar:/l/b.jar\0"
               "-Dpassword=x\0"
               "org.App\0"),
          "java|org.App|", "java org.App" },
        { TEXT("/usr/bin/java\0"
               "-jar\0"
               "/opt/app.jar\0"),
          "/usr/bin/java|/opt/app.jar|", "java app.jar" },
        { TEXT("php\0"
               "-d\0"
               "a=b\0"
               "-f\0"
               "x.php\0"),
          "php|x.php|", "php x.php" },
        { TEXT("python3\0"
               "-W\0"),
          "python3|", "python3" }, /* what belongs to it is missing */
        /* titles and what tells nothing */
        { TEXT("nginx: worker process"), "", "" },
        { TEXT("nginx: worker process\0"), "", "" },
        { TEXT("postgres: writer \0\0\0\0\0"), "", "" },
        { TEXT("worker"), "", "" }, /* cut off, or written over */
        { TEXT(""), "", "" },
        { TEXT("\0"), "", "" },
        { TEXT("\0"
               "second\0"),
          "", "" },
        { TEXT("/usr/bin/\0"
               "x\0"),
          "", "" },
};

static Span kept_of(Span file, char room[static COMMAND_MAX_BYTES]) {
        return (Span){ room, command_shorten(file, room) };
}

START_TEST(what_tells_programs_apart_is_kept) {
        char room[COMMAND_MAX_BYTES], text[COMMAND_MAX_BYTES + 1] = "";
        _cleanup_(buffer_done) Buffer name = {};
        Span kept = kept_of(rows[_i].file, room);

        for (size_t i = 0; i < kept.n; i++)
                text[i] = kept.bytes[i] == '\0' ? '|' : kept.bytes[i];
        ck_assert_str_eq(text, rows[_i].kept);
        ck_assert_int_eq(command_append_name(&name, kept), 0);
        ck_assert(span_is(buffer_span(&name), rows[_i].name));
}
END_TEST

/* The last byte of the room is that of a NUL. */
START_TEST(what_is_longer_than_its_room_is_left_out) {
        char file[2 * COMMAND_MAX_BYTES] = "python3", room[COMMAND_MAX_BYTES];
        const size_t n_program = COMMAND_MAX_BYTES - sizeof("python3") - 1;

        memset(file + 8, 'x', n_program);
        ck_assert_uint_eq(kept_of((Span){ file, 8 + n_program + 1 }, room).n, COMMAND_MAX_BYTES);
        file[8 + n_program] = 'x';
        ck_assert_uint_eq(kept_of((Span){ file, 8 + n_program + 2 }, room).n, 8);
        memset(file, 'x', COMMAND_MAX_BYTES);
        ck_assert_uint_eq(kept_of((Span){ file, COMMAND_MAX_BYTES + 1 }, room).n, 0);
}
END_TEST

START_TEST(all_of_it_is_kept_up_to_the_bound) {
        char file[2 * COMMAND_MAX_BYTES], room[COMMAND_MAX_BYTES];
        const Span command = TEXT("a\0"
                                  "b c\0"
                                  "\0\0"),
                   title = TEXT("x: y z");

        ck_assert_uint_eq(command_keep(command, room), 6);
        ck_assert_int_eq(memcmp(room, "a\0b c\0", 6), 0);
        ck_assert_uint_eq(command_keep(title, room), title.n + 1);
        ck_assert_str_eq(room, "x: y z");
        memset(file, 'x', sizeof(file));
        ck_assert_uint_eq(command_keep((Span){ file, sizeof(file) }, room), COMMAND_MAX_BYTES);
        ck_assert_int_eq(room[COMMAND_MAX_BYTES - 1], '\0');
        ck_assert_uint_eq(command_keep((Span){ "\0\0", 2 }, room), 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("process-command");
        TCase *commands = tcase_create("commands");

        tcase_add_loop_test(commands, what_tells_programs_apart_is_kept, 0, ELEMENTSOF(rows));
        tcase_add_test(commands, what_is_longer_than_its_room_is_left_out);
        tcase_add_test(commands, all_of_it_is_kept_up_to_the_bound);
        suite_add_tcase(suite, commands);
        return check_main(suite);
}
