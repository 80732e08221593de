// SPDX-License-Identifier: LGPL-2.1-or-later
// Threads with calls at a random depth, which the methods' names say: D7 calls D8, and below D0 is Turn. At the bottom is one of
// the leaves: a loop, methods that the library calls, allocations that collect garbage, exceptions, an iterator, generic code,
// reflection.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace SwNet;

static class Depths
{
    const int Deepest = 40;
    static readonly MethodInfo Called = typeof(Depths).GetMethod("Invoked", BindingFlags.Static | BindingFlags.NonPublic);
    [ThreadStatic] static Random random;
    static long sink;
    static object kept;
    static bool naps;

    // arguments: number of threads; "naps": each leaf waits for a moment instead
    public static void Run(string[] args)
    {
        int n = args.Length > 1 ? int.Parse(args[1]) : 1;
        naps = args.Contains("naps");
        for (int i = 0; i < n; i++)
            new Thread(Work) { IsBackground = true }.Start();
        Program.Ready();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Work()
    {
        random = new Random();
        for (;;)
            Turn();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Turn()
    {
        sink += D0(random.Next(Deepest));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Leaf()
    {
        if (naps)
            return Napping();
        switch (random.Next(8))
        {
            case 0: return Looping();
            case 1: return Sorting();
            case 2: return Mapping();
            case 3: return Allocating();
            case 4: return Throwing();
            case 5: return Iterating();
            case 6: return Generic(3) + Generic("x");
            default: return Reflecting();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Spin(int n)
    {
        long s = n;
        for (int i = 0; i < n; i++)
            s = (s * 31 + i) % 1000003;
        return s;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Looping()
    {
        return Spin(3000) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Order(int a, int b)
    {
        sink += Spin(100);
        return a - b;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Sorting()
    {
        var list = new List<int> { 3, 1, 2, 5, 4 };
        list.Sort(Order);
        return list[0];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Key(int x)
    {
        return Spin(200) + x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Mapping()
    {
        return new[] { 1, 2, 3 }.Select(Key).Sum();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Allocating()
    {
        var all = new List<object>();
        for (int i = 0; i < 200; i++)
            all.Add(new int[i % 50]);
        kept = all;
        return all.Count;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Thrown(int n)
    {
        if (n == 0)
            throw new InvalidOperationException("expected");
        return Thrown(n - 1) + Spin(3);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Throwing()
    {
        try
        {
            return Thrown(3);
        }
        catch (InvalidOperationException e)
        {
            return Spin(100) + e.Message.Length;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Made()
    {
        return Spin(200) + 1;
    }

    static IEnumerable<long> Generating()
    {
        for (int i = 0; i < 3; i++)
            yield return Made() + i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Iterating()
    {
        long s = 0;
        foreach (long x in Generating())
            s += x;
        return s;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Generic<T>(T x)
    {
        return Spin(300) + (x == null ? 1 : 0);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Invoked()
    {
        return Spin(300) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Reflecting()
    {
        return (long)Called.Invoke(null, null) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Napping()
    {
        Thread.Sleep(1 + random.Next(8));
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D0(int left) => left == 0 ? Leaf() + 1 : D1(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D1(int left) => left == 0 ? Leaf() + 1 : D2(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D2(int left) => left == 0 ? Leaf() + 1 : D3(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D3(int left) => left == 0 ? Leaf() + 1 : D4(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D4(int left) => left == 0 ? Leaf() + 1 : D5(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D5(int left) => left == 0 ? Leaf() + 1 : D6(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D6(int left) => left == 0 ? Leaf() + 1 : D7(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D7(int left) => left == 0 ? Leaf() + 1 : D8(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D8(int left) => left == 0 ? Leaf() + 1 : D9(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D9(int left) => left == 0 ? Leaf() + 1 : D10(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D10(int left) => left == 0 ? Leaf() + 1 : D11(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D11(int left) => left == 0 ? Leaf() + 1 : D12(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D12(int left) => left == 0 ? Leaf() + 1 : D13(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D13(int left) => left == 0 ? Leaf() + 1 : D14(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D14(int left) => left == 0 ? Leaf() + 1 : D15(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D15(int left) => left == 0 ? Leaf() + 1 : D16(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D16(int left) => left == 0 ? Leaf() + 1 : D17(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D17(int left) => left == 0 ? Leaf() + 1 : D18(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D18(int left) => left == 0 ? Leaf() + 1 : D19(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D19(int left) => left == 0 ? Leaf() + 1 : D20(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D20(int left) => left == 0 ? Leaf() + 1 : D21(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D21(int left) => left == 0 ? Leaf() + 1 : D22(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D22(int left) => left == 0 ? Leaf() + 1 : D23(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D23(int left) => left == 0 ? Leaf() + 1 : D24(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D24(int left) => left == 0 ? Leaf() + 1 : D25(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D25(int left) => left == 0 ? Leaf() + 1 : D26(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D26(int left) => left == 0 ? Leaf() + 1 : D27(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D27(int left) => left == 0 ? Leaf() + 1 : D28(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D28(int left) => left == 0 ? Leaf() + 1 : D29(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D29(int left) => left == 0 ? Leaf() + 1 : D30(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D30(int left) => left == 0 ? Leaf() + 1 : D31(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D31(int left) => left == 0 ? Leaf() + 1 : D32(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D32(int left) => left == 0 ? Leaf() + 1 : D33(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D33(int left) => left == 0 ? Leaf() + 1 : D34(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D34(int left) => left == 0 ? Leaf() + 1 : D35(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D35(int left) => left == 0 ? Leaf() + 1 : D36(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D36(int left) => left == 0 ? Leaf() + 1 : D37(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D37(int left) => left == 0 ? Leaf() + 1 : D38(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D38(int left) => left == 0 ? Leaf() + 1 : D39(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D39(int left) => left == 0 ? Leaf() + 1 : D40(left - 1) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long D40(int left) => Leaf() + 1;
}
