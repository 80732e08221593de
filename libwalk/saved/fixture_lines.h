/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FIXTURE_LINES_H
#define SW_FIXTURE_LINES_H

#include "saved/fixture_save.h"

/* The lines of a fixture that describe the snapshot itself. */

/* Lines of saved/fixture_lines.c. */
void sw_fixture_save_process(struct sw_fixture_saver *s);
void sw_fixture_save_maps(struct sw_fixture_saver *s);
void sw_fixture_save_warnings(struct sw_fixture_saver *s);
/* The following lines write their memory, too; false with errno. */
bool sw_fixture_save_ranges(struct sw_fixture_saver *s);
bool sw_fixture_save_threads(struct sw_fixture_saver *s);

#endif
