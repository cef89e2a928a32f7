/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file/file-question.h"

#include "base/macro.h"

size_t file_answer_bytes(uint32_t question) {
        static const size_t lengths[_FILE_QUESTION_MAX] = {
#define FILE_ANSWER_LENGTH(id, type, find) [FILE_QUESTION_##id] = sizeof(type),
                FILE_QUESTIONS(FILE_ANSWER_LENGTH)
#undef FILE_ANSWER_LENGTH
        };

        return question < ELEMENTSOF(lengths) ? lengths[question] : 0;
}
