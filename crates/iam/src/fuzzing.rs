//! Requests of IAM.

use crate::exercise;

/// A form is answered or refused with an error of the client, and what it writes can be read again.
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
