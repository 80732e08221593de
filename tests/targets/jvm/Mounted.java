/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/* Virtual threads in a chain of calls, f1 to f6, which they leave for others and come back to at all depths: the VM
 * takes their frames off the stack and brings some of them back. By name, as Java 17 has none of it. */
public class Mounted {
	static final int THREADS = 4;
	static final AtomicInteger begun = new AtomicInteger();
	static volatile long sum;

	static void away(long n, int depth) {
		if (n % 64 == depth * 8)
			Thread.yield();
		if (n % 256 == depth * 8 + 1)
			LockSupport.parkNanos(1000);
	}

	static long f6(long n) {
		for (int i = 0; i < 2000; i++)
			sum += i ^ n;
		away(n, 6);
		return sum;
	}

	static long f5(long n) {
		return f6(n) + 1;
	}

	static long f4(long n) {
		away(n, 4);
		return f5(n) + 1;
	}

	static long f3(long n) {
		long r = f4(n) + 1;
		away(n, 3);
		return r;
	}

	static long f2(long n) {
		return f3(n) + 1;
	}

	static long f1(long n) {
		return f2(n) + 1;
	}

	static void compute() {
		begun.incrementAndGet();
		for (long n = 0;; n++)
			f1(n);
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < THREADS; i++)
			Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) Mounted::compute);
		while (begun.get() < THREADS)
			Thread.sleep(1);
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
