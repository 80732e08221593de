/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/known/runtime.h"
#include "cleanup.h"
#include "formats/elf_symbol.h"
#include "native/known_files.h"
#include "snapshot/module.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* V8 has its version in variables that node exports: src/utils/version.h, since V8 4. */
static void v8_version(struct sw_module *module, char *version, size_t size)
{
	static const char *const names[] = {"_ZN2v88internal7Version6major_E",
					    "_ZN2v88internal7Version6minor_E",
					    "_ZN2v88internal7Version6build_E"};
	struct sw_elf_symbols symbols;
	uint32_t value[SW_ARRAY_SIZE(names)];
	if (!sw_elf_symbols_open(sw_module_elf(module), &symbols))
		return;
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		struct sw_elf_symbol symbol;
		struct sw_bytes bytes;
		if (!sw_elf_symbols_find(&symbols, names[i], &symbol) ||
		    !sw_elf_loaded(symbols.elf, symbol.svma, &bytes) ||
		    bytes.size < sizeof(value[i]))
			return;
		memcpy(&value[i], bytes.data, sizeof(value[i]));
	}
	(void) snprintf(version, size, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, value[0], value[1],
			value[2]); /* three numbers fit */
}

static const char NATIVE_IMAGE_PROBLEM[] = "it is Java code that was compiled ahead of time: its "
					   "frames have the names of the file's symbols only, "
					   "and no tables of callers";

static bool runtime_of(struct sw_module *module, struct sw_runtime *ret)
{
	const char *path = sw_module_path(module);
	*ret = (struct sw_runtime){.entries = -1};
	if (sw_module_kind(module) != SW_MODULE_ELF)
		return false;
	ret->name = sw_known_file_runtime(path, ret->version, sizeof(ret->version));
	if (ret->name == NULL)
		return false;
	(void) snprintf(ret->where, sizeof(ret->where), "%s", path); /* cut to fit */
	if (strcmp(ret->name, "v8") == 0)
		v8_version(module, ret->version, sizeof(ret->version));
	return true;
}

static bool is_program(const struct sw_snapshot *snap, const struct sw_place *place)
{
	return sw_module_kind(place->module) == SW_MODULE_ELF &&
	       strcmp(sw_module_path(place->module), snap->process.exe) == 0;
}

/*
 * A Java program that GraalVM has compiled to machine code has the objects that it begins with in a section of
 * its own (SectionName.SVM_HEAP of com.oracle.objectfile, GraalVM 21 to 25).
 */
static bool is_native_image(struct sw_module *module)
{
	struct sw_elf_section section;
	const struct sw_elf *elf = sw_module_elf(module);
	return elf != NULL && sw_elf_section_named(elf, ".svm_heap", &section);
}

/* A program with V8 in it that lets libraries call it, as those of Electron do, whatever they are called:
 * v8::V8::GetVersion(), include/v8-initialization.h. */
static bool exports_v8(struct sw_module *module)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	return sw_elf_symbols_open(sw_module_elf(module), &symbols) &&
	       sw_elf_symbols_find(&symbols, "_ZN2v82V810GetVersionEv", &symbol);
}

/* Asked when the process runs again, as there are no hooks: of the program the file is looked at. */
static bool known_probe(const struct sw_snapshot *snap)
{
	struct sw_runtime runtime;
	for (size_t i = 0; i < snap->n_places; i++)
		if ((is_program(snap, &snap->places[i]) &&
		     (is_native_image(snap->places[i].module) ||
		      exports_v8(snap->places[i].module))) ||
		    sw_known_file_runtime(sw_module_path(snap->places[i].module), runtime.version,
					  sizeof(runtime.version)) != NULL)
			return true;
	return false;
}

static int known_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	(void) found;               /* it has no hooks */
	*ret_state = (void *) snap; /* borrowed; only read */
	return 0;
}

static void known_close(void *state)
{
	(void) state;
}

static bool is_listed(const struct sw_runtime *known, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(known[i].name, name) == 0)
			return true;
	return false;
}

static size_t known_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_snapshot *snap = state;
	size_t n = 0;
	for (size_t i = 0; i < snap->n_places && n < max; i++) {
		struct sw_module *module = snap->places[i].module;
		bool known = runtime_of(module, &ret[n]);
		if (!known && is_program(snap, &snap->places[i]) && is_native_image(module)) {
			ret[n].name = "native-image";
			(void) snprintf(ret[n].where, sizeof(ret[n].where), "%s",
					sw_module_path(module)); /* cut to fit */
			(void) snprintf(ret[n].problem, sizeof(ret[n].problem), "%s",
					NATIVE_IMAGE_PROBLEM); /* fits */
			known = true;
		}
		if (!known && is_program(snap, &snap->places[i]) && exports_v8(module)) {
			ret[n].name = "v8";
			v8_version(module, ret[n].version, sizeof(ret[n].version));
			(void) snprintf(ret[n].where, sizeof(ret[n].where), "%s",
					sw_module_path(module)); /* cut to fit */
			known = true;
		}
		if (known && !is_listed(ret, n, ret[n].name))
			n++;
	}
	return n;
}

const struct sw_runtime_ops sw_runtime_known = {
	.name = "known",
	.probe = known_probe,
	.open = known_open,
	.close = known_close,
	.identify = known_identify,
};
