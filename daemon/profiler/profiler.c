/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/profiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "base/err.h"
#include "job/workshop.h"
#include "log/log.h"
#include "profiler/socket-file.h"
#include "profiler/spool-path.h"
#include "server/listener.h"
#include "server/server.h"
#include "service/service.h"
#include "spool/spool.h"
#include "wire/limits.h"

#define PROFILER_SOCKET_NAME "varlink"

/* Every connection with every descriptor it may send at once, and what the daemon itself needs. */
#define PROFILER_DESCRIPTORS (LIMIT_CONNECTIONS * (LIMIT_FDS_PER_CALL + 2u) + 512u)

typedef struct Profiler {
        sd_event *event;
        Spool *spool;
        Workshop *workshop;
        Service *service;
        Server *server;
        Listener *listener;
        SocketFile *socket_file;
        int socket_fd;  /* from whoever started us, until it is adopted */
        bool connected; /* ... and it is the one connection to serve */
} Profiler;

/* events */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Profiler *profiler = userdata;

        log_debug("Stopping on signal %u", info->ssi_signo);
        (void) sd_event_exit(profiler->event, 0);
        return 0;
}

/* Started for one connection: the end of it is the end of the work. */
static void on_last_connection(void *userdata) {
        Profiler *profiler = userdata;

        if (profiler->connected)
                (void) sd_event_exit(profiler->event, 0);
}

static void on_activity(unsigned n_running, unsigned n_waiting, void *userdata) {
        const Profiler *profiler = userdata;

        if (!profiler->connected)
                (void) sd_notifyf(0, "STATUS=%u jobs running, %u waiting", n_running, n_waiting);
}

/* putting together */

/* The socket that was handed over: listening, or connected as for varlink's "exec:" addresses. */
static int find_socket(Profiler *profiler) {
        _cleanup_(freep) char **names = NULL;
        int n, found = -EBADF;

        n = sd_listen_fds_with_names(1, &names);
        if (n < 0) {
                log_error(n, "Could not take over the socket");
                return n;
        }
        for (int i = 0; i < n; i++) {
                if (strcmp(names[i], PROFILER_SOCKET_NAME) == 0 && found < 0)
                        found = SD_LISTEN_FDS_START + i;
                free(names[i]);
        }
        if (found < 0) {
                log_error(0,
                          "No socket named \"%s\" was handed over: start ctprofd.socket, or use "
                          "--listen PATH",
                          PROFILER_SOCKET_NAME);
                return -ENOTCONN;
        }
        if (sd_is_socket(found, AF_UNIX, SOCK_STREAM, -1) <= 0) {
                log_error(0, "The socket that was handed over is no stream socket of this host");
                return -EPROTOTYPE;
        }
        profiler->socket_fd = found;
        profiler->connected = sd_is_socket(found, AF_UNIX, SOCK_STREAM, 0) > 0;
        return 0;
}

static int make_socket(Profiler *profiler, const char *path) {
        int r;

        r = socket_file_new(path, &profiler->socket_file, &profiler->socket_fd);
        if (r == SOCKET_FILE_E_IN_USE)
                log_error(0, "Somebody listens at %s already", path);
        else if (r == SOCKET_FILE_E_TOO_LONG)
                log_error(0, "The path %s is too long for a socket", path);
        else if (r < 0)
                log_error(r, "Could not listen at %s", path);
        return r > 0 ? -EADDRINUSE : r;
}

static int open_event_loop(Profiler *profiler) {
        static const int stop_signals[] = { SIGTERM, SIGINT, SIGHUP };
        sigset_t blocked;
        int r;

        r = sd_event_new(&profiler->event);
        if (r < 0)
                return r;
        (void) sigemptyset(&blocked);
        for (size_t i = 0; i < ELEMENTSOF(stop_signals); i++)
                (void) sigaddset(&blocked, stop_signals[i]);
        if (sigprocmask(SIG_BLOCK, &blocked, NULL) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(stop_signals); i++) {
                r = sd_event_add_signal(profiler->event, NULL, stop_signals[i], on_signal,
                                        profiler);
                if (r < 0)
                        return r;
        }
        /* Without $WATCHDOG_USEC this does nothing. */
        r = sd_event_set_watchdog(profiler->event, !profiler->connected);
        return r < 0 ? r : 0;
}

static int open_spool(Profiler *profiler, const Options *options) {
        _cleanup_(freep) char *path = NULL;
        int r = 0;

        if (options->spool_path)
                path = strdup(options->spool_path);
        else
                r = profiler->connected ? spool_path_private(&path) : spool_path_system(&path);
        if (r == -ENOENT) {
                log_error(0, "There is no home directory for the spool: use --spool DIR");
                return r;
        }
        if (!path)
                return -ENOMEM;

        /* A private daemon is at home there; any other finds a directory, or does without. */
        r = profiler->connected ? spool_path_make(path) : 0;
        if (r < 0)
                log_warning(r, "Could not make the spool %s", path);
        r = spool_open(path, &profiler->spool);
        if (r == SPOOL_E_UNAVAILABLE)
                log_warning(0, "No snapshots can be kept: %s", spool_complaint(profiler->spool));
        return r == SPOOL_E_UNAVAILABLE ? 0 : err_fold(r);
}

static SpoolLimits choose_limits(const Profiler *profiler, const Options *options) {
        SpoolLimits limits = spool_default_limits(spool_dir_fd(profiler->spool));

        if (options->has_max_bytes)
                limits.max_bytes = options->max_bytes;
        if (options->has_keep_free_bytes)
                limits.keep_free_bytes = options->keep_free_bytes;
        if (options->has_max_age)
                limits.max_age_ns = options->max_age_ns;
        return limits;
}

static int open_workshop(Profiler *profiler) {
        int fd, r;

        fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = workshop_new(profiler->event, fd, "ctprofd", &profiler->workshop);
        if (r < 0)
                (void) fd_close(fd);
        return r;
}

static int open_service(Profiler *profiler, const Options *options) {
        const ServiceSetup setup = {
                .event = profiler->event,
                .workshop = profiler->workshop,
                .spool = profiler->spool,
                .limits = choose_limits(profiler, options),
                .on_activity = on_activity,
                .userdata = profiler,
        };
        int r;

        r = service_new(&setup, &profiler->service);
        if (r < 0 || profiler->connected)
                return r; /* a private daemon cleans when it is about to add something */
        return service_clean_spool(profiler->service);
}

static int open_server(Profiler *profiler) {
        const ServerLimits limits = server_default_limits();
        int r;

        r = server_new(profiler->event, &limits, &service_events, profiler->service,
                       &profiler->server);
        if (r < 0)
                return r;
        server_watch_empty(profiler->server, on_last_connection, profiler);
        if (profiler->connected)
                return err_fold(server_adopt(profiler->server, TAKE_FD(profiler->socket_fd)));
        r = listener_new(profiler->event, profiler->socket_fd, profiler->server,
                         &profiler->listener);
        if (r == 0)
                (void) TAKE_FD(profiler->socket_fd);
        return r;
}

static int open_all(Profiler *profiler, const Options *options) {
        int r;

        r = open_event_loop(profiler);
        if (r == 0)
                r = open_spool(profiler, options);
        if (r == 0)
                r = open_workshop(profiler);
        if (r == 0)
                r = open_service(profiler, options);
        if (r == 0)
                r = open_server(profiler);
        if (r < 0)
                log_error(r, "Could not start");
        return r;
}

/* taking apart */

static void profiler_done(Profiler *profiler) {
        profiler->listener = listener_free(profiler->listener);
        if (profiler->service)
                service_stop(profiler->service);
        profiler->server = server_free(profiler->server);
        profiler->service = service_free(profiler->service);
        profiler->workshop = workshop_free(profiler->workshop);
        profiler->spool = spool_free(profiler->spool);
        profiler->event = sd_event_unref(profiler->event);
        profiler->socket_fd = fd_close(profiler->socket_fd);
        profiler->socket_file = socket_file_free(profiler->socket_file);
}

/* The soft limit is for programs with select(2); connections may bring descriptors. */
static void raise_descriptor_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        if (limit.rlim_cur >= PROFILER_DESCRIPTORS)
                return;
        limit.rlim_cur = MIN_OF(limit.rlim_max, (rlim_t) PROFILER_DESCRIPTORS);
        (void) setrlimit(RLIMIT_NOFILE, &limit);
}

int profiler_run(const Options *options) {
        Profiler profiler = { .socket_fd = -EBADF };
        int r;

        r = options->listen_path ? make_socket(&profiler, options->listen_path)
                                 : find_socket(&profiler);
        /* For one command only what went wrong is worth a line. */
        log_open(profiler.connected ? LOG_WARNING : LOG_INFO);
        raise_descriptor_limit();
        if (r == 0)
                r = open_all(&profiler, options);
        if (r == 0) {
                if (!profiler.connected)
                        (void) sd_notify(0, "READY=1\nSTATUS=Ready");
                r = sd_event_loop(profiler.event);
                if (r < 0)
                        log_error(r, "The event loop failed");
        }
        if (!profiler.connected)
                (void) sd_notify(0, "STOPPING=1");
        profiler_done(&profiler);
        return r < 0 ? r : 0;
}
