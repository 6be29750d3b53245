//! Rows in CSV: no header, every field in quotes, keys encoded as in URLs, as on AWS.

use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::column::{Cell, Column};

/// Everything but unreserved characters and slashes.
const KEY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Appends a row.
pub(super) fn append(text: &mut String, columns: &[Column], cells: &[Cell]) {
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push('"');
        match cell {
            Cell::Null => {}
            Cell::Text(key) if *column == Column::Key => {
                text.extend(utf8_percent_encode(key, KEY));
            }
            Cell::Text(value) => text.push_str(&value.replace('"', "\"\"")),
            Cell::Flag(flag) => text.push_str(if *flag { "true" } else { "false" }),
            Cell::Number(number) => text.push_str(&number.to_string()),
            Cell::Time(ms) => {
                let at = Timestamp::from_millisecond(*ms).unwrap_or(Timestamp::MAX);
                text.push_str(&at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string());
            }
        }
        text.push('"');
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_quoted_and_keys_encoded() {
        let mut text = String::new();
        let columns = [
            Column::Bucket,
            Column::Key,
            Column::IsLatest,
            Column::Size,
            Column::LastModifiedDate,
            Column::ETag,
        ];
        let cells = [
            Cell::Text("photos".to_owned()),
            Cell::Text("a b,\"\n+/ä".to_owned()),
            Cell::Flag(true),
            Cell::Number(7),
            Cell::Time(1_472_149_055_000),
            Cell::Null,
        ];
        append(&mut text, &columns, &cells);
        let expected = "\"photos\",\"a%20b%2C%22%0A%2B/%C3%A4\",\"true\",\"7\",\
                        \"2016-08-25T18:17:35.000Z\",\"\"\n";
        assert_eq!(text, expected);
    }
}
