//! Vended credentials: a session of the sender that reaches the files of one table only.

use liteio_access::{Action, Granted};
use liteio_iceberg::{Identifier, TableMetadata};
use liteio_identity::{AccessKey, Session};
use liteio_policy::CallerKind;
use liteio_store::Bucket;
use serde_json::{Map, Value, json};

use super::commit::Loaded;
use super::error::ApiResult;
use super::limits::VENDED_SECONDS;
use super::warehouse::{key_of, trimmed};
use super::{Answer, Call, Output};

/// Properties with other places for files of a table.
pub(crate) const PATHS: [&str; 4] = [
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
];

pub(crate) fn load(call: &Call<'_>) -> Answer {
    let granted = call.granted()?;
    let name = call.identifier()?;
    let Loaded { metadata, .. } = call.load(&granted, name)?;
    let credentials = call.credentials(&granted, name, &metadata)?;
    let credentials: Vec<_> = credentials.into_iter().map(|it| of_storage(&metadata, it)).collect();
    Output::json(&json!({ "storage-credentials": credentials }))
}

fn of_storage(metadata: &TableMetadata, config: Map<String, Value>) -> Value {
    json!({ "prefix": format!("{}/", trimmed(metadata.location())), "config": config })
}

impl Call<'_> {
    /// Adds the properties of a table to an answer, with credentials if the client asks for them.
    pub(crate) fn add_credentials(
        &self,
        answer: &mut Map<String, Value>,
        granted: &Granted,
        name: &Identifier,
        metadata: &TableMetadata,
    ) -> ApiResult<()> {
        let vended = match self.is_delegated() {
            true => self.credentials(granted, name, metadata)?,
            false => None,
        };
        if let Some(config) = &vended {
            let storage = json!([of_storage(metadata, config.clone())]);
            answer.insert("storage-credentials".to_owned(), storage);
        }
        answer.insert("config".to_owned(), Value::Object(vended.unwrap_or_default()));
        Ok(())
    }

    /// Properties with credentials for the files of a table. `None` for a sender of whom there can be no session with
    /// fewer rights: one whose own rights a session policy limits, or a service account.
    fn credentials(
        &self,
        granted: &Granted,
        name: &Identifier,
        metadata: &TableMetadata,
    ) -> ApiResult<Option<Map<String, Value>>> {
        let Some(mut session) = self.sent.key.as_deref().and_then(|key| self.session_of(key))
        else {
            return Ok(None);
        };
        let may_write = self.allows(granted, &[Action::PutTableData], name).is_ok();
        session.policies.push(policy(granted.bucket(), metadata, may_write)?);
        let expires = session.expires;
        let issued = self.shared.app.directory.begin(session)?;
        let mut config = self.properties();
        let expires_ms = expires.saturating_mul(1000).to_string();
        for (key, value) in [
            ("s3.access-key-id", issued.access_key),
            ("s3.secret-access-key", issued.secret_key),
            ("s3.session-token", issued.token),
            ("s3.session-token-expires-at-ms", expires_ms.clone()),
            ("expiration-time", expires_ms),
        ] {
            config.insert(key.to_owned(), value.into());
        }
        Ok(Some(config))
    }

    /// A session with all rights of the holder of a key.
    fn session_of(&self, key: &AccessKey) -> Option<Session> {
        let user = &key.user;
        if key.is_of_service || user.session_policies.is_some() {
            return None;
        }
        let now = self.shared.app.now_unix_seconds();
        let id = &user.caller.user_id;
        let (of, name) = match user.caller.kind {
            CallerKind::AssumedRole => {
                let (role, name) = id.split_once(':')?;
                (role, Some(name.to_owned()))
            }
            _ => (&**id, None),
        };
        let mut session = Session::new(of, now, VENDED_SECONDS);
        session.name = name;
        if let Some(facts) = &user.session {
            session.provider = facts.provider.clone();
            session.source_identity = facts.source_identity.clone();
        }
        Some(session)
    }
}

/// The policy that limits a session to the files of a table.
fn policy(bucket: &Bucket, metadata: &TableMetadata, may_write: bool) -> ApiResult<String> {
    let places = PATHS.iter().filter_map(|path| metadata.property(path));
    let places = places.filter(|place| key_of(bucket, place).is_ok());
    let mut keys = vec![key_of(bucket, metadata.location())?];
    for place in places {
        keys.push(key_of(bucket, place)?);
    }
    let below = |key: &String| format!("{}/*", literal(key.trim_end_matches('/')));
    let patterns: Vec<_> = keys.iter().map(below).collect();
    let of_bucket = format!("arn:aws:s3:::{}", bucket.name);
    let resources: Vec<_> = patterns.iter().map(|it| format!("{of_bucket}/{it}")).collect();
    let mut actions = vec!["s3:GetObject", "s3:GetObjectVersion"];
    if may_write {
        actions.extend([
            "s3:PutObject",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
            "s3:ListMultipartUploadParts",
        ]);
    }
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [
            { "Effect": "Allow", "Action": actions, "Resource": resources },
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": of_bucket,
                "Condition": { "StringLike": { "s3:prefix": patterns } },
            },
            { "Effect": "Allow", "Action": "s3:GetBucketLocation", "Resource": of_bucket },
        ],
    });
    Ok(policy.to_string())
}

/// A text as a pattern that matches nothing else.
fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '*' | '?' | '$' => pattern.push_str(&format!("${{{character}}}")),
            _ => pattern.push(character),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_no_pattern() {
        assert_eq!(literal("a*b?c$d"), "a${*}b${?}c${$}d");
    }
}
