/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The smallest scheduler there can be: it decides nothing, and the kernel's own queue does the
 * work. Only the members that are set need to be known: the loader matches them by name with the
 * kernel's.
 */

#define SECTION(name) __attribute__((section(name), used))

struct sched_ext_ops {
        unsigned int timeout_ms;
        char name[128];
};

char _license[] SECTION("license") = "GPL";

SECTION(".struct_ops.link")
struct sched_ext_ops minimal = {
        .timeout_ms = 20000,
        .name = "minimal",
};
