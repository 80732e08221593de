/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_file for each descriptor of a pipe or socket that any process has. The kernel
 * shows each table of descriptors once, as the first thread's that has it.
 */
#include "iterate/bpf/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	PIPEFS_MAGIC = 0x50495045, /* include/uapi/linux/magic.h */
	SOCKFS_MAGIC = 0x534F434B,
};

SEC("iter/task_file")
int sw_files(struct bpf_iter__task_file *ctx)
{
	const struct task_struct *task = ctx->task;
	const struct file *file = ctx->file;
	if (task == NULL || file == NULL) /* behind the last one */
		return 0;
	const struct inode *inode = pointer_at(&file->f_inode);
	const struct super_block *super = pointer_at(&inode->i_sb);
	uint64_t magic = word_at(&super->s_magic);
	if (magic != PIPEFS_MAGIC && magic != SOCKFS_MAGIC)
		return 0;
	struct sw_iterate_file r = {
		.inode = word_at(&inode->i_ino),
		.pid = numbers_of(pointer_at(&task->group_leader)).reader,
		.fd = ctx->fd,
		.mode = number_at(&file->f_mode) & (SW_ITERATE_READS | SW_ITERATE_WRITES),
		.is_pipe = magic == PIPEFS_MAGIC,
	};
	(void) bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
