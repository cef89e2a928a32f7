/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/prctl.h>

#include "job/job-kind.h"
#include "job/sandbox/sandbox.h"
#include "service-fixture.h"
#include "service/method/loading.h"

#define EXISTING 1u /* threads; every host has more */
#define TOO_MANY 4000000000u

/*
 * A service that starts with @backend; @what its job of loading does (fake-ctprofd.c). Loading has
 * begun, unless it is private.
 */
static void start(const char *what, BackendChoice backend, bool is_private) {
        ManagerSettings settings;
        Manager *manager;

        ck_assert_int_eq(setenv("FAKE_LOAD", what, 1), 0);
        setup();
        manager = bench.manager;
        settings = manager->settings;
        settings.backend = backend;
        settings.commands = COMMAND_LINES_NO; /* nothing is borrowed for them */
        service_configure(bench.manager, &settings);
        manager->is_private = is_private;
        if (!is_private)
                service_load_programs(bench.manager);
}

static void configure(BackendChoice backend) {
        ManagerSettings settings = bench.manager->settings;

        settings.backend = backend;
        settings.commands = COMMAND_LINES_NO; /* nothing is borrowed for them */
        service_configure(bench.manager, &settings);
}

/* Nothing that loads is left to this process or to those that it starts. */
static void expect_renounced(void) {
        ck_assert(!sandbox_has_capabilities(SANDBOX_CAPABILITY(BPF)));
        ck_assert(!sandbox_has_capabilities(SANDBOX_CAPABILITY(PERFMON)));
        ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

#define CAPTURE CALL("Capture", "{\"tag\":\"x\",\"heap\":false}")
#define CAPTURE_WITH(how) CALL("Capture", "{\"tag\":\"x\",\"heap\":false,\"backend\":\"" how "\"}")
#define STATUS CALL("Status", "{}")

/* What a capture's job borrows, beside the spool's directory and the file. */
#define BORROWED "\"tasks\":2"
#define NOTHING ""

static void expect_borrowed(const char *answer, const char *what) {
        if (what[0] == '\0')
                ck_assert_ptr_null(strstr(answer, "\"tasks\":"));
        else
                ck_assert_has(answer, what);
}

static const struct {
        const char *what;
        BackendChoice backend;
        const char *in_order; /* NULL: the capture fails */
        const char *state;    /* in the status */
} rows[] = {
        { "loaded", BACKEND_CHOICE_AUTO, BORROWED,
          "\"backend\":{\"name\":\"bpf\",\"loadedRealtimeNs\":" },
        { "loaded", BACKEND_CHOICE_BPF, BORROWED,
          "\"backend\":{\"name\":\"bpf\",\"loadedRealtimeNs\":" },
        { "refused", BACKEND_CHOICE_AUTO, NOTHING,
          "{\"name\":\"procfs\",\"reason\":\"the moon is full\",\"outdated\":0}" },
        { "refused", BACKEND_CHOICE_BPF, NULL,
          "{\"name\":null,\"reason\":\"the moon is full\",\"outdated\":0}" },
        { "empty", BACKEND_CHOICE_AUTO, NOTHING, "{\"name\":\"procfs\",\"reason\":\"what was" },
        { "dies", BACKEND_CHOICE_AUTO, NOTHING,
          "\"reason\":\"the job that loads BPF programs failed: The load job ended with status 7" },
        { "failed", BACKEND_CHOICE_AUTO, NOTHING,
          "\"reason\":\"the job that loads BPF programs failed: no\"" },
        { "loaded", BACKEND_CHOICE_PROCFS, NOTHING,
          "{\"name\":\"procfs\",\"reason\":\"this ctprofd loads no BPF programs, because" },
};

START_TEST(programs_are_loaded_once_at_the_start) {
        const char *answer;

        start(rows[_i].what, rows[_i].backend, false);
        /* It comes while the job loads, and waits for it. */
        answer = call(CAPTURE);
        if (rows[_i].in_order)
                expect_borrowed(answer, rows[_i].in_order);
        else
                ck_assert_has(answer, "threads cannot be read through BPF: the moon is full");
        expect_renounced();
        ck_assert(!bench.manager->is_loading);
        ck_assert_has(call(STATUS), rows[_i].state);
        /* Whatever came of it, it is not tried again. */
        setenv("FAKE_LOAD", "dies", 1);
        answer = call(CAPTURE_WITH("auto"));
        expect_borrowed(answer, strcmp(rows[_i].what, "loaded") == 0 &&
                                                rows[_i].backend != BACKEND_CHOICE_PROCFS
                                        ? BORROWED
                                        : NOTHING);
        teardown();
}
END_TEST

/* A host has more CPUs than a message or the service manager's store have descriptors. */
START_TEST(clocks_of_many_cpus_are_handed_over) {
        static const size_t numbers[] = { 1, LIMIT_CLOCKS_AT_ONCE, LIMIT_CLOCKS_AT_ONCE + 1, 700 };
        char what[32];

        (void) snprintf(what, sizeof(what), "clocks %zu", numbers[_i]);
        start(what, BACKEND_CHOICE_AUTO, false);
        expect_borrowed(call(CAPTURE), BORROWED);
        ck_assert_uint_eq(bench.manager->n_clocks, numbers[_i]);
        for (size_t i = 0; i < numbers[_i]; i++)
                ck_assert_int_eq(fcntl(bench.manager->clocks[i], F_GETFD), FD_CLOEXEC);
        loading_drop_clocks(bench.manager);
        ck_assert_uint_eq(bench.manager->n_clocks, 0);
        teardown();
}
END_TEST

START_TEST(captures_and_the_status_wait_for_programs_and_others_do_not) {
        char gate[] = "/tmp/ctprof-gate-XXXXXX";
        FrameStream *second;

        make_gate(gate);
        start(gate, BACKEND_CHOICE_AUTO, false);
        ck_assert(bench.manager->is_loading);
        second = bench_connect(&bench);
        bench_send(second, CAPTURE, NULL, 0);
        /* The capture, and the job that cleans the spool for it. */
        bench_await(&bench, 1, 2);
        ck_assert_has(call(CALL("MetricList", "{}")), "\"run_time_ns\"");
        ck_assert(bench.manager->is_loading);
        /* Before that it could not say how threads are read. */
        bench_send(caller, STATUS, NULL, 0);
        bench_await(&bench, 1, 3);
        ck_assert_int_eq(unlink(gate), 0);
        ck_assert_has(bench_receive(&bench, caller), "\"backend\":{\"name\":\"bpf\",\"loaded");
        ck_assert_has(bench_receive(&bench, second), BORROWED);
        frame_stream_free(second);
        teardown();
}
END_TEST

START_TEST(a_service_that_stops_does_not_wait_for_programs) {
        char gate[] = "/tmp/ctprof-gate-XXXXXX";

        make_gate(gate);
        start(gate, BACKEND_CHOICE_AUTO, false);
        service_stop(bench.manager);
        ck_assert(!bench.manager->is_loading);
        expect_renounced();
        teardown();
        ck_assert_int_eq(unlink(gate), 0);
}
END_TEST

START_TEST(what_an_earlier_process_loaded_is_used) {
        int fd = dup(2);

        ck_assert_int_eq(setenv("FAKE_LOAD", "dies", 1), 0);
        setup();
        configure(BACKEND_CHOICE_AUTO);
        ck_assert_int_eq(fd_store_put(bench.fd_store, "tasks", fd), FD_STORE_OK);
        fd_close(fd);
        service_load_programs(bench.manager);
        ck_assert(!bench.manager->is_loading);
        expect_renounced();
        ck_assert_has(call(CAPTURE), BORROWED);
        /* That process did not tell when. */
        ck_assert_has(call(STATUS), "\"backend\":{\"name\":\"bpf\",\"outdated\":0}");
        teardown();
}
END_TEST

START_TEST(a_configuration_without_programs_closes_them) {
        int fd = dup(2);

        ck_assert_int_eq(setenv("FAKE_LOAD", "loaded", 1), 0);
        setup();
        ck_assert_int_eq(fd_store_put(bench.fd_store, "tasks", fd), FD_STORE_OK);
        fd_close(fd);
        service_load_programs(bench.manager);
        expect_renounced();
        ck_assert_int_eq(fd_store_borrow(bench.fd_store, "tasks"), -ENOENT);
        expect_borrowed(call(CAPTURE), NOTHING);
        ck_assert_has(call(CAPTURE_WITH("bpf")),
                      "because it was started with Backend=procfs: set another in ctprofd.conf");
        teardown();
}
END_TEST

START_TEST(a_later_wish_for_programs_takes_a_restart) {
        start("loaded", BACKEND_CHOICE_PROCFS, false);
        ck_assert(!loading_needs_restart(bench.manager));
        configure(BACKEND_CHOICE_AUTO);
        ck_assert(loading_needs_restart(bench.manager));
        expect_borrowed(call(CAPTURE), NOTHING);
        ck_assert_has(call(STATUS), "Backend=auto takes effect when it is restarted");
        configure(BACKEND_CHOICE_BPF);
        ck_assert_has(call(CAPTURE), "Backend=bpf takes effect when it is restarted");
        configure(BACKEND_CHOICE_PROCFS);
        ck_assert(!loading_needs_restart(bench.manager));
        ck_assert_has(call(STATUS), "set another in ctprofd.conf and restart it");
        teardown();
}
END_TEST

/* The other way round nothing has to be restarted. */
START_TEST(programs_that_are_there_can_be_left_unused) {
        start("loaded", BACKEND_CHOICE_AUTO, false);
        ck_assert_has(call(CAPTURE), BORROWED);
        configure(BACKEND_CHOICE_PROCFS);
        ck_assert(!loading_needs_restart(bench.manager));
        expect_borrowed(call(CAPTURE), NOTHING);
        ck_assert_has(call(STATUS),
                      "\"backend\":{\"name\":\"procfs\",\"reason\":\"the configuration says "
                      "Backend=procfs\",\"loadedRealtimeNs\":");
        configure(BACKEND_CHOICE_AUTO);
        ck_assert_has(call(CAPTURE), BORROWED);
        teardown();
}
END_TEST

static const struct {
        unsigned threads; /* from which on it loads */
        const char *call;
        bool loads; /* where the caller may */
} private_rows[] = {
        { TOO_MANY, CAPTURE, false },
        { TOO_MANY, CAPTURE_WITH("auto"), false },
        { TOO_MANY, CALL("Capture", "{\"tag\":\"x\",\"heap\":false,\"interval\":true}"), true },
        { TOO_MANY,
          CALL("Capture",
               "{\"tag\":\"x\",\"heap\":false,\"interval\":true,\"backend\":\"procfs\"}"),
          false },
        { EXISTING, CAPTURE, true },
        { EXISTING, CAPTURE_WITH("procfs"), false },
};

START_TEST(a_private_service_loads_when_it_pays) {
        bool may = sandbox_has_capabilities(JOB_LOADING_CAPABILITIES), loads;

        start("loaded", BACKEND_CHOICE_AUTO, true);
        bench.manager->settings.loading_threads = private_rows[_i].threads;
        loads = may && private_rows[_i].loads;
        expect_borrowed(call(private_rows[_i].call), loads ? BORROWED : NOTHING);
        if (loads) {
                expect_renounced();
                /* What is there costs nothing more. */
                bench.manager->settings.loading_threads = TOO_MANY;
                ck_assert_has(call(CAPTURE), BORROWED);
        }
        teardown();
}
END_TEST

/* Who asks for BPF alone gets it, or the kernel's own refusal. */
START_TEST(a_private_service_loads_when_asked) {
        start("loaded", BACKEND_CHOICE_AUTO, true);
        bench.manager->settings.loading_threads = TOO_MANY;
        ck_assert_has(call(CAPTURE_WITH("bpf")), BORROWED);
        expect_renounced();
        teardown();
        start("refused", BACKEND_CHOICE_AUTO, true);
        ck_assert_has(call(CAPTURE_WITH("bpf")), "through BPF: the moon is full");
        teardown();
}
END_TEST

/* What loads and what captures are two jobs of one call, and another call waits for both. */
START_TEST(a_capture_keeps_its_turn_when_loading_fails) {
        start("failed", BACKEND_CHOICE_AUTO, true);
        bench.manager->settings.loading_threads = EXISTING;
        bench_send(caller, CALL("Capture", "{\"tag\":\"hang\",\"heap\":false}"), NULL, 0);
        bench_await(&bench, 1, 0);
        expect_borrowed(capture_behind(CALL_MORE("Capture", "{\"tag\":\"x\",\"heap\":false}")),
                        NOTHING);
        teardown();
}
END_TEST

START_TEST(the_status_of_a_private_service_says_when_it_loads) {
        bool may = sandbox_has_capabilities(JOB_LOADING_CAPABILITIES);

        start("loaded", BACKEND_CHOICE_AUTO, true);
        bench.manager->settings.loading_threads = TOO_MANY;
        ck_assert_has(call(STATUS), may ? "hosts of 4000000000 threads or more"
                                        : "takes CAP_BPF and CAP_PERFMON");
        bench.manager->settings.loading_threads = EXISTING;
        ck_assert_has(call(STATUS), may ? "\"backend\":{\"name\":\"bpf\",\"outdated\":0}"
                                        : "takes CAP_BPF and CAP_PERFMON");
        teardown();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("loading");
        TCase *own = tcase_create("private"), *system = tcase_create("system");

        /* First, because without a fork for each test the others give up what these may use. */
        tcase_add_test(own, the_status_of_a_private_service_says_when_it_loads);
        tcase_add_loop_test(own, a_private_service_loads_when_it_pays, 0, ELEMENTSOF(private_rows));
        tcase_add_test(own, a_private_service_loads_when_asked);
        tcase_add_test(own, a_capture_keeps_its_turn_when_loading_fails);
        tcase_add_loop_test(system, programs_are_loaded_once_at_the_start, 0, ELEMENTSOF(rows));
        tcase_add_loop_test(system, clocks_of_many_cpus_are_handed_over, 0, 4);
        tcase_add_test(system, captures_and_the_status_wait_for_programs_and_others_do_not);
        tcase_add_test(system, a_service_that_stops_does_not_wait_for_programs);
        tcase_add_test(system, what_an_earlier_process_loaded_is_used);
        tcase_add_test(system, a_configuration_without_programs_closes_them);
        tcase_add_test(system, a_later_wish_for_programs_takes_a_restart);
        tcase_add_test(system, programs_that_are_there_can_be_left_unused);
        suite_add_tcase(suite, own);
        suite_add_tcase(suite, system);
        return check_main_unless(check_lacks_shared_tables(), suite);
}
