/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files, lines and inlined calls from DWARF 2 to 5, in the module's own file or its debug file.
 */
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "dwarf_names.h"
#include "dwarf_scopes.h"
#include "dwarf_split.h"
#include "providers.h"

#include <dwarf.h>

enum { PATH_MAX_BYTES = 1 << 14 };

struct dwarf_slot {
	enum sw_dwarf_open state;
	struct sw_dwarf_file file;
	struct sw_dwp dwp;
	struct sw_unit *unit; /* borrowed */
	struct sw_dwarf_function_units functions;
};

/* The share of one unit in the work. */
struct unit_job {
	const struct sw_request *request;
	uint64_t base; /* from an svma to DWARF's address */
	struct sw_dwarf_names names;
	Dwarf_Die die;
	Dwarf_CU *split;       /* the unit whose DIEs number files as die does; NULL: none */
	const char *directory; /* DW_AT_comp_dir, or NULL */
	Dwarf_Files *files;    /* NULL: no line table */
	size_t n_files;
};

static const char *attr_text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static uint32_t attr_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	if (dwarf_attr_integrate(die, name, &attr) == NULL || dwarf_formudata(&attr, &value) != 0 ||
	    value > INT32_MAX)
		return 0;
	return (uint32_t) value;
}

/* Windows compilers say "C:/x.c" or "C:\\x.c". */
static bool path_is_absolute(const char *path)
{
	return path[0] == '/' || path[0] == '\\' || (path[0] != '\0' && path[1] == ':');
}

/* directory/path without "./" inside; both as the compiler wrote them. */
static const char *path_join(struct sw_arena *arena, const char *directory, const char *path)
{
	size_t dir_bytes = path_is_absolute(path) || directory == NULL
				   ? 0
				   : strnlen(directory, PATH_MAX_BYTES);
	size_t path_bytes = strnlen(path, PATH_MAX_BYTES);
	char *joined = sw_arena_alloc(arena, dir_bytes + path_bytes + 2);
	if (joined == NULL)
		return NULL;
	size_t n = 0;
	for (size_t i = 0; i < dir_bytes; i++)
		joined[n++] = directory[i];
	if (dir_bytes > 0)
		joined[n++] = '/';
	for (size_t i = 0; i < path_bytes; i++) {
		if (n > 0 && joined[n - 1] == '/') {
			while (path[i] == '.' && path[i + 1] == '/' && i + 2 < path_bytes)
				i += 2;
		}
		joined[n++] = path[i];
	}
	joined[n] = '\0';
	return joined;
}

/* A file of the unit's table by index, as the compiler wrote it; NULL when it is not there. */
static const char *file_name(const struct unit_job *job, uint32_t index)
{
	return job->files != NULL && index < job->n_files
		       ? dwarf_filesrc(job->files, index, NULL, NULL)
		       : NULL;
}

/* The file a function is declared in, by the table of the unit that says so: with link-time
 * optimization and dwz that is another one. (dwarf_decl_file() takes index 0 for none, which is the
 * unit's own file since DWARF 5.) */
static const char *declared_in(const struct unit_job *job, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word index;
	Dwarf_Die unit;
	Dwarf_Files *files;
	size_t n_files;
	if (dwarf_attr_integrate(die, DW_AT_decl_file, &attr) == NULL ||
	    dwarf_formudata(&attr, &index) != 0)
		return NULL;
	if (attr.cu == job->split)
		return index <= INT32_MAX ? file_name(job, (uint32_t) index) : NULL;
	if (dwarf_cu_die(attr.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) == NULL ||
	    dwarf_getsrcfiles(&unit, &files, &n_files) != 0 || index >= n_files)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

/*
 * The line minus the function's first, when both are in the same file. die is the function, or the
 * inlined call whose origin is one.
 */
static int32_t line_offset(const struct unit_job *job, Dwarf_Die *die, const char *path,
			   uint32_t line)
{
	uint32_t first = attr_number(die, DW_AT_decl_line);
	const char *declared = first != 0 && line >= first ? declared_in(job, die) : NULL;
	if (declared == NULL || strcmp(declared, path) != 0)
		return -1;
	return (int32_t) (line - first);
}

static int position_fill(struct unit_job *job, Dwarf_Die *die, const char *path, uint32_t line,
			 struct sw_symbol *symbol)
{
	symbol->line = line;
	symbol->line_offset = -1;
	if (path == NULL || line == 0)
		return 0;
	if (die != NULL)
		symbol->line_offset = line_offset(job, die, path, line);
	symbol->file = path_join(job->request->arena, job->directory, path);
	return symbol->file != NULL ? 0 : -SW_E_NOMEM;
}

/* Path and line of the machine instruction. */
static const char *instruction_line(struct unit_job *job, uint64_t address, uint32_t *ret_line)
{
	Dwarf_Line *line = job->files != NULL ? dwarf_getsrc_die(&job->die, address) : NULL;
	int number = 0;
	if (line == NULL || dwarf_lineno(line, &number) != 0 || number <= 0)
		return NULL;
	*ret_line = (uint32_t) number;
	return dwarf_linesrc(line, NULL, NULL);
}

/* The function itself: the name that the symbol table gave it, else DWARF's. */
static int function_fill(struct unit_job *job, const struct sw_want *want, Dwarf_Die *die,
			 struct sw_symbol *symbol)
{
	if (want->named != NULL) {
		*symbol = *want->named;
	} else if (die != NULL) {
		Dwarf_Addr start;
		if (dwarf_entrypc(die, &start) == 0 && start >= job->base &&
		    start - job->base <= want->svma)
			symbol->function_offset = want->svma - (start - job->base);
		int r = sw_dwarf_name(&job->names, die, symbol);
		if (r < 0)
			return r;
	}
	symbol->source = SW_SOURCE_DWARF;
	return 0;
}

/*
 * From DIEs to symbols. The DIEs are [function, inlined 0 (outermost) ... inlined k (innermost)]; the
 * innermost's line is the instruction's, each other's is where its callee was called.
 */
static int symbols_fill(struct unit_job *job, struct sw_want *want, struct sw_scopes *scopes)
{
	size_t n = scopes->n_inlined + 1;
	uint32_t line = 0;
	const char *path = instruction_line(job, want->svma + job->base, &line);
	if (path == NULL && !scopes->found)
		return 0;
	struct sw_symbol *symbols = sw_arena_calloc(job->request->arena, n, sizeof(*symbols));
	if (symbols == NULL)
		return -SW_E_NOMEM;
	Dwarf_Die *function = scopes->found ? &scopes->function : NULL;
	int r = function_fill(job, want, function, &symbols[n - 1]);
	for (size_t i = 0; i < n && r == 0; i++) {
		Dwarf_Die *die = i < n - 1 ? &scopes->inlined[n - 2 - i] : function;
		r = position_fill(job, die, path, line, &symbols[i]);
		if (i == n - 1 || r < 0)
			break;
		symbols[i].inlined = true;
		symbols[i].source = SW_SOURCE_DWARF;
		symbols[i].function_offset = symbols[n - 1].function_offset;
		r = sw_dwarf_name(&job->names, die, &symbols[i]);
		line = attr_number(die, DW_AT_call_line);
		path = file_name(job, attr_number(die, DW_AT_call_file));
	}
	if (r < 0)
		return r;
	want->symbols = symbols;
	want->n_symbols = n;
	return 0;
}

/* Wants of one unit whose functions are in split, NULL: in the unit itself. 1: the deadline came. */
static int scopes_lines(struct unit_job *job, struct sw_dwarf_split *split,
			struct sw_dwarf_functions *functions, struct sw_dwarf_want *wants, size_t n)
{
	const struct sw_request *request = job->request;
	sw_cleanup(sw_free_p) struct sw_scopes *scopes = calloc(n, sizeof(*scopes));
	if (scopes == NULL)
		return -SW_E_NOMEM;
	if (!sw_dwarf_scopes_find(split != NULL ? &split->die : &job->die,
				  split != NULL ? &split->skeleton : NULL, functions, wants, n,
				  scopes, request->deadline_ns))
		return 1;
	if (dwarf_getsrcfiles(&job->die, &job->files, &job->n_files) != 0)
		job->files = NULL;
	job->directory = attr_text(&job->die, DW_AT_comp_dir);
	job->split = split != NULL ? split->die.cu : NULL;
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = symbols_fill(job, wants[i].want, &scopes[i]);
	return r;
}

/* All wants of one unit. 1: the deadline came. */
static int unit_lines(struct dwarf_slot *slot, struct sw_dwarf_want *wants, size_t n,
		      const struct sw_request *request)
{
	struct sw_dwarf_file *file = &slot->file;
	struct unit_job job = {.request = request,
			       .base = file->base,
			       .names = {request->arena, request->deadline_ns, NULL, 0}};
	struct sw_dwarf_split split;
	int r = 0;
	if (dwarf_offdie(file->dwarf, wants[0].die_off, &job.die) != NULL) {
		enum sw_dwarf_open opened = sw_dwarf_split_open(&split, &job.die, file, slot->unit,
								&slot->dwp, request);
		if (opened == SW_DWARF_LATE)
			return 1;
		bool is_split = opened == SW_DWARF_OPENED; /* and closed again */
		r = scopes_lines(&job, is_split ? &split : NULL,
				 is_split
					 ? NULL
					 : sw_dwarf_functions_of(&slot->functions, wants[0].die_off,
								 request->tables),
				 wants, n);
		sw_dwarf_names_deinit(&job.names);
		if (opened == SW_DWARF_OPENED)
			sw_dwarf_file_close(&split.file);
	}
	for (size_t i = 0; i < n && r == 0; i++)
		wants[i].want->finished = true;
	return r;
}

static int by_unit(const void *a, const void *b)
{
	const struct sw_dwarf_want *x = a, *y = b;
	if (x->die_off != y->die_off)
		return x->die_off < y->die_off ? -1 : 1;
	return (x->svma > y->svma) - (x->svma < y->svma);
}

static int file_lines(struct dwarf_slot *slot, struct sw_want *wants, size_t n,
		      const struct sw_request *request)
{
	struct sw_dwarf_file *file = &slot->file;
	sw_cleanup(sw_free_p) struct sw_dwarf_want *list = calloc(n, sizeof(*list));
	if (list == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		list[i] = (struct sw_dwarf_want){wants[i].svma + file->base, SW_NO_UNIT, &wants[i],
						 false};
	/* Late is no failure: what has a unit by now can still be answered, or not, below. */
	(void) sw_dwarf_units_find(file, list, n, request->deadline_ns);
	qsort(list, n, sizeof(*list), by_unit);
	for (size_t i = 0; i < n;) {
		size_t end = i + 1;
		while (end < n && list[end].die_off == list[i].die_off)
			end++;
		if (list[i].die_off == SW_NO_UNIT) {
			for (; i < end; i++)
				list[i].want->finished = list[i].searched;
			break; /* SW_NO_UNIT sorts last */
		}
		if (sw_deadline_passed(request->deadline_ns))
			return 0;
		int r = unit_lines(slot, &list[i], end - i, request);
		if (r != 0)
			return r < 0 ? r : 0;
		i = end;
	}
	return 0;
}

/* The module's own debug information if it has some, else its debug file's. */
static enum sw_dwarf_open slot_open(struct sw_unit *unit, struct sw_dwarf_file *file,
				    const struct sw_request *request)
{
	const struct sw_elf *elf = sw_unit_elf(unit);
	struct sw_elf_section info;
	const struct sw_pe_file *pe = elf == NULL ? sw_unit_pe(unit) : NULL;
	if (pe != NULL)
		return sw_dwarf_pe_open(file, sw_module_fd(unit->module), pe);
	if (elf != NULL &&
	    (sw_elf_section_named(elf, ".debug_info", &info) ||
	     sw_elf_section_named(elf, ".zdebug_info", &info)) &&
	    info.type != SHT_NOBITS)
		return sw_dwarf_file_open(file, sw_module_fd(unit->module), elf, request);
	const struct sw_debugfile *separate = sw_unit_debugfile(unit, request);
	if (elf != NULL)
		file->why = unit->debugfile != NULL && unit->debugfile->refused
				    ? "it has no debug information, and whether there is a debug "
				      "file beside it cannot be seen: another user's directory is "
				      "closed to us"
				    : "it has no debug information, and there is no debug file for "
				      "it";
	if (separate == NULL)
		return SW_DWARF_NONE;
	return sw_dwarf_file_open(file, separate->image.fd, &separate->elf, request);
}

static int dwarf_lines(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
		       const struct sw_request *request)
{
	struct dwarf_slot *dwarf = *slot;
	if (dwarf == NULL) {
		dwarf = calloc(1, sizeof(*dwarf));
		if (dwarf == NULL)
			return -SW_E_NOMEM;
		dwarf->state = SW_DWARF_LATE;
		dwarf->unit = unit;
		*slot = dwarf;
	}
	if (dwarf->state == SW_DWARF_LATE)
		dwarf->state = slot_open(unit, &dwarf->file, request);
	if (dwarf->state == SW_DWARF_OPENED) {
		int r = file_lines(dwarf, wants, n, request);
		unit->lines_why = dwarf->file.why;
		return r;
	}
	unit->lines_why = dwarf->file.why;
	for (size_t i = 0; i < n; i++)
		wants[i].finished = dwarf->state == SW_DWARF_NONE;
	return 0;
}

static void dwarf_forget(void *slot)
{
	struct dwarf_slot *dwarf = slot;
	sw_dwarf_function_units_deinit(&dwarf->functions);
	sw_dwarf_file_close(&dwarf->file);
	sw_dwp_deinit(&dwarf->dwp);
	free(dwarf);
}

const struct sw_provider_ops sw_prov_dwarf = {
	.name = "dwarf",
	.kinds = 1 << SW_MODULE_ELF | 1 << SW_MODULE_PE,
	.lines = dwarf_lines,
	.forget = dwarf_forget,
};
