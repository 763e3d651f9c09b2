//! Histories of made captures.
