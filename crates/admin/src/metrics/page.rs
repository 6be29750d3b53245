//! [`Page`]: metrics as text, in the Prometheus format or in OpenMetrics.
//!
//! The crate `prometheus-client` 0.26 (3 crates, 6,600 lines) could only replace the 75 lines of
//! [`Page`] and [`Metric`]. It also appends `_total` to the name of every counter, but three of
//! MinIO's counters that dashboards use do not end with it: `minio_node_process_cpu_total_seconds`,
//! `minio_s3_traffic_received_bytes` and `minio_s3_traffic_sent_bytes`.

use std::fmt::{Display, Write as _};

/// The format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The Prometheus text format, which every scraper reads.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The format that a scraper accepts.
    pub(super) fn accepted(accept: &str) -> Format {
        let kinds = accept.split(',').filter_map(|kind| kind.split(';').next());
        match kinds.map(str::trim).any(|kind| kind == "application/openmetrics-text") {
            true => Format::OpenMetrics,
            false => Format::Text,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A label name and its value.
pub(super) type Label<'l> = (&'static str, &'l str);

/// A metric with one sample per item: its name, its help, and the function that gives an item's
/// value.
pub(super) type Column<Thing> = (&'static str, &'static str, fn(&Thing) -> u64);

/// Metrics as text.
pub(super) struct Page {
    format: Format,
    text: String,
}

impl Page {
    pub(super) fn new(format: Format) -> Page {
        Page { format, text: String::with_capacity(16 << 10) }
    }

    /// Starts a metric. `name` is its samples' name: a counter's ends in `_total`, except MinIO's
    /// counters, which are not served in OpenMetrics.
    pub(super) fn metric(&mut self, name: &'static str, kind: Kind, help: &str) -> Metric<'_> {
        let shown = match (self.format, kind) {
            (Format::OpenMetrics, Kind::Counter) => name.strip_suffix("_total").unwrap_or(name),
            _ => name,
        };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.write(format_args!("# HELP {shown} {help}\n# TYPE {shown} {kind}\n"));
        Metric { name, page: self }
    }

    /// A counter with one sample.
    pub(super) fn counter(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.metric(name, Kind::Counter, help).sample(&[], value);
    }

    /// A gauge with one sample.
    pub(super) fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.metric(name, Kind::Gauge, help).sample(&[], value);
    }

    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn write(&mut self, what: std::fmt::Arguments<'_>) {
        self.text.write_fmt(what).expect("a String takes everything");
    }
}

/// A metric whose samples are being written.
pub(super) struct Metric<'p> {
    name: &'static str,
    page: &'p mut Page,
}

impl Metric<'_> {
    pub(super) fn sample(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.sample_of("", labels, value);
    }

    /// A sample of a histogram: `suffix` is `_bucket`, `_sum` or `_count`.
    pub(super) fn sample_of(&mut self, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        let name = self.name;
        self.page.write(format_args!("{name}{suffix}"));
        for (position, (label, text)) in labels.iter().enumerate() {
            let begin = if position == 0 { '{' } else { ',' };
            self.page.write(format_args!("{begin}{label}=\"{}\"", Escaped(text)));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        self.page.write(format_args!("{end} {value}\n"));
    }
}

/// A label value, escaped.
struct Escaped<'t>(&'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => formatter.write_str("\\\\")?,
                '"' => formatter.write_str("\\\"")?,
                '\n' => formatter.write_str("\\n")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(format: Format) -> String {
        let mut page = Page::new(format);
        page.counter("seen_total", "Things seen.", 7);
        let mut metric = page.metric("size", Kind::Gauge, "Sizes.");
        metric.sample(&[("of", "a \"b\"\\\n"), ("and", "c")], 0.5);
        page.finish()
    }

    #[test]
    fn both_formats() {
        let size = "# HELP size Sizes.\n# TYPE size gauge\nsize{of=\"a \\\"b\\\"\\\\\\n\",and=\"c\"} 0.5\n";
        let text = "# HELP seen_total Things seen.\n# TYPE seen_total counter\nseen_total 7\n";
        assert_eq!(page(Format::Text), format!("{text}{size}"));
        let open = "# HELP seen Things seen.\n# TYPE seen counter\nseen_total 7\n";
        assert_eq!(page(Format::OpenMetrics), format!("{open}{size}# EOF\n"));
    }

    #[test]
    fn scrapers_choose() {
        for (accept, format) in [
            ("", Format::Text),
            ("*/*", Format::Text),
            ("text/plain;version=0.0.4;q=0.5", Format::Text),
            ("application/openmetrics-text;version=1.0.0;q=0.6,*/*;q=0.1", Format::OpenMetrics),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }
}
