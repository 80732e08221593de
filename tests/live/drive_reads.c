/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_reads PID: captures a process, and says in JSON how often process_vm_readv() was called for that, with
 * how many ranges of the process in all, and how long the copy took.
 */
#include <inttypes.h>
#include <snapwalk/pipeline.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_STOP_MS = 60000 };

/* The copy may be made by a process of its own. */
static struct counts {
	_Atomic size_t calls, ranges;
} * counts;

/* Instead of the C library's. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
			 const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
	atomic_fetch_add(&counts->calls, 1);
	atomic_fetch_add(&counts->ranges, n_remote);
	return syscall(SYS_process_vm_readv, pid, local, n_local, remote, n_remote, flags);
}

int main(int argc, char **argv)
{
	const struct sw_pipeline_options options = {
		.snapshot = {.max_stop_ms = MAX_STOP_MS, .stop = SW_STOP_AUTO},
		.symbolize = {.level = SW_SYMBOLS_NONE},
	};
	struct sw_session *session;
	struct sw_target *target;
	struct sw_pipeline pipeline = {0};
	struct sw_error err = {0};
	if (argc != 2)
		return 2;
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED)
		return 1;
	int r = sw_session_create(&session, &err);
	if (r == 0)
		r = sw_target_open(atoi(argv[1]), &target, &err);
	if (r == 0) {
		const struct sw_origin origin = {.kind = SW_FROM_TARGET, .target = target};
		r = sw_pipeline_run(session, &origin, &options, &pipeline, &err);
	}
	if (r < 0) {
		fprintf(stderr, "drive_reads: %s\n", err.message);
		return 1;
	}
	printf("{\"calls\": %zu, \"ranges\": %zu, \"copy_us\": %" PRId64 "}\n",
	       (size_t) counts->calls, (size_t) counts->ranges, pipeline.report->timings.copy_us);
	sw_pipeline_deinit(&pipeline);
	sw_target_close(target);
	sw_session_destroy(session);
	return fflush(stdout) != 0;
}
