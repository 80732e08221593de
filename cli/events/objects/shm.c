/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/objects/shm.h"
#include "cleanup.h"
#include "errors.h"
#include "map.h"

#include <snapwalk/clock.h>
#include <snapwalk/listing.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* OTHERS: segments of other processes that were there before. GONE: given up since the check was begun. */
enum state { OTHERS, BEFORE, ACQUIRED, GONE };

struct thing {
	enum sw_event_shm kind;
	uint64_t key; /* number of the segment; address; of the name */
	enum state state;
	bool sure;                       /* a segment that is surely new */
	uint32_t index;                  /* of the row */
	uint64_t inode;                  /* of an object */
	int64_t acquired_ns, changed_ns; /* CLOCK_MONOTONIC; 0: before */
};

struct things {
	struct thing *all; /* owned; by kind and key */
	size_t n, max;
};

struct shm {
	struct sw_held held;
	struct things known;
	struct things
		listed; /* by the check: segments that the process has created or others have, attachments, objects */
	int segments_fd; /* owned: /proc/sysvipc/shm */
	bool no_memory;  /* while names were listed */
};

/* ---- storage ---------------------------------------------------------------------------------- */

static void destroy(struct sw_held *held)
{
	struct shm *s = (struct shm *) held;
	free(s->known.all);
	free(s->listed.all);
	sw_close_p(&s->segments_fd);
	sw_held_deinit(&s->held);
	free(s);
}

/* Where it stands or would stand. */
static size_t place(const struct things *things, enum sw_event_shm kind, uint64_t key)
{
	size_t low = 0, high = things->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct thing *at = &things->all[middle];
		if (at->kind != kind ? at->kind < kind : at->key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct thing *find(const struct things *things, enum sw_event_shm kind, uint64_t key)
{
	size_t at = place(things, kind, key);
	return at < things->n && things->all[at].kind == kind && things->all[at].key == key
		       ? &things->all[at]
		       : NULL;
}

/* Adds one, or replaces the one of that key. */
static int put(struct things *things, const struct thing *thing)
{
	struct thing *old = find(things, thing->kind, thing->key);
	if (old != NULL) {
		*old = *thing;
		return 0;
	}
	size_t at = place(things, thing->kind, thing->key);
	struct thing *grown = sw_grow(things->all, things->n, &things->max, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	things->all = grown;
	memmove(&grown[at + 1], &grown[at], (things->n - at) * sizeof(*grown));
	grown[at] = *thing;
	things->n++;
	return 0;
}

static void take_out(struct things *things, struct thing *thing)
{
	size_t at = (size_t) (thing - things->all);
	things->n--;
	memmove(thing, thing + 1, (things->n - at) * sizeof(*thing));
}

static uint64_t key_of_name(const char *name)
{
	return sw_mix_text(0, name);
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* A segment that is removed has no number any more by which somebody could get it. */
static int segment_read(struct shm *s, const char *line)
{
	enum { REMOVED = 01000 /* SHM_DEST, include/linux/shm.h */ };
	int32_t id;
	unsigned mode;
	int cpid;
	if (sscanf(line, "%*d %" SCNd32 " %o %*u %d", &id, &mode, &cpid) != 3 ||
	    (mode & REMOVED) != 0)
		return 0;
	/* An earlier process of the same number may have left it: nothing tells them apart. */
	const struct thing thing = {.kind = SW_EVENT_SHM_SEGMENT,
				    .key = (uint32_t) id,
				    .state = cpid == s->held.run->subject.pid ? BEFORE : OTHERS};
	return put(&s->listed, &thing);
}

/* The kernel names the mappings of a segment by its key: the first one of an attachment begins with the segment. */
static int mapping_read(struct shm *s, const char *line)
{
	uint64_t begin, off;
	int name = 0;
	if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &begin, &off, &name) != 2 ||
	    name == 0 || off != 0 || strncmp(line + name, "/SYSV", strlen("/SYSV")) != 0)
		return 0;
	const struct thing thing = {.kind = SW_EVENT_SHM_ATTACHMENT, .key = begin, .state = BEFORE};
	return put(&s->listed, &thing);
}

/* Reads lines of a file, which is consumed. */
static int lines_read(struct shm *s, int fd, int (*line_read)(struct shm *s, const char *line),
		      struct sw_error *err)
{
	static const char cannot[] = "its shared memory cannot be listed";
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	sw_cleanup(sw_free_p) char *line = NULL;
	size_t size = 0;
	int r = 0;
	if (file == NULL) {
		r = sw_fail_errno(err, SW_E_IO, "%s", cannot);
		sw_close_p(&fd);
		return r;
	}
	while (r == 0 && (errno = 0, getline(&line, &size, file)) >= 0)
		r = line_read(s, line) < 0 ? sw_fail_nomem(err) : 0;
	if (r == 0 && errno != 0)
		r = sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) fclose(file); /* nothing was written */
	return r;
}

static int segments_read(struct shm *s, struct sw_error *err)
{
	if (s->segments_fd < 0)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its segments cannot be listed: it is in another IPC namespace, or "
			       "the kernel has no /proc/sysvipc");
	if (lseek(s->segments_fd, 0, SEEK_SET) < 0)
		return sw_fail_errno(err, SW_E_IO, "its segments cannot be listed");
	return lines_read(s, fcntl(s->segments_fd, F_DUPFD_CLOEXEC, 0), segment_read, err);
}

static int attachments_read(struct shm *s, struct sw_error *err)
{
	return lines_read(s, openat(s->held.run->proc_fd, "maps", O_RDONLY | O_CLOEXEC),
			  mapping_read, err);
}

static void name_add(void *arg, const char *name, uint64_t inode)
{
	struct shm *s = arg;
	const struct thing thing = {.kind = SW_EVENT_SHM_OBJECT,
				    .key = key_of_name(name),
				    .state = OTHERS,
				    .inode = inode};
	if (put(&s->listed, &thing) < 0)
		s->no_memory = true;
}

/* A process without such a directory has no objects. The process that reads has the rights that this one has by now: it
 * shares the memory of a parser. */
static int objects_read(struct shm *s, struct sw_error *err)
{
	struct sw_listing *listing = NULL;
	int r = sw_listing_create(s->held.run->proc_fd, &listing, err);
	if (r == 0)
		r = sw_listing_names(listing, "dev/shm", name_add, s, err);
	sw_listing_destroy(listing);
	if (r == -SW_E_NOT_FOUND)
		r = 0;
	return r == 0 && s->no_memory ? sw_fail_nomem(err) : r;
}

static int list_read(struct sw_held *held, struct sw_error *err)
{
	struct shm *s = (struct shm *) held;
	s->listed.n = 0;
	int r = segments_read(s, err);
	if (r == 0)
		r = attachments_read(s, err);
	return r < 0 ? r : objects_read(s, err);
}

/* Segments and attachments that are there. Whose objects are is not known, so none was there before. */
static int begin(struct shm *s, struct sw_error *err)
{
	struct sw_error no_segments;
	int r = s->segments_fd >= 0 ? segments_read(s, err) : segments_read(s, &no_segments);
	if (s->segments_fd < 0)
		r = 0; /* said by the check in the end */
	if (r == 0)
		r = attachments_read(s, err);
	s->known = s->listed;
	s->listed = (struct things){0}; /* from now on that of the end */
	s->held.listed_ns = sw_clock_ns();
	return r;
}

/* The file shows the namespace of who opens it. */
static int segments_open(int proc_fd)
{
	char own[PATH_MAX], its[PATH_MAX];
	ssize_t n_own = readlink("/proc/self/ns/ipc", own, sizeof(own));
	ssize_t n_its = readlinkat(proc_fd, "ns/ipc", its, sizeof(its));
	if (n_own <= 0 || n_own != n_its || memcmp(own, its, (size_t) n_own) != 0)
		return -EBADF;
	return open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC);
}

static int create(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err)
{
	struct shm *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return sw_fail_nomem(err);
	s->segments_fd = segments_open(run->proc_fd);
	int r = sw_held_init(&s->held, &sw_held_shm, run);
	r = r < 0 ? sw_fail_nomem(err) : begin(s, err);
	if (r < 0)
		destroy(&s->held);
	else
		*ret = &s->held;
	return r;
}

/* ---- events ----------------------------------------------------------------------------------- */

/* The name of an object, which ends with the page of the process if nowhere else. */
static uint64_t key_of_path(const struct sw_event *e)
{
	enum { PREFIX_BYTES = 9 /* "/dev/shm/" */ };
	char path[NAME_MAX + 1] = "";
	size_t n = e->text != NULL ? e->text_size : 0;
	n = n < sizeof(path) ? n : sizeof(path) - 1;
	if (n > 0)
		memcpy(path, e->text, n);
	path[n] = '\0';
	const char *name = path + (strlen(path) < PREFIX_BYTES ? strlen(path) : PREFIX_BYTES);
	return key_of_name(name + strspn(name, "/"));
}

static uint64_t key_of(const struct sw_event *e, const struct sw_event_handle *handle)
{
	switch ((enum sw_event_shm) handle->file) {
	case SW_EVENT_SHM_SEGMENT: return handle->number;
	case SW_EVENT_SHM_ATTACHMENT: return handle->inode;
	case SW_EVENT_SHM_OBJECT: return key_of_path(e);
	}
	return 0;
}

static bool is_checked(const struct shm *s, int64_t now_ns)
{
	return s->held.check_ns != 0 && now_ns > s->held.check_ns;
}

static void count_released(struct shm *s, const struct thing *thing)
{
	s->held.before_released += thing->state == BEFORE;
	if (thing->state == ACQUIRED)
		sw_held_released(&s->held, thing->index);
}

static int release(struct shm *s, enum sw_event_shm kind, uint64_t key, int64_t now_ns)
{
	struct thing *thing = find(&s->known, kind, key);
	const struct thing gone = {.kind = kind, .key = key, .state = GONE, .changed_ns = now_ns};
	if (thing != NULL)
		count_released(s, thing);
	if (is_checked(s, now_ns)) /* the list of the check may still have it */
		return put(&s->known, &gone);
	if (thing != NULL)
		take_out(&s->known, thing);
	return 0;
}

static int acquire(struct shm *s, const struct sw_event *e, const struct sw_event_handle *handle,
		   uint32_t index)
{
	const enum sw_event_shm kind = (enum sw_event_shm) handle->file;
	const struct thing thing = {.kind = kind,
				    .key = key_of(e, handle),
				    .state = ACQUIRED,
				    .sure = kind != SW_EVENT_SHM_SEGMENT || handle->inode != 0,
				    .index = index,
				    .inode = kind == SW_EVENT_SHM_OBJECT ? handle->inode : 0,
				    .acquired_ns = e->time_ns,
				    .changed_ns = e->time_ns};
	struct thing *old = find(&s->known, kind, thing.key);
	if (!thing.sure && old != NULL && old->state != GONE)
		return 0; /* it was found by its key */
	/* A thing that was listed may have been made after events had begun; else the record of its end was lost. */
	if (old != NULL && (old->state != BEFORE || e->time_ns > s->held.listed_ns))
		count_released(s, old);
	sw_held_acquired(&s->held, index, e);
	return put(&s->known, &thing);
}

/* execve(2) detaches all; the other things stay. */
static void all_detach(struct shm *s, int64_t now_ns)
{
	for (size_t i = 0; i < s->known.n;) {
		struct thing *thing = &s->known.all[i];
		if (thing->kind != SW_EVENT_SHM_ATTACHMENT || thing->state == GONE) {
			i++;
			continue;
		}
		count_released(s, thing);
		if (!is_checked(s, now_ns)) {
			take_out(&s->known, thing);
			continue;
		}
		thing->state = GONE;
		thing->changed_ns = now_ns;
		i++;
	}
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct shm *s = arg;
	uint32_t index = 0;
	int r = sw_held_index(&s->held, row, &index);
	for (size_t i = 0; r == 0 && i < e->n_handles; i++) {
		const struct sw_event_handle *handle = &e->handles[i];
		if (e->kind == SW_EVENT_ACQUIRED)
			r = acquire(s, e, handle, index);
		else if (e->kind == SW_EVENT_RELEASED)
			r = release(s, (enum sw_event_shm) handle->file, key_of(e, handle),
				    e->time_ns);
	}
	if (e->kind == SW_EVENT_PROGRAM)
		all_detach(s, e->time_ns);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* A segment that another process has created, which the call has found by its key. */
static bool is_of_others(const struct thing *thing, const struct thing *listed)
{
	return thing->kind == SW_EVENT_SHM_SEGMENT && !thing->sure && thing->state == ACQUIRED &&
	       listed != NULL && listed->state == OTHERS;
}

static bool is_there(const struct thing *thing, const struct thing *listed)
{
	return listed != NULL &&
	       (thing->kind != SW_EVENT_SHM_OBJECT || thing->inode == listed->inode);
}

/* A thing that changed since the check was begun is neither. */
static void compare_with_list(struct shm *s)
{
	struct sw_held *h = &s->held;
	for (size_t i = 0; i < s->listed.n; i++) {
		const struct thing *listed = &s->listed.all[i];
		h->n_there += listed->state == BEFORE;
		h->unknown_origin += listed->state == BEFORE &&
				     find(&s->known, listed->kind, listed->key) == NULL;
	}
	for (size_t i = 0; i < s->known.n; i++) {
		struct thing *thing = &s->known.all[i];
		const struct thing *listed = find(&s->listed, thing->kind, thing->key);
		if (thing->state == OTHERS || thing->state == GONE)
			continue;
		if (is_of_others(thing, listed)) {
			h->acquired--;
			h->rows[thing->index].acquired--;
			thing->state = OTHERS;
			continue;
		}
		bool there = is_there(thing, listed);
		h->n_there += there && thing->kind == SW_EVENT_SHM_OBJECT;
		if (there || thing->changed_ns > h->check_ns)
			continue;
		h->closed_unseen++;
		if (thing->state == ACQUIRED)
			h->rows[thing->index].unseen++;
		thing->state = GONE;
	}
}

static int list(struct sw_held *held)
{
	struct shm *s = (struct shm *) held;
	int r = 0;
	if (held->check_ns != 0)
		compare_with_list(s);
	for (size_t i = 0; r == 0 && i < s->known.n; i++) {
		const struct thing *thing = &s->known.all[i];
		held->before += thing->state == BEFORE;
		if (thing->state == ACQUIRED)
			r = sw_held_put(held, thing->index, thing->acquired_ns, 0);
	}
	return r;
}

const struct sw_held_kind sw_held_shm = {.name = "shm",
					 .events = SW_EVENT_SHM,
					 .noun = "shm item",
					 .file = "maps",
					 .more_files = ", /proc/sysvipc/shm and /dev/shm",
					 .got = "made or attached",
					 .there = "there",
					 .unseen = "removed unseen",
					 .create = create,
					 .destroy = destroy,
					 .event = event,
					 .read = list_read,
					 .list = list};
