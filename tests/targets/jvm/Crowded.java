/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.net.ServerSocket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;

/* A server in trouble: 300 idle workers of a pool and 20 that accept; 100 threads wait for a monitor whose
 * owner sleeps, 60 for a lock whose owner computes. */
public class Crowded {
	static final Object orders = new Object();
	static final ReentrantLock stock = new ReentrantLock();
	static volatile long sum;

	static void order() {
		synchronized (orders) {
			sum++;
		}
	}

	static void reserve() {
		stock.lock();
		stock.unlock();
	}

	static void holdOrders() {
		synchronized (orders) {
			try {
				Thread.sleep(1000000000L);
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	static void holdStock() {
		stock.lock();
		for (long i = 0;; i++)
			sum += i;
	}

	static void accept(ServerSocket socket) {
		try {
			socket.accept();
		} catch (java.io.IOException e) {
			return;
		}
	}

	static void start(String name, int n, Runnable work) {
		for (int i = 0; i < n; i++) {
			Thread thread = new Thread(work, n == 1 ? name : name + "-" + i);
			thread.start();
		}
	}

	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(300);
		for (int i = 0; i < 300; i++)
			pool.submit(() -> { });
		ServerSocket socket = new ServerSocket(0);
		start("accept", 20, () -> accept(socket));
		start("packer", 1, Crowded::holdOrders);
		start("counter", 1, Crowded::holdStock);
		while (!stock.isLocked() || Thread.getAllStackTraces().keySet().stream().noneMatch(
				t -> t.getName().equals("packer") && t.getState() == Thread.State.TIMED_WAITING))
			Thread.sleep(1);
		start("order", 100, Crowded::order);
		start("reserve", 60, Crowded::reserve);
		System.out.println("ready");
		Thread.currentThread().join();
	}
}
