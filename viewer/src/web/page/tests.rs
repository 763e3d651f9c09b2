//! Pages of made captures.
