/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_CONFIG_SETTINGS_H
#define SW_DAEMON_CONFIG_SETTINGS_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_CONFIG_KEYS_MAX = 40 };

/* The callers that may see events of a process which they may capture: each value includes those before it. */
enum sw_events_for { SW_EVENTS_NOBODY, SW_EVENTS_ROOT, SW_EVENTS_GROUP, SW_EVENTS_OWNERS };

/*
 * snapwalk.conf(5): every limit that a client or target can run into. settings.c has the table of
 * keys with defaults and ranges; unknown keys and bad values are warned about with file and line.
 */
struct sw_config {
	char *socket_path;  /* --socket; NULL: /run/snapwalk/io.snapwalk, or activation */
	char *state_dir;    /* StateDirectory=; /var/lib/snapwalk */
	char *cache_dir;    /* CacheDirectory=; SW_SYSTEM_CACHE_DIR/daemon */
	char *rules_dir;    /* RulesDirectory=; /etc/snapwalk/rules.d */
	char *user;         /* User= to become when started as root; "snapwalk" */
	char *group;        /* Group= whose members may capture everything; "snapwalk" */
	char *trigger_user; /* TriggerUser= who may call Trigger besides root and Group=;
			     * "snapwalk-gate" */
	char *ship_user;    /* ShipUser= who may see every dump that is kept, and capture none;
			     * "snapwalk-ship" */
	char **deny;        /* Deny= comm, exe path or uid:N, never captured; NULL-terminated */
	char **on_dump;     /* OnDump= command and arguments; NULL: none */
	char *on_dump_user; /* OnDumpUser=; "nobody" */
	bool user_mode;     /* --user: own processes only, no capabilities */
	bool store;         /* Store= */
	bool require_same_namespace; /* RequireSameNamespace=; of caller and daemon */

	uint32_t events;             /* Events= root; enum sw_events_for */
	uint32_t function_events;    /* FunctionEvents= no; enum sw_events_for */
	uint32_t stop;               /* Stop= auto; enum sw_stop_mode */
	uint32_t max_stop_ms;        /* MaxStopMs= 100 */
	uint32_t timeout_ms;         /* TimeoutMs= 10000: a whole call, then the worker is killed */
	uint32_t names_timeout_ms;   /* NamesTimeoutMs= 2000 */
	uint32_t workers;            /* Workers= 2 at once */
	uint32_t queue;              /* Queue= 64 captures waiting */
	uint32_t connections;        /* Connections= 256 */
	uint32_t connections_uid;    /* ConnectionsPerUid= 64 */
	uint32_t idle_ms;            /* IdleSec= 300: without a call; 0: for ever */
	uint32_t min_interval_ms;    /* MinIntervalSec= 5: a younger dump is returned again */
	uint32_t rate_per_minute;    /* RatePerMinute= 60: captures of one uid (not root) */
	uint32_t rate_burst;         /* RateBurst= 20 */
	uint32_t stop_percent_x100;  /* StopPercent= 1.00: of wall time, per target, over 60 s */
	uint32_t worker_memory_mib;  /* WorkerMemory= 1024, RLIMIT_AS of a worker */
	uint32_t profile_cpu_x100;   /* ProfileCPU= 1.00: of a CPU, for sections [profile NAME] */
	uint32_t on_dump_timeout_ms; /* OnDumpTimeoutSec= 30 */
	uint64_t dump_bytes_max;     /* DumpMax= 64M, as JSON */
	uint64_t store_max_use;      /* MaxUse= 512M */
	uint64_t store_keep_free;    /* KeepFree= 256M */
	uint64_t store_max_age_s;    /* MaxAge= 30d; 0: for ever */
	uint32_t store_max_files;    /* MaxFiles= 1000 */
	bool group_looked_up, group_found; /* sw_group_find() was asked before the sandbox */
	uint32_t group_gid;                /* Group=, when found; not looked up: at each caller */
	bool own_group_is_alone; /* the daemon's own group has no other members: likewise, before the sandbox */
	size_t n_problems; /* unknown keys, bad values */
	size_t n_unsafe;   /* of them, in what protects: not to be started or reloaded with */
	struct sw_config_place {
		char path[256];       /* cut: it is for messages */
		unsigned line;        /* from 1; 0: no file gave it a value */
	} places[SW_CONFIG_KEYS_MAX]; /* by key: sw_config_key_place() */
};

/* Words of Stop= and of the option "stop" of calls, by enum sw_stop_mode; NULL-terminated. */
extern const char *const sw_config_stop_modes[];
/* Words of Events= and FunctionEvents=, by enum sw_events_for; NULL-terminated. */
extern const char *const sw_config_events_for[];
/* Words for a profile, by enum sw_record_mode; NULL-terminated. */
extern const char *const sw_config_profile_modes[];
bool sw_config_mode_is_cpu(uint32_t mode);

/* Where problems are reported: "file:line: what". */
typedef void sw_config_say_fn(void *arg, const char *message);

/* Defaults. -SW_E_NOMEM. */
int sw_config_init(struct sw_config *config);
void sw_config_deinit(struct sw_config *config);

/* path (NULL: /etc/snapwalk/snapwalk.conf) and its drop-ins path.d/NAME.conf in order of name. A
 * missing main file is no error unless path was given. Keys stand in section [snapwalkd] or in none. */
int sw_config_load(struct sw_config *config, const char *path, sw_config_say_fn *say, void *arg,
		   struct sw_error *err);

/* Where a key was given its value; the config's. NULL: nowhere, it has its default. */
const struct sw_config_place *sw_config_key_place(const struct sw_config *config, const char *name);
/* Names the keys that differ and that only a restart makes hold. How many. */
size_t sw_config_restart_needed(const struct sw_config *old, const struct sw_config *new,
				sw_config_say_fn *say, void *arg);

#endif
