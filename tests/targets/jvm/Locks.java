// SPDX-License-Identifier: LGPL-2.1-or-later
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Threads that wait for locks of Java, and what they wait for: "waits NAME KIND OWNER CLASS", "-" for an
 * owner or a class that nobody can tell; "cycle NAME NAME" for those that wait for each other.
 */
public class Locks {
    static class Thing {}

    static volatile CountDownLatch both;

    /** A class whose initialiser does not end. */
    static class Slow {
        static {
            forever();
        }

        static void touch() {}
    }

    static class First {
        static {
            both.countDown();
            uninterrupted(both::await);
            Second.touch();
        }

        static void touch() {}
    }

    static class Second {
        static {
            both.countDown();
            uninterrupted(both::await);
            First.touch();
        }

        static void touch() {}
    }

    static final List<Thread> all = new ArrayList<>();

    static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        all.add(thread);
        thread.start();
    }

    static void waits(String name, String kind, String owner, String target, Runnable body) {
        System.out.println("waits " + name + " " + kind + " " + owner + " " + target);
        start(name, body);
    }

    static void uninterrupted(Waiting body) {
        try {
            body.run();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    interface Waiting {
        void run() throws InterruptedException;
    }

    static void forever() {
        uninterrupted(() -> Thread.sleep(1_000_000_000L));
    }

    static void await(Thread.State wanted, Thread thread) throws InterruptedException {
        while (thread.getState() != wanted) {
            Thread.sleep(1);
        }
    }

    static void result(FutureTask<Object> task) {
        try {
            task.get();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static void kinds() throws InterruptedException {
        Object monitor = new Thing();
        Object hashed = new Thing();
        Object again = new Thing();
        Object waited = new Thing();
        ReentrantLock lock = new ReentrantLock();
        ReentrantLock fair = new ReentrantLock(true);
        ReentrantLock nobody = new ReentrantLock();
        ReentrantReadWriteLock written = new ReentrantReadWriteLock();
        ReentrantReadWriteLock read = new ReentrantReadWriteLock();
        CountDownLatch held = new CountDownLatch(1);
        int hash = System.identityHashCode(hashed); // its header has no space for a thin lock
        start("holder", () -> {
            synchronized (monitor) {
                synchronized (hashed) {
                    lock.lock();
                    fair.lock();
                    written.writeLock().lock();
                    read.readLock().lock();
                    held.countDown();
                    forever();
                }
            }
        });
        held.await();
        String locks = "java.util.concurrent.locks.";
        waits("monitor", "java_monitor", "holder", "Locks$Thing", () -> {
            synchronized (monitor) {
                forever();
            }
        });
        waits("hashed", "java_monitor", "holder", "Locks$Thing", () -> {
            synchronized (hashed) {
                forever();
            }
        });
        waits("lock", "java_lock", "holder", locks + "ReentrantLock$NonfairSync", lock::lock);
        waits("fair", "java_lock", "holder", locks + "ReentrantLock$FairSync", fair::lock);
        waits("write", "java_lock", "holder", locks + "ReentrantReadWriteLock$NonfairSync", () -> written.writeLock().lock());
        waits("read", "java_lock", "holder", locks + "ReentrantReadWriteLock$NonfairSync", () -> written.readLock().lock());
        waits("reader", "java_lock", "holder", locks + "ReentrantReadWriteLock$NonfairSync", () -> read.writeLock().lock());
        // Two readers are only counted.
        ReentrantReadWriteLock shared = new ReentrantReadWriteLock();
        CountDownLatch both = new CountDownLatch(2);
        for (int i = 0; i < 2; i++) {
            start("reads", () -> {
                shared.readLock().lock();
                both.countDown();
                forever();
            });
        }
        both.await();
        waits("readers", "java_lock", "-", locks + "ReentrantReadWriteLock$NonfairSync", () -> shared.writeLock().lock());
        StampedLock stamped = new StampedLock();
        stamped.writeLock();
        waits("stamped", "java_lock", "-", locks + "StampedLock", stamped::readLock);
        Thread holder = all.get(0);
        waits("join", "thread", "holder", "-", () -> uninterrupted(holder::join));
        waits("joins", "thread", "holder", "-", () -> uninterrupted(() -> holder.join(1_000_000_000L)));
        waits("wait-thread", "java_wait", "-", "java.lang.Thread", () -> {
            synchronized (holder) {
                uninterrupted(holder::wait);
            }
        });
        FutureTask<Object> task = new FutureTask<>(Locks::forever, null);
        start("runner", task);
        FutureTask<Object> nobodys = new FutureTask<>(Locks::forever, null);
        waits("future", "java_task", "runner", "java.util.concurrent.FutureTask", () -> result(task));
        waits("futures", "java_park", "-", "java.util.concurrent.FutureTask", () -> result(nobodys));
        start("initialiser", Slow::touch);
        await(Thread.State.TIMED_WAITING, all.get(all.size() - 1));
        waits("class", "java_class", "initialiser", "Locks$Slow", Slow::touch);
        waits("waiting", "java_wait", "-", "Locks$Thing", () -> {
            synchronized (waited) {
                uninterrupted(waited::wait);
            }
        });
        waits("latch", "java_park", "-", "java.util.concurrent.CountDownLatch$Sync",
              () -> uninterrupted(() -> new CountDownLatch(1).await()));
        Condition condition = nobody.newCondition();
        waits("condition", "java_park", "-", locks + "AbstractQueuedSynchronizer$ConditionObject", () -> {
            nobody.lock();
            condition.awaitUninterruptibly();
        });
        waits("blocker", "java_park", "-", "Locks$Thing", () -> {
            while (true) {
                LockSupport.park(waited);
            }
        });
        // Notified, but somebody else has the monitor meanwhile.
        Thread.sleep(10);
        waits("again", "java_monitor", "notifier", "Locks$Thing", () -> {
            synchronized (again) {
                uninterrupted(again::wait);
            }
        });
        await(Thread.State.WAITING, all.get(all.size() - 1));
        Thread waiter = all.get(all.size() - 1);
        start("notifier", () -> {
            synchronized (again) {
                again.notify();
                forever();
            }
        });
        await(Thread.State.BLOCKED, waiter);
        if (hash == 0) {
            System.out.println("hash");
        }
    }

    static void monitors(Object first, Object second, CountDownLatch both) {
        synchronized (first) {
            both.countDown();
            uninterrupted(both::await);
            synchronized (second) {
                forever();
            }
        }
    }

    static void locks(ReentrantLock first, ReentrantLock second, CountDownLatch both) {
        first.lock();
        both.countDown();
        uninterrupted(both::await);
        second.lock();
    }

    /** Three cycles: of monitors, of locks, and of one of each. */
    static void deadlocks() {
        Object a = new Thing();
        Object b = new Thing();
        CountDownLatch ab = new CountDownLatch(2);
        start("mon-ab", () -> monitors(a, b, ab));
        start("mon-ba", () -> monitors(b, a, ab));
        ReentrantLock c = new ReentrantLock();
        ReentrantLock d = new ReentrantLock();
        CountDownLatch cd = new CountDownLatch(2);
        start("lock-cd", () -> locks(c, d, cd));
        start("lock-dc", () -> locks(d, c, cd));
        Object e = new Thing();
        ReentrantLock f = new ReentrantLock();
        CountDownLatch ef = new CountDownLatch(2);
        start("mix-ef", () -> {
            synchronized (e) {
                ef.countDown();
                uninterrupted(ef::await);
                f.lock();
            }
        });
        start("mix-fe", () -> {
            f.lock();
            ef.countDown();
            uninterrupted(ef::await);
            synchronized (e) {
                forever();
            }
        });
        System.out.println("cycle mon-ab mon-ba");
        System.out.println("cycle lock-cd lock-dc");
        System.out.println("cycle mix-ef mix-fe");
    }

    static void classes() {
        both = new CountDownLatch(2);
        start("class-ab", First::touch);
        start("class-ba", Second::touch);
        System.out.println("cycle class-ab class-ba");
    }

    public static void main(String[] args) throws InterruptedException {
        if (args[0].equals("kinds")) {
            kinds();
        } else if (args[0].equals("classes")) {
            classes();
        } else {
            deadlocks();
        }
        System.out.println("ready");
        new SynchronousQueue<Object>().take();
    }
}
