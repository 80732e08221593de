/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/side_file.h"
#include "cleanup.h"
#include "snapshot/snapshot.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { READ_BYTES = 8 << 20 };

struct side_file {
	const char *name; /* the snapshot's arena's */
	int fd;           /* owned */
	bool was_read;
	struct sw_file_copy copy;
};

struct sw_side_files {
	struct side_file files[SW_SIDE_FILES_MAX];
	size_t n;
	struct {
		const char *name, *why; /* static */
	} refused[SW_SIDE_FILES_MAX];
	size_t n_refused;
};

static struct sw_side_files *files_of(struct sw_snapshot_priv *priv)
{
	if (priv->side == NULL)
		priv->side = calloc(1, sizeof(*priv->side));
	return priv->side;
}

int sw_side_file_keep(struct sw_snapshot *snap, const char *name, int fd)
{
	sw_cleanup(sw_close_p) int owned_fd = fd;
	struct sw_side_files *files = files_of(snap->priv);
	struct stat st;
	if (files == NULL)
		return -SW_E_NOMEM;
	if (files->n == SW_SIDE_FILES_MAX) {
		sw_snapshot_note_limit(snap, "files beside the process after the 256th, of which "
					     "names come, were left out");
		return -SW_E_LIMIT;
	}
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -SW_E_FORMAT;
	const char *kept = sw_arena_strdup(&snap->priv->arena, name);
	if (kept == NULL)
		return -SW_E_NOMEM;
	files->files[files->n++] = (struct side_file){.name = kept, .fd = sw_take_fd(owned_fd)};
	return 0;
}

void sw_side_file_refuse(struct sw_snapshot *snap, const char *name, const char *why)
{
	struct sw_side_files *files = files_of(snap->priv);
	if (files == NULL || files->n_refused == SW_SIDE_FILES_MAX)
		return; /* it only explains */
	files->refused[files->n_refused].name = name;
	files->refused[files->n_refused++].why = why;
}

const char *sw_side_file_refused(const struct sw_snapshot *snap, const char *name)
{
	const struct sw_side_files *files = snap->priv->side;
	for (size_t i = 0; files != NULL && i < files->n_refused; i++)
		if (strcmp(files->refused[i].name, name) == 0)
			return files->refused[i].why;
	return NULL;
}

/* Less than wanted where address space is limited: the end of a file is its newest part. */
static void *space_make(size_t *size)
{
	for (;; *size /= 2) {
		void *p = mmap(NULL, *size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED || *size < READ_BYTES)
			return p != MAP_FAILED ? p : NULL;
	}
}

/* Read, not mapped: whoever writes it may also cut it, and that would be a signal to us. */
void sw_file_copy_make(int fd, size_t max, bool last, struct sw_file_copy *ret)
{
	struct stat st;
	*ret = (struct sw_file_copy){0};
	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return;
	size_t space = (uint64_t) st.st_size > max ? max : (size_t) st.st_size, got = 0;
	uint8_t *p = space_make(&space);
	if (p == NULL)
		return;
	ret->cut = (uint64_t) st.st_size > space;
	off_t skip = last ? st.st_size - (off_t) space : 0;
	while (got < space) {
		size_t wanted = space - got < READ_BYTES ? space - got : READ_BYTES;
		ssize_t n = pread(fd, p + got, wanted, skip + (off_t) got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* it is shorter by now */
		got += (size_t) n;
	}
	ret->space = p;
	ret->space_bytes = space;
	ret->bytes = (struct sw_bytes){p, got};
}

void sw_file_copy_free(struct sw_file_copy *copy)
{
	if (copy->space != NULL)
		(void) munmap(copy->space, copy->space_bytes); /* ours */
	*copy = (struct sw_file_copy){0};
}

/* Where only its end was read, it begins with a whole line. */
static void file_read(struct side_file *f)
{
	f->was_read = true;
	sw_file_copy_make(f->fd, SW_SIDE_FILE_BYTES, true, &f->copy);
	struct sw_bytes *b = &f->copy.bytes;
	const uint8_t *line = f->copy.cut ? memchr(b->data, '\n', b->size) : NULL;
	if (line != NULL)
		(void) sw_bytes_sub(*b, (size_t) (line + 1 - b->data),
				    b->size - (size_t) (line + 1 - b->data), b); /* inside */
}

static bool file_get(struct side_file *f, struct sw_bytes *ret)
{
	if (!f->was_read)
		file_read(f);
	*ret = f->copy.bytes;
	return f->copy.space != NULL;
}

static struct side_file *file_find(const struct sw_snapshot *snap, const char *name, size_t n)
{
	struct sw_side_files *files = snap->priv->side;
	for (size_t i = 0; files != NULL && i < files->n; i++)
		if (strcmp(files->files[i].name, name) == 0 && n-- == 0)
			return &files->files[i];
	return NULL;
}

uint64_t sw_side_file_size(const struct sw_snapshot *snap, const char *name, size_t n)
{
	const struct side_file *f = file_find(snap, name, n);
	struct stat st;
	if (f == NULL || f->was_read)
		return f != NULL ? f->copy.bytes.size : 0;
	return fstat(f->fd, &st) == 0 && st.st_size > 0 ? (uint64_t) st.st_size : 0;
}

int sw_side_file_fd(const struct sw_snapshot *snap, const char *name)
{
	const struct sw_snapshot *base = snap->priv->base;
	const struct side_file *f = file_find(base != NULL ? base : snap, name, 0);
	return f != NULL ? f->fd : -EBADF;
}

bool sw_side_file_get(const struct sw_snapshot *snap, const char *name, size_t n,
		      struct sw_bytes *ret)
{
	struct side_file *f = file_find(snap, name, n);
	return f != NULL && file_get(f, ret);
}

bool sw_side_file_at(const struct sw_snapshot *snap, size_t n, const char **ret_name,
		     struct sw_bytes *ret)
{
	struct sw_side_files *files = snap->priv->side;
	if (files == NULL || n >= files->n || !file_get(&files->files[n], ret))
		return false;
	*ret_name = files->files[n].name;
	return true;
}

void sw_side_files_destroy(struct sw_side_files *files)
{
	if (files == NULL)
		return;
	for (size_t i = 0; i < files->n; i++) {
		struct side_file *f = &files->files[i];
		sw_close_p(&f->fd);
		sw_file_copy_free(&f->copy);
	}
	free(files);
}
