// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace SwNet;

/// The stacks as the program itself prints them, before its threads block. One line for each:
///
///     truth TID NAME | METHODDESC OFFSET TYPE.METHOD | ...
///
/// innermost first; OFFSET is that of the return address from the start of the native code. The first
/// method is the one that then blocks, so that its own offset is not what it will be.
///
/// With "lines" also where each of them is in the source, which takes a reader of PDBs into the process:
///
///     lines TID NAME | OFFSET IL_OFFSET LINE METHOD FILE | ...		LINE 0: not known
static class Truth
{
    static readonly List<string> lines = new(), sources = new();
    static int expected;
    public static bool WithLines;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Record(string name)
    {
        var text = new StringBuilder($"truth {Native.sw_tid()} {name}");
        foreach (var frame in new StackTrace(1, false).GetFrames())
        {
            var method = frame.GetMethod();
            string value = "0";
            try
            {
                value = ((long) method.MethodHandle.Value).ToString("x");
            }
            catch (InvalidOperationException)
            {
                // a dynamic method has no handle that may be asked for
            }
            text.Append($" | {value} {frame.GetNativeOffset()} " +
                        $"{method.DeclaringType?.FullName ?? "?"}.{method.Name}");
        }
        if (WithLines)
            RecordLines(name);
        Add(text.ToString());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void RecordLines(string name)
    {
        var text = new StringBuilder($"lines {Native.sw_tid()} {name}");
        foreach (var frame in new StackTrace(2, true).GetFrames())
            text.Append($" | {frame.GetNativeOffset()} {frame.GetILOffset()} " +
                        $"{frame.GetFileLineNumber()} {frame.GetMethod().Name} {frame.GetFileName()}");
        lock (sources)
            sources.Add(text.ToString());
    }

    public static void Add(string line)
    {
        lock (lines)
        {
            lines.Add(line);
            Monitor.PulseAll(lines);
        }
    }

    /// Starts a thread and waits until it has recorded its stack.
    public static void Start(string name, Action body)
    {
        new Thread(() => body()) { IsBackground = true, Name = name }.Start();
        Await();
    }

    /// Waits for one more stack that something else will record.
    public static void Await()
    {
        expected++;
        lock (lines)
            while (lines.Count < expected)
                if (!Monitor.Wait(lines, 60000))
                    throw new TimeoutException($"stack {expected} was not recorded");
    }

    public static void Print()
    {
        lock (lines)
            foreach (string line in lines)
                Console.WriteLine(line);
        lock (sources)
            foreach (string line in sources)
                Console.WriteLine(line);
    }
}

static unsafe partial class Native
{
    const string Library = "swnative";

    [DllImport(Library)] public static extern int sw_tid();
    [DllImport(Library)] public static extern void sw_exit();
    [DllImport(Library)] public static extern void sw_end_with_parent();
    [DllImport(Library)] public static extern void sw_block(int value);
    [DllImport(Library, EntryPoint = "sw_block", SetLastError = true)]
    public static extern void sw_block_error(int value);
    [DllImport(Library, EntryPoint = "sw_block"), SuppressGCTransition]
    public static extern void sw_block_suppressed(int value);
    [DllImport(Library, EntryPoint = "sw_spin"), SuppressGCTransition]
    public static extern void sw_spin_suppressed(int* until);
    [DllImport(Library)] public static extern void sw_spin(int* until);
    [DllImport(Library)] public static extern int sw_call(delegate* unmanaged<int, int> f, int v);
    [DllImport(Library, EntryPoint = "sw_call")]
    public static extern int sw_call_delegate(IntCallback f, int v);
    [DllImport(Library)] public static extern void sw_sort(int[] values, int n, Compare compare);
    [DllImport(Library)] public static extern void sw_foreign(delegate* unmanaged<int, int> f);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)] public delegate int IntCallback(int v);
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)] public delegate int Compare(int* a, int* b);
}
