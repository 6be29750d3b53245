//! Units, and numbers in them for people.

use serde::{Deserialize, Serialize};

/// The unit of a number.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations per second.
    OperationsPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A count.
    Count,
    /// A share of 1.
    Share,
    /// A ratio of two numbers of the same unit.
    Factor,
}

/// The better of two numbers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The higher one.
    Higher,
    /// The lower one.
    Lower,
}

impl Unit {
    /// The unit's name in tables of raw numbers.
    pub fn name(self) -> &'static str {
        match self {
            Unit::OperationsPerSecond => "operations/s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Nanoseconds => "ns",
            Unit::Seconds => "s",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Share => "share",
            Unit::Factor => "factor",
        }
    }

    /// `value` with three significant digits, or whole, with its unit.
    pub fn format(self, value: f64) -> String {
        const NANOSECONDS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
        const BYTES: [(f64, &str); 5] =
            [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
        match self {
            Unit::OperationsPerSecond => format!("{}/s", digits(value)),
            Unit::BytesPerSecond => format!("{}/s", scaled(value, &BYTES)),
            Unit::Nanoseconds => scaled(value, &NANOSECONDS),
            Unit::Seconds => scaled(value * 1e9, &NANOSECONDS),
            Unit::Bytes => scaled(value, &BYTES),
            Unit::Count if value.fract() == 0.0 => thousands(value),
            Unit::Count => digits(value),
            Unit::Share => format!("{} %", digits(value * 100.0)),
            Unit::Factor => format!("{}×", digits(value)),
        }
    }
}

/// `value` in the largest unit of which it is at least one.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // 999.6 reads as 1,000, so it belongs to the next unit.
    let unit = units.iter().find(|(size, _)| value.abs() >= size * 0.9995);
    let (size, name) = unit.or(units.last()).copied().unwrap_or((1.0, ""));
    format!("{} {name}", digits(value / size))
}

/// Three significant digits, or the whole number with separated thousands.
pub(super) fn digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        "0".to_owned()
    } else if magnitude < 0.0995 {
        format!("{value:.3}")
    } else if magnitude < 9.995 {
        format!("{value:.2}")
    } else if magnitude < 99.95 {
        format!("{value:.1}")
    } else {
        thousands(value.round())
    }
}

fn thousands(whole: f64) -> String {
    let plain = format!("{:.0}", whole.abs());
    let mut parted = String::new();
    for (place, digit) in plain.chars().enumerate() {
        if place > 0 && (plain.len() - place).is_multiple_of(3) {
            parted.push(',');
        }
        parted.push(digit);
    }
    if whole < 0.0 { format!("-{parted}") } else { parted }
}
