//! Engines do the work of their tasks.
