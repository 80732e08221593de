/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/authorize.h"
#include "policy/program.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum {
	CALLER_GROUPS_MAX = 65536, /* NGROUPS_MAX, include/uapi/linux/limits.h */
	GROUP_BUFFER_FIRST = 1024,
	GROUP_BUFFER_MAX = 1 << 20,
	STATUS_TEXT_MAX = 64 * 1024,
	MAP_TEXT_MAX = 64 * 1024,
};

const char *sw_deny_name(enum sw_deny_rule rule)
{
	switch (rule) {
	case SW_DENY_NONE: return "none";
	case SW_DENY_OWNER: return "owner";
	case SW_DENY_DUMPABLE: return "dumpable";
	case SW_DENY_LIST: return "deny";
	case SW_DENY_KERNEL: return "kernel";
	case SW_DENY_ROOT_ONLY: return "root_only";
	case SW_DENY_NAMESPACE: return "namespace";
	case SW_DENY_EVENTS: return "events";
	case SW_DENY_FUNCTIONS: return "functions";
	}
	return "unknown";
}

/* ---- the caller ------------------------------------------------------------------------------ */

bool sw_group_find(const char *name, gid_t *ret)
{
	for (size_t size = GROUP_BUFFER_FIRST; size <= GROUP_BUFFER_MAX; size *= 2) {
		sw_cleanup(sw_free_p) char *buffer = malloc(size);
		struct group group, *found = NULL;
		if (buffer == NULL)
			return false;
		int rc = getgrnam_r(name, &group, buffer, size, &found);
		if (rc == ERANGE)
			continue; /* a group with many members */
		if (rc != 0 || found == NULL)
			return false;
		*ret = found->gr_gid;
		return true;
	}
	return false;
}

bool sw_group_has_others(const struct sw_config *config, gid_t gid, const char *user)
{
	gid_t callers;
	if (config->group != NULL && sw_group_find(config->group, &callers) && callers == gid)
		return true;
	for (size_t size = GROUP_BUFFER_FIRST; size <= GROUP_BUFFER_MAX; size *= 2) {
		sw_cleanup(sw_free_p) char *buffer = malloc(size);
		struct group group, *found = NULL;
		int rc = buffer != NULL ? getgrgid_r(gid, &group, buffer, size, &found) : ENOMEM;
		if (rc == ERANGE)
			continue; /* a group with many members */
		if (rc != 0 || found == NULL)
			return true;
		for (char **member = found->gr_mem; *member != NULL; member++)
			if (strcmp(*member, user) != 0)
				return true;
		return false;
	}
	return true;
}

static bool caller_in_group(const struct sw_config *config, const struct sw_caller *caller)
{
	gid_t gid = config->group_gid;
	bool found = config->group_looked_up
			     ? config->group_found
			     : config->group != NULL && sw_group_find(config->group, &gid);
	if (!found)
		return false;
	if (caller->gid == gid)
		return true;
	for (size_t i = 0; i < caller->n_groups; i++)
		if (caller->groups[i] == gid)
			return true;
	return false;
}

/* In user mode the only users are the daemon's own and root: Group= is about the system's daemon,
 * whose members may capture everything. */
static bool caller_is_privileged(const struct sw_config *config, const struct sw_caller *caller)
{
	if (caller->uid == 0)
		return true;
	return config->user_mode ? caller->uid == geteuid() : caller_in_group(config, caller);
}

static int caller_read_groups(int socket_fd, struct sw_caller *caller, struct sw_error *err)
{
	gid_t some[64];
	socklen_t size = sizeof(some);
	sw_cleanup(sw_free_p) gid_t *many = NULL;
	const gid_t *groups = some;
	int rc = getsockopt(socket_fd, SOL_SOCKET, SO_PEERGROUPS, some, &size);
	if (rc < 0 && errno == ERANGE && size <= CALLER_GROUPS_MAX * sizeof(gid_t)) {
		/* The kernel has written how much it needs; the groups were fixed at connect. */
		many = malloc(size);
		if (many == NULL)
			return sw_fail_nomem(err);
		groups = many;
		rc = getsockopt(socket_fd, SOL_SOCKET, SO_PEERGROUPS, many, &size);
	}
	if (rc < 0)
		return sw_fail_errno(err, SW_E_IO, "groups of the caller");
	size_t n = size / sizeof(gid_t);
	caller->groups = calloc(n > 0 ? n : 1, sizeof(gid_t));
	if (caller->groups == NULL)
		return sw_fail_nomem(err);
	memcpy(caller->groups, groups, n * sizeof(gid_t));
	caller->n_groups = n;
	return 0;
}

int sw_caller_init(const struct sw_config *config, int socket_fd, struct sw_caller *ret,
		   struct sw_error *err)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return sw_fail_errno(err, SW_E_IO, "credentials of the caller");
	/* A socket that nobody is connected to has pid 0 and the ids -1. */
	if (cred.pid <= 0 && cred.uid == (uid_t) -1)
		return sw_fail(err, SW_E_IO, "the caller has no credentials");
	struct sw_caller caller = {.pid = cred.pid, .uid = cred.uid, .gid = cred.gid};
	int rc = caller_read_groups(socket_fd, &caller, err);
	if (rc < 0)
		return rc;
	caller.privileged = caller_is_privileged(config, &caller);
	sw_cleanup(sw_close_p) int pidfd = sw_peer_pidfd(socket_fd, cred.pid);
	caller.borrowed_ids = !sw_peer_ids_are_real(pidfd, cred.pid, cred.uid, cred.gid);
	*ret = caller;
	return 0;
}

void sw_caller_place(const struct sw_config *config, struct sw_caller *caller,
		     struct sw_user_ns user_ns)
{
	/* A user's own daemon may look at that user's processes, also in namespaces of theirs; whom
	 * it cannot look at is root or nobody that it serves. */
	caller->same_user_ns = sw_user_ns_equal(user_ns, sw_user_ns_self()) ||
			       (config->user_mode && user_ns.ino == 0);
}

bool sw_caller_is_privileged(const struct sw_config *config, const struct sw_caller *caller)
{
	return caller->privileged && (!config->require_same_namespace || caller->same_user_ns);
}

/* whom: enum sw_events_for. */
static bool is_one_of(const struct sw_config *config, const struct sw_caller *caller, uint32_t whom)
{
	switch ((enum sw_events_for) whom) {
	case SW_EVENTS_OWNERS: return true;
	case SW_EVENTS_GROUP: return sw_caller_is_privileged(config, caller);
	case SW_EVENTS_ROOT: return caller->uid == 0 && sw_caller_is_privileged(config, caller);
	case SW_EVENTS_NOBODY: break;
	}
	return false;
}

enum sw_deny_rule sw_authorize_events(const struct sw_config *config,
				      const struct sw_caller *caller)
{
	return is_one_of(config, caller, config->events) ? SW_DENY_NONE : SW_DENY_EVENTS;
}

enum sw_deny_rule sw_authorize_functions(const struct sw_config *config,
					 const struct sw_caller *caller)
{
	enum sw_deny_rule rule = sw_authorize_events(config, caller);
	if (rule == SW_DENY_NONE && !is_one_of(config, caller, config->function_events))
		rule = SW_DENY_FUNCTIONS;
	return rule;
}

void sw_caller_deinit(struct sw_caller *caller)
{
	free(caller->groups);
	*caller = (struct sw_caller){0};
}

/* ---- the target ------------------------------------------------------------------------------ */

/* The line of a key in /proc/PID/status, behind "Key:\t"; NULL when there is none. "Name:" is the
 * first line, and a newline in a name is written as \n: no name can pretend to be a line. */
static const char *status_find(const char *status, const char *key)
{
	size_t length = strlen(key);
	for (const char *line = status; line != NULL && *line != '\0';) {
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return line + length + 1;
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return NULL;
}

/* Real, effective, saved; the fourth (file system) follows the effective one. */
static bool status_ids(const char *status, const char *key, uint32_t ret[3])
{
	const char *line = status_find(status, key);
	return line != NULL && sscanf(line, "%u %u %u", &ret[0], &ret[1], &ret[2]) == 3;
}

/*
 * A worker may ask for the namespace itself. Others see where an id of the process goes in this
 * one's user namespace; both files say it as seen by the reader, so that two maps are the same text in
 * the same namespace; they are it, too, in one that root has made with a map of everything to itself.
 */
static struct sw_user_ns user_namespace(int proc_fd)
{
	static const struct sw_user_ns another = {0};
	const struct sw_user_ns own = sw_user_ns_self(), ns = sw_user_ns_read(proc_fd);
	if (ns.ino != 0)
		return sw_user_ns_equal(ns, own) ? own : another;
	sw_cleanup(sw_text_deinit) struct sw_text ours = {0};
	sw_cleanup(sw_text_deinit) struct sw_text theirs = {0};
	if (sw_text_read_at(&ours, AT_FDCWD, "/proc/self/uid_map", MAP_TEXT_MAX) < 0 ||
	    sw_text_read_at(&theirs, proc_fd, "uid_map", MAP_TEXT_MAX) < 0)
		return another;
	bool same = ours.size == theirs.size && memcmp(ours.data, theirs.data, ours.size) == 0;
	return same ? own : another;
}

static bool read_exe_at(int dirfd, const char *name, char *ret, size_t size)
{
	ssize_t n = readlinkat(dirfd, name, ret, size - 1);
	ret[n > 0 && (size_t) n < size - 1 ? n : 0] = '\0';
	return n >= 0 || errno != ENOENT; /* not permitted: asking the threads is no better */
}

static void read_exe(int proc_fd, char *ret, size_t size)
{
	if (read_exe_at(proc_fd, "exe", ret, size))
		return;
	sw_cleanup(sw_close_p) int fd = sw_program_thread_open(proc_fd);
	if (fd >= 0)
		(void) read_exe_at(fd, "exe", ret, size); /* or it is gone: none is known */
}

static int fail_proc(const char *what, struct sw_error *err)
{
	if (errno == EACCES || errno == EPERM)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "%s of the target", what);
	if (sw_errno_is_shortage(errno))
		return sw_fail_errno(err, SW_E_IO, "%s of the target", what);
	return sw_fail(err, SW_E_EXITED, "the target has just exited");
}

int sw_target_proc_open(pid_t pid)
{
	char path[32];
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int sw_target_creds_read(int proc_fd, struct sw_target_creds *ret, struct sw_error *err)
{
	struct sw_target_creds creds = {0};
	struct sw_target_rights *rights = &creds.rights;
	sw_cleanup(sw_text_deinit) struct sw_text status = {0}, comm = {0};
	struct stat st;
	int rc = sw_text_read_at(&status, proc_fd, "status", STATUS_TEXT_MAX);
	if (rc == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (rc < 0)
		return fail_proc("status", err);
	const char *caps = status_find(status.data, "CapPrm");
	if (!status_ids(status.data, "Uid", rights->uid) ||
	    !status_ids(status.data, "Gid", rights->gid) || caps == NULL ||
	    sscanf(caps, "%" SCNx64, &rights->cap_permitted) != 1)
		return sw_fail(err, SW_E_EXITED, "the target has just exited");
	static const char *const others[] = {"CapEff", "CapInh", "CapBnd", "CapAmb"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++) {
		const char *set = status_find(status.data, others[i]);
		if (set == NULL || sscanf(set, "%" SCNx64, &rights->caps[i]) != 1)
			return sw_fail(err, SW_E_EXITED, "the target has just exited");
	}
	/*
	 * The files of a process that is not dumpable belong to the root of its user namespace
	 * (task_dump_owner in fs/proc/base.c, Linux 6.1); fstatat asks anew every time. A process
	 * of root itself looks the same either way: who is not root may not look at it anyhow.
	 */
	if (fstatat(proc_fd, "status", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_proc("owner", err);
	rights->dumpable = st.st_uid == rights->uid[1] && st.st_gid == rights->gid[1];
	rights->user_ns = user_namespace(proc_fd);
	if (sw_text_read_at(&comm, proc_fd, "comm", STATUS_TEXT_MAX) == 0 && comm.size > 0) {
		comm.data[strcspn(comm.data, "\n")] = '\0';
		(void) snprintf(creds.comm, sizeof(creds.comm), "%s", comm.data); /* 63: enough */
	}
	read_exe(proc_fd, creds.exe, sizeof(creds.exe));
	*ret = creds;
	return 0;
}

void sw_target_creds_mix(struct sw_target_creds *creds, const struct sw_target_creds *other)
{
	const uint32_t before = creds->rights.mixed;
	creds->rights.mixed = other->rights.mixed;
	const bool same = memcmp(&creds->rights, &other->rights, sizeof(creds->rights)) == 0;
	const bool same_users =
		memcmp(creds->rights.uid, other->rights.uid, sizeof(creds->rights.uid)) == 0;
	creds->rights.mixed |= before;
	if (!same)
		creds->rights.mixed |= same_users ? SW_MIXED_OTHERS : SW_MIXED_USERS;
	if (strcmp(creds->comm, other->comm) != 0 || strcmp(creds->exe, other->exe) != 0)
		creds->rights.mixed |= SW_MIXED_NAMES;
}

struct sw_subject sw_target_subject(const struct sw_target_creds *creds)
{
	_Static_assert(sizeof(creds->rights) == 6 * 4 + 5 * 8 + 2 * 8 + 2 * 4,
		       "rights are compared as bytes");
	return (struct sw_subject){.rights = creds->rights, .comm = creds->comm, .exe = creds->exe};
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* The link of a program whose file was replaced meanwhile ends so; it is still that program. */
static bool exe_is(const char *exe, const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path);
	return strncmp(exe, path, length) == 0 &&
	       (exe[length] == '\0' || strcmp(exe + length, deleted) == 0);
}

static bool uid_is(const struct sw_target_rights *target, const char *text)
{
	char *end;
	errno = 0;
	unsigned long uid = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0')
		return false;
	return target->uid[0] == uid || target->uid[1] == uid || target->uid[2] == uid;
}

static bool word_means(const char *word, const struct sw_subject *subject)
{
	if (strncmp(word, "uid:", 4) == 0)
		return (subject->rights.mixed & SW_MIXED_USERS) != 0 ||
		       uid_is(&subject->rights, word + 4);
	if ((subject->rights.mixed & SW_MIXED_NAMES) != 0)
		return true;
	if (word[0] == '/')
		return exe_is(subject->exe, word);
	return strcmp(subject->comm, word) == 0;
}

/*
 * Looked at by the broker, for an early answer, and by the worker while the target is stopped. The
 * broker cannot see whose exe it is when the process is not its own (exe is ""), the worker can.
 */
static bool is_denied(const struct sw_config *config, const struct sw_subject *subject)
{
	for (char **deny = config->deny; deny != NULL && *deny != NULL; deny++)
		if (word_means(*deny, subject))
			return true;
	return false;
}

enum sw_deny_rule sw_authorize(const struct sw_config *config, const struct sw_caller *caller,
			       const struct sw_subject *subject)
{
	const struct sw_target_rights *target = &subject->rights;
	if (is_denied(config, subject))
		return SW_DENY_LIST;
	if (sw_caller_is_privileged(config, caller))
		return SW_DENY_NONE;
	/*
	 * __ptrace_may_access (kernel/ptrace.c, Linux 6.1), in its order: all three ids are the
	 * caller's; the memory is dumpable; and of cap_ptrace_access_check (security/commoncap.c):
	 * the same user namespace and no capability more than the caller's. What the caller's are
	 * is not known from the socket, so that we take none: stricter than the kernel for callers
	 * with capabilities and for owners of a user namespace, never more lenient. What a security
	 * module confines the caller to (Landlock, say) cannot be known from outside.
	 */
	if (config->require_same_namespace && !caller->same_user_ns)
		return SW_DENY_NAMESPACE;
	if (caller->borrowed_ids || (target->mixed & SW_MIXED_RIGHTS) != 0)
		return SW_DENY_OWNER;
	for (int i = 0; i < 3; i++)
		if (target->uid[i] != caller->uid || target->gid[i] != caller->gid)
			return SW_DENY_OWNER;
	/* The namespace of a dump that is kept may have been that of a daemon which ran elsewhere. */
	if (!target->dumpable || target->cap_permitted != 0 ||
	    !sw_user_ns_equal(target->user_ns, sw_user_ns_self()))
		return SW_DENY_DUMPABLE;
	return SW_DENY_NONE;
}

/* The kernel would not let the user whose it is look at it: a set-user-ID program, say. */
static bool is_for_the_privileged(const struct sw_target_rights *r)
{
	for (int i = 0; i < 3; i++)
		if (r->uid[i] != r->uid[0] || r->gid[i] != r->gid[0])
			return true;
	return (r->mixed & SW_MIXED_RIGHTS) != 0 || !r->dumpable || r->user_ns.ino == 0 ||
	       r->cap_permitted != 0;
}

bool sw_rights_imply(const struct sw_target_rights *rights, const struct sw_target_rights *others)
{
	if (rights->uid[0] == 0 || is_for_the_privileged(rights))
		return true;
	return !is_for_the_privileged(others) && others->uid[0] == rights->uid[0] &&
	       others->gid[0] == rights->gid[0];
}

enum sw_deny_rule sw_authorize_change(const struct sw_config *config,
				      const struct sw_caller *caller,
				      const struct sw_subject *subject,
				      const struct sw_kept_rights *dump)
{
	if (sw_caller_is_privileged(config, caller))
		return SW_DENY_NONE;
	enum sw_deny_rule rule = sw_authorize(config, caller, subject);
	if (rule == SW_DENY_NONE && (dump->alert || dump->by != caller->uid ||
				     (dump->pinned && dump->pinned_by != caller->uid)))
		rule = SW_DENY_ROOT_ONLY;
	return rule == SW_DENY_NONE || rule == SW_DENY_NAMESPACE ? rule : SW_DENY_ROOT_ONLY;
}
