//! Circles of files: strongly connected components of their imports, by Tarjan's algorithm.

use super::imports::{Module, Package};
use std::collections::HashMap;

/// Those of more than one file, each in order. Imports between a module and one around it do not count.
pub(crate) fn find(package: &Package) -> Vec<Vec<Module>> {
    let numbers: HashMap<&Module, usize> =
        package.modules.iter().enumerate().map(|(i, module)| (module, i)).collect();
    let mut arrows = vec![Vec::new(); package.modules.len()];
    for import in &package.imports {
        let is_one_thing = import.from.starts_with(&import.to) || import.to.starts_with(&import.from);
        if let (false, Some(&from), Some(&to)) =
            (is_one_thing, numbers.get(&import.from), numbers.get(&import.to))
        {
            arrows[from].push(to);
        }
    }
    let mut search = Search {
        arrows: &arrows,
        index: vec![None; arrows.len()],
        low: vec![0; arrows.len()],
        ..Search::default()
    };
    for node in 0..arrows.len() {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    let named = |circle: Vec<usize>| {
        let mut names: Vec<Module> = circle.into_iter().map(|node| package.modules[node].clone()).collect();
        names.sort();
        names
    };
    search.found.into_iter().filter(|circle| circle.len() > 1).map(named).collect()
}

#[derive(Default)]
struct Search<'a> {
    arrows: &'a [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    path: Vec<usize>,
    visited: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        let number = self.visited;
        self.visited += 1;
        (self.index[node], self.low[node]) = (Some(number), number);
        self.path.push(node);
        for &next in &self.arrows[node] {
            match self.index[next] {
                None => {
                    self.visit(next);
                    self.low[node] = self.low[node].min(self.low[next]);
                }
                Some(index) if self.path.contains(&next) => self.low[node] = self.low[node].min(index),
                Some(_) => {}
            }
        }
        if self.low[node] == number {
            let start = self.path.iter().position(|&at| at == node).expect("it is on the path");
            self.found.push(self.path.split_off(start));
        }
    }
}
