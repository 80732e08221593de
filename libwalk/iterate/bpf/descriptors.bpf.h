/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_DESCRIPTORS_BPF_H
#define SW_ITERATE_DESCRIPTORS_BPF_H

/* Tables of descriptors, as programs at system calls look at them. */
#include "iterate/bpf/called.bpf.h"

static __always_inline uint64_t file_of(const struct files_struct *files, uint64_t fd)
{
	const struct fdtable *table = pointer_at(&files->fdt);
	if (fd >= number_at(&table->max_fds))
		return 0;
	return word_at((const uint64_t *) pointer_at(&table->fd) + fd);
}

static __always_inline uint64_t inode_of(uint64_t file)
{
	const struct inode *inode = pointer_at(&((const struct file *) file)->f_inode);
	return file != 0 ? word_at(&inode->i_ino) : 0;
}

/* Puts a bit for each descriptor that is open after execve(2): nobody else has the table then. */
static __always_inline void table_put(struct sw_called_setup *called,
				      const struct files_struct *files)
{
	const struct fdtable *table = pointer_at(&files->fdt);
	uint32_t bytes = number_at(&table->max_fds) / 8;
	struct taking t;
	const struct sw_called_event event = {
		.number = __sync_fetch_and_add(&called->n_events, 1),
		.what = SW_CALLED_TABLE_IS,
	};
	if (!taking_known(&t, called))
		return;
	head_alone(&t);
	event_put(t.s, &event);
	if (bytes > SW_CALLED_TABLE_BYTES)
		bytes = SW_CALLED_TABLE_BYTES;
	uint32_t at = t.s->at;
	struct sw_sampled_part *part = (struct sw_sampled_part *) (t.s->out + (at & OUT_MASK));
	part->avma = 0;
	part->bytes = bytes;
	part->kind = SW_CALLED_TABLE;
	if (bytes > 0 &&
	    bpf_probe_read_kernel(t.s->out + ((at + sizeof(*part)) & OUT_MASK), bytes & PART_MASK,
				  pointer_at(&table->open_fds)) == 0) {
		t.s->at = at + sizeof(*part) + ((bytes + 7) & ~UINT32_C(7));
		t.s->n_parts++;
	}
	(void) taking_end(&t); /* what was lost is counted */
}

#endif
