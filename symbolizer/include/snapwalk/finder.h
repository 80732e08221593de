/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_FINDER_H
#define SNAPWALK_FINDER_H

/* Names for addresses whose process is not here: files by their build-ids, and what they say. */

#include <snapwalk/symbolize.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A finder of files by their build-ids, for modules that are known by a dump alone. A path never suffices: a file with
 * another build-id is none of the module's.
 */
struct sw_finder;

/** Zero-initialised means the defaults. Strings are borrowed until sw_finder_destroy(). */
struct sw_finder_options {
	/**
	 * Directories in which files are looked for before all other places, in this order: in trees as /usr/lib/debug/.build-id, as the
	 * debuginfod client has them (BUILD-ID/debuginfo, BUILD-ID/executable), and else in all files below, whose
	 * build-ids are read.
	 */
	const char *const *directories;
	size_t n_directories;
	const char *cache;     /* of the debuginfod client, the last place; NULL: none */
	const char *debug_dir; /* default "/usr/lib/debug" */
	int64_t deadline_ns;   /* CLOCK_MONOTONIC, of reading directories; 0: none */
	/** Has the debug file with this build-id, in hex, brought into the cache, where it is looked for afterwards.
	 * @return whether it is there. Default, NULL: nobody is asked. */
	bool (*fetch)(void *arg, const char *build_id);
	void *fetch_arg;
	/** Has the debug file with this build-id, in hex, unpacked from a package. @return a directory that now has it as
	 * BUILD-ID/debuginfo, borrowed; NULL: no package has it. Default, NULL: there are no packages. */
	const char *(*unpack)(void *arg, const char *build_id);
	/** With unpack: which build-ids it may be called with later. */
	void (*expect)(void *arg, const char *build_id);
	void *unpack_arg;
};

/** @return 0; -SW_E_NOMEM. Free with sw_finder_destroy(), after each symbolizer that used it. */
SW_PUBLIC int sw_finder_create(struct sw_context *ctx, const struct sw_finder_options *options,
			       struct sw_finder **ret, struct sw_error *err);
SW_PUBLIC void sw_finder_destroy(struct sw_finder *finder);
/**
 * The module that a dump names: by its path if the file there has that build-id, else by the build-id alone.
 *
 * @param ret  The context's. Without a file where none is found: a debug file may be found for it nevertheless.
 * @return 0; -SW_E_NOMEM; -SW_E_IO; -SW_E_LIMIT.
 */
SW_PUBLIC int sw_finder_module(struct sw_finder *finder, enum sw_module_kind kind, const char *path,
			       const uint8_t *build_id, size_t build_id_bytes,
			       struct sw_module **ret, struct sw_error *err);

/**
 * The module of which no more than the name of its file is known: by the first directory that has files of that name with one
 * build-id. *ret is NULL where there is none.
 *
 * @return As of sw_finder_module().
 */
SW_PUBLIC int sw_finder_named(struct sw_finder *finder, const char *name, struct sw_module **ret,
			      struct sw_error *err);

/**
 * The address in its file that is at an offset of a mapping: of a module that is known by the mapping alone.
 *
 * @param mapping_off  The offset in the file of the mapping's first byte. 0: all of the module is mapped in one part, and off
 *                     begins with its first address.
 * @param mapping_bytes  The mapping's size, 0: unknown. Of a part of the code a debug file alone does not tell where it is.
 * @param off          As mapping_off, of the address.
 * @return false: it is in no segment, or the files that are here do not tell.
 */
SW_PUBLIC bool sw_finder_svma(struct sw_finder *finder, struct sw_module *module,
			      uint64_t mapping_off, uint64_t mapping_bytes, uint64_t off,
			      uint64_t *ret);

/** A symbolizer that has a finder asks it for debug files that are neither in debug_dir nor beside their file. Borrowed;
 * before anything is looked up. */
SW_PUBLIC void sw_symbolizer_set_finder(struct sw_symbolizer *symbolizer, struct sw_finder *finder);

/** An address of a module, in its file. */
struct sw_address {
	struct sw_module *module; /* borrowed; of the symbolizer's context */
	uint64_t svma;            /* to look up with: pc - 1 for return addresses */
};

/**
 * As sw_symbolize(), for addresses that are in no snapshot.
 *
 * @param addresses  Not looked at afterwards.
 */
SW_PUBLIC int sw_symbolize_addresses(struct sw_symbolizer *symbolizer,
				     const struct sw_address *addresses, size_t n,
				     const struct sw_symbolize_options *options,
				     struct sw_symbols **ret, struct sw_error *err);
/** As sw_symbols_find(), for the address of that number. */
SW_PUBLIC size_t sw_symbols_at(const struct sw_symbols *symbols, size_t number,
			       const struct sw_symbol **ret);

#ifdef __cplusplus
}
#endif

#endif
