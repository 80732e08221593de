// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls at a random depth, which the functions' names say: d7 calls d8, and below d0 is turn. At the bottom is one of the leaves:
// a loop, memory that is allocated, a stack that grows, the clock, a map, functions that are called by others. Collections run
// meanwhile, and signals that preempt.
//
// arguments: goroutines; "naps": each leaf waits for a moment instead
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sort"
	"strconv"
	"syscall"
	"time"
)

const deepest = 40

var sink int
var kept []byte

//go:noinline
func spin(n int) int {
	total := 0
	for i := 0; i < n; i++ {
		total += i * i
	}
	return total
}

//go:noinline
func loop() { sink = spin(20000) }

//go:noinline
func allocating() {
	for i := 0; i < 50; i++ {
		kept = make([]byte, 1000+i)
	}
}

//go:noinline
func growing() { sink = grown(1) }

//go:noinline
func grown(n int) int {
	var space [9000]byte
	space[n] = byte(spin(500))
	return int(space[n])
}

//go:noinline
func timing() {
	for i := 0; i < 50; i++ {
		sink += time.Now().Nanosecond()
	}
}

//go:noinline
func sorting() {
	list := []int{3, 1, 2, 5, 4}
	sort.Slice(list, key(list))
}

//go:noinline
func key(list []int) func(a, b int) bool {
	return func(a, b int) bool {
		sink = spin(300)
		return list[a] < list[b]
	}
}

//go:noinline
func mapping() {
	all := map[int]int{}
	for i := 0; i < 100; i++ {
		all[i*i] = i
	}
	sink = len(all)
}

//go:noinline
func calling() {
	for i := 0; i < 50; i++ {
		sink += syscall.Getppid()
	}
}

//go:noinline
func napping() {
	duration := syscall.Timespec{Nsec: int64(rand.Intn(20000000))}
	syscall.Nanosleep(&duration, nil)
}

var leaves = []func(){loop, allocating, growing, timing, sorting, mapping, calling}

//go:noinline
func d0(deepest int) {
	if deepest == 0 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d1(deepest)
	}
	sink++
}

//go:noinline
func d1(deepest int) {
	if deepest == 1 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d2(deepest)
	}
	sink++
}

//go:noinline
func d2(deepest int) {
	if deepest == 2 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d3(deepest)
	}
	sink++
}

//go:noinline
func d3(deepest int) {
	if deepest == 3 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d4(deepest)
	}
	sink++
}

//go:noinline
func d4(deepest int) {
	if deepest == 4 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d5(deepest)
	}
	sink++
}

//go:noinline
func d5(deepest int) {
	if deepest == 5 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d6(deepest)
	}
	sink++
}

//go:noinline
func d6(deepest int) {
	if deepest == 6 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d7(deepest)
	}
	sink++
}

//go:noinline
func d7(deepest int) {
	if deepest == 7 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d8(deepest)
	}
	sink++
}

//go:noinline
func d8(deepest int) {
	if deepest == 8 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d9(deepest)
	}
	sink++
}

//go:noinline
func d9(deepest int) {
	if deepest == 9 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d10(deepest)
	}
	sink++
}

//go:noinline
func d10(deepest int) {
	if deepest == 10 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d11(deepest)
	}
	sink++
}

//go:noinline
func d11(deepest int) {
	if deepest == 11 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d12(deepest)
	}
	sink++
}

//go:noinline
func d12(deepest int) {
	if deepest == 12 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d13(deepest)
	}
	sink++
}

//go:noinline
func d13(deepest int) {
	if deepest == 13 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d14(deepest)
	}
	sink++
}

//go:noinline
func d14(deepest int) {
	if deepest == 14 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d15(deepest)
	}
	sink++
}

//go:noinline
func d15(deepest int) {
	if deepest == 15 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d16(deepest)
	}
	sink++
}

//go:noinline
func d16(deepest int) {
	if deepest == 16 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d17(deepest)
	}
	sink++
}

//go:noinline
func d17(deepest int) {
	if deepest == 17 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d18(deepest)
	}
	sink++
}

//go:noinline
func d18(deepest int) {
	if deepest == 18 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d19(deepest)
	}
	sink++
}

//go:noinline
func d19(deepest int) {
	if deepest == 19 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d20(deepest)
	}
	sink++
}

//go:noinline
func d20(deepest int) {
	if deepest == 20 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d21(deepest)
	}
	sink++
}

//go:noinline
func d21(deepest int) {
	if deepest == 21 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d22(deepest)
	}
	sink++
}

//go:noinline
func d22(deepest int) {
	if deepest == 22 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d23(deepest)
	}
	sink++
}

//go:noinline
func d23(deepest int) {
	if deepest == 23 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d24(deepest)
	}
	sink++
}

//go:noinline
func d24(deepest int) {
	if deepest == 24 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d25(deepest)
	}
	sink++
}

//go:noinline
func d25(deepest int) {
	if deepest == 25 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d26(deepest)
	}
	sink++
}

//go:noinline
func d26(deepest int) {
	if deepest == 26 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d27(deepest)
	}
	sink++
}

//go:noinline
func d27(deepest int) {
	if deepest == 27 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d28(deepest)
	}
	sink++
}

//go:noinline
func d28(deepest int) {
	if deepest == 28 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d29(deepest)
	}
	sink++
}

//go:noinline
func d29(deepest int) {
	if deepest == 29 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d30(deepest)
	}
	sink++
}

//go:noinline
func d30(deepest int) {
	if deepest == 30 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d31(deepest)
	}
	sink++
}

//go:noinline
func d31(deepest int) {
	if deepest == 31 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d32(deepest)
	}
	sink++
}

//go:noinline
func d32(deepest int) {
	if deepest == 32 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d33(deepest)
	}
	sink++
}

//go:noinline
func d33(deepest int) {
	if deepest == 33 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d34(deepest)
	}
	sink++
}

//go:noinline
func d34(deepest int) {
	if deepest == 34 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d35(deepest)
	}
	sink++
}

//go:noinline
func d35(deepest int) {
	if deepest == 35 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d36(deepest)
	}
	sink++
}

//go:noinline
func d36(deepest int) {
	if deepest == 36 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d37(deepest)
	}
	sink++
}

//go:noinline
func d37(deepest int) {
	if deepest == 37 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d38(deepest)
	}
	sink++
}

//go:noinline
func d38(deepest int) {
	if deepest == 38 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d39(deepest)
	}
	sink++
}

//go:noinline
func d39(deepest int) {
	if deepest == 39 {
		leaves[rand.Intn(len(leaves))]()
	} else {
		d40(deepest)
	}
	sink++
}

//go:noinline
func d40(deepest int) {
	sink++
}

//go:noinline
func turn() {
	d0(rand.Intn(deepest))
	sink++
}

//go:noinline
func work() {
	for {
		turn()
	}
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	if len(os.Args) > 2 && os.Args[2] == "naps" {
		leaves = []func(){napping}
	}
	runtime.GOMAXPROCS(n)
	for i := 1; i < n; i++ {
		go work()
	}
	fmt.Println("ready")
	work()
}
