// SPDX-License-Identifier: LGPL-2.1-or-later

// A known chain of calls, interrupted anywhere: in a loop, in the vDSO, in the allocator and the collector, in
// asm, and while the stack grows.
package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

var sink int

//go:noinline
func f6(n int) int {
	s := 0
	switch n % 5 {
	case 0:
		for i := 0; i < 2000; i++ {
			s += i * n
		}
	case 1:
		s += int(time.Now().UnixNano() & 7)
	case 2:
		s += len(strings.Split("a,b,c,d,e,f", ","))
	case 3:
		m := map[string]int{}
		for i := 0; i < 20; i++ {
			m[strconv.Itoa(i)] = i
		}
		s += len(m)
	case 4:
		b := make([]byte, 70000)
		s += len(b)
	}
	return s
}

//go:noinline
func f5(n int) int { return f6(n) + 1 }

func inlined(n int) int { return f5(n) + 1 }

//go:noinline
func f4(n int) int { var a [64]int; a[n&63] = n; return inlined(n) + a[3] }

//go:noinline
func f3(n int) int { return f4(n) + 1 }

//go:noinline
func f2(n int) int { defer func() { sink++ }(); return f3(n) + 1 }

//go:noinline
func f1(n int) int { return f2(n) + 1 }

//go:noinline
func grow(n int) int {
	var a [200]int
	a[n%200] = n
	if n > 0 {
		return grow(n-1) + a[n%7]
	}
	return a[0]
}

func worker() {
	for n := 0; ; n++ {
		sink += f1(n)
		if n%100 == 0 {
			done := make(chan int)
			go func() { done <- grow(50) }()
			<-done
		}
	}
}

func main() {
	for i := 0; i < 3; i++ {
		go worker()
	}
	fmt.Println("ready")
	select {}
}
