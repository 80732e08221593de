/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/sandbox.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "run/keep.h"
#include "run/sampled_files.h"
#include "run/trapped.h"

#include <confine/caps.h>
#include <confine/landlock.h>
#include <confine/owner.h>
#include <confine/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

enum { MODULES_MAX = 256, PATHS_MAX = 4 * MODULES_MAX + 8 };

static const uint64_t read_caps = UINT64_C(1) << CAP_DAC_READ_SEARCH;

/* The paths that Landlock lets the process open. */
struct paths {
	struct sw_local *local; /* borrowed */
	struct sw_landlock_path all[PATHS_MAX];
	size_t n;
	/* The directory of the module before: most of them lie in one. */
	char directory[PATH_MAX];
	int directory_fd; /* owned; -EBADF: it was refused, or is not there */
};

static void paths_deinit(struct paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->all[i].path == NULL)
			(void) close(p->all[i].fd); /* O_PATH, of a disk */
	if (p->directory_fd >= 0)
		(void) close(p->directory_fd); /* O_PATH, of a disk */
}

static void allow(struct paths *p, const char *path, enum sw_landlock_access access)
{
	if (p->n < PATHS_MAX)
		p->all[p->n++] = (struct sw_landlock_path){.path = path, .access = access};
}

static void allow_opened(struct paths *p, int fd)
{
	if (fd >= 0)
		p->all[p->n++] = (struct sw_landlock_path){.access = SW_LANDLOCK_READ, .fd = fd};
}

/*
 * The file NAMESUFFIX, or all below the directory of that name, beside a module. A debug file that is a link is not
 * opened (sw_image_map_beside()): what is opened here is what Landlock is told of.
 */
static void allow_name(struct paths *p, const char *name, size_t length, const char *suffix)
{
	char text[NAME_MAX + 1];
	int n = snprintf(text, sizeof(text), "%.*s%s", (int) length, name, suffix);
	if (n > 0 && (size_t) n < sizeof(text) && p->n < PATHS_MAX)
		allow_opened(p, sw_local_open_at(p->local, p->directory_fd, text, O_NOFOLLOW));
}

/*
 * The directory that the first bytes of a path name, which may be anybody's: sw_local_open() opens nothing on a file
 * system that may not answer. The path is the kernel's own and has no link.
 */
static bool directory_open(struct paths *p, const char *path, size_t length)
{
	if (strlen(p->directory) == length && memcmp(p->directory, path, length) == 0)
		return p->directory_fd >= 0;
	if (p->directory_fd >= 0)
		(void) close(p->directory_fd); /* O_PATH, of a disk */
	p->directory_fd = -EBADF;
	p->directory[0] = '\0';
	if (length >= sizeof(p->directory))
		return false;
	memcpy(p->directory, path, length);
	p->directory[length] = '\0';
	p->directory_fd = sw_local_open(p->local, p->directory, 0);
	return p->directory_fd >= 0;
}

/*
 * Debug files beside a module: DIR/.debug, DIR/NAME.debug, DIR/NAME.dwp, and DIR/STEM.debug of
 * STEM.so. Not all of DIR: a target may map /etc/shadow's neighbour.
 */
static void allow_beside(struct paths *p, const char *module)
{
	if (module[0] != '/')
		return;
	const char *name = strrchr(module, '/') + 1;
	const char *dot = strrchr(name, '.');
	if (!directory_open(p, module, (size_t) (name - module)))
		return;
	allow_name(p, "", 0, ".debug");
	allow_name(p, name, strlen(name), ".debug");
	allow_name(p, name, strlen(name), ".dwp");
	if (dot != NULL)
		allow_name(p, name, (size_t) (dot - name), ".debug");
}

/* A module that did not answer has no file, and one that a program serves has a copy without links:
 * debug files beside such a module are not looked for (sw_unit_is_here()). */
static bool has_file(const struct sw_module *module)
{
	struct stat st;
	int fd = sw_module_fd(module);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* The directories of debug files that were unpacked before. */
static void allow_unpacked(struct paths *p, const struct sw_options *options)
{
	const struct sw_unpacked *unpacked = options->symbolize.unpacked;
	for (size_t i = 0; unpacked != NULL && i < SW_ARRAY_SIZE(unpacked->directories); i++)
		if (unpacked->directories[i] != NULL)
			allow(p, unpacked->directories[i], SW_LANDLOCK_READ);
}

/* The user whose permissions open files. */
struct owner {
	uid_t uid;
	gid_t gid;
};

/* owner: as of give_up(). Files beside a module are not opened with root's permissions for another user. */
static void allow_debug_files(struct paths *p, const struct sw_options *options,
			      const struct sw_snapshot *snap, const struct owner *owner)
{
	allow_unpacked(p, options);
	p->local = sw_context_local(snap->ctx);
	const char *debug_dir = options->symbolize.debug_dir;
	allow_opened(p,
		     sw_local_open(p->local, debug_dir != NULL ? debug_dir : "/usr/lib/debug", 0));
	allow(p, SW_PACKAGE_LISTS, SW_LANDLOCK_LIST);
	size_t n = 0;
	if (owner != NULL && !sw_owner_can_become(owner->uid, owner->gid))
		return;
	for (size_t i = 0; i < snap->n_places && n < MODULES_MAX; i++) {
		const struct sw_module *module = snap->places[i].module;
		if (module == NULL || sw_module_kind(module) != SW_MODULE_ELF || !has_file(module))
			continue;
		allow_beside(p, sw_module_path(module));
		n++;
	}
}

/* p: NULL: without Landlock. owner: NULL: our own permissions. */
static int give_up(const struct sw_options *options, uint64_t caps, struct paths *p,
		   const struct owner *owner, unsigned calls, struct sw_error *err)
{
	tzset(); /* reads a file */
#ifdef __SANITIZE_ADDRESS__
	if (p != NULL)
		allow(p, "/proc",
		      SW_LANDLOCK_LIST); /* where its check for leaks finds the threads */
#endif
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot give up new privileges");
	/* Before the capabilities are gone: a path may be below somebody's private directory. */
	int r = p != NULL ? sw_landlock_enter(p->all, p->n, err) : 1;
	if (r >= 0 && owner != NULL)
		sw_owner_become(owner->uid, owner->gid);
	if (r >= 0)
		r = sw_caps_keep(caps, err);
#ifdef __SANITIZE_ADDRESS__
	(void) options, (void) calls; /* its check for leaks clones a thread that traces this one */
	return r < 0 ? r : 0;
#else
	if (r >= 0)
		calls |= sw_trapped_begin(options);
	return r < 0 ? r : sw_seccomp_parser(calls, err);
#endif
}

static unsigned calls_of(const struct sw_options *options)
{
	return SW_SECCOMP_TERMINAL | (options->keep != NULL ? SW_SECCOMP_FILES : 0);
}

static void allow_directory(struct paths *p, int fd)
{
	int copy = fd >= 0 && p->n < PATHS_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (copy >= 0)
		p->all[p->n++] = (struct sw_landlock_path){.access = SW_LANDLOCK_WRITE, .fd = copy};
}

/* The temporary directory of the snapshot that is kept, and the store of its modules. */
static void allow_kept(struct paths *p, const struct sw_options *options)
{
	if (options->keep == NULL || options->keeper == NULL ||
	    options->keeper->temporary == NULL || options->keeper->failed.code != 0)
		return;
	allow_directory(p, options->keeper->fd);
	allow_directory(p, options->keeper->store_fd);
}

static bool is_off(const struct sw_options *options)
{
	return options->no_sandbox;
}

int sw_sandbox_enter(const struct sw_options *options, const struct sw_snapshot *snap,
		     struct sw_error *err)
{
	sw_cleanup(paths_deinit) struct paths p = {.directory_fd = -EBADF};
	if (is_off(options))
		return 0;
	const struct owner user = {.uid = snap->process.uid, .gid = snap->process.gid};
	/* The snapshot that is kept is ours. */
	const struct owner *owner = options->keep != NULL ? NULL : &user;
	allow_kept(&p, options);
	allow_debug_files(&p, options, snap, owner);
	return give_up(options, 0, &p, owner, calls_of(options), err);
}

int sw_sandbox_enter_saved(const struct sw_options *options, const struct sw_subject *subject,
			   int fd, struct sw_error *err)
{
	sw_cleanup(paths_deinit) struct paths p = {.directory_fd = -EBADF};
	struct stat st;
	if (is_off(options))
		return 0;
	/* A file that is not there is complained about by the code that opens it. */
	struct owner owner = {.uid = geteuid(), .gid = getegid()};
	bool found = fd >= 0 && fstat(fd, &st) == 0;
	if (found)
		owner = (struct owner){.uid = st.st_uid, .gid = st.st_gid};
	/* The programs of a core file that root has may be anybody's, in directories that are closed to root
	 * without capabilities. A fixture has its modules itself. */
	bool anywhere = found && subject->kind == SW_WANT_CORE && owner.uid == geteuid();
	allow(&p, "/", SW_LANDLOCK_LIST);
	return give_up(options, anywhere ? read_caps : 0, &p, &owner, SW_SECCOMP_TERMINAL, err);
}

/* The capabilities for a capture: the files that a process has mapped are opened below /proc,
 * deleted ones by map_files, which needs the last of them. */
static const uint64_t capture_caps = UINT64_C(1) << CAP_SYS_PTRACE |
				     UINT64_C(1) << CAP_DAC_READ_SEARCH |
				     UINT64_C(1) << CAP_CHECKPOINT_RESTORE;

static int enter_capturing(const struct sw_options *options, unsigned more, struct sw_error *err)
{
	int r = options->libunwind ? sw_walk_libunwind_load(err)
				   : 0; /* the sandbox loads no code */
	if (r < 0 || is_off(options))
		return r;
	sw_sampled_files_begin(options);
	sw_caps_allow_realtime();
	return give_up(options, capture_caps, NULL, NULL,
		       SW_SECCOMP_TERMINAL | SW_SECCOMP_CAPTURE | more, err);
}

int sw_sandbox_enter_naming(const struct sw_options *options, struct sw_error *err)
{
	sw_cleanup(paths_deinit) struct paths p = {.directory_fd = -EBADF};
	if (is_off(options))
		return 0;
	allow(&p, "/", SW_LANDLOCK_LIST);
	return give_up(options, 0, &p, NULL, SW_SECCOMP_TERMINAL, err);
}

int sw_sandbox_enter_capturing(const struct sw_options *options, bool screen, struct sw_error *err)
{
	return enter_capturing(options, screen ? SW_SECCOMP_SCREEN : 0, err);
}

int sw_sandbox_enter_sampling_host(const struct sw_options *options, struct sw_error *err)
{
	return enter_capturing(options, SW_SECCOMP_PROCESSES, err);
}

int sw_sandbox_enter_parsing(const struct sw_options *options, struct sw_error *err)
{
	struct paths none = {.directory_fd = -EBADF};
	return is_off(options) ? 0 : give_up(options, 0, &none, NULL, SW_SECCOMP_TERMINAL, err);
}

int sw_sandbox_entrust(const struct sw_options *options, struct sw_output *output,
		       struct sw_error *err)
{
	return is_off(options) ? 0 : sw_output_entrust(output, err);
}

bool sw_subject_is_saved(const struct sw_subject *subject)
{
	return subject->kind == SW_WANT_CORE || subject->kind == SW_WANT_FIXTURE;
}
