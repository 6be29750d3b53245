//! The rules by which requests are taken.

/// The rules by which requests are taken.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The region of the server.
    pub region: String,
    /// Signatures for any region are taken: each covers the one that it names.
    pub takes_any_region: bool,
    /// The access key of the user who is taken for the sender of every request, whatever its signature. None
    /// where signatures are checked.
    pub everyone_is: Option<String>,
}

impl Rules {
    /// Checked signatures for this region alone.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn strict(region: &str) -> Rules {
        Rules { region: region.to_owned(), takes_any_region: false, everyone_is: None }
    }
}
