// SPDX-License-Identifier: LGPL-2.1-or-later
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** IdleThreads N: N Java threads, each some calls deep, that wait in different ways. */
public class IdleThreads {
	static final Object monitor = new Object();
	static CountDownLatch started;

	static void waitForever(int kind) throws Exception {
		started.countDown();
		switch (kind % 4) {
		case 0:
			for (;;)
				LockSupport.park();
		case 1:
			synchronized (monitor) {
				for (;;)
					monitor.wait();
			}
		case 2:
			for (;;)
				Thread.sleep(86400000);
		default:
			new CountDownLatch(1).await();
		}
	}

	static void recurse(int kind, int depth) throws Exception {
		if (depth == 0)
			waitForever(kind);
		else
			recurse(kind, depth - 1);
	}

	public static void main(String[] args) throws Exception {
		int n = Integer.parseInt(args[0]);
		started = new CountDownLatch(n);
		for (int i = 0; i < n; i++) {
			int kind = i;
			new Thread(() -> {
				try {
					recurse(kind, 8);
				} catch (Exception e) {
					throw new RuntimeException(e);
				}
			}, "pool-" + i).start();
		}
		started.await();
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
