/* SPDX-License-Identifier: LGPL-2.1-or-later */
import java.io.ByteArrayOutputStream;
import java.io.InputStream;

/* A thread that never is warm: every few thousand turns its chain of calls, f1 to f6, comes from a new class loader, so
 * that it is interpreted, compiled and deoptimised anew. Exceptions go through it all the time: made once and new ones, by
 * athrow and by the VM (null, index, cast, division, a native method), with and without handlers, locks and finally. */
public class Warming {
	public interface Chain {
		long turn(long n) throws Exception;
	}

	public static class Body implements Chain {
		static final RuntimeException ONCE = new RuntimeException("made once", null, false, false) {};
		static long sum;
		static final int[] four = new int[4];
		static Object nothing, something = "text";

		static long f6(long n) throws Exception {
			sum += n;
			switch ((int) (n % 11)) {
			case 0: throw ONCE;
			case 1: throw new IllegalStateException("new");
			case 2: return nothing.hashCode();
			case 3: return four[(int) (n % 7) + 4];
			case 4: return ((Integer) something).longValue();
			case 5: return n / (nothing == null ? 0 : 1);
			case 6: System.arraycopy(four, 0, four, 2, 3); return n;
			case 7: return Class.forName("no.such.Name", false, null).hashCode();
			default: return sum;
			}
		}

		static synchronized long f5(long n) throws Exception {
			return f6(n) + 1;
		}

		long f4(long n) throws Exception {
			try {
				return f5(n) + 1;
			} catch (IllegalArgumentException e) {
				return 0;
			}
		}

		long f3(long n) throws Exception {
			synchronized (this) {
				return f4(n) + 1;
			}
		}

		static long f2(Body body, long n) throws Exception {
			try {
				return body.f3(n) + 1;
			} finally {
				sum++;
			}
		}

		static long f1(Body body, long n) throws Exception {
			try {
				return f2(body, n) + 1;
			} catch (NullPointerException e) {
				throw new IllegalStateException(e);
			}
		}

		public long turn(long n) {
			try {
				return f1(this, n);
			} catch (Exception e) {
				return sum--;
			}
		}
	}

	static class Loader extends ClassLoader {
		Class<?> define(String name, byte[] bytes) {
			return defineClass(name, bytes, 0, bytes.length);
		}
	}

	static byte[] read(String name) throws Exception {
		try (InputStream in = Warming.class.getResourceAsStream("/" + name + ".class")) {
			ByteArrayOutputStream out = new ByteArrayOutputStream();
			byte[] part = new byte[8192];
			for (int n; (n = in.read(part)) > 0;)
				out.write(part, 0, n);
			return out.toByteArray();
		}
	}

	static Chain anew(byte[] body, byte[] once) throws Exception {
		Loader loader = new Loader();
		loader.define("Warming$Body$1", once);
		return (Chain) loader.define("Warming$Body", body).getDeclaredConstructor().newInstance();
	}

	static void compute(long turns) {
		try {
			byte[] body = read("Warming$Body"), once = read("Warming$Body$1");
			for (;;) {
				Chain chain = anew(body, once);
				for (long n = 0; n < turns; n++)
					chain.turn(n * 7919 >>> 2);
			}
		} catch (Throwable e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) throws Exception {
		long turns = args.length > 0 ? Long.parseLong(args[0]) : 20000;
		new Thread(() -> compute(turns), "computing").start();
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
