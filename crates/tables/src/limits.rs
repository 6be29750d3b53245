//! Limits of the catalog.

/// Largest body of a request. Commits carry schemas and snapshots, never data.
pub(crate) const BODY_BYTES_MAX: usize = 16 << 20;

/// Largest body of a request for a token, whose sender is not known yet.
pub(crate) const TOKEN_BODY_BYTES_MAX: usize = 16 << 10;

/// Largest metadata file. It is parsed as a whole.
pub(crate) const METADATA_BYTES_MAX: u64 = 64 << 20;

/// Metadata files in the cache, in bytes as stored. A parsed file takes some times as much memory.
pub(crate) const CACHE_BYTES_MAX: usize = 8 << 20;

/// Names in an answer to a client that does not ask for pages.
pub(crate) const NAMES_MAX: usize = 100_000;

/// Time for which a client may use an `Idempotency-Key` again, as a duration of ISO 8601. It is that of the specification's
/// example.
pub(crate) const ANSWER_LIFETIME: &str = "PT30M";

/// Time for which answers to requests with such a key are kept, in milliseconds: some minutes more, for clocks that differ.
pub(crate) const ANSWER_KEPT_MS: u64 = 35 * 60 * 1000;

/// Answers that are kept for an account; about as many more for each further server of a cluster. It allows 47 requests a
/// second, at some 500 bytes each.
pub(crate) const ANSWERS_MAX: usize = 100_000;

/// Time after which the answers of an account that has too many are counted again, in milliseconds.
pub(crate) const COUNT_AGAIN_MS: u64 = 10_000;

/// Largest answer that is kept. Those with metadata are kept as a location.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Attempts of a commit whose requirements hold again after another commit came first.
pub(crate) const COMMIT_ATTEMPTS: u32 = 8;

/// Seconds for which vended credentials are good. AWS has an hour, too.
pub(crate) const VENDED_SECONDS: u32 = 3600;

/// Seconds for which a bearer token is good.
pub(crate) const TOKEN_SECONDS: u32 = 3600;

/// Time for which maintenance tries each minute to end a purge that its request did not end, in milliseconds. Then it tries
/// once a day.
pub(crate) const PURGE_TRIED_MS: u64 = 60 * 60 * 1000;

/// Difference between the clock and the time at which a purge began, in milliseconds, with which the clock was set back.
pub(crate) const CLOCKS_DIFFER_MS: u64 = 60 * 1000;

/// Objects that a purge deletes at once.
pub(crate) const PURGE_PAGE: usize = 1000;

/// Places of staged creations that are remembered, some 100 bytes each. Between staging and commit a client writes the files.
pub(crate) const STAGED_MAX: usize = 4096;
