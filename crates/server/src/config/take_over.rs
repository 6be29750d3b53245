//! Resolves the answer to data of a MinIO that cannot be taken over.

use super::{ConfigError, TakeOver, error};
use crate::cli::ServerArgs;

/// The answer that the arguments give.
///
/// # Errors
/// [`ConfigError`] for a word that is none.
pub(super) fn resolve(arguments: &ServerArgs) -> Result<TakeOver, ConfigError> {
    match arguments.take_over.as_deref() {
        None | Some("complete") => Ok(TakeOver::Complete),
        Some("incomplete") => Ok(TakeOver::Incomplete),
        Some("keep") => Ok(TakeOver::Keep),
        Some(other) => error(format!(
            "{other:?} is not valid for --take-over: give complete, incomplete or keep"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_of_three_words() {
        let of = |word: Option<&str>| {
            resolve(&ServerArgs { take_over: word.map(str::to_owned), ..ServerArgs::default() })
        };
        assert_eq!(of(None), Ok(TakeOver::Complete));
        assert_eq!(of(Some("complete")), Ok(TakeOver::Complete));
        assert_eq!(of(Some("incomplete")), Ok(TakeOver::Incomplete));
        assert_eq!(of(Some("keep")), Ok(TakeOver::Keep));
        let refused = of(Some("all")).expect_err("refused").to_string();
        assert!(refused.contains("\"all\"") && refused.contains("incomplete"), "{refused}");
    }
}
