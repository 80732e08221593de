/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/ntdll.h"
#include "formats/pe_image.h"
#include "snapshot/pe_loader.h"
#include "snapshot/snapshot.h"
#include "runtimes/wine/teb.h"
#include "snapshot/read.h"

#include <string.h>
#include <strings.h>

enum {
	/* IMAGE_EXPORT_DIRECTORY: PE format, ".edata section". */
	EXPORT_DIRECTORY_BYTES = 40,
	EXPORT_N_FUNCTIONS = 20,
	EXPORT_N_NAMES = 24,
	EXPORT_FUNCTIONS = 28,
	EXPORT_NAMES = 32,
	EXPORT_ORDINALS = 36,
	NAME_MAX_BYTES = 64, /* of the names that are looked for, with NUL */
	/* Where each process has the system call dispatcher's address, for code that looks like
	 * Windows' (Wine 8.0 and 10.0, dlls/ntdll/unix/signal_x86_64.c, signal_init_process()). */
	USER_SHARED_DISPATCHER = 0x7ffe1000,
};

struct exports {
	struct sw_memory memory;
	uint64_t base_avma;
	uint32_t n_functions, n_names;
	uint32_t functions_rva, names_rva, ordinals_rva;
};

static bool exports_open(struct sw_memory memory, uint64_t base_avma, struct exports *ret)
{
	struct sw_pe_image image;
	uint8_t raw[EXPORT_DIRECTORY_BYTES];
	struct sw_bytes bytes = {raw, sizeof(raw)};
	if (!sw_pe_image_read(memory, base_avma, &image) || image.exports.rva == 0 ||
	    !sw_memory_read(memory, base_avma + image.exports.rva, raw, sizeof(raw)))
		return false;
	*ret = (struct exports){.memory = memory, .base_avma = base_avma};
	return sw_bytes_u32(bytes, EXPORT_N_FUNCTIONS, &ret->n_functions) &&
	       sw_bytes_u32(bytes, EXPORT_N_NAMES, &ret->n_names) &&
	       sw_bytes_u32(bytes, EXPORT_FUNCTIONS, &ret->functions_rva) &&
	       sw_bytes_u32(bytes, EXPORT_NAMES, &ret->names_rva) &&
	       sw_bytes_u32(bytes, EXPORT_ORDINALS, &ret->ordinals_rva) &&
	       ret->n_names <= SW_WINE_EXPORTS_MAX;
}

/* Compares name with that of index; false when it cannot be read. */
static bool name_compare(const struct exports *e, const char *name, uint32_t index, int *ret)
{
	char at[NAME_MAX_BYTES];
	uint32_t rva;
	size_t length = strlen(name) + 1;
	if (length > sizeof(at) ||
	    !sw_memory_read(e->memory, e->base_avma + e->names_rva + 4 * (uint64_t) index, &rva,
			    sizeof(rva)) ||
	    !sw_memory_read(e->memory, e->base_avma + rva, at, length))
		return false;
	*ret = strncmp(name, at, length);
	return true;
}

/* Names are sorted (PE format, "Export name pointer table"). 0 when it is not there. */
static uint64_t export_find(const struct exports *e, const char *name)
{
	uint32_t low = 0, high = e->n_names, rva;
	uint16_t ordinal;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order;
		if (!name_compare(e, name, middle, &order))
			return 0;
		if (order < 0) {
			high = middle;
		} else if (order > 0) {
			low = middle + 1;
		} else {
			bool known = sw_memory_read(e->memory,
						    e->base_avma + e->ordinals_rva +
							    2 * (uint64_t) middle,
						    &ordinal, sizeof(ordinal)) &&
				     ordinal < e->n_functions &&
				     sw_memory_read(e->memory,
						    e->base_avma + e->functions_rva +
							    4 * (uint64_t) ordinal,
						    &rva, sizeof(rva));
			return known && rva != 0 ? e->base_avma + rva : 0;
		}
	}
	return 0;
}

/* The function returns the address of the string: lea rax, [rip + disp32]; ret. */
static void version_read(struct sw_memory memory, uint64_t function_avma, char version[32])
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05};
	uint8_t code[8];
	int32_t displacement;
	char text[32];
	if (function_avma == 0 || !sw_memory_read(memory, function_avma, code, sizeof(code)) ||
	    memcmp(code, lea, sizeof(lea)) != 0 || code[7] != 0xc3)
		return;
	memcpy(&displacement, code + sizeof(lea), sizeof(displacement));
	uint64_t at = function_avma + 7 + (uint64_t) (int64_t) displacement;
	if (!sw_memory_read(memory, at, text, sizeof(text)))
		return;
	size_t n = 0;
	while (n < sizeof(text) && text[n] > ' ' && text[n] <= '~')
		n++;
	if (n < sizeof(text) && text[n] == '\0')
		memcpy(version, text, n + 1);
}

/* An exported variable that holds the address of Unix code. */
static uint64_t pointer_read(const struct exports *e, const char *name)
{
	uint64_t at = export_find(e, name), value;
	return at != 0 && sw_memory_u64(e->memory, at, &value) ? value : 0;
}

static void names_read(struct sw_memory memory, struct sw_wine_ntdll *n)
{
	struct exports e;
	if (!exports_open(memory, n->place->start_avma, &e)) {
		n->problem = "ntdll.dll's exports could not be read";
		return;
	}
	n->callback_avma = export_find(&e, "KiUserCallbackDispatcher");
	n->exception_avma = export_find(&e, "KiUserExceptionDispatcher");
	n->apc_avma = export_find(&e, "KiUserApcDispatcher");
	n->loader_avma = export_find(&e, "LdrInitializeThunk");
	n->delete_table_avma = export_find(&e, "RtlDeleteFunctionTable");
	n->unix_call_avma = pointer_read(&e, "__wine_unix_call_dispatcher");
	n->syscall_avma = pointer_read(&e, "__wine_syscall_dispatcher");
	if (n->syscall_avma == 0 &&
	    !sw_memory_u64(memory, USER_SHARED_DISPATCHER, &n->syscall_avma))
		n->syscall_avma = 0;
	version_read(memory, export_find(&e, "wine_get_version"), n->version);
	if (n->syscall_avma == 0 || n->unix_call_avma == 0)
		n->problem = "ntdll.dll does not say where system calls and unix calls go";
}

static bool has_name(const struct sw_place *place, const char *wanted)
{
	const char *path = sw_module_path(place->module), *name = path;
	for (const char *c = path; *c != '\0'; c++)
		if (*c == '/' || *c == '\\')
			name = c + 1;
	return strcasecmp(name, wanted) == 0;
}

static bool is_ntdll(const struct sw_place *place)
{
	return sw_module_kind(place->module) == SW_MODULE_PE && has_name(place, "ntdll.dll");
}

bool sw_wine_is_ntdll_so(const struct sw_place *place)
{
	return sw_module_kind(place->module) == SW_MODULE_ELF && has_name(place, "ntdll.so");
}

enum tebs {
	TEBS_NONE,    /* no thread has one */
	TEBS_UNKNOWN, /* they are there, but none is laid out as we know it */
	TEBS_KNOWN,
};

/* Linux' own code leaves gs base 0. */
static enum tebs tebs_look(const struct sw_snapshot *snap)
{
	struct sw_snapshot_memory snapshot_memory = {.snap = snap};
	struct sw_memory memory = sw_snapshot_memory(&snapshot_memory);
	enum tebs found = TEBS_NONE;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		struct sw_wine_teb teb;
		if (!t->captured || t->gs_base == 0)
			continue;
		if (sw_wine_teb_read(memory, t->gs_base, &teb))
			return TEBS_KNOWN;
		if (sw_pe_is_teb(memory, t->gs_base))
			found = TEBS_UNKNOWN;
	}
	return found;
}

static bool is_unix(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	return place != NULL && sw_wine_is_ntdll_so(place);
}

/* Programs map ntdll.dll once more, to look for changes of the one that they run by. A copy has not
 * been told where all of Unix' code is (Wine 8.0: only where system calls go). */
static bool leads_to_unix(const struct sw_snapshot *snap, const struct sw_wine_ntdll *n)
{
	return is_unix(snap, n->syscall_avma) && is_unix(snap, n->unix_call_avma);
}

bool sw_wine_ntdll_find(const struct sw_snapshot *snap, struct sw_wine_ntdll *ret)
{
	struct sw_snapshot_memory memory = {.snap = snap};
	enum tebs tebs = tebs_look(snap);
	bool found = false;
	if (tebs == TEBS_NONE)
		return false;
	for (size_t i = 0; i < snap->n_places; i++) {
		if (!is_ntdll(&snap->places[i]))
			continue;
		struct sw_wine_ntdll n = {.place = &snap->places[i]};
		names_read(sw_snapshot_memory(&memory), &n);
		bool own = leads_to_unix(snap, &n);
		if (!found || own)
			*ret = n;
		found = true;
		if (own)
			break;
	}
	if (found && tebs == TEBS_UNKNOWN)
		ret->problem = "its threads' TEBs are not as Wine 8 to 10 lay them out";
	return found;
}
