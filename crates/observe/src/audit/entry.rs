//! An entry of the audit log, in MinIO's format.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::trace::Entry;

/// Formats an entry as a JSON line without secrets. A server that acts as MinIO names users as MinIO does.
pub(super) fn line(entry: &Entry, acts_as_minio: bool) -> Vec<u8> {
    let nanoseconds = (entry.milliseconds * 1e6) as u64;
    let status = StatusCode::from_u16(entry.status).ok();
    let status_text = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
    let header = |name: &str| {
        let found = entry.request_headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    };
    let is_session = entry.session.is_some();
    let name = |user: &String| match acts_as_minio {
        true => plain_name(user).to_owned(),
        false => user.clone(),
    };
    let mut document = json!({
        "version": "1",
        "time": entry.time,
        "event": "",
        "trigger": "incoming",
        "api": {
            "name": entry.operation,
            "bucket": entry.bucket,
            "object": entry.key,
            "status": status_text,
            "statusCode": entry.status,
            "rx": entry.bytes_in,
            "tx": entry.bytes_out,
            "timeToResponse": format!("{nanoseconds}ns"),
            "timeToResponseInNS": nanoseconds.to_string(),
        },
        "remotehost": entry.client,
        "requestID": entry.id,
        "userAgent": header("user-agent"),
        "requestPath": entry.path,
        "requestHost": header("host"),
        "requestClaims": is_session.then(|| json!({ "sub": entry.session.as_ref().map(name) })),
        "requestQuery": query(&entry.query),
        "requestHeader": headers(&entry.request_headers),
        "responseHeader": headers(&entry.response_headers),
        "accessKey": entry.access_key,
        "parentUser": entry.user.as_ref().map(name),
        "error": entry.denied.as_ref().or(entry.code.as_ref()),
        "errorCode": entry.code,
    });
    if let Value::Object(members) = &mut document {
        members.retain(|_, value| !value.is_null());
    }
    let mut line = document.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The name in the ARN of a user, without account and path; other names unchanged.
fn plain_name(user: &str) -> &str {
    match user.starts_with("arn:aws:iam:") && user.contains(":user/") {
        true => user.rsplit('/').next().unwrap_or(user),
        false => user,
    }
}

fn join<'t>(pairs: impl Iterator<Item = (String, &'t str)>) -> Value {
    let mut joined: Map<String, Value> = Map::new();
    for (name, value) in pairs {
        match joined.get_mut(&name) {
            Some(Value::String(text)) => {
                text.push(',');
                text.push_str(value);
            }
            _ => {
                joined.insert(name, value.into());
            }
        }
    }
    Value::Object(joined)
}

fn headers(headers: &[(String, String)]) -> Value {
    join(headers.iter().map(|(name, value)| (name.clone(), value.as_str())))
}

fn query(query: &str) -> Value {
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    join(pairs.iter().map(|(name, value)| (name.clone(), value.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_the_place_of_minio_names_users_without_account_and_path() {
        const USER: &str = "arn:aws:iam::000000000000:user/team/bob";
        const ROLE: &str = "arn:aws:sts::000000000000:assumed-role/deploy/bob";
        for (user, of_minio) in [(USER, "bob"), (ROLE, ROLE), ("alice", "alice")] {
            let mut entry = Entry::default();
            (entry.user, entry.session) = (Some(user.to_owned()), Some(user.to_owned()));
            for (acts_as_minio, expected) in [(true, of_minio), (false, user)] {
                let told: Value =
                    serde_json::from_slice(&line(&entry, acts_as_minio)).expect("JSON");
                assert_eq!(told["parentUser"], expected);
                assert_eq!(told["requestClaims"]["sub"], expected);
            }
        }
    }
}
