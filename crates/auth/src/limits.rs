//! Every bound of the authentication layer, with its unit in its name.

/// Allowed distance between the clock of the signer and ours, either way, in seconds.
pub(super) const CLOCK_SKEW_SECONDS_MAX: i64 = 15 * 60;

/// Longest life of a presigned URL, in seconds: seven days.
pub(super) const PRESIGNED_EXPIRY_SECONDS_MAX: i64 = 7 * 24 * 60 * 60;

/// Names in a `SignedHeaders` list. More than any request may carry headers.
pub(super) const SIGNED_HEADERS_MAX: usize = 256;

/// Body of a request whose hash the signature covers but no header declares (`s3vectors`, `sts`):
/// it is held in memory until its hash is known.
pub(super) const HASHED_BODY_BYTES_MAX: usize = 20 << 20;

/// One chunk header of an aws-chunked body, its line end included: at most 16 digits of size, the
/// signature (81 bytes) and some room for extensions.
pub(super) const CHUNK_HEADER_BYTES_MAX: usize = 256;

/// Signed chunks other than the last must be at least this long.
pub(super) const SIGNED_CHUNK_BYTES_MIN: u64 = 8 << 10;

/// All trailer lines of an aws-chunked body together.
pub(super) const TRAILER_BYTES_MAX: usize = 4 << 10;

/// Lines in the trailer of an aws-chunked body, and names in `x-amz-trailer`.
pub(super) const TRAILERS_MAX: usize = 16;

/// Everything in a form upload before the contents of the file.
pub(super) const FORM_PREFACE_BYTES_MAX: usize = 20 << 10;

/// Fields in a form upload before the file.
pub(super) const FORM_FIELDS_MAX: usize = 200;

/// Conditions in a POST policy. The policy itself is bounded by the preface of the form.
pub(super) const POLICY_CONDITIONS_MAX: usize = 500;

/// A file uploaded by a form.
pub(super) const FORM_FILE_BYTES_MAX: u64 = 5 << 30;

/// Bytes read and thrown away after the file of a form, so that the connection stays usable.
pub(super) const FORM_EPILOGUE_BYTES_MAX: usize = 1 << 20;

/// Bytes of them in which another file is looked for.
pub(super) const FORM_EPILOGUE_FIELDS_BYTES_MAX: usize = 16 << 10;

/// An object key, in bytes of UTF-8.
pub(super) const OBJECT_KEY_BYTES_MAX: usize = 1024;

/// Derived keys held at once. Dates are bounded by the skew and by the life of a presigned URL, so
/// that this is reached only with hundreds of users.
pub(super) const SIGNING_KEYS_MAX: usize = 8192;

const _: () = assert!(CHUNK_HEADER_BYTES_MAX > 16 + 81 + 2);
const _: () = assert!(OBJECT_KEY_BYTES_MAX < FORM_PREFACE_BYTES_MAX);
