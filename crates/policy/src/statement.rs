//! [`Statement`]: a statement of a policy.

use std::borrow::Cow;

use super::action::Actions;
use super::condition::Condition;
use super::error::{Faults, PolicyError, Stage};
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
    /// Notes the faults, and returns `None` if there are any.
    pub(super) fn parse(
        json: &Json,
        number: usize,
        kind: Kind<'_>,
        variables: bool,
        faults: &mut Faults,
    ) -> Option<Statement> {
        let Json::Object(members) = json else {
            let message = "Invalid policy syntax: a statement must be an object";
            return faults.note(Err(PolicyError::new(message)));
        };
        let members = members.iter().map(|(name, value)| (name.as_str(), value));
        let mut elements = Elements(members.collect());
        let sid = elements.take("Sid").map(|sid| self::sid(sid, kind)).transpose();
        let sid = faults.note(sid);
        let effect = elements.take("Effect").ok_or_else(|| missing("Effect", kind));
        let effect = faults.note(effect.and_then(self::effect));
        let action = faults.note(elements.take_either("Action", "NotAction"));
        let action = action.and_then(|found| {
            let found = found.ok_or_else(|| missing("Action", kind));
            let (json, are_listed) = faults.note(found)?;
            Some((faults.note(texts(json, "Action", kind))?, are_listed))
        });
        let is_of_server = action.as_ref().is_some_and(|(actions, are_listed)| {
            *are_listed && actions.iter().all(|text| is_of_server(text))
        });
        let actions = action.and_then(|(actions, are_listed)| {
            faults.note(Actions::parse(&actions, are_listed, kind))
        });
        let principals = faults.note(elements.take_either("Principal", "NotPrincipal"));
        let principals = principals.and_then(|found| {
            faults.note(self::principals(found, effect.unwrap_or(Effect::Deny), kind))
        });
        let resources = faults.note(elements.take_either("Resource", "NotResource"));
        let resources = resources.and_then(|found| match (found, kind) {
            (None, Kind::Identity | Kind::Session) if is_of_server => Some(None),
            (found, _) => faults.note(self::resources(found, kind, variables)),
        });
        let conditions = match elements.take("Condition") {
            Some(json) => self::conditions(json, kind, variables, faults),
            None => Some(Box::default()),
        };
        if let Some((name, _)) = elements.0.first() {
            faults.note::<()>(Err(PolicyError::new(format!("Unknown field {name}"))));
        }
        let (actions, resources) = (actions?, resources?);
        if let Some(resources) = &resources
            && !actions.fit(kind, resources.has_bucket, resources.has_below)
        {
            let message = "Action does not apply to any resource(s) in statement";
            return faults.note(Err(PolicyError::new(message)));
        }
        let (sid, effect, principals) = (sid?, effect?, principals?);
        let conditions = conditions?;
        Some(Statement { sid, number, effect, principals, actions, resources, conditions })
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
        let includes =
            |resources: &Resources| resources.include(request, self.effect == Effect::Deny);
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
            PolicyError::new("Policy statement must contain actions.").at(Stage::Actions)
        }
        (Kind::Identity | Kind::Session, "Resource") => {
            PolicyError::new("Policy statement must contain resources.").at(Stage::Resources)
        }
        _ => PolicyError::new(format!("Missing required field {name}")),
    }
}

/// The `Sid` of a statement, if it has one that is a text.
pub(super) fn sid_of(statement: &Json) -> Option<&str> {
    let Json::Object(members) = statement else { return None };
    members.iter().find_map(|(name, value)| match (name.as_str(), value) {
        ("Sid", Json::Text(sid)) => Some(sid.as_str()),
        _ => None,
    })
}

fn sid(json: &Json, kind: Kind<'_>) -> Result<String, PolicyError> {
    let Json::Text(sid) = json else {
        return Err(PolicyError::new("Invalid policy syntax: a Sid must be a text"));
    };
    let is_plain = match kind {
        Kind::Bucket(_) | Kind::VectorBucket(_) | Kind::TableBucket(_) | Kind::Table(_) => {
            !sid.chars().any(char::is_control)
        }
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
        )
        .at(Stage::Sids)),
    }
}

fn effect(json: &Json) -> Result<Effect, PolicyError> {
    match json {
        Json::Text(text) if text == "Allow" => Ok(Effect::Allow),
        Json::Text(text) if text == "Deny" => Ok(Effect::Deny),
        Json::Text(text) => {
            let is_misspelt = ["Allow", "Deny"].iter().any(|it| it.eq_ignore_ascii_case(text));
            let stage = if is_misspelt { Stage::Legacy } else { Stage::Syntax };
            Err(PolicyError::new(format!("Invalid effect: {text}")).at(stage))
        }
        _ => Err(PolicyError::new("Invalid effect: it must be \"Allow\" or \"Deny\"")),
    }
}

fn principals(
    element: Option<(&Json, bool)>,
    effect: Effect,
    kind: Kind<'_>,
) -> Result<Option<Principals>, PolicyError> {
    let has_principals = match kind {
        Kind::Bucket(_)
        | Kind::VectorBucket(_)
        | Kind::TableBucket(_)
        | Kind::Table(_)
        | Kind::Trust => true,
        Kind::Identity | Kind::Session => false,
    };
    match element {
        None if has_principals => Err(missing("Principal", kind)),
        None => Ok(None),
        Some(_) if !has_principals => {
            let message = "Policy document should not specify a principal.";
            Err(PolicyError::new(message).at(Stage::Actions))
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
            let texts = texts(json, "Resource", kind)?;
            Ok(Some(Resources::parse(&texts, are_listed, kind, variables)?))
        }
    }
}

fn conditions(
    json: &Json,
    kind: Kind<'_>,
    variables: bool,
    faults: &mut Faults,
) -> Option<Box<[Condition]>> {
    let syntax =
        || PolicyError::new("Invalid policy syntax: a Condition is {operator: {key: value}}");
    let Json::Object(operators) = json else { return faults.note(Err(syntax())) };
    let mut found: Vec<Condition> = Vec::new();
    for (operator, keys) in operators {
        let Json::Object(keys) = keys else { return faults.note(Err(syntax())) };
        let first_of_operator = found.len();
        for (name, values) in keys {
            let key = ContextKey::parse(name);
            faults.note(check_condition_key(name, &key, kind));
            if found[first_of_operator..].iter().any(|condition| condition.key == key) {
                return faults.note(Err(PolicyError::new(format!(
                    "The policy has the element twice: {name} of {operator}"
                ))));
            }
            let values = operands(values).ok_or_else(|| {
                PolicyError::about(
                    "Invalid policy syntax: a condition needs one or more values",
                    name,
                )
            });
            let values = faults.note(values)?;
            let values: Vec<&str> = values.iter().map(|value| &**value).collect();
            found.push(faults.note(Condition::parse(operator, key, &values, variables))?);
        }
    }
    Some(found.into())
}

/// Refuses condition keys that this kind of policy may not have.
fn check_condition_key(name: &str, key: &ContextKey, kind: Kind<'_>) -> Result<(), PolicyError> {
    let is_other = matches!(key, ContextKey::Other(_));
    let is_of = |service: &str| {
        name.split_once(':').is_some_and(|(vendor, _)| vendor.eq_ignore_ascii_case(service))
    };
    let is_valid = match kind {
        Kind::Bucket(_) => !is_other && !is_of("s3vectors") && !is_of("s3tables"),
        Kind::VectorBucket(_) => !is_other && !is_of("s3") && !is_of("s3tables"),
        Kind::TableBucket(_) | Kind::Table(_) => !is_other && !is_of("s3") && !is_of("s3vectors"),
        Kind::Identity | Kind::Session | Kind::Trust => {
            let is_named = name.split_once(':').is_some_and(|(vendor, key)| {
                !vendor.is_empty() && !key.is_empty() && !name.contains(char::is_whitespace)
            });
            if !is_named {
                return Err(PolicyError::about(
                    "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.",
                    name,
                )
                .at(Stage::Actions));
            }
            true
        }
    };
    match is_valid {
        true => Ok(()),
        false => Err(PolicyError::about("Policy has an invalid condition key", name)),
    }
}

/// The texts of an element: a single one, or a non-empty list.
fn texts<'j>(json: &'j Json, name: &str, kind: Kind<'_>) -> Result<Vec<&'j str>, PolicyError> {
    let texts: Option<Vec<&str>> = match json {
        Json::Text(text) => Some(vec![text]),
        Json::List(items) if !items.is_empty() => items
            .iter()
            .map(|item| match item {
                Json::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        // To IAM an empty list is none.
        Json::List(_) if matches!(kind, Kind::Identity | Kind::Session) => {
            return Err(missing(name, kind));
        }
        _ => None,
    };
    texts.ok_or_else(|| {
        let message = format!("Policy has invalid {}", name.to_ascii_lowercase());
        PolicyError::about(message, "an empty list, or no text")
    })
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
