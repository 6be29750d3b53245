//! The results of the decoders of a body.

use bytes::Bytes;

/// The result of one decoder step.
pub(super) enum Step {
    /// A part of the body.
    Data(Bytes),
    /// The input is exhausted.
    NeedsInput,
    /// The body has ended; further input is ignored.
    Ended,
}
