/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "languages.h"
#include "elf_make.h"
#include "test.h"

#include <snapwalk/symbolize.h>

static void is(char *text, const char *wanted)
{
	if (wanted == NULL)
		assert_null(text);
	else
		assert_string_equal(text, wanted);
	free(text);
}

TEST(test_d)
{
	is(sw_demangle("_D4core6thread5fiber5Fiber4callMFZv"), "core.thread.fiber.Fiber.call()");
	/* 35 back references, nearly all to identifiers: druntime 2.100, core/internal/gc/impl/conservative/gc.d */
	is(sw_demangle("_D4core8internal2gc4impl12conservativeQw14ConservativeGC__T9runLockedS_"
		       "DQCsQCqQCk"
		       "QCkQCiQCtQBy12mallocNoSyncMFNbmkKmxC8TypeInfoZPvS_"
		       "DQFaQEyQEsQEsQEqQFb10mallocTimelS_"
		       "DQGiQGgQGaQGaQFyQGj10numMallocslTmTkTmTxQDlZQFuMFNbKmKkKmKxQEeZQDx"),
	   "core.internal.gc.impl.conservative.gc.ConservativeGC.runLocked!("
	   "core.internal.gc.impl.conservative.gc.ConservativeGC.mallocNoSync(ulong, uint, ref "
	   "ulong, "
	   "const(TypeInfo)), core.internal.gc.impl.conservative.gc.mallocTime, "
	   "core.internal.gc.impl.conservative.gc.numMallocs, ulong, uint, ulong, "
	   "const(TypeInfo)).runLocked("
	   "ref ulong, ref uint, ref ulong, ref const(TypeInfo))");
	is(sw_demangle("_Dmain"), NULL);
	is(sw_demangle("_D"), NULL);
	is(sw_demangle("_D4core"), NULL);
	/* Back references that double the text each time, and a name that nests without end. */
	char name[2048] = "_D1fFAi";
	for (int i = 0; i < 40; i++)
		strcat(name, "QaQb");
	is(sw_demangle(name), NULL);
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_D1fF", 5);
	is(sw_demangle(name), NULL);
}

TEST(test_fortran)
{
	is(sw_demangle("__solver_MOD_step"), "solver::step");
	is(sw_demangle("__a_b_MOD_c_d"), "a_b::c_d");
	is(sw_demangle("__MOD_step"), NULL);
	is(sw_demangle("__solver_MOD_"), NULL);
	is(sw_demangle("___MOD_x"), NULL);
	is(sw_demangle("__libc_start_main"), NULL);
}

TEST(test_ocaml)
{
	is(sw_demangle("camlStdlib__Map__find_1234"), "Stdlib.Map.find");
	is(sw_demangle("camlMain__fun_731"), "Main.fun_731");
	is(sw_demangle("camlStdlib__$3e$3e$3d_90"), "Stdlib.>>=");
	is(sw_demangle("camlStdlib__$00x"), "Stdlib.$00x");
	is(sw_demangle("camlStdlib.Map.find_1234"), "Stdlib.Map.find");
	is(sw_demangle("caml_main"), NULL);
	is(sw_demangle("camlP4"), NULL);
	is(sw_demangle("caml"), NULL);
}

TEST(test_pascal)
{
	is(sw_demangle("P$CHAIN_$$_FIB$LONGINT$$LONGINT"), "CHAIN.FIB(LONGINT)");
	is(sw_demangle("CLASSES$_$TFPLIST_$__$$_ADD$POINTER$LONGINT$$LONGINT"),
	   "CLASSES.TFPLIST.ADD(POINTER, LONGINT)");
	is(sw_demangle("P$CHAIN$_$TWORK_$__$$_EXECUTE"), "CHAIN.TWORK.EXECUTE");
	is(sw_demangle("SYSTEM_$$_STACKTOP$$POINTER"), "SYSTEM.STACKTOP");
	is(sw_demangle("CLASSES$_$TCOMPONENT_$__$$_INVOKE$crc9CCA9DC9"),
	   "CLASSES.TCOMPONENT.INVOKE");
	is(sw_demangle("P$_$TWORK_$__$$_RUN"), "P.TWORK.RUN");            /* a unit of that name */
	is(sw_demangle("CLASSES$_$A$TB$$C_$$_INNER"), "CLASSES.A.INNER"); /* a function in one */
	is(sw_demangle("SYSTEM_$$_"), NULL);
	is(sw_demangle("SYSTEM_$$_$X"), NULL);
	is(sw_demangle("_$$_A"), NULL);
	is(sw_demangle("WRPR_$A_$$_TB_$_IC_$_3_$_A$_$TB_$__$$_GET$$IC"), NULL);
	is(sw_demangle("scala_$dollar"), NULL);
}

TEST(test_ada)
{
	is(sw_demangle("ada__text_io__put_line__2"), "ada.text_io.put_line");
	is(sw_demangle("system__tasking__stages__task_wrapper"),
	   "system.tasking.stages.task_wrapper");
	is(sw_demangle("_ada_main_loop"), "main_loop");
	is(sw_demangle_ada("workers__fib.100", true), "workers.fib");
	is(sw_demangle_ada("workers__fib.100", false), NULL);
	is(sw_demangle_ada("tasks__workerTB", true), "tasks.worker");
	is(sw_demangle_ada("tasks__workerTB.4", true), "tasks.worker");
	is(sw_demangle_ada("tasks__workerTB.4.cold", true), "tasks.worker [clone .cold]");
	is(sw_demangle_ada("tasks__workerTKB", true), "tasks.worker");
	is(sw_demangle_ada("tasks__store__putN.7", true), "tasks.store.put");
	is(sw_demangle_ada("tasks__store__putP", true), "tasks.store.put");
	is(sw_demangle_ada("tasks__store__take_E7b.11", true), "tasks.store.take");
	is(sw_demangle_ada("tasks__store__take_B12b", true), "tasks.store.take");
	is(sw_demangle_ada("tasks__store7b", true), "tasks.store7b");
	is(sw_demangle_ada("tasks__workerVIP.15", true), NULL); /* made by the compiler */
	is(sw_demangle_ada("a__.1", true), NULL);
	is(sw_demangle_ada("__libc_start_main", true), NULL);
	is(sw_demangle_ada("main", true), NULL);
	is(sw_demangle_ada("", true), NULL);
}

TEST(test_program_is_ada)
{
	for (int ada = 0; ada < 2; ada++) {
		struct elf_make made;
		struct sw_elf elf;
		elf_make_init(&made);
		uint16_t text =
			(uint16_t) elf_make_section(&made, ".text", SHT_PROGBITS,
						    SHF_ALLOC | SHF_EXECINSTR, 0x1000, NULL, 0x100);
		elf_make_symbol(&made,
				ada ? "__gnat_ada_main_program_name"
				    : "x__gnat_ada_main_program_name",
				STB_GLOBAL, STT_OBJECT, text, 0x1000, 8);
		elf_make_symtab(&made, SHT_SYMTAB);
		elf_make_finish(&made);
		assert_true(sw_elf_init(&elf, (struct sw_bytes){made.bytes, made.size}));
		assert_int_equal(sw_elf_is_ada(&elf), ada);
	}
}

TEST(test_haskell)
{
	is(sw_demangle_haskell("Main_zdwwork_info"), "Main.$wwork");
	is(sw_demangle_haskell("Main_loopzq_info"), "Main.loop'");
	is(sw_demangle_haskell("ZCMain_main_info"), ":Main.main");
	is(sw_demangle_haskell("ghczmprim_GHCziClasses_modIntzh_info"), "GHC.Classes.modInt#");
	is(sw_demangle_haskell("base_GHCziBase_zpzp_info"), "GHC.Base.++");
	is(sw_demangle_haskell("ghczmprim_GHCziTypes_ZC_con_info"), "GHC.Types.:");
	is(sw_demangle_haskell("ghczmprim_GHCziTuple_Z3T_con_entry"), "GHC.Tuple.(,,)");
	is(sw_demangle_haskell("ghczmprim_GHCziPrim_Z2H_con_info"), "GHC.Prim.(#,#)");
	is(sw_demangle_haskell("Main_z0e9U_closure"), "Main.\u00e9");
	is(sw_demangle_haskell("Main_z1f600U_fast"), "Main.\U0001f600");
	is(sw_demangle_haskell("Main_z20acUzz_slow"), "Main.\u20acz");
	/* of the runtime, which is written in another language; C */
	is(sw_demangle_haskell("stg_ap_v_info"), NULL);
	is(sw_demangle_haskell("stg_upd_frame_info"), NULL);
	is(sw_demangle_haskell("sat_s1Ab_info"), NULL);
	is(sw_demangle_haskell("Main_main"), NULL);
	is(sw_demangle_haskell("Main_info"), NULL);
	is(sw_demangle_haskell("_info"), NULL);
	is(sw_demangle_haskell("__info"), NULL);
	is(sw_demangle_haskell("Main__info"), NULL);
	is(sw_demangle_haskell("Main_a_b_c_info"), NULL);
	is(sw_demangle_haskell("Main_zj_info"), NULL);
	is(sw_demangle_haskell("Main_z_info"), NULL);
	is(sw_demangle_haskell("Main_Z9999T_info"), NULL);
	is(sw_demangle_haskell("Main_z110000U_info"), NULL);
	is(sw_demangle_haskell("Main_z10U_info"), NULL);
	is(sw_demangle_haskell("Main_x$y_info"), NULL);
	/* what any program may have is none without the runtime beside it */
	is(sw_demangle("Main_zdwwork_info"), NULL);
}
