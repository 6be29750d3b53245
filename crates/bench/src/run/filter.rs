//! The filter of rows.

/// Passes the rows whose name or group contains one of the texts of `--filter`, in any case; all
/// rows if there is no text.
#[derive(Clone, Debug)]
pub(crate) struct RowFilter {
    texts: Vec<String>,
}

impl RowFilter {
    pub(crate) fn new(texts: &[String]) -> RowFilter {
        RowFilter { texts: texts.iter().map(|text| text.to_lowercase()).collect() }
    }

    pub(crate) fn lets(&self, group: &str, name: &str) -> bool {
        let (group, name) = (group.to_lowercase(), name.to_lowercase());
        let matches = |text: &String| group.contains(text) || name.contains(text);
        self.texts.is_empty() || self.texts.iter().any(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_left_by_its_name_or_its_group() {
        let filter = RowFilter::new(&["COMMIT".to_owned(), "search".to_owned()]);
        assert!(filter.lets("Slot file", "Insert with commit"));
        assert!(filter.lets("Search, hard", "Build"));
        assert!(!filter.lets("Slot file", "Cold read"));
        assert!(RowFilter::new(&[]).lets("any", "thing"));
    }
}
