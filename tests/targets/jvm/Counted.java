/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/* Virtual threads in all places where the VM has them, and platform threads in the same: "count N", "mounted M" of
 * those that sleep and those that compute. Or, with the argument "churn", SLEEPING that sleep and CHURNING that start
 * and end without a pause. By name, as Java 17 has none of it. */
public class Counted {
	static final int SLEEPING = 300, COMPUTING = 2, CHURNING = 3;
	static final AtomicInteger begun = new AtomicInteger();
	static volatile long sum;

	static void sleep() {
		begun.incrementAndGet();
		try {
			Thread.sleep(100000000L);
		} catch (InterruptedException e) {
			throw new RuntimeException(e);
		}
	}

	static void compute() {
		begun.incrementAndGet();
		for (long i = 0;; i++)
			sum += i;
	}

	static Thread startVirtual(Runnable body) {
		try {
			return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
		} catch (ReflectiveOperationException e) {
			throw new RuntimeException(e);
		}
	}

	static ThreadFactory factory(String of) throws ReflectiveOperationException {
		Object builder = Thread.class.getMethod(of).invoke(null);
		return (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
	}

	static ExecutorService executor(ThreadFactory factory) throws ReflectiveOperationException {
		return (ExecutorService) Executors.class.getMethod("newThreadPerTaskExecutor", ThreadFactory.class)
				.invoke(null, factory);
	}

	static void await(int n) throws InterruptedException {
		while (begun.get() < n)
			Thread.sleep(1);
	}

	static void churn() {
		while (true) {
			try {
				startVirtual(() -> sum++).join();
			} catch (InterruptedException e) {
				throw new RuntimeException(e);
			}
		}
	}

	static void kinds() throws Exception {
		ThreadFactory virtual = factory("ofVirtual"), platform = factory("ofPlatform");
		ExecutorService[] pools = {
			executor(virtual), executor(platform),
			executor(body -> body.hashCode() % 2 == 0 ? virtual.newThread(body) : platform.newThread(body)),
			executor(body -> virtual.newThread(body)), Executors.newFixedThreadPool(20, virtual),
			Executors.newFixedThreadPool(20),
		};
		AtomicInteger isVirtual = new AtomicInteger();
		java.lang.reflect.Method asked = Thread.class.getMethod("isVirtual");
		Runnable body = () -> {
			try {
				if ((boolean) asked.invoke(Thread.currentThread()))
					isVirtual.incrementAndGet();
			} catch (ReflectiveOperationException e) {
				throw new RuntimeException(e);
			}
			sleep();
		};
		for (int i = 0; i < 100; i++)
			startVirtual(() -> {}).join();
		int n = 0;
		for (; n < SLEEPING; n++)
			startVirtual(body);
		for (ExecutorService pool : pools)
			for (int i = 0; i < 20; i++, n++)
				pool.submit(body);
		await(n);
		for (int i = 0; i < COMPUTING; i++)
			startVirtual(Counted::compute);
		await(n + COMPUTING);
		System.out.println("count " + (isVirtual.get() + COMPUTING));
		System.out.println("mounted " + COMPUTING);
	}

	public static void main(String[] args) throws Exception {
		if (args.length > 0) {
			for (int i = 0; i < SLEEPING; i++)
				startVirtual(Counted::sleep);
			await(SLEEPING);
			for (int i = 0; i < CHURNING; i++)
				new Thread(Counted::churn).start();
			System.out.println("count " + SLEEPING);
			System.out.println("churning " + CHURNING);
		} else {
			kinds();
		}
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
