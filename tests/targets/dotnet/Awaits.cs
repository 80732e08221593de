// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace SwNet;

/// Async methods of which it is known who awaits whom: "chain METHOD METHOD ...", innermost first. The innermost one
/// of each is busy, or waits; all that await it have waited themselves before, so that no stack has them.
static class Awaits
{
    static readonly TaskCompletionSource never = new();
    static volatile int begun;
    static long sink;

    static void Busy(string[] words, double seconds = 1e9)
    {
        Interlocked.Increment(ref begun);
        long end = Environment.TickCount64 + (long)Math.Min(seconds * 1000, 1e12);
        while (Environment.TickCount64 < end)
            Interlocked.Increment(ref sink);
    }

    static void Chain(string state, params string[] methods) =>
        Console.WriteLine($"chain {state} {string.Join(' ', methods)}");

    // ---- plain: Task, Task<T>, ValueTask, ConfigureAwait(false) ----

    static async Task<int> PlainInner(bool busy)
    {
        await Task.Delay(30);
        if (busy)
            Busy(null);
        await never.Task;
        return 1;
    }

    static async ValueTask<int> PlainValue(bool busy)
    {
        int n = await PlainInner(busy).ConfigureAwait(false); // line of PlainValue
        return n + 1;
    }

    static async Task PlainOuter(bool busy)
    {
        await Task.Yield();
        await PlainValue(busy); // line of PlainOuter
    }

    // ---- combined: WhenAll, WhenAny, Task.Run ----

    static async Task AllInner(bool busy)
    {
        await Task.Delay(20).ConfigureAwait(false);
        if (busy)
            Busy(null);
        await never.Task;
    }

    static async Task AllOuter(bool busy) =>
        await Task.WhenAll(AllInner(busy), Task.Delay(Timeout.Infinite));

    static async Task AnyOuter(bool busy) =>
        await await Task.WhenAny(AllOuter(busy), Task.Delay(Timeout.Infinite));

    static async Task RunOuter(bool busy) => await Task.Run(() => AnyOuter(busy));

    // ---- iterators ----

    static async IAsyncEnumerable<int> Numbers(bool busy)
    {
        yield return 1;
        await Task.Delay(20);
        if (busy)
            Busy(null);
        await never.Task;
        yield return 2;
    }

    static async Task<int> Sum(bool busy)
    {
        int sum = 0;
        await foreach (int n in Numbers(busy))
            sum += n;
        return sum;
    }

    // ---- boxes from a pool, which are no tasks ----

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    static async ValueTask<string> PooledInner(bool busy)
    {
        await Task.Delay(20);
        if (busy)
            Busy(null);
        await never.Task;
        return "";
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    static async ValueTask PooledMiddle(bool busy) => await PooledInner(busy).ConfigureAwait(false);

    static async Task PooledTask(bool busy) => await PooledMiddle(busy).AsTask();

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    static async ValueTask<int> PooledOuter(bool busy)
    {
        await PooledTask(busy);
        return 1;
    }

    /// Boxes that are done are in the pool again, and must not be told.
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    static async ValueTask<int> PooledDone()
    {
        await Task.Yield();
        return 1;
    }

    static async Task<int> PooledRoot(bool busy)
    {
        for (int i = 0; i < 100; i++)
            await PooledDone();
        return await PooledOuter(busy);
    }

    // ---- generic, of structures and of classes ----

    static async Task<T> Echo<T>(T value, bool busy)
    {
        await Task.Delay(10);
        if (busy)
            Busy(null);
        await never.Task;
        return value;
    }

    static async Task GenericOuter(bool busy) => await Echo("text", busy);

    static async Task GenericValue(bool busy) => await Echo(42, busy);

    // ---- the same method many times, each other's callers ----

    static async Task Deeper(int depth, bool busy)
    {
        await Task.Delay(1);
        if (depth > 0)
            await Deeper(depth - 1, busy);
        else if (busy)
            Busy(null);
        else
            await never.Task;
    }

    static void Start(bool busy)
    {
        string state = busy ? "running" : "waiting";
        var all = new List<Task> { PlainOuter(busy), RunOuter(busy), Sum(busy), GenericOuter(busy), GenericValue(busy),
                                   Deeper(5, busy), PooledRoot(busy) };
        keep.AddRange(all);
        Chain(state, "PlainInner", "PlainValue", "PlainOuter");
        Chain(state, "AllInner", "AllOuter", "AnyOuter", "RunOuter");
        Chain(state, "Numbers", "Sum");
        Chain(state, "PooledInner", "PooledMiddle", "PooledTask", "PooledOuter", "PooledRoot");
        Chain(state, "Echo", "GenericOuter");
        Chain(state, "Echo", "GenericValue");
        Chain(state, "Deeper", "Deeper", "Deeper", "Deeper", "Deeper", "Deeper");
    }

    static readonly List<Task> keep = new();

    // ---- nobody has a reference but the timer, or the queue of a pool that has no thread left ----

    static async Task Sleeper() => await Task.Delay(TimeSpan.FromDays(1));

    static async Task<int> SleeperOuter()
    {
        await Sleeper();
        return 1;
    }

    static async Task Queued()
    {
        await Task.Yield();
        Spin(true);
    }

    static async Task QueuedOuter()
    {
        await Queued();
        Spin(true);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leave()
    {
        int n = Math.Max(Environment.ProcessorCount, 2);
        ThreadPool.SetMinThreads(n, 4);
        ThreadPool.SetMaxThreads(n, 4);
        _ = SleeperOuter();
        for (int i = 0; i < n; i++)
            ThreadPool.UnsafeQueueUserWorkItem(_ =>
            {
                Interlocked.Increment(ref begun);
                Thread.Sleep(Timeout.Infinite);
            }, null);
        while (begun < n)
            Thread.Sleep(10);
        _ = QueuedOuter();
        Chain("waiting", "Sleeper", "SleeperOuter");
        Chain("waiting", "Queued", "QueuedOuter");
    }

    // ---- at random: what Leaf calls tells who awaits it ----

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void SpinA(int n)
    {
        for (int i = 0; i < n; i++)
            Interlocked.Increment(ref sink);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void SpinB(int n)
    {
        for (int i = 0; i < n; i++)
            Interlocked.Increment(ref sink);
    }

    static void Spin(bool a)
    {
        if (a)
            SpinA(20000);
        else
            SpinB(20000);
    }

    static async Task Leaf(bool a, int n)
    {
        await Task.Yield();
        Spin(a);
        if (n % 2 == 0)
            await Task.Yield();
        Spin(a);
    }

    static async Task LeafOfA(int n)
    {
        await Task.Yield();
        await Leaf(true, n);
    }

    static async ValueTask LeafOfB(int n)
    {
        await Task.Yield();
        await Leaf(false, n).ConfigureAwait(false);
    }

    static async Task RootA()
    {
        for (int i = 0; ; i++)
            await LeafOfA(i);
    }

    static async Task RootB()
    {
        for (int i = 0; ; i++)
            await LeafOfB(i);
    }

    static void Allocate()
    {
        var kept = new byte[1000][];
        for (int i = 0; ; i++)
        {
            kept[i % kept.Length] = new byte[100 + i % 5000];
            if (i % 20000 == 0)
                Thread.Sleep(1);
        }
    }

    public static void Run(string what)
    {
        if (what == "roots")
        {
            var thread = new Thread(Leave); // whose stack is gone then
            thread.Start();
            thread.Join();
            Program.Ready();
        }
        ThreadPool.SetMinThreads(12, 4);
        if (what == "random")
        {
            for (int i = 0; i < 3; i++)
            {
                keep.Add(RootA());
                keep.Add(RootB());
            }
            new Thread(Allocate) { IsBackground = true }.Start();
        }
        else
        {
            bool busy = what == "busy";
            Start(busy);
            while (busy && begun < 7)
                Thread.Sleep(10);
            Thread.Sleep(300);
        }
        List<Task> kept = keep;
        Program.Ready();
        GC.KeepAlive(kept); // on this thread's stack, so that it leads to all of them
    }
}
