//! The decision: a pure function of documents and request.

#[cfg(test)]
mod tests;

use super::action::Action;

/// The documents of a resource that decide about access to it. Today they are its owner alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Documents<'d> {
    /// Canonical id of the owner of the bucket or vector bucket.
    pub(super) owner_id: &'d str,
}

/// The parts of a request that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'r> {
    /// Canonical id of the sender; none of anonymous ones.
    pub(super) principal_id: Option<&'r str>,
    pub(super) action: Action,
    pub(super) context: Context<'r>,
}

/// The circumstances of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context<'r> {
    /// The owner that the client expects, as in `x-amz-expected-bucket-owner`.
    pub(crate) expected_owner: Option<&'r str>,
    /// The query overrides headers of the response (`response-content-type` and its like).
    pub(crate) overrides_response: bool,
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// Nothing allows the request.
    Denied,
    /// Anonymous requests must not override headers of the response.
    AnonymousOverride,
}

/// Decides about `request`. `documents` are those of the resource; an action on the account has none.
pub(super) fn decide(
    documents: Option<Documents<'_>>,
    request: &Request<'_>,
) -> Result<(), Denial> {
    request.check()?;
    let is_allowed = match (request.principal_id, documents) {
        (None, _) => false,
        // Actions on the account (creating a bucket, listing one's own) are for every user.
        (Some(_), None) => request.action.is_of_account(),
        (Some(id), Some(Documents { owner_id })) => {
            let expected = request.context.expected_owner;
            id == owner_id && expected.is_none_or(|expected| expected == owner_id)
        }
    };
    if is_allowed { Ok(()) } else { Err(Denial::Denied) }
}

impl Request<'_> {
    /// The rules that need no documents. They come first: a request that breaks one of them does not
    /// learn whether the resource exists.
    pub(super) fn check(&self) -> Result<(), Denial> {
        match self.principal_id {
            None if self.context.overrides_response => Err(Denial::AnonymousOverride),
            _ => Ok(()),
        }
    }
}
