//! Anonymous permissions as statements of a bucket policy, in MinIO's form.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// An anonymous permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Permission {
    pub(super) read: bool,
    pub(super) write: bool,
}

/// A policy, split into permissions and other statements.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Policy {
    /// Permissions by key prefix.
    pub(super) prefixes: BTreeMap<String, Permission>,
    /// Statements of other kinds.
    pub(super) others: Vec<Value>,
}

const READ: [&str; 1] = ["s3:GetObject"];
const WRITE: [&str; 4] =
    ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:ListMultipartUploadParts", "s3:PutObject"];
const BUCKET: [&str; 3] =
    ["s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"];

impl Permission {
    pub(super) fn parse(name: &str) -> Option<Permission> {
        Some(match name {
            "none" | "private" => Permission::default(),
            "download" => Permission { read: true, write: false },
            "upload" => Permission { read: false, write: true },
            "public" => Permission { read: true, write: true },
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match (self.read, self.write) {
            (false, false) => "private",
            (true, false) => "download",
            (false, true) => "upload",
            (true, true) => "public",
        }
    }

    /// Name in lists.
    pub(super) fn access(self) -> &'static str {
        match (self.read, self.write) {
            (false, false) => "none",
            (true, false) => "readonly",
            (false, true) => "writeonly",
            (true, true) => "readwrite",
        }
    }
}

impl Policy {
    /// # Errors
    /// It is no policy.
    pub(super) fn parse(bucket: &str, text: &str) -> Result<Policy, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("the policy of the bucket is not JSON: {error}"))?;
        let mut policy = Policy::default();
        for statement in list(&value["Statement"]) {
            match canned(bucket, statement) {
                Some(Canned::Bucket) => {}
                Some(Canned::Objects(found)) => {
                    for (prefix, permission) in found {
                        let known = policy.prefixes.entry(prefix).or_default();
                        known.read |= permission.read;
                        known.write |= permission.write;
                    }
                }
                None => policy.others.push(statement.clone()),
            }
        }
        Ok(policy)
    }

    /// `true` if a statement of another kind may allow anonymous access below this prefix.
    pub(super) fn allows_otherwise(&self, bucket: &str, prefix: &str) -> bool {
        let place = format!("arn:aws:s3:::{bucket}/{prefix}");
        self.others.iter().any(|statement| {
            let principal = &statement["Principal"];
            let is_anyone = texts(principal).contains(&"*")
                || texts(&principal["AWS"]).contains(&"*")
                || !statement["NotPrincipal"].is_null();
            let resources = texts(&statement["Resource"]);
            let is_here = resources.is_empty()
                || resources.iter().any(|it| {
                    let plain = it.split(['*', '?']).next().unwrap_or_default();
                    plain.starts_with(&place) || place.starts_with(plain)
                });
            statement["Effect"] == "Allow" && is_anyone && is_here
        })
    }

    /// The policy in JSON; `None` without statements.
    pub(super) fn to_json(&self, bucket: &str) -> Option<String> {
        let mut statements = self.others.clone();
        let allowed: Vec<_> = self.prefixes.iter().filter(|(_, it)| it.read || it.write).collect();
        let bucket_arn = format!("arn:aws:s3:::{bucket}");
        let mut allow = |actions: &[&str], resource: &str, condition: Option<Value>| {
            let mut statement = json!({
                "Effect": "Allow",
                "Principal": {"AWS": ["*"]},
                "Action": actions,
                "Resource": [resource],
            });
            if let Some(condition) = condition {
                statement["Condition"] = condition;
            }
            statements.push(statement);
        };
        if !allowed.is_empty() {
            allow(&BUCKET[..1], &bucket_arn, None);
        }
        let readable: Vec<&String> =
            allowed.iter().filter(|(_, it)| it.read).map(|(prefix, _)| *prefix).collect();
        if readable.iter().any(|prefix| prefix.is_empty()) {
            allow(&BUCKET[1..2], &bucket_arn, None);
        } else if !readable.is_empty() {
            let condition = json!({"StringEquals": {"s3:prefix": readable}});
            allow(&BUCKET[1..2], &bucket_arn, Some(condition));
        }
        if allowed.iter().any(|(_, it)| it.write) {
            allow(&BUCKET[2..], &bucket_arn, None);
        }
        for (prefix, permission) in allowed {
            let mut actions = Vec::new();
            if permission.read {
                actions.extend(READ);
            }
            if permission.write {
                actions.extend(WRITE);
            }
            allow(&actions, &format!("{bucket_arn}/{prefix}*"), None);
        }
        if statements.is_empty() {
            return None;
        }
        Some(json!({"Version": "2012-10-17", "Statement": statements}).to_string())
    }
}

enum Canned {
    Bucket,
    Objects(Vec<(String, Permission)>),
}

/// Meaning of a statement, if it is one that this module writes.
fn canned(bucket: &str, statement: &Value) -> Option<Canned> {
    let known = ["Effect", "Principal", "Action", "Resource", "Condition", "Sid"];
    let has_more = statement.as_object()?.keys().any(|it| !known.contains(&it.as_str()));
    let principal = &statement["Principal"];
    let is_anyone = texts(principal) == ["*"] || texts(&principal["AWS"]) == ["*"];
    if has_more || statement["Effect"] != "Allow" || !is_anyone {
        return None;
    }
    let actions = texts(&statement["Action"]);
    let resources = texts(&statement["Resource"]);
    let within =
        |known: &[&str]| !actions.is_empty() && actions.iter().all(|it| known.contains(it));
    let bucket_arn = format!("arn:aws:s3:::{bucket}");
    if within(&BUCKET) && resources == [bucket_arn.as_str()] {
        let condition = statement["Condition"].as_object();
        let is_prefix = condition.is_none_or(|it| {
            it.len() == 1
                && it
                    .get("StringEquals")
                    .and_then(Value::as_object)
                    .is_some_and(|equals| equals.keys().all(|key| key == "s3:prefix"))
        });
        return is_prefix.then_some(Canned::Bucket);
    }
    if !within(&[&READ[..], &WRITE[..]].concat()) || !statement["Condition"].is_null() {
        return None;
    }
    let has = |wanted: &[&str]| wanted.iter().all(|it| actions.contains(it));
    let has_any = |wanted: &[&str]| wanted.iter().any(|it| actions.contains(it));
    let permission = Permission { read: has(&READ), write: has(&WRITE) };
    // A part of the write actions means something else than all of them.
    if !permission.write && has_any(&WRITE) {
        return None;
    }
    let prefix = |resource: &&str| {
        let prefix = resource.strip_prefix(&bucket_arn)?.strip_prefix('/')?.strip_suffix('*')?;
        (!prefix.contains(['*', '?'])).then(|| (prefix.to_owned(), permission))
    };
    let prefixes: Option<Vec<_>> = resources.iter().map(prefix).collect();
    prefixes.filter(|it| !it.is_empty()).map(Canned::Objects)
}

/// A list of strings, or a single one.
fn texts(value: &Value) -> Vec<&str> {
    list(value).iter().filter_map(|it| it.as_str()).collect()
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        Value::Null => &[],
        other => std::slice::from_ref(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(prefixes: &[(&str, &str)]) -> Policy {
        let permission = |name| Permission::parse(name).expect("it is known");
        let prefixes =
            prefixes.iter().map(|(prefix, name)| ((*prefix).to_owned(), permission(*name)));
        Policy { prefixes: prefixes.collect(), others: Vec::new() }
    }

    #[test]
    fn permissions_come_back_from_the_policy() {
        let rows: [&[(&str, &str)]; 5] = [
            &[("", "public")],
            &[("", "download")],
            &[("", "upload")],
            &[("a/", "download"), ("b", "upload")],
            &[("", "upload"), ("pub/", "public")],
        ];
        for prefixes in rows {
            let policy = policy(prefixes);
            let text = policy.to_json("photos").expect("there are statements");
            assert_eq!(Policy::parse("photos", &text), Ok(policy), "{prefixes:?}");
        }
        assert_eq!(policy(&[("", "private")]).to_json("photos"), None);
    }

    #[test]
    fn what_else_anyone_may_do_is_known() {
        let statement = |effect: &str, principal: Value, resource: &str| {
            let resource = format!("arn:aws:s3:::{resource}");
            let others = vec![json!({"Effect": effect, "Principal": principal, "Action": "s3:*",
                "Resource": resource})];
            Policy { others, ..Policy::default() }
        };
        let rows = [
            ("Allow", json!("*"), "*", true),
            ("Allow", json!({"AWS": ["*"]}), "b/pub/*", true),
            ("Allow", json!({"AWS": "*"}), "b/pub/deep/*", true),
            ("Allow", json!("*"), "b/p*", true),
            ("Allow", json!("*"), "b/other/*", false),
            ("Allow", json!({"AWS": "arn:aws:iam::1:root"}), "b/*", false),
            ("Deny", json!("*"), "b/*", false),
        ];
        for (effect, principal, resource, expected) in rows {
            let policy = statement(effect, principal, resource);
            assert_eq!(policy.allows_otherwise("b", "pub/"), expected, "{effect} {resource}");
        }
    }

    #[test]
    fn statements_of_others_are_kept() {
        let text = r#"{"Version": "2012-10-17", "Statement": [
            {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::b/x*"},
            {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["s3:GetObject"],
             "Resource": "arn:aws:s3:::b/*"},
            {"Effect": "Allow", "Principal": "*", "Action": ["s3:PutObject"],
             "Resource": "arn:aws:s3:::b/*"},
            {"Effect": "Allow", "Principal": "*", "Action": ["s3:GetObject"],
             "Resource": "arn:aws:s3:::other/*"}]}"#;
        let mut found = Policy::parse("b", text).expect("it is one");
        assert_eq!(found.others.len(), 3);
        assert_eq!(found.prefixes, policy(&[("", "download")]).prefixes);
        assert!(found.allows_otherwise("b", "") && found.allows_otherwise("b", "x"));
        found.prefixes.clear();
        let written = found.to_json("b").expect("the others stay");
        assert_eq!(Policy::parse("b", &written).expect("it is one").others.len(), 3);
    }
}
