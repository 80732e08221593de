/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_worker [name=value...]: a broker without a socket: starts the spawner, gives its own
 * capabilities up, and captures what it reads from standard input. Options: user, user_mode, deny,
 * dump_max (bytes). Prints "spawner PID sandbox RESULT WHY-NO-ITERATOR",
 * or "error WIRE_NAME MESSAGE".
 *
 * Each line "PID [name=value...]" is one capture. Options: uid, gid, privileged, starttime, symbols,
 * memory_mib, names_ms, stop (enum sw_stop_mode), stop_ms, pidfd (1: hand a pidfd over; 2: and another pid), deadline_ms (then
 * the worker is killed). Prints
 *
 *	worker PID		it runs
 *	resumed US OWNER DUMPABLE	how long the target was stopped, whose it is, PR_GET_DUMPABLE of it
 *	dump BYTES US		since the order, followed by the JSON on a line of its own
 *	failed WIRE_NAME RULE TRACER MESSAGE
 *	cut			the worker's last event is not whole
 *	killed			by us, past the deadline
 *	closed			the end of each capture: worker and stream are gone
 *	error WIRE_NAME MESSAGE	instead of all that
 *
 * A line "config name=value" is a reload with other options (deny, dump_max); prints "configured".
 */
#include "policy/authorize.h"
#include "sandbox/roles.h"
#include "worker/spawner.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, DEADLINE_MS = 20000, EVENT_BYTES_MAX = 1 << 30 };

struct order {
	struct sw_worker_request request;
	int pidfd; /* 0, 1, 2: as above */
	int64_t deadline_ms;
};

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void order_option(struct order *o, const char *word)
{
	struct sw_worker_request *r = &o->request;
	const char *value = strchr(word, '=');
	if (value == NULL)
		exit(2);
	size_t length = (size_t) (value - word);
	uint64_t number = strtoull(value + 1, NULL, 0);
	if (strncmp(word, "uid", length) == 0)
		r->caller_uid = (uid_t) number;
	else if (strncmp(word, "gid", length) == 0)
		r->caller_gid = (gid_t) number;
	else if (strncmp(word, "privileged", length) == 0)
		r->privileged = number != 0;
	else if (strncmp(word, "starttime", length) == 0)
		r->starttime = number;
	else if (strncmp(word, "symbols", length) == 0)
		r->symbols = (uint32_t) number;
	else if (strncmp(word, "memory_mib", length) == 0)
		r->memory_mib = (uint32_t) number;
	else if (strncmp(word, "names_ms", length) == 0)
		r->names_timeout_ms = (uint32_t) number;
	else if (length == 4 && strncmp(word, "stop", length) == 0)
		r->stop = (uint32_t) number;
	else if (strncmp(word, "stop_ms", length) == 0)
		r->max_stop_ms = (uint32_t) number;
	else if (strncmp(word, "pidfd", length) == 0)
		o->pidfd = (int) number;
	else if (strncmp(word, "deadline_ms", length) == 0)
		o->deadline_ms = (int64_t) number;
	else
		exit(2);
}

static struct order order_parse(char *line, uint64_t seq)
{
	struct order o = {.request = {.seq = seq,
				      .privileged = true,
				      .caller_same_user_ns = true,
				      .memory_mib = 1024,
				      /* patient: what is tested is not speed */
				      .max_stop_ms = 60000,
				      .names_timeout_ms = 60000,
				      .reason = "driven"},
			  .deadline_ms = DEADLINE_MS};
	char *rest, *word = strtok_r(line, " \n", &rest);
	o.request.pid = word != NULL ? atoi(word) : 0;
	while ((word = strtok_r(NULL, " \n", &rest)) != NULL)
		order_option(&o, word);
	return o;
}

/* All of it, or false: the end, or past the deadline. */
static bool read_all(int fd, void *to, size_t size, int64_t end_us)
{
	uint8_t *p = to;
	while (size > 0) {
		struct pollfd event = {.fd = fd, .events = POLLIN};
		int64_t left_us = end_us - now_us();
		if (left_us <= 0 || poll(&event, 1, (int) (left_us / 1000) + 1) <= 0)
			return false;
		ssize_t n = read(fd, p, size);
		if (n <= 0)
			return false;
		p += n;
		size -= (size_t) n;
	}
	return true;
}

static void print_event(const struct sw_worker_event *event, const void *payload, int64_t begin_us)
{
	const struct sw_worker_resumed *resumed = payload;
	const struct sw_worker_failed *failed = payload;
	switch (event->type) {
	case SW_WORKER_RESUMED:
		printf("resumed %" PRId64 " %d %u\n", resumed->stopped_us,
		       (int) resumed->target.rights.uid[0], resumed->target.rights.dumpable);
		break;
	case SW_WORKER_DUMP:
		printf("dump %u %" PRId64 "\n", event->size, now_us() - begin_us);
		fwrite(payload, 1, event->size, stdout); /* ends with a newline */
		break;
	case SW_WORKER_FAILED:
		printf("failed %s %s %d %s\n", sw_error_wire(failed->code),
		       sw_deny_name((enum sw_deny_rule) failed->rule), (int) failed->tracer,
		       failed->message);
		break;
	default: printf("unknown %u\n", event->type);
	}
	fflush(stdout);
}

static void listen_to(int pidfd, int stream, int64_t begin_us, int64_t deadline_ms)
{
	struct sw_worker_event event;
	int64_t end_us = begin_us + deadline_ms * 1000;
	while (read_all(stream, &event, sizeof(event), end_us) && event.size <= EVENT_BYTES_MAX) {
		void *payload = malloc(event.size > 0 ? event.size : 1);
		bool whole = payload != NULL && read_all(stream, payload, event.size, end_us);
		if (whole)
			print_event(&event, payload, begin_us);
		else
			printf("cut\n");
		free(payload);
		if (!whole)
			break;
	}
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	if (now_us() >= end_us) {
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
		printf("killed\n");
	}
	poll(&end, 1, -1);
	printf("closed\n");
}

static pid_t pidfd_pid(int pidfd)
{
	char path[64], line[128];
	int pid = -1;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	FILE *f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "Pid: %d", &pid);
	if (f != NULL)
		fclose(f);
	return pid;
}

static void capture(struct sw_spawner *spawner, struct order *o)
{
	struct sw_error err = {0};
	int pidfd, stream, target_pidfd = -EBADF;
	if (o->pidfd > 0)
		target_pidfd = (int) syscall(SYS_pidfd_open, o->request.pid, 0);
	if (o->pidfd > 1)
		o->request.pid = 1;
	int64_t begin_us = now_us();
	int r = sw_spawner_spawn(spawner, &o->request, target_pidfd, -1, &pidfd, &stream, &err);
	if (target_pidfd >= 0)
		close(target_pidfd);
	if (r < 0) {
		printf("error %s %s\n", sw_error_wire(r), err.message);
		return;
	}
	printf("worker %d\n", (int) pidfd_pid(pidfd));
	fflush(stdout);
	listen_to(pidfd, stream, begin_us, o->deadline_ms);
	close(pidfd);
	close(stream);
}

static char *deny_list[] = {NULL, NULL};

static void config_option(struct sw_config *config, char *word)
{
	char *value = strchr(word, '=');
	if (value == NULL)
		exit(2);
	*value++ = '\0';
	if (strcmp(word, "user") == 0)
		config->user = value;
	else if (strcmp(word, "user_mode") == 0)
		config->user_mode = atoi(value) != 0;
	else if (strcmp(word, "deny") == 0)
		deny_list[0] = value[0] != '\0' ? strdup(value) : NULL;
	else if (strcmp(word, "dump_max") == 0)
		config->dump_bytes_max = strtoull(value, NULL, 0);
	else
		exit(2);
}

int main(int argc, char **argv)
{
	static char user[] = "nobody", group[] = "nogroup";
	struct sw_config config = {.user = user,
				   .group = group,
				   .deny = deny_list,
				   .timeout_ms = 60000,
				   .dump_bytes_max = 64 << 20};
	struct sw_spawner spawner;
	struct sw_error err = {0};
	char line[LINE_BYTES];
	for (int i = 1; i < argc; i++)
		config_option(&config, argv[i]);
	int r = sw_spawner_start(&config, &spawner, &err);
	int sandbox = r == 0 ? sw_sandbox_broker(&config, &err) : r;
	if (sandbox < 0) {
		printf("error %s %s\n", sw_error_wire(sandbox), err.message);
		return 1;
	}
	printf("spawner %d sandbox %d %s\n", (int) spawner.pid, sandbox, spawner.iterator_refused);
	fflush(stdout);
	for (uint64_t seq = 1; fgets(line, sizeof(line), stdin) != NULL; seq++) {
		if (strncmp(line, "config ", 7) == 0) {
			line[strcspn(line, "\n")] = '\0';
			config_option(&config, line + 7);
			if (sw_spawner_configure(&spawner, &config, &err) < 0)
				printf("error %s %s\n", sw_error_wire(err.code), err.message);
			else
				printf("configured\n");
		} else {
			struct order o = order_parse(line, seq);
			capture(&spawner, &o);
		}
		fflush(stdout);
	}
	sw_spawner_stop(&spawner);
	return 0;
}
