// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace SwNet;

/// Threads that lock and unlock at random, in an order in which they cannot wait for each other. Their stacks
/// record who has what: whoever is in insideN() has the lock N, whoever is in lockN() alone wants it, or has
/// it just now or no longer. 4 and 5 are of System.Threading.Lock where there is one, 6 is a ReaderWriterLockSlim, which some
/// read, and 7 a Mutex.
static class Contended
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;
    const int Last = 7;

    class Monitor0 { }
    class Monitor1 { }
    class Monitor2 { }
    class Monitor3 { }

    static readonly Monitor0 monitor0 = new();
    static readonly Monitor1 monitor1 = new();
    static readonly Monitor2 monitor2 = new();
    static readonly Monitor3 monitor3 = new();
#if NET9_0_OR_GREATER
    static readonly Lock lock4Object = new(), lock5Object = new();
#else
    class Monitor4 { }
    class Monitor5 { }
    static readonly Monitor4 lock4Object = new();
    static readonly Monitor5 lock5Object = new();
#endif
    static readonly ReaderWriterLockSlim slim = new();
    static readonly Mutex mutex = new();

    static volatile int sink;

    /// Holds what it has for a while, and takes another one sometimes.
    [MethodImpl(Keep)]
    static void Hold(int last)
    {
        Random random = Random.Shared;
        if (last < Last && random.Next(3) == 0)
            Take(last + 1 + random.Next(Last - last));
        int what = random.Next(8);
        if (what == 0)
            Thread.Sleep(1);
        for (int i = 0; i < what * 500; i++)
            sink += i;
        if (what == 1)
            GC.KeepAlive(new byte[4096]); // collections now and then
    }

    [MethodImpl(Keep)]
    static void Take(int which)
    {
        switch (which)
        {
            case 0: lock0(); break;
            case 1: lock1(); break;
            case 2: lock2(); break;
            case 3: lock3(); break;
            case 4: lock4(); break;
            case 5: lock5(); break;
            case 6: lock6(); break;
            case 7: lock7(); break;
        }
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock0()
    {
        lock (monitor0)
            inside0();
        sink++;
    }

    // The increment after the call keeps the method on the stack.
    [MethodImpl(Keep)]
    static void inside0()
    {
        Hold(0);
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock1()
    {
        lock (monitor1)
            inside1();
        sink++;
    }

    [MethodImpl(Keep)]
    static void inside1()
    {
        Hold(1);
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock2()
    {
        lock (monitor2)
            inside2();
        sink++;
    }

    [MethodImpl(Keep)]
    static void inside2()
    {
        Hold(2);
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock3()
    {
        lock (monitor3)
            inside3();
        sink++;
    }

    [MethodImpl(Keep)]
    static void inside3()
    {
        Hold(3);
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock4()
    {
        lock (lock4Object)
            inside4();
        sink++;
    }

    [MethodImpl(Keep)]
    static void inside4()
    {
        Hold(4);
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock5()
    {
        lock (lock5Object)
            inside5();
        sink++;
    }

    [MethodImpl(Keep)]
    static void inside5()
    {
        Hold(5);
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock6()
    {
        if (Random.Shared.Next(4) == 0)
        {
            slim.EnterReadLock();
            inside6();
            slim.ExitReadLock();
        }
        else
        {
            slim.EnterWriteLock();
            inside6();
            slim.ExitWriteLock();
        }
        sink++;
    }

    [MethodImpl(Keep)]
    static void inside6()
    {
        Hold(6);
        sink++;
    }

    [MethodImpl(Keep)]
    static void lock7()
    {
        mutex.WaitOne();
        inside7();
        mutex.ReleaseMutex();
        sink++;
    }

    [MethodImpl(Keep)]
    static void inside7()
    {
        Hold(7);
        sink++;
    }

    public static void Run()
    {
        // The runtime has locks of its own, which it needs when code runs for the first time.
        using var warm = new CountdownEvent(8);
        for (int i = 0; i < 8; i++)
            new Thread(() =>
            {
                for (int n = 0; ; n++)
                {
                    Take(Random.Shared.Next(Last + 1));
                    if (n == 200)
                        warm.Signal();
                }
            }) { IsBackground = true, Name = $"taker-{i}" }.Start();
        warm.Wait();
        Program.Ready();
    }
}
