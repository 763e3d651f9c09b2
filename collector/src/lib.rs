//! Drains the rings of recorded processes into one capture.
