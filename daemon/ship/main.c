/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapwalk-ship(8): starts its parts, watches them, and writes down what they count. */
#include "ship/config.h"
#include "ship/filter.h"
#include "ship/log.h"
#include "ship/options.h"
#include "ship/processes.h"
#include "ship/status.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/service.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

static int complain(const struct sw_error *err)
{
	sw_ship_log("%s (%s)", err->message, sw_error_wire(err->code));
	return err->code == SW_E_INVALID ? STATUS_USAGE : STATUS_FAILED;
}

static int share(struct sw_ship_shared **ret, struct sw_error *err)
{
	void *memory = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	if (memory == MAP_FAILED)
		return sw_fail_nomem(err);
	*ret = memory;
	return 0;
}

/* Continues the counts of the last run. */
static void load_status(const struct sw_spool *spool, struct sw_ship_shared *shared)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (sw_ship_status_text(spool->dir_fd, &text) == 0 && text.size > 0)
		sw_ship_status_read(text.data, shared);
}

/* Writes the status when it is not what it was. */
static void save_status(const struct sw_spool *spool, const struct sw_ship_shared *shared,
			struct sw_text *last)
{
	struct sw_text now = {0};
	struct sw_error err;
	sw_ship_status_write(shared, &now);
	bool same = now.failed || (last->size == now.size && now.size > 0 &&
				   memcmp(last->data, now.data, now.size) == 0);
	if (same || sw_spool_write(spool, SW_SHIP_STATUS_FILE, now.data, now.size, &err) < 0) {
		sw_text_deinit(&now); /* the next turn tries again */
		return;
	}
	sw_text_deinit(last);
	*last = now;
}

/* Waits for the end of the service, or of a part of it, which is no end for the others. */
static int watch(const struct sw_spool *spool, const struct sw_ship_shared *shared,
		 const sigset_t *signals, struct sw_error *err)
{
	const struct timespec second = {.tv_sec = 1};
	sw_cleanup(sw_text_deinit) struct sw_text last = {0};
	for (;;) {
		save_status(spool, shared, &last);
		int number = sigtimedwait(signals, NULL, &second);
		if (number == SIGTERM || number == SIGINT)
			break;
		siginfo_t child = {0};
		if (number == SIGCHLD && waitid(P_ALL, 0, &child, WEXITED | WNOHANG) == 0 &&
		    child.si_pid != 0) {
			save_status(spool, shared, &last);
			return child.si_code == CLD_EXITED
				       ? sw_fail(err, SW_E_EXITED, "a part has ended: see above")
				       : sw_fail(err, SW_E_EXITED, "a part was ended by signal %d",
						 child.si_status);
		}
	}
	save_status(spool, shared, &last);
	return 0;
}

static int serve(const struct sw_ship_options *o, struct sw_ship_config *config,
		 struct sw_ship_shared *shared, struct sw_spool *spool, struct sw_error *err)
{
	struct sw_ship_processes parts = {
		.socket_path = o->socket_path,
		.config = config,
		.shared = shared,
		.spool = spool,
	};
	sigset_t signals;
	(void) sigemptyset(&signals); /* fail only for bad numbers */
	(void) sigaddset(&signals, SIGTERM);
	(void) sigaddset(&signals, SIGINT);
	(void) sigaddset(&signals, SIGCHLD);
	/* The parts inherit the mask: they end when this process does. */
	(void) sigprocmask(SIG_BLOCK, &signals, NULL);
	load_status(spool, shared);
	int r = sw_ship_processes_confine(config, err);
	if (r >= 0)
		r = sw_ship_processes_start(&parts, err);
	if (r == 0) {
		sw_ship_config_forget(config, SW_SHIP_KINDS);
		r = sw_ship_filter_watch(err);
	}
	if (r == 0)
		r = watch(spool, shared, &signals, err);
	sw_ship_processes_deinit(&parts);
	return r;
}

static int check_targets(const struct sw_ship_config *config, const char *path,
			 struct sw_error *err)
{
	for (size_t i = 0; i < SW_SHIP_KINDS; i++)
		if (config->targets[i].url != NULL)
			return 0;
	return sw_fail(err, SW_E_INVALID,
		       "%s: there is nothing to do: give URL= in [Profiles] or [Dumps]", path);
}

static int run(const struct sw_ship_options *o, struct sw_ship_config *config, struct sw_error *err)
{
	struct sw_ship_shared *shared = NULL;
	struct sw_spool spool = {.dir_fd = -EBADF, .lock_fd = -EBADF};
	int r = check_targets(config, o->config_path, err);
	if (r == 0)
		r = sw_ship_config_tokens(config, err);
	if (r < 0 || o->check)
		return r;
	r = sw_confine_service("snapwalk-ship", err);
	if (r == 0)
		r = share(&shared, err);
	if (r == 0)
		r = sw_spool_open(config->spool, shared, &spool, err);
	if (r == 0)
		r = serve(o, config, shared, &spool, err);
	sw_spool_close(&spool);
	if (shared != NULL)
		(void) munmap(shared, sizeof(*shared)); /* at the end of the process anyhow */
	return r;
}

/* With the configuration that the options name. */
static int act(const struct sw_ship_options *o, struct sw_error *err)
{
	struct sw_ship_config config = {0};
	int r = sw_ship_config_load(o->config_path, &config, err);
	if (r == 0)
		r = o->status ? sw_ship_status_print(config.spool, err) : run(o, &config, err);
	sw_ship_config_deinit(&config);
	return r;
}

int main(int argc, char **argv)
{
	struct sw_ship_options options;
	struct sw_error err = {0};
	int status = EXIT_SUCCESS;
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	(void) sigaction(SIGPIPE, &ignore, NULL); /* fails only for bad numbers */
	if (sw_ship_options_parse(argc, argv, &options, &err) < 0)
		status = complain(&err);
	else if (options.help)
		sw_ship_options_help();
	else if (options.version)
		puts("snapwalk-ship " SW_VERSION);
	else if (act(&options, &err) < 0)
		status = complain(&err);
	return status;
}
