//! The resources of a statement.

use super::Kind;
use super::error::{PolicyError, Stage};
use super::key::ContextKey;
use super::pattern::Case;
use super::principal::is_partition;
use super::request::{Alias, Request};
use super::template::{Piece, Syntax, Template, pieces};

/// The element `Resource` or `NotResource`.
#[derive(Debug)]
pub(super) struct Resources {
    are_listed: bool,
    templates: Box<[Template]>,
    /// `true` if one of them can match the bucket itself.
    pub(super) has_bucket: bool,
    /// `true` if one of them can match an object, index or table in the bucket.
    pub(super) has_below: bool,
}

impl Resources {
    /// Parses a list of resources.
    ///
    /// # Errors
    /// A text is not an ARN, or lies outside of the bucket.
    pub(super) fn parse(
        texts: &[&str],
        are_listed: bool,
        kind: Kind<'_>,
        variables: bool,
    ) -> Result<Resources, PolicyError> {
        let invalid = |text: &str| PolicyError::about("Policy has invalid resource", text);
        let syntax = Syntax { wildcards: true, variables, case: Case::Differs };
        let (mut has_bucket, mut has_below) = (!are_listed, !are_listed);
        let mut templates = Vec::with_capacity(texts.len());
        for text in texts {
            let pieces = pieces(text, syntax)?;
            let base = match kind {
                Kind::Bucket(name) => Some(format!("arn:aws:s3:::{name}")),
                Kind::VectorBucket(arn) | Kind::TableBucket(arn) | Kind::Table(arn) => {
                    Some(arn.to_owned())
                }
                Kind::Identity | Kind::Session | Kind::Trust => None,
            };
            match base {
                None => check_arn(text)?,
                Some(base) => {
                    let (bucket, below) = match (kind, reach(&pieces, &base)) {
                        // Nothing is below a table, which is below its bucket.
                        (Kind::Table(_), (is_table, _)) => (false, is_table),
                        (_, reached) => reached,
                    };
                    // AWS accepts the resources of other vector buckets; they match nothing here.
                    let is_elsewhere = is_of_another_vector_bucket(kind, text, syntax)?;
                    let (bucket, below) = (bucket || is_elsewhere, below || is_elsewhere);
                    // The service must be fixed, or the statement would cover other services, too.
                    let is_named = *text == "*" || text.starts_with("arn:aws:s3");
                    if !is_named || !bucket && !below {
                        return Err(invalid(text));
                    }
                    has_bucket |= bucket;
                    has_below |= below;
                }
            }
            templates.push(Template::new(pieces, Case::Differs)?);
        }
        Ok(Resources { are_listed, templates: templates.into(), has_bucket, has_below })
    }

    /// `true` if the statement, which denies or allows, applies to the requested resource.
    pub(super) fn include(&self, request: &Request<'_>, denies: bool) -> bool {
        // What is denied stays denied, however the pattern was meant.
        let is_generous = denies && self.are_listed;
        let is_of = |template: &Template| {
            template.matches(request.resource, request)
                || request
                    .aliases
                    .iter()
                    .any(|alias| is_of_alias(template, alias, request, is_generous))
        };
        self.templates.iter().any(is_of) == self.are_listed
    }

    /// The keys of its variables.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ContextKey> {
        self.templates.iter().flat_map(Template::keys)
    }
}

fn is_of_alias(
    template: &Template,
    alias: &Alias<'_>,
    request: &Request<'_>,
    is_generous: bool,
) -> bool {
    match *alias {
        Alias::Arn(arn) => template.matches(arn, request),
        // What matches the base with nothing behind it, and with this id, ends with a star that stands for any id.
        Alias::WithId { base, id } => {
            template.matches(&format!("{base}{id}"), request)
                && (is_generous || template.matches(base, request) || template.has(id, request))
        }
    }
}

/// `true` for the ARN of a vector bucket with another name, or below one, in the policy of a vector
/// bucket. Its account and region may be any. (Recorded on AWS in moto's
/// `test_put_vector_bucket_policy_by_name`.) The own name with another region or account is no such
/// ARN: a statement that was to protect the bucket would have no effect.
fn is_of_another_vector_bucket(
    kind: Kind<'_>,
    text: &str,
    syntax: Syntax,
) -> Result<bool, PolicyError> {
    let Kind::VectorBucket(own) = kind else { return Ok(false) };
    let own = own.splitn(6, ':').nth(5).unwrap_or_default();
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    match parts[..] {
        ["arn", "aws", "s3vectors", _, _, resource] if resource.starts_with("bucket/") => {
            Ok(reach(&pieces(resource, syntax)?, own) == (false, false))
        }
        _ => Ok(false),
    }
}

/// Refuses resources of identity policies that are not ARNs.
fn check_arn(text: &str) -> Result<(), PolicyError> {
    // A star may replace the parts that follow it.
    let (head, has_star) = match text.split_once('*') {
        Some((head, _)) => (head, true),
        None => (text, false),
    };
    let parts: Vec<&str> = head.splitn(6, ':').collect();
    let is_arn = text == "*" || parts[0] == "arn" && (parts.len() == 6 || has_star);
    let is_of_partition = parts.len() < 3 || is_partition(parts[1]);
    match is_arn && is_of_partition {
        true => Ok(()),
        false => Err(no_arn(text)),
    }
}

/// The refusal of a resource that is not an ARN, in the words of IAM, which takes the first part of
/// any text with colons for `arn` and missing parts for `*`.
fn no_arn(text: &str) -> PolicyError {
    let parts: Vec<&str> = text.split(':').collect();
    let message = match parts[..] {
        [_, partition, ..] if !is_partition(partition) => {
            let missing = std::iter::repeat_n("*", 6_usize.saturating_sub(parts.len()));
            let others: Vec<&str> = parts[1..].iter().copied().chain(missing).collect();
            let arn = format!("arn:{}", others.join(":"));
            format!("Partition \"{partition}\" is not valid for resource \"{arn}\".")
        }
        ["arn", _] => {
            "Resource vendor must be fully qualified and cannot contain regexes.".to_owned()
        }
        ["arn", _, ..] => {
            let message = format!("Resource {text} needs the six parts of an ARN.");
            return PolicyError::new(message).at(Stage::Legacy);
        }
        _ => format!("Resource {text} must be in ARN format or \"*\"."),
    };
    PolicyError::new(message).at(Stage::Resources)
}

/// Two flags: the pattern can match `base` itself, and can match a name below it. A variable may
/// have any value.
///
/// Runs the pattern as a nondeterministic automaton over `base/`: `places` holds, for each position
/// in the pattern, whether the text read so far can lead there.
fn reach(pieces: &[Piece], base: &str) -> (bool, bool) {
    enum Sign {
        One(char),
        Any,
        Run,
    }
    let signs: Vec<Sign> = pieces
        .iter()
        .flat_map(|piece| match piece {
            Piece::Text(text) => text.chars().map(Sign::One).collect(),
            Piece::AnyCharacter => vec![Sign::Any],
            Piece::AnyRun | Piece::Variable(_) => vec![Sign::Run],
        })
        .collect();
    // A run may be empty, so its position also reaches the next one.
    let pass_runs = |places: &mut [bool]| {
        for (place, sign) in signs.iter().enumerate() {
            if places[place] && matches!(sign, Sign::Run) {
                places[place + 1] = true;
            }
        }
    };
    let mut places = vec![false; signs.len() + 1];
    places[0] = true;
    pass_runs(&mut places);
    let mut is_base = false;
    let slash = base.chars().chain(['/']).enumerate();
    let count = base.chars().count();
    for (index, found) in slash {
        if index == count {
            is_base = places[signs.len()];
        }
        let mut next = vec![false; signs.len() + 1];
        for (place, sign) in signs.iter().enumerate().filter(|(place, _)| places[*place]) {
            match sign {
                Sign::One(wanted) if *wanted == found => next[place + 1] = true,
                Sign::One(_) => {}
                Sign::Any => next[place + 1] = true,
                Sign::Run => next[place] = true,
            }
        }
        places = next;
        pass_runs(&mut places);
    }
    (is_base, places.contains(&true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_reach_the_bucket_or_what_is_below() {
        let syntax = Syntax { wildcards: true, variables: true, case: Case::Differs };
        for (text, bucket, below) in [
            ("b", true, false),
            ("b/", false, true),
            ("b/k", false, true),
            ("b/*", false, true),
            ("*", true, true),
            ("b*", true, true),
            ("?", true, false),
            ("?/x", false, true),
            ("b?x", false, true),
            ("${aws:username}", true, true),
            ("${aws:username}/x", false, true),
            ("c", false, false),
            ("bb", false, false),
            ("", false, false),
            ("c*", false, false),
            ("*/x/y", false, true),
        ] {
            let pieces = pieces(text, syntax).unwrap();
            assert_eq!(reach(&pieces, "b"), (bucket, below), "{text}");
        }
    }
}
