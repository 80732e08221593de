/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/roles.h"
#include "sandbox/seccomp.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/caps.h>
#include <confine/landlock.h>
#include <confine/seccomp.h>
#include <snapwalk/symbolize.h>

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum {
	MS_PER_S = 1000,
	CPU_EXTRA_S = 10, /* beyond the time for names; the broker's deadline comes first */
	MIB = 1 << 20,
};

static const char debug_dir[] = "/usr/lib/debug";
static const uint64_t capture_caps = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1)
									     << CAP_DAC_READ_SEARCH;
static const uint64_t events_cap = UINT64_C(1) << CAP_PERFMON;
static const uint64_t programs_cap = UINT64_C(1) << CAP_BPF;
static const uint64_t probes_cap = UINT64_C(1) << CAP_SYS_ADMIN;

static bool keeps_user(const struct sw_config *config)
{
	return config->user_mode || geteuid() != 0;
}

static int user_find(const struct sw_config *config, const struct passwd **ret,
		     struct sw_error *err)
{
	const struct passwd *user = getpwnam(config->user);
	if (user == NULL)
		return sw_fail(err, SW_E_NOT_FOUND,
			       "there is no user %s to run as (User=): make it with 'useradd "
			       "--system %s'",
			       config->user, config->user);
	if (user->pw_uid == 0)
		return sw_fail(err, SW_E_INVALID, "User=%s is root: give a user without privileges",
			       config->user);
	*ret = user;
	return 0;
}

int sw_sandbox_check_user(const struct sw_config *config, struct sw_error *err)
{
	const struct passwd *user = NULL;
	return keeps_user(config) ? 0 : user_find(config, &user, err);
}

/* Effective capabilities are gone afterwards, permitted ones are not. */
static int become_user(const struct sw_config *config, struct sw_error *err)
{
	const struct passwd *user = NULL;
	int r = keeps_user(config) ? 1 : user_find(config, &user, err);
	if (r != 0)
		return r < 0 ? r : 0;
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || initgroups(user->pw_name, user->pw_gid) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "cannot become user %s",
				     config->user);
	return 0;
}

/* After the change of user, which makes the kernel forget them: prctl(2), PR_SET_DUMPABLE. */
static int protect(struct sw_error *err)
{
	const struct rlimit none = {0};
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot give up new privileges");
	return 0;
}

static int descend(const struct sw_config *config, uint64_t keep, struct sw_error *err)
{
	sw_caps_bound(keep); /* first: needs a capability that the change of user puts to rest */
	int r = become_user(config, err);
	if (r == 0)
		r = sw_caps_keep(keep, err);
	return r < 0 ? r : protect(err);
}

/* Workers of events load programs into the kernel. */
static bool loads_programs(const struct sw_config *config)
{
	return config->events != SW_EVENTS_NOBODY && !config->user_mode;
}

bool sw_sandbox_has_probes(const struct sw_config *config)
{
	return loads_programs(config) && config->function_events != SW_EVENTS_NOBODY;
}

int sw_sandbox_prober(const struct sw_config *config, struct sw_error *err)
{
	int r = descend(config, events_cap | probes_cap, err);
	return r < 0 ? r : sw_seccomp_prober(err);
}

int sw_sandbox_spawner(const struct sw_config *config, struct sw_error *err)
{
	uint64_t keep = config->user_mode ? 0 : capture_caps | events_cap;
	if (loads_programs(config))
		keep |= programs_cap;
	sw_caps_allow_realtime();
	return descend(config, keep, err);
}

int sw_sandbox_spawner_begin(const struct sw_config *config, struct sw_error *err)
{
	return sw_seccomp_spawner(loads_programs(config), sw_sandbox_has_probes(config), err);
}

int sw_sandbox_worker_begin(enum sw_worker_needs needs, struct sw_error *err)
{
	if (needs == SW_WORKER_NEEDS_PROGRAMS)
		return 0;
	int r = sw_caps_keep(needs == SW_WORKER_NEEDS_EVENTS ? capture_caps | events_cap
							     : capture_caps,
			     err);
	return r < 0 ? r : sw_seccomp_no_programs(err);
}

int sw_sandbox_broker(const struct sw_config *config, struct sw_error *err)
{
	int r = descend(config, 0, err);
	return r < 0 ? r : sw_seccomp_broker(err);
}

/* Address space in use: the first number of /proc/self/statm, in pages. */
static uint64_t address_space_bytes(void)
{
	unsigned long pages = 0;
	sw_cleanup(sw_fclose_p) FILE *f = fopen("/proc/self/statm", "re");
	if (f == NULL || fscanf(f, "%lu", &pages) != 1)
		return 0;
	return (uint64_t) pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

static int limit(int resource, uint64_t value, struct sw_error *err)
{
	struct rlimit old;
	if (getrlimit(resource, &old) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot read a resource limit");
	if (old.rlim_max < value)
		value = old.rlim_max;
	const struct rlimit new = {.rlim_cur = value, .rlim_max = value};
	if (setrlimit(resource, &new) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot set a resource limit");
	return 0;
}

int sw_sandbox_unprivileged(const struct sw_config *config, struct sw_error *err)
{
	return descend(config, 0, err);
}

/* Debug files, what was unpacked of them, and dpkg's lists of files. */
static int landlock_enter(const struct sw_unpacked *unpacked, struct sw_error *err)
{
	struct sw_landlock_path paths[2 + SW_ARRAY_SIZE(unpacked->directories)];
	size_t n = 0;
	paths[n++] = (struct sw_landlock_path){.path = debug_dir, .access = SW_LANDLOCK_READ};
	paths[n++] =
		(struct sw_landlock_path){.path = SW_PACKAGE_LISTS, .access = SW_LANDLOCK_LIST};
	for (size_t i = 0; i < SW_ARRAY_SIZE(unpacked->directories); i++)
		if (unpacked->directories[i] != NULL)
			paths[n++] = (struct sw_landlock_path){.path = unpacked->directories[i],
							       .access = SW_LANDLOCK_READ};
	return sw_landlock_enter(paths, n, err);
}

/* more: of sw_seccomp_parser(). */
static int worker_confine(uint32_t memory_mib, uint32_t names_timeout_ms,
			  const struct sw_unpacked *unpacked, unsigned more, struct sw_error *err)
{
	uint64_t memory = address_space_bytes() + (uint64_t) memory_mib * MIB;
	int r = limit(RLIMIT_AS, memory, err);
	if (r == 0)
		r = limit(RLIMIT_CPU, names_timeout_ms / MS_PER_S + CPU_EXTRA_S, err);
	if (r == 0)
		r = limit(RLIMIT_FSIZE, 0, err);
	if (r == 0)
		r = protect(err);
	if (r == 0)
		r = sw_caps_keep(0, err);
	if (r == 0)
		r = landlock_enter(unpacked, err);
	return r < 0 ? r : sw_seccomp_parser(more, err);
}

int sw_sandbox_worker(uint32_t memory_mib, uint32_t names_timeout_ms,
		      const struct sw_unpacked *unpacked, struct sw_error *err)
{
	return worker_confine(memory_mib, names_timeout_ms, unpacked, 0, err);
}

int sw_sandbox_worker_with_probes(uint32_t memory_mib, uint32_t names_timeout_ms,
				  const struct sw_unpacked *unpacked, struct sw_error *err)
{
	return worker_confine(memory_mib, names_timeout_ms, unpacked, SW_SECCOMP_ITERATES, err);
}
