//! Analysis of a capture and its views.
