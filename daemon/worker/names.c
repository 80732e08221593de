/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/names.h"
#include "bytes.h"
#include "cleanup.h"

#include <snapwalk/pipeline.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

int sw_names_create(void)
{
	sw_cleanup(sw_close_p) int fd =
		memfd_create("snapwalk-names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* A worker that makes it shorter would end the next one by SIGBUS. */
	if (fd < 0 || ftruncate(fd, SW_NAMES_BYTES) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -EBADF;
	return sw_take_fd(fd);
}

static struct sw_symbolizer *symbolizer_of(int fd, struct sw_session *session)
{
	struct sw_symbolizer *symbolizer = NULL;
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size != SW_NAMES_BYTES ||
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
