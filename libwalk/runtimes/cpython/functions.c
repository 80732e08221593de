/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/functions.h"
#include "cleanup.h"
#include "formats/elf_symbol.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MAX = 65536 };

/*
 * Names as CPython 3.8 to 3.14 have them. A name that ends with '*' stands for all that begin so.
 * Functions of the language (sorted(), import, what a C extension calls) are not here.
 */
static const char *const glue[] = {
	/* calls of functions */
	"_PyCFunction_FastCall*",
	"_PyCFunction_Vectorcall*",
	"_PyEvalFrame*",
	"_PyEval_EvalCode*",
	"_PyEval_EvalFrame",
	"_PyEval_MakeFrameVector",
	"_PyEval_Vector",
	"_PyFunction_FastCall*",
	"_PyFunction_Vectorcall",
	"_PyMethodDef_RawFastCall*",
	"_PyMethodDescr_FastCall*",
	"_PyMethodDescr_Vectorcall",
	"_PyObject_Call*",
	"_PyObject_FastCall*",
	"_PyObject_MakeTpCall",
	"_PyObject_Vectorcall*",
	"_PyVectorcall_Call",
	"PyCFunction_Call",
	"PyEval_CallObject*",
	"PyEval_EvalCode*",
	"PyEval_EvalFrame*",
	"PyObject_Call",
	"PyObject_CallFunction*",
	"PyObject_CallMethod*",
	"PyObject_CallNoArgs",
	"PyObject_CallObject",
	"PyObject_CallOneArg",
	"PyObject_Vectorcall*",
	"PyVectorcall_Call",
	"call_attribute",
	"call_function",
	"call_method",
	"call_unbound*",
	"callmethod*",
	"cfunction_call*",
	"cfunction_vectorcall*",
	"classmethoddescr_call",
	"do_call_core",
	"function_code_fastcall",
	"initialize_locals",
	"lookup_maybe_method",
	"method_call",
	"method_vectorcall*",
	"methoddescr_call",
	"object_vacall",
	"slot_*",
	"trace_call_function",
	"type_call",
	"vectorcall_maybe",
	"vectorcall_method",
	"vectorcall_unbound",
	"wrap_*",
	"wrapper_call",
	"wrapperdescr_call",
	"wrapperdescr_raw_call",
	/* generators and coroutines */
	"PyGen_am_send",
	"PyIter_Send",
	"_PyGen_Send",
	"_gen_send*",
	"gen_iternext",
	"gen_send*",
	/* from the start of the program, and of a thread, to its first function */
	"Py_BytesMain",
	"Py_Main",
	"Py_RunMain",
	"PyRun_*",
	"_PyRun_*",
	"pymain_*",
	"pyrun_*",
	"pythread_wrapper",
	"run_eval_code_obj",
	"run_mod",
	"t_bootstrap",
	"thread_run",
};

static const char *const loops[] = {"_PyEval_EvalFrameDefault", "_TAIL_CALL_*"};

static bool is_among(const char *const *names, size_t n, const char *name, size_t length)
{
	for (size_t i = 0; i < n; i++) {
		size_t wanted = strlen(names[i]);
		bool begins = names[i][wanted - 1] == '*';
		wanted -= begins;
		if ((begins ? length >= wanted : length == wanted) &&
		    strncmp(names[i], name, wanted) == 0)
			return true;
	}
	return false;
}

enum sw_cpython_function sw_cpython_function_named(const char *name)
{
	size_t length = strcspn(name, ".");
	if (is_among(loops, SW_ARRAY_SIZE(loops), name, length))
		return SW_CPYTHON_LOOP;
	return is_among(glue, SW_ARRAY_SIZE(glue), name, length) ? SW_CPYTHON_GLUE
								 : SW_CPYTHON_OTHER;
}

static int compare(const void *a, const void *b)
{
	const struct sw_cpython_range *x = a, *y = b;
	return (x->start_svma > y->start_svma) - (x->start_svma < y->start_svma);
}

/* The interpreter has 9,000 functions, of which a stack asks for a few: their names are looked at when they are asked
 * for. */
static size_t table_read(const struct sw_elf_table *table, struct sw_cpython_range *ret, size_t max)
{
	size_t n = 0, n_symbols = table->symbols.size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n_symbols && i < SW_ELF_SYMBOLS_MAX && n < max; i++) {
		Elf64_Sym sym;
		uint64_t end;
		if (!sw_bytes_copy(table->symbols, i * sizeof(sym), &sym, sizeof(sym)) ||
		    ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_size == 0 ||
		    sym.st_shndx == SHN_UNDEF || sym.st_name == 0 ||
		    __builtin_add_overflow(sym.st_value, sym.st_size, &end))
			continue;
		ret[n++] = (struct sw_cpython_range){sym.st_value, end, SW_CPYTHON_UNNAMED,
						     sym.st_name};
	}
	return n;
}

static struct sw_cpython_functions *functions_make(struct sw_module *module)
{
	struct sw_elf_symbols symbols;
	if (!sw_elf_symbols_open(sw_module_elf(module), &symbols))
		return NULL;
	const struct sw_elf_table *table =
		symbols.symtab.symbols.size > 0 ? &symbols.symtab : &symbols.dynsym;
	size_t max = table->symbols.size / sizeof(Elf64_Sym);
	if (max > FUNCTIONS_MAX)
		max = FUNCTIONS_MAX;
	struct sw_cpython_functions *f = malloc(sizeof(*f) + max * sizeof(f->all[0]));
	if (f == NULL)
		return NULL;
	f->names = table->strings;
	f->n = table_read(table, f->all, max);
	qsort(f->all, f->n, sizeof(f->all[0]), compare);
	return f;
}

const struct sw_cpython_functions *sw_cpython_functions(struct sw_module *module)
{
	static const char slot_key; /* only its address counts */
	void **slot = sw_slots_get(&module->slots, &slot_key, free);
	if (slot == NULL)
		return NULL;
	if (*slot == NULL)
		*slot = functions_make(module);
	return *slot;
}

enum sw_cpython_function sw_cpython_function(const struct sw_cpython_functions *functions,
					     uint64_t svma)
{
	size_t low = 0, high = functions != NULL ? functions->n : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (functions->all[middle].start_svma <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || svma >= functions->all[low - 1].end_svma)
		return SW_CPYTHON_UNNAMED;
	const struct sw_cpython_range *found = &functions->all[low - 1];
	const char *name;
	if (found->name_off == 0)
		return found->what;
	return sw_bytes_str(functions->names, found->name_off, &name)
		       ? sw_cpython_function_named(name)
		       : SW_CPYTHON_UNNAMED;
}
