// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace SwNet;

/// Threads that allocate, throw, call native code and each other without rest, while another one
/// collects garbage: whenever they are looked at, they are somewhere in between.
static unsafe class Storm
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;
    static volatile bool stop;

    public static void Run(int n)
    {
        Describe();
        Action<int>[] work = { Allocate, ThrowAndCatch, CallNative, Calls, Generics, Locks };
        for (int i = 0; i < Math.Max(n, 3); i++)
        {
            var body = work[i % work.Length];
            new Thread(() => Loop(body)) { IsBackground = true, Name = $"storm-{i}" }.Start();
        }
        new Thread(Collect) { IsBackground = true, Name = "collect" }.Start();
        Program.Ready();
        stop = true;
    }

    /// The methods are described, so that a look knows whose code it sees: "method METHODDESC TYPE.NAME".
    static void Describe()
    {
        var all = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public |
                  BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
        foreach (var type in new[] { typeof(Storm), typeof(Square), typeof(Circle), typeof(Line) })
            foreach (var method in type.GetMethods(all))
                if (!method.IsGenericMethod)
                    Console.WriteLine($"method {(long) method.MethodHandle.Value:x} {type.Name}.{method.Name}");
    }

    [MethodImpl(Keep)]
    static void Loop(Action<int> body)
    {
        for (int i = 0; !stop; i++)
            body(i & 7);
    }

    static void Collect()
    {
        for (int i = 0; !stop; i++)
        {
            GC.Collect(i % 3 == 0 ? 1 : 0);
            Thread.Sleep(1);
        }
    }

    class Node { public Node Next; public object Value; }

    [MethodImpl(Keep)]
    static Node Chain(int n) => n == 0 ? null : new Node { Next = Chain(n - 1), Value = new byte[n * 7] };

    [MethodImpl(Keep)]
    static void Allocate(int v)
    {
        var root = Chain(v + 5);
        for (var node = root; node.Next != null; node = node.Next)
            node.Value = node.Next;
    }

    [MethodImpl(Keep)]
    static int Thrower(int depth)
    {
        try
        {
            return depth == 0 ? throw new InvalidOperationException() : Thrower(depth - 1) + 1;
        }
        finally
        {
            Chain(2);
        }
    }

    [MethodImpl(Keep)] static bool Wants(Exception e) => Chain(3) != null && e is InvalidOperationException;

    [MethodImpl(Keep)]
    static void ThrowAndCatch(int v)
    {
        try
        {
            Thrower(v);
        }
        catch (Exception e) when (Wants(e))
        {
            Chain(v);
        }
    }

    [System.Runtime.InteropServices.UnmanagedCallersOnly]
    static int Back(int v) => Chain(v + 1) == null ? 0 : v;

    [MethodImpl(Keep)]
    static void CallNative(int v)
    {
        for (int i = 0; i < 20; i++)
        {
            Native.sw_tid();
            Native.sw_call(&Back, v);
        }
    }

    [MethodImpl(Keep)] static long Leaf(long a, long b) => a * 31 + b;

    [MethodImpl(Keep)]
    static long Fib(int n) => n < 2 ? Leaf(n, 1) : Fib(n - 1) + Fib(n - 2);

    interface IShape { long Area(int v); }
    class Square : IShape { [MethodImpl(Keep)] public long Area(int v) => v * v; }
    class Circle : IShape { [MethodImpl(Keep)] public long Area(int v) => v * 3; }
    class Line : IShape { [MethodImpl(Keep)] public long Area(int v) => Leaf(v, v); }

    static readonly IShape[] shapes = { new Square(), new Circle(), new Line() };

    [MethodImpl(Keep)]
    static void Calls(int v)
    {
        Func<int, long> f = Fib;
        long sum = f(v + 4);
        foreach (var shape in shapes)
            sum += shape.Area(v);
    }

    [MethodImpl(Keep)]
    static int Count<T>(T v) where T : IComparable<T>
    {
        var list = new List<T> { v, v, v };
        list.Sort();
        return list.Count;
    }

    [MethodImpl(Keep)]
    static void Generics(int v)
    {
        Count(v);
        Count(v.ToString());
        Count((double) v);
        var map = new Dictionary<string, int>();
        for (int i = 0; i < 10; i++)
            map[$"{v}:{i}"] = i;
    }

    static readonly object shared = new();

    [MethodImpl(Keep)]
    static void Locks(int v)
    {
        for (int i = 0; i < 50; i++)
            lock (shared)
                Leaf(i, v);
        Chain(2);
    }
}
