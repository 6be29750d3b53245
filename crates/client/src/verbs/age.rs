//! Limits of the age of objects.

use jiff::Timestamp;

use crate::cli::AgeArgs;
use crate::error::Error;
use crate::text::parse_duration;

/// Interval of time in which objects must have been written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Age {
    before: Option<Timestamp>,
    after: Option<Timestamp>,
}

impl Age {
    pub(super) fn of(arguments: &AgeArgs) -> Result<Age, Error> {
        let now = Timestamp::now();
        let moment = |text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => {
                let age = parse_duration(text).map_err(Error::Refused)?;
                // Before all time is as good as the first moment.
                Ok(Some(now.checked_sub(age).unwrap_or(Timestamp::MIN)))
            }
        };
        Ok(Age { before: moment(&arguments.older_than)?, after: moment(&arguments.newer_than)? })
    }

    /// `true` for an entry of this age. An entry without a time is neither older nor newer.
    pub(super) fn matches(self, modified: Option<Timestamp>) -> bool {
        self.before.is_none_or(|before| modified.is_some_and(|it| it < before))
            && self.after.is_none_or(|after| modified.is_some_and(|it| it > after))
    }

    pub(super) fn is_any(self) -> bool {
        self.before.is_none() && self.after.is_none()
    }
}
