/* Overwrites what functions that have returned have left on the stack below, so that no word there leads to what they have lost. */
#ifndef WIPE_H
#define WIPE_H

__attribute__((noinline)) static void wipe(void) {
  volatile char room[16384];
  for (unsigned i = 0; i < sizeof room; i++) room[i] = 0;
}
#endif
