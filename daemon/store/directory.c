/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files in the store's directory when it is opened: anybody's, of which only ours count. */
#include "store/directory.h"
#include "store/pins.h"
#include "cleanup.h"
#include "errors.h"
#include "bytes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { SCAN_MAX = 100000 }; /* names looked at */

void sw_store_name_print(char name[SW_STORE_NAME_BYTES], const char *prefix, const char *id)
{
	/* Ids are checked: fits. */
	(void) snprintf(name, SW_STORE_NAME_BYTES, "%s%s%s", prefix, id, SW_STORE_SUFFIX);
}

int sw_store_file_open(const struct sw_store *store, const char *name, struct stat *ret_stat)
{
	sw_cleanup(sw_close_p) int fd =
		openat(store->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret_stat) < 0)
		return -1;
	if (!S_ISREG(ret_stat->st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return sw_take_fd(fd);
}

bool sw_store_drop(struct sw_store *store, size_t at)
{
	char name[SW_STORE_NAME_BYTES];
	const struct sw_store_entry *entry = &store->index.heads[at]->entry;
	if (entry->pinned && !sw_store_pin_remove(store, entry->id))
		return false;
	sw_store_name_print(name, "", entry->id);
	if (unlinkat(store->dir_fd, name, 0) < 0 && errno != ENOENT)
		return false;
	sw_store_index_remove(&store->index, at);
	return true;
}

/* The id in "ID.json.zst". */
static bool name_parse(const char *name, char id[SW_STORE_ID_MAX + 1])
{
	size_t length = strlen(name), suffix = strlen(SW_STORE_SUFFIX);
	if (length <= suffix || length - suffix > SW_STORE_ID_MAX ||
	    strcmp(name + length - suffix, SW_STORE_SUFFIX) != 0)
		return false;
	memcpy(id, name, length - suffix);
	id[length - suffix] = '\0';
	return sw_store_id_valid(id);
}

/* 0 also when the file is not ours, which is left alone. buffer: 8 + SW_STORE_HEAD_MAX. */
static int scan_file(struct sw_store *store, const char *name, char *buffer)
{
	char id[SW_STORE_ID_MAX + 1];
	struct stat st;
	if (!name_parse(name, id))
		return 0;
	sw_cleanup(sw_close_p) int fd = sw_store_file_open(store, name, &st);
	if (fd < 0)
		return 0;
	if (st.st_size == 0) {                           /* a power cut */
		(void) unlinkat(store->dir_fd, name, 0); /* of no use to anybody, in nobody's way */
		return 0;
	}
	size_t n = sw_pread(fd, buffer, SW_STORE_FRAME_BYTES + SW_STORE_HEAD_MAX, 0);
	sw_cleanup(sw_store_head_free_p) struct sw_store_head *head = calloc(1, sizeof(*head));
	if (head == NULL || sw_store_index_reserve(&store->index) < 0)
		return -SW_E_NOMEM;
	int rc = sw_store_head_parse(buffer, n, head, NULL);
	if (rc == -SW_E_NOMEM)
		return rc;
	if (rc < 0 || strcmp(head->entry.id, id) != 0)
		return 0;
	head->entry.file_bytes = (uint64_t) st.st_size;
	sw_store_index_insert(&store->index, sw_take_ptr(head));
	return 0;
}

int sw_store_scan(struct sw_store *store, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *buffer = malloc(SW_STORE_FRAME_BYTES + SW_STORE_HEAD_MAX);
	sw_cleanup(sw_close_p) int fd =
		openat(store->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", store->path);
	sw_cleanup(sw_closedir_p) DIR *dir = fdopendir(fd);
	if (dir == NULL || buffer == NULL)
		return sw_fail_nomem(err);
	(void) sw_take_fd(fd); /* the DIR's now */
	const struct dirent *entry;
	for (int i = 0; i < SCAN_MAX && (entry = readdir(dir)) != NULL; i++) {
		if (strncmp(entry->d_name, SW_STORE_TEMPORARY, strlen(SW_STORE_TEMPORARY)) == 0)
			/* Left by a daemon that was killed; there is only one at a time. */
			(void) unlinkat(store->dir_fd, entry->d_name, 0);
		else if (scan_file(store, entry->d_name, buffer) < 0)
			return sw_fail_nomem(err);
	}
	return 0;
}
