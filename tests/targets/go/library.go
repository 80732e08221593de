// SPDX-License-Identifier: LGPL-2.1-or-later

// A library for C programs: built with -buildmode=c-shared, for host.c.
package main

import "C"

//export spin_in_go
func spin_in_go(n C.int) C.int { return C.int(g1(int(n))) }

//go:noinline
func g1(n int) int { return g2(n) + 1 }

//go:noinline
func g2(n int) int {
	s := 0
	for i := 0; i < 100000; i++ {
		s += i * n
	}
	return s
}

func main() {}
