// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;

namespace SwNet;

/// Threads that make code, run it and drop it, while another one collects garbage: what is on their
/// stacks when they are stopped may be freed as soon as they go on.
static class Made
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;
    static volatile bool stop;

    public static void Run(int n)
    {
        for (int i = 0; i < Math.Max(n, 2); i++)
        {
            Action<int> body = i % 2 == 0 ? ByReflection : ByHand;
            new Thread(() => Loop(body)) { IsBackground = true, Name = $"made-{i}" }.Start();
        }
        new Thread(Collect) { IsBackground = true, Name = "collect" }.Start();
        Program.Ready();
        stop = true;
    }

    [MethodImpl(Keep)]
    static void Loop(Action<int> body)
    {
        for (int i = 0; !stop; i++)
            body(i & 7);
    }

    static void Collect()
    {
        while (!stop)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            Thread.Sleep(1);
        }
    }

    class Item
    {
        [MethodImpl(Keep)] public Item(int v) => Work(v);
    }

    [MethodImpl(Keep)]
    static object Work(int v)
    {
        object last = null;
        for (int i = 0; i < 500; i++)
            last = new object[v + 1];
        return last;
    }

    /// Reflection compiles a method that calls the constructor, and forgets it at a collection.
    [MethodImpl(Keep)]
    static void ByReflection(int v)
    {
        for (int i = 0; i < 20; i++)
            if (Activator.CreateInstance(typeof(Item), v) == null)
                return;
    }

    [MethodImpl(Keep)]
    static void ByHand(int v)
    {
        var method = new DynamicMethod($"Made{v}", typeof(object), new[] { typeof(int) }, typeof(Made).Module);
        var code = method.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Call, ((Func<int, object>) Work).Method);
        code.Emit(OpCodes.Dup); // a call that is the last thing may become a jump
        code.Emit(OpCodes.Pop);
        code.Emit(OpCodes.Ret);
        var call = (Func<int, object>) method.CreateDelegate(typeof(Func<int, object>));
        for (int i = 0; i < 3; i++)
            call(v);
    }
}
