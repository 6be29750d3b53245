//! Collecting a body into memory.

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;

/// The reason why a body was not collected.
#[derive(Debug, PartialEq)]
pub enum CollectError<E> {
    /// The body has, or announces, more bytes than the caller accepts.
    TooLarge,
    /// The body's own error.
    Body(E),
}

/// The data of `body`, at most `bytes_max`. Trailers of the transfer encoding are ignored.
pub async fn collect<B>(mut body: B, bytes_max: usize) -> Result<Bytes, CollectError<B::Error>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let hint = body.size_hint();
    if hint.lower() > bytes_max as u64 {
        return Err(CollectError::TooLarge);
    }
    let bytes_expected = hint.exact().and_then(|bytes| usize::try_from(bytes).ok());
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(CollectError::Body)?.into_data() else { continue };
        // A single frame with the whole body, as after buffering for a signature, is not copied.
        if collected.is_empty() && Some(data.len()) == bytes_expected {
            return Ok(data);
        }
        if collected.len() + data.len() > bytes_max {
            return Err(CollectError::TooLarge);
        }
        // Reserve the declared length at once; untouched pages of it cost nothing.
        collected.reserve(bytes_expected.unwrap_or_default().saturating_sub(collected.len()));
        collected.extend_from_slice(&data);
    }
    Ok(collected.freeze())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::FutureExt as _;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    type Sent = Result<&'static [u8], &'static str>;
    type Collected = Result<Bytes, CollectError<&'static str>>;

    fn of_frames(frames: &[Sent], bytes_max: usize) -> Collected {
        let frames = frames.iter().copied().map(|data| data.map(|it| Frame::data(it.into())));
        let body = StreamBody::new(futures_util::stream::iter(frames));
        collect(body, bytes_max).now_or_never().expect("the frames are there")
    }

    #[test]
    fn a_body_is_collected_up_to_its_limit() {
        let rows: [(&[Sent], Collected); 5] = [
            (&[], Ok(Bytes::new())),
            (&[Ok(b"ab"), Ok(b""), Ok(b"cd")], Ok("abcd".into())),
            (&[Ok(b"ab"), Ok(b"cde")], Err(CollectError::TooLarge)),
            (&[Ok(b"abcde")], Err(CollectError::TooLarge)),
            (&[Ok(b"ab"), Err("broken")], Err(CollectError::Body("broken"))),
        ];
        for (frames, expected) in rows {
            assert_eq!(of_frames(frames, 4), expected, "{frames:?}");
        }
    }

    #[test]
    fn an_announced_length_is_checked_first_and_never_copied() {
        let full = Bytes::from("abcd");
        let collected = |bytes_max| {
            let body: Full<Bytes> = Full::new(full.clone());
            collect(body, bytes_max).now_or_never().expect("it is there")
        };
        assert_eq!(collected(4).map(|bytes| bytes.as_ptr()), Ok(full.as_ptr()));
        assert_eq!(collected(3), Err(CollectError::<Infallible>::TooLarge));
    }
}
