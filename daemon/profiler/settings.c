/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/settings.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log/log.h"

#define SETTINGS_FILE "ctprofd.conf"
#define SETTINGS_WRONG_ID "6ed4d4cb364a43fc8ee07b298455f823"

/* The files of the administrator, the files that last until the next boot, the package's files. */
static const char *const directories[] = {
        CTPROF_SYSCONFDIR "/ctprof",
        "/run/ctprof",
        CTPROF_VENDORDIR "/ctprof",
};

static const char *const option_names[_SETTING_MAX] = {
        [SETTING_MAX_BYTES] = "--max-bytes",
        [SETTING_KEEP_FREE] = "--keep-free",
        [SETTING_MAX_AGE] = "--max-age",
};

/* @text quotes the file, which may contain control characters. */
static void on_fault(ConfigFault fault, const char *text, void *userdata) {
        const LogEvent event = { .message_id = SETTINGS_WRONG_ID, .uid = LOG_NO_UID };
        char line[CONFIG_COMPLAINT_BYTES];
        size_t n = 0;

        for (; n < sizeof(line) - 1 && text[n]; n++)
                line[n] = (unsigned char) text[n] < ' ' || text[n] == '\x7f' ? '?' : text[n];
        line[n] = '\0';
        log_write(LOG_WARNING, 0, &event, "%s", line);
}

static const ConfigListener listener = { .on_fault = on_fault };

int settings_load(const Options *options, bool is_private, Config **ret) {
        _cleanup_(config_freep) Config *config = NULL;
        bool wrong;
        int r;

        r = config_new(&config);
        if (r == 0 && options->config_path)
                r = config_load_file(config, options->config_path, &listener);
        else if (r == 0 && !is_private)
                r = config_load(config, directories, ELEMENTSOF(directories), SETTINGS_FILE,
                                &listener);
        wrong = r == CONFIG_E_WRONG;
        for (unsigned id = 0; id < _SETTING_MAX && r >= 0; id++) {
                if (!options->settings[id])
                        continue;
                r = config_set(config, (SettingId) id, span_of(options->settings[id]),
                               option_names[id], &listener);
                wrong |= r == CONFIG_E_WRONG;
        }
        if (r < 0) {
                log_error(r, "Could not read the configuration %s",
                          options->config_path ? options->config_path : SETTINGS_FILE);
                return r;
        }
        *ret = TAKE_PTR(config);
        return wrong ? SETTINGS_E_WRONG : SETTINGS_OK;
}

ManagerSettings settings_of_service(const Config *config, int spool_fd) {
        uint64_t max_bytes = config->values[SETTING_MAX_BYTES].number;
        uint64_t max_age_ns = config->values[SETTING_MAX_AGE].number;
        ManagerSettings settings = {
                .spool = spool_default_limits(spool_fd),
                .backend = (BackendChoice) config->values[SETTING_BACKEND].number,
                .loading_threads = LIMIT_LOADING_THREADS,
                .exits = (ExitChoice) config->values[SETTING_EXIT_ACCOUNTING].number,
                .counts_waits = config->values[SETTING_WAIT_ACCOUNTING].number != 0,
                .reasons_ns = config->values[SETTING_WAIT_REASONS].number,
                .smaps = (SmapsMode) config->values[SETTING_SMAPS].number,
                .smaps_max_rss_bytes = config->values[SETTING_SMAPS_MAX_RSS].number,
                .smaps_max_processes = config->values[SETTING_SMAPS_MAX_PROCESSES].number,
                .smaps_ns = config->values[SETTING_SMAPS_TIME].number,
                .heap = config->values[SETTING_HEAP].number != 0,
                .commands = (CommandLines) config->values[SETTING_COMMANDS].number,
                .heap_ns = config->values[SETTING_HEAP_TIME].number,
                .capture_ns = config->values[SETTING_CAPTURE_TIME].number,
                .analysis_ns = config->values[SETTING_ANALYSIS_TIME].number,
                .recording_ns = config->values[SETTING_RECORDING_TIME].number,
                .recording_bytes = config->values[SETTING_RECORDING_BYTES].number,
        };

        /* These two are switched off by 0 and by "infinity". */
        if (config->values[SETTING_MAX_BYTES].origin)
                settings.spool.max_bytes = max_bytes == QUANTITY_INFINITY ? 0 : max_bytes;
        settings.spool.max_age_ns = max_age_ns == QUANTITY_INFINITY ? 0 : max_age_ns;
        if (config->values[SETTING_KEEP_FREE].origin)
                settings.spool.keep_free_bytes = config->values[SETTING_KEEP_FREE].number;
        settings.spool.max_snapshots = config->values[SETTING_SNAPSHOTS].number;
        settings.spool.max_snapshots_per_uid = config->values[SETTING_SNAPSHOTS_PER_USER].number;
        return settings;
}

UserLimits settings_of_users(const Config *config) {
        static const struct {
                Use use;
                SettingId of_user, of_all;
        } rows[] = {
                { USE_CONNECTIONS, SETTING_CONNECTIONS_PER_USER, SETTING_CONNECTIONS },
                { USE_BYTES, SETTING_BYTES_PER_USER, SETTING_BYTES },
                { USE_WAITING + QUEUE_ADDING, SETTING_CAPTURES_WAITING_PER_USER,
                  SETTING_CAPTURES_WAITING },
                { USE_WAITING + QUEUE_READING, SETTING_ANALYSES_WAITING_PER_USER,
                  SETTING_ANALYSES_WAITING },
                { USE_WAITING + QUEUE_CHANGING, SETTING_ANALYSES_WAITING_PER_USER,
                  SETTING_ANALYSES_WAITING },
                { USE_WAITING + QUEUE_SURVEYING, SETTING_ANALYSES_WAITING_PER_USER,
                  SETTING_ANALYSES_WAITING },
                { USE_WAITING + QUEUE_LOADING, SETTING_ANALYSES_WAITING_PER_USER,
                  SETTING_ANALYSES_WAITING },
        };
        UserLimits limits = user_default_limits(config->values[SETTING_ANALYSES].number);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                limits.of_user[rows[i].use] = config->values[rows[i].of_user].number;
                limits.of_all[rows[i].use] = config->values[rows[i].of_all].number;
        }
        return limits;
}

ConnectionLimits settings_of_connections(const Config *config) {
        ConnectionLimits limits = server_default_limits();

        limits.idle_ns = config->values[SETTING_IDLE_TIME].number;
        limits.stalled_ns = config->values[SETTING_STALLED_TIME].number;
        return limits;
}

int settings_dump(const Options *options) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(buffer_done) Buffer text = {};
        int result, r;

        result = settings_load(options, false, &config);
        if (result < 0)
                return result;
        r = config_dump(config, &text);
        if (r == 0 && (fwrite(text.bytes, 1, text.n, stdout) != text.n || fflush(stdout) != 0))
                r = -EIO;
        if (r < 0) {
                log_error(r, "Could not show the configuration");
                return r;
        }
        return result;
}

int settings_find_spool(bool is_private, char **ret) {
        const char *given = getenv("STATE_DIRECTORY");
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        const struct passwd *user;

        if (!is_private) {
                /* systemd separates several directories by colons; the unit has one. */
                *ret = given && given[0] == '/' ? strndup(given, strcspn(given, ":"))
                                                : strdup(SETTINGS_SYSTEM_SPOOL);
                return *ret ? 0 : -ENOMEM;
        }
        /* The XDG specification says to ignore relative paths. */
        if (state && state[0] == '/')
                return asprintf(ret, "%s/ctprof", state) < 0 ? -ENOMEM : 0;
        if (!home || home[0] != '/') {
                user = getpwuid(geteuid());
                home = user ? user->pw_dir : NULL;
        }
        if (!home || home[0] != '/')
                return -ENOENT;
        return asprintf(ret, "%s/.local/state/ctprof", home) < 0 ? -ENOMEM : 0;
}
