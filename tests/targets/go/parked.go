// SPDX-License-Identifier: LGPL-2.1-or-later

// Goroutines that wait, in each way in which they can, for runtime_goroutines.py. Further ones, whose number
// is the first argument, wait for one channel. With a second argument others run, and wake each other.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

var (
	mutex    sync.Mutex
	group    sync.WaitGroup
	cond     = sync.NewCond(&sync.Mutex{})
	full     = make(chan int)
	empty    = make(chan int)
	crowd    = make(chan int)
	started  sync.WaitGroup
	sink     int
	listener net.Listener
)

//go:noinline
func receive(depth int) int {
	if depth > 0 {
		return receive(depth-1) + 1
	}
	return <-empty
}

//go:noinline
func send() { full <- 1 }

//go:noinline
func choose() {
	select {
	case n := <-empty:
		sink = n
	case full <- 2:
	}
}

//go:noinline
func lock() { mutex.Lock(); sink++ }

//go:noinline
func sleep() { time.Sleep(time.Hour) }

//go:noinline
func accept() {
	_, err := listener.Accept()
	fmt.Println(err)
}

//go:noinline
func wait() { group.Wait() }

//go:noinline
func condition() { cond.L.Lock(); cond.Wait() }

//go:noinline
func forever() { select {} }

//go:noinline
func none() { var c chan int; <-c }

type hub struct{ n int }

//go:noinline
func (h *hub) serve() { h.n += <-crowd }

//go:noinline
func spin(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += i * n
	}
	return s
}

//go:noinline
func ping(from, to chan int) {
	for n := range from {
		sink += spin(1000)
		to <- n + 1
	}
}

func begin(f func()) {
	started.Add(1)
	go func() {
		started.Done()
		f()
	}()
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	listener, _ = net.Listen("tcp", "127.0.0.1:0")
	mutex.Lock()
	group.Add(1)
	begin(func() { receive(3) })
	begin(send)
	begin(choose)
	begin(lock)
	begin(sleep)
	begin(accept)
	begin(wait)
	begin(condition)
	begin(forever)
	begin(none)
	for i := 0; i < n; i++ {
		h := &hub{}
		begin(h.serve)
	}
	started.Wait()
	if len(os.Args) > 2 {
		for i := 0; i < 4; i++ {
			a, b := make(chan int), make(chan int)
			go ping(a, b)
			go ping(b, a)
			a <- 0
		}
	}
	fmt.Println("ready")
	receive(1)
}
