/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "common/complain.h"
#include "test.h"

/* The text that the calls in between wrote to stderr. */
static FILE *saved;
static char *said;
static size_t said_size;

static void listen_begin(void)
{
	saved = stderr;
	stderr = open_memstream(&said, &said_size);
	assert_non_null(stderr);
}

static void listen_end(const char *wanted)
{
	(void) fclose(stderr);
	stderr = saved;
	assert_string_equal(said, wanted);
	free(said);
}

TEST(test_form)
{
	listen_begin();
	sw_complain("a\nb", "it \033[2J failed", "io", "try again");
	sw_complain("a", "it failed", "io", "");
	listen_end("snapwalk: a\\x0ab: it \\x1b[2J failed (io): try again\n"
		   "snapwalk: a: it failed (io)\n");
}

TEST(test_say)
{
	char *json[] = {"snapwalk", "--json"};
	listen_begin();
	sw_say("7", "samples", "%d of %d; %s", 3, 4, "\033[2J");
	listen_end("3 of 4; \\x1b[2J\n");
	sw_complain_begin(2, json);
	listen_begin();
	sw_say("7", "samples", "%d of %d; \"%s\"", 3, 4, "x");
	listen_end("{\"about\":\"7\",\"code\":\"samples\",\"message\":\"3 of 4; \\\"x\\\"\"}\n");
	sw_complain_begin(1, json);
}

TEST(test_json)
{
	char *const asked[][4] = {{"snapwalk", "--json"},
				  {"snapwalk", "--format=json", "x"},
				  {"snapwalk", "x", "--format", "json"},
				  {"snapwalk", "-f", "json"},
				  {"snapwalk", "-fjson"}};
	char *const not_asked[][4] = {{"snapwalk", "--", "--json"},
				      {"snapwalk", "-o", "x.json"},
				      {"snapwalk", "--format", "text", "json"}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(not_asked); i++) {
		sw_complain_begin(not_asked[i][3] != NULL ? 4 : 3, not_asked[i]);
		assert_false(sw_complains_as_json());
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(asked); i++) {
		int n = 0;
		while (n < 4 && asked[i][n] != NULL)
			n++;
		sw_complain_begin(n, asked[i]);
		assert_true(sw_complains_as_json());
		sw_complain_begin(1, asked[i]);
		assert_false(sw_complains_as_json());
	}
	sw_complain_begin(2, asked[0]);
	listen_begin();
	sw_complain("a\nb", "a\nb: it \033[2J \"failed\"\xff", "io", "try again");
	sw_complain("42", "no", "x", "see PID");
	sw_complain("a", "it failed", "io", "");
	listen_end("{\"about\":\"a\\nb\",\"code\":\"io\",\"message\":\"it \\u001b[2J "
		   "\\\"failed\\\"\xef\xbf\xbd\",\"remedy\":\"try again\"}\n"
		   "{\"about\":\"42\",\"code\":\"x\",\"message\":\"no\",\"remedy\":\"see 42\"}\n"
		   "{\"about\":\"a\",\"code\":\"io\",\"message\":\"it failed\"}\n");
	sw_complain_begin(1, asked[0]);
}

TEST(test_odd_bytes)
{
	listen_begin();
	sw_complain("a\x97z", "\xc2\x9b \xc2\xa0 \xc3\xa9 \xe2\x82 \xe2\x82\xac", "io",
		    "\xf0\x9f\x98\x80");
	sw_complain("\xff", "\xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80 \xe0\x80\x80", "io", "\xf0");
	listen_end("snapwalk: a\\x97z: \\xc2\\x9b \xc2\xa0 \xc3\xa9 \\xe2\\x82 \xe2\x82\xac (io): "
		   "\xf0\x9f\x98\x80\n"
		   "snapwalk: \\xff: \\xed\\xa0\\x80 \\xc0\\xaf \\xf4\\x90\\x80\\x80 "
		   "\\xe0\\x80\\x80 (io): "
		   "\\xf0\n");
}

/* "kcirt" behind what turns the direction of writing looks like "trick". */
TEST(test_direction)
{
	listen_begin();
	sw_complain("a\u202ez", "\u2028", "io", "");
	sw_print_visible(stderr, "\u2066\n");
	listen_end("snapwalk: a\\xe2\\x80\\xaez: \\xe2\\x80\\xa8 (io)\n"
		   "\\xe2\\x81\\xa6\n");
}

TEST(test_about_is_said_once)
{
	listen_begin();
	sw_complain("core", "core: no ELF file", "bad_format", "");
	sw_complain("core", "core is short", "bad_format", "");
	sw_complain("", ": x", "io", "");
	listen_end("snapwalk: core: no ELF file (bad_format)\n"
		   "snapwalk: core: core is short (bad_format)\n"
		   "snapwalk: : : x (io)\n");
}

TEST(test_pid_in_the_remedy)
{
	struct sw_error err = {.code = SW_E_STOP_TIMEOUT, .message = "no"};
	listen_begin();
	assert_int_equal(sw_complain_error("42", &err), SW_STATUS_NOTHING);
	err.code = SW_E_NO_THREAD;
	assert_int_equal(sw_complain_error("4x", &err), SW_STATUS_NOTHING);
	listen_end("snapwalk: 42: no (stop_timeout): "
		   "allow more with --max-stop, or see why with 'snapwalk doctor 42'\n"
		   "snapwalk: 4x: no (no_such_thread): see its threads in /proc/PID/task\n");
}

TEST(test_remedies_that_help)
{
	const struct sw_error refused = {.code = SW_E_NOT_PERMITTED, .message = "refused"},
			      directory = {.code = SW_E_IO,
					   .sys_errno = EISDIR,
					   .message = "it is a directory"};
	listen_begin();
	assert_int_equal(sw_complain_error("7", &refused), SW_STATUS_DENIED);
	assert_int_equal(sw_complain_error("/tmp", &directory), SW_STATUS_NOTHING);
	listen_end(
		geteuid() == 0
			? "snapwalk: 7: refused (not_permitted): see why with 'snapwalk doctor 7'\n"
			  "snapwalk: /tmp: it is a directory (io): give the name of a file in it\n"
			: "snapwalk: 7: refused (not_permitted): run as root, or see why with "
			  "'snapwalk doctor 7'\n"
			  "snapwalk: /tmp: it is a directory (io): give the name of a file in "
			  "it\n");
}

/* A complaint about this command itself is about no file. */
TEST(test_about_ourselves)
{
	const struct sw_error refused = {.code = SW_E_IO,
					 .sys_errno = EACCES,
					 .message = "refused"};
	listen_begin();
	assert_int_equal(sw_complain_error("snapwalk", &refused), SW_STATUS_NOTHING);
	assert_int_equal(sw_complain_error("snapwalk.json", &refused), SW_STATUS_NOTHING);
	listen_end(
		geteuid() == 0
			? "snapwalk: refused (io): check the path, its permissions and "
			  "the "
			  "free space\n"
			  "snapwalk: snapwalk.json: refused (io): see who may use it with 'ls -l'\n"
			: "snapwalk: refused (io): check the path, its permissions and "
			  "the "
			  "free space\n"
			  "snapwalk: snapwalk.json: refused (io): see who may use it with 'ls -l', "
			  "or "
			  "run as root\n");
}

TEST(test_many_warnings)
{
	struct sw_report_warning warnings[12];
	for (size_t i = 0; i < 12; i++)
		warnings[i] = (struct sw_report_warning){.code = "odd", .message = "w"};
	struct sw_report report = {.warnings = warnings, .n_warnings = 12};
	listen_begin();
	sw_complain_warnings("7", &report, 0, false);
	listen_end("snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: w (odd)\n"
		   "snapwalk: 7: and 2 more warnings (warnings): see them all with -v or --json\n");
	report.n_warnings = 11;
	listen_begin();
	sw_complain_warnings("7", &report, 0, true);
	assert_int_equal(fflush(stderr), 0);
	size_t lines = 0;
	for (const char *c = said; *c != '\0'; c++)
		lines += *c == '\n';
	assert_null(strstr(said, "more"));
	(void) fclose(stderr);
	stderr = saved;
	free(said);
	assert_int_equal(lines, 11);
}

/* Larger copies help where it was the limit that ended them, as another warning says then. */
TEST(test_limit_of_stacks)
{
	struct sw_report_warning warnings[] = {
		{.code = "stack_limit", .message = "the stack of thread 7 ends early"},
		{.code = "stack_limit",
		 .message = "thread 7 (x): only the first 4096 bytes of the stack were copied"}};
	struct sw_report report = {.warnings = warnings, .n_warnings = 1};
	listen_begin();
	sw_complain_warnings("7", &report, 0, false);
	report.n_warnings = 2;
	sw_complain_warnings("7", &report, 0, false);
	listen_end("snapwalk: 7: the stack of thread 7 ends early (stack_limit): what is missing "
		   "of that stack could not be read at all\n"
		   "snapwalk: 7: the stack of thread 7 ends early (stack_limit): copy more with "
		   "--stack-bytes\n"
		   "snapwalk: 7: thread 7 (x): only the first 4096 bytes of the stack were copied "
		   "(stack_limit): copy more with --stack-bytes\n");
}

/* A limit is no reason to try again, also where another stack has one. */
TEST(test_limit_of_runtimes)
{
	struct sw_report_warning warnings[] = {
		{.code = "runtime_data",
		 .message = "the stack of thread 7 is not whole: PHP has more calls there than the "
			    "8192 that are followed"},
		{.code = "runtime_data",
		 .message = "the stack of thread 8 is not whole: not all of PHP's calls could be "
			    "read"}};
	struct sw_report report = {.warnings = warnings, .n_warnings = 2};
	listen_begin();
	sw_complain_warnings("7", &report, 0, false);
	listen_end(
		"snapwalk: 7: the stack of thread 7 is not whole: PHP has more calls there than "
		"the 8192 that are followed (runtime_data): no option changes that limit\n"
		"snapwalk: 7: the stack of thread 8 is not whole: not all of PHP's calls could "
		"be read (runtime_data): try again: the process may have changed it meanwhile\n");
}

/* As capture/touch.c says it. */
TEST(test_warning_of_a_filter)
{
	struct sw_report_warning warnings[] = {
		{.code = "capture_incomplete",
		 .message = "the process that reads the data of runtimes was killed by signal 31 "
			    "(Bad system call): what it had not asked for by then is missing"},
		{.code = "capture_incomplete",
		 .message = "the process that reads the data of runtimes ended: what it had not "
			    "asked for by then is missing"},
		{.code = "capture_incomplete",
		 .message = "the process that reads the data of runtimes was ended by the sandbox, "
			    "which does not permit system call 41: what it had not asked for by "
			    "then is missing"}};
	struct sw_report report = {.warnings = warnings, .n_warnings = SW_ARRAY_SIZE(warnings)};
	listen_begin();
	sw_complain_warnings("7", &report, 0, false);
	listen_end(
		"snapwalk: 7: the process that reads the data of runtimes was killed by signal 31 "
		"(Bad system call): what it had not asked for by then is missing "
		"(capture_incomplete): please report it with the command, its output and the line "
		"of 'journalctl -k' with type=1326\n"
		"snapwalk: 7: the process that reads the data of runtimes ended: what it had not "
		"asked for by then is missing (capture_incomplete): try again, or allow more with "
		"--max-stop\n"
		"snapwalk: 7: the process that reads the data of runtimes was ended by the "
		"sandbox, which does not permit system call 41: what it had not asked for by then "
		"is missing (capture_incomplete): please report it with the command, its output "
		"and 'snapwalk --version'\n");
}

/* Other warnings have no place there. */
TEST(test_of_reader_alone)
{
	struct sw_report_warning warnings[] = {
		{.code = "runtime", .message = "php: there is no memory"},
		{.code = "capture_incomplete",
		 .message = "it was killed by signal 31 (Bad system call): x"}};
	const struct sw_report other = {.warnings = warnings, .n_warnings = 1},
			       ended = {.warnings = warnings, .n_warnings = 2};
	listen_begin();
	assert_false(sw_complain_of_reader("7", &other));
	assert_true(sw_complain_of_reader("7", &ended));
	listen_end(
		"snapwalk: 7: it was killed by signal 31 (Bad system call): x "
		"(capture_incomplete): please report it with the command, its output and the line "
		"of 'journalctl -k' with type=1326\n");
}

/* Some causes are in the message alone. */
TEST(test_remedies_by_message)
{
	const struct sw_error killed = {
		.code = SW_E_INTERNAL,
		.message = "what read its files was killed by signal 31 (Bad system call)"};
	struct sw_report_warning warning = {
		.code = "runtime",
		.message = "otel: the process was changing the resource that it publishes, which "
			   "is not here"};
	const struct sw_report report = {.warnings = &warning, .n_warnings = 1};
	listen_begin();
	(void) sw_complain_error("7", &killed);
	listen_end("snapwalk: 7: what read its files was killed by signal 31 (Bad system call) "
		   "(internal): please report it with the command, its output and the line of "
		   "'journalctl -k' with type=1326\n");
	listen_begin();
	sw_complain_warnings("7", &report, 0, true);
	listen_end("snapwalk: 7: otel: the process was changing the resource that it publishes, "
		   "which is not here (runtime): frames are not concerned: try again to have it\n");
}
