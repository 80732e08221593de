// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace SwNet;

/// A service with n threads that wait as those of a web server do: for a lock, for data, for tasks.
static class Server
{
    const MethodImplOptions Keep = MethodImplOptions.NoInlining;

    public static void Run(int n)
    {
        if (n == 0)
            n = 500;
        var gate = new object();
        var started = new CountdownEvent(n);
        Monitor.Enter(gate);
        for (int i = 0; i < n; i++)
        {
            int kind = i % 4;
            new Thread(() => Request(kind, 3 + kind, gate, started), 256 * 1024)
                { IsBackground = true, Name = $"worker-{i}" }.Start();
        }
        started.Wait();
        Program.Ready();
    }

    [MethodImpl(Keep)]
    static int Request(int kind, int depth, object gate, CountdownEvent started)
    {
        if (depth > 0)
            return Middleware<string>.Next(kind, depth - 1, gate, started) + 1;
        started.Signal();
        return kind switch
        {
            0 => WaitLock(gate),
            1 => WaitSocket(),
            2 => WaitTask(),
            _ => WaitEvent(),
        };
    }

    static class Middleware<T>
    {
        [MethodImpl(Keep)]
        public static int Next(int kind, int depth, object gate, CountdownEvent started) =>
            typeof(T) == null ? 0 : Request(kind, depth, gate, started) + 2;
    }

    [MethodImpl(Keep)] static int WaitLock(object gate) { lock (gate) return 1; }
    [MethodImpl(Keep)] static int WaitTask() => Never().GetAwaiter().GetResult();
    [MethodImpl(Keep)] static int WaitEvent() => new ManualResetEvent(false).WaitOne() ? 1 : 0;

    [MethodImpl(Keep)]
    static int WaitSocket()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return socket.Receive(new byte[16]);
    }

    static async Task<int> Never()
    {
        await Task.Delay(-1);
        return 1;
    }
}
