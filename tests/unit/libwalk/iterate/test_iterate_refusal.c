/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/refusal.h"
#include "test.h"

#include <linux/capability.h>

#define BIT(n) (UINT64_C(1) << (n))

/* A machine that would load it. */
static struct sw_iterate_machine able(void)
{
	return (struct sw_iterate_machine){
		.built = true,
		.btf = true,
		.major = 6,
		.minor = 1,
		.capabilities = BIT(CAP_BPF) | BIT(CAP_PERFMON),
		.lockdown = "none",
		.unprivileged = 2,
	};
}

static void expect(const struct sw_iterate_machine *machine, int error, int code,
		   const char *message)
{
	struct sw_error err = {0};
	assert_int_equal(sw_iterate_refused_by(machine, error, NULL, &err), -code);
	assert_int_equal(err.code, code);
	assert_string_equal(err.message, message);
}

TEST(not_built)
{
	struct sw_iterate_machine machine = able();
	machine.built = false;
	expect(&machine, EOPNOTSUPP, SW_E_UNSUPPORTED,
	       "built without the task iterator: clang, bpftool or libbpf-dev was missing");
}

TEST(old_kernels)
{
	struct sw_iterate_machine machine = able();
	machine.minor = 0;
	expect(&machine, EINVAL, SW_E_UNSUPPORTED,
	       "the task iterator needs Linux 6.1, this is 6.0");
	machine.major = 5;
	machine.minor = 15;
	expect(&machine, EPERM, SW_E_UNSUPPORTED,
	       "the task iterator needs Linux 6.1, this is 5.15");
	/* unknown: said by what else is known */
	machine.major = machine.minor = 0;
	machine.btf = false;
	expect(&machine, EINVAL, SW_E_UNSUPPORTED,
	       "the task iterator needs a kernel with type information "
	       "(/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
}

TEST(capabilities)
{
	struct sw_iterate_machine machine = able();
	machine.capabilities = 0;
	expect(&machine, EPERM, SW_E_NOT_PERMITTED,
	       "the task iterator needs CAP_BPF and CAP_PERFMON "
	       "(kernel.unprivileged_bpf_disabled is set)");
	machine.unprivileged = 0;
	machine.capabilities = BIT(CAP_BPF);
	expect(&machine, EINVAL, SW_E_NOT_PERMITTED, "the task iterator needs CAP_PERFMON");
	machine.capabilities = BIT(CAP_PERFMON);
	expect(&machine, EPERM, SW_E_NOT_PERMITTED, "the task iterator needs CAP_BPF");
	/* counts as both: so it is something else */
	machine.capabilities = BIT(CAP_SYS_ADMIN);
	expect(&machine, EPERM, SW_E_NOT_PERMITTED,
	       "bpf() is refused by a system call filter or a security module (container?): "
	       "Operation not permitted");
}

TEST(filters_and_namespaces)
{
	struct sw_iterate_machine machine = able();
	expect(&machine, ENOSYS, SW_E_NOT_PERMITTED,
	       "bpf() is not there: a system call filter (container?) or a kernel without "
	       "CONFIG_BPF_SYSCALL");
	machine.user_namespace = true;
	expect(&machine, EPERM, SW_E_NOT_PERMITTED,
	       "the task iterator needs CAP_BPF and CAP_PERFMON outside of user namespaces "
	       "(container?)");
}

TEST(lockdown)
{
	struct sw_iterate_machine machine = able();
	strcpy(machine.lockdown, "confidentiality");
	expect(&machine, EINVAL, SW_E_NOT_PERMITTED,
	       "the kernel's lockdown mode \"confidentiality\" refuses the task iterator");
	/* does not concern it */
	strcpy(machine.lockdown, "integrity");
	expect(&machine, EINVAL, SW_E_UNSUPPORTED,
	       "the kernel refuses the task iterator: Invalid argument");
}

TEST(the_verifier_s_reason)
{
	struct sw_iterate_machine machine = able();
	struct sw_verifier_said said = {"R1 max value is outside of the allowed memory range"};
	struct sw_error err = {0};
	assert_int_equal(sw_iterate_refused_by(&machine, EACCES, &said, &err), -SW_E_UNSUPPORTED);
	assert_string_equal(err.message, "the verifier of this kernel refuses the program (R1 max "
					 "value is outside of the allowed memory range): "
					 "Permission denied");
	/* it did not look at it */
	said.text[0] = '\0';
	assert_int_equal(sw_iterate_refused_by(&machine, EACCES, &said, &err), -SW_E_NOT_PERMITTED);
	machine.capabilities = 0;
	strcpy(said.text, "program of this type cannot use helper bpf_probe_read_user#112");
	assert_int_equal(sw_iterate_refused_by(&machine, EINVAL, &said, &err), -SW_E_NOT_PERMITTED);
}

TEST(this_machine)
{
	struct sw_iterate_machine machine;
	sw_iterate_machine_look(&machine);
	assert_true(machine.major >= 3);
	assert_null(strpbrk(machine.lockdown, "[] \n"));
}
