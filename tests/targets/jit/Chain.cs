/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inner <- Middle <- Outer, compiled by mono, blocked in the C library's pause(). */
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

class Chain {
	[DllImport("libc")]
	static extern int pause();

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Inner(int n) { return pause() + n; }
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Middle(int n) { return Inner(n) * 2; }
	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Outer(int n) { return Middle(n) * 2; }

	static void Main() {
		Console.Out.WriteLine("ready");
		Console.Out.Flush();
		for (;;)
			Outer(3);
	}
}
