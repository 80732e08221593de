/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inner <- middle <- outer, compiled, asleep; with an argument it computes. Nothing but a number
 * tells the last call from those before, so that the compiled code is not left. */
public class Chain {
	static int sink;

	static int inner(int n, long sleep) throws InterruptedException {
		for (int i = 0; i < n; i++)
			sink = (sink + i * 7) % 1000003;
		Thread.sleep(sleep);
		return sink;
	}

	static int middle(int n, long sleep) throws InterruptedException {
		return inner(n, sleep) + 1;
	}

	static int outer(int n, long sleep) throws InterruptedException {
		return middle(n, sleep) + 1;
	}

	static int loop(int n, int calls, long sleep) throws InterruptedException {
		int sum = 0;
		for (int i = 0; i < calls; i++)
			sum += outer(n, sleep);
		return sum;
	}

	public static void main(String[] args) throws InterruptedException {
		boolean busy = args.length > 0;
		for (int i = 0; i < 300; i++)
			loop(20, 100, 0);
		System.out.println("ready");
		for (;;)
			loop(busy ? 1000000 : 20, 1000000, busy ? 0 : 1000000000L);
	}
}
