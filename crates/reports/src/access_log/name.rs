//! Keys of log objects.

use jiff::Timestamp;
use liteio_s3::bucket_logging::KeyFormat;
use liteio_wire::origin::timestamp;

use super::buffer::Batch;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The key of a batch that is delivered at `now`. The source belongs to the account with the number `account`.
pub(super) fn key(batch: &Batch, account: &str, now: Timestamp, unique: [u8; 8]) -> String {
    let Batch { source, rule, day, .. } = batch;
    // By event time, the time of day is zero.
    let at = match (rule.key_format, day) {
        (KeyFormat::ByEventTime, Some(day)) => timestamp(day.saturating_mul(DAY_MS)),
        _ => now,
    };
    let name = format!("{}-{:016X}", at.strftime("%Y-%m-%d-%H-%M-%S"), u64::from_be_bytes(unique));
    let prefix = &rule.prefix;
    match rule.key_format {
        KeyFormat::Simple => format!("{prefix}{name}"),
        KeyFormat::ByEventTime | KeyFormat::ByDeliveryTime => {
            let (region, bucket) = (&source.region, source.name.as_str());
            format!("{prefix}{account}/{region}/{bucket}/{}/{name}", at.strftime("%Y/%m/%d"))
        }
    }
}
