//! The segments of a generation, in order and without a gap.

use crate::Error;
use crate::names::Name;
use crate::repository::{Generation, Repository};
use crate::segment::Segment;
use crate::target::TargetError;

/// Reads the segments of a generation from the one with number `first` on, which follows the record `after`.
#[derive(Debug)]
pub(crate) struct Log<'a> {
    repository: &'a Repository,
    generation: u64,
    next: u64,
    /// One past the last segment.
    end: u64,
    through: u64,
}

impl<'a> Log<'a> {
    pub(crate) fn new(
        repository: &'a Repository,
        generation: &Generation,
        first: u64,
        after: u64,
    ) -> Self {
        let end = generation.segments.last().map_or(0, |last| last + 1);
        Self { repository, generation: generation.id, next: first, end, through: after }
    }

    /// The number of the next segment.
    pub(crate) fn next_index(&self) -> u64 {
        self.next
    }

    /// The next segment; `None` behind the last one.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a gap; the errors of the target and of the object.
    pub(crate) fn next(&mut self) -> Result<Option<Segment>, Error> {
        if self.next >= self.end {
            return Ok(None);
        }
        let name = Name::Log { generation: self.generation, index: self.next };
        let contents = match self.repository.read(name) {
            Err(Error::Target(TargetError::NotFound { .. })) => {
                let what =
                    format!("{name} of the backup is missing: no later moment can be restored");
                return Err(Error::Damaged(what));
            }
            contents => contents?,
        };
        let segment = Segment::decode(&name.to_string(), &contents, self.repository.id)?;
        if segment.after != self.through {
            return Err(Error::Damaged(format!(
                "{name} of the backup follows record {}, but the segment before it ends with {}",
                segment.after, self.through
            )));
        }
        self.next += 1;
        self.through = segment.through;
        Ok(Some(segment))
    }
}
