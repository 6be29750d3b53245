//! Requests of IAM.

use crate::exercise;

/// A form is either answered, or refused with a client error, and its changes can be read again.
pub fn iam_form(data: &[u8]) {
    if let Err(error) = exercise(data) {
        let status = error.status();
        assert!(status.is_client_error() || status == 501, "{status}: {error}");
        assert!(!error.message().is_empty());
    }
}

#[cfg(test)]
#[path = "../../../fuzz/run.rs"]
mod run;

#[cfg(test)]
mod tests {
    use super::run::run;

    #[test]
    fn forms_of_iam_hold_for_any_bytes() {
        run("iam_form", super::iam_form);
    }
}
