//! Several observers of single blocks in one pass.
//!
//! The pass keeps a place with each block, which is the same for all observers; what they keep with it stays with them:
//!
//! ```text
//!  the pass     block ──► place 2
//!  observers              [ a0 a1 a2 ]  [ b0 b1 b2 ]
//! ```

use crate::count::watch::{Birth, Death, Instant, InvalidFree, Life, Mapping, Watch};
use std::fmt;

/// An observer among others, and what its findings become in a context.
pub trait Observer<C, T> {
    /// As of [`Watch`], at the place of the block.
    fn born(&mut self, place: usize, birth: &Birth, old: Option<&Life<usize>>);
    /// As of [`Watch`].
    fn died(&mut self, life: &Life<usize>, death: &Death);
    /// As of [`Watch`].
    fn freed_invalid(&mut self, at: Instant, free: &InvalidFree);
    /// As of [`Watch`].
    fn mapped(&mut self, at: Instant, mapping: &Mapping);
    /// What it found.
    fn finish(self: Box<Self>, context: &C) -> T;
}

/// An observer whose findings become something else by `finish`.
pub fn observer<W, C, T>(watch: W, finish: fn(&C, W) -> T) -> Box<dyn Observer<C, T>>
where
    W: Watch + 'static,
    C: 'static,
    T: 'static,
{
    Box::new(Attaching { watch, attached: Vec::new(), finish })
}

/// Observers that are told the same.
pub struct Several<C, T> {
    observers: Vec<Box<dyn Observer<C, T>>>,
    /// Places of blocks that have died.
    free: Vec<usize>,
    /// Number of places, free ones included.
    places: usize,
}

impl<C, T> Several<C, T> {
    /// None of them has been told anything.
    pub fn new(observers: Vec<Box<dyn Observer<C, T>>>) -> Self {
        Self { observers, free: Vec::new(), places: 0 }
    }

    /// What each of them found, in their order.
    pub fn finish(self, context: &C) -> impl Iterator<Item = T> {
        self.observers.into_iter().map(|observer| observer.finish(context))
    }
}

impl<C, T> fmt::Debug for Several<C, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} observers", self.observers.len())
    }
}

impl<C, T> Watch for Several<C, T> {
    type Attached = usize;

    fn born(&mut self, birth: &Birth, old: Option<&Life<usize>>) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        });
        self.observers.iter_mut().for_each(|observer| observer.born(place, birth, old));
        place
    }

    fn died(&mut self, life: &Life<usize>, death: &Death) {
        self.observers.iter_mut().for_each(|observer| observer.died(life, death));
        self.free.push(life.attached);
    }

    fn freed_invalid(&mut self, at: Instant, free: &InvalidFree) {
        self.observers.iter_mut().for_each(|observer| observer.freed_invalid(at, free));
    }

    fn mapped(&mut self, at: Instant, mapping: &Mapping) {
        self.observers.iter_mut().for_each(|observer| observer.mapped(at, mapping));
    }
}

/// An observer with what it keeps with blocks, by place.
struct Attaching<W: Watch, C, T> {
    watch: W,
    attached: Vec<W::Attached>,
    finish: fn(&C, W) -> T,
}

impl<W: Watch, C, T> Attaching<W, C, T> {
    fn known(&self, life: &Life<usize>) -> Life<W::Attached> {
        life.with(self.attached[life.attached])
    }
}

impl<W: Watch, C, T> Observer<C, T> for Attaching<W, C, T> {
    fn born(&mut self, place: usize, birth: &Birth, old: Option<&Life<usize>>) {
        // An old block that has died already may have had the same place: what was kept there is read first.
        let old = old.map(|life| self.known(life));
        let attached = self.watch.born(birth, old.as_ref());
        match self.attached.get_mut(place) {
            Some(kept) => *kept = attached,
            None => self.attached.push(attached),
        }
    }

    fn died(&mut self, life: &Life<usize>, death: &Death) {
        let life = self.known(life);
        self.watch.died(&life, death);
    }

    fn freed_invalid(&mut self, at: Instant, free: &InvalidFree) {
        self.watch.freed_invalid(at, free);
    }

    fn mapped(&mut self, at: Instant, mapping: &Mapping) {
        self.watch.mapped(at, mapping);
    }

    fn finish(self: Box<Self>, context: &C) -> T {
        (self.finish)(context, self.watch)
    }
}
