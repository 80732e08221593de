/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packages/find.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <sys/stat.h>
#include <time.h>

enum { NAMES_MAX = 32 };

/* A directory of lists. */
struct lists {
	char path[64];
	char names[NAMES_MAX][300];
	size_t n;
};

static char *file_of(const struct lists *l, const char *name, char *ret, size_t size)
{
	(void) snprintf(ret, size, "%s/%s", l->path, name);
	return ret;
}

static void put(struct lists *l, const char *name, const char *text)
{
	char path[512];
	FILE *f = fopen(file_of(l, name, path, sizeof(path)), "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
	(void) snprintf(l->names[l->n++], sizeof(l->names[0]), "%s", name);
}

static int setup(void **state)
{
	struct lists *l = calloc(1, sizeof(*l));
	assert_non_null(l);
	strcpy(l->path, "/tmp/snapwalk-test-XXXXXX");
	assert_non_null(mkdtemp(l->path));
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	struct lists *l = *state;
	char path[512];
	for (size_t i = 0; i < l->n; i++)
		(void) unlink(file_of(l, l->names[i], path, sizeof(path)));
	assert_int_equal(rmdir(l->path), 0);
	free(l);
	return 0;
}

static const char *find(const struct lists *l, const char *path)
{
	static struct sw_package_want want;
	want = (struct sw_package_want){.path = path};
	sw_packages_find(l->path, &want, 1, 0);
	return want.name;
}

/* A file is in the list that has its whole path as a line, with or without "/usr". */
TEST_OF(test_lines, struct lists *l)
{
	put(l, "one:amd64.list", "/.\n/lib\n/lib/x\n/lib/x/liba.so.1\n/usr/lib/libb.so.1.2\n");
	put(l, "two.list", "/usr/lib/libb.so.1\n/opt/usr/bin/c\n/usr/bin/d");
	assert_string_equal(find(l, "/usr/lib/x/liba.so.1"), "one");
	assert_string_equal(find(l, "/lib/x/liba.so.1"), "one");
	assert_string_equal(find(l, "/lib/libb.so.1.2"), "one");
	assert_string_equal(find(l, "/usr/lib/libb.so.1"), "two");
	assert_string_equal(find(l, "/usr/bin/d"), "two"); /* the last line has no end */
	assert_string_equal(find(l, "/opt/usr/bin/c"), "two");
	assert_string_equal(find(l, "/usr/bin/c"), "");     /* the end of another path */
	assert_string_equal(find(l, "/lib/x/liba.so"), ""); /* the beginning of one */
	assert_string_equal(find(l, "/usr"), "");
}

/* The package that the name suggests is looked into first, and others where that has not the file. */
TEST_OF(test_guess, struct lists *l)
{
	put(l, "libfoo-bar2-3:amd64.list", "/usr/lib/libfoo_Bar2.so.3.1\n/usr/bin/same\n");
	put(l, "same.list", "/usr/bin/same\n");
	put(l, "another.list", "/usr/lib/libfoo_Bar2.so.3.1\n/usr/bin/other\n");
	put(l, "samely.list", "/usr/bin/samefile\n");
	assert_string_equal(find(l, "/usr/lib/libfoo_Bar2.so.3.1"), "libfoo-bar2-3");
	assert_string_equal(find(l, "/usr/bin/same"), "same");
	assert_string_equal(find(l, "/usr/bin/other"), "another");
	assert_string_equal(find(l, "/usr/bin/samefile"), "samely");
}

/* Lists are looked into in an order: a name like the guess, a word of the path, all others. Here each has the file. */
TEST_OF(test_order, struct lists *l)
{
	static const char java[] = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java";
	static const char python[] = "/usr/bin/python3.11";
	char text[256];
	(void) snprintf(text, sizeof(text), "%s\n%s\n", java, python);
	put(l, "aaa.list", text);
	assert_string_equal(find(l, java), "aaa");
	put(l, "java-common.list", text);
	assert_string_equal(find(l, java), "java-common");
	put(l, "openjdk-17-jre-headless:amd64.list", text);
	assert_string_equal(find(l, java), "openjdk-17-jre-headless");
	assert_string_equal(find(l, python), "aaa");
	put(l, "python3-lib.list", text);
	assert_string_equal(find(l, python), "python3-lib");
	put(l, "python3.11-minimal.list", text);
	assert_string_equal(find(l, python), "python3.11-minimal");
}

/* Words that make a list likely are among the first of a path. */
TEST_OF(test_words, struct lists *l)
{
	char path[256] = "", text[512];
	for (int i = 0; i < 31; i++) /* the word before the first slash is the first one */
		strcat(path, "/a");
	strcat(path, "/openjdk/java");
	(void) snprintf(text, sizeof(text), "%s\n%s\n", path, path + strlen("/a"));
	put(l, "aaa.list", text);
	put(l, "xx-openjdk.list", text);
	assert_string_equal(find(l, path), "aaa");
	assert_string_equal(find(l, path + strlen("/a")), "xx-openjdk");
}

/* Packages that are likely by a rule are looked into before all lists are. */
TEST_OF(test_rules, struct lists *l)
{
	static const struct {
		const char *path, *list, *package;
	} rules[] = {
		{"/usr/bin/ls", "coreutils.list", "coreutils"},
		{"/usr/bin/mount", "util-linux.list", "util-linux"},
		{"/usr/bin/top", "procps.list", "procps"},
		{"/lib/libm.so.6", "libc6:amd64.list", "libc6"},
		{"/lib/libz.so.1.2", "zlib1g:amd64.list", "zlib1g"},
		{"/lib/libcrypto.so.3", "libssl3:amd64.list", "libssl3"},
		{"/usr/bin/python3.11", "python3.11-minimal.list", "python3.11-minimal"},
		{"/usr/bin/perl", "perl-base.list", "perl-base"},
		{"/usr/sbin/apache2", "apache2-bin:amd64.list", "apache2-bin"},
		{"/usr/bin/php8.2", "php8.2-cli.list", "php8.2-cli"},
		{"/usr/bin/node", "nodejs.list", "nodejs"},
		{"/usr/lib/jvm/java-17-openjdk-amd64/bin/x", "openjdk-17-jre-headless:amd64.list",
		 "openjdk-17-jre-headless"},
		{"/usr/lib/postgresql/15/bin/postgres", "postgresql-15.list", "postgresql-15"},
	};
	char text[128];
	for (size_t i = 0; i < SW_ARRAY_SIZE(rules); i++) {
		(void) snprintf(text, sizeof(text), "%s\n", rules[i].path);
		put(l, "aaa.list", text);
		l->n--;
		assert_string_equal(find(l, rules[i].path), "aaa");
		put(l, rules[i].list, text);
		assert_string_equal(find(l, rules[i].path), rules[i].package);
	}
	put(l, "aaa.list", "");
}

TEST(test_places)
{
	static const char *const packaged[] = {"/usr/bin/a", "/bin/a",     "/sbin/a",
					       "/lib/a",     "/lib64/a",   "/opt/b/a",
					       "/etc/a",     "/var/lib/a", "/usr/locale/a"};
	static const char *const other[] = {"/usr/local/bin/a", "/home/u/a", "/root/a", "/tmp/a",
					    "/srv/a",           "/a",        "a",       "",
					    "usr/bin/a"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(packaged); i++)
		assert_true(sw_package_may_have(packaged[i]));
	for (size_t i = 0; i < SW_ARRAY_SIZE(other); i++)
		assert_false(sw_package_may_have(other[i]));
}

static int64_t spent_ns(void)
{
	struct timespec now;
	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The names of lists alone are not read for longer than there is time, whatever paths are compared with them. */
TEST_OF(test_deadline, struct lists *l)
{
	enum { LISTS = 3000, WANTS = 64, WORDS = 600, LIMIT_NS = 5000000 };
	static struct sw_package_want wants[WANTS];
	static char path[WORDS * 6 + 8];
	char name[400], file[32];
	int64_t spent[2];
	for (int i = 0; i < WORDS; i++)
		strcat(path, "/words");
	strcat(path, "/a");
	for (int i = 0; i < LISTS; i++) {
		(void) snprintf(file, sizeof(file), "p%d.list", i);
		int fd = open(file_of(l, file, name, sizeof(name)), O_WRONLY | O_CREAT | O_CLOEXEC,
			      0600);
		assert_true(fd >= 0);
		(void) close(fd);
	}
	for (int i = 0; i < WANTS; i++)
		wants[i].path = path;
	for (int limited = 0; limited < 2; limited++) {
		int64_t begin_ns = spent_ns();
		sw_packages_find(l->path, wants, WANTS, limited ? sw_clock_ns() + LIMIT_NS : 0);
		spent[limited] = spent_ns() - begin_ns;
	}
	for (int i = 0; i < LISTS; i++) {
		(void) snprintf(file, sizeof(file), "p%d.list", i);
		(void) unlink(file_of(l, file, name, sizeof(name)));
	}
	print_message("%lld us, %lld us with a limit of 5000\n", (long long) spent[0] / 1000,
		      (long long) spent[1] / 1000);
	assert_true(spent[1] < spent[0] / 4);
}

/* Several are found together, and each has its own. */
TEST_OF(test_several, struct lists *l)
{
	put(l, "a.list", "/usr/bin/one\n/usr/bin/two\n");
	put(l, "b.list", "/usr/bin/three\n");
	struct sw_package_want wants[] = {{.path = "/usr/bin/three"},
					  {.path = "/usr/bin/none"},
					  {.path = "/usr/bin/two"}};
	sw_packages_find(l->path, wants, SW_ARRAY_SIZE(wants), 0);
	assert_string_equal(wants[0].name, "b");
	assert_string_equal(wants[1].name, "");
	assert_string_equal(wants[2].name, "a");
	sw_packages_find(l->path, wants, SW_ARRAY_SIZE(wants), 1); /* the time is over */
	assert_string_equal(wants[0].name, "");
	sw_packages_find("/nonexistent", wants, SW_ARRAY_SIZE(wants), 0);
	assert_string_equal(wants[2].name, "");
}

/* Nothing but a regular file called NAME.list is read, whatever the path that is looked for. */
TEST_OF(test_others, struct lists *l)
{
	char path[512], name[NAME_MAX + 1];
	put(l, "a.postinst", "/usr/bin/x\n");
	put(l, ".list", "/usr/bin/x\n");
	memset(name, 'n', sizeof(name));
	strcpy(name + NAME_MAX - 5, ".list");
	put(l, name, "/usr/bin/x\n");
	assert_int_equal(mkfifo(file_of(l, "fifo.list", path, sizeof(path)), 0600), 0);
	(void) snprintf(l->names[l->n++], sizeof(l->names[0]), "fifo.list");
	assert_int_equal(symlink("a.postinst", file_of(l, "link.list", path, sizeof(path))), 0);
	(void) snprintf(l->names[l->n++], sizeof(l->names[0]), "link.list");
	assert_string_equal(find(l, "/usr/bin/x"), "");
	assert_string_equal(find(l, "/usr/bin/fifo"), "");
	assert_string_equal(find(l, "/"), "");
	assert_string_equal(find(l, "/usr/bin/.."), "");
	assert_string_equal(find(l, "/lib/lib\n.so.1"), "");
}

TEST(test_debug_names)
{
	static const char *const names[][2] = {
		{"libc6", "libc6-dbg"},
		{"libc6-i386", "libc6-i386-dbgsym"},
		{"python3.11-minimal", "python3.11-dbg"},
		{"libpython3.11", "python3.11-dbg"},
		{"python3.", "python3.-dbgsym"},
		{"nginx", "nginx-dbgsym"},
	};
	char ret[SW_PACKAGE_NAME_MAX], name[SW_PACKAGE_NAME_MAX];
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		sw_package_debug_name(names[i][0], ret);
		assert_string_equal(ret, names[i][1]);
	}
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 7] = '\0';
	sw_package_debug_name(name, ret);
	assert_string_equal(ret, "");
}
