//! Allocates in closures, iterators, trait objects and threads, and while a panic unwinds.

use std::panic::{AssertUnwindSafe, catch_unwind};

unsafe extern "C" {
    safe fn probe(size: usize);
}

trait Shape {
    fn visit(&self, size: usize);
}

struct Square;

impl Shape for Square {
    #[inline(never)]
    fn visit(&self, size: usize) {
        probe(size);
    }
}

struct Witness(usize);

impl Drop for Witness {
    fn drop(&mut self) {
        probe(self.0);
    }
}

#[inline(never)]
fn panics(depth: usize) {
    let _witness = Witness(70010 + depth);
    if depth == 0 {
        panic!("on purpose");
    }
    panics(depth - 1);
}

#[inline(never)]
fn generic<T: Into<usize>>(size: T) {
    probe(size.into());
}

fn main() {
    let mut numbers = vec![3, 1, 2];
    let mut next = 70000;
    numbers.sort_by(|left, right| {
        next += 1;
        probe(next);
        left.cmp(right)
    });
    let shape: Box<dyn Shape> = Box::new(Square);
    shape.visit(70020);
    generic(7021u16);
    (70030..70033).map(|size| probe(size)).for_each(drop);
    std::panic::set_hook(Box::new(|_| probe(70040)));
    let _ = catch_unwind(AssertUnwindSafe(|| panics(2)));
    std::thread::spawn(|| probe(70041)).join().unwrap();
}
