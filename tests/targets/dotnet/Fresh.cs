// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.IO;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

namespace SwNet;

/// Code that is made and dropped all the time by some threads, while others call it: chains of four
/// methods whose names say which chain they are of and where in it they are, so that a stack shows
/// by itself whether its names are right. KINDnumber_LEVEL, the outermost first:
///
///     Fresh.Call -> X17_0 -> X17_1 -> X17_2 -> X17_3 -> Fresh.Work
///
/// X: a compiled expression, D: a dynamic method, A: a type of an assembly that can be collected.
/// Loaded.L0 to L3 are in an assembly that is loaded again and again, into contexts that are unloaded.
public static class Fresh
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;
    const int Levels = 4;
    static volatile bool stop;
    static readonly Func<int, int>[] slots = new Func<int, int>[16];
    static int made;

    public static void Run()
    {
        for (int i = 0; i < slots.Length; i++)
            slots[i] = Make(i);
        foreach (string name in new[] { "call-0", "call-1", "call-2" })
            new Thread(Calls) { IsBackground = true, Name = name }.Start(name[5] - '0');
        new Thread(Makes) { IsBackground = true, Name = "make-0" }.Start(7);
        new Thread(Makes) { IsBackground = true, Name = "make-1" }.Start(8);
        Program.Ready();
        stop = true;
    }

    [MethodImpl(Keep)]
    static void Calls(object seed)
    {
        var random = new Random((int) seed);
        while (!stop)
            Call(slots[random.Next(slots.Length)], random.Next(64));
    }

    static void Makes(object seed)
    {
        var random = new Random((int) seed);
        for (int i = 0; !stop; i++)
        {
            slots[random.Next(slots.Length)] = Make(random.Next(64));
            Call(slots[random.Next(slots.Length)], random.Next(64));
            if (i % 8 == 0)
                GC.Collect();
        }
    }

    /// A call of eight ends in an exception, whose frames are on the stack for a while.
    [MethodImpl(Keep)]
    static int Call(Func<int, int> chain, int n)
    {
        try
        {
            return chain(n) + 1;
        }
        catch (InvalidOperationException)
        {
            return 0;
        }
    }

    [MethodImpl(Keep)]
    public static int Work(int n)
    {
        object last = null;
        for (int i = 0; i < 200; i++)
            last = new object[n + 1];
        GC.KeepAlive(last);
        if (n % 8 == 3)
            throw new InvalidOperationException("fresh");
        return n;
    }

    static Func<int, int> Make(int kind)
    {
        int number = Interlocked.Increment(ref made);
        return (kind % 16) switch
        {
            < 6 => Expressions(number),
            < 12 => ByHand(number),
            < 15 => Assemblies(number),
            _ => Contexts(),
        };
    }

    static Func<int, int> Expressions(int number)
    {
        Func<int, int> next = Work;
        for (int level = Levels - 1; level >= 0; level--)
        {
            var n = Expression.Parameter(typeof(int));
            var call = Expression.Add(Expression.Invoke(Expression.Constant(next), n), Expression.Constant(1));
            next = Expression.Lambda<Func<int, int>>(call, $"X{number}_{level}", new[] { n }).Compile();
        }
        return next;
    }

    static Func<int, int> ByHand(int number)
    {
        var invoke = typeof(Func<int, int>).GetMethod("Invoke");
        Func<int, int> next = Work;
        for (int level = Levels - 1; level >= 0; level--)
        {
            var method = new DynamicMethod($"D{number}_{level}", typeof(int),
                                           new[] { typeof(Func<int, int>), typeof(int) }, typeof(Fresh).Module);
            var code = method.GetILGenerator();
            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Ldarg_1);
            code.Emit(OpCodes.Callvirt, invoke);
            code.Emit(OpCodes.Ldc_I4_1);
            code.Emit(OpCodes.Add);
            code.Emit(OpCodes.Ret);
            next = (Func<int, int>) method.CreateDelegate(typeof(Func<int, int>), next);
        }
        return next;
    }

    static Func<int, int> Assemblies(int number)
    {
        var name = new AssemblyName($"Fresh{number}");
        var type = AssemblyBuilder.DefineDynamicAssembly(name, AssemblyBuilderAccess.RunAndCollect)
            .DefineDynamicModule("Fresh").DefineType($"T{number}", TypeAttributes.Public);
        MethodInfo next = typeof(Fresh).GetMethod("Work");
        for (int level = Levels - 1; level >= 0; level--)
        {
            var method = type.DefineMethod($"A{number}_{level}", MethodAttributes.Public | MethodAttributes.Static,
                                           typeof(int), new[] { typeof(int) });
            method.SetImplementationFlags(MethodImplAttributes.NoInlining);
            var code = method.GetILGenerator();
            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Call, next);
            code.Emit(OpCodes.Ldc_I4_1);
            code.Emit(OpCodes.Add);
            code.Emit(OpCodes.Ret);
            next = method;
        }
        return type.CreateType().GetMethod($"A{number}_0").CreateDelegate<Func<int, int>>();
    }

    static Func<int, int> Contexts()
    {
        var context = new AssemblyLoadContext(null, isCollectible: true);
        var assembly = context.LoadFromAssemblyPath(Path.Combine(AppContext.BaseDirectory, "swnet.dll"));
        Func<int, int> work = Work;
        var chain = assembly.GetType("SwNet.Loaded").GetMethod("Of").Invoke(null, new object[] { work });
        context.Unload();
        return (Func<int, int>) chain;
    }
}

public class Loaded
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;
    readonly Func<int, int> work;

    Loaded(Func<int, int> work) => this.work = work;

    public static Func<int, int> Of(Func<int, int> work) => new Loaded(work).L0;

    [MethodImpl(Keep)] int L0(int n) => L1(n) + 1;
    [MethodImpl(Keep)] int L1(int n) => L2(n) + 1;
    [MethodImpl(Keep)] int L2(int n) => L3(n) + 1;
    [MethodImpl(Keep)] int L3(int n) => work(n) + 1;
}
