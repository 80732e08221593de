// SPDX-License-Identifier: LGPL-2.1-or-later
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CountDownLatch;

/**
 * Whatever moves or frees what a stack is read from, all at once and without end: collections of the whole heap,
 * classes that are loaded and unloaded, safepoints for the stacks of all threads; and one thread that computes
 * below f1 -> f2 -> f3, with objects that die at once.
 */
public class Phases {
    /** A class that is loaded again and again, each time as another class. */
    public static class Loaded implements Runnable {
        static volatile Object last;

        @Override
        public void run() {
            last = new int[100];
        }
    }

    static class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("Phases$Loaded", bytes, 0, bytes.length);
        }
    }

    static final CountDownLatch begun = new CountDownLatch(4);
    static volatile long sink;
    static volatile Object kept;

    static void collect() {
        begun.countDown();
        while (true) {
            System.gc();
        }
    }

    static void load(byte[] bytes) {
        begun.countDown();
        while (true) {
            try {
                ((Runnable) new Loader().define(bytes).getDeclaredConstructor().newInstance()).run();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void safepoint() {
        begun.countDown();
        while (true) {
            sink += Thread.getAllStackTraces().size();
        }
    }

    static long f3(long n) {
        Object[] last = null;
        for (int i = 0; i < 50; i++) {
            last = new Object[] {last, i};
        }
        kept = last;
        return n + 1;
    }

    static long f2(long n) {
        return f3(n) + f3(n + 1);
    }

    static long f1(long n) {
        return f2(n) + 1;
    }

    static void compute() {
        begun.countDown();
        for (long n = 0;; n++) {
            sink += f1(n);
        }
    }

    static byte[] bytes() throws IOException {
        try (InputStream in = Phases.class.getResourceAsStream("Phases$Loaded.class")) {
            byte[] bytes = new byte[in.available()];
            new DataInputStream(in).readFully(bytes);
            return bytes;
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes = bytes();
        new Thread(Phases::collect, "collecting").start();
        new Thread(() -> load(bytes), "loading").start();
        new Thread(Phases::safepoint, "safepoints").start();
        new Thread(Phases::compute, "computing").start();
        begun.await();
        System.out.println("ready");
    }
}
