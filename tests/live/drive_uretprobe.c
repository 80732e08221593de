/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_uretprobe FILE OFFSET...: probes the returns of the functions at these offsets, in all processes, until
 * its input ends. Prints "armed", or "refused REASON".
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RETURNS = 1 }; /* /sys/bus/event_source/devices/uprobe/format/retprobe */

int main(int argc, char **argv)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	unsigned type;
	if (argc < 3)
		return 2;
	if (file == NULL || fscanf(file, "%u", &type) != 1) {
		printf("refused this kernel has no uprobes\n");
		return 0;
	}
	for (int i = 2; i < argc; i++) {
		struct perf_event_attr attr = {.type = type,
					       .size = sizeof(attr),
					       .config = RETURNS};
		attr.uprobe_path = (uintptr_t) argv[1];
		attr.probe_offset = strtoull(argv[i], NULL, 16);
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
			printf("refused %s\n", strerror(errno));
			return 0;
		}
	}
	printf("armed\n");
	fflush(stdout);
	getchar();
	return 0;
}
