/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FIXTURE_FILES_H
#define SW_FIXTURE_FILES_H

#include "saved/fixture_save.h"

/* Copies of files, and their lines, saved/fixture_files.c; false with errno. */
bool sw_fixture_save_places(struct sw_fixture_saver *s);
bool sw_fixture_save_side_files(struct sw_fixture_saver *s);

#endif
