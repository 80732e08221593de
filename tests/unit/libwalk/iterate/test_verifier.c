/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/verifier.h"
#include "test.h"

static void expect(const char *log, const char *said)
{
	struct sw_verifier_said ret;
	memset(&ret, 'x', sizeof(ret));
	sw_verifier_said_of(log, &ret);
	assert_string_equal(ret.text, said);
}

TEST(the_last_line_that_is_no_figure)
{
	/* Linux 6.1, of a buffer that was too short */
	expect("746: (85) call bpf_probe_read_user#112\n"
	       "invalid access to memory, mem_size=98952 off=66195 size=32760\n"
	       "R1 max value is outside of the allowed memory range\n"
	       "processed 4319 insns (limit 1000000) max_states_per_insn 4 total_states 80 "
	       "peak_states 23 mark_read 3\n",
	       "R1 max value is outside of the allowed memory range");
	expect("verification time 12 usec\nstack depth 8\nprocessed 3 insns (limit 1000000)\n", "");
	expect("Validating piece() func#1...\nFunc#1 is safe for any args that match its "
	       "prototype\n"
	       "processed 3 insns\n",
	       "");
	expect("", "");
	expect("\n\n", "");
	expect("unreleased reference", "unreleased reference");
}

TEST(a_long_line_is_cut)
{
	char log[400], said[SW_VERIFIER_SAID_MAX];
	memset(log, 'a', sizeof(log));
	log[sizeof(log) - 1] = '\0';
	memset(said, 'a', sizeof(said));
	said[sizeof(said) - 1] = '\0';
	expect(log, said);
}

TEST(only_numbers_of_the_verifier)
{
	assert_true(sw_verifier_refused(-EACCES));
	assert_true(sw_verifier_refused(-E2BIG));
	assert_false(sw_verifier_refused(0));
	assert_false(sw_verifier_refused(-EPERM)); /* before it looks */
	assert_false(sw_verifier_refused(-ENOSYS));
	assert_false(sw_verifier_refused(-ENOMEM));
}
