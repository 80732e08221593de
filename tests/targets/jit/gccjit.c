/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inner <- middle <- outer made by libgccjit, blocked in pause(). Its code is a library that is
 * deleted as soon as it was loaded. */
#include <libgccjit.h>
#include <stdio.h>

static gcc_jit_function *chain(gcc_jit_context *ctx, const char *name, gcc_jit_function *callee,
			       int with_arg)
{
	gcc_jit_type *type = gcc_jit_context_get_type(ctx, GCC_JIT_TYPE_INT);
	gcc_jit_param *n = gcc_jit_context_new_param(ctx, NULL, type, "n");
	gcc_jit_function *f = gcc_jit_context_new_function(ctx, NULL, GCC_JIT_FUNCTION_EXPORTED,
							   type, name, 1, &n, 0);
	gcc_jit_rvalue *arg = gcc_jit_param_as_rvalue(n);
	gcc_jit_rvalue *call =
		gcc_jit_context_new_call(ctx, NULL, callee, with_arg, with_arg ? &arg : NULL);
	gcc_jit_block *block = gcc_jit_function_new_block(f, NULL);
	gcc_jit_block_end_with_return(
		block, NULL,
		gcc_jit_context_new_binary_op(ctx, NULL, GCC_JIT_BINARY_OP_MULT, type, call, arg));
	return f;
}

int main(void)
{
	gcc_jit_context *ctx = gcc_jit_context_acquire();
	gcc_jit_type *type = gcc_jit_context_get_type(ctx, GCC_JIT_TYPE_INT);
	gcc_jit_function *pause_function = gcc_jit_context_new_function(
		ctx, NULL, GCC_JIT_FUNCTION_IMPORTED, type, "pause", 0, NULL, 0);
	chain(ctx, "outer", chain(ctx, "middle", chain(ctx, "inner", pause_function, 0), 1), 1);
	gcc_jit_result *result = gcc_jit_context_compile(ctx);
	if (result == NULL)
		return 1;
	int (*outer)(int) = (int (*)(int)) gcc_jit_result_get_code(result, "outer");
	puts("ready");
	fflush(stdout);
	return outer(3);
}
