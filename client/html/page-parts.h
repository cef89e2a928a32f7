/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Page parts
 *
 * The page without its data, which embed.py makes from the other files of this folder: the text
 * before the data and the text after them.
 */

extern const char html_page_head[];
extern const char html_page_tail[];
