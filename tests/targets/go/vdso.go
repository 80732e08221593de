// SPDX-License-Identifier: LGPL-2.1-or-later

// Asks for the time all the time, each time with another depth of calls: on the system's stack, while the
// goroutine's stack is soon another.
package main

import (
	"fmt"
	"time"
)

var sink int64

//go:noinline
func depth(n int) int64 {
	if n == 0 {
		return time.Now().UnixNano()
	}
	return depth(n-1) + 1
}

func worker() {
	for n := 0; ; n++ {
		sink += depth(n % 17)
	}
}

func main() {
	for i := 0; i < 3; i++ {
		go worker()
	}
	fmt.Println("ready")
	select {}
}
