/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/ntdll.h"
#include "snapshot/pe_loader.h"
#include "snapshot/snapshot.h"
#include "pe/exports.h"
#include "runtimes/wine/teb.h"
#include "snapshot/read.h"

#include <string.h>
#include <strings.h>

enum {
	/* Where each process has the system call dispatcher's address, for code that looks like
	 * Windows' (Wine 8.0 and 10.0, dlls/ntdll/unix/signal_x86_64.c, signal_init_process()). */
	USER_SHARED_DISPATCHER = 0x7ffe1000,
	TEB32_DISPATCHER = 0xc0, /* the same of 32-bit programs: WOW32Reserved (signal_i386.c,
				    signal_alloc_thread()) */
};

/* The function returns the address of the string: lea rax, [rip + disp32]; ret. */
static bool version_find(struct sw_memory memory, uint64_t function_avma, uint64_t *ret)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05};
	uint8_t code[8];
	int32_t displacement;
	if (!sw_memory_read(memory, function_avma, code, sizeof(code)) ||
	    memcmp(code, lea, sizeof(lea)) != 0 || code[7] != 0xc3)
		return false;
	memcpy(&displacement, code + sizeof(lea), sizeof(displacement));
	*ret = function_avma + 7 + (uint64_t) (int64_t) displacement;
	return true;
}

/* [push ebp; mov ebp, esp;] mov eax, imm32 */
static bool version_find_32(struct sw_memory memory, uint64_t function_avma, uint64_t *ret)
{
	static const uint8_t push[] = {0x55, 0x89, 0xe5};
	enum { MOV = 0xb8 };
	uint8_t code[8];
	uint32_t avma;
	if (!sw_memory_read(memory, function_avma, code, sizeof(code)))
		return false;
	size_t at = memcmp(code, push, sizeof(push)) == 0 ? sizeof(push) : 0;
	if (code[at] != MOV)
		return false;
	memcpy(&avma, code + at + 1, sizeof(avma));
	*ret = avma;
	return true;
}

static void version_read(struct sw_memory memory, uint64_t function_avma, char version[32])
{
	char text[32];
	uint64_t at;
	if (function_avma == 0 ||
	    !(sw_memory_is_32bit(memory) ? version_find_32(memory, function_avma, &at)
					 : version_find(memory, function_avma, &at)))
		return;
	if (!sw_memory_read(memory, at, text, sizeof(text)))
		return;
	size_t n = 0;
	while (n < sizeof(text) && text[n] > ' ' && text[n] <= '~')
		n++;
	if (n < sizeof(text) && text[n] == '\0')
		memcpy(version, text, n + 1);
}

/* An exported variable that holds the address of Unix code. */
static uint64_t pointer_read(const struct sw_pe_exports *e, const char *name)
{
	uint64_t at = sw_pe_export_find(e, name), value;
	return at != 0 && sw_memory_word(e->memory, at, &value) ? value : 0;
}

static void names_read(struct sw_memory memory, uint64_t teb_avma, struct sw_wine_ntdll *n)
{
	struct sw_pe_exports e;
	if (!sw_pe_exports_open(memory, n->place->start_avma, &e)) {
		n->problem = "ntdll.dll's exports could not be read";
		return;
	}
	n->callback_avma = sw_pe_export_find(&e, "KiUserCallbackDispatcher");
	n->exception_avma = sw_pe_export_find(&e, "KiUserExceptionDispatcher");
	n->apc_avma = sw_pe_export_find(&e, "KiUserApcDispatcher");
	n->loader_avma = sw_pe_export_find(&e, "LdrInitializeThunk");
	n->delete_table_avma = sw_pe_export_find(&e, "RtlDeleteFunctionTable");
	n->unix_call_avma = pointer_read(&e, "__wine_unix_call_dispatcher");
	n->syscall_avma = pointer_read(&e, "__wine_syscall_dispatcher");
	uint64_t at =
		sw_memory_is_32bit(memory) ? teb_avma + TEB32_DISPATCHER : USER_SHARED_DISPATCHER;
	if (n->syscall_avma == 0 && !sw_memory_word(memory, at, &n->syscall_avma))
		n->syscall_avma = 0;
	version_read(memory, sw_pe_export_find(&e, "wine_get_version"), n->version);
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
	TEBS_LOST,    /* where segments begin is not in the core file */
	TEBS_UNKNOWN, /* they are there, but none is laid out as we know it */
	TEBS_KNOWN,
};

/* Linux' own code leaves gs base 0. *ret_avma: one of them, if any is known. */
static enum tebs tebs_look(const struct sw_snapshot *snap, uint64_t *ret_avma)
{
	struct sw_snapshot_memory snapshot_memory = {.snap = snap};
	struct sw_memory memory = sw_snapshot_memory(&snapshot_memory);
	/* Every thread of a 32-bit program has a segment of its own, for the C library's record. */
	bool lost = snap->process.elf_class == 32 && !snap->live;
	enum tebs found = TEBS_NONE;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		struct sw_wine_teb teb;
		lost = lost && t->gs_base == 0 && t->fs_base == 0;
		if (!t->captured || t->gs_base == 0)
			continue;
		if (sw_wine_teb_read(memory, t->gs_base, &teb)) {
			*ret_avma = t->gs_base;
			return TEBS_KNOWN;
		}
		if (sw_pe_is_teb(memory, t->gs_base))
			found = TEBS_UNKNOWN;
	}
	return lost ? TEBS_LOST : found;
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
	uint64_t teb_avma = 0;
	enum tebs tebs = tebs_look(snap, &teb_avma);
	bool found = false;
	if (tebs == TEBS_NONE)
		return false;
	for (size_t i = 0; i < snap->n_places; i++) {
		if (!is_ntdll(&snap->places[i]))
			continue;
		struct sw_wine_ntdll n = {.place = &snap->places[i]};
		names_read(sw_snapshot_memory(&memory), teb_avma, &n);
		bool own = leads_to_unix(snap, &n);
		if (!found || own)
			*ret = n;
		found = true;
		if (own)
			break;
	}
	if (found && tebs == TEBS_LOST)
		ret->problem = "the core file does not say where its threads' TEBs are, as those "
			       "of gdb do not";
	if (found && tebs == TEBS_UNKNOWN)
		ret->problem = "its threads' TEBs are not as Wine 8 to 10 lay them out";
	return found;
}
