// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Linq;
using Microsoft.Diagnostics.Runtime;

/// The stacks of a .NET process as Microsoft's debugger library sees them, by way of the runtime's own
/// data access component. One line for each thread, innermost frame first:
///
///     thread TID ID MODE FINALIZER | IP MODULE!SIGNATURE | ...
static class Oracle
{
    static int Main(string[] args)
    {
        using var target = DataTarget.AttachToProcess(int.Parse(args[0]), suspend: true);
        using var runtime = target.ClrVersions[0].CreateRuntime();
        foreach (var thread in runtime.Threads.Where(t => t.IsAlive))
        {
            Console.Write($"thread {thread.OSThreadId} {thread.ManagedThreadId} {thread.GCMode} {thread.IsFinalizer}");
            foreach (var frame in thread.EnumerateStackTrace())
                if (frame.Kind == ClrStackFrameKind.ManagedMethod)
                    Console.Write($" | {frame.InstructionPointer:x} {Name(frame.Method)}");
            Console.WriteLine();
        }
        return 0;
    }

    static string Name(ClrMethod method) =>
        $"{System.IO.Path.GetFileName(method?.Type?.Module?.Name)}!{method?.Signature}";
}
