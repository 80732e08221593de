/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A thread that asks all the time whether an object is of an interface, another one each time, so that the VM has to
 * search: in a chain of calls, f1 to f6, of frames of different sizes, over what deeper calls have left on the stack.
 */
public class Checked {
	interface A {}

	interface B {}

	interface C {}

	interface D {}

	static class All implements A, B, C, D {}

	static volatile long sum;
	static final Object[] OBJECTS = {new All(), new All() {}, new Object()};

	static long f6(Object o, long n) {
		return (o instanceof A ? 1 : 0) + (o instanceof B ? n : 2) + (o instanceof C ? 1 : 0) + (o instanceof D ? n : 3);
	}

	static long deep(Object o, long n, int depth) {
		return depth == 0 ? f6(o, n) : deep(o, n + 1, depth - 1) + 1;
	}

	static long f5(Object o, long n) {
		if (n < 0) {
			long a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17, g = n * 19;
			sum += deep(o, n, 1);
			return a + b * c - d / e + f * g + a * b + n;
		}
		sum += deep(o, n, (int) n & 7);
		return (o instanceof B ? 1 : 0) + f6(o, n) + (o instanceof C ? 1 : 0);
	}

	static long f4(Object o, long n) {
		if (n < 0) {
			long a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17, g = n * 19;
			sum += deep(o, n, 1);
			return a + b * c - d / e + f * g + a * b + n;
		}
		sum += deep(o, n, (int) n & 7);
		return (o instanceof A ? 1 : 0) + f5(o, n) + (o instanceof B ? 1 : 0);
	}

	static long f3(Object o, long n) {
		if (n < 0) {
			long a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17, g = n * 19;
			sum += deep(o, n, 1);
			return a + b * c - d / e + f * g + a * b + n;
		}
		sum += deep(o, n, (int) n & 7);
		return (o instanceof D ? 1 : 0) + f4(o, n) + (o instanceof A ? 1 : 0);
	}

	static long f2(Object o, long n) {
		if (n < 0) {
			long a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17, g = n * 19;
			sum += deep(o, n, 1);
			return a + b * c - d / e + f * g + a * b + n;
		}
		sum += deep(o, n, (int) n & 7);
		return (o instanceof C ? 1 : 0) + f3(o, n) + (o instanceof D ? 1 : 0);
	}

	static long f1(Object o, long n) {
		if (n < 0) {
			long a = n * 3, b = n * 5, c = n * 7, d = n * 11, e = n * 13, f = n * 17, g = n * 19;
			sum += deep(o, n, 1);
			return a + b * c - d / e + f * g + a * b + n;
		}
		sum += deep(o, n, (int) n & 7);
		return (o instanceof B ? 1 : 0) + f2(o, n) + (o instanceof C ? 1 : 0);
	}

	static void compute() {
		for (long n = 0;; n++)
			sum += f1(OBJECTS[(int) (n % OBJECTS.length)], n);
	}

	public static void main(String[] args) throws Exception {
		new Thread(Checked::compute, "computing").start();
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
