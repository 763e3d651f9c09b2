// Calls C from the main goroutine, from deep in another one, and from Go that C has called, before and after that
// goroutine's stack is moved; each asks for another size.
package main

/*
#include <stdlib.h>

extern void goBack(int);
static inline void allocate(int size) { *(volatile char *)malloc(size) = 1; }
static inline void through(int size) { goBack(size); *(volatile char *)malloc(size + 3) = 1; }
*/
import "C"

//export goBack
func goBack(size C.int) {
	C.allocate(size + 1)
	grow(100000)
	C.allocate(size + 2)
}

// Uses more stack than a goroutine has at first.
//
//go:noinline
func grow(depth int) int {
	if depth == 0 {
		return 0
	}
	return grow(depth-1) + 1
}

//go:noinline
func deep(depth int, last func()) {
	if depth == 0 {
		last()
	} else {
		deep(depth-1, last)
	}
}

func main() {
	for i := 0; i < 100; i++ {
		C.allocate(1001)
	}
	done := make(chan bool)
	go func() {
		deep(20, func() { C.allocate(2001) })
		grow(1000)
		deep(20, func() { C.through(3001) })
		done <- true
	}()
	<-done
}
