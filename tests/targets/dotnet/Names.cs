// SPDX-License-Identifier: LGPL-2.1-or-later
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace SwNet.Deeper.Still
{
    struct Point { public int X; }
    enum Colour : byte { Red }
    delegate int Callback(in Point p);
}

/// Without a namespace.
static class Bare
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Call(string what) => SwNet.Names.Block(what);
}

namespace SwNet
{
    using Deeper.Still;

    /// Methods with all that a signature can have. Each thread says what its methods are called, in
    /// full, as reflection knows them:
    ///
    ///     names TID NAME | MODULE!TYPE.METHOD(PARAMETERS) | ...
    ///
    /// innermost first, without type arguments.
    static unsafe partial class Names
    {
        const MethodImplOptions Keep = MethodImplOptions.NoInlining;

        public static void Run()
        {
            Truth.Start("overloads", () => Over(1, "a", 2.0, new object()));
            Truth.Start("references", () => { int i = 1; string s; Refs(ref i, out s, new Point()); });
            Truth.Start("pointers", () => { int i = 1; Pointers(&i, null, &Pointed, 1); });
            Truth.Start("arrays", () => Arrays(new int[1], new string[1, 1], new long[1][,], null));
            Truth.Start("instances", () => Instances(new() { { "a", new() { 1 } } }, default, default));
            Truth.Start("nested", () => new Outer<string>.Inner<int>().Call(null, 1, default));
            Truth.Start("values", () => new Outer<int>.Inner<Point>().Call(3, default, default));
            Truth.Start("many", () => Many<string, int, Colour>("a", 1, Colour.Red, null));
            Truth.Start("operators", () => { var v = new Value(1) + new Value(2); });
            Truth.Start("properties", () => { var p = new Value(1); p[1, "a"] = p.Own; });
            Truth.Start("explicit", () => ((IComparer<Point>) new Comparer()).Compare(default, default));
            Truth.Start("local", () => Local(3));
            Truth.Start("params", () => Params(Colour.Red, 1, 2, 3));
            Truth.Start("native", () => Sized(1, 2, 3, 4, 5, 6, 'a', true, 1.0f));
            Truth.Start("default-interface", () => ((IDefault) new HasDefault()).Do<string>(null));
            Truth.Start("statics", () => Bare.Call("statics"));
            Truth.Start("awaited", () => Awaited(new List<int> { 1 }).GetAwaiter().GetResult());
            Truth.Start("emitted-type", () => Emitted().Invoke(null, new object[] { 1 }));
            Truth.Print();
            Program.Ready();
        }

        [MethodImpl(Keep)]
        public static int Block(string name)
        {
            Record(name);
            Native.sw_block(1);
            return 1;
        }

        static void Record(string name)
        {
            var text = new StringBuilder($"names {Native.sw_tid()} {name}");
            foreach (var frame in new StackTrace(1, false).GetFrames())
                text.Append($" | {Spell(frame.GetMethod())}");
            Truth.Add(text.ToString());
        }

        static string Spell(MethodBase method)
        {
            try
            {
                // As it was written: not with the arguments of this call.
                var own = method.Module.ResolveMethod(method.MetadataToken);
                return $"{Path.GetFileName(own.Module.FullyQualifiedName)}!{own.DeclaringType.FullName}.{own.Name}" +
                       $"({string.Join(", ", own.GetParameters().Select(p => Spell(p.ParameterType)))})";
            }
            catch (Exception e) when (e is InvalidOperationException or NotSupportedException or ArgumentException)
            {
                return $"? {method.Name}";
            }
        }

        static readonly Dictionary<Type, string> keywords = new()
        {
            [typeof(void)] = "void", [typeof(bool)] = "bool", [typeof(char)] = "char", [typeof(sbyte)] = "sbyte",
            [typeof(byte)] = "byte", [typeof(short)] = "short", [typeof(ushort)] = "ushort", [typeof(int)] = "int",
            [typeof(uint)] = "uint", [typeof(long)] = "long", [typeof(ulong)] = "ulong", [typeof(float)] = "float",
            [typeof(double)] = "double", [typeof(string)] = "string", [typeof(nint)] = "nint", [typeof(nuint)] = "nuint",
            [typeof(object)] = "object",
        };

        static string Spell(Type t)
        {
            if (t.IsByRef)
                return Spell(t.GetElementType()) + "&";
            if (t.IsFunctionPointer)
                return "delegate*";
            if (t.IsPointer)
                return Spell(t.GetElementType()) + "*";
            if (t.IsArray)
                return Spell(t.GetElementType()) + (t.IsSZArray ? "[]" : "[" + new string(',', t.GetArrayRank() - 1) + "]");
            if (t.IsGenericParameter)
                return t.Name;
            if (t.IsGenericType)
                return $"{t.Name}[{string.Join(",", t.GetGenericArguments().Select(Spell))}]";
            return keywords.GetValueOrDefault(t, t.Name);
        }

        [MethodImpl(Keep)] static int Over(int a, string b, double c, object d) => Over(a, b) + 1;
        [MethodImpl(Keep)] static int Over(int a, string b) => Over(a) + 1;
        [MethodImpl(Keep)] static int Over(int a) => Over() + 1;
        [MethodImpl(Keep)] static int Over() => Block("overloads") + 1;

        [MethodImpl(Keep)]
        static int Refs(ref int a, out string b, in Point c)
        {
            b = "";
            return ReadOnly(ref a, c) + 1;
        }

        [MethodImpl(Keep)] static ref readonly int ReadOnly(ref readonly int a, Point c) { Block("references"); return ref a; }
        [MethodImpl(Keep)] static int Pointed(int v) => v;

        [MethodImpl(Keep)]
        static int Pointers(int* a, void** b, delegate*<int, int> c, nint d) => Block("pointers") + *a;

        [MethodImpl(Keep)]
        static int Arrays(int[] a, string[,] b, long[][,] c, Point*[] d) => Block("arrays") + a.Length;

        [MethodImpl(Keep)]
        static int Instances(Dictionary<string, List<int>> a, (int, string) b, Span<Point> c) => Block("instances") + a.Count;

        class Outer<T>
        {
            public class Inner<U>
            {
                [MethodImpl(Keep)] public int Call(T t, U u, Dictionary<U[], Outer<T>.Inner<U>>.Enumerator e) => Other<long>(t, 1) + 1;
                [MethodImpl(Keep)] int Other<V>(T t, V v) => Block(typeof(T).IsValueType ? "values" : "nested") + 1;
            }
        }

        [MethodImpl(Keep)]
        static int Many<A, B, C>(A a, B b, C c, Func<A, B, C> f) where C : struct => Block("many") + 1;

        struct Value
        {
            public int V;
            public Value(int v) => V = v;
            [MethodImpl(Keep)] public static Value operator +(Value a, Value b) { Block("operators"); return a; }
            public int this[int a, string b] { [MethodImpl(Keep)] set => Block("properties"); }
            public int Own { [MethodImpl(Keep)] get => V; }
        }

        class Comparer : IComparer<Point>
        {
            [MethodImpl(Keep)] int IComparer<Point>.Compare(Point a, Point b) => Block("explicit") + 1;
        }

        interface IDefault
        {
            [MethodImpl(Keep)] int Do<T>(T t) => Block("default-interface") + 1;
        }

        class HasDefault : IDefault { }

        static int Local(int v)
        {
            return Inner(v) + 1;

            [MethodImpl(Keep)]
            static int Inner(int w) => Block("local") + w;
        }

        [MethodImpl(Keep)] static int Params(Colour c, params int[] rest) => Block("params") + rest.Length;

        [MethodImpl(Keep)]
        static int Sized(sbyte a, byte b, short c, ushort d, uint e, ulong f, char g, bool h, float i) => Block("native") + 1;

        /// A type that exists in memory alone.
        static MethodInfo Emitted()
        {
            var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Made"), AssemblyBuilderAccess.Run);
            var type = assembly.DefineDynamicModule("Made").DefineType("Made.Type", TypeAttributes.Public);
            var method = type.DefineMethod("Run", MethodAttributes.Public | MethodAttributes.Static, typeof(int), new[] { typeof(int) });
            var il = method.GetILGenerator();
            il.Emit(OpCodes.Ldstr, "emitted-type");
            il.Emit(OpCodes.Call, typeof(EmittedCaller).GetMethod("Call"));
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Add);
            il.Emit(OpCodes.Ret);
            return type.CreateType().GetMethod("Run");
        }
    }

    static partial class Names
    {
        static async Task<int> Awaited<T>(T v) where T : class
        {
            await Task.Yield();
            return Block("awaited");
        }
    }

    public static class EmittedCaller
    {
        [MethodImpl(MethodImplOptions.NoInlining)] public static int Call(string name) => Names.Block(name) + 1;
    }
}
