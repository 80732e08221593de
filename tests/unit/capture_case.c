/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture_case.h"
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { POOL_BYTES = 8 << 20 };

void capture_case_init(struct capture_case *c)
{
	*c = (struct capture_case){.snap = fake_snapshot_create()};
	struct sw_snapshot_priv *priv = c->snap->priv;
	priv->mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(priv->mem_fd >= 0);
	priv->pool =
		mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(priv->pool != MAP_FAILED);
	priv->pool_bytes = POOL_BYTES;
	c->snap->ranges =
		sw_arena_calloc(&priv->arena, SW_CAPTURE_RANGES, sizeof(*c->snap->ranges));
	c->tracee = (struct sw_tracee){.tid = getpid(), .has_regs = true};
	c->stop = (struct sw_stop){.tracees = &c->tracee, .n = 1, .mem_fd = -EBADF};
	c->space = (struct sw_capture_space){.snap = c->snap,
					     .stop = &c->stop,
					     .size = POOL_BYTES,
					     .copies_max = SW_CAPTURE_RANGES};
	c->space.parts = sw_arena_calloc(&priv->arena, SW_CAPTURE_RANGES, sizeof(*c->space.parts));
	assert_true(c->snap->ranges != NULL && c->space.parts != NULL);
	c->capture = sw_capture_of(&c->space);
	c->capture.found = &c->found;
}

void capture_case_copy(struct capture_case *c)
{
	c->space.n_want = c->space.n_parts;
	for (size_t i = 0; i < c->space.n_want; i++) {
		struct sw_capture_part *p = &c->space.parts[i];
		p->to = c->snap->priv->pool + c->space.used;
		struct iovec local = {p->to, p->bytes}, remote = {(void *) p->avma, p->bytes};
		ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
		p->bytes = got > 0 ? (size_t) got : 0;
		c->space.used += p->bytes;
	}
}

void capture_case_deinit(struct capture_case *c)
{
	fake_snapshot_destroy(c->snap);
}
