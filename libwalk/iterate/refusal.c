/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/refusal.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/programs.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

enum {
	MAJOR_NEEDED = 6,
	MINOR_NEEDED = 1, /* bpf_iter_link_info.task: linux commit f0d74c4da1f0 */
	FILE_MAX = 128,
};

/* The beginning of a small file, terminated; "" when it cannot be read. */
static void file_begin(const char *path, char text[FILE_MAX])
{
	text[0] = '\0';
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, FILE_MAX - 1);
	text[n > 0 ? n : 0] = '\0';
}

/* "none [integrity] confidentiality": the one in brackets. */
static void lockdown_find(const char *text, char *ret, size_t size)
{
	const char *begin = strchr(text, '[');
	const char *end = begin == NULL ? NULL : strchr(begin, ']');
	if (end != NULL && (size_t) (end - begin) <= size)
		(void) snprintf(ret, size, "%.*s", (int) (end - begin - 1), begin + 1);
}

static uint64_t capabilities_effective(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	if (syscall(SYS_capget, &header, data) != 0)
		return 0;
	return (uint64_t) data[1].effective << 32 | data[0].effective;
}

static bool has(const struct sw_iterate_machine *machine, unsigned capability)
{
	return machine->capabilities >> capability & 1;
}

static bool is_older(const struct sw_iterate_machine *machine)
{
	return machine->major != 0 &&
	       (machine->major < MAJOR_NEEDED ||
		(machine->major == MAJOR_NEEDED && machine->minor < MINOR_NEEDED));
}

/* bpf_capable(), perfmon_capable(): CAP_SYS_ADMIN counts as each. "" when both are there. */
static const char *capabilities_missing(const struct sw_iterate_machine *machine)
{
	bool bpf = has(machine, CAP_BPF) || has(machine, CAP_SYS_ADMIN);
	bool perfmon = has(machine, CAP_PERFMON) || has(machine, CAP_SYS_ADMIN);
	if (bpf && perfmon)
		return "";
	return bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
}

static int refused_capabilities(const struct sw_iterate_machine *machine, const char *missing,
				struct sw_error *err)
{
	return sw_fail(err, SW_E_NOT_PERMITTED, "the task iterator needs %s%s", missing,
		       machine->unprivileged > 0 ? " (kernel.unprivileged_bpf_disabled is set)"
						 : "");
}

static int refused_permission(const struct sw_iterate_machine *machine, int error,
			      struct sw_error *err)
{
	if (machine->user_namespace)
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "the task iterator needs CAP_BPF and CAP_PERFMON outside of user "
			       "namespaces (container?)");
	errno = error;
	return sw_fail_errno(
		err, SW_E_NOT_PERMITTED,
		"bpf() is refused by a system call filter or a security module (container?)");
}

void sw_iterate_machine_look(struct sw_iterate_machine *machine)
{
	char text[FILE_MAX];
	*machine = (struct sw_iterate_machine){.built = sw_iterate_programs_built()};
	machine->btf = access("/sys/kernel/btf/vmlinux", F_OK) == 0;
	struct utsname name;
	if (uname(&name) != 0 ||
	    sscanf(name.release, "%u.%u", &machine->major, &machine->minor) != 2)
		machine->major = machine->minor = 0;
	machine->capabilities = capabilities_effective();
	/* The first user namespace maps every id to itself. */
	unsigned inside, outside, count;
	file_begin("/proc/self/uid_map", text);
	machine->user_namespace = sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 &&
				  !(inside == 0 && outside == 0 && count == UINT32_MAX);
	file_begin("/sys/kernel/security/lockdown", text);
	lockdown_find(text, machine->lockdown, sizeof(machine->lockdown));
	file_begin("/proc/sys/kernel/unprivileged_bpf_disabled", text);
	if (sscanf(text, "%d", &machine->unprivileged) != 1)
		machine->unprivileged = -1;
}

int sw_iterate_refused_by(const struct sw_iterate_machine *machine, int error,
			  const struct sw_verifier_said *said, struct sw_error *err)
{
	if (!machine->built)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "built without the task iterator: clang, bpftool or libbpf-dev "
			       "was missing");
	if (is_older(machine))
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "the task iterator needs Linux %d.%d, this is %u.%u", MAJOR_NEEDED,
			       MINOR_NEEDED, machine->major, machine->minor);
	/* Without CAP_PERFMON the verifier does not know the helpers: EINVAL, no EPERM. */
	const char *missing = capabilities_missing(machine);
	if (missing[0] != '\0')
		return refused_capabilities(machine, missing, err);
	if (said != NULL && said->text[0] != '\0') {
		errno = error;
		return sw_fail_errno(err, SW_E_UNSUPPORTED,
				     "the verifier of this kernel refuses the program (%s)",
				     said->text);
	}
	if (error == EPERM || error == EACCES)
		return refused_permission(machine, error, err);
	if (error == ENOSYS)
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "bpf() is not there: a system call filter (container?) or a kernel "
			       "without CONFIG_BPF_SYSCALL");
	if (!machine->btf)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "the task iterator needs a kernel with type information "
			       "(/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
	if (strcmp(machine->lockdown, "confidentiality") == 0)
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "the kernel's lockdown mode \"confidentiality\" refuses the task "
			       "iterator");
	errno = error;
	return sw_fail_errno(err, SW_E_UNSUPPORTED, "the kernel refuses the task iterator");
}

int sw_iterate_refused(int error, const struct sw_verifier_said *said, struct sw_error *err)
{
	struct sw_iterate_machine machine;
	sw_iterate_machine_look(&machine);
	return sw_iterate_refused_by(&machine, error, said, err);
}
