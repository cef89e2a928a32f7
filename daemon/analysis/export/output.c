/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/export/output.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"

#define DRAIN_BYTES (128 * 1024)
#define OUTPUT_ZSTD_LEVEL 3

int output_new(int fd, OutputForm form, Output **ret) {
        _cleanup_(output_freep) Output *output = NULL;

        output = malloc(sizeof(*output));
        if (!output)
                return -ENOMEM;
        *output = (Output){ .fd = fd };
        if (form == OUTPUT_ZSTD) {
                output->n_space = ZSTD_CStreamOutSize();
                output->space = malloc(output->n_space);
                output->zstd = ZSTD_createCCtx();
                if (!output->space || !output->zstd)
                        return -ENOMEM;
                if (ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel,
                                                        OUTPUT_ZSTD_LEVEL)) ||
                    ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1)))
                        return -EOPNOTSUPP;
        }
        *ret = TAKE_PTR(output);
        return 0;
}

Output *output_free(Output *output) {
        if (!output)
                return NULL;
        (void) ZSTD_freeCCtx(output->zstd);
        free(output->space);
        buffer_done(&output->buffer);
        free(output);
        return NULL;
}

int output_drain(Output *output, bool is_end) {
        ZSTD_EndDirective directive = is_end ? ZSTD_e_end : ZSTD_e_continue;
        ZSTD_inBuffer in = { output->buffer.bytes, output->buffer.n, 0 };
        size_t left = 0;
        int r = 0;

        if (!is_end && output->buffer.n < DRAIN_BYTES)
                return 0;
        if (!output->zstd)
                r = file_write(output->fd, output->buffer.bytes, output->buffer.n);
        else
                do {
                        ZSTD_outBuffer out = { output->space, output->n_space, 0 };

                        left = ZSTD_compressStream2(output->zstd, &out, &in, directive);
                        if (ZSTD_isError(left))
                                return -ENOMEM;
                        r = file_write(output->fd, output->space, out.pos);
                } while (r == 0 && (in.pos < in.size || (is_end && left > 0)));
        if (r == 0)
                buffer_clear(&output->buffer);
        return r;
}
