/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/sampled_files.h"
#include "cleanup.h"
#include "run/owner_files.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { STATUS_MAX = 64 * 1024, NOBODY = 65534 };

/* The command samples once. */
static struct {
	struct sw_owner_files reader;
	unsigned uid, gid; /* real ones */
	bool known, several;
} files = {.reader.fd = -EBADF};

/* Name: is the first line, and a newline in it is written as \n: no name can pretend to be a line. */
static bool ids_read(pid_t pid, unsigned *ret_uid, unsigned *ret_gid)
{
	char path[32];
	sw_cleanup(sw_text_deinit) struct sw_text status = {0};
	(void) snprintf(path, sizeof(path), "/proc/%d/status", (int) pid); /* fits */
	if (sw_text_read_at(&status, AT_FDCWD, path, STATUS_MAX) < 0 || status.size == 0)
		return false;
	const char *uid = strstr(status.data, "\nUid:"), *gid = strstr(status.data, "\nGid:");
	return uid != NULL && gid != NULL && sscanf(uid, "\nUid: %u", ret_uid) == 1 &&
	       sscanf(gid, "\nGid: %u", ret_gid) == 1;
}

void sw_sampled_files_of(pid_t pid)
{
	unsigned uid, gid;
	if (!ids_read(pid, &uid, &gid) || (files.known && (uid != files.uid || gid != files.gid)))
		files.several = true;
	else {
		files.uid = uid;
		files.gid = gid;
		files.known = true;
	}
}

void sw_sampled_files_use(const struct sw_options *options, struct sw_symbolize_options *symbolize)
{
	if (options->no_sandbox)
		return;
	symbolize->dwo_read = sw_owner_files_read_dwo;
	symbolize->dwo_arg = &files.reader;
	symbolize->may_read = sw_owner_files_may_open;
	symbolize->may_read_arg = &files.reader;
}

void sw_sampled_files_begin(const struct sw_options *options)
{
	bool one = files.known && !files.several;
	const struct sw_owner_files_user user = {.uid = one ? files.uid : NOBODY,
						 .gid = one ? files.gid : NOBODY,
						 .opens = true};
	if (options->symbolize.level != SW_SYMBOLS_NONE && files.reader.fd < 0)
		sw_owner_files_start(&files.reader, &user);
}
