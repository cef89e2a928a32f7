/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Page parts
 *
 * The page without its data, made by embed.py from the files beside this one: what is written
 * before the data and what is written behind.
 */

extern const char html_page_head[];
extern const char html_page_tail[];
