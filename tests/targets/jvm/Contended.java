// SPDX-License-Identifier: LGPL-2.1-or-later
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that lock and unlock at random, in an order in which they cannot wait for each other. Their stacks
 * record who has what: whoever is in insideN() has the lock N, whoever is in lockN() alone wants it, or has
 * it just now or no longer. 0 to 3 are monitors.
 */
public class Contended {
    static class Monitor0 {}

    static class Monitor1 {}

    static class Monitor2 {}

    static class Monitor3 {}

    static final Object MONITOR0 = new Monitor0();
    static final Object MONITOR1 = new Monitor1();
    static final Object MONITOR2 = new Monitor2();
    static final Object MONITOR3 = new Monitor3();
    static final ReentrantLock LOCK4 = new ReentrantLock();
    static final ReentrantLock LOCK5 = new ReentrantLock(true);
    static final ReentrantLock LOCK6 = new ReentrantLock();
    static final ReentrantLock LOCK7 = new ReentrantLock(true);

    static volatile long sink;

    /** Holds what it has for a while, and takes another one sometimes. */
    static void hold(int last) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        if (last < 7 && random.nextInt(3) == 0) {
            take(last + 1 + random.nextInt(7 - last));
        }
        int what = random.nextInt(8);
        if (what == 0) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        for (int i = 0; i < what * 500; i++) {
            sink += i;
        }
    }

    static void take(int which) {
        switch (which) {
            case 0: lock0(); break;
            case 1: lock1(); break;
            case 2: lock2(); break;
            case 3: lock3(); break;
            case 4: lock4(); break;
            case 5: lock5(); break;
            case 6: lock6(); break;
            case 7: lock7(); break;
            default: break;
        }
    }

    static void lock0() {
        synchronized (MONITOR0) {
            inside0();
        }
    }

    static void inside0() {
        hold(0);
    }

    static void lock1() {
        synchronized (MONITOR1) {
            inside1();
        }
    }

    static void inside1() {
        hold(1);
    }

    static void lock2() {
        synchronized (MONITOR2) {
            inside2();
        }
    }

    static void inside2() {
        hold(2);
    }

    static void lock3() {
        synchronized (MONITOR3) {
            inside3();
        }
    }

    static void inside3() {
        hold(3);
    }

    static void lock4() {
        LOCK4.lock();
        try {
            inside4();
        } finally {
            LOCK4.unlock();
        }
    }

    static void inside4() {
        hold(4);
    }

    static void lock5() {
        LOCK5.lock();
        try {
            inside5();
        } finally {
            LOCK5.unlock();
        }
    }

    static void inside5() {
        hold(5);
    }

    static void lock6() {
        LOCK6.lock();
        try {
            inside6();
        } finally {
            LOCK6.unlock();
        }
    }

    static void inside6() {
        hold(6);
    }

    static void lock7() {
        LOCK7.lock();
        try {
            inside7();
        } finally {
            LOCK7.unlock();
        }
    }

    static void inside7() {
        hold(7);
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    take(ThreadLocalRandom.current().nextInt(8));
                }
            }, "taker-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        Thread.sleep(1_000_000_000L);
    }
}
