/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_SYMBOLIZE_H
#define SNAPWALK_SYMBOLIZE_H

/*
 * Frames to names, files, lines and inlined calls. Never touches the target: works on the modules
 * of a snapshot, after the walk.
 */

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The data that outlives one snapshot: open debug files, results by module and offset. Belongs to
 * one context and must be destroyed before it, after every sw_symbols made with it. */
struct sw_symbolizer;

SW_PUBLIC int sw_symbolizer_create(struct sw_context *ctx, struct sw_symbolizer **ret,
				   struct sw_error *err);
SW_PUBLIC void sw_symbolizer_destroy(struct sw_symbolizer *symbolizer);

/**
 * Write the results that a symbolizer found in files, as bytes for a symbolizer of another process
 * on this machine that asks with the same options: a file whose device, inode, size and time of
 * modification are the same is not looked into for the same addresses again. Results of modules
 * without a file are left out.
 *
 * @return how many bytes of buffer are used: with less than is needed, some results are left out. 0: there
 *         is nothing, or no space.
 */
SW_PUBLIC size_t sw_symbolizer_keep(const struct sw_symbolizer *symbolizer, void *buffer,
				    size_t size);
/**
 * Give a new symbolizer what another one kept. Bytes that are no such, or not whole, are as none.
 *
 * @param data  Borrowed until the symbolizer is destroyed. Not trusted: with other bytes names may be
 *              wrong, nothing worse.
 */
SW_PUBLIC void sw_symbolizer_recall(struct sw_symbolizer *symbolizer, const void *data,
				    size_t size);

#define SW_PACKAGE_LISTS "/var/lib/dpkg/info"

/**
 * Debug sections that were unpacked before, of files that packages install: unpacking those of the C library
 * takes longer than all the rest of a dump. They are made by a process of its own, with sw_unpack_serve(),
 * and mapped here.
 */
struct sw_unpacked {
	const char *directories[2]; /* borrowed; looked into in this order; NULL: none */
	uid_t owner;                /* whose files are believed, besides root's */
	char boot_id[40];
	int ask_fd; /* a pipe to sw_unpack_serve(), which does not block; negative: nobody is asked */
	uint32_t n_asked; /* counted: for how many files nothing was there */
};

/** Without directories, for files of this user. False: what this start of the machine is called cannot be read,
 * and nothing can be kept. */
SW_PUBLIC bool sw_unpacked_init(struct sw_unpacked *ret);
/** Add a directory, borrowed. False: it is not there, belongs neither to root nor to the owner,
 * another user may write it or let its name lead elsewhere, or there are two. */
SW_PUBLIC bool sw_unpacked_add(struct sw_unpacked *unpacked, const char *directory);
/**
 * Unpack the debug sections of files below debug_dir, by the build-ids that are read from a pipe,
 * into the first directory, until nobody has the pipe's other end. Only of files that belong to
 * root or the owner, and that nobody else may write. A fault of a file is of no interest here: its
 * user finds out.
 *
 * @param debug_dir  NULL: "/usr/lib/debug".
 */
SW_PUBLIC void sw_unpack_serve(int fd, const char *debug_dir, const struct sw_unpacked *unpacked);

enum sw_symbol_level {
	SW_SYMBOLS_LINES, /* names, then files, lines and inlined calls */
	SW_SYMBOLS_NAMES,
	/* No file is asked. What nobody can say later is there: names of runtimes, and of code that is in memory alone. */
	SW_SYMBOLS_NONE,
};

/** Zero-initialised means the defaults. */
struct sw_symbolize_options {
	enum sw_symbol_level level;
	bool no_inlines; /* the function alone, at the line of its outermost inlined call */
	bool no_demangle;
	int64_t deadline_ns; /* CLOCK_MONOTONIC; 0 means none. What is there by then is the result */
	const char *debug_dir; /* default "/usr/lib/debug"; a module's first use of it counts */
	struct sw_unpacked *unpacked; /* borrowed; NULL: all is unpacked anew */
	/* SW_PACKAGE_LISTS, the directory of dpkg's lists of files, for sw_symbols_debug_package(). NULL:
	 * nobody asks for it. */
	const char *package_lists;
	/** Reads a .dwo file by the absolute name that the program has for it, for a process that may not
	 * open it. @return its size, with its bytes in *ret until the next call; 0: there is none.
	 * Default, NULL: regular files are opened. */
	size_t (*dwo_read)(void *arg, const char *path, int64_t deadline_ns, const void **ret);
	void *dwo_arg;
	/** Whether the process's user may read a regular file, which is open as an O_PATH descriptor by this absolute path,
	 * for a process that may read more than that user. Default, NULL: opening it tells. */
	bool (*may_read)(void *arg, const char *path, int fd);
	void *may_read_arg;
};

/** Where a module's names came from; the best of what was used. */
enum sw_symbol_source {
	SW_SOURCE_NONE,
	SW_SOURCE_DYNSYM,
	SW_SOURCE_EXPORTS,   /* of a PE file */
	SW_SOURCE_MINIDEBUG, /* .gnu_debugdata */
	SW_SOURCE_SYMTAB,    /* .symtab, or a PE file's COFF symbols */
	SW_SOURCE_DEBUGFILE, /* .symtab of a separate debug file */
	SW_SOURCE_DWARF,
	SW_SOURCE_RUNTIME,
	SW_SOURCE_JIT,
};

/** A source-level frame. An address has one, or several when calls were inlined there. */
struct sw_symbol {
	const char *function;     /* demangled; NULL when unknown */
	const char *mangled;      /* the linkage name; NULL when it is the same or unknown */
	const char *file;         /* NULL when unknown */
	const char *signature;    /* of a Java method: "(I)V"; NULL when unknown */
	const char *tier;         /* static: how the runtime executes it; NULL when unknown */
	uint64_t function_offset; /* bytes from the function's start; of the outermost function also
				     for inlined frames */
	uint32_t line;            /* 0 when unknown */
	int32_t line_offset;      /* line minus the function's first line; -1 when unknown */
	bool inlined;             /* was inlined into the next one */
	enum sw_symbol_source source; /* DWARF as soon as a line came from there */
};

/** Result for one snapshot. */
struct sw_symbols {
	int64_t symbolize_ns;
	size_t n_addresses;  /* distinct ones that were asked for */
	size_t n_unfinished; /* not looked up, or without lines, because the deadline came */
	bool without_files;  /* none was asked for names: SW_SYMBOLS_NONE */
	struct sw_symbols_priv *priv;
};

/**
 * Name all frames of the walks, each distinct address once.
 *
 * @param walks  Borrowed; must outlive *ret.
 * @return 0; -SW_E_NOMEM. What cannot be named is no error. Free with sw_symbols_destroy().
 */
SW_PUBLIC int sw_symbolize(struct sw_symbolizer *symbolizer, const struct sw_walks *walks,
			   const struct sw_symbolize_options *options, struct sw_symbols **ret,
			   struct sw_error *err);
SW_PUBLIC void sw_symbols_destroy(struct sw_symbols *symbols);

/**
 * The symbols of a frame, innermost inlined call first; the last is the function that the frame
 * really is. Borrowed from symbols.
 * @return their number; 0 when nothing is known (module + offset is always left).
 */
SW_PUBLIC size_t sw_symbols_find(const struct sw_symbols *symbols, const struct sw_frame *frame,
				 const struct sw_symbol **ret);

/** Best source used for a place's module so far. */
SW_PUBLIC enum sw_symbol_source sw_symbols_source(const struct sw_symbols *symbols,
						  const struct sw_place *place);
/** Why a place's module has no lines, or not all, in words; borrowed from symbols. NULL: it has, or nobody asked. */
SW_PUBLIC const char *sw_symbols_why(const struct sw_symbols *symbols,
				     const struct sw_place *place);
/**
 * The Debian package that would have the symbols of a place's module, which has none but those that it
 * exports; borrowed from symbols.
 * NULL: it has, or no package of this machine has the module's file, or nobody asked.
 */
SW_PUBLIC const char *sw_symbols_debug_package(const struct sw_symbols *symbols,
					       const struct sw_place *place);
/** Wire name ("dwarf"); static. */
SW_PUBLIC const char *sw_symbol_source_name(enum sw_symbol_source source);

/** A function that a symbol table of a module names. */
struct sw_function_symbol {
	const char *
		name; /* as the linker has it, without a version; borrowed until the callback returns */
	uint64_t svma;    /* in the file */
	uint64_t size;    /* 0: not known */
	bool is_indirect; /* which code it means is chosen when the program is loaded (IFUNC) */
};

/**
 * All functions that the tables of a module and of its separate debug file name, in no order; the same function may come
 * several times.
 *
 * @param options  debug_dir and deadline_ns are looked at.
 * @param ret_n    How many were told.
 * @return 0; -SW_E_TIMEOUT and -SW_E_LIMIT: a table was not looked through to its end; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_symbolizer_functions(struct sw_symbolizer *symbolizer, struct sw_module *module,
				      const struct sw_symbolize_options *options,
				      void (*each)(void *arg,
						   const struct sw_function_symbol *symbol),
				      void *arg, size_t *ret_n, struct sw_error *err);

/** Demangle a name of C++, Rust, D, a Fortran module, OCaml or GNAT's library. @return malloc'ed text, or NULL when it is not mangled. */
SW_PUBLIC char *sw_demangle(const char *mangled);

#ifdef __cplusplus
}
#endif

#endif
