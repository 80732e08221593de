// SPDX-License-Identifier: LGPL-2.1-or-later
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that have locks while no thread carries them, and threads that wait for these: "waits NAME KIND OWNER",
 * where OWNER is the name of the virtual thread, or "-" for one without a name. By reflection, as Java 17 has none of it.
 */
public class Unmounted {
    static final ReentrantLock lock = new ReentrantLock();
    static final ReentrantLock nameless = new ReentrantLock();
    static final Object monitor = new Object();
    static final CountDownLatch held = new CountDownLatch(3);

    static void virtual(String name, Runnable body) throws Exception {
        Class<?> type = Class.forName("java.lang.Thread$Builder$OfVirtual");
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        if (name != null)
            builder = type.getMethod("name", String.class).invoke(builder, name);
        type.getMethod("start", Runnable.class).invoke(builder, body);
    }

    static void hold() {
        held.countDown();
        while (true)
            LockSupport.park();
    }

    static void middle(int depth) {
        if (depth > 0)
            middle(depth - 1);
        else
            hold();
    }

    static void outer(ReentrantLock which) {
        which.lock();
        middle(3);
    }

    /** A monitor that was waited for names its owner; of another one the thread's own stack says it. */
    static void enter() {
        synchronized (monitor) {
            try {
                monitor.wait(1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            middle(0);
        }
    }

    static void waits(String name, String kind, String owner, Runnable body) {
        System.out.println("waits " + name + " " + kind + " " + owner);
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void enterToo() {
        synchronized (monitor) {
            hold();
        }
    }

    public static void main(String[] args) throws Exception {
        virtual("orders", () -> outer(lock));
        virtual(null, () -> outer(nameless));
        virtual("stock", Unmounted::enter);
        held.await();
        waits("lock-1", "java_lock", "orders", lock::lock);
        waits("lock-2", "java_lock", "orders", lock::lock);
        waits("nameless", "java_lock", "-", nameless::lock);
        waits("monitor", "java_monitor", "stock", Unmounted::enterToo);
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }
}
