/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread that computes below f1 -> ... -> f6: whatever it is stopped in, the callers of what it executes are
 * known. The leaves compare strings, copy arrays, allocate, call through tables of methods, throw and catch. */
public class Busy {
	interface Shape {
		long area(long n);
	}

	static class A implements Shape {
		public long area(long n) {
			return n * 3;
		}
	}

	static class B implements Shape {
		public long area(long n) {
			return n ^ 5;
		}
	}

	static class C implements Shape {
		public long area(long n) {
			return n + 7;
		}
	}

	static class D implements Shape {
		public long area(long n) {
			return n - 11;
		}
	}

	static final Shape[] shapes = {new A(), new B(), new C(), new D()};
	static final String[] words = {"alpha beta gamma", "alpha beta gammb", "alpha", "delta epsilon"};
	static final byte[] from = new byte[4096], to = new byte[4096];
	static volatile long sink;
	static Object kept;

	static long thrown(long n) {
		try {
			if (n % 64 == 0)
				throw new IllegalStateException("expected");
			return n;
		} catch (IllegalStateException e) {
			return n + e.getMessage().length();
		}
	}

	static long f6(long n) {
		long sum = 0;
		for (int i = 0; i < 64; i++) {
			sum += shapes[(int) ((n + i) & 3)].area(i);
			sum += words[i & 3].compareTo(words[(i >> 2) & 3]);
			if ((i & 15) == 0) {
				System.arraycopy(from, i, to, 0, 1024 + i);
				kept = new int[16 + (i & 7)];
				sum += words[i & 3].hashCode() + thrown(n + i);
			}
		}
		return sum;
	}

	static long f5(long n) {
		return f6(n + 1) + 1;
	}

	static long f4(long n) {
		long sum = 0;
		for (int i = 0; i < 3; i++)
			sum += f5(n + i);
		return sum;
	}

	static long f3(long n) {
		return f4(n) + f4(n + 9);
	}

	static long f2(long n) {
		return f3(n) * 3;
	}

	static long f1(long n) {
		return f2(n) + 5;
	}

	static void compute() {
		for (long n = 0;; n++)
			sink += f1(n);
	}

	public static void main(String[] args) {
		Thread thread = new Thread(Busy::compute, "computing");
		thread.start();
		System.out.println("ready");
	}
}
