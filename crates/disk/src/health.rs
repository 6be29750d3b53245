//! The poison flag.
