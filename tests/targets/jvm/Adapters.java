// SPDX-License-Identifier: LGPL-2.1-or-later

/**
 * A thread that calls all the time from compiled code (c1, c3, c5) into code that stays interpreted (i2, i4, i6; the
 * options say so) and back, with arguments in registers and on the stack.
 */
public class Adapters {
    static volatile long sink;

    static long i6(Object o, int a, long b, double c, int d, long e, int f, long g, int h, long i, int j, double k) {
        return a + b + d + e + f + g + h + i + j + (long) (c + k);
    }

    static long c5(long a, Object b) {
        return i6(b, 1, a, 2.0, 3, 4, 5, 6, 7, 8, 9, 10.0) + 1;
    }

    static long i4(int a, int b, int c, int d, int e, int f, int g, int h, long i) {
        return c5(a + b, null) + c5(i, "x") + c + d + e + f + g + h;
    }

    static long c3(long a) {
        return i4(1, 2, 3, 4, 5, 6, 7, 8, a) + i4(1, 2, 3, 4, 5, 6, 7, 8, a + 1);
    }

    static long i2(double a, long b, long c, long d, long e, long f, long g, long h, long i) {
        return c3(b) + c3(c) + (long) a + d + e + f + g + h + i;
    }

    static long c1(long n) {
        return i2(1.0, n, 2, 3, 4, 5, 6, 7, 8);
    }

    static void compute() {
        for (long n = 0;; n++) {
            sink += c1(n);
        }
    }

    public static void main(String[] args) {
        for (long n = 0; n < 20000; n++) {
            sink += c1(n);
        }
        new Thread(Adapters::compute, "computing").start();
        System.out.println("ready");
    }
}
