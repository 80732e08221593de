/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/credentials.h"
#include "own_fd.h"
#include "process/proc.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* Only of a line that is whole: a number that is cut would be another group. */
static void groups_parse(const char *status, struct sw_credentials *c)
{
	static const char key[] = "\nGroups:";
	const char *at = strstr(status, key);
	if (at == NULL || strchr(at + 1, '\n') == NULL)
		return;
	at += strlen(key);
	while (c->n_groups < SW_CREDENTIALS_GROUPS_MAX) {
		at += strspn(at, " \t");
		char *end;
		unsigned long group = strtoul(at, &end, 10);
		if (*at == '\n' || end == at)
			return;
		c->groups[c->n_groups++] = (gid_t) group;
		at = end;
	}
}

/* The effective capabilities of a user other than root may be those of a user namespace, where they are no root's here. */
static bool reads_all(const char *status, uint64_t uid)
{
	static const uint64_t wanted =
		UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH;
	return uid == 0 && (sw_proc_status_capabilities(status) & wanted) != 0;
}

bool sw_credentials_parse(const char *status, struct sw_credentials *ret)
{
	uint64_t uid, gid;
	if (!sw_proc_status_number(status, "Uid", &uid) ||
	    !sw_proc_status_number(status, "Gid", &gid))
		return false;
	*ret = (struct sw_credentials){.uid = (uid_t) uid,
				       .gid = (gid_t) gid,
				       .reads_all = reads_all(status, uid)};
	groups_parse(status, ret);
	return true;
}

static bool in_group(const struct sw_credentials *c, gid_t gid)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (c->groups[i] == gid)
			return true;
	return c->gid == gid;
}

/* The mode of a file with a list does not tell what a user or group that the list names may do: acl(5). */
static bool has_no_list(int fd)
{
	char name[SW_OWN_FD_BYTES];
	sw_own_fd_name(fd, name); /* fgetxattr() takes no O_PATH descriptor */
	return getxattr(name, "system.posix_acl_access", NULL, 0) < 0 &&
	       (errno == ENODATA || errno == EOPNOTSUPP);
}

bool sw_credentials_permit(const struct sw_credentials *c, int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return false;
	if (S_ISLNK(st.st_mode)) {
		errno = ELOOP;
		return st.st_uid == 0 || st.st_uid == c->uid;
	}
	if (c->reads_all)
		return true;
	/* The kernel goes by one of the three, also where another one would permit it: path_resolution(7). */
	const mode_t others = S_ISDIR(st.st_mode) ? S_IXOTH : S_IROTH;
	const bool owns = st.st_uid == c->uid;
	const mode_t wanted = owns ? others << 6 : in_group(c, st.st_gid) ? others << 3 : others;
	if ((st.st_mode & wanted) != 0 && (owns || has_no_list(fd)))
		return true;
	errno = EACCES;
	return false;
}
