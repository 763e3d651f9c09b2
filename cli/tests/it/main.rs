//! The built command, driven as users drive it.

mod agent;
mod doctor;
mod exports;
mod extremes;
mod family;
mod files;
mod help;
mod launch;
mod names;
mod output;
mod package;
mod refusals;
mod signals;
mod support;
mod verdicts;
