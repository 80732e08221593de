// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

namespace SwNet;

/// The threads: one for each way in which managed code can be on a stack.
static unsafe partial class Stacks
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;
    static readonly object forever = new();

    public static void Run(string[] args)
    {
        Truth.WithLines = Array.IndexOf(args, "lines") >= 0;
        Calls();
        Exceptions();
        Waits();
        Code();
        // Last: while it blocks, the runtime cannot stop it, and nobody may ask for that.
        if (Array.IndexOf(args, "no-suppressed") < 0)
            Truth.Start("pinvoke-suppressed", () => Suppressed(1));
        Truth.Print();
        Program.Ready();
    }

    [MethodImpl(Keep)]
    public static int Block(string name)
    {
        Truth.Record(name);
        Native.sw_block(1);
        return 1;
    }

    // ---- calls between managed and native code ----------------------------------------------

    static void Calls()
    {
        Truth.Start("pinvoke", () => Block("pinvoke"));
        Truth.Start("pinvoke-error", () => BlockError(1));
        Truth.Start("reverse-pointer", () => Native.sw_call(&FromNative, 5));
        Truth.Start("reverse-delegate", () => CallDelegate(2));
        Truth.Start("reverse-sort", () => Sort());
        Native.sw_foreign(&FromForeign);
        Truth.Await();
        Truth.Start("delegates", () => Multicast());
        Truth.Start("recursion", () => Recursion(100));
        Truth.Start("stackalloc", () => StackAlloc(3000));
        Truth.Start("struct-return", () => Big(3));
    }

    [MethodImpl(Keep)]
    static int BlockError(int v)
    {
        Truth.Record("pinvoke-error");
        Native.sw_block_error(v);
        return v + 1;
    }

    [MethodImpl(Keep)]
    static int Suppressed(int v)
    {
        Truth.Record("pinvoke-suppressed");
        Native.sw_block_suppressed(v);
        return v + 1;
    }

    [System.Runtime.InteropServices.UnmanagedCallersOnly]
    static int FromNative(int v) => Block("reverse-pointer") + v;

    [System.Runtime.InteropServices.UnmanagedCallersOnly]
    static int FromForeign(int v) => Block("foreign") + v;

    static Native.IntCallback kept;

    [MethodImpl(Keep)]
    static int CallDelegate(int v)
    {
        kept = x => Block("reverse-delegate") + x;
        return Native.sw_call_delegate(kept, v) + 1;
    }

    static Native.Compare compare;

    [MethodImpl(Keep)]
    static void Sort()
    {
        compare = (a, b) => *a == 3 ? Block("reverse-sort") : *a - *b;
        Native.sw_sort(new[] { 1, 2, 3, 4, 5 }, 5, compare);
    }

    [MethodImpl(Keep)] static int One(int v) => v + 1;
    [MethodImpl(Keep)] static int Two(int v) => Block("delegates") + v;

    [MethodImpl(Keep)]
    static int Multicast()
    {
        Func<int, int> f = One;
        f += Two;
        return f(3) + 1;
    }

    [MethodImpl(Keep)]
    static int Recursion(int n) => n == 0 ? Block("recursion") : Recursion(n - 1) + n;

    [MethodImpl(Keep)]
    static int StackAlloc(int n)
    {
        byte* room = stackalloc byte[n];
        room[n - 1] = 1;
        int r = Block("stackalloc");
        return r + room[n - 1];
    }

    struct Wide { public long A, B, C, D, E, F; }

    [MethodImpl(Keep)]
    static Wide Big(int v) => new() { A = v, F = Block("struct-return") };

    // ---- exceptions -----------------------------------------------------------------------------

    static void Exceptions()
    {
        Truth.Start("catch", () => Catch(1));
        Truth.Start("catch-rethrown", () => CatchNested(1));
        Truth.Start("finally", () => FinallyInFlight(1));
        Truth.Start("finally-local", () => FinallyLocal(1));
        Truth.Start("filter", () => Filter(1));
        Truth.Start("fault-filter", () => FaultFilter(null));
        Truth.Start("fault-catch", () => FaultCatch(null));
    }

    [MethodImpl(Keep)]
    static int Throw(int v) => v > 0 ? throw new InvalidOperationException("on purpose") : v;

    [MethodImpl(Keep)]
    static int Catch(int v)
    {
        try
        {
            return Throw(v) + 1;
        }
        catch (InvalidOperationException e)
        {
            return Block("catch") + e.Message.Length;
        }
    }

    [MethodImpl(Keep)]
    static int CatchNested(int v)
    {
        try
        {
            try
            {
                return Throw(v);
            }
            catch (InvalidOperationException e)
            {
                throw new ArgumentException("again", e);
            }
        }
        catch (ArgumentException e)
        {
            return Block("catch-rethrown") + e.Message.Length;
        }
    }

    [MethodImpl(Keep)]
    static int Inner(int v)
    {
        try
        {
            return Throw(v) + 2;
        }
        finally
        {
            Block("finally");
        }
    }

    [MethodImpl(Keep)]
    static int FinallyInFlight(int v)
    {
        try
        {
            return Inner(v);
        }
        catch (InvalidOperationException)
        {
            return 0;
        }
    }

    [MethodImpl(Keep)]
    static int FinallyLocal(int v)
    {
        try
        {
            return v + 1;
        }
        finally
        {
            Block("finally-local");
        }
    }

    [MethodImpl(Keep)]
    static int Filter(int v)
    {
        try
        {
            return Throw(v) + 1;
        }
        catch (InvalidOperationException) when (Block("filter") > 0)
        {
            return 0;
        }
    }

    // The processor finds the fault: the runtime's signal handler throws.
    [MethodImpl(Keep)]
    static int FaultFilter(string s)
    {
        try
        {
            return s.Length + 1;
        }
        catch (NullReferenceException) when (Block("fault-filter") > 0)
        {
            return 0;
        }
    }

    [MethodImpl(Keep)]
    static int FaultCatch(string s)
    {
        try
        {
            return s.Length + 1;
        }
        catch (NullReferenceException)
        {
            return Block("fault-catch");
        }
    }
}
