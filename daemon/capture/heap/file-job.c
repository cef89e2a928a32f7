/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/file-job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "job/sandbox/sandbox.h"
#include "helper/helper.h"

/* answering */

static int answer(void *userdata, const HelperCall *call, void *ret, size_t *ret_n) {
        FileAnswer *found = ret;
        struct stat status;
        int r;

        if (call->n_fds != 1)
                return -EINVAL;
        if (call->question >= _FILE_QUESTION_MAX)
                return -EOPNOTSUPP;
        r = sandbox_fstat(call->fds[0], &status);
        if (r < 0)
                return r;
        if (!S_ISREG(status.st_mode))
                return -EBADF;
        *ret_n = file_answer_bytes(call->question);
        return err_fold(call->question == FILE_QUESTION_HEAP_LAYOUT
                                ? heap_layout_find(call->fds[0], (uint64_t) status.st_size,
                                                   &found->HEAP_LAYOUT)
                                : thread_layout_find(call->fds[0], (uint64_t) status.st_size,
                                                     &found->THREAD_LAYOUT));
}

int file_server_run(int socket_fd) {
        const HelperService service = {
                .max_answer_bytes = sizeof(FileAnswer),
                .max_fds = 2, /* one more than there should be, to see that there are too many */
                .answer = answer,
        };

        return helper_serve(socket_fd, &service);
}

/* asking */

struct FileAnswers {
        HeapCache *cache; /* owned */
        int cache_fd;     /* borrowed; negative: none */
        Helper *helper;   /* owned; NULL: no file can be parsed */
};

_Static_assert(sizeof(FileIdentity) == sizeof(HelperTag), "a question is known by its file");

static bool fits(uint32_t question, size_t n) {
        return n == file_answer_bytes(question);
}

int file_answers_new(int cache_fd, int (*open)(void *userdata, int peer_fd), void *userdata,
                     FileAnswers **ret) {
        _cleanup_(file_answers_freep) FileAnswers *answers = calloc(1, sizeof(*answers));
        const HelperTerms terms = {
                .max_answer_bytes = sizeof(FileAnswer),
                .fits = fits,
                .open = open,
                .userdata = userdata,
        };
        int r;

        if (!answers)
                return -ENOMEM;
        answers->cache_fd = cache_fd;
        r = heap_cache_new(&answers->cache);
        if (r == 0 && cache_fd >= 0)
                r = heap_cache_load(answers->cache, cache_fd);
        if (r == 0 && open)
                r = helper_new(&terms, &answers->helper);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(answers);
        return 0;
}

FileAnswers *file_answers_free(FileAnswers *answers) {
        if (!answers)
                return NULL;
        answers->helper = helper_free(answers->helper);
        answers->cache = heap_cache_free(answers->cache);
        free(answers);
        return NULL;
}

static bool is_valid(FileQuestion question, const FileAnswer *found) {
        return question == FILE_QUESTION_HEAP_LAYOUT
                       ? heap_layout_is_valid(&found->HEAP_LAYOUT,
                                              (uint16_t) found->HEAP_LAYOUT.machine)
                       : question == FILE_QUESTION_THREAD_LAYOUT &&
                                 thread_layout_is_valid(&found->THREAD_LAYOUT);
}

/* That a file could not be read may pass. Without memory for an answer it will be asked again. */
static void keep(FileAnswers *answers, FileQuestion question, const FileIdentity *identity,
                 const FileAnswer *found) {
        if (question != FILE_QUESTION_HEAP_LAYOUT ||
            found->HEAP_LAYOUT.verdict != HEAP_FAILURE_FILE_UNREADABLE)
                (void) !heap_cache_put_file(answers->cache, identity, question, found);
}

bool file_answers_find(FileAnswers *answers, FileQuestion question, const FileIdentity *identity,
                       FileAnswer *ret) {
        return heap_cache_find_file(answers->cache, identity, question, ret) &&
               is_valid(question, ret);
}

/* An answer that was late is as good as any, and waited for until @deadline_ns. */
static void collect_late(FileAnswers *answers, uint64_t deadline_ns) {
        FileIdentity identity;
        FileAnswer found;
        uint32_t question;
        HelperTag tag;
        size_t n;

        if (helper_take_late(answers->helper, deadline_ns, &tag, &question, &found, &n) != 0 ||
            !is_valid((FileQuestion) question, &found))
                return;
        memcpy(&identity, &tag, sizeof(identity));
        keep(answers, (FileQuestion) question, &identity, &found);
}

HeapFailure file_answers_ask(FileAnswers *answers, FileQuestion question,
                             const FileIdentity *identity, int fd, uint64_t patience_ns,
                             FileAnswer *ret) {
        HelperQuestion asked = { .question = question, .fd = fd };
        size_t n;
        int r;

        if (!answers->helper)
                return HEAP_FAILURE_FILE_JOB;
        memcpy(&asked.tag, identity, sizeof(asked.tag));
        r = helper_ask(answers->helper, &asked, clock_now_ns(CLOCK_MONOTONIC) + patience_ns, ret,
                       &n);
        collect_late(answers, 0);
        if (r <
            0) /* what the job failed to read the file with; a positive result is of the helper */
                return HEAP_FAILURE_FILE_UNREADABLE;
        if (r == HELPER_E_LATE)
                return HEAP_FAILURE_TIME_BUDGET;
        if (r > 0 || !is_valid(question, ret))
                return HEAP_FAILURE_FILE_JOB;
        keep(answers, question, identity, ret);
        return HEAP_FAILURE_NONE;
}

void file_answers_keep(FileAnswers *answers, uint64_t patience_ns) {
        if (answers->helper)
                collect_late(answers, clock_now_ns(CLOCK_MONOTONIC) + patience_ns);
        /* Without it the next capture looks at every file anew. */
        if (answers->cache_fd >= 0)
                (void) !heap_cache_store(answers->cache, answers->cache_fd);
}
