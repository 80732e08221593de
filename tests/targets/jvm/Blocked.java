/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/* A pool whose threads wait in all ways that there are, below code that was compiled before; and then says so. */
public class Blocked {
	interface Wait {
		void until(int depth) throws Exception;
	}

	static final Object monitor = new Object();
	static final Object held = new Object();
	static final ReentrantLock lock = new ReentrantLock();
	static volatile boolean really;
	static CountDownLatch ready;

	static class Gate {
		static long sum;

		/* Compiled, it waits where it is entered, in front of its bytecode. */
		static synchronized void enter() {
			sum++;
		}
	}

	static void descend(Wait wait, int depth) throws Exception {
		if (depth > 0)
			descend(wait, depth - 1);
		else if (really) {
			ready.countDown();
			wait.until(0);
		}
	}

	static void work(Wait wait) {
		try {
			descend(wait, 6);
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	/* Without arguments and variables. */
	static void reflected() throws Exception {
		Thread.sleep(100000000);
	}

	static synchronized void idle() throws Exception {
		for (;;)
			Thread.sleep(100000000);
	}

	public static void main(String[] args) throws Exception {
		Wait[] waits = {
			d -> LockSupport.park(),
			d -> {
				synchronized (monitor) {
					monitor.wait();
				}
			},
			d -> {
				synchronized (held) {
					held.hashCode();
				}
			},
			d -> lock.lock(),
			d -> Gate.enter(),
			d -> Thread.sleep(100000000),
			d -> new LinkedBlockingQueue<String>().take(),
			d -> new SynchronousQueue<String>().put("never"),
			d -> System.in.read(),
			d -> Blocked.class.getDeclaredMethod("reflected").invoke(null),
		};
		for (int i = 0; i < 20000; i++) {
			work(waits[i % waits.length]);
			Gate.enter();
		}
		ready = new CountDownLatch(waits.length);
		really = true;
		lock.lock();
		synchronized (Gate.class) {
			block(waits);
		}
	}

	static void block(Wait[] waits) throws Exception {
		synchronized (held) {
			ExecutorService pool = Executors.newFixedThreadPool(waits.length);
			for (Wait wait : waits)
				pool.execute(() -> work(wait));
			ready.await();
			/* The first one needs two bytes for each character, the other one does not. */
			for (String name : new String[] {"a name that is long, \u6f22", "a name, \u00fcn\u00efc\u00f6d\u00e9"}) {
				Thread named = new Thread(() -> LockSupport.park(), name);
				named.setDaemon(true);
				named.start();
			}
			System.gc();
			System.out.println("ready");
			idle();
		}
	}
}
