// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using System.Threading.Tasks.Sources;

namespace SwNet;

/// Awaitables besides the tasks of async methods: of the library, and of the program itself. In each chain the
/// innermost method waits for one, or the method that has it awaited is awaited through one.
static class AwaitsMore
{
    static readonly TaskCompletionSource never = new();
    static readonly List<object> keep = new();

    /// A source of the program's own.
    sealed class Own : IValueTaskSource<int>
    {
        ManualResetValueTaskSourceCore<int> core;
        readonly int[] something = new int[3];

        public ValueTask<int> Wait() => new(this, core.Version);
        public int GetResult(short token) => core.GetResult(token) + something[0];
        public ValueTaskSourceStatus GetStatus(short token) => core.GetStatus(token);
        public void OnCompleted(Action<object> continuation, object state, short token,
                                ValueTaskSourceOnCompletedFlags flags) =>
            core.OnCompleted(continuation, state, token, flags);
    }

    /// An awaiter of the program's own that hands on to another one.
    readonly struct Through(Task task) : INotifyCompletion
    {
        public Through GetAwaiter() => this;
        public bool IsCompleted => task.IsCompleted;
        public void GetResult() => task.GetAwaiter().GetResult();
        public void OnCompleted(Action go) => task.GetAwaiter().OnCompleted(go);
    }

    static async Task<int> OwnWaits() => await new OwnHolder().Source.Wait();

    sealed class OwnHolder
    {
        public readonly Own Source = new();
        public OwnHolder() => keep.Add(this);
    }

    static async Task OwnAsTask() => await new OwnHolder().Source.Wait().AsTask().ConfigureAwait(false);

    static async Task Inner()
    {
        await Task.Yield();
        await never.Task;
    }

    static async Task<int> InnerValue()
    {
        await Inner();
        return 1;
    }

    static async Task Semaphore() => await semaphore.WaitAsync();
    static async Task SemaphoreTimed() => await semaphore.WaitAsync(TimeSpan.FromDays(1));
    static readonly SemaphoreSlim semaphore = new(0);

    static async Task Reads() => await channel.Reader.ReadAsync();
    static readonly Channel<int> channel = Channel.CreateUnbounded<int>();

    static async Task ReadsAll()
    {
        await foreach (int n in Channel.CreateBounded<int>(3).Reader.ReadAllAsync())
            keep.Add(n);
    }

    static async Task Continued() => await Inner().ContinueWith(_ => 1);
    static async Task Unwrapped() => await Task.FromResult(1).ContinueWith(_ => InnerValue()).Unwrap();
    static async Task Timed() => await Inner().WaitAsync(TimeSpan.FromDays(1));
    static async Task Canceled() => await Inner().WaitAsync(new CancellationTokenSource().Token);
    static async Task Forced() => await Inner().ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
    static async Task Handed() => await new Through(Inner());
    static async Task Any() => await await Task.WhenAny(new[] { Inner(), never.Task, Task.Delay(-1) });
    static async Task AllValues() => await Task.WhenAll(InnerValue(), InnerValue());

#if NET9_0_OR_GREATER
    static async Task Each()
    {
        await foreach (Task t in Task.WhenEach(InnerValue(), InnerValue()))
            await t;
    }
#endif

    static async Task Receives()
    {
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        using var client = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await client.ConnectAsync(listener.LocalEndPoint);
        await client.ReceiveAsync(new byte[10]);
    }

    static async Task Contexted()
    {
        await Task.Yield(); // not on the thread that starts all
        SynchronizationContext.SetSynchronizationContext(new SynchronizationContext());
        await Inner();
    }

    static async Task Outer(Func<Task> start) => await start();

    /// inner: the methods that lead to the one that is started.
    static void Start(Func<Task> start, params string[] inner)
    {
        keep.Add(Outer(start));
        for (int i = 0; i < (inner.Length > 0 && start.Method.Name is "Each" or "AllValues" ? 2 : 1); i++)
            Console.WriteLine($"chain waiting {string.Join(' ', inner)}{(inner.Length > 0 ? " " : "")}{start.Method.Name} Outer");
    }

    public static void Run()
    {
        Start(OwnWaits);
        Start(OwnAsTask);
        Start(Semaphore);
        Start(SemaphoreTimed, "WaitUntilCountOrTimeoutAsync");
        Start(Reads);
        Start(ReadsAll, "ReadAllAsync");
        Start(Continued, "Inner");
        Start(Unwrapped, "Inner", "InnerValue");
        Start(Timed, "Inner");
        Start(Canceled, "Inner");
        Start(Forced, "Inner");
        Start(Handed, "Inner");
        Start(Any, "Inner");
        Start(AllValues, "Inner", "InnerValue");
#if NET9_0_OR_GREATER
        Start(Each, "Inner", "InnerValue", "Iterate");
#endif
        Start(Receives);
        Start(Contexted, "Inner");
        var kept = keep;
        Program.Ready();
        GC.KeepAlive(kept);
    }
}
