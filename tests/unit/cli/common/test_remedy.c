/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table itself is looked at, too: it is the product's file, and not another copy of it. */
#include "common/remedy.c"
#include "cleanup.h"
#include "test.h"

#include <inttypes.h>

TEST(test_every_error_has_a_remedy)
{
	static const char *const wires[] = {
#define SW_ERROR(name, number, wire, text) wire,
#include <snapwalk/error_codes.def>
#undef SW_ERROR
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wires); i++)
		if (sw_remedy(wires[i], 0)[0] == '\0')
			fail_msg("error %s has no remedy", wires[i]);
}

TEST(test_every_warning_has_a_remedy)
{
	for (int w = SW_WARN_STOP_TIMEOUT; w <= SW_WARN_LIMIT; w++)
		if (sw_remedy(sw_warning_name((enum sw_warning_code) w), 0)[0] == '\0')
			fail_msg("warning %s has no remedy",
				 sw_warning_name((enum sw_warning_code) w));
	assert_string_equal(sw_remedy("never heard of", 0), "");
}

TEST(test_every_end_has_a_remedy)
{
	for (unsigned end = SW_END_COMPLETE + 1; end <= SW_END_INTERNAL; end++)
		if (sw_remedy(sw_end_name(end), 0)[0] == '\0')
			fail_msg("end %s has no remedy", sw_end_name(end));
}

/* A row is never chosen if an earlier one of its word asks for no other causes. */
TEST(test_every_row_can_be_chosen)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(remedies); i++)
		for (size_t before = 0; before < i; before++)
			if (strcmp(remedies[before].wire, remedies[i].wire) == 0 &&
			    (remedies[before].causes & ~remedies[i].causes) == 0)
				fail_msg("%s: \"%s\" hides \"%s\"", remedies[i].wire,
					 remedies[before].remedy, remedies[i].remedy);
}

/* Each row is the advice for its own code and causes, alone and beside a cause that no row of its code asks for. */
TEST(test_each_row)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(remedies); i++) {
		uint64_t asked = 0;
		for (size_t k = 0; k < SW_ARRAY_SIZE(remedies); k++)
			if (strcmp(remedies[k].wire, remedies[i].wire) == 0)
				asked |= remedies[k].causes;
		assert_string_equal(sw_remedy(remedies[i].wire, remedies[i].causes),
				    remedies[i].remedy);
		for (uint64_t other = 1; other <= SW_SAID_LAST; other <<= 1)
			if ((asked & other) == 0)
				assert_string_equal(sw_remedy(remedies[i].wire,
							      remedies[i].causes | other),
						    remedies[i].remedy);
	}
}

/* Each cause decides somewhere. */
TEST(test_no_cause_for_nothing)
{
	uint64_t asked = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(remedies); i++)
		asked |= remedies[i].causes;
	for (uint64_t cause = 1; cause <= SW_SAID_LAST; cause <<= 1)
		if ((asked & cause) == 0)
			fail_msg("no row asks for cause %#" PRIx64, cause);
}

/* All causes together and each alone: what is advised has to be possible. */
static void check_possible(const char *wire)
{
	static const struct {
		uint64_t cause;
		const char *words; /* of advice that cannot be followed */
	} impossible[] = {
		{SW_SAID_OF_FILE, "--stack-bytes"}, {SW_SAID_OF_FILE, "--max-stop"},
		{SW_SAID_OF_FILE, "--stop"},        {SW_SAID_OF_FILE, "--restart"},
		{SW_SAID_OF_FILE, "--threads"},     {SW_SAID_OF_FILE, "doctor PID"},
		{SW_SAID_OF_FILE, "explain PID"},   {SW_SAID_OF_FILE, "verify PID"},
		{SW_SAID_TO_ROOT, "run as root"},   {SW_SAID_AT_DEEPEST, "--depth"},
		{SW_SAID_OF_SCAN, "--walk scan"},   {SW_SAID_OF_RESOURCE, "guessed"},
		{SW_SAID_AT_MOST, "--limit has"},   {SW_SAID_AT_MOST, "larger --max-overhead"},
		{SW_SAID_AT_MOST, "--rate"},        {SW_SAID_AT_MOST, "max_lines"},
	};
	/* The cause of a trap is beside any of the first ones; so is whether there is --no-sandbox. */
	for (uint64_t n = 0; n < SW_SAID_OF_FILTER << 3; n++) {
		const uint64_t first = n & ((SW_SAID_OF_FILTER << 1) - 1);
		const uint64_t causes =
			first | (n - first) / (SW_SAID_OF_FILTER << 1) * SW_SAID_OF_TRAP;
		const char *remedy = sw_remedy(wire, causes);
		if (remedy[0] == '\0')
			fail_msg("%s has no remedy by causes %#" PRIx64 "", wire, causes);
		for (size_t i = 0; i < SW_ARRAY_SIZE(impossible); i++)
			if ((causes & impossible[i].cause) != 0 &&
			    strstr(remedy, impossible[i].words) != NULL)
				fail_msg("%s by causes %#" PRIx64 ": '%s' cannot be done", wire,
					 causes, remedy);
		/* A stack is not the only thing that takes memory. */
		if ((causes & (SW_SAID_AT_MOST | SW_SAID_OF_UNREAD)) != 0 &&
		    strstr(remedy, "more with --stack-bytes") != NULL)
			fail_msg("%s by causes %#" PRIx64 ": '%s' cannot be done", wire, causes,
				 remedy);
		if (strstr(wire, "memory_unreadable") != NULL &&
		    strstr(remedy, "try again") != NULL)
			fail_msg("%s: nothing is read by trying again", wire);
	}
}

/* Codes that are no errors, warnings or ends. */
static const char *const others[] = {"usage",        "invalid",    "lost",      "no_stacks",
				     "thread_ended", "warnings",   "coalesced", "dropped",
				     "no_samples",   "not_stored", "failed",    "more_lines"};

/* Words of advice that help only for these causes. */
static void check_of_cause(const char *wire, uint64_t causes)
{
	static const struct {
		const char *words;
		uint64_t cause; /* one of them is enough */
	} wanted[] = {
		{"conditions of the event", SW_SAID_OF_CONDITIONS},
		{"--limit", SW_SAID_OF_SPACE},
		{"--max-overhead", SW_SAID_OF_OVERHEAD},
		{"--count", SW_SAID_OF_ENDLESS},
		{"growth", SW_SAID_OF_BLOCKS},
		{"pairs", SW_SAID_OF_PAIRS},
		{"not_followed", SW_SAID_IN_RESULT},
		{"FUNCTIONS", SW_SAID_OF_CODE},
		{"snapwalk sample' looks", SW_SAID_OF_CODE},
		{"snapwalkd", SW_SAID_OF_DAEMON | SW_SAID_OF_SILENT},
		{"as that user", SW_SAID_OF_OWNER},
		{"group snapwalk", SW_SAID_OF_OWNER | SW_SAID_OF_GROUP},
		{"Deny=", SW_SAID_OF_DENIED},
		{"RequireSameNamespace=", SW_SAID_OF_NAMESPACE},
		{"same version", SW_SAID_OF_VERSION | SW_SAID_OF_DAEMON},
		{"TimeoutMs=", SW_SAID_OF_ANSWER},
		{"unpin", SW_SAID_OF_ANSWER},
		{"one signal", SW_SAID_OF_SIGNAL},
		{"debug symbols", SW_SAID_OF_SYMBOLS},
		{"symbolize --from", SW_SAID_OF_SYMBOLS},
		{"PROVIDER:NAME", SW_SAID_OF_DECLARED},
		{"on usdt:", SW_SAID_OF_DECLARED},
		{"fewer places", SW_SAID_OF_DECLARED},
		{"choose another name", SW_SAID_OF_THERE},
		{"the path is right", SW_SAID_OF_ABSENT},
		{"another place", SW_SAID_OF_FULL},
		{"the daemon's socket", SW_SAID_OF_DAEMON},
		{"see 'snapwalk list', or make", SW_SAID_OF_NEWEST},
		{"--via daemon", SW_SAID_OF_NEWEST},
		{"DEBUGINFOD_URLS", SW_SAID_OF_SERVER},
		{"DEBUGINFOD_CACHE_PATH", SW_SAID_OF_CACHE},
		{"debuginfod-find", SW_SAID_OF_CLIENT},
		{"--from a directory", SW_SAID_OF_DIRECTORY},
		{"-o FILE", SW_SAID_OF_TERMINAL},
		{"--format", SW_SAID_OF_FORMAT},
		{"a name with", SW_SAID_OF_NAME},
		{"the filter", SW_SAID_OF_SELECTION},
		{"-o DIR", SW_SAID_OF_HOOK},
		{"neither -o", SW_SAID_OF_HOOK},
		{"--pid", SW_SAID_OF_HOOK},
		{"hook", SW_SAID_OF_HOOK},
		{"/proc/PID/maps", SW_SAID_OF_ADDRESS | SW_SAID_OF_PAIRS | SW_SAID_OF_CODE},
		{"blocked_on", SW_SAID_OF_LOCK},
		{"for each sample", SW_SAID_OF_SAMPLES},
		{"--mode wall", SW_SAID_OF_CPU | SW_SAID_OF_ANSWER},
		{"never ran", SW_SAID_OF_BURST},
		{"run for longer", SW_SAID_OF_SIGNAL | SW_SAID_AT_MOST},
		{"run it as root", SW_SAID_OF_MACHINE},
		{"by its process id", SW_SAID_OF_PROCESSES},
		{"by then", SW_SAID_OF_OTHERS | SW_SAID_OF_OVERHEAD},
	};
	const char *remedy = sw_remedy(wire, causes);
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted); i++)
		if (strstr(remedy, wanted[i].words) != NULL && (causes & wanted[i].cause) == 0)
			fail_msg("%s by causes %#" PRIx64 ": '%s' is for another cause", wire,
				 causes, remedy);
}

/* Each two of the causes that say which complaint it is, for live processes and files, root and users. */
static void check_each(const char *wire)
{
	static const uint64_t circumstances[] = {0, SW_SAID_OF_FILE, SW_SAID_TO_ROOT,
						 SW_SAID_OF_FILE | SW_SAID_TO_ROOT,
						 (SW_SAID_OF_FILTER << 1) - 1};
	for (uint64_t a = 0; a <= SW_SAID_LAST; a = a != 0 ? a << 1 : SW_SAID_OF_FILTER << 1)
		for (uint64_t b = SW_SAID_OF_FILTER << 1; b <= SW_SAID_LAST; b <<= 1)
			for (size_t i = 0; i < SW_ARRAY_SIZE(circumstances); i++)
				check_of_cause(wire, a | b | circumstances[i]);
	for (uint64_t causes = 0; causes < SW_SAID_OF_FILTER << 1; causes++)
		check_of_cause(wire, causes);
}

static void check_all(void (*check)(const char *wire))
{
	static const char *const wires[] = {
#define SW_ERROR(name, number, wire, text) wire,
#include <snapwalk/error_codes.def>
#undef SW_ERROR
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wires); i++)
		check(wires[i]);
	for (int w = SW_WARN_STOP_TIMEOUT; w <= SW_WARN_LIMIT; w++)
		check(sw_warning_name((enum sw_warning_code) w));
	for (unsigned end = SW_END_COMPLETE + 1; end <= SW_END_INTERNAL; end++)
		check(sw_end_name(end));
}

TEST(test_remedies_are_possible)
{
	check_all(check_possible);
}

/* An option at its largest value cannot be larger, whatever else is the cause. */
TEST(test_options_at_their_largest)
{
	static const struct {
		const char *wire;
		uint64_t causes;
		const char *less, *most;
	} cases[] = {
		{"lost", SW_SAID_OF_SPACE, "a larger --limit has space for more",
		 "the result has the others: no larger --limit is possible"},
		{"limit", SW_SAID_OF_OVERHEAD,
		 "a larger --max-overhead permits it, and slows the process",
		 "the result is what was there by then: no option permits more"},
		{"limit", SW_SAID_OF_OVERHEAD | SW_SAID_OF_BLOCKS,
		 "growth is shown alone; a larger --max-overhead permits it, with a short "
		 "--duration",
		 "growth is shown alone"},
		{"no_samples", 0, "sample more often with --rate", "let it run for longer"},
		{"no_samples", SW_SAID_OF_CPU,
		 "sample more often with --rate, or all its time with --mode wall",
		 "sample all its time with --mode wall"},
		{"more_lines", 0, "raise max_lines, or ask for less", "ask for less"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		assert_string_equal(sw_remedy(cases[i].wire, cases[i].causes), cases[i].less);
		assert_string_equal(sw_remedy(cases[i].wire, cases[i].causes | SW_SAID_AT_MOST),
				    cases[i].most);
	}
}

TEST(test_remedies_are_of_their_cause)
{
	check_all(check_each);
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		check_each(others[i]);
}

/* A code may have several causes. */
TEST(test_remedies_by_cause)
{
	static const struct {
		const char *wire;
		uint64_t causes;
		const char *remedy;
	} cases[] = {
		{"stack_limit", 0, "copy more with --stack-bytes"},
		{"stack_limit", SW_SAID_TO_ROOT, "copy more with --stack-bytes"},
		{"stack_limit", SW_SAID_AT_MOST, "no more than 1 GiB of a stack is copied"},
		{"stack_limit", SW_SAID_OF_UNREAD,
		 "what is missing of that stack could not be read at all"},
		{"stack_limit", SW_SAID_OF_FILE | SW_SAID_AT_MOST | SW_SAID_OF_UNREAD,
		 "the file has no more of that stack"},
		{"memory_unreadable", 0,
		 "that memory is secret, or does not come from where it is: no option changes "
		 "that"},
		{"memory_unreadable", SW_SAID_OF_FILE, "the file does not have that memory"},
		{"memory", 0, "compare with 'snapwalk verify PID'"},
		{"memory", SW_SAID_OF_FILE, "the file does not have that memory"},
		{"no_memory", SW_SAID_OF_FILE, "free some memory"},
		{"runtime_data", 0, "try again: the process may have changed it meanwhile"},
		{"runtime_data", SW_SAID_OF_FOLLOWED, "no option changes that limit"},
		{"runtime_data", SW_SAID_OF_FOLLOWED | SW_SAID_OF_FILE,
		 "no option changes that limit"},
		{"runtime", SW_SAID_OF_RESOURCE, "frames are not concerned: try again to have it"},
		{"runtime", SW_SAID_OF_RESOURCE | SW_SAID_OF_FILE,
		 "frames are not concerned, and the file does not have it"},
		{"internal", SW_SAID_OF_TRAP | SW_SAID_OF_SANDBOX,
		 "please report it with the command, its output and 'snapwalk --version'; until "
		 "then, --no-sandbox where you trust what is read"},
		{"internal", SW_SAID_OF_TRAP,
		 "please report it with the command, its output and 'snapwalk --version'"},
		{"internal", SW_SAID_OF_FILTER,
		 "please report it with the command, its output and the line of 'journalctl -k' "
		 "with type=1326"},
		{"capture_incomplete", SW_SAID_OF_FILTER,
		 "please report it with the command, its output and the line of 'journalctl -k' "
		 "with type=1326"},
		{"not_found", SW_SAID_OF_DAEMON,
		 "start snapwalkd, or say where it listens with --socket"},
		{"not_found", SW_SAID_OF_KEPT, "see 'snapwalk list'"},
		{"limit", SW_SAID_OF_OVERHEAD,
		 "a larger --max-overhead permits it, and slows the process"},
		{"limit", SW_SAID_OF_BLOCKS | SW_SAID_OF_OVERHEAD,
		 "growth is shown alone; a larger --max-overhead permits it, with a short "
		 "--duration"},
		{"unsupported", SW_SAID_OF_BLOCKS | SW_SAID_OF_OVERHEAD, "growth is shown alone"},
		{"invalid_argument", SW_SAID_OF_CODE,
		 "'snapwalk sample' looks at such a process, too"},
		{"unsupported", SW_SAID_OF_CODE, "see FUNCTIONS in snapwalk-on(1)"},
		{"unsupported", SW_SAID_OF_PAIRS,
		 "the lines above say which pairs are not, and why"},
		{"unsupported", SW_SAID_OF_PAIRS | SW_SAID_OF_OTHERS,
		 "the output has the other pairs"},
		{"lost", SW_SAID_OF_CONDITIONS,
		 "the result has the others; conditions of the event leave more of them out"},
		{"lost", 0, "the result has the others"}, /* of leaks: it has no conditions */
		{"usage", SW_SAID_OF_PROFILE, "'snapwalk show' prints it"},
		{"usage", SW_SAID_OF_PROFILE | SW_SAID_OF_SEVERAL, "show them one by one"},
		{"usage", SW_SAID_OF_TERMINAL, "give -o FILE"},
		{"usage", 0, ""}, /* the command line has words of its own */
		{"usage", SW_SAID_OF_HOOK | SW_SAID_OF_KEPT, "give neither -o nor --via direct"},
		{"usage", SW_SAID_OF_PROCESSES, "choose one by its process id"},
		{"unsupported", SW_SAID_OF_SAMPLES | SW_SAID_OF_CPU,
		 "threads that are on a CPU are stopped for each sample"},
		{"unsupported", SW_SAID_OF_SAMPLES, "all threads are stopped for each sample"},
		{"not_found", SW_SAID_OF_HOOK, "give -o DIR"},
		{"not_found", SW_SAID_OF_HOOK | SW_SAID_OF_DAEMON,
		 "start snapwalkd, or give -o DIR"},
		{"not_permitted", SW_SAID_OF_MACHINE, "run it as root"},
		{"not_permitted", SW_SAID_OF_SILENT,
		 "run as root, or see what the daemon does: 'systemctl status snapwalkd'"},
		{"exited", SW_SAID_OF_DAEMON, "see the daemon's journal, and try again"},
		{"exited", SW_SAID_OF_DAEMON | SW_SAID_OF_SIGNAL,
		 "one signal ends it with the result so far"},
		{"unsupported", SW_SAID_OF_CODE | SW_SAID_OF_SYMBOLS,
		 "give the name of that code: its debug symbols have it (a package -dbgsym or "
		 "-debuginfo)"},
		{"io", SW_SAID_OF_CODE, "see who may read that file with 'ls -l'"},
		{"exited", SW_SAID_OF_OTHERS, "the result is what was there by then"},
		{"no_samples", 0, "sample more often with --rate"},
		{"frame_limit", SW_SAID_AT_DEEPEST,
		 "no more frames than these are shown of a stack"},
		{"not_permitted", SW_SAID_TO_ROOT, "see why with 'snapwalk doctor PID'"},
		{"not_permitted", SW_SAID_TO_ROOT | SW_SAID_OF_FILE,
		 "see who may use it with 'ls -l'"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		assert_string_equal(sw_remedy(cases[i].wire, cases[i].causes), cases[i].remedy);
}

TEST(test_worst_status)
{
	assert_int_equal(sw_status_worse(0, 0), 0);
	assert_int_equal(sw_status_worse(0, 3), 3);
	assert_int_equal(sw_status_worse(3, 1), 1);
	assert_int_equal(sw_status_worse(1, 77), 77);
	assert_int_equal(sw_status_worse(77, 2), 2);
}

TEST(test_status_of_errors)
{
	struct sw_error denied = {.code = SW_E_NOT_PERMITTED}, gone = {.code = SW_E_EXITED};
	assert_int_equal(sw_status_of(&denied), 77);
	assert_int_equal(sw_status_of(&gone), 1);
}

/* A thread may be called whatever it likes. */
TEST(test_control_characters_are_shown)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	sw_print_visible(f, "a\033[2Jb\x7f\n\xc2\x9b"
			    "c\xc3\xa4\r");
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, "a\\x1b[2Jb\\x7f\n\\xc2\\x9bc\xc3\xa4\\x0d");
	free(text);
}
