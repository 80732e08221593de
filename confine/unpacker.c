/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/unpacker.h"
#include "confine/caps.h"
#include "confine/landlock.h"
#include "confine/seccomp.h"
#include "errors.h"

#include <sys/prctl.h>
#include <sys/stat.h>

int sw_confine_unpacker(const char *const *from, size_t n, const char *directory,
			struct sw_error *err)
{
	struct sw_landlock_path paths[SW_UNPACKER_FROM_MAX + 1] = {
		{.path = directory, .access = SW_LANDLOCK_WRITE},
	};
	if (n > SW_UNPACKER_FROM_MAX)
		return sw_fail(err, SW_E_LIMIT, "there are too many directories");
	for (size_t i = 0; i < n; i++)
		paths[i + 1] =
			(struct sw_landlock_path){.path = from[i], .access = SW_LANDLOCK_READ};
	(void) umask(S_IWGRP | S_IWOTH); /* others may read what root's debug files say */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot give up new privileges");
	int r = sw_landlock_enter(paths, n + 1, err);
	if (r >= 0)
		r = sw_caps_keep(0, err);
	return r < 0 ? r : sw_seccomp_parser(SW_SECCOMP_FILES, err);
}
