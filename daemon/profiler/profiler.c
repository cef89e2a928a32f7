/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/profiler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/err.h"
#include "job/descriptor/child.h"
#include "job/descriptor/disposal.h"
#include "job/descriptor/timer.h"
#include "job/sandbox/sandbox.h"
#include "job/fd-store.h"
#include "job/job.h"
#include "kernel/bpf/ledger-record.h"
#include "log/log.h"
#include "profiler/settings.h"
#include "profiler/socket-file.h"
#include "profiler/status-line.h"
#include "server/server.h"
#include "service/method/loading.h"
#include "service/service.h"
#include "spool/spool.h"
#include "wire/limits.h"

#define PROFILER_SOCKET_NAME "varlink"
/*
 * The layout of what the descriptor store holds (service/method), which changes with every member
 * that programs and captures share (TaskRecord, LedgerControl): what another version has stored is
 * closed.
 */
#define PROFILER_LAYOUT "heap-1-tasks-12"
_Static_assert(sizeof(TaskRecord) + sizeof(TaskMemory) + sizeof(TaskDelays) +
                               sizeof(TaskSchedstats) + sizeof(TaskWaits) + sizeof(TaskReasons) +
                               sizeof(LedgerRecord) + sizeof(LedgerControl) + sizeof(MovedEnd) ==
                       54320,
               "a member that is added raises the number in PROFILER_LAYOUT, and then this one");

/* A step of the start returns these besides a negative errno. */
enum {
        STEP_DONE,
        STEP_TOLD, /* it failed and has logged why */
};

/* The daemon's own descriptors. Each connection may add as many as a call can have. */
#define PROFILER_DESCRIPTORS 512u
/* Half of them are those of children; the rest serves one client and its jobs. */
#define PROFILER_LEAST_DESCRIPTORS (2u * CHILD_TABLE_GRAIN)

#define PROFILER_TRIM_INTERVAL_NS (3 * NSEC_PER_SEC)
#define PROFILER_TRIM_ACCURACY_US UINT64_C(1000000)
/* The C library starts with this threshold and raises it up to 32 MiB as buffers are freed. */
#define PROFILER_MMAP_THRESHOLD_BYTES (128 * 1024)

typedef struct Profiler {
        const Options *options;
        Config *config;
        sd_event *event;
        sd_event_source *trim_timer; /* runs while something happened since the last trim */
        sd_event_source *trim_post;
        bool trimmed; /* this iteration of the event loop only trimmed, which calls for no trim */
        StatusLine *status_line;
        Spool *spool;
        Users *users;
        Disposal *disposal;
        FdStore *fd_store;
        JobPool *pool;
        OwnProcesses own;
        Manager *manager;
        Server *server;
        SocketFile *socket_file;
        int socket_fd;           /* owned until the server adopts it */
        bool connected;          /* the socket is a connection: serve it and end */
        const char *config_note; /* for the status: what is wrong with the configuration, or "" */
} Profiler;

/*
 * The default soft limit is low for the sake of programs that use select(2); we need more. With too
 * few nothing works: children get the lowest numbers, which stay occupied (job/spawner.h).
 */
static int raise_descriptor_limit(const Config *config) {
        rlim_t wanted = config->values[SETTING_CONNECTIONS].number * (LIMIT_FDS_PER_CALL + 2u) +
                        PROFILER_DESCRIPTORS;
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 0;
        if (limit.rlim_cur < wanted) {
                limit.rlim_cur = MIN_OF(limit.rlim_max, wanted);
                (void) setrlimit(RLIMIT_NOFILE, &limit);
        }
        if (limit.rlim_cur >= PROFILER_LEAST_DESCRIPTORS)
                return 0;
        log_error(0,
                  "The limit of open files is %" PRIu64 ", and the daemon needs at least %u: raise "
                  "LimitNOFILE= of its unit, or \"ulimit -n\" of the shell that starts it",
                  (uint64_t) limit.rlim_cur, PROFILER_LEAST_DESCRIPTORS);
        return STEP_TOLD;
}

/* events */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Profiler *profiler = userdata;

        log_debug("Stopping on signal %u", info->ssi_signo);
        (void) sd_event_exit(profiler->event, 0);
        return 0;
}

/* Updates the line that "systemctl status" shows. */
static void on_activity(void *userdata) {
        const Profiler *profiler = userdata;
        unsigned n_running, n_waiting;

        queue_count(profiler->users, &n_running, &n_waiting);
        status_line_set(profiler->status_line, "%u jobs running, %u waiting%s", n_running,
                        n_waiting, profiler->config_note);
}

/*
 * Applies the new configuration as a whole or not at all, and tells systemd when that begins and
 * ends, as Type=notify-reload requires: sd_notify(3).
 */
static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Profiler *profiler = userdata;
        Config *config = NULL;
        ManagerSettings settings;
        int r;

        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                          clock_now_ns(CLOCK_MONOTONIC) / NSEC_PER_USEC);
        r = settings_load(profiler->options, profiler->connected, &config);
        if (r == SETTINGS_OK) {
                profiler->users->limits = settings_of_users(config);
                profiler->server->limits = settings_of_connections(config);
                settings = settings_of_service(config, profiler->spool->dir_fd);
                service_configure(profiler->manager, &settings);
                profiler->pool->max_data_bytes = config->values[SETTING_JOB_MEMORY].number;
                raise_descriptor_limit(config);
                (void) config_free(profiler->config);
                profiler->config = TAKE_PTR(config);
                profiler->config_note = loading_needs_restart(profiler->manager)
                                                ? "; the new Backend= takes a restart"
                                                : "";
                log_info("Read the configuration again");
        } else if (r < 0) {
                profiler->config_note = "; the new configuration could not be read";
                log_error(r,
                          "Could not read the configuration again; the earlier one stays in use");
        } else {
                profiler->config_note = "; the new configuration is wrong and not in use";
                log_error(0, "The new configuration is wrong; the earlier one stays in use");
        }
        (void) config_free(config);
        (void) sd_notify(0, "READY=1");
        on_activity(profiler);
        return 0;
}

/* putting together */

/*
 * The first step takes over the descriptors that the service manager passed: the kernel objects of
 * an earlier process, and the socket, if there is no path for a new one: a listening socket, or,
 * for varlink's "exec:", a connected one. That decides whether this is a private daemon, and so
 * which files configure it.
 */
static int open_socket_and_config(Profiler *profiler) {
        const char *path = profiler->options->listen_path;
        _cleanup_(freep) char **names = NULL;
        int n, r, found = -EBADF;

        r = fd_store_new(PROFILER_LAYOUT, &profiler->fd_store);
        if (r < 0)
                return r;
        n = sd_listen_fds_with_names(1, &names);
        for (int i = 0; i < n; i++) {
                int fd = SD_LISTEN_FDS_START + i;

                if (strcmp(names[i], PROFILER_SOCKET_NAME) == 0 && found < 0)
                        found = fd;
                else
                        (void) fd_store_adopt(profiler->fd_store, names[i], fd);
                free(names[i]);
        }
        if (path) {
                r = socket_file_new(path, &profiler->socket_file, &profiler->socket_fd);
                if (r == SOCKET_FILE_E_IN_USE)
                        log_error(0, "Another process already listens at %s", path);
                else if (r == SOCKET_FILE_E_TOO_LONG)
                        log_error(0, "The path %s is too long for a socket", path);
                else if (r < 0)
                        log_error(r, "Could not listen at %s", path);
                if (r != 0)
                        return STEP_TOLD;
        } else if (n < 0) {
                log_error(n, "Could not take over the socket");
                return STEP_TOLD;
        } else if (found < 0) {
                log_error(0,
                          "No socket named \"%s\" was handed over: start ctprofd.socket, or use "
                          "--listen PATH",
                          PROFILER_SOCKET_NAME);
                return STEP_TOLD;
        } else if (sd_is_socket(found, AF_UNIX, SOCK_STREAM, -1) <= 0) {
                log_error(0, "The socket that was handed over is not a unix stream socket");
                return STEP_TOLD;
        } else {
                profiler->socket_fd = found;
                profiler->connected = sd_is_socket(found, AF_UNIX, SOCK_STREAM, 0) > 0;
        }
        /* A private daemon logs only failures. */
        log_open(profiler->connected ? LOG_WARNING : LOG_INFO);
        r = settings_load(profiler->options, profiler->connected, &profiler->config);
        if (r < 0)
                return STEP_TOLD;
        /* Wrong lines are ignored: not starting at all would be worse for the host. */
        if (r == SETTINGS_E_WRONG)
                profiler->config_note = "; wrong lines of the configuration are left out";
        return raise_descriptor_limit(profiler->config);
}

static int on_trim_timer(sd_event_source *source, uint64_t now_us, void *userdata) {
        Profiler *profiler = userdata;

        (void) malloc_trim(0);
        profiler->trimmed = true;
        return 0;
}

/* Runs at the end of every iteration of the event loop in which anything happened. */
static int on_trim_post(sd_event_source *source, void *userdata) {
        Profiler *profiler = userdata;
        int is_running = SD_EVENT_OFF;

        (void) sd_event_source_get_enabled(profiler->trim_timer, &is_running);
        if (!profiler->trimmed && is_running == SD_EVENT_OFF)
                timer_start(profiler->trim_timer, PROFILER_TRIM_INTERVAL_NS);
        profiler->trimmed = false;
        return 0;
}

/* The event loop, and what every later step needs. */
static int open_event_loop(Profiler *profiler) {
        const UserLimits limits = settings_of_users(profiler->config);
        /* A private daemon ends with the terminal of its caller and has nothing to reload. */
        const struct {
                int number;
                sd_event_signal_handler_t handler;
        } rows[] = {
                { SIGTERM, on_signal },
                { SIGINT, on_signal },
                { SIGHUP, profiler->connected ? on_signal : on_reload },
        };
        sigset_t blocked;
        int r;

        r = sd_event_new(&profiler->event);
        if (r < 0)
                return r;
        (void) sigemptyset(&blocked);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                (void) sigaddset(&blocked, rows[i].number);
        if (sigprocmask(SIG_BLOCK, &blocked, NULL) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                r = sd_event_add_signal(profiler->event, NULL, rows[i].number, rows[i].handler,
                                        profiler);
                if (r < 0)
                        return r;
        }
        /* Without $WATCHDOG_USEC this does nothing. */
        r = sd_event_set_watchdog(profiler->event, !profiler->connected);
        if (r < 0)
                return r;
        /* A private daemon has no unit whose status somebody could ask for. */
        if (!profiler->connected)
                r = status_line_new(profiler->event, &profiler->status_line);
        if (r >= 0)
                r = own_processes_init(&profiler->own);
        if (r == 0)
                r = users_new(&limits, &profiler->users);
        if (r == 0)
                r = disposal_new(profiler->event, profiler->users, &profiler->disposal);
        if (r < 0)
                return r;
        /*
         * Memory is given back some seconds after a burst of calls. malloc(3) itself only returns
         * free memory at the end of its heap, where one small allocation can keep megabytes. A
         * private daemon ends with its caller, and its memory with it.
         */
        if (profiler->connected)
                return 0;
        /* Setting the threshold fixes it: large buffers stay mappings, which free(3) unmaps. */
        (void) mallopt(M_MMAP_THRESHOLD, PROFILER_MMAP_THRESHOLD_BYTES);
        r = timer_new(profiler->event, &profiler->trim_timer, "heap-trim",
                      PROFILER_TRIM_ACCURACY_US, on_trim_timer, profiler);
        if (r < 0)
                return r;
        timer_start(profiler->trim_timer, PROFILER_TRIM_INTERVAL_NS);
        return sd_event_add_post(profiler->event, &profiler->trim_post, on_trim_post, profiler);
}

/* A private daemon has no other users. */
static void tighten_spool(const Profiler *profiler) {
        if (profiler->connected)
                return;
        switch (spool_tighten(profiler->spool)) {
        case SPOOL_ACCESS_PRIVATE:
                break;
        case SPOOL_ACCESS_TIGHTENED:
                log_warning(0, "Other users could open the spool %s: changed its mode to 0700",
                            profiler->spool->path);
                break;
        case SPOOL_ACCESS_SHARED:
                log_warning(0,
                            "Other users can open the spool %s, so they can read all snapshots and "
                            "hold up captures: let its owner change the mode to 0700",
                            profiler->spool->path);
                break;
        }
}

/*
 * The directory was not there at the start, or is another one now: what depends on its file system
 * is found again.
 */
static void on_spool(void *userdata) {
        Profiler *profiler = userdata;

        profiler->manager->settings.spool =
                settings_of_service(profiler->config, profiler->spool->dir_fd).spool;
        tighten_spool(profiler);
}

static int open_spool(Profiler *profiler) {
        const Options *options = profiler->options;
        _cleanup_(freep) char *path = NULL;
        int r = 0;

        if (options->spool_path)
                path = strdup(options->spool_path);
        else
                r = settings_find_spool(profiler->connected, &path);
        if (r == -ENOENT) {
                log_error(0, "There is no home directory for the spool: use --spool DIR");
                return STEP_TOLD;
        }
        if (!path)
                return -ENOMEM;

        /* A private daemon makes its directory; any other runs without a spool if there is none. */
        r = profiler->connected ? directory_make(path) : 0;
        if (r < 0)
                log_warning(r, "Could not make the spool %s", path);
        r = spool_open(path, &profiler->spool);
        if (r == SPOOL_E_UNAVAILABLE)
                log_warning(0, "No snapshots can be kept: %s", profiler->spool->complaint);
        if (r == 0)
                tighten_spool(profiler);
        return r == SPOOL_E_UNAVAILABLE ? 0 : err_fold(r);
}

/* Jobs, the service that starts them, and in front of it the server. */
static int open_service(Profiler *profiler) {
        const ConnectionLimits limits = settings_of_connections(profiler->config);
        Manager setup = {
                .event = profiler->event,
                .users = profiler->users,
                .disposal = profiler->disposal,
                .fd_store = profiler->fd_store,
                .spool = profiler->spool,
                .own = &profiler->own,
                .settings = settings_of_service(profiler->config, profiler->spool->dir_fd),
                .is_private = profiler->connected,
                .on_activity = profiler->connected ? NULL : on_activity,
                .on_spool = on_spool,
                .userdata = profiler,
        };
        int fd, r;

        if (!sandbox_has_filters())
                log_warning(0, "This kernel has no seccomp filters, so jobs run without them");
        fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
        if (fd < 0) {
                log_error(-errno, "Could not open /proc/self/exe, which jobs are started from");
                return STEP_TOLD;
        }
        r = job_pool_new(profiler->event, profiler->users, profiler->disposal, fd, "ctprofd",
                         &profiler->pool);
        if (r < 0) {
                (void) fd_close(fd);
                return r;
        }
        profiler->pool->max_data_bytes = profiler->config->values[SETTING_JOB_MEMORY].number;
        setup.pool = profiler->pool;
        r = service_new(&setup, &profiler->manager);
        if (r < 0)
                return r;
        /* A private daemon does these when a call needs them. */
        if (!profiler->connected) {
                service_load_programs(profiler->manager);
                service_open_spool(profiler->manager);
        }
        r = server_new(profiler->event, profiler->users, profiler->disposal, &limits,
                       &service_events, profiler->manager, &profiler->server);
        if (r < 0)
                return r;
        /* A daemon that was started for one connection ends when that connection ends. */
        profiler->server->ends_empty = profiler->connected;
        profiler->server->own = &profiler->own;
        if (profiler->connected)
                return err_fold(server_adopt(profiler->server, TAKE_FD(profiler->socket_fd)));
        r = server_listen(profiler->server, profiler->socket_fd);
        if (r < 0)
                return r;
        (void) TAKE_FD(profiler->socket_fd);
        return 0;
}

int profiler_run(const Options *options) {
        static int (*const steps[])(Profiler * profiler) = {
                open_socket_and_config,
                open_event_loop,
                open_spool,
                open_service,
        };
        Profiler profiler = {
                .options = options,
                .own = { .fd = -EBADF },
                .socket_fd = -EBADF,
                .config_note = "",
        };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(steps) && r == 0; i++)
                r = steps[i](&profiler);
        if (r < 0)
                log_error(r, "Could not start");
        if (r == STEP_TOLD)
                r = -ECANCELED;
        if (r == 0) {
                /*
                 * The daemon is ready when programs are loaded or refused and it has given up what
                 * loading takes. Calls are served meanwhile, except that captures wait. A host may
                 * need longer for that than a service manager waits by itself.
                 */
                if (profiler.manager->is_loading)
                        (void) sd_notifyf(
                                0, "EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=Loading BPF programs",
                                (LIMIT_LOAD_NS + LIMIT_LOAD_MARGIN_NS) / NSEC_PER_USEC);
                while (r >= 0 && profiler.manager->is_loading &&
                       sd_event_get_state(profiler.event) != SD_EVENT_FINISHED)
                        r = sd_event_run(profiler.event, UINT64_MAX);
                if (!profiler.connected)
                        (void) sd_notifyf(0, "READY=1\nSTATUS=Ready%s", profiler.config_note);
                if (r >= 0)
                        r = sd_event_loop(profiler.event);
                if (r < 0)
                        log_error(r, "The event loop failed");
        }
        if (!profiler.connected)
                (void) sd_notify(0, "STOPPING=1");
        if (profiler.manager)
                service_stop(profiler.manager);
        profiler.server = server_free(profiler.server);
        profiler.manager = service_free(profiler.manager);
        own_processes_done(&profiler.own);
        profiler.pool = job_pool_free(profiler.pool);
        profiler.fd_store = fd_store_free(profiler.fd_store);
        profiler.disposal = disposal_free(profiler.disposal);
        profiler.users = users_free(profiler.users);
        profiler.spool = spool_free(profiler.spool);
        profiler.status_line = status_line_free(profiler.status_line);
        sd_event_source_disable_unref(profiler.trim_post);
        sd_event_source_disable_unref(profiler.trim_timer);
        profiler.event = sd_event_unref(profiler.event);
        profiler.socket_fd = fd_close(profiler.socket_fd);
        profiler.socket_file = socket_file_free(profiler.socket_file);
        profiler.config = config_free(profiler.config);
        return r < 0 ? r : 0;
}
