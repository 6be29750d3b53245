//! Numbers of bytes.

/// A size with a binary unit and two or three digits, as `mc` prints it: `12 B`, `1.5 MiB`, `23
/// GiB`.
pub(crate) fn human(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 10 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10) as usize;
    let value = bytes as f64 / (1u64 << (10 * power)) as f64;
    let value = (value * 10.0 + 0.5).floor() / 10.0;
    let digits = usize::from(value < 10.0);
    format!("{value:.digits$} {}", UNITS[power])
}

/// [`human`] without the space.
pub(crate) fn human_narrow(bytes: u64) -> String {
    human(bytes).replace(' ', "")
}

/// Parses a size with a metric unit (`k`, `MB`) or a binary one (`Ki`, `MiB`), in any case.
///
/// # Errors
/// One line that says what is accepted.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no size; write a number and a unit, such as 64MiB or 1GB");
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim();
    let unit = unit.strip_suffix('b').unwrap_or(unit);
    let (letter, base) = match unit.strip_suffix('i') {
        Some(letter) => (letter, 1024f64),
        None => (unit, 1000f64),
    };
    let power = match letter {
        "" if base == 1000.0 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(wrong()),
    };
    let bytes = number * base.powi(power);
    if bytes.is_finite() && bytes <= u64::MAX as f64 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_as_mc_prints_them() {
        let rows = [
            (0, "0 B"),
            (9, "9 B"),
            (10, "10 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (10 << 10, "10 KiB"),
            (16 << 20, "16 MiB"),
            (5 << 40, "5.0 TiB"),
            (u64::MAX, "16 EiB"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(human(bytes), expected);
        }
        assert_eq!(human_narrow(1536), "1.5KiB");
    }

    #[test]
    fn sizes_are_read_with_metric_and_binary_units() {
        let rows = [
            ("0", 0),
            ("12", 12),
            ("1k", 1000),
            ("64MB", 64_000_000),
            ("64MiB", 64 << 20),
            ("1gi", 1 << 30),
            ("1.5 KiB", 1536),
            ("2b", 2),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1x", "-1", "1e400", "9999999P", "1.2.3"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
