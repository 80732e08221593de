// SPDX-License-Identifier: LGPL-2.1-or-later
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A program as a whole: "collects", three threads that fill the heap, so that nearly all time goes into collections;
 * "pool", four workers of a pool that all wait, with more to do in its queue; "free", the same with a worker to spare; "array",
 * with a queue of another kind, which is full; "fork", two workers of a fork-join pool that wait, with more to do.
 */
public class Collects {
    private static final List<byte[]> KEPT = new ArrayList<>();

    private static void fill() {
        while (true) {
            try {
                for (int i = 0; i < 100; i++) {
                    byte[] block = new byte[100_000];
                    synchronized (KEPT) {
                        KEPT.add(block);
                    }
                }
            } catch (OutOfMemoryError e) {
                synchronized (KEPT) {
                    for (int i = 0; i < 30 && !KEPT.isEmpty(); i++)
                        KEPT.remove(KEPT.size() - 1);
                }
            }
        }
    }

    private static void order(CountDownLatch never) {
        try {
            never.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** As many orders as that begin are waited for. */
    private static void submit(ExecutorService pool, int orders, int workers) throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1), begun = new CountDownLatch(workers);
        for (int i = 0; i < orders; i++)
            pool.submit(() -> {
                begun.countDown();
                order(never);
            });
        begun.await();
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("collects")) {
            for (int i = 0; i < 3; i++)
                new Thread(Collects::fill, "http-" + i).start();
        } else if (args[0].equals("array")) {
            submit(new ThreadPoolExecutor(2, 4, 1, TimeUnit.HOURS, new ArrayBlockingQueue<>(3)), 7, 4);
        } else if (args[0].equals("fork")) {
            submit(new ForkJoinPool(2), 6, 2);
        } else if (args[0].equals("free")) {
            ExecutorService pool = Executors.newFixedThreadPool(5);
            pool.submit(() -> { }).get(); // a fifth worker
            submit(pool, 4, 4);
        } else {
            submit(Executors.newFixedThreadPool(4), 11, 4);
        }
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
