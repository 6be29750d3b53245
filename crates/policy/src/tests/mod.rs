//! Tables of policies, requests and verdicts.
//!
//! A row is a policy, a request and the verdict. The policy is the members of its statements as JSON,
//! with `'` for `"` where it has no `"`, and `||` between statements; what a statement leaves out is
//! `Allow`, everyone, `s3:GetObject`, all objects of `bucket`; `2008` in front makes it one of that
//! version. The request is `sender Action resource key=value…`, with `|` between several values of a
//! key, and `|` alone for an empty list. The verdict is `deny`, `none`, or how the sender was named.

mod actions;
mod bad;
mod conditions;
mod identity;
mod principals;
mod public;
mod resources;
mod sets;
mod tables;
mod values;
mod variables;
mod vectors;

use std::borrow::Cow;

use super::*;

/// A policy, a request, a verdict.
type Row = (&'static str, &'static str, &'static str);

const BUCKET: Kind<'static> = Kind::Bucket("bucket");
const VECTOR_BUCKET_ARN: &str = "arn:aws:s3vectors:us-east-1:111122223333:bucket/vectors";

/// The document of a row's policy.
fn document(row: &str, kind: Kind<'_>) -> String {
    let (version, row) = match row.strip_prefix("2008 ") {
        Some(row) => ("2008-10-17", row),
        None => ("2012-10-17", row),
    };
    let row = if row.contains('"') { row.to_owned() } else { row.replace('\'', "\"") };
    let resource = match kind {
        Kind::Bucket(name) => format!("\"arn:aws:s3:::{name}/*\""),
        Kind::VectorBucket(arn) | Kind::TableBucket(arn) => format!("[\"{arn}\",\"{arn}/*\"]"),
        Kind::Table(arn) => format!("\"{arn}\""),
        Kind::Identity | Kind::Session => "\"*\"".to_owned(),
        Kind::Trust => String::new(),
    };
    let action = match kind {
        Kind::VectorBucket(_) => "s3vectors:*",
        Kind::TableBucket(_) | Kind::Table(_) => "s3tables:*",
        Kind::Trust => "sts:AssumeRole",
        Kind::Bucket(_) | Kind::Identity | Kind::Session => "s3:GetObject",
    };
    let statements = row.split("||").map(|members| {
        let mut statement = vec![members.trim().to_owned()];
        statement.retain(|members| !members.is_empty());
        let mut add = |name: &str, value: String| {
            if !value.is_empty() && !members.contains(&format!("{name}\"")) {
                statement.push(format!("\"{name}\":{value}"));
            }
        };
        add("Effect", "\"Allow\"".to_owned());
        add("Action", format!("\"{action}\""));
        add("Resource", resource.clone());
        if !matches!(kind, Kind::Identity | Kind::Session) {
            add("Principal", "\"*\"".to_owned());
        }
        format!("{{{}}}", statement.join(","))
    });
    let statements: Vec<String> = statements.collect();
    format!("{{\"Version\":\"{version}\",\"Statement\":[{}]}}", statements.join(","))
}

/// The senders of rows.
fn caller(name: &str) -> Option<Caller> {
    let (account, kind) = match name {
        "anonymous" => return None,
        "logging" => return Some(Caller::service("logging.s3.amazonaws.com")),
        "root" | "alice" | "named-root" => ("111122223333", name),
        "bob" | "other-root" => ("222233334444", name),
        "role" | "federated" => ("111122223333", name),
        // A web identity has no account.
        "web" => ("", name),
        _ => panic!("no sender {name}"),
    };
    let canonical_id = match account {
        "" => "",
        "111122223333" => "c1",
        _ => "c2",
    };
    let (arn, aliases, user_id, kind) = match kind {
        "root" | "other-root" => {
            (format!("arn:aws:iam::{account}:root"), vec![], account.to_owned(), CallerKind::Root)
        }
        "named-root" => (
            format!("arn:aws:iam::{account}:root"),
            vec![format!("arn:aws:iam::{account}:user/named-root")],
            account.to_owned(),
            CallerKind::Root,
        ),
        "role" => (
            format!("arn:aws:sts::{account}:assumed-role/reader/session"),
            vec![format!("arn:aws:iam::{account}:role/reader")],
            "AROA1:session".to_owned(),
            CallerKind::AssumedRole,
        ),
        "federated" => (
            format!("arn:aws:sts::{account}:federated-user/fred"),
            vec![],
            format!("{account}:fred"),
            CallerKind::FederatedUser,
        ),
        "web" => (
            "https://idp.example.com".to_owned(),
            vec![
                "idp.example.com".to_owned(),
                "arn:aws:iam::111122223333:oidc-provider/idp.example.com".to_owned(),
            ],
            "idp.example.com:subject".to_owned(),
            CallerKind::FederatedUser,
        ),
        user => (
            format!("arn:aws:iam::{account}:user/team/{user}"),
            vec![],
            format!("AIDA{user}"),
            CallerKind::User,
        ),
    };
    let is_named =
        matches!(kind, CallerKind::User) || !aliases.is_empty() && kind == CallerKind::Root;
    Some(Caller {
        account: account.to_owned(),
        canonical_id: canonical_id.to_owned(),
        arn,
        aliases,
        user_id,
        name: is_named.then(|| name.to_owned()),
        kind,
    })
}

/// The values of a row.
struct Values(Vec<(ContextKey, Vec<String>)>);

impl Context for Values {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map_or(Value::None, |(_, values)| match values.as_slice() {
            [value] => Value::text(value),
            values => Value::Many(values.iter().map(|value| Cow::Borrowed(&**value)).collect()),
        })
    }
}

/// The verdict of a policy about the request of a row.
fn verdict(policy: &Policy, kind: Kind<'_>, request: &str) -> &'static str {
    let mut words = request.split(' ');
    let mut next = || words.next().expect("sender, action and resource");
    let (sender, action, resource) = (next(), next(), next());
    let caller = caller(sender);
    let (service, resource) = match kind {
        Kind::VectorBucket(_) => (
            "s3vectors",
            match resource {
                "*" => "*".to_owned(),
                name => format!("arn:aws:s3vectors:us-east-1:111122223333:bucket/{name}"),
            },
        ),
        Kind::Trust => ("sts", resource.to_owned()),
        _ if resource == "*" || resource.starts_with("arn:") => ("s3", resource.to_owned()),
        _ => ("s3", format!("arn:aws:s3:::{resource}")),
    };
    let action =
        if action.contains(':') { action.to_owned() } else { format!("{service}:{action}") };
    let values = words.map(|word| {
        let (key, value) = word.split_once('=').expect("key=value");
        let values = match value {
            "|" => vec![],
            value => value.split('|').map(|value| value.replace("%20", " ")).collect(),
        };
        (ContextKey::parse(key), values)
    });
    let values = Values(values.collect());
    let request = Request {
        caller: caller.as_ref(),
        action: &action,
        resource: &resource,
        aliases: &[],
        context: &values,
    };
    match policy.evaluate(&request) {
        Verdict::Denied(_) => "deny",
        Verdict::Neutral => "none",
        Verdict::Allowed(_, Grantee::Everyone) => "everyone",
        Verdict::Allowed(_, Grantee::Account) => "account",
        Verdict::Allowed(_, Grantee::Caller) => "caller",
    }
}

/// Checks all rows, and shows those that fail.
#[track_caller]
fn check(kind: Kind<'_>, rows: &[Row]) {
    let wrong = rows.iter().filter_map(|(policy, request, wanted)| {
        let document = document(policy, kind);
        let found = match Policy::parse(document.as_bytes(), kind) {
            Ok(policy) => verdict(&policy, kind, request).to_owned(),
            Err(error) => format!("{error} {:?}", error.detail()),
        };
        (found != *wanted).then(|| format!("{policy}\n    {request}: {found}, not {wanted}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn labels_are_sids_or_numbers() {
    let text = document("'Sid':'First'||'Effect':'Deny','Action':'s3:PutObject'", BUCKET);
    let policy = Policy::parse(text.as_bytes(), BUCKET).unwrap();
    let context = NoContext;
    for (action, label) in [("s3:GetObject", "First"), ("s3:PutObject", "statement 2")] {
        let request = Request {
            caller: None,
            action,
            resource: "arn:aws:s3:::bucket/a",
            aliases: &[],
            context: &context,
        };
        match policy.evaluate(&request) {
            Verdict::Allowed(statement, _) | Verdict::Denied(statement) => {
                assert_eq!(statement.label(), label);
            }
            Verdict::Neutral => panic!("{action}"),
        }
    }
}

#[test]
fn policies_tell_whether_they_need_the_tags_of_objects() {
    for (row, asks) in [
        ("", false),
        ("'Condition':{'StringEquals':{'s3:ExistingObjectTag/a':'b'}}", true),
        ("'Condition':{'StringEquals':{'S3:EXISTINGOBJECTTAG/a':'b'}}", true),
        ("'Condition':{'StringEquals':{'s3:RequestObjectTag/a':'b'}}", false),
        ("'Resource':'arn:aws:s3:::bucket/${s3:ExistingObjectTag/a}/*'", true),
        ("'Condition':{'StringLike':{'aws:username':'${s3:ExistingObjectTag/a}'}}", true),
        ("2008 'Condition':{'StringLike':{'aws:username':'${s3:ExistingObjectTag/a}'}}", false),
    ] {
        let policy = Policy::parse(document(row, BUCKET).as_bytes(), BUCKET).unwrap();
        assert_eq!(policy.asks_for_existing_tags(), asks, "{row}");
    }
}

#[test]
fn condition_keys_know_their_names() {
    for name in
        ["aws:SourceIp", "s3:x-amz-acl", "s3vectors:sseType", "aws:PrincipalTag/Team", "x:y"]
    {
        assert_eq!(ContextKey::parse(name).to_string(), name);
    }
    assert_eq!(ContextKey::parse("AWS:sourceip"), ContextKey::SourceIp);
    assert_eq!(ContextKey::parse("aws:principaltag/Team"), ContextKey::PrincipalTag("Team".into()));
    assert!(matches!(ContextKey::parse("aws:PrincipalTag/"), ContextKey::Other(_)));
}

#[test]
fn characters_are_counted_without_white_space() {
    assert_eq!(characters("{ \"a\":\n\t1 }"), 7);
}
