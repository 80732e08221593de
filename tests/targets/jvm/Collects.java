// SPDX-License-Identifier: LGPL-2.1-or-later
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A program as a whole: "collects", three threads that fill the heap, so that nearly all time goes into collections;
 * "pool", four workers of a pool that all wait, with more to do in its queue; "free", the same with a worker to spare.
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

    public static void main(String[] args) throws Exception {
        if (args[0].equals("collects")) {
            for (int i = 0; i < 3; i++)
                new Thread(Collects::fill, "http-" + i).start();
        } else {
            CountDownLatch never = new CountDownLatch(1), begun = new CountDownLatch(4);
            ExecutorService pool = Executors.newFixedThreadPool(args[0].equals("free") ? 5 : 4);
            int orders = args[0].equals("free") ? 4 : 11;
            if (orders == 4)
                pool.submit(() -> { }).get(); // a fifth worker
            for (int i = 0; i < orders; i++)
                pool.submit(() -> {
                    begun.countDown();
                    order(never);
                });
            begun.await();
        }
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
