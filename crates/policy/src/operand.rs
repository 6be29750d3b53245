//! Operands of conditions: numbers, times, addresses, ARNs.

use std::net::{IpAddr, Ipv4Addr};

use jiff::Timestamp;

use super::error::PolicyError;
use super::key::ContextKey;
use super::pattern::Case;
use super::request::Request;
use super::template::{Piece, Syntax, Template, pieces};

/// An address range such as `10.0.0.0/8` or `2001:db8::/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressRange {
    first: IpAddr,
    prefix_bits: u32,
}

/// An ARN whose six parts are separate patterns: a `*` does not cross a colon, except in the last
/// part.
#[derive(Debug)]
pub(super) enum ArnPattern {
    /// `*`
    Any,
    Parts(Box<[Template; 6]>),
}

/// A decimal number. `inf`, `nan` and exponents are not accepted.
pub(super) fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.bytes().any(|byte| byte.is_ascii_digit());
    if is_decimal { text.parse().ok() } else { None }
}

/// A time: seconds since 1970, or an ISO 8601 date or time.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    if let Some(seconds) = number(text) {
        // Milliseconds, which is the precision of clients' clocks.
        let milliseconds = seconds * 1000.0;
        let is_in_range = milliseconds.abs() < 1e15;
        #[expect(clippy::cast_possible_truncation, reason = "it has just been compared")]
        let milliseconds = milliseconds as i64;
        return is_in_range.then(|| Timestamp::from_millisecond(milliseconds).ok()).flatten();
    }
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let midnight = match text.matches('-').count() {
        1 => format!("{text}-01T00:00:00Z"),
        2 => format!("{text}T00:00:00Z"),
        _ => return None,
    };
    midnight.parse().ok()
}

/// An address. An IPv4-mapped IPv6 address becomes IPv4.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

impl AddressRange {
    /// Parses a range, or a single address as a range of one.
    pub(super) fn parse(text: &str) -> Option<AddressRange> {
        let (first, bits) = match text.split_once('/') {
            Some((first, bits)) => (first, Some(bits)),
            None => (text, None),
        };
        let given: IpAddr = first.parse().ok()?;
        let width = |address: IpAddr| if address.is_ipv4() { 32 } else { 128 };
        let bits: u32 = match bits {
            None => width(given),
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => bits.parse().ok()?,
            Some(_) => return None,
        };
        if bits > width(given) {
            return None;
        }
        let first = given.to_canonical();
        // The first 96 bits of an IPv4-mapped range are fixed.
        match bits.checked_sub(width(given) - width(first)) {
            Some(prefix_bits) => Some(AddressRange { first, prefix_bits }),
            None => Some(AddressRange { first: given, prefix_bits: bits }),
        }
    }

    /// `true` if the address is in the range.
    pub(super) fn contains(self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                let differ = first.to_bits() ^ address.to_bits();
                differ.checked_shr(32 - self.prefix_bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                let differ = first.to_bits() ^ address.to_bits();
                differ.checked_shr(128 - self.prefix_bits).unwrap_or(0) == 0
            }
            // An IPv6 range that covers all IPv4-mapped addresses.
            (IpAddr::V6(_), IpAddr::V4(address)) => {
                self.contains(IpAddr::V6(address.to_ipv6_mapped()))
            }
            (IpAddr::V4(_), IpAddr::V6(_)) => false,
        }
    }

    /// `true` if the range is so wide that it counts as public: wider than /8, or /32 for IPv6
    /// (AWS, "The meaning of public"). A range of IPv6 that holds all of IPv4 is as wide as that.
    pub(super) fn is_wide(self) -> bool {
        let holds_ipv4 = self.first.is_ipv6() && self.contains(Ipv4Addr::UNSPECIFIED.into());
        holds_ipv4 || self.prefix_bits < if self.first.is_ipv4() { 8 } else { 32 }
    }
}

impl ArnPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// The pattern does not have the six parts of an ARN, or has a malformed variable.
    pub(super) fn parse(text: &str, variables: bool) -> Result<ArnPattern, PolicyError> {
        if text == "*" {
            return Ok(ArnPattern::Any);
        }
        let syntax = Syntax { wildcards: true, variables, case: Case::Differs };
        let mut parts = vec![Vec::new()];
        for piece in pieces(text, syntax)? {
            let Piece::Text(text) = piece else {
                parts.last_mut().expect("there is always one").push(piece);
                continue;
            };
            let mut rest = text.as_str();
            while let (1..6, Some((before, behind))) = (parts.len(), rest.split_once(':')) {
                let part = parts.last_mut().expect("there is always one");
                part.push(Piece::Text(before.to_owned()));
                parts.push(Vec::new());
                rest = behind;
            }
            parts.last_mut().expect("there is always one").push(Piece::Text(rest.to_owned()));
        }
        let parts = parts.into_iter().map(|part| Template::new(part, Case::Differs));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let parts: Box<[Template; 6]> = parts.try_into().map_err(|_| {
            PolicyError::about(
                "A condition on an ARN needs one of six parts, such as arn:aws:s3:::*",
                text,
            )
        })?;
        Ok(ArnPattern::Parts(parts))
    }

    pub(super) fn matches(&self, text: &str, request: &Request<'_>) -> bool {
        match self {
            ArnPattern::Any => true,
            ArnPattern::Parts(templates) => {
                let mut parts = text.splitn(6, ':');
                templates.iter().all(|template| {
                    parts.next().is_some_and(|part| template.matches(part, request))
                })
            }
        }
    }

    /// The text up to the first wildcard or variable, and `true` if that is the whole pattern.
    pub(super) fn fixed_part(&self) -> (String, bool) {
        let mut fixed = String::new();
        let ArnPattern::Parts(templates) = self else { return (fixed, false) };
        for (index, template) in templates.iter().enumerate() {
            let (part, is_whole) = template.fixed_part();
            fixed.push_str(if index == 0 { "" } else { ":" });
            fixed.push_str(&part);
            if !is_whole {
                return (fixed, false);
            }
        }
        (fixed, true)
    }

    /// The keys of its variables.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ContextKey> {
        let templates: &[Template] = match self {
            ArnPattern::Any => &[],
            ArnPattern::Parts(templates) => &**templates,
        };
        templates.iter().flat_map(Template::keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for (text, value) in
            [("5", 5.0), ("-5", -5.0), ("+5", 5.0), ("0.5", 0.5), (".5", 0.5), ("5.", 5.0)]
        {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in ["", "-", ".", "1e3", "inf", "NaN", "0x10", "5 ", "1.2.3", "--1"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_days_moments_and_seconds() {
        let day = "2030-01-01T00:00:00Z".parse().unwrap();
        for text in [
            "2030-01-01T00:00:00Z",
            "2030-01-01T00:00Z",
            "2030-01-01T01:00:00+01:00",
            "2030-01-01T00:00:00.000Z",
            "2030-01-01",
            "2030-01",
            "1893456000",
            "1893456000.0",
        ] {
            assert_eq!(time(text), Some(day), "{text}");
        }
        for text in ["", "now", "2030-13-01", "2030-01-01T00:00:00", "1e9", "9999999999999999999"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_contain_addresses() {
        for (range, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.1.2.3/8", "10.255.0.1", "11.0.0.1"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("10.1.2.3/32", "::ffff:10.1.2.3", "10.1.2.2"),
            ("0.0.0.0/0", "255.1.2.3", "2001:db8::1"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("2001:db8::1", "2001:db8::1", "10.0.0.1"),
            ("::/0", "2001:db8::1", "x"),
            ("::/0", "10.0.0.1", "x"),
            ("::ffff:10.0.0.0/104", "10.2.3.4", "11.2.3.4"),
            ("::ffff:10.0.0.0/104", "::ffff:10.2.3.4", "::ffff:11.2.3.4"),
        ] {
            let range = AddressRange::parse(range).unwrap();
            assert!(range.contains(address(inside).unwrap()), "{range:?} {inside}");
            assert!(!address(outside).is_some_and(|it| range.contains(it)), "{range:?} {outside}");
        }
        for text in
            ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "::/129", "a/8", "010.0.0.1"]
        {
            assert_eq!(AddressRange::parse(text), None, "{text}");
        }
    }
}
