/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Unpacked sections on disk: what is believed, and what is not. */
#include "unpacked/file.h"
#include "cleanup.h"
#include "test.h"

#include "skip.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { ID_BYTES = 20, PATH_BYTES = 256, OTHER_UID = 4711 };
#define BYTES SW_UNPACKED_WORTH_BYTES

struct fixture {
	char directory[32];
	uint8_t id[ID_BYTES];
	struct sw_unpacked unpacked;
	struct sw_unpacked_key key;
	uint8_t *sections, *at;
	char path[PATH_BYTES]; /* of the file that the key is kept in */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	strcpy(f->directory, "/tmp/snapwalk-test-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	for (uint8_t i = 0; i < ID_BYTES; i++)
		f->id[i] = i;
	(void) snprintf(f->path, sizeof(f->path),
			"%s/000102030405060708090a0b0c0d0e0f10111213.sections", f->directory);
	assert_true(sw_unpacked_init(&f->unpacked));
	assert_true(sw_unpacked_add(&f->unpacked, f->directory));
	f->key = (struct sw_unpacked_key){
		.build_id = {f->id, ID_BYTES},
		.of = {.st_mode = S_IFREG | 0644, .st_uid = geteuid(), .st_ino = 7, .st_size = 99},
		.layout = 5,
		.bytes = BYTES,
	};
	f->sections = malloc(BYTES);
	assert_non_null(f->sections);
	for (size_t i = 0; i < BYTES; i++)
		f->sections[i] = (uint8_t) (i * 31 >> 8);
	f->at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->at, MAP_FAILED);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[PATH_BYTES];
	(void) snprintf(command, sizeof(command), "rm -rf %s", f->directory);
	int r = system(command);
	free(f->sections);
	(void) munmap(f->at, BYTES);
	free(f);
	return r;
}

static void written(const struct fixture *f)
{
	struct sw_error err;
	assert_int_equal(sw_unpacked_write(&f->unpacked, &f->key, f->sections, &err), 0);
}

static bool is_mapped(const struct fixture *f)
{
	return sw_unpacked_map(&f->unpacked, &f->key, f->at);
}

TEST_OF(what_is_written_is_mapped, struct fixture *f)
{
	assert_false(is_mapped(f));
	assert_int_equal(f->at[100], 0); /* nothing changed */
	written(f);
	assert_true(is_mapped(f));
	assert_memory_equal(f->at, f->sections, BYTES);
	written(f); /* it may be there */
	assert_true(is_mapped(f));
}

/* Each of what the debug file is known by. */
TEST_OF(of_another_file_it_is_not, struct fixture *f)
{
	struct sw_unpacked_key right = f->key;
	written(f);
	f->key.of.st_dev++;
	assert_false(is_mapped(f));
	f->key = right;
	f->key.of.st_ino++;
	assert_false(is_mapped(f));
	f->key = right;
	f->key.of.st_size++;
	assert_false(is_mapped(f));
	f->key = right;
	f->key.of.st_mtim.tv_nsec++;
	assert_false(is_mapped(f));
	f->key = right;
	f->key.of.st_ctim.tv_sec++;
	assert_false(is_mapped(f));
	f->key = right;
	f->key.layout++;
	assert_false(is_mapped(f));
	f->key = right;
	f->id[3]++;
	assert_false(is_mapped(f));
	f->id[3]--;
	assert_true(is_mapped(f));
}

/* After a power failure half of it may be missing. */
TEST_OF(of_an_earlier_start_it_is_not, struct fixture *f)
{
	written(f);
	f->unpacked.boot_id[0] ^= 1;
	assert_false(is_mapped(f));
}

TEST_OF(cut_short_it_is_not, struct fixture *f)
{
	written(f);
	assert_int_equal(truncate(f->path, SW_UNPACKED_PAGE_BYTES + BYTES - 1), 0);
	assert_false(is_mapped(f));
}

TEST_OF(that_others_may_write_it_is_not, struct fixture *f)
{
	written(f);
	assert_int_equal(chmod(f->path, 0664), 0);
	assert_false(is_mapped(f));
	assert_int_equal(chmod(f->path, 0646), 0);
	assert_false(is_mapped(f));
	assert_int_equal(chmod(f->path, 0644), 0);
	assert_true(is_mapped(f));
}

TEST_OF(of_another_user_it_is_not, struct fixture *f)
{
	if (geteuid() != 0)
		SKIP_NOT_ROOT();
	written(f);
	assert_int_equal(chown(f->path, OTHER_UID, OTHER_UID), 0);
	assert_false(is_mapped(f));
	f->unpacked.owner = OTHER_UID;
	assert_true(is_mapped(f));
}

/* A link leads to what somebody else chose; a FIFO never answers. */
TEST_OF(only_a_file_it_is, struct fixture *f)
{
	char elsewhere[PATH_BYTES + 4];
	written(f);
	(void) snprintf(elsewhere, sizeof(elsewhere), "%s.x", f->path);
	assert_int_equal(rename(f->path, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, f->path), 0);
	assert_false(is_mapped(f));
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_false(is_mapped(f));
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(rename(elsewhere, f->path), 0);
	assert_true(is_mapped(f));
}

TEST_OF(only_what_root_or_we_installed, struct fixture *f)
{
	struct sw_unpacked_key right = f->key;
	assert_true(sw_unpacked_may(&f->unpacked, &f->key));
	f->key.of.st_uid = OTHER_UID;
	assert_false(sw_unpacked_may(&f->unpacked, &f->key));
	f->key = right;
	f->key.of.st_mode |= S_IWOTH;
	assert_false(sw_unpacked_may(&f->unpacked, &f->key));
	f->key = right;
	f->key.bytes = BYTES - SW_UNPACKED_PAGE_BYTES;
	assert_false(sw_unpacked_may(&f->unpacked, &f->key));
	f->key.bytes = SW_UNPACKED_BYTES_MAX + SW_UNPACKED_PAGE_BYTES;
	assert_false(sw_unpacked_may(&f->unpacked, &f->key));
	f->key = right;
	f->key.build_id.size = 3;
	assert_false(sw_unpacked_may(&f->unpacked, &f->key));
}

TEST_OF(directories_are_looked_at, struct fixture *f)
{
	struct sw_unpacked u = {.owner = geteuid()};
	assert_int_equal(chmod(f->directory, 0777), 0);
	assert_false(sw_unpacked_add(&u, f->directory));
	assert_int_equal(chmod(f->directory, 0755), 0);
	assert_true(sw_unpacked_add(&u, f->directory));
	written(f);
	assert_false(sw_unpacked_add(&u, f->path));
	assert_true(sw_unpacked_add(&u, f->directory));
	assert_false(sw_unpacked_add(&u, f->directory)); /* there is no third */
}

static void file_make(const struct fixture *f, const char *name, off_t bytes, long age_s)
{
	char path[PATH_BYTES];
	struct timespec now, times[2];
	(void) snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	sw_cleanup(sw_close_p) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	clock_gettime(CLOCK_REALTIME, &now);
	times[0] = times[1] = (struct timespec){.tv_sec = now.tv_sec - age_s};
	assert_int_equal(futimens(fd, times), 0);
}

static bool is_there(const struct fixture *f, const char *name)
{
	char path[PATH_BYTES];
	(void) snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	return access(path, F_OK) == 0;
}

/* 512 MiB in all, which no disk has to hold: the files are empty but for their size. */
TEST_OF(what_was_not_used_goes_first, struct fixture *f)
{
	const off_t part = 200 << 20;
	file_make(f, "01.sections", part, 300);
	file_make(f, "02.sections", part, 100);
	file_make(f, "03.sections", part, 200);
	file_make(f, "04.sections", 1, 31L * 24 * 3600);
	file_make(f, ".new-1", part, 100);
	file_make(f, ".new-2", 1, 0);
	file_make(f, "someone's", part, 1000);
	written(f);
	assert_false(is_there(f, "01.sections"));
	assert_true(is_there(f, "02.sections"));
	assert_true(is_there(f, "03.sections"));
	assert_false(is_there(f, "04.sections"));
	assert_false(is_there(f, ".new-1"));
	assert_true(is_there(f, ".new-2"));
	assert_true(is_there(f, "someone's"));
	assert_true(is_mapped(f));
}

TEST_OF(requests_are_whole_and_counted, struct fixture *f)
{
	struct sw_unpacked_request request;
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	f->unpacked.ask_fd = fds[1];
	sw_unpacked_ask(&f->unpacked, &f->key);
	assert_int_equal(f->unpacked.n_asked, 1);
	assert_int_equal(read(fds[0], &request, sizeof(request)), sizeof(request));
	assert_int_equal(request.n_bytes, ID_BYTES);
	assert_memory_equal(request.build_id, f->id, ID_BYTES);
	for (int i = 0; i < 10000; i++)
		sw_unpacked_ask(&f->unpacked, &f->key); /* it is full: nobody waits */
	assert_true(f->unpacked.n_asked < 10000);
	(void) close(fds[0]);
	(void) close(fds[1]);
}
