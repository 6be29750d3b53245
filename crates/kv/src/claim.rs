//! [`Claim`]: what an update must have for itself.

/// A thing that an update relies on beyond the rows that it writes: a key with all of its versions,
/// an upload with its parts, the emptiness of a bucket.
///
/// Updates of this key space are serial, so a claim costs nothing here. Where several processes
/// share one, updates with conflicting claims do not commit at the same time.
pub trait Claim {
    /// Appends the name of the thing. Claims of the same name conflict, unless both are shared.
    fn append_name(&self, name: &mut Vec<u8>);

    /// `true` if others may claim the same thing at the same time, as long as they share it, too.
    fn is_shared(&self) -> bool;
}
