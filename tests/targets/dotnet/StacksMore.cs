// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace SwNet;

static partial class Stacks
{
    // ---- waiting --------------------------------------------------------------------------------

    static void Waits()
    {
        var taken = new object();
        var holding = new ManualResetEventSlim();
        new Thread(() => { lock (taken) { holding.Set(); Thread.Sleep(-1); } }) { IsBackground = true }.Start();
        holding.Wait();
        Truth.Start("monitor-enter", () => MonitorEnter(taken));
        Truth.Start("monitor-wait", () => MonitorWait(new object()));
        Truth.Start("sleep", () => Sleep(1));
        Truth.Start("join", () => Join());
        Truth.Start("event", () => Event(new ManualResetEvent(false)));
        Truth.Start("accept", () => Accept());
        Truth.Start("receive", () => Receive());
        Truth.Start("task-wait", () => TaskWait());
        _ = AsyncOuter(1);
        Truth.Await();
        ThreadPool.QueueUserWorkItem(_ => Block("pool"));
        Truth.Await();
        timer = new Timer(_ => Block("timer"), null, 1, Timeout.Infinite);
        Truth.Await();
        MakeFinalizable();
        GC.Collect();
        Truth.Await();
    }

    static Timer timer;

    [MethodImpl(Keep)] static void MonitorEnter(object o) { Truth.Record("monitor-enter"); lock (o) { One(1); } }
    [MethodImpl(Keep)] static void MonitorWait(object o) { lock (o) { Truth.Record("monitor-wait"); Monitor.Wait(o); } }
    [MethodImpl(Keep)] static int Sleep(int v) { Truth.Record("sleep"); Thread.Sleep(-1); return v + 1; }
    [MethodImpl(Keep)] static int Event(ManualResetEvent e) { Truth.Record("event"); e.WaitOne(); return 1; }

    [MethodImpl(Keep)]
    static int Join()
    {
        var other = new Thread(() => Thread.Sleep(-1)) { IsBackground = true };
        other.Start();
        Truth.Record("join");
        other.Join();
        return 1;
    }

    [MethodImpl(Keep)]
    static int Accept()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        socket.Listen(1);
        Truth.Record("accept");
        socket.Accept();
        return 1;
    }

    [MethodImpl(Keep)]
    static int Receive()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Truth.Record("receive");
        return socket.Receive(new byte[16]);
    }

    static async Task<int> Never()
    {
        await Task.Delay(-1);
        return 1;
    }

    [MethodImpl(Keep)]
    static int TaskWait()
    {
        Truth.Record("task-wait");
        return Never().Result + 1;
    }

    static async Task<int> AsyncInner(int v)
    {
        await Task.Yield();
        return Block("async") + v;
    }

    static async Task<int> AsyncOuter(int v) => await AsyncInner(v) + 1;

    class Finalizable
    {
        ~Finalizable() => Block("finalizer");
    }

    [MethodImpl(Keep)] static void MakeFinalizable() => _ = new Finalizable();

    // ---- kinds of code --------------------------------------------------------------------------

    static unsafe void Code()
    {
        Truth.Start("generic-shared", () => new Generic<string>().Call("a"));
        Truth.Start("generic-value", () => new Generic<long>().Call(3));
        Truth.Start("generic-method", () => GenericMethod<List<string>, int>(new(), 1));
        Truth.Start("generic-virtual", () => { Base b = new Derived(); b.Visit("x"); });
        Truth.Start("interface", () => { foreach (IWork w in new IWork[] { new Work() }) w.Do(1); });
        Truth.Start("reflection", () => typeof(Stacks).GetMethod("Reflected", BindingFlags.Static | BindingFlags.NonPublic)
                                       .Invoke(null, new object[] { 4 }));
        Truth.Start("activator", () => Activator.CreateInstance(typeof(Constructed)));
        Truth.Start("static-constructor", () => One(Lazy.Value));
        Truth.Start("pointer", () => { delegate*<int, int> f = &Pointed; f(3); });
        Truth.Start("iterator", () => Items(3).Where(x => x > 0).Sum());
        Truth.Start("sort-comparer", () => Array.Sort(new[] { 3, 1, 2 }, (a, b) => Block("sort-comparer")));
        Truth.Start("dynamic-method", () => Dynamic()(3));
        Truth.Start("osr", () => OnStackReplaced(200000));
        Truth.Start("tiered", () => TieredCaller());
        Truth.Start("synchronized", () => Synchronized(1));
        Truth.Start("parallel", () => Parallel.For(0, 1, i => Block("parallel")));
        Truth.Start("expression", () => Expression()(2));
        Truth.Start("no-frame", () => Small(2));
    }

    class Generic<T>
    {
        [MethodImpl(Keep)] public int Call(T v) => Inner(new[] { v }) + 1;
        [MethodImpl(Keep)] int Inner(T[] v) => Block($"generic-{(typeof(T).IsValueType ? "value" : "shared")}") + v.Length;
    }

    [MethodImpl(Keep)] static int GenericMethod<T, U>(T t, U u) where T : new() => Block("generic-method") + new T().GetHashCode();

    class Base { [MethodImpl(Keep)] public virtual int Visit<T>(T t) => 0; }
    class Derived : Base { [MethodImpl(Keep)] public override int Visit<T>(T t) => Block("generic-virtual") + 1; }

    interface IWork { int Do(int v); }
    class Work : IWork { [MethodImpl(Keep)] public int Do(int v) => Block("interface") + v; }

    [MethodImpl(Keep)] static int Reflected(int v) => Block("reflection") + v;
    class Constructed { public Constructed() => Block("activator"); }
    static class Lazy { public static readonly int Value = Compute(); [MethodImpl(Keep)] static int Compute() => Block("static-constructor"); }
    [MethodImpl(Keep)] static int Pointed(int v) => Block("pointer") + v;
    static IEnumerable<int> Items(int n) { for (int i = 0; i < n; i++) yield return i == 1 ? Block("iterator") : 0; }
    [MethodImpl(Keep | MethodImplOptions.Synchronized)] static int Synchronized(int v) => Block("synchronized") + v;

    [MethodImpl(Keep)] public static int FromDynamic(int v) => Block("dynamic-method") + v;

    static Func<int, int> Dynamic()
    {
        var method = new DynamicMethod("Emitted", typeof(int), new[] { typeof(int) }, typeof(Stacks).Module);
        var il = method.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, typeof(Stacks).GetMethod("FromDynamic"));
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>();
    }

    static Func<int, int> Expression()
    {
        var v = System.Linq.Expressions.Expression.Parameter(typeof(int));
        var call = System.Linq.Expressions.Expression.Call(typeof(Stacks).GetMethod("FromExpression"), v);
        return System.Linq.Expressions.Expression.Lambda<Func<int, int>>(
            System.Linq.Expressions.Expression.Add(call, v), v).Compile();
    }

    [MethodImpl(Keep)] public static int FromExpression(int v) => Block("expression") + v;

    [MethodImpl(Keep)]
    static int OnStackReplaced(int n)
    {
        long sum = 0;
        for (int i = 0; i < n; i++)
            sum += i ^ (sum >> 3);
        int r = Block("osr");
        return r + (int) sum;
    }

    static volatile bool last;

    [MethodImpl(Keep)] static int Tiered(int v) => last ? Block("tiered") + v : v * 3;

    [MethodImpl(Keep)]
    static int TieredCaller()
    {
        int sum = 0;
        // Optimized code comes after 30 calls and a quiet time, made by another thread.
        for (int round = 0; round < 20; round++)
        {
            for (int i = 0; i < 40; i++)
                sum += Tiered(i);
            Thread.Sleep(20);
        }
        last = true;
        return sum + Tiered(1);
    }

    [MethodImpl(Keep | MethodImplOptions.AggressiveOptimization)]
    static int Small(int v) => Block("no-frame") + v;
}
