//! Console sessions, and temporary keys that read a single object.

use std::net::IpAddr;

use serde_json::{Value, json};

use liteio_identity::{SESSION_SECONDS_MAX, Session, User};

/// Lifetime of a console session.
pub(super) const SESSION_SECONDS: u32 = 8 * 3600;
const _: () = assert!(SESSION_SECONDS <= SESSION_SECONDS_MAX);

/// Longest lifetime of a link, Signature Version 4's limit.
pub(super) const SHARE_SECONDS_MAX: u32 = 7 * 24 * 3600;

/// Creates a console session: it has its user's permissions, from the address that asked for it
/// only.
pub(super) fn of_console(user_id: &str, address: IpAddr, now: i64) -> Session {
    from_address(Session::new(user_id, now, SESSION_SECONDS), address)
}

/// Makes a session one of the console, which works from this address only.
pub(super) fn from_address(mut session: Session, address: IpAddr) -> Session {
    session.is_of_console = true;
    session.policies.push(allow(json!({
        "Effect": "Allow", "Action": "*", "Resource": "*",
        "Condition": { "IpAddress": { "aws:SourceIp": sources(address) } },
    })));
    session
}

/// Creates a session that may read one object, from anywhere. A link of a role's session ends with
/// it: nobody knows afterwards if the issuer would still vouch for its creator.
///
/// The link of a session has the facts of the session, so that a policy that revokes the session
/// (`aws:TokenIssueTime`, `aws:FederatedProvider`, `aws:SourceIdentity`) revokes the link.
pub(super) fn of_object(user: &User, arn: &str, now: i64, seconds: u32) -> Session {
    let id = &user.caller.user_id;
    // The id of a role's session is ROLE:NAME; no other one has a colon.
    let mut session = match id.split_once(':') {
        Some((role, name)) => {
            let mut session = Session::new(role, now, seconds);
            session.name = Some(name.to_owned());
            let end = user.session.as_ref().map_or(now, |facts| facts.expires);
            session.expires = session.expires.min(end);
            session
        }
        None => Session::new(id, now, seconds),
    };
    if let Some(facts) = &user.session {
        session.issued = facts.issued;
        session.provider.clone_from(&facts.provider);
        session.source_identity.clone_from(&facts.source_identity);
    }
    session.policies.push(allow(json!({
        "Effect": "Allow", "Action": ["s3:GetObject", "s3:GetObjectVersion"], "Resource": literal(arn),
    })));
    session
}

fn allow(statement: Value) -> String {
    json!({ "Version": "2012-10-17", "Statement": [statement] }).to_string()
}

/// The addresses to accept from a sender. On this machine, a browser may use both loopback
/// addresses; IPv6 hosts change the lower half of their address.
fn sources(address: IpAddr) -> Vec<String> {
    match address.to_canonical() {
        address if address.is_loopback() => vec!["127.0.0.0/8".to_owned(), "::1/128".to_owned()],
        IpAddr::V4(address) => vec![format!("{address}/32")],
        IpAddr::V6(address) => vec![format!("{address}/64")],
    }
}

/// Escapes a text for a policy resource, so that it is not a pattern.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '*' | '?' | '$' => literal.extend(['$', '{', character, '}']),
            other => literal.push(other),
        }
    }
    literal
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use liteio_identity::{Directory, SessionFacts};
    use liteio_policy::{Kind, Policy};

    #[test]
    fn signs_of_patterns_are_themselves() {
        assert_eq!(literal("arn:aws:s3:::b/a*?${x}"), "arn:aws:s3:::b/a${*}${?}${$}{x}");
    }

    #[test]
    fn policies_of_sessions_are_valid() {
        for address in ["127.0.0.1", "10.1.2.3", "2001:db8::1", "::ffff:10.1.2.3"] {
            let session = of_console("111122223333", address.parse().expect("an address"), 0);
            Policy::parse(session.policies[0].as_bytes(), Kind::Session).expect(address);
        }
        let directory = Directory::of_roots(&[("alice", "alice-key", "alice-secret")]);
        let alice = Arc::clone(&directory.expect("valid").find("alice-key").expect("alice").user);
        let session = of_object(&alice, "arn:aws:s3:::b/\"k\\${*}", 0, 60);
        Policy::parse(session.policies[0].as_bytes(), Kind::Session).expect("valid");
    }

    #[test]
    fn the_link_of_a_session_is_as_old_as_the_session_and_has_its_origin() {
        let directory = Directory::of_roots(&[("alice", "alice-key", "alice-secret")]);
        let alice = Arc::clone(&directory.expect("valid").find("alice-key").expect("alice").user);
        let link = |user: &User| of_object(user, "arn:aws:s3:::b/k", 1000, 60);
        let of_key = link(&alice);
        assert_eq!((of_key.issued, of_key.expires), (1000, 1060));
        assert_eq!((of_key.provider, of_key.source_identity), (None, None));

        let mut in_session = User::clone(&alice);
        in_session.session = Some(SessionFacts {
            issued: 7,
            provider: Some("provider".to_owned()),
            source_identity: Some("dora".to_owned()),
            is_of_console: true,
            expires: 2000,
        });
        let of_session = link(&in_session);
        assert_eq!((of_session.issued, of_session.expires), (7, 1060));
        assert_eq!(of_session.provider.as_deref(), Some("provider"));
        assert_eq!(of_session.source_identity.as_deref(), Some("dora"));
    }
}
