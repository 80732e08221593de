/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/state.h"
#include "cfi/find.h"
#include "cfi/function.h"
#include "formats/pe_image.h"
#include "pe/cfi.h"
#include "pe/unwind.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"
#include "snapshot/read.h"

static void dispatcher_find(const struct sw_snapshot *snap, uint64_t avma,
			    struct sw_wine_dispatcher *ret)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (map == NULL || map->place < 0 || (size_t) map->place >= snap->n_places)
		return;
	struct sw_place *place = &snap->places[map->place];
	if (place->resolved == 0)
		(void) sw_place_resolve(place, snap);
	struct sw_elf_entry entry;
	struct sw_elf_cfi *cfi =
		place->resolved == 1 && sw_module_kind(place->module) == SW_MODULE_ELF
			? sw_elf_cfi_get(place->module)
			: NULL;
	if (cfi == NULL || !sw_elf_entry_find(cfi, avma - place->bias, &entry))
		return;
	*ret = (struct sw_wine_dispatcher){place, entry.start_svma + place->bias,
					   entry.end_svma + place->bias};
}

static struct sw_wine_function function_find(const struct sw_pe_image *image,
					     struct sw_memory memory, uint64_t base_avma,
					     uint64_t avma)
{
	struct sw_pe_function entry;
	if (avma == 0 || !sw_pe_table_search(memory, base_avma + image->exception.rva,
					     image->exception.bytes / SW_PE_FUNCTION_BYTES,
					     (uint32_t) (avma - base_avma), &entry))
		return (struct sw_wine_function){0};
	return (struct sw_wine_function){base_avma + entry.begin_rva, base_avma + entry.end_rva};
}

/* Images for i386 have no function table: a function of theirs is found by call frame
 * information. */
static struct sw_wine_function function_find_32(const struct sw_wine *w, uint64_t avma)
{
	const struct sw_place *place = w->ntdll.place;
	struct sw_pe_cfi *cfi = sw_pe_cfi_get(place->module);
	uint32_t start, end;
	const char *section;
	if (avma == 0 || cfi == NULL ||
	    !sw_pe_cfi_function(cfi, (uint32_t) (avma - place->start_avma), &start, &end, &section))
		return (struct sw_wine_function){0};
	return (struct sw_wine_function){place->start_avma + start, place->start_avma + end};
}

static void functions_find_32(struct sw_wine *w)
{
	w->callback = function_find_32(w, w->ntdll.callback_avma);
	w->exception = function_find_32(w, w->ntdll.exception_avma);
	w->apc = function_find_32(w, w->ntdll.apc_avma);
	w->loader = function_find_32(w, w->ntdll.loader_avma);
}

static void functions_find(struct sw_wine *w)
{
	struct sw_snapshot_memory memory = {.snap = w->snap};
	struct sw_memory m = sw_snapshot_memory(&memory);
	uint64_t base = w->ntdll.place->start_avma;
	struct sw_pe_image image;
	if (!sw_pe_image_read(m, base, &image))
		return;
	w->callback = function_find(&image, m, base, w->ntdll.callback_avma);
	w->exception = function_find(&image, m, base, w->ntdll.exception_avma);
	w->apc = function_find(&image, m, base, w->ntdll.apc_avma);
	w->loader = function_find(&image, m, base, w->ntdll.loader_avma);
}

void sw_wine_state_find(struct sw_wine *w, const struct sw_snapshot *snap)
{
	w->snap = snap;
	dispatcher_find(snap, w->ntdll.syscall_avma, &w->dispatchers[SW_WINE_SYSCALL]);
	dispatcher_find(snap, w->ntdll.unix_call_avma, &w->dispatchers[SW_WINE_UNIX_CALL]);
	if (snap->process.elf_class == 32)
		functions_find_32(w);
	else
		functions_find(w);
	if (w->ntdll.problem == NULL && (w->dispatchers[SW_WINE_SYSCALL].place == NULL ||
					 w->dispatchers[SW_WINE_UNIX_CALL].place == NULL))
		w->ntdll.problem = "ntdll.so has no call frame information for its dispatchers";
	if (w->ntdll.problem == NULL &&
	    (w->callback.start_avma == 0 || w->exception.start_avma == 0 || w->apc.start_avma == 0))
		w->ntdll.problem =
			"ntdll.dll does not say where callbacks, exceptions and APCs enter it";
}

const struct sw_wine_teb *sw_wine_teb_of(struct sw_wine *w, struct sw_memory memory,
					 const struct sw_thread *thread)
{
	if (w->thread != thread) {
		w->thread = thread;
		w->has_teb = sw_wine_teb_read(memory, thread->gs_base, &w->teb);
	}
	return w->has_teb ? &w->teb : NULL;
}

bool sw_wine_dispatcher_at(const struct sw_wine *w, uint64_t avma, enum sw_wine_call *ret)
{
	for (int i = 0; i < SW_WINE_CALLS; i++) {
		const struct sw_wine_dispatcher *d = &w->dispatchers[i];
		if (avma >= d->start_avma && avma < d->end_avma) {
			*ret = (enum sw_wine_call) i;
			return true;
		}
	}
	return false;
}

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

enum sw_step sw_wine_conclude(enum sw_wine_result result, const struct sw_cursor *c,
			      uint64_t fault_avma, const char *none, struct sw_stepped *ret)
{
	switch (result) {
	case SW_WINE_OK: break;
	case SW_WINE_NONE: ret->final = true; return fail(ret, SW_END_BAD_UNWIND_INFO, none);
	case SW_WINE_UNREADABLE:
		return fail(ret, sw_cursor_memory_end(c, fault_avma),
			    "registers that Wine saved could not be read");
	}
	ret->other_stack = true;
	return SW_STEP_OK;
}
