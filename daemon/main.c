/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * snapwalkd: start and end. The order matters: names are looked up and sockets bound with the
 * privileges of the start, the spawner is forked with its two, and then all are given away.
 */
#include "broker.h"
#include "cleanup.h"
#include "errors.h"
#include "own_way.h"
#include "parts.h"
#include "config/journal.h"
#include "prepare.h"
#include "sandbox/roles.h"

#include <confine/unpacker.h>
#include <snapwalk/clock.h>
#include <snapwalk/iterator.h>
#include <snapwalk/walk.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

enum { EXIT_USAGE = 2, FDS_MAX = 65536 };

static const char help[] =
	"Usage: snapwalkd [OPTION...]\n"
	"Capture the call stacks of processes for callers of a socket.\n"
	"\n"
	"  --config FILE    instead of " SW_SYSCONFDIR "/snapwalk/snapwalk.conf\n"
	"  --socket PATH    listen there, instead of /run/snapwalk/io.snapwalk\n"
	"  --user           for the caller's own processes, without privileges\n"
	"  --check-config   say what is wrong with the configuration, and end\n"
	"  --keep-programs  as root: load what captures need into the kernel, and end\n"
	"  --drop-programs  as root: remove what --keep-programs has loaded, and end\n"
	"  --version        print the version, and end\n"
	"  --help           print this, and end\n"
	"\n"
	"See snapwalkd(8) and snapwalk.conf(5).\n";

struct arguments {
	const char *config, *socket;
	bool user, check;
	int (*programs)(struct sw_error *err); /* to do with those that stay in the kernel */
};

/* The state that a reload needs. */
struct service {
	struct arguments arguments;
	struct sw_broker broker;
	struct sw_config *config; /* owned */
};

/* True: go on. */
static bool arguments_parse(int argc, char **argv, struct arguments *ret, int *ret_status)
{
	enum { CONFIG = 256, SOCKET, USER, CHECK, KEEP, DROP };
	static const struct option options[] = {
		{"config", required_argument, NULL, CONFIG},
		{"socket", required_argument, NULL, SOCKET},
		{"user", no_argument, NULL, USER},
		{"check-config", no_argument, NULL, CHECK},
		{"keep-programs", no_argument, NULL, KEEP},
		{"drop-programs", no_argument, NULL, DROP},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	*ret_status = EXIT_SUCCESS;
	for (int c; (c = getopt_long(argc, argv, "hV", options, NULL)) != -1;) {
		switch (c) {
		case CONFIG: ret->config = optarg; break;
		case SOCKET: ret->socket = optarg; break;
		case USER: ret->user = true; break;
		case CHECK: ret->check = true; break;
		case KEEP: ret->programs = sw_iterator_keep; break;
		case DROP: ret->programs = sw_iterator_drop; break;
		case 'V': puts("snapwalkd " SW_VERSION); return false;
		case 'h': fputs(help, stdout); return false;
		default: /* getopt has printed it */ *ret_status = EXIT_USAGE; return false;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "snapwalkd: %s: no argument is expected (usage): see --help\n",
			argv[optind]);
		*ret_status = EXIT_USAGE;
		return false;
	}
	return true;
}

/* ---- paths of a user's own daemon (XDG Base Directory Specification 0.8) ---- */

/* "$VARIABLE/snapwalk" or "~/fallback/snapwalk". */
static char *user_path(const char *variable, const char *fallback, const char *rest)
{
	const char *base = getenv(variable), *home = getenv("HOME");
	char *path = NULL;
	int r = -1;
	if (base != NULL && base[0] == '/')
		r = asprintf(&path, "%s/%s", base, rest);
	else if (fallback != NULL && home != NULL && home[0] == '/')
		r = asprintf(&path, "%s/%s/%s", home, fallback, rest);
	return r < 0 ? NULL : path;
}

static void replace(char **field, char *value)
{
	if (value == NULL)
		return;
	free(*field);
	*field = value;
}

static void to_log(void *arg, const char *message)
{
	(void) arg;
	sw_log(SW_LOG_WARNING, "%s", message);
}

static void to_stderr(void *arg, const char *message)
{
	(void) arg;
	fprintf(stderr, "%s\n", message);
}

static int config_load(const struct arguments *arguments, sw_config_say_fn *say,
		       struct sw_config **ret, struct sw_error *err)
{
	struct sw_config *config = malloc(sizeof(*config));
	sw_cleanup(sw_free_p) char *own = NULL;
	if (config == NULL || sw_config_init(config) < 0) {
		free(config);
		return sw_fail_nomem(err);
	}
	const char *path = arguments->config;
	config->user_mode = arguments->user;
	if (arguments->user) {
		replace(&config->state_dir,
			user_path("XDG_STATE_HOME", ".local/state", "snapwalk"));
		replace(&config->cache_dir, user_path("XDG_CACHE_HOME", ".cache", "snapwalk"));
		replace(&config->rules_dir,
			user_path("XDG_CONFIG_HOME", ".config", "snapwalk/rules.d"));
		own = user_path("XDG_CONFIG_HOME", ".config", "snapwalk/snapwalk.conf");
		/* A link that leads nowhere is no reason to take the system's. */
		if (path == NULL && own != NULL &&
		    faccessat(AT_FDCWD, own, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			path = own;
	}
	int r = sw_config_load(config, path, say, NULL, err);
	if (r == 0 && arguments->socket != NULL) {
		config->socket_path = strdup(arguments->socket);
		r = config->socket_path == NULL ? sw_fail_nomem(err) : 0;
	} else if (r == 0 && arguments->user)
		config->socket_path = user_path("XDG_RUNTIME_DIR", NULL, "snapwalk/io.snapwalk");
	if (r < 0) {
		sw_config_deinit(config);
		free(config);
		return r;
	}
	*ret = config;
	return 0;
}

/* ---- what needs the privileges of the start ---- */

/* "~/.local/state" may not be there in a new home. */
static void make_parents(const char *path)
{
	sw_cleanup(sw_free_p) char *parent = strdup(path);
	for (char *slash = parent; slash != NULL && (slash = strchr(slash + 1, '/')) != NULL;) {
		*slash = '\0';
		/* A parent that cannot be made is there, or the last one fails with the reason. */
		(void) sw_own_way_make(parent, 0700, NULL);
		*slash = '/';
	}
}

/* The directory of the socket and that of the dumps, as the service manager would make them. */
static void make_directory(const char *path, mode_t mode, const struct sw_config *config)
{
	const struct passwd *user =
		geteuid() == 0 && !config->user_mode ? getpwnam(config->user) : NULL;
	if (config->user_mode)
		make_parents(path);
	if (user == NULL) {
		(void) sw_own_way_make(path, mode, NULL); /* opening something in it says why not */
		return;
	}
	/* The directory above may be the daemon's user's, who could put another one in the new one's place. */
	struct sw_error err;
	sw_cleanup(sw_close_p) int parent_fd = -EBADF;
	if (sw_own_way_open_parent(path, path, &parent_fd, &err) < 0)
		return; /* opening something in it says why */
	if (mkdirat(parent_fd, sw_path_name(path), mode) < 0)
		return; /* likewise, or it is there */
	sw_cleanup(sw_close_p) int fd = openat(parent_fd, sw_path_name(path),
					       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    fchown(fd, user->pw_uid, user->pw_gid) < 0)
		sw_log(SW_LOG_WARNING, "%s: cannot be given to the daemon's user", path);
}

static void make_directories(const struct sw_config *config)
{
	if (config->store)
		make_directory(config->state_dir, 0750, config);
	if (strcmp(config->cache_dir, SW_SYSTEM_CACHE_DIR "/daemon") == 0 && geteuid() == 0)
		(void) mkdir(SW_SYSTEM_CACHE_DIR, 0755); /* root's: the next one fails */
	make_directory(config->cache_dir, 0755, config);
	if (config->socket_path == NULL && sd_listen_fds(0) <= 0)
		make_directory("/run/snapwalk", 0755, config);
	else if (config->user_mode && config->socket_path != NULL) {
		sw_cleanup(sw_free_p) char *parent = strdup(config->socket_path);
		char *slash = parent != NULL ? strrchr(parent, '/') : NULL;
		if (slash != NULL && slash != parent) {
			*slash = '\0';
			make_directory(parent, 0700, config);
		}
	}
}

/* Enough for all connections, workers and passed descriptors. */
static void raise_limits(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max < FDS_MAX ? limit.rlim_max : FDS_MAX;
		(void) setrlimit(RLIMIT_NOFILE, &limit); /* then there are fewer */
	}
}

static void prepare_process(void)
{
	/* libdw would ask servers for debug files by itself: workers inherit this. */
	(void) unsetenv("DEBUGINFOD_URLS"); /* fails only for bad names */
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	(void) sigaction(SIGPIPE, &ignore, NULL); /* fail only for bad numbers */
	(void) sigaction(SIGXFSZ, &ignore,
			 NULL); /* LimitFSIZE=: a dump that is not kept, not our end */
	raise_limits();
	/* The heap has one arena, and large blocks go back to the system at once: an idle daemon is
	 * small. */
	(void) mallopt(M_ARENA_MAX, 1);
	(void) mallopt(M_MMAP_THRESHOLD, 128 << 10);
	(void) mallopt(M_TRIM_THRESHOLD, 256 << 10);
	/* Standard descriptors that are closed would be reused for sockets. */
	for (int fd; (fd = open("/dev/null", O_RDWR)) >= 0;) {
		if (fd > STDERR_FILENO) {
			(void) close(fd); /* enough */
			break;
		}
	}
}

/* ---- running ---- */

static void say_restart(void *arg, const char *key)
{
	(void) arg;
	sw_log(SW_LOG_WARNING, "%s= has changed: that needs a restart", key);
}

static void reload(struct service *service)
{
	struct sw_config *config = NULL;
	struct sw_error err = {0};
	/* MONOTONIC_USEC: for Type=notify-reload (systemd 253); harmless to older ones. */
	(void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=Reading the configuration",
			  (long long) (sw_clock_ns() / 1000)); /* nobody listens: fine */
	int r = config_load(&service->arguments, to_log, &config, &err);
	if (r == 0 && config->n_unsafe > 0) {
		r = sw_fail(&err, SW_E_INVALID, "a mistake in what protects");
		sw_config_deinit(config);
		free(config);
	}
	if (r < 0)
		sw_log(SW_LOG_ERROR, "the old configuration stays: %s", err.message);
	else {
		struct sw_config *old = service->config;
		(void) sw_config_restart_needed(old, config, say_restart, NULL); /* how many */
		service->config = config;
		sw_broker_reconfigure(&service->broker, config);
		sw_config_deinit(old);
		free(old);
		sw_log(SW_LOG_NOTICE, "the configuration was read again");
	}
	(void) sd_notify(0, "READY=1\nSTATUS=Ready"); /* as above */
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	(void) source;
	(void) info;
	reload(arg);
	return 0;
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	struct service *service = arg;
	(void) source;
	(void) info;
	(void) sd_notify(0, "STOPPING=1\nSTATUS=Ending"); /* nobody listens: fine */
	return sd_event_exit(service->broker.event, 0);
}

static int add_signals(struct service *service, struct sw_error *err)
{
	sd_event *event = service->broker.event;
	/* Blocked since the start, see main(). Sources live as long as the loop. */
	if (sd_event_add_signal(event, NULL, SIGTERM, on_end, service) < 0 ||
	    sd_event_add_signal(event, NULL, SIGINT, on_end, service) < 0 ||
	    sd_event_add_signal(event, NULL, SIGHUP, on_reload, service) < 0 ||
	    sd_event_set_watchdog(event, true) < 0)
		return sw_fail_nomem(err);
	return 0;
}

/* Signals come as events; before there is a loop, they wait. */
static void block_signals(sigset_t *ret_before)
{
	sigset_t set;
	(void) sigemptyset(&set); /* these three cannot fail with valid numbers */
	(void) sigaddset(&set, SIGTERM);
	(void) sigaddset(&set, SIGINT);
	(void) sigaddset(&set, SIGHUP);
	(void) sigprocmask(SIG_BLOCK, &set, ret_before);
}

/* Once, rather than in every dump. */
static void say_iterator(const struct sw_config *config, const struct sw_spawner *spawner)
{
	if (spawner->iterator_refused[0] == '\0' || config->stop == SW_STOP_ALWAYS)
		return;
	sw_log(config->stop == SW_STOP_NEVER ? SW_LOG_ERROR : SW_LOG_NOTICE, "%s: %s",
	       config->stop == SW_STOP_NEVER ? "Stop=never: no capture can be made"
					     : "captures stop all threads",
	       spawner->iterator_refused);
}

static int serve(struct service *service, struct sw_spawner *spawner, struct sw_error *err)
{
	struct sw_broker *broker = &service->broker;
	int r = sw_on_dump_create(service->config, &broker->jobs.publisher.on_dump, err);
	if (r == 0)
		r = sw_server_listen(&broker->server, service->config->socket_path, err);
	if (r == 0)
		r = sw_sandbox_broker(service->config, err);
	if (r == 0)
		r = sw_broker_start(broker, spawner, err);
	if (r == 0)
		r = add_signals(service, err);
	if (r < 0)
		return r;
	say_iterator(service->config, spawner);
	(void) sd_notify(0, "READY=1\nSTATUS=Ready"); /* nobody listens: fine */
	(void) malloc_trim(0);                        /* what the start needed */
	return sw_broker_run(broker, err);
}

static int run(struct service *service)
{
	struct sw_error err = {0};
	struct sw_spawner spawner = {.fd = -EBADF, .pidfd = -EBADF};
	int r = config_load(&service->arguments, to_log, &service->config, &err);
	if (r == 0 && service->config->user_mode && service->config->socket_path == NULL)
		r = sw_fail(&err, SW_E_INVALID, "--user needs XDG_RUNTIME_DIR or --socket");
	if (r == 0)
		r = sw_prepare(service->config, to_log, to_log, NULL, &err);
	if (r == 0)
		r = sw_broker_init(&service->broker, service->config, &err);
	if (r == 0) {
		make_directories(service->config); /* there is a user to give them to */
		r = sw_spawner_start(service->config, &spawner, &err);
	}
	if (r == 0) {
		sigset_t before;
		block_signals(&before);
		r = serve(service, &spawner, &err);
		sw_broker_deinit(&service->broker);
		sw_spawner_stop(&spawner);
	}
	if (r < 0)
		sw_log(SW_LOG_ERROR, "%s", err.message);
	if (service->config != NULL)
		sw_config_deinit(service->config);
	free(service->config);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check(const struct arguments *arguments)
{
	struct sw_config *config = NULL;
	struct sw_error err = {0};
	if (config_load(arguments, to_stderr, &config, &err) < 0) {
		fprintf(stderr, "snapwalkd: %s\n", err.message);
		return EXIT_FAILURE;
	}
	int status = EXIT_SUCCESS;
	if (sw_prepare(config, to_stderr, to_stderr, NULL, &err) < 0) {
		fprintf(stderr, "snapwalkd: %s\n", err.message);
		status = EXIT_FAILURE;
	}
	if (config->n_problems > 0)
		status = EXIT_FAILURE;
	sw_config_deinit(config);
	free(config);
	return status;
}

/* Reads no configuration: the unit calls it with the privileges of root. */
static int change_programs(int (*change)(struct sw_error *err))
{
	struct sw_error err = {0};
	if (change(&err) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "snapwalkd: %s\n", err.message);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct service service = {0};
	int status;
	if (!arguments_parse(argc, argv, &service.arguments, &status))
		return status;
	if (service.arguments.programs != NULL)
		return change_programs(service.arguments.programs);
	if (service.arguments.check)
		return check(&service.arguments);
	prepare_process();
	return run(&service);
}
