/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/*
 * Threads with calls at a random depth, which the methods' names say: d7 calls d8, and below d0 is turn. At the bottom is one of
 * the leaves: a loop, methods that the library calls, allocations, reflection, a method handle, exceptions, code that is loaded
 * for one call.
 *
 * arguments: number of threads; "naps": each leaf waits for a moment instead; "virtual": the threads are virtual ones; "loads":
 * each leaf loads code, which is unloaded again soon
 */
public class Depths {
	static final int DEEPEST = 40;
	static final int LEAVES = 8, NAPPING = 8, LOADING = 9;
	static int only = -1;
	public static volatile long sink;
	static volatile Base base = new Base();
	static final MethodHandle HANDLE;
	static final byte[] MADE, BUILT;
	static final AtomicInteger loaded = new AtomicInteger();

	static {
		try {
			HANDLE = MethodHandles.lookup().findStatic(Depths.class, "handled", MethodType.methodType(long.class));
			MADE = bytes("Depths$Made.class");
			BUILT = bytes("Depths$Built.class");
		} catch (ReflectiveOperationException | java.io.IOException e) {
			throw new RuntimeException(e);
		}
	}

	static byte[] bytes(String name) throws java.io.IOException {
		InputStream in = Depths.class.getResourceAsStream(name);
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		for (int b = in.read(); b >= 0; b = in.read())
			out.write(b);
		return out.toByteArray();
	}

	static class Base {
		long call() {
			return spin(300);
		}
	}

	static class Other extends Base {
		@Override
		long call() {
			return spin(301);
		}
	}

	/* Both are defined anew, in a loader of their own, each time, and lie where others of them have been. */
	public static class Made implements Runnable {
		@Override
		public void run() {
			sink += made(0);
		}

		static long made(int n) {
			return n < 200 ? Depths.spin(20) + made(n + 50) : 1;
		}
	}

	public static class Built implements Runnable {
		@Override
		public void run() {
			sink += used(0);
		}

		static long used(int n) {
			return n < 200 ? Depths.spin(20) + used(n + 50) : 1;
		}
	}

	static class Loader extends ClassLoader {
		Loader() {
			super(Depths.class.getClassLoader());
		}

		Class<?> made() {
			return defineClass("Depths$Made", MADE, 0, MADE.length);
		}

		Class<?> built() {
			return defineClass("Depths$Built", BUILT, 0, BUILT.length);
		}
	}

	public static long spin(int n) {
		long total = 0;
		for (int i = 0; i < n; i++)
			total += i * (total ^ i);
		return total;
	}

	static long loop() {
		return spin(2000);
	}

	static int key(Integer a, Integer b) {
		sink += spin(100);
		return Integer.compare(a, b);
	}

	static long sorting() {
		Integer[] list = {3, 1, 2, 5, 4};
		Arrays.sort(list, Depths::key);
		return list[0];
	}

	static long allocating() {
		long n = 0;
		for (int i = 0; i < 20; i++)
			n += new byte[256 + i].length + new int[64].length;
		return n;
	}

	static long nothing(long n) {
		return n + 1;
	}

	static long calling() {
		long n = 0;
		for (int i = 0; i < 200; i++)
			n = nothing(n);
		return n + base.call();
	}

	static long handled() {
		return spin(500);
	}

	static long handling() {
		try {
			return (long) HANDLE.invokeExact();
		} catch (Throwable e) {
			throw new RuntimeException(e);
		}
	}

	static long thrown(int n) {
		if (n == 0)
			throw new IllegalStateException();
		return thrown(n - 1);
	}

	static long throwing() {
		try {
			return thrown(3);
		} catch (IllegalStateException e) {
			return spin(100);
		}
	}

	static long copying() {
		byte[] from = new byte[4096], to = new byte[4096];
		for (int i = 0; i < 10; i++)
			System.arraycopy(from, 0, to, i, 4000);
		return to[9] + System.nanoTime() + Arrays.hashCode(to);
	}

	static Runnable instance(Class<?> made) {
		try {
			return (Runnable) made.getDeclaredConstructor().newInstance();
		} catch (ReflectiveOperationException e) {
			throw new RuntimeException(e);
		}
	}

	static void making() {
		Runnable made = instance(new Loader().made());
		for (int i = 0; i < 20; i++)
			made.run();
	}

	static void building() {
		Runnable built = instance(new Loader().built());
		for (int i = 0; i < 20; i++)
			built.run();
	}

	static long loading() {
		if (ThreadLocalRandom.current().nextBoolean())
			making();
		else
			building();
		if (only == LOADING && loaded.incrementAndGet() % 20 == 0)
			System.gc();
		return 1;
	}

	static long napping() {
		LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(20000000));
		return 1;
	}

	static long leaf() {
		switch (only >= 0 ? only : ThreadLocalRandom.current().nextInt(LEAVES)) {
		case 0: return loop();
		case 1: return sorting();
		case 2: return allocating();
		case 3: return calling();
		case 4: return handling();
		case 5: return throwing();
		case 6: return copying();
		case 7: return ThreadLocalRandom.current().nextInt(1000) == 0 ? loading() : loop();
		case NAPPING: return napping();
		default: return loading();
		}
	}

	static long d0(int deepest) {
		return deepest == 0 ? leaf() : d1(deepest);
	}

	static long d1(int deepest) {
		return deepest == 1 ? leaf() : d2(deepest);
	}

	static long d2(int deepest) {
		return deepest == 2 ? leaf() : d3(deepest);
	}

	static long d3(int deepest) {
		return deepest == 3 ? leaf() : d4(deepest);
	}

	static long d4(int deepest) {
		return deepest == 4 ? leaf() : d5(deepest);
	}

	static long d5(int deepest) {
		return deepest == 5 ? leaf() : d6(deepest);
	}

	static long d6(int deepest) {
		return deepest == 6 ? leaf() : d7(deepest);
	}

	static long d7(int deepest) {
		return deepest == 7 ? leaf() : d8(deepest);
	}

	static long d8(int deepest) {
		return deepest == 8 ? leaf() : d9(deepest);
	}

	static long d9(int deepest) {
		return deepest == 9 ? leaf() : d10(deepest);
	}

	static long d10(int deepest) {
		return deepest == 10 ? leaf() : d11(deepest);
	}

	static long d11(int deepest) {
		return deepest == 11 ? leaf() : d12(deepest);
	}

	static long d12(int deepest) {
		return deepest == 12 ? leaf() : d13(deepest);
	}

	static long d13(int deepest) {
		return deepest == 13 ? leaf() : d14(deepest);
	}

	static long d14(int deepest) {
		return deepest == 14 ? leaf() : d15(deepest);
	}

	static long d15(int deepest) {
		return deepest == 15 ? leaf() : d16(deepest);
	}

	static long d16(int deepest) {
		return deepest == 16 ? leaf() : d17(deepest);
	}

	static long d17(int deepest) {
		return deepest == 17 ? leaf() : d18(deepest);
	}

	static long d18(int deepest) {
		return deepest == 18 ? leaf() : d19(deepest);
	}

	static long d19(int deepest) {
		return deepest == 19 ? leaf() : d20(deepest);
	}

	static long d20(int deepest) {
		return deepest == 20 ? leaf() : d21(deepest);
	}

	static long d21(int deepest) {
		return deepest == 21 ? leaf() : d22(deepest);
	}

	static long d22(int deepest) {
		return deepest == 22 ? leaf() : d23(deepest);
	}

	static long d23(int deepest) {
		return deepest == 23 ? leaf() : d24(deepest);
	}

	static long d24(int deepest) {
		return deepest == 24 ? leaf() : d25(deepest);
	}

	static long d25(int deepest) {
		return deepest == 25 ? leaf() : d26(deepest);
	}

	static long d26(int deepest) {
		return deepest == 26 ? leaf() : d27(deepest);
	}

	static long d27(int deepest) {
		return deepest == 27 ? leaf() : d28(deepest);
	}

	static long d28(int deepest) {
		return deepest == 28 ? leaf() : d29(deepest);
	}

	static long d29(int deepest) {
		return deepest == 29 ? leaf() : d30(deepest);
	}

	static long d30(int deepest) {
		return deepest == 30 ? leaf() : d31(deepest);
	}

	static long d31(int deepest) {
		return deepest == 31 ? leaf() : d32(deepest);
	}

	static long d32(int deepest) {
		return deepest == 32 ? leaf() : d33(deepest);
	}

	static long d33(int deepest) {
		return deepest == 33 ? leaf() : d34(deepest);
	}

	static long d34(int deepest) {
		return deepest == 34 ? leaf() : d35(deepest);
	}

	static long d35(int deepest) {
		return deepest == 35 ? leaf() : d36(deepest);
	}

	static long d36(int deepest) {
		return deepest == 36 ? leaf() : d37(deepest);
	}

	static long d37(int deepest) {
		return deepest == 37 ? leaf() : d38(deepest);
	}

	static long d38(int deepest) {
		return deepest == 38 ? leaf() : d39(deepest);
	}

	static long d39(int deepest) {
		return deepest == 39 ? leaf() : d40(deepest);
	}

	static long d40(int deepest) {
		return deepest == 40 ? leaf() : leaf();
	}

	static void turn() {
		sink += d0(ThreadLocalRandom.current().nextInt(DEEPEST));
	}

	static void work() {
		for (long i = 0;; i++) {
			turn();
			if (i == 20000)
				base = new Other();
		}
	}

	static Thread begin(boolean virtual) throws ReflectiveOperationException {
		if (virtual)
			return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) Depths::work);
		Thread thread = new Thread(Depths::work, "worker with a long name");
		thread.start();
		return thread;
	}

	public static void main(String[] args) throws Exception {
		String how = args.length > 1 ? args[1] : "";
		only = args.length > 2 || how.equals("naps") ? NAPPING : how.equals("loads") ? LOADING : -1;
		int n = Integer.parseInt(args[0]);
		for (int i = how.equals("virtual") ? 0 : 1; i < n; i++)
			begin(how.equals("virtual"));
		System.out.println("ready");
		if (how.equals("virtual"))
			System.in.read();
		else
			work();
	}
}
