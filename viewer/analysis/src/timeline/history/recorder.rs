//! The observer that records the history of a pass.

use super::History;
use super::during::Regions;
use super::slices::Slices;
use super::spectrum::Spectrum;
use crate::base::cost::Amount;
use crate::count::estimate::Estimator;
use crate::count::watch::{Birth, Death, End, Instant, Life, Moved, Watch};
use crate::lifetimes::frees::Frees;
use crate::lifetimes::shapes::Shapes;
use capture::{Ended, Event, NodeId, ProcessId, Sampling, Tables};

/// Records the history of the pass that it observes.
#[derive(Debug)]
pub struct Recorder {
    estimator: Estimator,
    slices: Slices,
    spectrum: Spectrum,
    regions: Regions,
    shapes: Shapes,
    frees: Option<Frees>,
}

impl Recorder {
    /// For a pass over events of the capture that these tables belong to.
    pub fn new(tables: &Tables) -> Self {
        Self {
            estimator: Estimator::new(Sampling::new(tables.metadata.sample_interval)),
            slices: Slices::new(tables),
            spectrum: Spectrum::default(),
            regions: Regions::new(tables),
            shapes: Shapes::new(tables),
            frees: tables.metadata.has_free_stacks().then(|| Frees::new(tables)),
        }
    }

    /// Finishes the history after the pass.
    pub fn finish(self) -> History {
        let spectrum = self.spectrum.whole(&self.estimator);
        let during = self.regions.finish(&self.estimator);
        let shapes = self.shapes.finish();
        let frees = self.frees.map(|frees| frees.passed().collect()).unwrap_or_default();
        History { spectrum, during, shapes, frees, ..self.slices.finish() }
    }
}

impl Watch for Recorder {
    /// When the block was born.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        let block = self.estimator.count(birth.size).amount;
        self.spectrum.size(birth.size).allocated += block;
        self.slices.block_born(birth, block);
        self.regions.block_born(birth, block);
        self.shapes.born(birth, None)
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        let block = self.estimator.count(life.size).amount;
        match death.end {
            End::Left { .. } => self.spectrum.size(life.size).left += block,
            End::Freed { is_temporary, .. } => {
                *self.spectrum.life(death.at.time.saturating_sub(life.attached)) += block;
                if is_temporary {
                    self.spectrum.size(life.size).temporary += block;
                }
            }
            End::Resized { .. } => {
                *self.spectrum.life(death.at.time.saturating_sub(life.attached)) += block;
            }
            End::Displaced { .. } => {}
        }
        self.slices.block_died(life, death, block);
        self.shapes.died(life, death);
        if let Some(frees) = &mut self.frees {
            frees.died(life, death);
        }
    }

    fn moved(&mut self, at: Instant, process: ProcessId, node: NodeId, moved: &Moved) {
        self.slices.moved(at, process, node, moved);
    }

    fn left(&mut self, at: Instant, process: ProcessId, node: NodeId, held: Amount, ended: Ended) {
        self.slices.left(at, process, node, held, ended);
    }

    fn event(&mut self, at: Instant, event: &Event) {
        self.slices.event(at, event);
        self.regions.event(event);
    }
}
