//! Tests of the layer as a whole.
