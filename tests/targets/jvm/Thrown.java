/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A thread that throws through a chain of calls, f1 to f6, all the time: some of them have handlers and none that fits. */
public class Thrown {
	static volatile long sum;
	static final RuntimeException EXCEPTION = new RuntimeException("made once", null, false, false) {};

	static long f6(long n) {
		sum += n;
		if ((n & 1) == 0)
			throw EXCEPTION;
		return sum;
	}

	static synchronized long f5(long n) {
		return f6(n) + 1;
	}

	static long f4(long n) {
		try {
			return f5(n) + 1;
		} catch (IllegalStateException e) {
			return 0;
		}
	}

	static long f3(long n) {
		return f4(n) + 1;
	}

	static long f2(long n) {
		try {
			return f3(n) + 1;
		} finally {
			sum++;
		}
	}

	static long f1(long n) {
		return f2(n) + 1;
	}

	static void compute() {
		for (long n = 0;; n++) {
			try {
				f1(n);
			} catch (RuntimeException e) {
				sum--;
			}
		}
	}

	public static void main(String[] args) throws Exception {
		new Thread(Thrown::compute, "computing").start();
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
