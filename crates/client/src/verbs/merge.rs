//! Merge of two listings in the order of keys, with one page of each in memory.

use std::cmp::Ordering;

use crate::error::Error;
use crate::session::Session;
use crate::transfer::{Item, Listing};

/// A name in one listing or in both.
pub(super) enum Pair {
    First(Item),
    Second(Item),
    Both(Box<(Item, Item)>),
}

/// Difference of two objects with the same name, as `mc` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    None,
    Size,
    /// The first was written after the second.
    Newer,
}

pub(super) struct Merge {
    first: Listing,
    second: Option<Listing>,
    /// The next item of each listing, once read.
    ahead: (Option<Item>, Option<Item>),
}

impl Merge {
    /// Reads the begin of the first listing, which shows whether its folder exists.
    pub(super) async fn begin(session: &Session, mut first: Listing) -> Result<Merge, Error> {
        let ahead = (first.next(session).await?, None);
        Ok(Merge { first, second: None, ahead })
    }

    /// Adds the second listing. Without it, everything is in the first only.
    pub(super) async fn against(
        mut self,
        session: &Session,
        second: Listing,
    ) -> Result<Merge, Error> {
        self.second = Some(second);
        self.ahead.1 = self.second(session).await?;
        Ok(self)
    }

    /// `true` if the first listing has no more items.
    pub(super) fn is_first_empty(&self) -> bool {
        self.ahead.0.is_none()
    }

    pub(super) fn first(&self) -> &Listing {
        &self.first
    }

    pub(super) async fn next(&mut self, session: &Session) -> Result<Option<Pair>, Error> {
        let order = match &self.ahead {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(first), Some(second)) => first.relative.cmp(&second.relative),
        };
        let first = match order {
            Ordering::Greater => None,
            _ => std::mem::replace(&mut self.ahead.0, self.first.next(session).await?),
        };
        let second = match order {
            Ordering::Less => None,
            _ => {
                let next = self.second(session).await?;
                std::mem::replace(&mut self.ahead.1, next)
            }
        };
        Ok(match (first, second) {
            (Some(first), None) => Some(Pair::First(first)),
            (None, Some(second)) => Some(Pair::Second(second)),
            (Some(first), Some(second)) => Some(Pair::Both(Box::new((first, second)))),
            (None, None) => None,
        })
    }

    async fn second(&mut self, session: &Session) -> Result<Option<Item>, Error> {
        match &mut self.second {
            Some(listing) => listing.next(session).await,
            None => Ok(None),
        }
    }
}

/// Compares size and time, not contents.
pub(super) fn difference(first: &Item, second: &Item) -> Difference {
    if first.entry.size != second.entry.size {
        return Difference::Size;
    }
    // S3 cuts times to seconds, so a file seems newer than the copy that was just made of it.
    match (first.entry.modified, second.entry.modified) {
        (Some(first), Some(second)) if first.as_second() > second.as_second() => Difference::Newer,
        _ => Difference::None,
    }
}
