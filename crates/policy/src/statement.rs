//! [`Statement`]: a statement of a policy.

use std::borrow::Cow;

use super::action::Actions;
use super::condition::Condition;
use super::error::PolicyError;
use super::json::Json;
use super::key::ContextKey;
use super::principal::{self, Principals};
use super::request::Request;
use super::resource::Resources;
use super::{Grantee, Kind};

/// A statement of a policy.
#[derive(Debug)]
pub struct Statement {
    pub(super) sid: Option<String>,
    /// The position in the policy, from 1.
    number: usize,
    pub(super) effect: Effect,
    /// `None` in identity policies, which apply to their holder.
    pub(super) principals: Option<Principals>,
    actions: Actions,
    /// `None` in trust policies, which apply to their role, and for actions on the server.
    resources: Option<Resources>,
    pub(super) conditions: Box<[Condition]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Allow,
    Deny,
}

/// The members of an object; each is taken out once, so the rest is unknown.
struct Elements<'j>(Vec<(&'j str, &'j Json)>);

impl<'j> Elements<'j> {
    fn take(&mut self, name: &str) -> Option<&'j Json> {
        let at = self.0.iter().position(|(found, _)| *found == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// One of two mutually exclusive elements, and `true` if it is the first.
    fn take_either(
        &mut self,
        name: &str,
        not_name: &str,
    ) -> Result<Option<(&'j Json, bool)>, PolicyError> {
        match (self.take(name), self.take(not_name)) {
            (Some(_), Some(_)) => Err(PolicyError::new(format!(
                "A statement must not have both {name} and {not_name}"
            ))),
            (Some(element), None) => Ok(Some((element, true))),
            (None, Some(element)) => Ok(Some((element, false))),
            (None, None) => Ok(None),
        }
    }
}

impl Statement {
    /// Parses the statement with this number, from 1.
    ///
    /// # Errors
    /// One line that tells what to change.
    pub(super) fn parse(
        json: &Json,
        number: usize,
        kind: Kind<'_>,
        variables: bool,
    ) -> Result<Statement, PolicyError> {
        let Json::Object(members) = json else {
            return Err(PolicyError::new("Invalid policy syntax: a statement must be an object"));
        };
        let members = members.iter().map(|(name, value)| (name.as_str(), value));
        let mut elements = Elements(members.collect());
        let sid = elements.take("Sid").map(|sid| self::sid(sid, kind)).transpose()?;
        let effect = effect(elements.take("Effect").ok_or_else(|| missing("Effect", kind))?)?;
        let (action, are_listed) =
            elements.take_either("Action", "NotAction")?.ok_or_else(|| missing("Action", kind))?;
        let actions = texts(action).ok_or_else(|| {
            PolicyError::about("Policy has invalid action", "an empty list, or no text")
        })?;
        let is_of_server = are_listed && actions.iter().all(|text| is_of_server(text));
        let actions = Actions::parse(&actions, are_listed, kind)?;
        let principals = elements.take_either("Principal", "NotPrincipal")?;
        let principals = self::principals(principals, effect, kind)?;
        let resources = elements.take_either("Resource", "NotResource")?;
        let resources = match (resources, kind) {
            (None, Kind::Identity | Kind::Session) if is_of_server => None,
            (resources, _) => self::resources(resources, kind, variables)?,
        };
        let conditions = elements.take("Condition");
        let conditions = conditions.map(|it| self::conditions(it, kind, variables)).transpose()?;
        if let Some((name, _)) = elements.0.first() {
            return Err(PolicyError::new(format!("Unknown field {name}")));
        }
        if let Some(resources) = &resources
            && !actions.fit(kind, resources.has_bucket, resources.has_below)
        {
            return Err(PolicyError::new("Action does not apply to any resource(s) in statement"));
        }
        let conditions = conditions.unwrap_or_default();
        Ok(Statement { sid, number, effect, principals, actions, resources, conditions })
    }

    /// The `Sid`, or the number in the policy from 1; for the log.
    pub fn label(&self) -> String {
        match &self.sid {
            Some(sid) => sid.clone(),
            None => format!("statement {}", self.number),
        }
    }

    /// The way in which the statement names the sender, if it applies to the request.
    pub(super) fn applies(&self, request: &Request<'_>) -> Option<Grantee> {
        let includes = |resources: &Resources| resources.include(request);
        if !self.actions.include(request.action) || !self.resources.as_ref().is_none_or(includes) {
            return None;
        }
        let grantee = match &self.principals {
            None => Grantee::Caller,
            Some(principals) => principals.grantee(request.caller)?,
        };
        let hold = self.conditions.iter().all(|condition| condition.holds(request));
        hold.then_some(grantee)
    }

    /// The condition keys that its conditions and variables read.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ContextKey> {
        let of_resources = self.resources.iter().flat_map(Resources::keys);
        self.conditions.iter().flat_map(Condition::keys).chain(of_resources)
    }
}

/// `true` for an action of MinIO on the server itself: statements about these have no resource.
fn is_of_server(action: &str) -> bool {
    let vendor = action.split(':').next().unwrap_or_default();
    action.contains(':') && ["admin", "kms"].iter().any(|it| it.eq_ignore_ascii_case(vendor))
}

/// The error for a statement without a required element.
fn missing(name: &str, kind: Kind<'_>) -> PolicyError {
    match (kind, name) {
        (Kind::Identity | Kind::Session, "Action") => {
            PolicyError::new("Policy statement must contain actions.")
        }
        (Kind::Identity | Kind::Session, "Resource") => {
            PolicyError::new("Policy statement must contain resources.")
        }
        _ => PolicyError::new(format!("Missing required field {name}")),
    }
}

fn sid(json: &Json, kind: Kind<'_>) -> Result<String, PolicyError> {
    let Json::Text(sid) = json else {
        return Err(PolicyError::new("Invalid policy syntax: a Sid must be a text"));
    };
    let is_plain = match kind {
        Kind::Bucket(_) | Kind::VectorBucket(_) => !sid.chars().any(char::is_control),
        Kind::Identity | Kind::Trust | Kind::Session => {
            sid.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    };
    match is_plain {
        true => Ok(sid.clone()),
        false => Err(PolicyError::about(
            "Statement IDs (SID) must be alpha-numeric. Check that your input satisfies the regular \
             expression [0-9A-Za-z]*",
            sid,
        )),
    }
}

fn effect(json: &Json) -> Result<Effect, PolicyError> {
    match json {
        Json::Text(text) if text == "Allow" => Ok(Effect::Allow),
        Json::Text(text) if text == "Deny" => Ok(Effect::Deny),
        Json::Text(text) => Err(PolicyError::new(format!("Invalid effect: {text}"))),
        _ => Err(PolicyError::new("Invalid effect: it must be \"Allow\" or \"Deny\"")),
    }
}

fn principals(
    element: Option<(&Json, bool)>,
    effect: Effect,
    kind: Kind<'_>,
) -> Result<Option<Principals>, PolicyError> {
    let has_principals = match kind {
        Kind::Bucket(_) | Kind::VectorBucket(_) | Kind::Trust => true,
        Kind::Identity | Kind::Session => false,
    };
    match element {
        None if has_principals => Err(missing("Principal", kind)),
        None => Ok(None),
        Some(_) if !has_principals => {
            Err(PolicyError::new("Policy document should not specify a principal."))
        }
        Some((_, false)) if effect == Effect::Allow => Err(PolicyError::new(
            "Allow with NotPrincipal is not allowed: list the allowed senders in Principal",
        )),
        Some((json, is_listed)) => {
            let principals = principal::parse(json)?;
            Ok(Some(match is_listed {
                true => Principals::Any(principals),
                false => Principals::AllBut(principals),
            }))
        }
    }
}

fn resources(
    element: Option<(&Json, bool)>,
    kind: Kind<'_>,
    variables: bool,
) -> Result<Option<Resources>, PolicyError> {
    match (element, kind) {
        (Some(_), Kind::Trust) => Err(PolicyError::new("Has prohibited field Resource")),
        (None, Kind::Trust) => Ok(None),
        (None, _) => Err(missing("Resource", kind)),
        (Some((json, are_listed)), _) => {
            let texts = texts(json).ok_or_else(|| {
                PolicyError::about("Policy has invalid resource", "an empty list, or no text")
            })?;
            Ok(Some(Resources::parse(&texts, are_listed, kind, variables)?))
        }
    }
}

fn conditions(
    json: &Json,
    kind: Kind<'_>,
    variables: bool,
) -> Result<Box<[Condition]>, PolicyError> {
    let syntax =
        || PolicyError::new("Invalid policy syntax: a Condition is {operator: {key: value}}");
    let Json::Object(operators) = json else { return Err(syntax()) };
    let mut found: Vec<Condition> = Vec::new();
    for (operator, keys) in operators {
        let Json::Object(keys) = keys else { return Err(syntax()) };
        let first_of_operator = found.len();
        for (name, values) in keys {
            let key = condition_key(name, kind)?;
            if found[first_of_operator..].iter().any(|condition| condition.key == key) {
                return Err(PolicyError::new(format!(
                    "The policy has the element twice: {name} of {operator}"
                )));
            }
            let values = operands(values).ok_or_else(|| {
                PolicyError::about(
                    "Invalid policy syntax: a condition needs one or more values",
                    name,
                )
            })?;
            let values: Vec<&str> = values.iter().map(|value| &**value).collect();
            found.push(Condition::parse(operator, key, &values, variables)?);
        }
    }
    Ok(found.into())
}

/// The condition key with this name, if this kind of policy may have it.
fn condition_key(name: &str, kind: Kind<'_>) -> Result<ContextKey, PolicyError> {
    let key = ContextKey::parse(name);
    let is_other = matches!(key, ContextKey::Other(_));
    let is_of = |service: &str| {
        name.split_once(':').is_some_and(|(vendor, _)| vendor.eq_ignore_ascii_case(service))
    };
    let is_valid = match kind {
        Kind::Bucket(_) => !is_other && !is_of("s3vectors"),
        Kind::VectorBucket(_) => !is_other && !is_of("s3"),
        Kind::Identity | Kind::Session | Kind::Trust => {
            let is_named = name.split_once(':').is_some_and(|(vendor, key)| {
                !vendor.is_empty() && !key.is_empty() && !name.contains(char::is_whitespace)
            });
            if !is_named {
                return Err(PolicyError::about(
                    "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
                    name,
                ));
            }
            true
        }
    };
    match is_valid {
        true => Ok(key),
        false => Err(PolicyError::about("Policy has an invalid condition key", name)),
    }
}

/// The texts of an element: a single one, or a non-empty list.
fn texts(json: &Json) -> Option<Vec<&str>> {
    match json {
        Json::Text(text) => Some(vec![text]),
        Json::List(items) if !items.is_empty() => items
            .iter()
            .map(|item| match item {
                Json::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// The values of a condition as texts: a single one, or a non-empty list.
fn operands(json: &Json) -> Option<Vec<Cow<'_, str>>> {
    fn one(json: &Json) -> Option<Cow<'_, str>> {
        match json {
            Json::Text(text) | Json::Number(text) => Some(Cow::Borrowed(text)),
            Json::Bool(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
            Json::Null | Json::List(_) | Json::Object(_) => None,
        }
    }
    match json {
        Json::List(items) if !items.is_empty() => items.iter().map(one).collect(),
        Json::List(_) => None,
        json => one(json).map(|value| vec![value]),
    }
}
