//! Bodies of versions, from the store to a connection.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use liteio_access::state::{App, Piece};
use liteio_client::CallBody;
use liteio_store::{
    GetOptions, ObjectKey, ObjectReader, PartNumber, ReplicatedVersion, Selection, Store,
    StoreError,
};
use tokio::sync::mpsc::{Sender, channel};

use crate::limits::{PIECES_AHEAD, WHOLE_BYTES_MAX};

/// The body of a version, or of one of its parts.
pub(crate) async fn open(
    app: &Arc<App>,
    version: &ReplicatedVersion,
    key: &ObjectKey,
    (part, bytes): (Option<PartNumber>, u64),
) -> Result<CallBody, StoreError> {
    let (bucket, key) = (Arc::clone(&version.bucket), key.clone());
    let options = GetOptions {
        version: Some(version.version_id),
        select: part.map_or(Selection::Whole, Selection::Part),
        ..GetOptions::default()
    };
    let open = move |store: &Store| store.get_object(&bucket, &key, &options);
    let opened = app.blocking(move |store| open(store).map_err(StoreError::from)).await?;
    if bytes > WHOLE_BYTES_MAX {
        let (sender, feed) = channel(PIECES_AHEAD);
        tokio::spawn(feed_pieces(Arc::clone(app), opened.reader, sender));
        return Ok(CallBody::Fed { bytes, feed });
    }
    let mut whole = BytesMut::new();
    let mut reader = opened.reader;
    loop {
        let (rest, piece) = next(app, reader).await?;
        reader = rest;
        match piece {
            Some(piece) => whole.extend_from_slice(&piece),
            None => return Ok(CallBody::Whole(whole.freeze())),
        }
    }
}

/// Sends pieces until the end, or until the request has ended.
async fn feed_pieces(
    app: Arc<App>,
    mut reader: ObjectReader,
    sender: Sender<Result<Bytes, io::Error>>,
) {
    loop {
        match next(&app, reader).await {
            Ok((rest, Some(piece))) => {
                reader = rest;
                if sender.send(Ok(piece)).await.is_err() {
                    return;
                }
            }
            Ok((_, None)) => return,
            Err(error) => {
                tracing::error!(%error, "the body of a version cannot be read for its copy");
                let _ = sender.send(Err(io::Error::other("the source cannot be read"))).await;
                return;
            }
        }
    }
}

async fn next(app: &Arc<App>, mut reader: ObjectReader) -> Result<Piece, StoreError> {
    match reader.try_next()? {
        Some(piece) => Ok((reader, piece)),
        None => app.read_piece(reader).await,
    }
}
