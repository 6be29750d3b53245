//! All limits of the authentication layer, with their units in their names.

/// Maximum difference between the clocks of signer and server in either direction, in seconds (as
/// AWS: 15 minutes).
pub(super) const CLOCK_SKEW_SECONDS_MAX: i64 = 15 * 60;

/// Maximum validity of a presigned URL, in seconds (as AWS: seven days).
pub(super) const PRESIGNED_EXPIRY_SECONDS_MAX: i64 = 7 * 24 * 60 * 60;

/// Maximum names in a `SignedHeaders` list; more than the headers that any request may carry.
pub(super) const SIGNED_HEADERS_MAX: usize = 256;

/// Maximum body of a request whose hash is signed but not declared in a header (`s3vectors`,
/// `s3tables`, `sts`). It is held in memory until its hash is known.
pub(super) const HASHED_BODY_BYTES_MAX: usize = 20 << 20;

/// Maximum bytes of a chunk header of an aws-chunked body, its line end included: at most 16 digits
/// of size, the signature (81 bytes) and room for extensions.
pub(super) const CHUNK_HEADER_BYTES_MAX: usize = 256;

/// Minimum bytes of a chunk other than the last, signed or not (AWS: 8 KB).
pub(super) const CHUNK_BYTES_MIN: u64 = 8 << 10;

/// Maximum bytes of all trailer lines of an aws-chunked body.
pub(super) const TRAILER_BYTES_MAX: usize = 4 << 10;

/// Maximum lines in the trailer of an aws-chunked body, and names in `x-amz-trailer`.
pub(super) const TRAILERS_MAX: usize = 16;

/// Maximum bytes of a form upload before the contents of the file (AWS: 20 KB).
pub(super) const FORM_PREFACE_BYTES_MAX: usize = 20 << 10;

/// Maximum fields of a form upload before the file.
pub(super) const FORM_FIELDS_MAX: usize = 200;

/// Maximum conditions in a POST policy. The bytes of the policy are limited by the preface of the
/// form.
pub(super) const POLICY_CONDITIONS_MAX: usize = 500;

/// Maximum bytes of a file uploaded by a form.
pub(super) const FORM_FILE_BYTES_MAX: u64 = 5 << 30;

/// Bytes after the file of a form that are read and discarded, so that the connection stays usable.
pub(super) const FORM_EPILOGUE_BYTES_MAX: usize = 1 << 20;

/// The first of these bytes, which are searched for a second file.
pub(super) const FORM_EPILOGUE_FIELDS_BYTES_MAX: usize = 16 << 10;

/// Maximum bytes of an object key in UTF-8.
pub(super) const OBJECT_KEY_BYTES_MAX: usize = 1024;

/// Maximum number of cached signing keys. Dates are limited by the skew and the life of presigned
/// URLs, so only hundreds of users reach this.
pub(super) const SIGNING_KEYS_MAX: usize = 8192;

const _: () = assert!(CHUNK_HEADER_BYTES_MAX > 16 + 81 + 2);
const _: () = assert!(OBJECT_KEY_BYTES_MAX < FORM_PREFACE_BYTES_MAX);
