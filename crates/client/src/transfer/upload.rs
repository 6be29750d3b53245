//! Uploads of a reader's bytes, in one request or in parts.

use std::sync::Arc;

use bytes::Bytes;

use super::pool::Pool;
use super::reader::Reader;
use crate::error::Error;
use crate::s3::{Part, S3, Sent, Upload};
use crate::session::{BUFFER_MIB, Session};
use crate::target::Remote;

const MIB: u64 = 1 << 20;
/// Size up to which an object is stored in one request, which costs less than the three of a
/// multipart upload.
const WHOLE_BYTES_MAX: u64 = 32 * MIB;
const PART_BYTES: u64 = 16 * MIB;
/// Part size of a stream of unknown length: 10,000 parts are 312 GiB.
const STREAM_PART_BYTES: u64 = 32 * MIB;
/// Limit of S3.
const PARTS_MAX: u64 = 10_000;
const PART_BYTES_MIN: u64 = 5 * MIB;
const PUT_BYTES_MAX: u64 = 5 << 30;
/// Number of parts of one upload that are sent concurrently.
const PARTS_AT_ONCE: usize = 4;

/// Sizes of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Size up to which one request is used.
    whole: u64,
    /// Size of parts above it.
    part: u64,
    /// Number of parts that are sent concurrently.
    at_once: usize,
}

impl Sizes {
    /// Sizes for an object of this length, if known.
    pub(crate) fn of(size: Option<u64>, no_multipart: bool) -> Sizes {
        let part = size.map_or(STREAM_PART_BYTES, |size| {
            PART_BYTES.max(size.div_ceil(PARTS_MAX).next_multiple_of(MIB))
        });
        let whole = if size.is_some() { WHOLE_BYTES_MAX } else { part };
        let whole = if no_multipart { PUT_BYTES_MAX } else { whole };
        Sizes { whole, part, at_once: PARTS_AT_ONCE }
    }

    /// Sizes for a stream with parts of this size.
    ///
    /// # Errors
    /// S3 does not take such parts.
    pub(crate) fn of_parts(bytes: u64) -> Result<Sizes, String> {
        if !(PART_BYTES_MIN..=PUT_BYTES_MAX).contains(&bytes) {
            return Err("parts have 5 MiB to 5 GiB".to_owned());
        }
        Ok(Sizes { whole: bytes, part: bytes, at_once: PARTS_AT_ONCE })
    }

    /// The same sizes, with another number of concurrent parts if there is one.
    pub(crate) fn at_once(self, parts: Option<u16>) -> Sizes {
        Sizes { at_once: parts.map_or(self.at_once, usize::from), ..self }
    }
}

/// Stores an object, and returns the number of its bytes. After a failure nothing is left of it.
pub(crate) async fn upload(
    session: &Arc<Session>,
    target: &Remote,
    headers: Vec<(String, String)>,
    reader: &mut Reader,
    sizes: Sizes,
    sent: Option<Sent>,
) -> Result<u64, Error> {
    let size = reader.size();
    let is_whole = size.is_some_and(|size| size <= sizes.whole);
    let wanted = match size {
        Some(size) if is_whole => size,
        Some(_) => sizes.part,
        None => sizes.whole,
    };
    let room = room(session, wanted).await;
    let bytes = reader.next(usize::try_from(wanted).unwrap_or(usize::MAX)).await?;
    if is_whole || (bytes.len() as u64) < wanted {
        reader.finish().await?;
        let stored = bytes.len() as u64;
        target.s3.put(&target.bucket, &target.key, &headers, bytes, sent).await?;
        return Ok(stored);
    }
    let upload = target.s3.begin_upload(&target.bucket, &target.key, &headers).await?;
    session.open_upload(&target.s3, &upload);
    let parts = Parts { session, s3: &target.s3, upload: &upload, sizes, sent };
    let result = parts.send(bytes, room, reader).await;
    end(session, target, &upload, result).await
}

/// Ends a multipart upload. After a failure it is aborted.
pub(super) async fn end<T>(
    session: &Session,
    target: &Remote,
    upload: &Upload,
    result: Result<T, Error>,
) -> Result<T, Error> {
    if result.is_err()
        && let Err(error) = target.s3.abort_upload(upload).await
    {
        let message =
            format!("Unable to abort the upload of `{}`: `rm --incomplete` does.", target.name());
        session.output.failure(&message, &error);
    }
    session.close_upload(upload);
    result
}

struct Parts<'a> {
    session: &'a Arc<Session>,
    s3: &'a Arc<S3>,
    upload: &'a Upload,
    sizes: Sizes,
    sent: Option<Sent>,
}

type Room = tokio::sync::OwnedSemaphorePermit;

impl Parts<'_> {
    async fn send(&self, first: Bytes, room: Room, reader: &mut Reader) -> Result<u64, Error> {
        let mut pool: Pool<Result<Part, Error>> = Pool::new(self.sizes.at_once);
        let mut parts = Vec::new();
        let mut stored = 0;
        let mut next = Some((first, room));
        let mut number = 0;
        while let Some((bytes, room)) = next.take() {
            while let Some(part) = pool.room().await {
                parts.push(part?);
            }
            number += 1;
            if u64::from(number) > PARTS_MAX {
                return Err(Error::refused(
                    "the stream is longer than 10,000 parts; use a larger --part-size",
                ));
            }
            stored += bytes.len() as u64;
            let is_last = (bytes.len() as u64) < self.sizes.part;
            let (s3, upload, sent) = (self.s3.clone(), self.upload.clone(), self.sent.clone());
            pool.add(async move {
                let result = s3.put_part(&upload, number, bytes, sent).await;
                drop(room);
                result
            });
            if !is_last {
                let room = self::room(self.session, self.sizes.part).await;
                let wanted = usize::try_from(self.sizes.part).unwrap_or(usize::MAX);
                next = Some((reader.next(wanted).await?, room)).filter(|(it, _)| !it.is_empty());
            }
        }
        while let Some(part) = pool.next().await {
            parts.push(part?);
        }
        // Before the object becomes visible.
        reader.finish().await?;
        parts.sort_by_key(|part| part.number);
        self.s3.complete_upload(self.upload, &parts).await?;
        Ok(stored)
    }
}

/// Waits for memory for a part.
async fn room(session: &Session, bytes: u64) -> Room {
    let mib = u32::try_from(bytes.div_ceil(MIB)).unwrap_or(BUFFER_MIB).clamp(1, BUFFER_MIB);
    let room = session.buffers.clone().acquire_many_owned(mib).await;
    room.expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_small_as_their_number_allows() {
        let part = |size| Sizes::of(Some(size), false).part;
        assert_eq!(part(0), PART_BYTES);
        assert_eq!(part(PARTS_MAX * PART_BYTES), PART_BYTES);
        assert_eq!(part(PARTS_MAX * PART_BYTES + 1), PART_BYTES + MIB);
        let largest = 50 << 40;
        assert!(part(largest) * PARTS_MAX >= largest && part(largest) < PUT_BYTES_MAX * 2);
        assert_eq!(Sizes::of(Some(1), true).whole, PUT_BYTES_MAX);
        assert!(Sizes::of_parts(MIB).is_err());
        assert_eq!(Sizes::of(None, false).whole, STREAM_PART_BYTES);
    }
}
