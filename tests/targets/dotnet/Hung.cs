// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace SwNet;

/// The runtime waits for ever: a collection has begun, and one thread, which is in native code that it
/// was told would be short, does not come to where it can be stopped.
static unsafe class Hung
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;
    static readonly object gate = new();

    public static void Run()
    {
        for (int i = 0; i < 4; i++)
            new Thread(() => Worker(3)) { IsBackground = true, Name = $"worker-{i}" }.Start();
        Thread.Sleep(200);
        Console.WriteLine("ready");
        Console.Out.Flush();
        var stuck = new Thread(() => Stuck(2)) { IsBackground = true, Name = "stuck" };
        stuck.Start();
        Thread.Sleep(200);
        CollectForEver(2);
    }

    [MethodImpl(Keep)]
    static void CollectForEver(int depth)
    {
        if (depth > 0)
            CollectForEver(depth - 1);
        else
            GC.Collect();
    }

    [MethodImpl(Keep)]
    static int Stuck(int depth)
    {
        if (depth > 0)
            return Stuck(depth - 1) + 1;
        Native.sw_block_suppressed(1);
        return 1;
    }

    [MethodImpl(Keep)]
    static int Worker(int depth)
    {
        if (depth > 0)
            return Worker(depth - 1) + 1;
        for (long i = 0; ; i++)
            if (new object().GetHashCode() == 1 && i < 0)
                return 0;
            else if (i % 1000 == 0)
                Thread.Sleep(1);
    }
}
