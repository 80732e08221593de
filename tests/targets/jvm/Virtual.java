/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/* Four virtual threads that compute, on the two carriers that the VM is told to make; or that sleep, with an
 * argument. By name, as Java 17 has none of it. */
public class Virtual {
	static volatile long sum;
	static final AtomicInteger begun = new AtomicInteger();

	static void sleep() {
		begun.incrementAndGet();
		try {
			Thread.sleep(1000000);
		} catch (InterruptedException e) {
			throw new RuntimeException(e);
		}
	}

	static void compute() {
		begun.incrementAndGet();
		for (long i = 0;; i++)
			sum += i;
	}

	public static void main(String[] args) throws Exception {
		ExecutorService pool = (ExecutorService) Executors.class
				.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
		for (int i = 0; i < 4; i++)
			pool.submit(args.length > 0 ? Virtual::sleep : Virtual::compute);
		while (begun.get() < 2)
			Thread.sleep(1);
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
