// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Threading;

namespace SwNet;

/// Threads that wait for locks, and what they wait for: "waits NAME KIND OWNER CLASS", "-" for an owner that
/// nobody can tell; "cycle NAME NAME" for those that wait for each other.
static class Locks
{
    class Thing
    {
    }

    /// A class whose static constructor keeps a thread until the program ends.
    static class Slow
    {
        public static readonly int Value;
        static Slow()
        {
            begun.Set();
            Forever();
            Value = 1;
        }
    }

    /// Its static constructor wants what a thread has that wants the class.
    static class Wants
    {
        public static readonly int Value;
        static Wants()
        {
            begun.Set();
            lock (wanted)
                Value = 1;
        }
    }

    static readonly ManualResetEventSlim begun = new();
    static readonly Thing wanted = new();
    static int seen;

    static readonly List<Thread> all = new();

    static void Start(string name, ThreadStart body)
    {
        var thread = new Thread(body) { IsBackground = true, Name = name };
        all.Add(thread);
        thread.Start();
    }

    static void Waits(string name, string kind, string owner, string target, ThreadStart body)
    {
        Console.WriteLine($"waits {name} {kind} {owner} {target}");
        Start(name, body);
    }

    static void Forever() => Thread.Sleep(Timeout.Infinite);

    static void Has(object it, Action body)
    {
        body();
        GC.KeepAlive(it);
    }

    public static void Run(string what, int n)
    {
        if (what == "kinds")
            Kinds();
        else if (what == "many")
            Many(n);
        else if (what == "class")
            ClassDeadlock();
        else if (what == "pool")
            Starve();
        else
            Deadlocks();
        Program.Ready();
    }

    static void Kinds()
    {
        var thin = new Thing();
        var hashed = new Thing();
        var text = new string('a', 3);
        var again = new Thing();
        var waited = new Thing();
        using var held = new ManualResetEventSlim();
        int hash = hashed.GetHashCode(); // its header has no space for a thin lock
        Start("holder", () =>
        {
            lock (thin)
                lock (hashed)
                    lock (text)
                    {
#if NET9_0_OR_GREATER
                        managed.Enter();
#endif
                        held.Set();
                        Forever();
                    }
        });
        held.Wait();
        const string type = "SwNet.Locks+Thing";
        Waits("thin", "dotnet_monitor", "holder", type, () => { lock (thin) Forever(); });
        Waits("hashed", "dotnet_monitor", "holder", type, () => { lock (hashed) Forever(); });
        Waits("limited", "dotnet_monitor", "holder", type, () => Monitor.TryEnter(thin, 1_000_000_000));
        Waits("text", "dotnet_monitor", "holder", "string", () => { lock (text) Forever(); });
#if NET9_0_OR_GREATER
        Waits("lock", "dotnet_lock", "holder", "System.Threading.Lock", () => managed.Enter());
        Waits("trylock", "dotnet_lock", "holder", "System.Threading.Lock", () => managed.TryEnter(1_000_000_000));
#endif
        // The library's own.
        var slim = new ReaderWriterLockSlim();
        var upgraded = new ReaderWriterLockSlim();
        var read = new ReaderWriterLockSlim();
        var old = new ReaderWriterLock();
        var mutex = new Mutex();
        var free = new Mutex();
        var counted = new SemaphoreSlim(0);
        Thread holder = all[0];
        using var written = new CountdownEvent(3);
        Start("writer", () =>
        {
            slim.EnterWriteLock();
            old.AcquireWriterLock(Timeout.Infinite);
            written.Signal();
            Forever();
        });
        Start("upgrader", () =>
        {
            upgraded.EnterUpgradeableReadLock();
            mutex.WaitOne();
            mutex.WaitOne();
            written.Signal();
            Forever();
        });
        Start("reader", () =>
        {
            read.EnterReadLock();
            free.WaitOne();
            free.ReleaseMutex();
            written.Signal();
            Forever();
        });
        written.Wait();
        const string slimType = "System.Threading.ReaderWriterLockSlim", oldType = "System.Threading.ReaderWriterLock";
        Waits("slim-read", "dotnet_rwlock", "writer", slimType, () => slim.EnterReadLock());
        Waits("slim-write", "dotnet_rwlock", "writer", slimType, () => slim.EnterWriteLock());
        Waits("slim-limited", "dotnet_rwlock", "writer", slimType, () => slim.TryEnterWriteLock(1_000_000_000));
        Waits("slim-upgrade", "dotnet_rwlock", "writer", slimType, () => slim.EnterUpgradeableReadLock());
        Waits("upgrade-write", "dotnet_rwlock", "upgrader", slimType, () => upgraded.EnterWriteLock());
        Waits("upgrade-too", "dotnet_rwlock", "upgrader", slimType, () => upgraded.EnterUpgradeableReadLock());
        Waits("read-write", "dotnet_rwlock", "-", slimType, () => read.EnterWriteLock()); // of whom is in its thread alone
        Waits("old-read", "dotnet_rwlock", "writer", oldType, () => old.AcquireReaderLock(Timeout.Infinite));
        Waits("old-write", "dotnet_rwlock", "writer", oldType, () => old.AcquireWriterLock(Timeout.Infinite));
        Waits("mutex", "dotnet_mutex", "upgrader", "-", () => mutex.WaitOne());
        Waits("mutex-too", "dotnet_mutex", "upgrader", "-", () => mutex.WaitOne(1_000_000_000));
        // Its stack leads to a mutex, too, which it does not wait for.
        Waits("counted", "semaphore", "-", "-", () => Has(mutex, () => counted.Wait()));
        Waits("join", "thread", "holder", "-", () => holder.Join());
#if NET10_0_OR_GREATER
        Waits("join-limited", "thread", "holder", "-", () => holder.Join(1_000_000_000)); // before, no method is on the stack
#endif
        Start("initialiser", () => seen += Slow.Value);
        begun.Wait();
        Waits("class", "dotnet_class", "initialiser", "SwNet.Locks+Slow", () => seen += Slow.Value);
        Waits("class-too", "dotnet_class", "initialiser", "SwNet.Locks+Slow", () => seen += Slow.Value);
        Waits("waiting", "dotnet_wait", "-", type, () => { lock (waited) Monitor.Wait(waited); });
        // Pulsed, but somebody else has the monitor meanwhile.
        Waits("again", "dotnet_monitor", "pulser", type, () => { lock (again) Monitor.Wait(again); });
        Thread waiter = all[^1];
        using var pulsed = new ManualResetEventSlim();
        while ((waiter.ThreadState & ThreadState.WaitSleepJoin) == 0)
            Thread.Sleep(1);
        Start("pulser", () =>
        {
            lock (again)
            {
                Monitor.Pulse(again);
                pulsed.Set();
                Forever();
            }
        });
        pulsed.Wait();
        GC.KeepAlive(hash);
    }

    /// n threads. Of five, one waits for the monitor of all, one to be pulsed by it, one for a Lock, one for an
    /// object of its own, as those do that wait for a task, and one for nothing of .NET.
    static void Many(int n)
    {
        var one = new Thing();
        var pulse = new Thing();
        using var held = new ManualResetEventSlim();
        Start("holder", () =>
        {
            lock (one)
            {
#if NET9_0_OR_GREATER
                managed.Enter();
#endif
                held.Set();
                Forever();
            }
        });
        held.Wait();
        for (int i = 0; i < n; i++)
        {
            ThreadStart body = (i % 5) switch
            {
                0 => () => { lock (one) Forever(); },
                1 => () => { lock (pulse) Monitor.Wait(pulse); },
#if NET9_0_OR_GREATER
                2 => () => managed.Enter(),
#else
                2 => () => { lock (one) Forever(); },
#endif
                3 => () => { var own = new Thing(); lock (own) Monitor.Wait(own); },
                _ => Forever,
            };
            new Thread(body, 256 * 1024) { IsBackground = true, Name = $"many-{i}" }.Start();
        }
    }

    static void Monitors(object first, object second, Barrier both)
    {
        lock (first)
        {
            both.SignalAndWait();
            lock (second)
                Forever();
        }
    }

    /// Not two static constructors that want each other: the runtime lets one of them go on.
    static void ClassDeadlock()
    {
        using var has = new ManualResetEventSlim();
        Start("cls-has", () =>
        {
            lock (wanted)
            {
                has.Set();
                begun.Wait();
                seen += Wants.Value;
            }
        });
        has.Wait();
        Start("cls-runs", () => seen += Wants.Value);
        Console.WriteLine("cycle cls-has cls-runs");
        begun.Wait();
    }

    /// Three times as much work as the thread pool may have threads.
    static void Starve()
    {
        ThreadPool.SetMinThreads(4, 4);
        ThreadPool.SetMaxThreads(4, 4);
        for (int i = 0; i < 12; i++)
            ThreadPool.QueueUserWorkItem(_ => Forever());
    }

    static void Deadlocks()
    {
        var a = new Thing();
        var b = new Thing();
        var c = new Thing();
        var ab = new Barrier(2);
        Start("mon-ab", () => Monitors(a, b, ab));
        Start("mon-ba", () => Monitors(b, a, ab));
        Console.WriteLine("cycle mon-ab mon-ba");
        var d = new Thing();
        var e = new Thing();
        var cde = new Barrier(3);
        Start("mon-cd", () => Monitors(c, d, cde));
        Start("mon-de", () => Monitors(d, e, cde));
        Start("mon-ec", () => Monitors(e, c, cde));
        Console.WriteLine("cycle mon-cd mon-de mon-ec");
        var slim = new ReaderWriterLockSlim();
        var mutex = new Mutex();
        var sm = new Barrier(2);
        Start("rw-slim", () =>
        {
            slim.EnterWriteLock();
            sm.SignalAndWait();
            mutex.WaitOne();
        });
        Start("rw-mutex", () =>
        {
            mutex.WaitOne();
            sm.SignalAndWait();
            slim.EnterReadLock();
        });
        Console.WriteLine("cycle rw-slim rw-mutex");
        var old = new ReaderWriterLock();
        using var has = new ManualResetEventSlim();
        Thread joined = null;
        Start("rw-old", () =>
        {
            old.AcquireWriterLock(Timeout.Infinite);
            has.Set();
            SpinWait.SpinUntil(() => Volatile.Read(ref joined) != null);
            joined.Join();
        });
        has.Wait();
        Start("rw-joined", () => old.AcquireReaderLock(Timeout.Infinite));
        Volatile.Write(ref joined, all[^1]);
        Console.WriteLine("cycle rw-old rw-joined");
#if NET9_0_OR_GREATER
        var m = new Thing();
        var l = new Lock();
        var ml = new Barrier(2);
        Start("mix-ml", () =>
        {
            lock (m)
            {
                ml.SignalAndWait();
                l.Enter();
            }
        });
        Start("mix-lm", () =>
        {
            l.Enter();
            ml.SignalAndWait();
            lock (m)
                Forever();
        });
        Console.WriteLine("cycle mix-ml mix-lm");
#endif
    }

#if NET9_0_OR_GREATER
    static readonly Lock managed = new();
#endif
}
