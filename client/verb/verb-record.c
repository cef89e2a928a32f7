/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#include "base/cleanup.h"
#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "session/command.h"
#include "session/complain.h"
#include "session/output.h"
#include "session/session.h"
#include "verb/verb-capture.h"
#include "verb/verb.h"
#include "wire/message-object.h"

/* A recording, and the command that it is about, if there is one. */
typedef struct Recording {
        Session *session;
        char *const *words; /* of the command; NULL: there is none */
        bool shows_progress;
        bool is_begun; /* the kernel takes samples */
        RunningCommand command;
        CommandResult result;
        int command_fd;     /* of its process; -EBADF: it does not run */
        json_object *reply; /* the last one; owned */
        Output *output;     /* owned; NULL: it is for the spool */
        int file;           /* owned: what is to be written there; -EBADF: it did not come */
} Recording;

/* The recording itself goes there. */
static bool is_stdout(const Options *options) {
        return options->output_path && strcmp(options->output_path, "-") == 0;
}

static int ignore_reply(void *userdata, Connection *connection, json_object *parameters,
                        bool last) {
        return 0;
}

/* The command is over, or the user has had enough. */
static int end_recording(void *userdata) {
        Recording *recording = userdata;
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".EndRecording" },
                /* It has come to its end in the meantime, and its reply is on the way. */
                .tolerated = PROFILER_INTERFACE ".NoRecording",
        };

        if (!recording->is_begun)
                return complain(STATUS_FAILED, "Cancelled.");
        recording->command_fd = fd_close(recording->command_fd);
        if (recording->command.pid > 0)
                command_wait(&recording->command, &recording->result);
        recording->session->progress.enabled = recording->shows_progress;
        (void) session_call_begin(&call);
        return session_call(recording->session, &call, ignore_reply, NULL);
}

/* Runs the command as soon as what it does is recorded. */
static int on_progress(void *userdata, json_object *progress) {
        Recording *recording = userdata;
        Session *session = recording->session;
        int r;

        if (recording->is_begun ||
            !span_is(cell_string(cell_member(progress, "phase")), "recording"))
                return 0;
        recording->is_begun = true;
        if (!recording->words && session->options->for_ns == 0 && session->is_chatty &&
            session->progress.enabled) {
                progress_clear(&session->progress);
                (void) complain(STATUS_DONE, "Ctrl-C ends the recording and keeps it.");
        }
        if (!recording->words)
                return 0;
        /* The terminal is the command's now. */
        progress_clear(&session->progress);
        session->progress.enabled = false;
        r = command_start(recording->words,
                          session->is_machine || is_stdout(session->options) ? COMMAND_STDOUT_STDERR
                                                                             : COMMAND_STDOUT_OURS,
                          &recording->command);
        if (r != 0)
                return r;
        recording->command_fd = pidfd_open(recording->command.pid, 0);
        return recording->command_fd < 0 ? end_recording(recording) : 0;
}

static int on_reply(void *userdata, Connection *connection, json_object *parameters, bool last) {
        Recording *recording = userdata;

        if (last)
                recording->reply = json_object_get(parameters);
        if (last && recording->output)
                recording->file = connection_take_fd(connection, parameters, "fileDescriptor");
        return 0;
}

static int check_options(const Options *options, bool has_command) {
        bool has_size = options_have(options, OPTION_USER_STACK),
             takes_stacks = options->user_stack_bytes > 0 || options->has_frame_pointers;

        if (options_have(options, OPTION_ON_CPU) && options_have(options, OPTION_OFF_CPU))
                return complain(STATUS_USAGE,
                                "--on-cpu and --off-cpu exclude each other: without either, "
                                "running and waiting are recorded.");
        if (options_have(options, OPTION_ON_CPU) && options_have(options, OPTION_WAKERS))
                return complain(STATUS_USAGE,
                                "--wakers is about waits, which --on-cpu leaves out: give either.");
        if (options_have(options, OPTION_STACK_KINDS) && has_size &&
            (options->stack_kinds >= STACK_KINDS_USER) != takes_stacks)
                return complain(STATUS_USAGE,
                                "--stack-kinds and --user-stack contradict each other.");
        if (options_have(options, OPTION_LINES) &&
            ((has_size && !takes_stacks) || (options_have(options, OPTION_STACK_KINDS) &&
                                             options->stack_kinds < STACK_KINDS_USER)))
                return complain(STATUS_USAGE,
                                "--lines is about stacks of user mode, which are left out.");
        if (options_have(options, OPTION_ALL) && (options->given & VERB_FILTER_BITS) != 0)
                return complain(STATUS_USAGE,
                                "--all takes all threads, which no other option can choose among "
                                "then.");
        if (options_have(options, OPTION_USER_THREADS) &&
            options_have(options, OPTION_KERNEL_THREADS))
                return complain(STATUS_USAGE,
                                "--user-threads and --kernel-threads exclude each other: without "
                                "either, samples are taken of both.");
        if (options->cgroup && options->cgroup[0] != '/')
                return complain(STATUS_USAGE,
                                "--cgroup takes a path as in /proc/PID/cgroup, which begins with "
                                "a slash.");
        if (options->max_ns > 0 && options->min_ns > options->max_ns)
                return complain(STATUS_USAGE, "--min is above --max: no wait would be left.");
        if (is_stdout(options) && options->json != JSON_WISH_OFF)
                return complain(STATUS_USAGE,
                                "--output - and --json both want stdout: name a file.");
        if (!options->output_path && options_have(options, OPTION_REPLACE) && !options->tag)
                return complain(STATUS_USAGE,
                                "--replace needs the name to replace: give --tag NAME.");
        if (has_command && options->for_ns > 0)
                return complain(STATUS_USAGE,
                                "--for and COMMAND both say when the recording ends: give either.");
        if (has_command && options->n_hosts > 0)
                return complain(STATUS_USAGE,
                                "\"record\" takes no COMMAND with --host: it runs here, and would "
                                "be recorded there; run ctprofctl there.");
        if (options_have(options, OPTION_LOCAL) && options->for_ns == 0)
                return complain(STATUS_USAGE,
                                "\"record --local\" needs --for TIME: a private ctprofd has one "
                                "connection, and cannot be asked to end what it does.");
        return 0;
}

static void write_numbers(JsonWriter *writer, const char *key, const OptionNumbers *numbers) {
        if (numbers->n == 0)
                return;
        json_write_key(writer, key);
        json_write_array(writer);
        for (size_t i = 0; i < numbers->n; i++)
                json_write_u64(writer, numbers->all[i]);
        json_write_end(writer);
}

/* Without a word of the user a command is recorded with what it starts: that begins below us. */
static void write_filter(JsonWriter *writer, const Options *options, bool has_command) {
        bool is_filtered = (options->given & VERB_FILTER_BITS) != 0;

        if (!is_filtered && (!has_command || options_have(options, OPTION_ALL)))
                return;
        json_write_key(writer, "filter");
        json_write_object(writer);
        if (!is_filtered)
                json_write_member_bool(writer, "descendants", true);
        write_numbers(writer, "pids", &options->pids);
        write_numbers(writer, "uids", &options->uids);
        if (options->comm)
                json_write_member_text(writer, "comm", options->comm);
        if (options->cgroup)
                json_write_member_text(writer, "cgroup", options->cgroup);
        if (options_have(options, OPTION_USER_THREADS))
                json_write_member_text(writer, "threads", "user");
        if (options_have(options, OPTION_KERNEL_THREADS))
                json_write_member_text(writer, "threads", "kernel");
        json_write_end(writer);
}

/* Writes the parameters that the user has given. The daemon chooses the values of all others. */
static void write_parameters(JsonWriter *writer, const Options *options, bool has_command) {
        bool has_kinds = options_have(options, OPTION_STACK_KINDS);
        bool on_cpu = options_have(options, OPTION_ON_CPU);

        if (options->tag)
                json_write_member_text(writer, "tag", options->tag);
        if (options_have(options, OPTION_REPLACE))
                json_write_member_bool(writer, "replace", true);
        if (options->for_ns > 0)
                json_write_member_u64(writer, "forNs", options->for_ns);
        if (options->period_ns > 0)
                json_write_member_u64(writer, "periodNs", options->period_ns);
        if (options->has_frame_pointers)
                json_write_member_bool(writer, "framePointers", true);
        else if (options_have(options, OPTION_USER_STACK))
                json_write_member_u64(writer, "stackBytes", options->user_stack_bytes);
        else if (has_kinds && options->stack_kinds < STACK_KINDS_USER)
                json_write_member_u64(writer, "stackBytes", 0);
        if (has_kinds)
                json_write_member_bool(writer, "kernelStacks",
                                       options->stack_kinds == STACK_KINDS_KERNEL ||
                                               options->stack_kinds == STACK_KINDS_BOTH);
        if (on_cpu || options_have(options, OPTION_OFF_CPU)) {
                json_write_member_bool(writer, "onCpu", on_cpu);
                json_write_member_bool(writer, "offCpu", !on_cpu);
        }
        if (options_have(options, OPTION_WAKERS))
                json_write_member_bool(writer, "wakers", true);
        if (options_have(options, OPTION_LINES))
                json_write_member_bool(writer, "lines", true);
        if (options->min_ns > 0)
                json_write_member_u64(writer, "minNs", options->min_ns);
        if (options->max_ns > 0)
                json_write_member_u64(writer, "maxNs", options->max_ns);
        if (options->every_ns > 0)
                json_write_member_u64(writer, "everyNs", options->every_ns);
        write_filter(writer, options, has_command);
        if (options->output_path)
                json_write_member_bool(writer, "anonymous", true);
}

static int keep(Recording *recording) {
        int r;

        if (!recording->output)
                return 0;
        if (recording->file < 0)
                return complain(STATUS_FAILED, "ctprofd did not send the file.");
        r = output_copy(recording->output, recording->file);
        return r == 0 ? output_publish(recording->output) : r;
}

static int tell(const Recording *recording) {
        Session *session = recording->session;
        const char *path = session->options->output_path;
        bool to_stdout = is_stdout(session->options);

        return session->json != JSON_STYLE_OFF
                       ? print_capture_json(session, recording->reply)
                       : print_capture(session, recording->reply, to_stdout ? stderr : stdout,
                                       to_stdout ? "stdout" : path);
}

int verb_record(Session *session) {
        const Options *options = session->options;
        Recording recording = {
                .session = session,
                .words = options->n_arguments > 1 ? options->arguments + 1 : NULL,
                .shows_progress = session->progress.enabled,
                .command_fd = -EBADF,
                .file = -EBADF,
        };
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Record",
                             .more = true,
                             .stoppable =
                                     options->for_ns == 0 || !options_have(options, OPTION_LOCAL),
                             .watched_fd = &recording.command_fd },
                .subject = options->tag,
                .taken_hint = "choose another, or give --replace",
                .on_progress = on_progress,
                .on_stop = end_recording,
        };
        int r;

        r = check_options(options, recording.words != NULL);
        if (r == 0 && recording.words)
                r = command_check(recording.words[0]);
        /* Open the output first: what cannot be written is not worth recording. */
        if (r == 0 && options->output_path)
                r = output_open(options->output_path, OUTPUT_REPLACE, &recording.output);
        if (r != 0)
                return r;
        write_parameters(session_call_begin(&call), options, recording.words != NULL);
        r = session_call(session, &call, on_reply, &recording);
        recording.command_fd = fd_close(recording.command_fd);
        /* A recording has an end of its own, which comes before that of a long command. */
        if (recording.command.pid > 0)
                command_wait(&recording.command, &recording.result);
        if (r == 0)
                r = keep(&recording);
        if (r == 0)
                r = tell(&recording);
        recording.file = fd_close(recording.file);
        recording.output = output_free(recording.output);
        (void) json_object_put(recording.reply);
        return r == 0 && recording.words ? command_status(&recording.result) : r;
}
