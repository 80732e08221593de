/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/* Four virtual threads that compute, on the two carriers that the VM is told to make. By name, as Java 17 has
 * none of it. */
public class Virtual {
	static volatile long sum;
	static final AtomicInteger begun = new AtomicInteger();

	static void compute() {
		begun.incrementAndGet();
		for (long i = 0;; i++)
			sum += i;
	}

	public static void main(String[] args) throws Exception {
		ExecutorService pool = (ExecutorService) Executors.class
				.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
		for (int i = 0; i < 4; i++)
			pool.submit(Virtual::compute);
		while (begun.get() < 2)
			Thread.sleep(1);
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
