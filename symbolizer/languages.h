/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_LANGUAGES_H
#define SW_LANGUAGES_H

#include "elf_file.h"

/*
 * Names of functions in languages without a standard for it, as people write them. Each returns a string
 * to free; NULL when the name is not of that language, or there is no memory.
 */

/* D, by libiberty. */
char *sw_demangle_d(const char *mangled);
/* gfortran: "__module_MOD_procedure". */
char *sw_demangle_fortran(const char *mangled);
/* Free Pascal 3.2: "UNIT$_$CLASS_$__$$_METHOD$ARGUMENT$$RESULT"; compiler/symdef.pas, make_mangledname(). */
char *sw_demangle_pascal(const char *mangled);
/* OCaml's native compiler: "camlStdlib__Map__find_1234". */
char *sw_demangle_ocaml(const char *mangled);
/* GNAT, by libiberty: "package__procedure__2". Other languages have such names, too: only for those of
 * GNAT's library, or any of a program by GNAT. */
char *sw_demangle_ada(const char *mangled, bool program_is_ada);

/* GHC: "package_Module_name_info", of a program with Haskell code. */
char *sw_demangle_haskell(const char *mangled);
/* Whether GHC made code of it. */
bool sw_elf_is_haskell(const struct sw_elf *elf);

/* Whether gnatbind made the program's start. */
bool sw_elf_is_ada(const struct sw_elf *elf);

#endif
