//! Principals: the senders to whom a statement applies.
//!
//! Named users and roles need not exist. S3 would refuse an unknown one, so the order in which
//! users and policies are created would matter.

use super::Grantee;
use super::error::PolicyError;
use super::json::Json;
use super::request::{Caller, CallerKind};

/// The element `Principal` or `NotPrincipal` of a statement.
#[derive(Debug)]
pub(super) enum Principals {
    Any(Box<[Principal]>),
    AllBut(Box<[Principal]>),
}

/// One principal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Principal {
    /// `*`
    Everyone,
    /// An account, by its 12 digits or the ARN of its root.
    Account(Box<str>),
    /// An account, by its canonical id.
    CanonicalUser(Box<str>),
    /// A user, role or session, by its ARN.
    Arn(Box<str>),
    /// An identity provider.
    Federated(Box<str>),
    /// A service of AWS, for which the server writes access logs and inventories.
    Service(Box<str>),
}

fn invalid(part: &str) -> PolicyError {
    PolicyError::about("Invalid principal in policy", part)
}

/// Parses the principals of an element.
pub(super) fn parse(element: &Json) -> Result<Box<[Principal]>, PolicyError> {
    let mut found = Vec::new();
    match element {
        Json::Text(text) if text == "*" => found.push(Principal::Everyone),
        Json::Text(text) => return Err(invalid(text)),
        // Not in AWS's grammar, but other servers accept a list as the value of `AWS`.
        Json::List(_) => push(&mut found, "AWS", element)?,
        Json::Object(kinds) => {
            for (kind, entries) in kinds {
                push(&mut found, kind, entries)?;
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => return Err(invalid("")),
    }
    if found.is_empty() {
        return Err(invalid("no principal"));
    }
    Ok(found.into())
}

fn push(found: &mut Vec<Principal>, kind: &str, entries: &Json) -> Result<(), PolicyError> {
    let one: fn(&str) -> Option<Principal> = match kind {
        "AWS" => of_aws,
        "CanonicalUser" => canonical_user,
        "Federated" => federated,
        "Service" => service,
        _ => return Err(invalid(kind)),
    };
    let entries = match entries {
        Json::List(entries) if !entries.is_empty() => entries,
        entry @ Json::Text(_) => std::slice::from_ref(entry),
        _ => return Err(invalid(kind)),
    };
    for entry in entries {
        let Json::Text(text) = entry else { return Err(invalid(kind)) };
        found.push(one(text).ok_or_else(|| invalid(text))?);
    }
    Ok(())
}

fn of_aws(text: &str) -> Option<Principal> {
    if text == "*" {
        return Some(Principal::Everyone);
    }
    if is_account(text) {
        return Some(Principal::Account(text.into()));
    }
    let mut parts = text.splitn(6, ':');
    let (arn, partition) = (parts.next()?, parts.next()?);
    let (service, region) = (parts.next()?, parts.next()?);
    let (account, resource) = (parts.next()?, parts.next()?);
    let is_ours = arn == "arn" && is_partition(partition) && region.is_empty();
    let is_plain = !text.contains(['*', '?', '$']) && !text.chars().any(char::is_control);
    if !is_ours || !is_plain {
        return None;
    }
    if service == "iam" && resource == "root" {
        return Some(Principal::Account(account.into()));
    }
    let (kind, name) = resource.split_once('/')?;
    let has_name = !name.is_empty() && !name.starts_with('/') && !name.ends_with('/');
    let is_right = match (service, kind) {
        ("iam", "user" | "role") | ("sts", "federated-user") => has_name,
        ("sts", "assumed-role") => {
            has_name && name.split_once('/').is_some_and(|(_, session)| !session.is_empty())
        }
        _ => false,
    };
    is_right.then(|| Principal::Arn(text.into()))
}

pub(super) fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn is_partition(text: &str) -> bool {
    matches!(text, "aws" | "aws-cn" | "aws-us-gov")
}

fn canonical_user(text: &str) -> Option<Principal> {
    // AWS's ids are 64 hexadecimal digits; here an id may be another text.
    let is_id =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'*');
    is_id.then(|| Principal::CanonicalUser(text.into()))
}

fn federated(text: &str) -> Option<Principal> {
    let is_provider = match text.strip_prefix("arn:") {
        Some(_) => {
            let resource = text.splitn(6, ':').nth(5)?;
            let name = resource
                .strip_prefix("oidc-provider/")
                .or_else(|| resource.strip_prefix("saml-provider/"));
            name.is_some_and(|name| !name.is_empty())
        }
        // A host name such as `accounts.google.com`.
        None => text.contains('.') || text == "localhost",
    };
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'*');
    (is_provider && is_plain).then(|| Principal::Federated(text.into()))
}

fn service(text: &str) -> Option<Principal> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_service = text.contains('.') && text.bytes().all(is_name);
    is_service.then(|| Principal::Service(text.into()))
}

impl Principals {
    /// The way in which the principals name a sender; `None` is an anonymous one.
    pub(super) fn grantee(&self, caller: Option<&Caller>) -> Option<Grantee> {
        match self {
            Principals::Any(principals) => {
                principals.iter().filter_map(|principal| principal.grantee(caller)).max()
            }
            Principals::AllBut(principals) => {
                let is_one = caller.is_some_and(|caller| {
                    principals.iter().any(|principal| principal.exempts(caller))
                });
                let names_everyone = principals.contains(&Principal::Everyone);
                (!is_one && !names_everyone).then_some(Grantee::Everyone)
            }
        }
    }

    /// `true` if everyone is included.
    pub(super) fn are_everyone(&self) -> bool {
        match self {
            Principals::Any(principals) => principals.contains(&Principal::Everyone),
            Principals::AllBut(_) => true,
        }
    }
}

impl Principal {
    fn grantee(&self, caller: Option<&Caller>) -> Option<Grantee> {
        if *self == Principal::Everyone {
            return Some(Grantee::Everyone);
        }
        let caller = caller?;
        match self {
            Principal::Everyone => None,
            Principal::Service(name) => {
                let is_it = caller.kind == CallerKind::Service && **name == *caller.arn;
                is_it.then_some(Grantee::Caller)
            }
            // A web identity belongs to no account.
            Principal::Account(_) | Principal::CanonicalUser(_) if !caller.has_account() => None,
            Principal::Account(account) => {
                (**account == *caller.account).then_some(Grantee::Account)
            }
            Principal::CanonicalUser(id) => {
                (**id == *caller.canonical_id).then_some(Grantee::Account)
            }
            Principal::Arn(_) | Principal::Federated(_) if caller.kind == CallerKind::Service => {
                None
            }
            Principal::Arn(arn) | Principal::Federated(arn) => {
                caller.is_named(arn).then_some(Grantee::Caller)
            }
        }
    }

    /// `true` if this entry of `NotPrincipal` names the sender. An account stands for its root user
    /// there, and for none of its other users (AWS, "Specifying `NotPrincipal` with `Deny`").
    fn exempts(&self, caller: &Caller) -> bool {
        match self.grantee(Some(caller)) {
            Some(Grantee::Account) => caller.kind == CallerKind::Root,
            grantee => grantee.is_some(),
        }
    }
}

impl Caller {
    fn has_account(&self) -> bool {
        !self.account.is_empty()
    }

    fn is_named(&self, name: &str) -> bool {
        self.arn == name || self.aliases.iter().any(|alias| alias == name)
    }
}
