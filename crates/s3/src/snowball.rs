//! MinIO's extension of PutObject: the members of an uploaded tar archive become objects.
//!
//! ```text
//! body ──► spool: verified, not visible ──► every member checked: name, size, permission ──► stored
//! ```
//! Nothing is stored before the whole archive was received, verified and checked. The spool is read
//! twice for that, which costs less than a half extracted archive does.
//!
//! | Header | Effect |
//! |---|---|
//! | `x-amz-meta-snowball-auto-extract: true` | extract |
//! | `x-amz-meta-minio-snowball-prefix` | the beginning of all keys, joined with a slash |
//! | `x-amz-meta-minio-snowball-ignore-dirs: true` | directories become no objects `NAME/` |
//! | `x-amz-meta-minio-snowball-ignore-errors: true` | members that cannot be stored are left out |
//!
//! Tags, storage class, lock, ACL, encryption and the other user metadata of the request are each
//! member's. Headers that describe the body, such as the content type, are the archive's own; a
//! member has the ones in its properties `minio.metadata.NAME` (POSIX pax), as MinIO's clients
//! write them.
//!
//! Source: MinIO's documentation of these headers, and minio-go's `PutObjectsSnowball`.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use flate2::bufread::MultiGzDecoder;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, ETAG,
    EXPIRES,
};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Response};
use liteio_store::limits::PART_BYTES_MAX;
use liteio_store::{
    BodyOptions, ETag, ObjectChecksum, ObjectKey, ObjectReader, ObjectVersion, Pending, PutOptions,
    Sealing, StagedBody, Store, StoreError, WriteConditions,
};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::acl::NewObjectAcl;
use super::archive::{Entry, Kind, MINIO, Tar, words};
use super::checksum::{BodyChecks, DEFAULT_ALGORITHM};
use super::context::Sent;
use super::encryption::Asked;
use super::header_text::SystemHeaders;
use super::headers::etag_header;
use super::limits::{
    ARCHIVE_BATCH, ARCHIVE_BYTES_FREE, ARCHIVE_MEMBERS_MAX, ARCHIVE_RATIO_MAX, BATCH_BYTES,
};
use super::metadata::UserMetadata;
use super::put_request::PutRequest;
use super::unsupported::{EXTRACTS, EXTRACTS_AS_METADATA};
use super::{access, body_in, condition, error, event_cause, metadata, object_lock};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_auth::PostForm;
use liteio_wire::reply::ReplyBody;

// Names of user metadata, so their headers begin with `x-amz-meta-`.
const PREFIX: &str = "minio-snowball-prefix";
const IGNORE_DIRS: &str = "minio-snowball-ignore-dirs";
const IGNORE_ERRORS: &str = "minio-snowball-ignore-errors";

/// User metadata that members do not get.
const OWN_METADATA: [&str; 4] = [EXTRACTS_AS_METADATA, PREFIX, IGNORE_DIRS, IGNORE_ERRORS];

/// The beginning of the properties of a member that are its headers.
const MEMBER_HEADER: &str = "metadata.";

/// Headers that a member may have. No others: they would not be part of the decision about the
/// request.
const MEMBER_HEADERS: [HeaderName; 6] =
    [CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES];
const USER_METADATA: &str = "x-amz-meta-";

/// Compression by the first bytes of a body, of which this server unpacks none.
const REFUSED_FORMATS: [(&[u8], &str); 5] = [
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
    (b"\xff\x06\x00\x00", "snappy or S2"),
];
const GZIP: &[u8] = b"\x1f\x8b";

/// Stores the members of the archive in the body of a PutObject.
pub(super) async fn put(app: &App, request: PutRequest) -> S3Result<Response<ReplyBody>> {
    if !app.acts_as_minio {
        return Err(S3Error::with_message(
            S3ErrorCode::NotImplemented,
            format!(
                "{EXTRACTS}: true asks for the members of an archive, which only a server with --profile minio extracts. \
                 Nothing was stored."
            ),
        ));
    }
    let appends = request.write_offset()?.is_some();
    let PutRequest { granted, method, uri, headers, extensions, body, .. } = request;
    let has_conditions = condition::of_write(&extensions) != WriteConditions::default();
    let is_form = extensions.get::<PostForm>().is_some();
    if has_conditions || is_form || appends {
        return Err(invalid(format!(
            "{EXTRACTS} cannot be combined with conditions, appends and form uploads."
        )));
    }
    let checks = BodyChecks::from_request(&headers, &extensions)?;
    let user = UserMetadata::of_request(&extensions);
    let options = Options::of_request(user)?;
    let user = user.clone().without(&OWN_METADATA);
    let NewObjectAcl { owner, acl } = NewObjectAcl::of_request(app, &granted, &headers)?;
    let metadata = metadata::from_request(&headers, &extensions)?;
    let put = PutOptions {
        metadata,
        owner,
        lock: object_lock::of_request(app, &headers)?,
        acl,
        cause: event_cause::of_request(app, &granted, &headers, &extensions),
        ..PutOptions::default()
    };
    let asked = Asked::of_write(app, granted.bucket(), &headers, &extensions)?;
    let bytes = body_in::declared_bytes(&headers)?;
    let algorithm = checks.algorithm().unwrap_or(DEFAULT_ALGORITHM);
    let sealing = asked.seal(app)?;
    let spool =
        body_in::receive(app, Some(body), &extensions, Some(bytes), vec![algorithm], sealing)
            .await?;
    checks.verify(spool.digests())?;
    let md5 = spool.digests().md5;

    let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions: &extensions };
    let members = Members { app, granted: &granted, sent, options, user, put };
    let spool = Arc::new(spool);
    members.check(&spool).await?;
    members.store(&spool, &asked).await?;
    // The spool goes on a thread that may wait for the disk.
    app.blocking(move |_| {
        drop(spool);
        Ok::<(), StoreError>(())
    })
    .await
    .map_err(error::from_store)?;
    let mut response = Response::new(ReplyBody::empty());
    response.headers_mut().insert(ETAG, etag_header(&ETag::Md5(md5))?);
    Ok(response)
}

fn invalid(message: String) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidRequest, message)
}

/// MinIO's options in the headers.
struct Options {
    /// Empty, or ends with a slash.
    prefix: String,
    ignores_directories: bool,
    ignores_errors: bool,
}

impl Options {
    fn of_request(user: &UserMetadata) -> S3Result<Options> {
        let prefix = words(user.get(PREFIX).unwrap_or_default()).map_err(|reason| {
            invalid(format!("The prefix in x-amz-meta-{PREFIX} is not valid: {reason}."))
        })?;
        Ok(Options {
            prefix: prefix.into_iter().map(|word| format!("{word}/")).collect(),
            ignores_directories: user.is_true(IGNORE_DIRS),
            ignores_errors: user.is_true(IGNORE_ERRORS),
        })
    }
}

/// A member to store.
struct Member {
    key: ObjectKey,
    bytes: u64,
    options: PutOptions,
}

/// The members of one request.
struct Members<'r> {
    app: &'r App,
    granted: &'r Granted,
    sent: Sent<'r>,
    options: Options,
    /// The user metadata of all members.
    user: UserMetadata,
    put: PutOptions,
}

impl Members<'_> {
    /// Reads the whole archive, and checks all its members.
    async fn check(&self, spool: &Arc<StagedBody>) -> S3Result<()> {
        let mut archive = Some(self.open(spool).await?);
        let mut count = 0;
        while let Some(open) = archive {
            let (rest, entries) = self.next(open, ARCHIVE_BATCH).await?;
            archive = rest;
            count += entries.len();
            if count > ARCHIVE_MEMBERS_MAX {
                return Err(invalid(format!(
                    "The archive has more than {ARCHIVE_MEMBERS_MAX} members. Nothing was stored."
                )));
            }
            for entry in &entries {
                let checked = self.member(entry).await.map(drop);
                checked.map_err(|error| with_message(error, "Nothing was stored."))?;
            }
        }
        Ok(())
    }

    /// Stores the members. The archive was checked before.
    async fn store(&self, spool: &Arc<StagedBody>, asked: &Asked) -> S3Result<()> {
        let mut in_flight = InFlight { pending: VecDeque::new(), stored: 0 };
        let result = self.store_each(spool, asked, &mut in_flight).await;
        // Writes in flight happen in any case, so they are counted before an error is told.
        let ended = in_flight.wait_until(0, self.options.ignores_errors).await;
        let stored = in_flight.stored;
        result.and(ended).map_err(|error| {
            with_message(error, &format!("{stored} members before it were stored."))
        })
    }

    async fn store_each(
        &self,
        spool: &Arc<StagedBody>,
        asked: &Asked,
        in_flight: &mut InFlight,
    ) -> S3Result<()> {
        let mut archive = Some(self.open(spool).await?);
        while let Some(open) = archive {
            let (rest, entries) = self.next(open, 1).await?;
            archive = rest;
            let (Some(mut open), Some(entry)) = (archive.take(), entries.first()) else { break };
            let Some(Member { key, bytes, options }) = self.member(entry).await? else {
                archive = Some(open);
                continue;
            };
            let sealing = asked.seal(self.app)?;
            let staged = self.app.blocking(move |store| {
                let staged = stage(store, &mut open, bytes, sealing);
                Ok::<_, StoreError>((open, staged))
            });
            let (open, staged) = staged.await.map_err(error::from_store)?;
            archive = Some(open);
            match staged {
                Ok(body) => {
                    let checksum = body.digests().checksum(DEFAULT_ALGORITHM).copied();
                    let checksum = checksum.map(ObjectChecksum::full_object);
                    let options = PutOptions { checksum, ..options };
                    let name = entry.name.clone();
                    let pending =
                        self.app.store.put_object(self.granted.bucket(), key, body, options);
                    in_flight.pending.push_back((name, pending));
                }
                Err(error) => return Err(of_member(&entry.name, error::from_store(error))),
            }
            in_flight.wait_until(ARCHIVE_BATCH, self.options.ignores_errors).await?;
        }
        Ok(())
    }

    async fn open(&self, spool: &Arc<StagedBody>) -> S3Result<Archive> {
        let spool = Arc::clone(spool);
        let opened = self.app.blocking(move |store| open(store, &spool).map_err(Failure::from));
        opened.await.map_err(Failure::into_error)?
    }

    /// The next entries, at most `max`, with the archive unless it has ended.
    async fn next(
        &self,
        mut archive: Archive,
        max: usize,
    ) -> S3Result<(Option<Archive>, Vec<Entry>)> {
        let read = self.app.blocking(move |_| {
            let mut entries = Vec::new();
            while entries.len() < max {
                match archive.next_entry().map_err(Failure::Archive)? {
                    Some(entry) => entries.push(entry),
                    None => return Ok((None, entries)),
                }
            }
            Ok::<_, Failure>((Some(archive), entries))
        });
        read.await.map_err(Failure::into_error)
    }

    /// The object that an entry becomes; `None` for none.
    ///
    /// # Errors
    /// The reason why it cannot be stored, unless errors are ignored.
    async fn member(&self, entry: &Entry) -> S3Result<Option<Member>> {
        match self.checked(entry).await {
            Err(_) if self.options.ignores_errors => Ok(None),
            checked => checked.map_err(|error| of_member(&entry.name, error)),
        }
    }

    async fn checked(&self, entry: &Entry) -> S3Result<Option<Member>> {
        let refused = |reason: &str| invalid(format!("{reason}."));
        let words = words(&entry.name).map_err(|reason| refused(&reason))?;
        let end = match entry.kind {
            Kind::Other(reason) => return Err(refused(reason)),
            Kind::Directory if self.options.ignores_directories => return Ok(None),
            Kind::Directory => "/",
            Kind::File => "",
        };
        match (words.is_empty(), entry.kind) {
            (true, Kind::Directory) => return Ok(None),
            (true, _) => return Err(refused("its name is empty")),
            (false, _) => {}
        }
        // Not the data of the entry: a directory has none.
        let bytes = if entry.kind == Kind::Directory { 0 } else { entry.bytes };
        if bytes > PART_BYTES_MAX {
            return Err(error::too_large(bytes, PART_BYTES_MAX));
        }
        let key = format!("{}{}{end}", self.options.prefix, words.join("/"));
        access::of_written(self.app, self.granted, self.sent, &key).await?;
        let key = ObjectKey::new(key).map_err(StoreError::from).map_err(error::from_store)?;
        let options = PutOptions { metadata: self.metadata(entry)?, ..self.put.clone() };
        Ok(Some(Member { key, bytes, options }))
    }

    /// The metadata of a member: the request's, and the member's own.
    fn metadata(&self, entry: &Entry) -> S3Result<liteio_store::ObjectMetadata> {
        let (mut headers, mut extensions) = (HeaderMap::new(), Extensions::new());
        let mut user = self.user.clone();
        for (key, value) in &entry.of_minio {
            let unknown = || invalid(format!("its property {key:?} is not supported."));
            let name = key.strip_prefix(MINIO).and_then(|key| key.strip_prefix(MEMBER_HEADER));
            let name: HeaderName = name.and_then(|it| it.parse().ok()).ok_or_else(unknown)?;
            if let Some(name) = name.as_str().strip_prefix(USER_METADATA) {
                user.set(name, value);
                continue;
            }
            if !MEMBER_HEADERS.contains(&name) {
                return Err(unknown());
            }
            let value = HeaderValue::from_str(value)
                .map_err(|_| invalid(format!("its property {key:?} is no header.")))?;
            headers.insert(name, value);
        }
        if let Some(taken) = SystemHeaders::take(&mut headers) {
            extensions.insert(taken);
        }
        extensions.insert(user);
        let own = metadata::from_request(&headers, &extensions)?;
        let of_request = self.put.metadata.clone();
        Ok(liteio_store::ObjectMetadata { headers: own.headers, user: own.user, ..of_request })
    }
}

/// Writes in flight, by the names of their members.
struct InFlight {
    pending: VecDeque<(String, Pending<ObjectVersion>)>,
    stored: u64,
}

impl InFlight {
    /// Waits until at most `left` writes are in flight.
    async fn wait_until(&mut self, left: usize, ignores_errors: bool) -> S3Result<()> {
        while self.pending.len() > left {
            let Some((name, pending)) = self.pending.pop_front() else { break };
            match pending.await {
                Ok(_) => self.stored += 1,
                Err(_) if ignores_errors => {}
                Err(error) => return Err(of_member(&name, error::from_store(error))),
            }
        }
        Ok(())
    }
}

/// The error of a member, with its name.
fn of_member(name: &str, error: S3Error) -> S3Error {
    let message = error.message().unwrap_or_default().to_owned();
    replaced(error, format!("The member {name:?} of the archive cannot be stored: {message}"))
}

fn with_message(error: S3Error, more: &str) -> S3Error {
    let message = format!("{} {more}", error.message().unwrap_or_default());
    replaced(error, message)
}

fn replaced(mut error: S3Error, message: String) -> S3Error {
    error.set_message(message);
    error
}

/// A failure on a blocking thread.
enum Failure {
    Store(StoreError),
    /// The archive is damaged.
    Archive(String),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl Failure {
    fn into_error(self) -> S3Error {
        match self {
            Failure::Store(error) => error::from_store(error),
            Failure::Archive(reason) => {
                invalid(format!("The archive cannot be read: {reason}. Nothing was stored."))
            }
        }
    }
}

/// An archive in a spool.
type Archive = Tar<Box<dyn Read + Send>>;

/// Opens an archive of a supported format.
fn open(store: &Store, spool: &StagedBody) -> Result<S3Result<Archive>, StoreError> {
    let bytes = spool.digests().bytes;
    let unread = Bytes::new();
    let mut body =
        BufReader::with_capacity(BATCH_BYTES, Spooled { reader: spool.open(store)?, unread });
    let head = body.fill_buf()?;
    if let Some((_, name)) = REFUSED_FORMATS.iter().find(|(start, _)| head.starts_with(start)) {
        return Ok(Err(S3Error::with_message(
            S3ErrorCode::NotImplemented,
            format!(
                "Archives that are compressed with {name} are not implemented by LiteIO. Send the tar archive as it is, \
                 or compressed with gzip; nothing was stored."
            ),
        )));
    }
    let unpacked: Box<dyn Read + Send> = match head.starts_with(GZIP) {
        true => {
            let left = bytes.saturating_mul(ARCHIVE_RATIO_MAX).saturating_add(ARCHIVE_BYTES_FREE);
            Box::new(Unpacked { input: MultiGzDecoder::new(body), left })
        }
        false => Box::new(body),
    };
    Ok(Ok(Tar::new(unpacked)))
}

/// Reads the data of the current entry into a body.
fn stage(
    store: &Store,
    archive: &mut Archive,
    bytes: u64,
    sealing: Option<Sealing>,
) -> Result<StagedBody, StoreError> {
    let algorithms = vec![DEFAULT_ALGORITHM];
    let options = BodyOptions { expected_bytes: Some(bytes), algorithms, sealing };
    let mut writer = store.begin_body(options)?;
    let mut data = archive.body().take(bytes);
    let length = usize::try_from(bytes).unwrap_or(BATCH_BYTES);
    let mut piece = vec![0; length.clamp(1, BATCH_BYTES)];
    loop {
        match data.read(&mut piece)? {
            0 => return writer.finish(),
            read => writer.write(&piece[..read])?,
        }
    }
}

/// The bytes of a spool.
struct Spooled {
    reader: ObjectReader,
    unread: Bytes,
}

impl Read for Spooled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.unread.is_empty() {
            match self.reader.next().map_err(io::Error::other)? {
                Some(piece) => self.unread = piece,
                None => return Ok(0),
            }
        }
        let read = buffer.len().min(self.unread.len());
        self.unread.copy_to_slice(&mut buffer[..read]);
        Ok(read)
    }
}

/// Unpacked bytes, at most `left`.
struct Unpacked<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let message = format!("it unpacks to more than {ARCHIVE_RATIO_MAX} times its length");
            io::Error::new(io::ErrorKind::QuotaExceeded, message)
        })?;
        Ok(read)
    }
}
