/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/names.h"
#include "bytes.h"
#include "cleanup.h"

#include <snapwalk/pipeline.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

int sw_names_create(size_t n_behind)
{
	sw_cleanup(sw_close_p) int fd =
		memfd_create("snapwalk-names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* A worker that makes it shorter would end the next one by SIGBUS. */
	if (fd < 0 || ftruncate(fd, (off_t) (SW_NAMES_BYTES + n_behind)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -EBADF;
	return sw_take_fd(fd);
}

static struct sw_symbolizer *symbolizer_of(int fd, struct sw_session *session)
{
	struct sw_symbolizer *symbolizer = NULL;
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < SW_NAMES_BYTES ||
	    sw_session_symbolizer(session, &symbolizer, NULL) < 0)
		return NULL;
	return symbolizer;
}

void sw_names_recall(int fd, struct sw_session *session)
{
	struct sw_symbolizer *symbolizer = symbolizer_of(fd, session);
	void *copy = symbolizer != NULL ? malloc(SW_NAMES_BYTES) : NULL;
	if (copy == NULL)
		return;
	/* A copy: it must not change while it is looked at. */
	if (sw_pread(fd, copy, SW_NAMES_BYTES, 0) == SW_NAMES_BYTES)
		sw_symbolizer_recall(symbolizer, copy, SW_NAMES_BYTES);
}

void sw_names_keep(int fd, struct sw_session *session)
{
	struct sw_symbolizer *symbolizer = symbolizer_of(fd, session);
	void *space = symbolizer != NULL ? mmap(NULL, SW_NAMES_BYTES, PROT_READ | PROT_WRITE,
						MAP_SHARED, fd, 0)
					 : MAP_FAILED;
	if (space == MAP_FAILED)
		return;
	(void) sw_symbolizer_keep(symbolizer, space, SW_NAMES_BYTES);
	(void) munmap(space, SW_NAMES_BYTES); /* mapped above: cannot fail */
}

bool sw_names_put_profile(int fd, const char *json, size_t size)
{
	if (size > SW_PROFILE_BYTES)
		return false;
	for (size_t done = 0; done < size;) {
		ssize_t n = pwrite(fd, json + done, size - done, (off_t) (SW_NAMES_BYTES + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t) n;
	}
	return true;
}

char *sw_names_profile(int fd, size_t size)
{
	sw_cleanup(sw_free_p) char *copy = size <= SW_PROFILE_BYTES ? malloc(size + 1) : NULL;
	if (copy == NULL || sw_pread(fd, copy, size, SW_NAMES_BYTES) != size)
		return NULL;
	copy[size] = '\0';
	return sw_take_ptr(copy);
}
