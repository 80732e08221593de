/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/service.h"
#include "confine/caps.h"
#include "errors.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

static int become(const char *name, struct sw_error *err)
{
	const struct passwd *user = getpwnam(name);
	if (user == NULL)
		user = getpwnam("nobody");
	if (user == NULL || user->pw_uid == 0)
		return sw_fail(err, SW_E_NOT_FOUND, "there is no user %s or nobody to become",
			       name);
	if (initgroups(user->pw_name, user->pw_gid) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "cannot become %s", user->pw_name);
	return 0;
}

int sw_confine_service(const char *user, struct sw_error *err)
{
	sw_caps_bound(0); /* first: needs a capability that the change of user takes away */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "cannot give up privileges");
	int r = geteuid() == 0 ? become(user, err) : 0;
	if (r == 0)
		r = sw_caps_keep(0, err); /* root's are gone; others may have been given to us */
	if (r < 0)
		return r;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "cannot protect the memory");
	return 0;
}
