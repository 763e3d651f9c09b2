//! What a program is, and why it cannot be recorded.
