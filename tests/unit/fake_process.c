/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake_process.h"
#include "capture/before.h"
#include "iterate/tasks.h"
#include "process/target.h"
#include "process/expendable.h"
#include "text.h"
#include "waits/locks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct fake_process fake_process;

/* The linker's names, as in fake_kernel.c. */
int __wrap_sw_iterate_open(int link_fd, int *ret_fd, struct sw_error *err);
int __real_sw_iterate_open(int link_fd, int *ret_fd, struct sw_error *err);
bool __wrap_sw_target_stat(const struct sw_target *target, struct sw_proc_stat *ret);
bool __real_sw_target_stat(const struct sw_target *target, struct sw_proc_stat *ret);
int __wrap_sw_target_live_fd(const struct sw_target *target);
int __real_sw_target_live_fd(const struct sw_target *target);
int __wrap_sw_text_read_at(struct sw_text *text, int dir_fd, const char *path, size_t max);
int __real_sw_text_read_at(struct sw_text *text, int dir_fd, const char *path, size_t max);
int __wrap_sw_iterate_link_thread(int program_fd, pid_t tid, int *ret, struct sw_error *err);
int __real_sw_iterate_link_thread(int program_fd, pid_t tid, int *ret, struct sw_error *err);
int __wrap_sw_iterate_link_pid(int program_fd, pid_t pid, int *ret, struct sw_error *err);
int __real_sw_iterate_link_pid(int program_fd, pid_t pid, int *ret, struct sw_error *err);
int __wrap_sw_capture_take(struct sw_context *ctx, struct sw_target *target,
			   const struct sw_snapshot_options *options,
			   const struct sw_tables *tables, struct sw_snapshot **ret,
			   struct sw_error *err);
int __real_sw_capture_take(struct sw_context *ctx, struct sw_target *target,
			   const struct sw_snapshot_options *options,
			   const struct sw_tables *tables, struct sw_snapshot **ret,
			   struct sw_error *err);
int __wrap_sw_expendable_start(const int *fds, size_t n, struct sw_expendable **ret,
			       struct sw_error *err);
int __real_sw_expendable_start(const int *fds, size_t n, struct sw_expendable **ret,
			       struct sw_error *err);
pid_t __wrap_sw_file_lock_owner(const char *locks, pid_t waiter, uint64_t inode, bool flock);
pid_t __real_sw_file_lock_owner(const char *locks, pid_t waiter, uint64_t inode, bool flock);
int __wrap_sw_take_before(struct sw_take *take);
int __real_sw_take_before(struct sw_take *take);
int __wrap_sw_take_after(struct sw_take *take);
int __real_sw_take_after(struct sw_take *take);

/* A file that a pass is read from, or a thread's number. */
static int memory_file(const void *data, size_t bytes)
{
	int fd = memfd_create("look", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t) bytes || lseek(fd, 0, SEEK_SET) != 0)
		return -1;
	return fd;
}

static void record_keep(struct fake_look *look, pid_t tid)
{
	size_t n = 0;
	for (size_t i = 0; i < look->n; i++)
		if ((pid_t) look->records[i].tid == tid)
			look->records[n++] = look->records[i];
	look->n = n;
}

int __wrap_sw_iterate_open(int link_fd, int *ret_fd, struct sw_error *err)
{
	struct fake_look look = {0};
	pid_t tid;
	if (fake_process.look == NULL)
		return __real_sw_iterate_open(link_fd, ret_fd, err);
	fake_process.look(fake_process.n_looks++, &look);
	if (link_fd >= 0 && pread(link_fd, &tid, sizeof(tid), 0) == sizeof(tid))
		record_keep(&look, tid);
	*ret_fd = look.of_moved ? memory_file(&look.moved, sizeof(look.moved))
				: memory_file(look.records, look.n * sizeof(look.records[0]));
	return *ret_fd < 0 ? -SW_E_IO : 0;
}

int __wrap_sw_iterate_link_thread(int program_fd, pid_t tid, int *ret, struct sw_error *err)
{
	if (fake_process.look == NULL)
		return __real_sw_iterate_link_thread(program_fd, tid, ret, err);
	if (tid == fake_process.gone_tid)
		return -SW_E_NO_PROCESS;
	fake_process.n_links++;
	*ret = memory_file(&tid, sizeof(tid));
	return *ret < 0 ? -SW_E_IO : 0;
}

/* All threads: a file without a number. */
int __wrap_sw_iterate_link_pid(int program_fd, pid_t pid, int *ret, struct sw_error *err)
{
	if (fake_process.look == NULL)
		return __real_sw_iterate_link_pid(program_fd, pid, ret, err);
	*ret = memory_file("", 0);
	return *ret < 0 ? -SW_E_IO : 0;
}

int __wrap_sw_capture_take(struct sw_context *ctx, struct sw_target *target,
			   const struct sw_snapshot_options *options,
			   const struct sw_tables *tables, struct sw_snapshot **ret,
			   struct sw_error *err)
{
	return fake_process.capture != NULL
		       ? fake_process.capture(ctx, options, ret)
		       : __real_sw_capture_take(ctx, target, options, tables, ret, err);
}

/* Memory is read by the process itself. */
int __wrap_sw_expendable_start(const int *fds, size_t n, struct sw_expendable **ret,
			       struct sw_error *err)
{
	if (fake_process.look == NULL)
		return __real_sw_expendable_start(fds, n, ret, err);
	*ret = NULL;
	return 0;
}

bool __wrap_sw_target_stat(const struct sw_target *target, struct sw_proc_stat *ret)
{
	if (fake_process.look == NULL)
		return __real_sw_target_stat(target, ret);
	*ret = fake_process.stat;
	return !fake_process.ended;
}

int __wrap_sw_target_live_fd(const struct sw_target *target)
{
	if (fake_process.look == NULL)
		return __real_sw_target_live_fd(target);
	if (fake_process.ended)
		return -1;
	return fake_process.live_fd > 0 ? fcntl(fake_process.live_fd, F_DUPFD_CLOEXEC, 3)
					: open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int __wrap_sw_text_read_at(struct sw_text *text, int dir_fd, const char *path, size_t max)
{
	int r = __real_sw_text_read_at(text, dir_fd, path, max);
	if (fake_process.reading != NULL)
		fake_process.reading(path);
	return r;
}

int __wrap_sw_take_before(struct sw_take *take)
{
	return fake_process.before != NULL ? fake_process.before(take)
					   : __real_sw_take_before(take);
}

int __wrap_sw_take_after(struct sw_take *take)
{
	return fake_process.after != NULL ? fake_process.after(take) : __real_sw_take_after(take);
}

pid_t __wrap_sw_file_lock_owner(const char *locks, pid_t waiter, uint64_t inode, bool flock)
{
	return fake_process.lock_owner != NULL
		       ? fake_process.lock_owner(waiter)
		       : __real_sw_file_lock_owner(locks, waiter, inode, flock);
}
