//! Formats the fields of an event: `message name=value name="text"`.
//!
//! The format of `tracing-subscriber` without its styles, which cost more than the rest of a line.

use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// Writes fields in the given order.
#[derive(Debug)]
pub(super) struct PlainFields;

impl<'writer> FormatFields<'writer> for PlainFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut fields_writer = FieldWriter { writer, is_first: true, result: Ok(()) };
        fields.record(&mut fields_writer);
        fields_writer.result
    }
}

struct FieldWriter<'writer> {
    writer: Writer<'writer>,
    is_first: bool,
    result: fmt::Result,
}

impl FieldWriter<'_> {
    fn field(&mut self, field: &Field, write: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        if self.result.is_ok() {
            self.result = self.name(field).and_then(|()| write(&mut self.writer));
        }
    }

    fn name(&mut self, field: &Field) -> fmt::Result {
        if !std::mem::take(&mut self.is_first) {
            self.writer.write_char(' ')?;
        }
        if field.name() == "message" {
            return Ok(());
        }
        self.writer.write_str(field.name())?;
        self.writer.write_char('=')
    }
}

impl Visit for FieldWriter<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field, |writer| write!(Escaping(writer), "{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            return self.record_debug(field, &format_args!("{value}"));
        }
        self.field(field, |writer| {
            if value
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
            {
                writer.write_char('"')?;
                writer.write_str(value)?;
                return writer.write_char('"');
            }
            write!(writer, "{value:?}")
        });
    }
}

/// Escapes text, so that a name from a client cannot break its line or control a terminal.
struct Escaping<'a, 'writer>(&'a mut Writer<'writer>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.contains(char::is_control) {
            return self.0.write_str(text);
        }
        for character in text.chars() {
            if character.is_control() {
                write!(self.0, "{}", character.escape_default())?;
            } else {
                self.0.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The line that `log` emits.
    fn line(log: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let output = buffer.clone();
        let subscriber = tracing_subscriber::fmt()
            .fmt_fields(PlainFields)
            .with_writer(move || output.clone())
            .without_time()
            .with_ansi(false)
            .with_target(false)
            .finish();
        tracing::subscriber::with_default(subscriber, log);
        String::from_utf8(buffer.0.lock().clone()).expect("text")
    }

    #[test]
    fn fields_follow_the_message_in_order() {
        let logged = line(|| {
            let (key, error) = ("a \"b\" é", io::Error::other("no"));
            tracing::info!(id = %"7F", key, status = 200_u16, took = 1.5, %error, "done");
        });
        assert_eq!(logged, " INFO done id=7F key=\"a \\\"b\\\" é\" status=200 took=1.5 error=no\n");
        assert_eq!(line(|| tracing::warn!(bytes = 0)), " WARN bytes=0\n");
    }

    #[test]
    fn nothing_that_a_client_sends_ends_the_line() {
        let evil = "a\nb\u{1b}[31m";
        let logged = line(|| tracing::info!(key = evil, shown = %evil, "{evil}"));
        assert_eq!(logged.matches('\n').count(), 1, "{logged}");
        assert!(!logged.contains('\u{1b}') && logged.contains("\\u{1b}[31m"), "{logged}");
    }
}
