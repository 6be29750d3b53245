//! Policies of buckets and users.

use serde_json::Value as Json;

use crate::{
    Caller, CallerKind, Context, ContextKey, Grantee, Kind, Policy, Request, Value, Verdict,
};

const VECTOR_BUCKET_ARN: &str = "arn:aws:s3vectors:us-east-1:111122223333:bucket/bucket";
const TABLE_BUCKET_ARN: &str = "arn:aws:s3tables:us-east-1:111122223333:bucket/bucket";
const TABLE_ARN: &str = "arn:aws:s3tables:us-east-1:111122223333:bucket/bucket/table/id";

/// Input: a policy as JSON, an empty line, `action resource`, and lines `key: value`.
///
/// A policy is either refused with one line, or can be evaluated. The order of its statements and
/// the white space between elements do not matter.
pub fn policy(data: &[u8]) {
    let end = memchr::memmem::find(data, b"\n\n").unwrap_or(data.len());
    let (document, asked) = data.split_at(end);
    let asked = String::from_utf8_lossy(asked);
    let mut lines = asked.lines().filter(|line| !line.is_empty());
    let (action, resource) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or_default();
    let values = lines.filter_map(|line| line.split_once(": "));
    let values = Values(values.map(|(key, value)| (ContextKey::parse(key), value)).collect());
    let kinds = [
        Kind::Bucket("bucket"),
        Kind::VectorBucket(VECTOR_BUCKET_ARN),
        Kind::TableBucket(TABLE_BUCKET_ARN),
        Kind::Table(TABLE_ARN),
        Kind::Identity,
        Kind::Trust,
        Kind::Session,
    ];
    let callers = [None, Some(user()), Some(session())];
    for kind in kinds {
        let policy = match Policy::parse(document, kind) {
            Ok(policy) => policy,
            Err(error) => {
                let line = error.to_string();
                assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
                continue;
            }
        };
        let turned = Policy::parse(&turned(document), kind).expect("the same statements");
        assert_eq!(policy.is_public(), turned.is_public());
        assert_eq!(policy.asks_for_existing_tags(), turned.asks_for_existing_tags());
        for caller in &callers {
            let request = Request {
                caller: caller.as_ref(),
                action,
                resource,
                aliases: &[],
                context: &values,
            };
            let (verdict, of_turned) = (policy.evaluate(&request), turned.evaluate(&request));
            assert_eq!(name(verdict), name(of_turned));
            if let Verdict::Allowed(statement, _) | Verdict::Denied(statement) = verdict {
                assert!(!statement.label().contains('\n'));
            }
        }
    }
}

/// An evaluator for benchmarks: takes a policy of the bucket `bucket`, and requests `(action,
/// resource)` of a user with a few values. Returns the number of allowed requests.
///
/// # Panics
/// The policy is malformed.
pub fn policy_evaluator(document: &str) -> impl Fn(&[(&str, &str)]) -> usize {
    let policy = Policy::parse(document.as_bytes(), Kind::Bucket("bucket")).expect("a policy");
    let caller = user();
    let values = Values(vec![
        (ContextKey::SourceIp, "203.0.113.7"),
        (ContextKey::SecureTransport, "true"),
        (ContextKey::CurrentTime, "2026-11-22T20:00:00Z"),
        (ContextKey::UserAgent, "aws-cli/2.17.0 md/awscrt#0.20.11 ua/2.0 os/linux"),
        (ContextKey::S3Prefix, "home/alice/"),
        (ContextKey::S3ServerSideEncryption, "AES256"),
    ]);
    move |requests| {
        let allowed = requests.iter().filter(|(action, resource)| {
            let request =
                Request { caller: Some(&caller), action, resource, aliases: &[], context: &values };
            matches!(policy.evaluate(&request), Verdict::Allowed(..))
        });
        allowed.count()
    }
}

/// The document with its statements in reverse order, and without white space.
fn turned(document: &[u8]) -> Vec<u8> {
    let mut document: Json = serde_json::from_slice(document).expect("a policy is JSON");
    if let Some(statements) = document["Statement"].as_array_mut() {
        statements.reverse();
    }
    document.to_string().into_bytes()
}

fn name(verdict: Verdict<'_>) -> (&'static str, Option<Grantee>) {
    match verdict {
        Verdict::Denied(_) => ("denied", None),
        Verdict::Allowed(_, grantee) => ("allowed", Some(grantee)),
        Verdict::Neutral => ("neutral", None),
    }
}

/// The values of a request.
struct Values<'d>(Vec<(ContextKey, &'d str)>);

impl Context for Values<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        let mut found = self.0.iter().filter(|(name, _)| name == key);
        match (found.next(), found.next()) {
            (None, _) => Value::None,
            (Some((_, value)), None) => Value::text(value),
            (Some((_, first)), Some((_, second))) => {
                Value::Many(vec![(*first).into(), (*second).into()])
            }
        }
    }
}

fn user() -> Caller {
    Caller {
        account: "111122223333".to_owned(),
        canonical_id: "c".repeat(64),
        arn: "arn:aws:iam::111122223333:user/alice".to_owned(),
        aliases: Vec::new(),
        user_id: "AIDAEXAMPLE".to_owned(),
        name: Some("alice".to_owned()),
        kind: CallerKind::User,
    }
}

fn session() -> Caller {
    Caller {
        arn: "arn:aws:sts::111122223333:assumed-role/reader/session".to_owned(),
        aliases: vec!["arn:aws:iam::111122223333:role/reader".to_owned()],
        user_id: "AROAEXAMPLE:session".to_owned(),
        name: None,
        kind: CallerKind::AssumedRole,
        ..user()
    }
}

#[cfg(test)]
#[path = "../../../fuzz/run.rs"]
mod run;

#[cfg(test)]
mod tests {
    use super::run::run;

    #[test]
    fn documents_of_policies_hold_for_any_text() {
        run("policy", super::policy);
    }
}
