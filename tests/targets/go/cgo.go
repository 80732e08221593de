// SPDX-License-Identifier: LGPL-2.1-or-later

// Go that calls C that calls Go, up to three times in each other.
package main

/*
extern int go_back(int n);
static int __attribute__((noinline)) c_leaf(int n)
{
	volatile int s = 0;
	for (int i = 0; i < 300; i++)
		s += i * n;
	return s;
}
static int __attribute__((noinline)) c_mid(int n)
{
	int r = c_leaf(n);
	return n > 0 ? r + go_back(n - 1) : r + 1;
}
static int __attribute__((noinline)) c_outer(int n) { return c_mid(n) + 1; }
*/
import "C"
import "fmt"

//export go_back
func go_back(n C.int) C.int { return through_c(n) + 1 }

//go:noinline
func through_c(n C.int) C.int { return C.c_outer(n) + 1 }

//go:noinline
func top(n int) int { return int(through_c(C.int(n))) }

func worker() {
	for n := 0; ; n++ {
		top(n % 4)
	}
}

func main() {
	for i := 0; i < 2; i++ {
		go worker()
	}
	fmt.Println("ready")
	select {}
}
