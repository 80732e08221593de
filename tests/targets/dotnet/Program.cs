// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Threading;

namespace SwNet;

static class Program
{
    static int Main(string[] args)
    {
        Native.sw_end_with_parent();
        string mode = args.Length > 0 ? args[0] : "stacks";
        int n = args.Length > 1 && int.TryParse(args[1], out int number) ? number : 0;
        switch (mode)
        {
            case "stacks": Stacks.Run(args); break;
            case "storm": Storm.Run(n); break;
            case "server": Server.Run(n); break;
            case "hung": Hung.Run(); break;
            case "names": Names.Run(); break;
            case "made": Made.Run(n); break;
            case "fresh": Fresh.Run(); break;
            case "locks": Locks.Run(args[1], args.Length > 2 ? int.Parse(args[2]) : 0); break;
            case "contended": Contended.Run(); break;
            case "depths": Depths.Run(args); break;
            case "awaits" when args[1] == "more": AwaitsMore.Run(); break;
            case "awaits" when args[1] == "sockets": AwaitsSockets.Run(); break;
            case "awaits": Awaits.Run(args[1]); break;
            default: return 2;
        }
        return 0;
    }

    public static void Ready()
    {
        Console.WriteLine("ready");
        Console.Out.Flush();
        // Ends with whoever started it.
        while (Console.In.Read() >= 0)
            ;
        // The runtime would wait for threads that it cannot stop.
        Native.sw_exit();
    }
}
