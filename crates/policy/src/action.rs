//! The actions of a statement.

use super::Kind;
use super::catalogue::{self, Level};
use super::error::{PolicyError, Stage};
use super::pattern::{Case, Pattern, pieces};

/// The element `Action` or `NotAction`.
#[derive(Debug)]
pub(super) struct Actions {
    are_listed: bool,
    patterns: Box<[Pattern]>,
}

impl Actions {
    /// Parses a list of actions.
    ///
    /// # Errors
    /// A text is not an action, or not one of this kind of policy.
    pub(super) fn parse(
        texts: &[&str],
        are_listed: bool,
        kind: Kind<'_>,
    ) -> Result<Actions, PolicyError> {
        let patterns = texts.iter().map(|text| {
            let pattern = Pattern::new(pieces(text), Case::Ignored).checked()?;
            let is_known = match kind {
                Kind::Bucket(_) => catalogue::of_s3(&pattern).next().is_some(),
                Kind::VectorBucket(_) => catalogue::of_vectors(&pattern).next().is_some(),
                Kind::TableBucket(_) | Kind::Table(_) => {
                    catalogue::of_tables(&pattern).next().is_some()
                }
                // Identity policies may name services that this server does not have.
                Kind::Identity | Kind::Session | Kind::Trust => {
                    check_vendor(text)?;
                    true
                }
            };
            match is_known {
                true => Ok(pattern),
                false => Err(PolicyError::about("Policy has invalid action", text)),
            }
        });
        Ok(Actions { are_listed, patterns: patterns.collect::<Result<_, _>>()? })
    }

    /// `true` if the statement applies to the action.
    pub(super) fn include(&self, action: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(action)) == self.are_listed
    }

    /// `true` if every listed action applies to the bucket or to the level below it, as the
    /// resources permit.
    pub(super) fn fit(&self, kind: Kind<'_>, has_bucket: bool, has_below: bool) -> bool {
        let is_possible = |level: Level| match level {
            Level::Bucket => has_bucket,
            Level::Below => has_below,
            Level::Either => true,
            Level::Elsewhere => false,
        };
        !self.are_listed
            || self.patterns.iter().all(|pattern| match kind {
                Kind::Bucket(_) => catalogue::of_s3(pattern).any(is_possible),
                Kind::VectorBucket(_) => catalogue::of_vectors(pattern).any(is_possible),
                Kind::TableBucket(_) | Kind::Table(_) => {
                    catalogue::of_tables(pattern).any(is_possible)
                }
                Kind::Identity | Kind::Session | Kind::Trust => true,
            })
    }
}

/// Refuses actions without the prefix of a service.
fn check_vendor(text: &str) -> Result<(), PolicyError> {
    if text == "*" {
        return Ok(());
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_action = |byte: u8| byte.is_ascii_alphanumeric() || b"*?-_".contains(&byte);
    match text.split_once(':') {
        Some((vendor, action)) if !vendor.is_empty() && !action.is_empty() => {
            if !vendor.bytes().all(is_name) {
                let message = format!("Vendor {vendor} is not valid");
                return Err(PolicyError::new(message).at(Stage::Actions));
            }
            if action.contains(':') {
                let message = "Actions/Condition can contain only one colon.";
                return Err(PolicyError::about(message, text).at(Stage::Signs));
            }
            match action.bytes().all(is_action) {
                true => Ok(()),
                false => {
                    Err(PolicyError::about("Policy has invalid action", text).at(Stage::Signs))
                }
            }
        }
        _ => Err(PolicyError::about(
            "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
            text,
        )
        .at(Stage::Actions)),
    }
}
