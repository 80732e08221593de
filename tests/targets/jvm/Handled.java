/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/*
 * A thread that waits below compiled methods whose code has been given up meanwhile: one calls the next by a method
 * handle, the other one as methods are called. The compiler took it that Base has no class below it; one was loaded.
 */
public class Handled {
	static class Base {
		long value() {
			return 3;
		}
	}

	static class Loaded extends Base {
		long value() {
			return 5;
		}
	}

	static MethodHandle handle; /* not final: the call stays one by a handle */
	static Base base = new Base();
	static volatile boolean waiting;
	static final Object lock = new Object();

	static long called(long n) throws Exception {
		if (n < 0)
			synchronized (lock) {
				waiting = true;
				lock.wait();
			}
		return n;
	}

	static long byHandle(long n) throws Throwable {
		long sum = base.value();
		sum += (long) handle.invokeExact(n);
		return sum;
	}

	static long byCall(long n) throws Throwable {
		long sum = base.value();
		sum += byHandle(n);
		return sum;
	}

	static void compute() {
		try {
			long sum = 0;
			for (long n = 0; n < 200000; n++)
				sum += byCall(n);
			byCall(-sum);
		} catch (Throwable e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) throws Throwable {
		handle = MethodHandles.lookup().findStatic(Handled.class, "called", MethodType.methodType(long.class, long.class));
		new Thread(Handled::compute, "computing").start();
		while (!waiting)
			Thread.sleep(1);
		base = new Loaded();
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
