//! The validity period of a certificate.
//!
//! In [RFC 5280](https://www.rfc-editor.org/rfc/rfc5280#section-4.1) a certificate is a sequence
//! that begins with a sequence of: version (`[0]`, optional), serial number, algorithm, issuer,
//! validity. The validity is a sequence of two times.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The first and the last valid second of a certificate. `None` if it cannot be parsed.
pub(super) fn validity(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate, _) = value(certificate)?;
    let (tag, mut fields, _) = value(certificate)?;
    if tag != SEQUENCE {
        return None;
    }
    if fields.first() == Some(&VERSION) {
        fields = value(fields)?.2;
    }
    for _field in ["serial number", "algorithm", "issuer"] {
        fields = value(fields)?.2;
    }
    let (_, times, _) = value(fields)?;
    let (first_tag, first, rest) = value(times)?;
    let (last_tag, last, _) = value(rest)?;
    Some((time(first_tag, first)?, time(last_tag, last)?))
}

/// `true` for a certificate without a version, which is X.509 version 1 and so has no names that clients look at.
pub(super) fn is_version_1(certificate: &[u8]) -> bool {
    let fields = value(certificate).and_then(|(_, certificate, _)| value(certificate));
    fields.is_some_and(|(tag, fields, _)| tag == SEQUENCE && fields.first() != Some(&VERSION))
}

/// The tag and the content of the first DER value, and the bytes behind it.
fn value(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, length], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
            (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Parses `YYMMDDHHMMSSZ` (years 1950 to 2049), or the form with a four-digit year.
fn time(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match tag {
        UTC_TIME => {
            let century = if text.get(..2)? < "50" { "20" } else { "19" };
            format!("{century}{text}")
        }
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", text).ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn times_of_certificates() {
        let key = KeyPair::generate().expect("a key");
        for (first, last) in [(2024, 2049), (1975, 4096), (1950, 2050)] {
            let mut params = CertificateParams::default();
            params.not_before = date_time_ymd(first, 2, 3);
            params.not_after = date_time_ymd(last, 12, 31);
            let certificate = params.self_signed(&key).expect("a certificate");
            let der = certificate.der();
            let found = validity(der).expect("a validity");
            let expected = (format!("{first}-02-03T00:00:00Z"), format!("{last}-12-31T00:00:00Z"));
            assert_eq!((found.0.to_string(), found.1.to_string()), expected);
            for end in 0..der.len() {
                assert!(validity(&der[..end]).is_none(), "cut at {end}");
            }
        }
    }

    #[test]
    fn what_is_no_certificate_has_none() {
        let rows: [&[u8]; 6] = [
            b"",
            b"\x30",
            b"\x30\x80",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x02\x30\x00",
            b"\x30\x85\x01\x01\x01\x01\x01",
        ];
        for bytes in rows {
            assert_eq!(validity(bytes), None, "{bytes:?}");
        }
    }
}
