// SPDX-License-Identifier: LGPL-2.1-or-later
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;

/** Threads that wait in classes of java.util.concurrent. Says "waits NAME KIND" for each, then "ready". */
class LibraryWaits {
	interface Wait {
		void run() throws Exception;
	}

	static void start(String name, String kind, Wait wait) {
		Thread thread = new Thread(() -> {
			try {
				wait.run();
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		}, name);
		thread.setDaemon(true);
		thread.start();
		System.out.println("waits " + name + " " + kind);
	}

	public static void main(String[] args) throws Exception {
		LinkedBlockingQueue<String> work = new LinkedBlockingQueue<>();
		ArrayBlockingQueue<String> full = new ArrayBlockingQueue<>(1);
		SynchronousQueue<String> handed = new SynchronousQueue<>();
		CyclicBarrier barrier = new CyclicBarrier(2);
		Semaphore semaphore = new Semaphore(0);
		CountDownLatch latch = new CountDownLatch(1);
		full.put("first");
		start("take", "queue_get", work::take);
		start("put", "queue_put", () -> full.put("second"));
		start("handed", "queue_get", handed::take);
		start("barrier", "barrier", barrier::await);
		start("semaphore", "semaphore", semaphore::acquire);
		start("latch", "latch", latch::await);
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(1000000000L);
	}
}
