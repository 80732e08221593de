// SPDX-License-Identifier: LGPL-2.1-or-later

// Allocates in functions of its own, objects that it keeps, and others that it drops, for runtime_go_heap.py. The first
// argument is how many bytes lie between two samples of the runtime's profile, which is there as MemProfile() is called.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

const (
	objects = 2000
	large   = 8192
	small   = 1024
)

var kept [][]byte
var last []byte

//go:noinline
func keep() { kept = append(kept, make([]byte, large)) }

//go:noinline
func drop() { last = make([]byte, small) }

func main() {
	rate, _ := strconv.Atoi(os.Args[1])
	runtime.MemProfileRate = rate
	kept = make([][]byte, 0, objects)
	for i := 0; i < objects; i++ {
		keep()
		drop()
	}
	last = nil
	for i := 0; i < 3; i++ {
		runtime.GC()
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	var records [1]runtime.MemProfileRecord
	runtime.MemProfile(records[:], true)
	fmt.Println(len(kept))
}
