/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_WORD_KIND_H
#define SW_CLI_WORD_KIND_H

/* The kind of file that a word of the command line names, when it is no process id. */
enum sw_word_kind {
	SW_WORD_NO_FILE,
	SW_WORD_CORE, /* an ELF core file */
	SW_WORD_MINIDUMP,
	SW_WORD_PROGRAM,  /* an ELF program, or a file that may be executed */
	SW_WORD_SNAPSHOT, /* a directory that record or dump --keep made */
	SW_WORD_JSON,     /* a file that begins with '{', as dumps and profiles do */
	SW_WORD_OTHER,
};

/* Reads the first bytes of a regular file, and nothing of anything else. */
enum sw_word_kind sw_word_kind(const char *path);

#endif
