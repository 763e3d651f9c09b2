//! Exact in-process stack unwinding from .eh_frame, without allocation or locks.
