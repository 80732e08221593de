// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Net;
using System.Net.Sockets;
using System.Threading.Tasks;

namespace SwNet;

/// A server whose clients say nothing: what awaits them only the runtime's table of sockets leads to.
static class AwaitsSockets
{
    const int Clients = 20;

    static async Task<int> Read(NetworkStream stream) => await stream.ReadAsync(new byte[16].AsMemory());

    static async Task Serve(Socket client)
    {
        await Task.Yield();
        await Read(new NetworkStream(client, true));
    }

    static async Task Accept(TcpListener listener)
    {
        while (true)
            _ = Serve(await listener.AcceptSocketAsync());
    }

    public static void Run()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        _ = Accept(listener);
        var clients = new Socket[Clients];
        for (int i = 0; i < Clients; i++)
        {
            clients[i] = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            clients[i].Connect(listener.LocalEndpoint);
            Console.WriteLine("chain waiting Read Serve");
        }
        Console.WriteLine("chain waiting Accept");
        Program.Ready();
        GC.KeepAlive(clients);
    }
}
