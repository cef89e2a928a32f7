/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/module.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/cleanup.h"

void modules_done(Modules *modules) {
        for (size_t i = 0; i < modules->n; i++) {
                Module *module = modules->all[i];

                (void) elf_end(module->elf);
                (void) fd_close(module->fd);
                symbol_table_done(&module->symbols);
                free(module->path);
                free(module);
        }
        free(modules->all);
        *modules = (Modules){};
}

/* There are some hundred, and a process asks once for each of its own. */
size_t modules_find(const Modules *modules, uint64_t dev, uint64_t inode, Span path) {
        for (size_t i = 0; i < modules->n; i++)
                if (modules->all[i]->inode == inode && modules->all[i]->dev == dev &&
                    span_is(path, modules->all[i]->path))
                        return i;
        return SIZE_MAX;
}

int modules_add(Modules *modules, uint64_t dev, uint64_t inode, Span path, int fd, size_t *ret) {
        _cleanup_(fd_closep) int owned = fd;
        _cleanup_(freep) Module *module = NULL;
        const void *id;
        ssize_t n;
        int r;

        if (modules->n >= MODULES_MAX)
                return -E2BIG;
        r = ARRAY_RESERVE(modules->all, modules->n_allocated, modules->n + 1);
        if (r != 0)
                return r;
        module = calloc(1, sizeof(*module));
        if (!module)
                return -ENOMEM;
        *module = (Module){ .path = strndup(path.bytes ? path.bytes : "", path.n),
                            .dev = dev,
                            .inode = inode };
        if (!module->path)
                return -ENOMEM;
        if (owned >= 0)
                module->elf = elf_begin(owned, ELF_C_READ, NULL);
        if (module->elf && elf_kind(module->elf) != ELF_K_ELF) {
                (void) elf_end(module->elf);
                module->elf = NULL;
        }
        n = module->elf ? dwelf_elf_gnu_build_id(module->elf, &id) : 0;
        if (n > 0 && (size_t) n <= BUILD_ID_MAX_BYTES)
                for (ssize_t i = 0; i < n; i++)
                        (void) snprintf(module->build_id + 2 * i, 3, "%02x",
                                        ((const unsigned char *) id)[i]);
        module->fd = owned;
        owned = -EBADF;
        *ret = modules->n;
        modules->all[modules->n++] = module;
        module = NULL;
        return 0;
}

int module_find_symbol(Module *module, uint64_t vaddr, const Symbol **ret) {
        int r = 0;

        if (!module->has_symbols) {
                module->has_symbols = true;
                r = module->elf ? symbol_table_add_elf(&module->symbols, module->elf) : 0;
                symbol_table_sort(&module->symbols);
        }
        *ret = symbol_table_find(&module->symbols, vaddr);
        return r;
}
