/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "config/settings.h"
#include "config/value.h"
#include "test.h"

#include <snapwalk/walk.h>

#include <limits.h>
#include <sys/stat.h>

enum { SAID_MAX = 16 };

struct fixture {
	struct sw_config config;
	char directory[64];
	char path[128];
	char said[SAID_MAX][512];
	size_t n_said;
};

static void say(void *arg, const char *message)
{
	struct fixture *f = arg;
	assert_true(f->n_said < SAID_MAX);
	(void) snprintf(f->said[f->n_said++], sizeof(f->said[0]), "%s", message);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	strcpy(f->directory, "/tmp/snapwalk-config-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	(void) snprintf(f->path, sizeof(f->path), "%s/conf", f->directory);
	assert_int_equal(sw_config_init(&f->config), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];
	(void) snprintf(command, sizeof(command), "rm -rf %s", f->directory);
	assert_int_equal(system(command), 0);
	sw_config_deinit(&f->config);
	free(f);
	return 0;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void load(struct fixture *f, const char *text)
{
	struct sw_error err = {0};
	put(f->path, text);
	assert_int_equal(sw_config_load(&f->config, f->path, say, f, &err), 0);
}

TEST_OF(test_defaults, const struct fixture *f)
{
	const struct sw_config *c = &f->config;
	assert_string_equal(c->state_dir, "/var/lib/snapwalk");
	assert_string_equal(c->user, "snapwalk");
	assert_string_equal(c->trigger_user, "snapwalk-gate");
	assert_string_equal(c->on_dump_user, "nobody");
	assert_null(c->deny);
	assert_null(c->on_dump);
	assert_null(c->socket_path);
	assert_true(c->store);
	assert_false(c->user_mode);
	assert_int_equal(c->stop, SW_STOP_AUTO);
	assert_int_equal(c->max_stop_ms, 100);
	assert_int_equal(c->min_interval_ms, 5000);
	assert_int_equal(c->stop_percent_x100, 100);
	assert_int_equal(c->dump_bytes_max, 64 << 20);
	assert_int_equal(c->store_max_age_s, 30 * 86400);
}

TEST_OF(test_values, struct fixture *f)
{
	load(f,
	     "# comment\n[snapwalkd]\nStop=Never\nMaxStopMs = "
	     "250\nMinIntervalSec=1.5\nOnDumpTimeoutSec=2min\n"
	     "StopPercent=0.25%\nDumpMax=2M\nMaxUse=1G ; why\nMaxAge=2w\nWorkerMemory=2G\n"
	     "Store=off\nStateDirectory=/srv/dumps\nDeny=ssh-agent uid:12\nDeny=\"/opt/my app\"\n"
	     "OnDump=/bin/false\nOnDump=/bin/cat \"a b\"\n");
	const struct sw_config *c = &f->config;
	assert_int_equal(f->n_said, 0);
	assert_int_equal(c->n_problems, 0);
	assert_int_equal(c->stop, SW_STOP_NEVER);
	assert_int_equal(c->max_stop_ms, 250);
	assert_int_equal(c->min_interval_ms, 1500);
	assert_int_equal(c->on_dump_timeout_ms, 120000);
	assert_int_equal(c->stop_percent_x100, 25);
	assert_int_equal(c->dump_bytes_max, 2 << 20);
	assert_int_equal(c->store_max_use, 1 << 30);
	assert_int_equal(c->store_max_age_s, 14 * 86400);
	assert_int_equal(c->worker_memory_mib, 2048);
	assert_false(c->store);
	assert_string_equal(c->state_dir, "/srv/dumps");
	assert_string_equal(c->deny[0], "ssh-agent");
	assert_string_equal(c->deny[1], "uid:12");
	assert_string_equal(c->deny[2], "/opt/my app");
	assert_null(c->deny[3]);
	assert_string_equal(c->on_dump[0], "/bin/cat");
	assert_string_equal(c->on_dump[1], "a b");
	assert_null(c->on_dump[2]);
}

/* Each with its line; the default stays, and the rest of the file holds. */
TEST_OF(test_problems, struct fixture *f)
{
	load(f,
	     "[snapwalkd]\nColour=red\nMaxStopMs=0\nMaxStopMs=many\nWorkers=2.5\nStore=perhaps\n"
	     "StateDirectory=relative\nDeny=\"open\nMaxAge=3 parsecs\nQueue=7\nStop=nver\n[gate]\n"
	     "Port=1\n");
	static const char *const said[] = {
		":2: unknown key Colour",
		":3: MaxStopMs=0: out of range: expected a whole number from 1 to 10000",
		":4: MaxStopMs=many: not a number: expected a whole number from 1 to 10000",
		":5: Workers=2.5: too many decimals: expected a whole number from 1 to 64",
		":6: Store=perhaps: neither yes nor no: expected yes or no",
		":7: StateDirectory=relative: not an absolute path: expected an absolute path",
		":8: Deny=\"open: a quote is missing: expected a process's name, an absolute path "
		"of a program, or uid:N",
		":9: MaxAge=3 parsecs: not a unit that is known here: expected a time such as 90, "
		"5min, 2h, 30d or 1w",
		":11: Stop=nver: none of the words that are known here: expected auto, never or "
		"always",
		":13: unknown section [gate]: only [snapwalkd] is known",
	};
	assert_int_equal(f->n_said, SW_ARRAY_SIZE(said));
	assert_int_equal(f->config.n_problems, SW_ARRAY_SIZE(said));
	for (size_t i = 0; i < SW_ARRAY_SIZE(said); i++) {
		char wanted[512];
		(void) snprintf(wanted, sizeof(wanted), "%s%s", f->path, said[i]);
		assert_string_equal(f->said[i], wanted);
	}
	assert_int_equal(f->config.max_stop_ms, 100);
	assert_int_equal(f->config.workers, 2);
	assert_null(f->config.deny);
	assert_int_equal(f->config.queue, 7);
}

#define TEN  "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* A key that protects, in whatever way it is misspelt, must not be taken for not there. */
TEST_OF(test_unsafe, struct fixture *f)
{
	static const struct {
		const char *text;
		size_t n_unsafe;
	} cases[] = {
		{"[snapwalkd]\nDeny=uid:x\n", 1},
		{"[snapwalkd]\nDeny=uid:\n", 1},
		{"[snapwalkd]\nDeny=uid:4294967296\n", 1},
		{"[snapwalkd]\nDeny=bin/gpg\n", 1},
		{"[snapwalkd]\nDeny=a-name-of-16-byte\n", 1},
		{"[snapwalkd]\nDeny=\"open\n", 1},
		{"[snapwalkd]\nDeny /usr/bin/gpg\n", 1},
		{"[snapwalk]\nDeny=gpg\n", 1},
		{"[snapwalkd]\ndeny=gpg\n", 1},
		{"[snapwalkd]\nUsr=somebody\n", 1},
		{"[snapwalkd]\nUser=\n", 1},
		{"[snapwalkd]\nGruop=x\nTrigerUser=y\n", 2},
		{"[snapwalkd]\nRequireSameNamespace=perhaps\n", 1},
		{"[snapwalkd]\nDeny=gpg,ssh\n", 1},
		{"[snapwalkd]\nMaxUse=1G\n Deny=gpg\n", 1}, /* would be a part of MaxUse= */
		{"[snapwalkd]\nDeny=gpg\n\tDney =ssh\n", 1},
		{"[snapwalkd]\nOnDump=/bin/cat\n  Deny: gpg\n", 1},
		/* Words that would stand for no process. */
		{"[snapwalkd]\nDeny=/usr/bin/*\n", 1},
		{"[snapwalkd]\nDeny=/usr/bin/slee?\n", 1},
		{"[snapwalkd]\nDeny=gpg*\n", 1},
		{"[snapwalkd]\nDeny=/usr//bin/sleep\n", 1},
		{"[snapwalkd]\nDeny=/usr/bin/../bin/sleep\n", 1},
		{"[snapwalkd]\nDeny=/usr/./bin/sleep\n", 1},
		{"[snapwalkd]\nDeny=/bin/sleep/\n", 1},
		{"[snapwalkd]\nDeny=/no/such/thing/\n", 1},
		{"[snapwalkd]\nDeny=/bin/sleep,\n", 1},
		{"[snapwalkd]\nDeny=/bin/sleep, /bin/cat\n", 1},
		{"[snapwalkd]\nDeny=/bin/sleep,/bin/cat\n", 1},
		{"[snapwalkd]\nDeny=/bin/sleep;\n", 1},
		{"[snapwalkd]\nDeny=/dev/null/sleep\n", 1},
		{"[snapwalkd]\nDeny=/usr/bin\n", 1},
		{"[snapwalkd]\nDeny=/dev/null\n", 1},
		{"[snapwalkd]\nDeny=~/bin/gpg\n", 1},
		{"[snapwalkd]\nDeny=gpg; ssh\n", 1},
		{"[snapwalkd]\nDeny='gpg'\n", 1},
		{"[snapwalkd]\nDeny=gpg # and the rest\n", 1},
		{"[snapwalkd]\nDeny=gpg\xC2\xA0ssh\n", 1},
		{"[snapwalkd]\nDeny=/usr/bin/gpg\xC2\xA0/usr/bin/ssh\n", 1},
		{"[snapwalkd]\nDeny=\xE2\x80\x9Cgpg\xE2\x80\x9D\n", 1},
		{"[snapwalkd]\nDeny=gpg\xE2\x81\x9Fssh\n", 1},
		{"[snapwalkd]\nDeny=gpg\xE1\x9A\x80ssh\n", 1},
		{"[snapwalkd]\nDeny=gpg\xC2\xAD\n", 1},
		{"[snapwalkd]\nDeny=gpg\xEF\xBC\x8Cssh\n", 1},
		{"[snapwalkd]\nDeny=gpg\xE2\x81\xA0\n", 1},
		{"[snapwalkd]\nDeny=gpg \xC3\xA9t\xC3\xA9 \xE6\x97\xA5\n", 0},
		/* Names of something else than a process. */
		{"[snapwalkd]\nDeny=gpg.service\n", 1},
		{"[snapwalkd]\nDeny=user.slice\n", 1},
		{"[snapwalkd]\nDeny=-bash\n", 1},
		{"[snapwalkd]\nDeny=!gpg\n", 1},
		{"[snapwalkd]\nDeny=@wheel\n", 1},
		{"[snapwalkd]\nDeny=~gpg\n", 1},
		{"[snapwalkd]\nDeny=a.services .service (sd-pam)\n", 0},
		/* Characters before the key that are not seen, and those that only look like blanks. */
		{"[snapwalkd]\nWorkers=2\n\xE2\x80\x83"
		 "Deny=gpg\n",
		 1},
		{"[snapwalkd]\nWorkers=2\n\xEF\xBB\xBF"
		 "Deny=gpg\n",
		 1},
		{"[snapwalkd]\nWorkers=2\n\xE2\x80\x8B"
		 "User=x\n",
		 1},
		{"[snapwalkd]\nWorkers=2\n \xE2\x80\x83"
		 "Deny=gpg\n",
		 1},
		{"[snapwalkd]\nWorkers=2\n\fDeny=gpg\n", 1},
		{"[snapwalkd]\nWorkers=2\n\vDeny=gpg\n", 1},
		{"[snapwalkd]\nWorkers=2\n\rDeny=gpg\n", 1},
		{"[snapwalkd]\nWorkers=2\nexport Deny=gpg\n", 1},
		{"[snapwalkd]\nWorkers=2\nsnapwalkd.Deny=gpg\n", 1},
		{"\xEF\xBB\xBF[snapwalkd]\nWorkers=2\n", 0},
		{"\xEF\xBB\xBFWorkers=2\n", 0},
		{"[snapwalkd]\nMax Use=1G\nQueue-=7\n", 0},
		/* Two of them in one line. */
		{"[snapwalkd]Deny=gpg\n", 1},
		{"[snapwalkd] Deny=gpg\nWorkers=2\n", 1},
		{"\xEF\xBB\xBF[snapwalkd] Deny=gpg\n", 1},
		{"[snapwalkd]\rWorkers=2\rDeny=gpg\r", 1},
		{"[snapwalkd] ; Deny=gpg\n [snapwalkd]# Deny=gpg\n", 0},
		{"Workers=2\rDeny=gpg\r", 1},
		{"# a comment\rDeny=gpg\r", 1},
		{"# a comment " LONG "\rDeny=gpg\r", 1},
		{"[snapwalkd]\r\r\nWorkers=2\r\r\n", 0},
		{"[snapwalkd]\nWorkers=2 Deny=gpg\n", 1},
		{"[snapwalkd]\nWorkers=2Deny=gpg\n", 1},
		{"[snapwalkd]\nStateDirectory=/var/xDeny=gpg\n", 1},
		{"[snapwalkd]\n=Deny=gpg\n", 1},
		{"[snapwalkd]\nColour=redDeny=gpg\n", 1},
		{"[snapwalkd]\nRulesDirectory=/etc Deny = gpg\n", 1},
		{"[snapwalkd]\nOnDump=/bin/cat\xC2\xA0Group: x\n", 1},
		{"[snapwalkd]\nOnDump=/bin/cat " LONG " Deny=gpg\n", 0},
		{"[snapwalkd]\nOnDump=/bin/cat --group=x \"User=x\" /Deny=\nWorkers=2 ; Deny=gpg\n",
		 0},
		{"[snapwalkd]\nDeny=gpg\rssh\n", 1},
		{"[snapwalkd]\nDeny=\"/bin/sleep \"\n", 1},
		{"[snapwalkd]\nDeny=\" gpg\"\n", 1},
		{"[snapwalkd]\nDeny=UID:7\n", 1},
		{"[snapwalkd]\nDeny=1000\n", 1},
		{"[snapwalkd]\nDeny=gpg 0 7zip\n", 1},
		{"[snapwalkd]\nDeny=user:bob\n", 1},
		{"[snapwalkd]\nDeny=uid:7,\n", 1},
		{"[snapwalkd]\nDeny=uid:7-9\n", 1},
		{"[snapwalkd]\nDenied=gpg\n", 1},
		{"[snapwalkd]\nDenyExe=/usr/bin/gpg\n", 1},
		{"[snapwalkd]\nRequireNamespace=no\n", 1},
		/* Lines that go on, and are lost. */
		{"[snapwalkd]\nDeny=gpg\nssh\n", 1},
		{"[snapwalkd]\nDeny=gpg \\\nssh\n", 2},
		{"[snapwalkd]\nDeny=gpg \\\n ssh\n", 1},
		{"[snapwalkd]\nDeny=gpg\n# more\n\nssh uid:7\n", 1},
		{"[snapwalkd]\nDeny=gpg\n MaxUse=1G\n", 1},
		{"[snapwalkd]\nDeny=gpg\n /" LONG "\n", 1},
		{"[snapwalkd]\nDeny=gpg\n/" LONG "\n", 1},
		{"[snapwalkd]\nDney=gpg\n ssh\n", 2},
		{"[snapwalkd]\nDeny=gpg\nMaxUse=1G\nssh\n", 0},
		{"[snapwalkd]\nDeny=gpg\n[snapwalkd]\nssh\n", 0},
		{"[snapwalkd]\nDeny=gpg\nOnDump=/bin/cat " LONG "\n", 0},
		{"[snapwalkd]\nDeny=gpg ; ssh\n", 0},
		{"[snapwalkd]\nDeny=/bin/sleep /usr/bin/[ /no/such/thing\n /bin/cat\n", 0},
		{"[snapwalkd]\nDeny=gpg\n ssh\n uid:7\n", 0},
		{"[snapwalkd]\nDeny=uid:0 gpg-agent /usr/bin/gpg \"/opt/my app\" uid:4294967295\n",
		 0},
		{"[snapwalkd]\nColour=red\nWorkers=x\nStor=no\nMaxAge=30 days\n", 0},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		sw_config_deinit(&f->config);
		assert_int_equal(sw_config_init(&f->config), 0);
		f->n_said = 0;
		load(f, cases[i].text);
		if (f->config.n_unsafe != cases[i].n_unsafe)
			print_error("%s", cases[i].text);
		assert_int_equal(f->config.n_unsafe, cases[i].n_unsafe);
		assert_int_equal(f->config.n_problems, f->n_said);
		assert_true(cases[i].n_unsafe <= f->n_said);
	}
	assert_int_equal(f->config.n_problems, 4);
}

static void load_bytes(struct fixture *f, const char *text, size_t size)
{
	struct sw_error err = {0};
	sw_cleanup(sw_fclose_p) FILE *file = fopen(f->path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(sw_config_load(&f->config, f->path, say, f, &err), 0);
}

/* A line with a NUL is no text: it is lost, and the next one is not. */
TEST_OF(test_nul, struct fixture *f)
{
	static const char text[] = "Queue=9\nDeny=gpg\0 ssh\nWorkers=3\nMaxUse\0=\n";
	char wanted[512];
	load_bytes(f, text, sizeof(text) - 1);
	assert_int_equal(f->n_said, 2);
	(void) snprintf(wanted, sizeof(wanted), "%s:2: not a text: the line is ignored", f->path);
	assert_string_equal(f->said[0], wanted);
	assert_int_equal(f->config.n_unsafe, 2);
	assert_int_equal(f->config.queue, 9);
	assert_int_equal(f->config.workers, 3);
	assert_null(f->config.deny);
}

/* The reasons against a path that is not the kernel's, and against a file that no process has as
 * its program. */
TEST_OF(test_deny_paths, struct fixture *f)
{
	static const struct {
		const char *word, *why;
	} cases[] = {
		{"/usr//bin/sleep", "not as the kernel writes it: write /usr/bin/sleep"},
		{"/usr/bin/../bin/sleep", "not as the kernel writes it: write /usr/bin/sleep"},
		{"/../bin/sleep", "not as the kernel writes it: write /bin/sleep"},
		{"/bin/sleep/", "not as the kernel writes it: write /bin/sleep"},
		{"//", "not as the kernel writes it: write /"},
		{"/usr/bin/*", "a pattern: write the path of each program"},
		{"/bin/sleep,", "words are separated by blanks, without ',' and ';'"},
		{"/usr/bin", "a directory: write each program in it"},
		{"/dev/null", "neither a file nor a link to one"},
		{"/dev/null/x", "no program can have this path: a part of it is no directory"},
	};
	static const struct {
		const char *text, *why;
	} files[] = {
		{"PK\003\004",
		 ": no ELF file, which a process runs by another program"}, /* a JAR */
		{"MZ", ": no ELF file"},
		{"", ": no ELF file"},
		{"\177ELF\2\1\1\3xxxxxxxx\1\1",
		 ": an ELF file that is no program"}, /* an object file */
		{"\177ELF\2\1\1\3xxxxxxxx\4\4", ": an ELF file that is no program"},
	};
	char text[512], wanted[1024], script[192];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		f->n_said = 0;
		(void) snprintf(text, sizeof(text), "Deny=gpg %s\n", cases[i].word);
		load(f, text);
		(void) snprintf(
			wanted, sizeof(wanted),
			"%s:1: Deny=gpg %s: %s: expected a process's name, an absolute path "
			"of a program, or uid:N",
			f->path, cases[i].word, cases[i].why);
		assert_int_equal(f->n_said, 1);
		assert_string_equal(f->said[0], wanted);
		assert_null(f->config.deny);
	}
	f->n_said = 0;
	(void) snprintf(script, sizeof(script), "%s/script", f->directory);
	put(script, "#!/bin/sh\n");
	(void) snprintf(text, sizeof(text), "Deny=%s\n", script);
	load(f, text);
	assert_int_equal(f->n_said, 1);
	assert_non_null(strstr(f->said[0], ": a script, whose process runs the interpreter"));
	for (size_t i = 0; i < SW_ARRAY_SIZE(files); i++) {
		f->n_said = 0;
		put(script, files[i].text);
		load(f, text);
		assert_int_equal(f->n_said, 1);
		assert_non_null(strstr(f->said[0], files[i].why));
	}
	f->n_said = 0;
	put(script, "\177ELF");
	load(f, text);
	assert_int_equal(f->n_said, 0);
	assert_string_equal(f->config.deny[0], script);
	assert_null(f->config.deny[1]);
	assert_int_equal(unlink(script), 0);
}

/* Lines that go on: the words of Deny= that come of them, and how many mistakes are of a key that protects. */
TEST_OF(test_lines_that_go_on, struct fixture *f)
{
	static const struct {
		const char *text, *words;
		size_t n_said, n_unsafe;
	} cases[] = {
		{"Deny=gpg\n ssh\n\tuid:7\n", "gpg ssh uid:7", 0, 0},
		{"Deny=gpg\r\n ssh\r\n", "gpg ssh", 0, 0},
		{"Deny=\n gpg\n", "gpg", 0, 0},
		{"Deny=gpg ; a word\n ssh\n", "gpg ssh", 0, 0},
		{"Deny=gpg\n ; ssh\n # ssh\n ssh\n", "gpg ssh", 0, 0},
		{"Deny=gpg\n\n ssh\n \n tar\n", "gpg ssh tar", 0, 0},
		{"Deny=gpg\n# more of them\n ssh\n", "gpg ssh", 0, 0},
		{"Deny=gpg\n", "gpg", 0, 0},
		{"Deny=gpg\n ssh", "gpg ssh", 0, 0}, /* no end of line */
		{"Deny=gpg\nStore=no\n ssh\n", "gpg", 1, 0},
		{"Deny=gpg\n[snapwalkd]\n ssh\n", "gpg", 1, 1},
		{"Deny=gpg\n ssh=1\n", "gpg", 1, 1},
		{"Deny=gpg\n uid:x ssh\n", "gpg", 1, 1},
		{"Deny=gpg\n \"ssh\n", "gpg", 1, 1},
		{"Deny=gpg \"a\n b\"\n", "", 2, 2},
		/* The second line would count. */
		{"RequireSameNamespace=yes\n no\n", "", 1, 1},
		{"Group=snapwalk\n root\n", "", 1, 1},
		{"Events=no\n owners\n", "", 1, 1},
		{"User=daemon\n\tnobody\n", "", 1, 1},
		{"OnDump=/bin/cat\n /bin/sh\n", "", 1, 0},
		{"Workers=2\n 64\n", "", 1, 0},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char text[512], words[256] = "";
		f->n_said = 0;
		sw_config_deinit(&f->config);
		assert_int_equal(sw_config_init(&f->config), 0);
		(void) snprintf(text, sizeof(text), "[snapwalkd]\n%s", cases[i].text);
		load(f, text);
		for (char **word = f->config.deny; word != NULL && *word != NULL; word++) {
			strcat(words, words[0] != '\0' ? " " : "");
			strcat(words, *word);
		}
		if (strcmp(words, cases[i].words) != 0 || f->n_said != cases[i].n_said ||
		    f->config.n_unsafe != cases[i].n_unsafe)
			fail_msg("%s: '%s', %zu mistakes, %zu unsafe", cases[i].text, words,
				 f->n_said, f->config.n_unsafe);
		assert_true(f->config.require_same_namespace);
		assert_int_equal(f->config.events == SW_EVENTS_OWNERS, false);
	}
}

/* A path with links: as it is written, and where it leads; of what is not there, its directory's. */
TEST_OF(test_deny_links, struct fixture *f)
{
	char real[PATH_MAX], program[PATH_MAX + 16], by_dir[PATH_MAX + 16], by_link[PATH_MAX + 16],
		text[5 * PATH_MAX], target[PATH_MAX + 16];
	assert_non_null(realpath(f->directory, real));
	(void) snprintf(program, sizeof(program), "%s/program", real);
	(void) snprintf(by_link, sizeof(by_link), "%s/link", real);
	(void) snprintf(by_dir, sizeof(by_dir), "%s/dir", real);
	put(program, "\177ELF");
	assert_int_equal(symlink("program", by_link), 0);
	assert_int_equal(symlink(".", by_dir), 0);
	(void) snprintf(text, sizeof(text), "Deny=%s %s/none\n %s/link %s\n", by_link, by_dir,
			by_dir, program);
	load(f, text);
	assert_int_equal(f->n_said, 0);
	assert_string_equal(f->config.deny[0], by_link);
	assert_string_equal(f->config.deny[2], program);
	(void) snprintf(target, sizeof(target), "%s/none", real);
	assert_string_equal(f->config.deny[3], target);
	assert_string_equal(f->config.deny[5], program);
	assert_string_equal(f->config.deny[6], program);
	assert_null(f->config.deny[7]);
	assert_int_equal(unlink(program), 0);
	assert_int_equal(unlink(by_link), 0);
	assert_int_equal(unlink(by_dir), 0);
}

/* More than goes to workers is refused when it is read. */
TEST_OF(test_deny_bytes, struct fixture *f)
{
	enum { LINES = 185, WORD = 182, FIT = (SW_CONFIG_DENY_BYTES - 1) / WORD };
	size_t used = 0;
	sw_cleanup(sw_free_p) char *many = malloc(64 << 10);
	assert_non_null(many);
	for (int i = 0; i < LINES; i++)
		used += (size_t) sprintf(many + used, "Deny=/%0180d\n", i);
	load(f, many);
	assert_int_equal(f->n_said, LINES - FIT);
	assert_int_equal(f->config.n_unsafe, LINES - FIT);
	assert_non_null(strstr(f->said[0], ": too many words"));
}

TEST_OF(test_restart, struct fixture *f)
{
	struct sw_config other;
	assert_int_equal(sw_config_init(&other), 0);
	assert_int_equal(sw_config_restart_needed(&f->config, &other, say, f), 0);
	load(f, "[snapwalkd]\nUser=a\nOnDump=/bin/cat x\nWorkers=7\nOnDumpTimeoutSec=9\n");
	assert_int_equal(sw_config_restart_needed(&other, &f->config, say, f), 3);
	assert_string_equal(f->said[0], "User");
	assert_string_equal(f->said[1], "OnDump");
	assert_string_equal(f->said[2], "OnDumpTimeoutSec");
	assert_int_equal(sw_config_key_place(&f->config, "User")->line, 2);
	assert_null(sw_config_key_place(&f->config, "Group"));
	sw_config_deinit(&other);
}

TEST_OF(test_long_line, struct fixture *f)
{
	char text[1024], wanted[512];
	(void) snprintf(text, sizeof(text), "Deny=%0500d\nQueue=9\nOdd=1\n", 0);
	load(f, text);
	assert_int_equal(f->n_said, 2);
	(void) snprintf(wanted, sizeof(wanted), "%s:1: the line is too long: it is ignored",
			f->path);
	assert_string_equal(f->said[0], wanted);
	(void) snprintf(wanted, sizeof(wanted), "%s:3: unknown key Odd", f->path);
	assert_string_equal(f->said[1], wanted);
	assert_int_equal(f->config.queue, 9);
}

/* Drop-ins in order of their names; only *.conf; an empty list begins anew. */
TEST_OF(test_drop_ins, struct fixture *f)
{
	char path[192];
	(void) snprintf(path, sizeof(path), "%s.d", f->path);
	assert_int_equal(mkdir(path, 0700), 0);
	(void) snprintf(path, sizeof(path), "%s.d/20-b.conf", f->path);
	put(path, "Queue=20\nDeny=\nDeny=c\n");
	(void) snprintf(path, sizeof(path), "%s.d/10-a.conf", f->path);
	put(path, "Queue=10\nWorkers=3\nDeny=b\n");
	(void) snprintf(path, sizeof(path), "%s.d/30-c.conf~", f->path);
	put(path, "Queue=30\n");
	load(f, "Queue=1\nDeny=a\n");
	assert_int_equal(f->n_said, 0);
	assert_int_equal(f->config.queue, 20);
	assert_int_equal(f->config.workers, 3);
	assert_string_equal(f->config.deny[0], "c");
	assert_null(f->config.deny[1]);
}

/* Lines behind the last one that is read may protect. */
TEST_OF(test_many_lines, struct fixture *f)
{
	enum { LINES = 4096 };
	static const char line[] = "#\n", last[] = "Deny=gpg\n";
	char text[LINES * (sizeof(line) - 1) + sizeof(last)], wanted[512], *at = text;
	for (int i = 0; i < LINES; i++)
		at = stpcpy(at, line);
	load(f, text);
	assert_int_equal(f->n_said, 0);
	(void) strcpy(at, last);
	load(f, text);
	assert_int_equal(f->n_said, 1);
	(void) snprintf(wanted, sizeof(wanted),
			"%s:4096: the rest is ignored: the file has too many lines", f->path);
	assert_string_equal(f->said[0], wanted);
	assert_int_equal(f->config.n_unsafe, 1);
	assert_null(f->config.deny);
}

/* Links that lead nowhere are no configuration that is not there. */
TEST_OF(test_dangling, struct fixture *f)
{
	struct sw_error err = {0};
	char path[192], wanted[256];
	(void) snprintf(path, sizeof(path), "%s.d", f->path);
	put(f->path, "Queue=9\n");
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(sw_config_load(&f->config, f->path, say, f, &err), -SW_E_IO);
	(void) snprintf(wanted, sizeof(wanted), "%s: a symbolic link that leads nowhere", path);
	assert_string_equal(err.message, wanted);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sw_config_load(&f->config, f->path, say, f, &err), 0);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(symlink("nowhere", f->path), 0);
	assert_int_equal(sw_config_load(&f->config, f->path, say, f, &err), -SW_E_IO);
	(void) snprintf(wanted, sizeof(wanted), "%s: a symbolic link that leads nowhere", f->path);
	assert_string_equal(err.message, wanted);
	/* The directory on the way. */
	(void) snprintf(path, sizeof(path), "%s/snapwalk.conf", f->path);
	assert_int_equal(sw_config_load(&f->config, path, say, f, &err), -SW_E_IO);
	(void) snprintf(wanted, sizeof(wanted), "%s: a symbolic link that leads nowhere", path);
	assert_string_equal(err.message, wanted);
}

TEST_OF(test_missing, struct fixture *f)
{
	struct sw_error err = {0};
	assert_int_equal(sw_config_load(&f->config, f->path, say, f, &err), -SW_E_IO);
	assert_non_null(strstr(err.message, f->path));
	assert_int_equal(sw_config_load(&f->config, f->directory, say, f, &err), -SW_E_IO);
}
