/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A snapshot that is handed from one process to another, and bytes that are none. */
#include "skip.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <snapwalk/sampler.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { BYTES_MAX = 1 << 16 };

static const uint8_t stack[] = {1, 2, 3, 4, 5}, data[] = {9, 8};
static struct sw_kernel_frame frames[] = {{"nfs_wait [nfs]", 0x1c}, {"do_syscall", 7}};
static struct sw_kernel_stack kernel = {frames, 2};
static struct sw_wait_for wait_for = {.kind = "tcp",
				      .target = "1.2.3.4:5",
				      .fd = 6,
				      .owner_pid = 12};

static struct sw_snapshot *snapshot_create(void)
{
	static struct sw_context *ctx;
	struct sw_snapshot *snap = NULL;
	if (ctx == NULL)
		assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_snapshot_create(ctx, &snap, NULL), 0);
	return snap;
}

/* All that a process has in a snapshot: the base's places stay, as those of the second one do. */
static struct sw_snapshot *base_create(void)
{
	static struct sw_place places[] = {{.start_avma = 0x400000, .end_avma = 0x500000}};
	struct sw_snapshot *base = snapshot_create();
	base->process = (struct sw_process){.pid = 5, .exe = "/old", .cgroup = "/old"};
	base->places = places;
	base->n_places = 1;
	return base;
}

static struct sw_snapshot *whole_create(void)
{
	static struct sw_thread threads[3];
	static struct sw_map maps[2];
	static struct sw_range range;
	struct sw_snapshot *snap = snapshot_create();
	threads[0] = (struct sw_thread){
		.tid = 7, .comm = "seven", .state = 'D', .kernel = &kernel, .wchan = "nfs_wait"};
	threads[1] = (struct sw_thread){.tid = 8,
					.comm = "eight",
					.state = 'D',
					.captured = true,
					.stack_avma = 0x1000,
					.stack_bytes = sizeof(stack),
					.stack = stack,
					.kernel = &kernel,
					.wait_for = &wait_for};
	threads[2] = (struct sw_thread){.tid = 9, .state = 'S', .syscall = 202};
	maps[0] = (struct sw_map){.start_avma = 0x400000,
				  .end_avma = 0x500000,
				  .prot = SW_MAP_READ | SW_MAP_EXEC,
				  .path = "/bin/a"};
	maps[1] = (struct sw_map){.start_avma = 0x600000,
				  .end_avma = 0x601000,
				  .place = -1,
				  .path = ""};
	range = (struct sw_range){.start_avma = 0x2000, .bytes = sizeof(data), .data = data};
	snap->process = (struct sw_process){.pid = 5,
					    .uid = 44,
					    .uptime_ms = 1234,
					    .comm = "new",
					    .exe = "/new",
					    .cgroup = "/slice"};
	snap->stopped_why = "of course";
	snap->threads = threads;
	snap->n_threads = 3;
	snap->maps = maps;
	snap->n_maps = 2;
	snap->ranges = &range;
	snap->n_ranges = 1;
	snap->time_ns = 99;
	snap->times.stopped_ns = 77;
	snap->interrupted_calls = 3;
	snap->n_stopped = 2;
	snap->realtime_refused = true;
	sw_snapshot_warn(snap, SW_WARN_MEMORY, 8, SW_E_MEMORY, "its stack: %d%%", 50);
	return snap;
}

TEST(test_same)
{
	struct sw_snapshot *base = base_create(), *from = whole_create(), *got = NULL;
	uint8_t *bytes = malloc(BYTES_MAX);
	size_t size = 0;
	assert_int_equal(sw_snapshot_pack(from, bytes, BYTES_MAX, &size, NULL), 0);
	assert_int_equal(sw_snapshot_unpack(base, bytes, size, &got, NULL), 0);
	sw_snapshot_destroy(from); /* its strings are not needed any more */
	assert_int_equal(got->process.pid, 5);
	assert_int_equal(got->process.uid, 44);
	assert_int_equal(got->process.uptime_ms, 1234);
	assert_string_equal(got->process.comm, "new");
	assert_string_equal(got->process.exe, "/new");
	assert_string_equal(got->process.cgroup, "/slice");
	assert_string_equal(got->stopped_why, "of course");
	assert_true(got->live);
	assert_int_equal(got->time_ns, 99);
	assert_int_equal(got->times.stopped_ns, 77);
	assert_int_equal(got->interrupted_calls, 3);
	assert_int_equal(got->n_stopped, 2);
	assert_true(got->realtime_refused);
	assert_ptr_equal(got->places, base->places);
	assert_int_equal(got->n_places, 1);
	assert_int_equal(got->n_threads, 3);
	const struct sw_thread *t = got->threads;
	assert_string_equal(t[0].comm, "seven");
	assert_string_equal(t[0].wchan, "nfs_wait");
	assert_int_equal(t[0].kernel->n_frames, 2);
	assert_string_equal(t[0].kernel->frames[0].function, "nfs_wait [nfs]");
	assert_int_equal(t[0].kernel->frames[0].offset, 0x1c);
	assert_string_equal(t[0].kernel->frames[1].function, "do_syscall");
	assert_ptr_not_equal(t[0].kernel, &kernel);
	assert_ptr_equal(t[1].kernel, t[0].kernel); /* the same is told by that */
	assert_memory_equal(t[1].stack, stack, sizeof(stack));
	assert_ptr_not_equal(t[1].stack, stack);
	assert_string_equal(t[1].wait_for->kind, "tcp");
	assert_string_equal(t[1].wait_for->target, "1.2.3.4:5");
	assert_int_equal(t[1].wait_for->owner_pid, 12);
	assert_int_equal(t[1].wait_for->fd, 6);
	assert_int_equal(t[2].syscall, 202);
	assert_null(t[2].kernel);
	assert_null(t[2].wait_for);
	assert_int_equal(got->n_maps, 2);
	assert_string_equal(sw_snapshot_map(got, 0x4fffff)->path, "/bin/a");
	assert_ptr_equal(sw_snapshot_place(got, 0x400000), base->places);
	assert_null(sw_snapshot_place(got, 0x600000));
	assert_int_equal(got->n_ranges, 1);
	assert_int_equal(got->ranges[0].start_avma, 0x2000);
	assert_memory_equal(got->ranges[0].data, data, sizeof(data));
	assert_int_equal(got->n_warnings, 1);
	assert_int_equal(got->warnings[0].code, SW_WARN_MEMORY);
	assert_int_equal(got->warnings[0].tid, 8);
	assert_string_equal(got->warnings[0].message, "its stack: 50%");
	sw_snapshot_destroy(got);
	sw_snapshot_destroy(base);
	free(bytes);
}

/* Memory of the process is read by a descriptor of its own: the base's stays open. */
TEST(test_live)
{
	struct sw_snapshot *base = base_create(), *from = whole_create(), *got = NULL;
	uint8_t *bytes = malloc(BYTES_MAX);
	size_t size = 0;
	base->priv->mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(base->priv->mem_fd >= 0);
	assert_int_equal(sw_snapshot_pack(from, bytes, BYTES_MAX, &size, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sw_snapshot_unpack(base, bytes, size, &got, NULL), 0);
		assert_false(got->priv->live_dead);
		assert_true(got->priv->mem_fd >= 0);
		assert_int_not_equal(got->priv->mem_fd, base->priv->mem_fd);
		sw_snapshot_destroy(got);
		assert_true(fcntl(base->priv->mem_fd, F_GETFD) >= 0);
	}
	sw_snapshot_destroy(from);
	sw_snapshot_destroy(base);
	free(bytes);
}

/* Cut anywhere, or longer; with a module that the base does not have. */
TEST(test_cut)
{
	struct sw_snapshot *base = base_create(), *from = whole_create(), *got = NULL;
	uint8_t *bytes = malloc(BYTES_MAX);
	size_t size = 0;
	assert_int_equal(sw_snapshot_pack(from, bytes, BYTES_MAX, &size, NULL), 0);
	for (size_t n = 0; n <= size + 1; n++) {
		uint8_t *copy = calloc(1, n + 1);
		assert_non_null(copy);
		memcpy(copy, bytes, n < size ? n : size);
		assert_int_equal(sw_snapshot_unpack(base, copy, n, &got, NULL),
				 n == size ? 0 : -SW_E_FORMAT);
		if (n == size)
			sw_snapshot_destroy(got);
		free(copy);
	}
	assert_int_equal(sw_snapshot_pack(from, bytes, size - 1, &size, NULL), -SW_E_LIMIT);
	assert_int_equal(sw_snapshot_pack(from, bytes, 0, &size, NULL), -SW_E_LIMIT);
	assert_int_equal(sw_snapshot_pack(from, bytes, size, &size, NULL), 0);
	base->n_places = 0;
	assert_int_equal(sw_snapshot_unpack(base, bytes, size, &got, NULL), -SW_E_FORMAT);
	base->n_places = 1;
	sw_snapshot_destroy(from);
	sw_snapshot_destroy(base);
	free(bytes);
}

/* Other processes are of the first capture only. */
TEST(test_peers)
{
	struct sw_peer peer = {.pid = 3};
	struct sw_snapshot *from = whole_create();
	uint8_t *bytes = malloc(BYTES_MAX);
	size_t size = 0;
	from->peers = &peer;
	from->n_peers = 1;
	assert_int_equal(sw_snapshot_pack(from, bytes, BYTES_MAX, &size, NULL), -SW_E_INVALID);
	free(bytes);
	sw_snapshot_destroy(from);
}

enum { IMAGE_BYTES = 4096 };

static char image_path[] = "/tmp/snapwalk-whole-XXXXXX";

static void image_write(const char *from)
{
	char bytes[IMAGE_BYTES];
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(image_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t n;
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t) n), n);
	assert_int_equal(close(in), 0);
	assert_int_equal(close(out), 0);
}

/* Maps the image, and unmaps it, at each byte on its input; always at one place. */
static void __attribute__((noreturn)) mapper(int in, int out)
{
	void *const place = (void *) 0x7e0000000000; /* NOLINT(performance-no-int-to-ptr) */
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	char c;
	for (bool mapped = false; read(in, &c, 1) == 1; mapped = !mapped) {
		int fd = open(image_path, O_RDONLY | O_CLOEXEC);
		bool done = mapped ? munmap(place, IMAGE_BYTES) == 0
				   : mmap(place, IMAGE_BYTES, PROT_READ | PROT_EXEC,
					  MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == place;
		(void) close(fd);
		if (!done || write(out, &c, 1) != 1)
			break;
	}
	_exit(1);
}

static uint64_t code_of(struct sw_context *ctx, struct sw_target *target)
{
	const struct sw_snapshot_options options = {.stop = SW_STOP_ALWAYS};
	struct sw_snapshot *snap = NULL;
	assert_int_equal(sw_snapshot_take(ctx, target, &options, &snap, NULL), 0);
	uint64_t code = sw_snapshot_native_code(snap);
	sw_snapshot_destroy(snap);
	return code;
}

/* A file that is written anew in its place has other code, wherever it is mapped. */
TEST(test_code)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("memory of the sanitizer is not all native code's", "a build without it (make check)");
#endif
	struct sw_context *ctx;
	struct sw_target *target;
	int to[2], from[2], fd = mkstemp(image_path);
	char c = 'x';
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	image_write("/bin/true");
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid_t pid = fork();
	if (pid == 0)
		mapper(to[0], from[1]);
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_target_open(pid, &target, NULL), 0);
	assert_int_equal(write(to[1], &c, 1), 1);
	assert_int_equal(read(from[0], &c, 1), 1);
	const uint64_t first = code_of(ctx, target);
	assert_int_not_equal(first, 0);
	assert_int_equal(code_of(ctx, target), first);
	assert_int_equal(write(to[1], &c, 1), 1);
	assert_int_equal(read(from[0], &c, 1), 1);
	image_write("/bin/cat");
	assert_int_equal(write(to[1], &c, 1), 1);
	assert_int_equal(read(from[0], &c, 1), 1);
	assert_int_not_equal(code_of(ctx, target), first);
	sw_target_close(target);
	sw_context_destroy(ctx);
	assert_int_equal(unlink(image_path), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 2; i++)
		assert_int_equal(close(to[i]) + close(from[i]), 0);
}
