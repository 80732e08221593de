/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_POLICY_AUTHORIZE_H
#define SW_DAEMON_POLICY_AUTHORIZE_H

#include "config/settings.h"
#include "policy/namespace.h"

#include <sys/types.h>

/* The rule for captures is the kernel's (__ptrace_may_access in kernel/ptrace.c) as it would apply
 * to the caller; root and the members of Group= may capture all; Deny= wins over everybody. */
enum sw_deny_rule {
	SW_DENY_NONE,      /* permitted */
	SW_DENY_OWNER,     /* uids or gids differ */
	SW_DENY_DUMPABLE,  /* the process protects itself, or has capabilities the caller lacks */
	SW_DENY_LIST,      /* Deny= */
	SW_DENY_KERNEL,    /* the kernel refuses us */
	SW_DENY_ROOT_ONLY, /* this method is for root and Group= */
	SW_DENY_NAMESPACE, /* RequireSameNamespace=: the caller is in another user namespace */
	SW_DENY_EVENTS,    /* Events= */
	SW_DENY_FUNCTIONS, /* FunctionEvents= */
};
const char *sw_deny_name(enum sw_deny_rule rule); /* wire name, static */

/* The other end of a connection, at connect time. */
struct sw_caller {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned */
	size_t n_groups;
	bool privileged;   /* by its ids: root, our own uid in user mode, or member of Group= */
	bool same_user_ns; /* as ours; false: another, or unknown */
	bool borrowed_ids; /* a set-user-ID program's: not the real ones */
};

/* The id of a group. May load modules and ask a service: to be called with config->group before the
 * sandbox is entered, config->group_looked_up and the two behind it say the result. */
bool sw_group_find(const char *name, gid_t *ret);

/* Whether a group may have members beside a user: it is the group of the callers, has others as members, or cannot be
 * looked up. To be called before the sandbox is entered, likewise. */
bool sw_group_has_others(const struct sw_config *config, gid_t gid, const char *user);

/* SO_PEERCRED, SO_PEERGROUPS. 0; -SW_E_IO; -SW_E_NOMEM. */
int sw_caller_init(const struct sw_config *config, int socket_fd, struct sw_caller *ret,
		   struct sw_error *err);
void sw_caller_deinit(struct sw_caller *caller);
/* Says in which user namespace it is, which only a process with CAP_SYS_PTRACE can find out. */
void sw_caller_place(const struct sw_config *config, struct sw_caller *caller,
		     struct sw_user_ns user_ns);

/* The facts that decide who may see a process. Compared as bytes: no padding. */
struct sw_target_rights {
	uint32_t uid[3], gid[3];         /* real, effective, saved */
	uint64_t cap_permitted, caps[4]; /* effective, inheritable, bounding, ambient */
	/* The namespace in which its ids and capabilities mean what ours do: the daemon's, when the
	 * process is in it; ino 0: it is in another one. By the namespace where the kernel lets us
	 * look, otherwise by its maps. */
	struct sw_user_ns user_ns;
	uint32_t dumpable;
	uint32_t mixed; /* SW_MIXED_*: of several looks that found different things */
};
enum {
	SW_MIXED_USERS = 1, /* either may be the user of Deny=; the bit is kept, see store/file.h */
	SW_MIXED_NAMES = 2, /* either may be the name or the program of Deny= */
	SW_MIXED_OTHERS = 4, /* groups, capabilities, namespace, dumpable; the users are the same */
	SW_MIXED_RIGHTS = SW_MIXED_USERS | SW_MIXED_OTHERS, /* only the privileged may see both */
};

/* The facts on a process that the rule needs, by value. */
struct sw_target_creds {
	struct sw_target_rights rights;
	char comm[64];
	char exe[4096]; /* "" unknown */
};

/* The /proc/PID directory of a process; -1 and errno: it cannot be opened. */
int sw_target_proc_open(pid_t pid);
/* Reads through a /proc/PID directory. 0; -SW_E_EXITED; -SW_E_NOT_PERMITTED. */
int sw_target_creds_read(int proc_fd, struct sw_target_creds *ret, struct sw_error *err);
/* Adds what another look has found: SW_MIXED_*. */
void sw_target_creds_mix(struct sw_target_creds *creds, const struct sw_target_creds *other);

/* The process whose stacks a caller wants: one that runs, or one whose dump is kept. Borrows its
 * strings. */
struct sw_subject {
	struct sw_target_rights rights;
	const char *comm, *exe;
};
struct sw_subject sw_target_subject(const struct sw_target_creds *creds);

/* May this caller see and change everything but what Deny= names? With RequireSameNamespace= nobody may from another
 * user namespace. Asked at each call, as a reload may change that key while a connection lasts. */
bool sw_caller_is_privileged(const struct sw_config *config, const struct sw_caller *caller);

/* May this caller see events of a process that they may capture? SW_DENY_NONE or SW_DENY_EVENTS. */
enum sw_deny_rule sw_authorize_events(const struct sw_config *config,
				      const struct sw_caller *caller);
/* The same of events at functions, for which the code of the process is changed. SW_DENY_FUNCTIONS, too. */
enum sw_deny_rule sw_authorize_functions(const struct sw_config *config,
					 const struct sw_caller *caller);

/* The decision, for live processes and for stored dumps. The privileged are refused by Deny= only. */
enum sw_deny_rule sw_authorize(const struct sw_config *config, const struct sw_caller *caller,
			       const struct sw_subject *subject);
/* May everybody who may see a process with these rights see one with the others, too? Deny= aside. */
bool sw_rights_imply(const struct sw_target_rights *rights, const struct sw_target_rights *others);

/* The facts on a kept dump besides its subject, as sw_store_entry has them. */
struct sw_kept_rights {
	uid_t by;
	bool alert, pinned;
	uid_t pinned_by;
};
/*
 * May this caller delete, pin or unpin it? The privileged any; others what they may see and have asked
 * for themselves, unless somebody else has pinned it: what a rule or an administrator has captured of a
 * user's process is not that user's to remove. SW_DENY_NONE, SW_DENY_ROOT_ONLY or SW_DENY_NAMESPACE.
 */
enum sw_deny_rule sw_authorize_change(const struct sw_config *config,
				      const struct sw_caller *caller,
				      const struct sw_subject *subject,
				      const struct sw_kept_rights *dump);

#endif
