// SPDX-License-Identifier: LGPL-2.1-or-later

// C code of the standard library, which Go's own linker puts into the program, without tables.
package main

import (
	"fmt"
	"os/user"
	"strconv"
)

//go:noinline
func look(n int) bool {
	_, err := user.Lookup("nobody" + strconv.Itoa(n))
	return err == nil
}

func worker() {
	for n := 0; ; n++ {
		look(n % 3)
	}
}

func main() {
	for i := 0; i < 3; i++ {
		go worker()
	}
	fmt.Println("ready")
	select {}
}
