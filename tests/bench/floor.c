/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * floor PID [BYTES]: the least that seize, interrupt, registers, a copy of BYTES (16 KiB) of every
 * stack and detach can cost, as a program that does nothing else. Times in microseconds as JSON.
 *
 * Every choice is the fastest measured: threads are waited for by tid in order (waitpid(-1) is
 * quadratic), the maps are read and the destination is faulted in before the stop, one
 * process_vm_readv() serves many threads, and SCHED_FIFO keeps the program on its CPU meanwhile.
 */
#include <dirent.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RED_ZONE = 128, BATCH = 1024, SLOT_BYTES = 16384 };

struct range {
	uint64_t start, end; /* [start, end) */
};

struct floor {
	pid_t pid;
	pid_t *tids;
	size_t n_tids;
	struct range *maps;
	size_t n_maps;
	struct user_regs_struct *regs;
	char *space;
	size_t slot;
	size_t copied;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *checked(void *p)
{
	if (p == NULL || p == MAP_FAILED) {
		fprintf(stderr, "floor: out of memory\n");
		exit(1);
	}
	return p;
}

static void read_tids(struct floor *f)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", f->pid);
	DIR *dir = opendir(path);
	if (dir == NULL) {
		fprintf(stderr, "floor: no process %d\n", f->pid);
		exit(1);
	}
	size_t capacity = 0;
	struct dirent *entry;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (f->n_tids == capacity) {
			capacity = capacity * 2 + 64;
			f->tids = checked(reallocarray(f->tids, capacity, sizeof(*f->tids)));
		}
		f->tids[f->n_tids++] = atoi(entry->d_name);
	}
	closedir(dir);
}

static void read_maps(struct floor *f)
{
	char path[64], line[4352];
	snprintf(path, sizeof(path), "/proc/%d/maps", f->pid);
	FILE *file = checked(fopen(path, "re"));
	size_t capacity = 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (f->n_maps == capacity) {
			capacity = capacity * 2 + 256;
			f->maps = checked(reallocarray(f->maps, capacity, sizeof(*f->maps)));
		}
		struct range *map = &f->maps[f->n_maps];
		char *rest;
		map->start = strtoull(line, &rest, 16);
		map->end = strtoull(rest + 1, NULL, 16);
		f->n_maps++;
	}
	fclose(file);
}

static uint64_t map_end(const struct floor *f, uint64_t address)
{
	size_t low = 0, high = f->n_maps;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (f->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->n_maps && f->maps[low].start <= address ? f->maps[low].end : address;
}

static void prepare(struct floor *f)
{
	read_tids(f);
	read_maps(f);
	f->regs = checked(calloc(f->n_tids, sizeof(*f->regs)));
	f->space = checked(mmap(NULL, f->n_tids * f->slot, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
}

static void copy_stacks(struct floor *f)
{
	static struct iovec to[BATCH], from[BATCH];
	for (size_t i = 0; i < f->n_tids;) {
		size_t n = 0;
		for (; n < BATCH && i < f->n_tids; i++, n++) {
			uint64_t start = f->regs[i].rsp - RED_ZONE;
			size_t bytes = map_end(f, f->regs[i].rsp) - start;
			if (bytes > f->slot)
				bytes = f->slot;
			to[n] = (struct iovec){f->space + i * f->slot, bytes};
			from[n] = (struct iovec){(void *) start, bytes};
		}
		ssize_t got = process_vm_readv(f->pid, to, n, from, n, 0);
		if (got > 0)
			f->copied += (size_t) got;
	}
}

static void detach_all(struct floor *f)
{
	for (size_t i = 0; i < f->n_tids; i++)
		ptrace(PTRACE_DETACH, f->tids[i], NULL, NULL);
}

static void stop_and_copy(struct floor *f, int64_t times[6])
{
	struct sched_param fifo = {.sched_priority = 1}, other = {0};
	times[0] = now_ns();
	for (size_t i = 0; i < f->n_tids; i++)
		ptrace(PTRACE_SEIZE, f->tids[i], NULL, NULL);
	(void) sched_setscheduler(0, SCHED_FIFO, &fifo); /* slower without, not wrong */
	times[1] = now_ns();
	for (size_t i = 0; i < f->n_tids; i++)
		ptrace(PTRACE_INTERRUPT, f->tids[i], NULL, NULL);
	times[2] = now_ns();
	for (size_t i = 0; i < f->n_tids; i++)
		waitpid(f->tids[i], NULL, __WALL);
	times[3] = now_ns();
	for (size_t i = 0; i < f->n_tids; i++) {
		struct iovec iov = {&f->regs[i], sizeof(f->regs[i])};
		ptrace(PTRACE_GETREGSET, f->tids[i], (void *) (uintptr_t) 1 /* NT_PRSTATUS */,
		       &iov);
	}
	copy_stacks(f);
	times[4] = now_ns();
	detach_all(f);
	times[5] = now_ns();
	(void) sched_setscheduler(0, SCHED_OTHER, &other);
}

int main(int argc, char **argv)
{
	int64_t begin = now_ns(), times[6];
	struct floor f = {.pid = argc > 1 ? atoi(argv[1]) : 0,
			  .slot = argc > 2 ? strtoul(argv[2], NULL, 0) : SLOT_BYTES};
	prepare(&f);
	stop_and_copy(&f, times);
	printf("{\"threads\": %zu, \"bytes\": %zu, \"pause_us\": %.1f, \"prepare_us\": %.1f, "
	       "\"seize_us\": %.1f, \"interrupt_us\": %.1f, \"wait_us\": %.1f, \"copy_us\": %.1f, "
	       "\"detach_us\": %.1f, \"total_us\": %.1f}\n",
	       f.n_tids, f.copied, (double) (times[5] - times[1]) / 1e3,
	       (double) (times[0] - begin) / 1e3, (double) (times[1] - times[0]) / 1e3,
	       (double) (times[2] - times[1]) / 1e3, (double) (times[3] - times[2]) / 1e3,
	       (double) (times[4] - times[3]) / 1e3, (double) (times[5] - times[4]) / 1e3,
	       (double) (now_ns() - begin) / 1e3);
	return 0;
}
