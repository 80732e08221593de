/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot from a minidump of a Windows program. Images are those of the dump itself, where it has all memory; else
 * files of the user.
 */
#include "saved/minidump.h"
#include "cleanup.h"
#include "errors.h"
#include "formats/pe_image.h"
#include "parts.h"
#include "saved/minidump_context.h"
#include "saved/minidump_file.h"
#include "snapshot/module.h"
#include "snapshot/pe_places.h"
#include "snapshot/read.h"
#include "text.h"

#include <snapwalk/module.h>

#include <string.h>
#include <sys/stat.h>

enum {
	PAGE = 4096,
	SECTION_READ = 0x40000000, /* IMAGE_SCN_MEM_READ */
	SECTION_WRITE = 0x80000000,
	NS_PER_S = 1000000000,
	MS_PER_S = 1000,
	MISSING_SHOWN = 4,
};

struct filler {
	struct sw_snapshot *snap;
	const struct sw_minidump_images *images;
	struct sw_minidump md;
	size_t maps_capacity;
	struct sw_text missing; /* owned; names of the first images that are not here */
	size_t n_missing;
};

/* ---- the process and its threads -------------------------------------------------------------- */

/* As Linux would call a program of that name: cut to 15 bytes, where a character ends. */
static void comm_put(char to[static SW_COMM_MAX], const char *name)
{
	size_t n = strlen(name);
	if (n > SW_COMM_MAX - 1)
		n = SW_COMM_MAX - 1;
	while (n > 0 && ((unsigned char) name[n] & 0xc0) == 0x80)
		n--;
	memcpy(to, name, n);
	to[n] = '\0';
}

/* Windows lists the program first, and so do all writers; here modules are by address. */
static const struct sw_minidump_module *program_of(const struct sw_minidump *md)
{
	static const char ending[] = ".exe";
	for (size_t i = 0; i < md->n_modules; i++) {
		size_t n = strlen(md->modules[i].path);
		if (n >= strlen(ending) &&
		    strcasecmp(md->modules[i].path + n - strlen(ending), ending) == 0)
			return &md->modules[i];
	}
	return NULL;
}

static void process_set(struct filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_process *p = &f->snap->process;
	const struct sw_minidump_module *program = program_of(md);
	p->pid = md->pid != 0 && md->pid <= INT32_MAX ? (pid_t) md->pid : 1; /* not known */
	p->elf_class = 64;
	p->ppid = -1;
	p->uid = (uid_t) -1;
	p->gid = (gid_t) -1;
	p->has_no_host = true;
	p->exe = p->cgroup = "";
	if (program != NULL) {
		comm_put(p->comm, sw_minidump_name(program->path));
		p->exe = program->path;
	}
	p->uptime_ms = md->begin_s != 0 && md->time_s >= md->begin_s
			       ? (md->time_s - md->begin_s) * MS_PER_S
			       : -1;
	if (md->time_s != 0)
		f->snap->time_ns = md->time_s * NS_PER_S;
}

/* From sp to the end of what the dump has there without a gap. */
static void stack_set(struct filler *f, struct sw_thread *t)
{
	struct sw_snapshot *snap = f->snap;
	size_t i = sw_snapshot_copy_find(snap, t->regs.sp_avma);
	const struct sw_range *r = i < snap->priv->n_copies ? &snap->priv->copies[i] : NULL;
	if (r == NULL || r->start_avma > t->regs.sp_avma) {
		sw_snapshot_warn(snap, SW_WARN_MEMORY, t->tid, SW_E_MEMORY,
				 "thread %d: its stack is not in the minidump", t->tid);
		return;
	}
	uint64_t skip = t->regs.sp_avma - r->start_avma;
	t->stack_avma = t->regs.sp_avma;
	t->stack = r->data + skip;
	t->stack_bytes = r->bytes - (size_t) skip;
	t->stack_end_avma = r->start_avma + r->bytes;
}

static void thread_set(struct filler *f, const struct sw_minidump_thread *from, struct sw_thread *t)
{
	const struct sw_minidump *md = &f->md;
	const struct sw_minidump_exception *e = &md->exception;
	bool failed = md->has_exception && e->thread == from->id;
	*t = (struct sw_thread){.tid = (pid_t) from->id,
				.state = '?',
				.syscall = -1,
				.cpu_ns = from->cpu_ns,
				.stop_ns = -1,
				.since_ns = -1,
				.stayed = true,
				.gs_base = from->teb_avma};
	if (from->name != NULL && from->name[0] != '\0')
		comm_put(t->comm, from->name);
	else
		memcpy(t->comm, f->snap->process.comm, sizeof(t->comm));
	t->captured =
		sw_minidump_registers(failed && e->context.size > 0 ? e->context : from->context,
				      &t->regs);
	t->captured_by = t->captured ? SW_CAPTURED_CORE : SW_CAPTURED_NOT;
	if (t->captured) {
		stack_set(f, t);
		return;
	}
	t->reason = SW_E_NOT_FOUND;
	sw_snapshot_warn(
		f->snap, SW_WARN_THREAD_MISSING, t->tid, SW_E_NOT_FOUND,
		"thread %d: the minidump has no registers of it: the thread wrote the dump",
		t->tid);
}

static int threads_set(struct filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_snapshot *snap = f->snap;
	snap->threads = sw_arena_calloc(&snap->priv->arena, md->n_threads, sizeof(*snap->threads));
	if (snap->threads == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < md->n_threads; i++)
		if (md->threads[i].id != 0 && md->threads[i].id <= INT32_MAX &&
		    (i == 0 || md->threads[i].id != md->threads[i - 1].id))
			thread_set(f, &md->threads[i], &snap->threads[snap->n_threads++]);
	return 0;
}

/* ---- maps and modules ------------------------------------------------------------------------- */

static void map_add(struct filler *f, uint64_t start_avma, uint64_t end_avma, uint32_t prot,
		    const char *path, uint64_t file_off, int32_t place)
{
	struct sw_snapshot *snap = f->snap;
	if (start_avma < end_avma && snap->n_maps < f->maps_capacity)
		snap->maps[snap->n_maps++] = (struct sw_map){.start_avma = start_avma,
							     .end_avma = end_avma,
							     .prot = prot,
							     .path = path,
							     .file_off = file_off,
							     .place = place};
}

/* The module that holds an address, or the first one behind it; NULL: there is none. */
static const struct sw_minidump_module *module_from(const struct sw_minidump *md, uint64_t avma)
{
	size_t low = 0, high = md->n_modules;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (md->modules[middle].end_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low < md->n_modules ? &md->modules[low] : NULL;
}

/* The parts of a stretch that are in no module. */
static void outside_add(struct filler *f, uint64_t start_avma, uint64_t end_avma, uint32_t prot)
{
	/* Each turn adds a map, or is the last. */
	while (start_avma < end_avma && f->snap->n_maps < f->maps_capacity) {
		const struct sw_minidump_module *m = module_from(&f->md, start_avma);
		uint64_t stop = m != NULL && m->start_avma < end_avma ? m->start_avma : end_avma;
		if (stop > start_avma)
			map_add(f, start_avma, stop, prot, "", 0, -1);
		if (m == NULL || m->end_avma >= end_avma)
			return;
		start_avma = m->end_avma > start_avma ? m->end_avma : end_avma;
	}
}

static uint32_t section_prot(const struct sw_pe_section *s)
{
	return (s->flags & SECTION_READ ? SW_MAP_READ : 0u) |
	       (s->flags & SECTION_WRITE ? SW_MAP_WRITE : 0u) |
	       (s->flags & SW_PE_SECTION_EXECUTE ? SW_MAP_EXEC : 0u);
}

/* The maps that the header tells; the end of a section that the file does not have is no file's. */
static void sections_add(struct filler *f, const struct sw_minidump_module *m,
			 const struct sw_pe_image *image, int32_t place)
{
	uint64_t at = m->start_avma + image->header_bytes;
	map_add(f, m->start_avma, at < m->end_avma ? at : m->end_avma, SW_MAP_READ, m->path, 0,
		place);
	for (size_t i = 0; i < image->n_sections; i++) {
		const struct sw_pe_section *s = &image->sections[i];
		uint64_t start = m->start_avma + s->rva, end = start + s->bytes;
		uint64_t file_end = start + (s->bytes < s->file_bytes ? s->bytes : s->file_bytes);
		end = (end + PAGE - 1) & -(uint64_t) PAGE;
		if (end > m->end_avma)
			end = m->end_avma;
		if (file_end > end)
			file_end = end;
		if (start < at)
			continue; /* only in a hostile image */
		map_add(f, start, file_end, section_prot(s), m->path, s->file_off, place);
		map_add(f, file_end, end, section_prot(s), "", 0, place);
		at = end;
	}
}

/* The headers by the dump's own memory, or else by the file. */
static bool headers_read(struct filler *f, const struct sw_minidump_module *m,
			 struct sw_module *module, struct sw_pe_image *ret)
{
	struct sw_snapshot_memory memory = {.snap = f->snap};
	struct sw_bytes file = {0};
	if (sw_pe_image_read(sw_snapshot_memory(&memory), m->start_avma, ret))
		return true;
	file.data = sw_module_image(module, &file.size);
	return file.data != NULL && sw_pe_image_parse(file, ret);
}

static void missing_note(struct filler *f, const struct sw_minidump_module *m, bool other)
{
	if (f->n_missing++ < MISSING_SHOWN)
		sw_text_printf(&f->missing, "%s%s%s", f->missing.size > 0 ? ", " : "",
			       sw_minidump_name(m->path),
			       other ? " (the file of that name is another one)" : "");
}

static int module_open(struct filler *f, const struct sw_minidump_module *m, struct sw_module **ret)
{
	struct sw_snapshot *snap = f->snap;
	struct sw_snapshot_memory memory = {.snap = snap};
	size_t size = 0;
	bool other;
	sw_cleanup(sw_close_p) int fd = sw_minidump_image_open(f->images, m, &other);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0)
		return sw_context_module_file(snap->ctx, SW_MODULE_PE, m->path, false,
					      sw_take_fd(fd), &st, ret);
	uint8_t *image = sw_pe_image_from_memory(sw_snapshot_memory(&memory), m->start_avma,
						 sw_snapshot_image_max(snap), &size);
	snap->priv->image_bytes += size;
	if (image != NULL)
		return sw_context_module_memory(snap->ctx, SW_MODULE_PE, m->path, false, image,
						size, NULL, ret);
	missing_note(f, m, other);
	return sw_context_module(snap->ctx, SW_MODULE_PE, m->path, -EBADF, m->build_id,
				 m->build_id_bytes, ret, NULL) < 0
		       ? -SW_E_NOMEM
		       : 0;
}

static int modules_set(struct filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_snapshot *snap = f->snap;
	for (size_t i = 0; i < md->n_modules; i++) {
		const struct sw_minidump_module *m = &md->modules[i];
		struct sw_place *place = &snap->places[snap->n_places];
		struct sw_pe_image image;
		*place = (struct sw_place){.start_avma = m->start_avma, .end_avma = m->end_avma};
		int r = module_open(f, m, &place->module);
		if (r < 0)
			return r;
		if (headers_read(f, m, place->module, &image))
			sections_add(f, m, &image, (int32_t) snap->n_places);
		else
			map_add(f, m->start_avma, m->end_avma, SW_MAP_READ | SW_MAP_EXEC, m->path,
				0, (int32_t) snap->n_places);
		snap->n_places++;
	}
	return 0;
}

static int maps_set(struct filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_snapshot *snap = f->snap;
	struct sw_arena *arena = &snap->priv->arena;
	const bool has_regions = md->n_regions > 0;
	size_t outside = has_regions ? md->n_regions : snap->priv->n_copies;
	const size_t of_modules = md->n_modules * (2 + 2 * SW_PE_SECTIONS_MAX);
	f->maps_capacity = outside + md->n_modules; /* each module cuts one stretch in two */
	snap->maps = sw_arena_calloc(arena, f->maps_capacity + of_modules, sizeof(*snap->maps));
	snap->places = sw_arena_calloc(arena, md->n_modules, sizeof(*snap->places));
	if (snap->maps == NULL || snap->places == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; has_regions && i < outside; i++)
		outside_add(f, md->regions[i].start_avma, md->regions[i].end_avma,
			    md->regions[i].prot);
	/* Memory whose protection nobody says is data. */
	for (size_t i = 0; !has_regions && i < outside; i++)
		outside_add(f, snap->priv->copies[i].start_avma,
			    snap->priv->copies[i].start_avma + snap->priv->copies[i].bytes,
			    SW_MAP_READ | SW_MAP_WRITE);
	f->maps_capacity += of_modules;
	return modules_set(f);
}

/* ---- why it ended ------------------------------------------------------------------------------ */

/* Source: Microsoft, "EXCEPTION_RECORD structure (winnt.h)": details of an access violation. */
static enum sw_access_kind access_of(uint64_t detail)
{
	switch (detail) {
	case 0: return SW_ACCESS_READ;
	case 1: return SW_ACCESS_WRITE;
	case 8: return SW_ACCESS_EXECUTE;
	default: return SW_ACCESS_UNKNOWN;
	}
}

static void crash_set(struct filler *f)
{
	enum {
		ACCESS_VIOLATION = 0xc0000005,
		IN_PAGE_ERROR = 0xc0000006,
		STACK_OVERFLOW = 0xc00000fd
	};
	const struct sw_minidump_exception *e = &f->md.exception;
	if (!f->md.has_exception || e->code == 0 || e->thread == 0 || e->thread > INT32_MAX)
		return;
	struct sw_crash *crash = &f->snap->crash;
	*crash = (struct sw_crash){.exception = e->code,
				   .tid = (pid_t) e->thread,
				   .has_address = true,
				   .address_avma = e->at_avma,
				   .stack_overflow = e->code == STACK_OVERFLOW};
	if ((e->code == ACCESS_VIOLATION || e->code == IN_PAGE_ERROR) && e->n_details >= 2) {
		crash->access = access_of(e->details[0]);
		crash->address_avma = e->details[1];
	}
}

static void warn(struct filler *f)
{
	struct sw_snapshot *snap = f->snap;
	if (f->md.damaged)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_FORMAT,
				 "the minidump is cut short or malformed: something is missing");
	if (f->md.limited)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_LIMIT,
				 "the minidump has more than is read of it");
	if (f->n_missing > 0 && f->missing.data != NULL)
		sw_snapshot_warn(
			snap, SW_WARN_MODULE, 0, SW_E_NOT_FOUND,
			"%zu image%s not in the minidump, nor in a directory that was named "
			"(--images DIR): %s%s",
			f->n_missing, f->n_missing == 1 ? " is" : "s are", f->missing.data,
			f->n_missing > MISSING_SHOWN ? " ..." : "");
}

int sw_minidump_fill(struct sw_snapshot *snap, const char *name,
		     const struct sw_minidump_images *images, struct sw_error *err)
{
	struct filler f = {.snap = snap, .images = images};
	struct sw_bytes file = {snap->priv->file, snap->priv->file_bytes};
	int r = sw_minidump_images_check(images, err);
	if (r < 0)
		return r;
	r = sw_minidump_parse(&snap->priv->arena, file, name, &f.md, err);
	if (r < 0)
		return r;
	snap->ranges = f.md.ranges;
	snap->n_ranges = f.md.n_ranges;
	process_set(&f);
	sw_snapshot_index(snap); /* memory is read from here on */
	r = threads_set(&f);
	if (r == 0)
		r = maps_set(&f);
	if (r == 0) {
		sw_snapshot_index(snap);
		crash_set(&f);
		warn(&f);
	}
	sw_text_deinit(&f.missing);
	return r < 0 ? sw_fail_nomem(err) : 0;
}
