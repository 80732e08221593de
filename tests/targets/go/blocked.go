// SPDX-License-Identifier: LGPL-2.1-or-later

// Goroutines that wait in system calls, each on a thread of its own, at the end of a known chain.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

type reader struct{ fd int }

//go:noinline
func (r *reader) read() int {
	var buffer [1]byte
	n, _ := syscall.Read(r.fd, buffer[:])
	return n
}

func inlined(r *reader) int { return r.read() + 1 }

//go:noinline
func outer(r *reader, depth int) int {
	if depth > 0 {
		return outer(r, depth-1) + 1
	}
	return inlined(r) + 1
}

func main() {
	for i := 0; i < 4; i++ {
		var fds [2]int
		if syscall.Pipe(fds[:]) != nil {
			os.Exit(1)
		}
		go func(depth int) {
			runtime.LockOSThread()
			func() { outer(&reader{fds[0]}, depth) }()
		}(i)
	}
	fmt.Println("ready")
	select {}
}
