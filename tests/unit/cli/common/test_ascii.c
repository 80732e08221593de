/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text for a terminal whose locale is not of UTF-8. */
#include "common/ascii.h"
#include "cleanup.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

TEST(test_words)
{
	static const char text[] = "a → b · 3 … ±2 µs ×4 12–14 min Größe 中\n";
	sw_cleanup(sw_text_deinit) struct sw_text got = {0};
	sw_ascii_append(&got, text, sizeof(text) - 1);
	assert_string_equal(got.data, "a -> b | 3 ... +-2 us x4 12-14 min Gr??e ?\n");
}

/* The first of the three variables that is set decides, as for any program. */
TEST(test_locale)
{
	static const struct {
		const char *all, *ctype, *lang;
		bool ascii;
	} cases[] = {
		{"", "", "", true},
		{"", "", "C.UTF-8", false},
		{"", "", "de_DE.utf8", false},
		{"", "", "de_DE", true},
		{"", "C", "de_DE.UTF-8", true},
		{"C", "de_DE.UTF-8", "de_DE.UTF-8", true},
		{"en_US.UTF-8", "C", "C", false},
	};
	int master_fd = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master_fd >= 0 && grantpt(master_fd) == 0 && unlockpt(master_fd) == 0);
	int fd = open(ptsname(master_fd), O_RDWR | O_NOCTTY);
	assert_true(fd >= 0);
	int file_fd = open("/dev/null", O_WRONLY);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("LC_ALL", cases[i].all, 1);
		setenv("LC_CTYPE", cases[i].ctype, 1);
		setenv("LANG", cases[i].lang, 1);
		assert_int_equal(sw_ascii_only(fd), cases[i].ascii);
		assert_false(sw_ascii_only(file_fd));
	}
	close(file_fd);
	close(fd);
	close(master_fd);
}
