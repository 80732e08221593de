/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/unpacker.h"
#include "confine/caps.h"
#include "confine/landlock.h"
#include "confine/seccomp.h"
#include "errors.h"

#include <sys/prctl.h>
#include <sys/stat.h>

int sw_confine_unpacker(const char *debug_dir, const char *directory, struct sw_error *err)
{
	const struct sw_landlock_path paths[] = {
		{.path = debug_dir, .access = SW_LANDLOCK_READ},
		{.path = directory, .access = SW_LANDLOCK_WRITE},
	};
	(void) umask(S_IWGRP | S_IWOTH); /* others may read what root's debug files say */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot give up new privileges");
	int r = sw_landlock_enter(paths, sizeof(paths) / sizeof(paths[0]), err);
	if (r >= 0)
		r = sw_caps_keep(0, err);
	return r < 0 ? r : sw_seccomp_parser(SW_SECCOMP_FILES, err);
}
