//! STS: temporary keys.

use std::sync::Arc;

use super::call::{ARN_MAX, ARN_MIN, is_arn};
use super::constraint::{self, Rule};
use super::error::{self, ApiResult};
use super::form::{Form, not_a_number};
use super::permission::{Circumstances, cannot_assume, check_role};
use super::web_identity::{WebIdentities, WebIdentity};
use super::xml::Xml;
use liteio_identity::{
    AccessKey, CurrentDirectory, Directory, Role, SESSION_SECONDS_DEFAULT, SESSION_SECONDS_MAX,
    Session, User,
};
use liteio_policy::{
    Caller, CallerKind, Kind, Policy, Request, SESSION_POLICY_CHARACTERS_MAX, Verdict,
};
use liteio_wire::origin::{DenialBy, Found};

/// Minimum duration of a session, in seconds (as AWS).
const SECONDS_MIN: u32 = 900;
/// Maximum duration of a GetSessionToken session, and its default.
const TOKEN_SECONDS_MAX: u32 = 36 * 3600;
const TOKEN_SECONDS_DEFAULT: u32 = 12 * 3600;
/// Maximum duration of a session that names no role, on a MinIO server.
const MINIO_SECONDS_MAX: u32 = 365 * 24 * 3600;
/// Maximum duration of a session started by a root user, or from a session of a role (role
/// chaining).
const CHAINED_SECONDS_MAX: u32 = 3600;
/// Maximum number of managed policies of a session.
const POLICY_ARNS_MAX: usize = 10;

/// Maximum characters of a session name or source identity.
pub(super) const NAME_CHARACTERS_MAX: usize = 64;
const EXTERNAL_ID_CHARACTERS_MAX: usize = 1224;

/// The id of a role that does not exist.
const ID_OF_NO_ROLE: &str = "AROA3X42LBCD27EXAMPLE";

/// Known AWS operations that are not implemented.
const NOT_BUILT: [&str; 7] = [
    "AssumeRoleWithSAML",
    "AssumeRoot",
    "DecodeAuthorizationMessage",
    "GetAccessKeyInfo",
    "GetDelegatedAccessToken",
    "GetFederationToken",
    "GetWebIdentityToken",
];

/// The names of the implemented operations.
pub const STS_OPERATIONS: [&str; 4] =
    ["AssumeRole", "AssumeRoleWithWebIdentity", "GetCallerIdentity", "GetSessionToken"];

/// A request of STS.
pub(super) struct Asked<'a> {
    pub(super) form: &'a Form,
    pub(super) directory: &'a CurrentDirectory,
    pub(super) context: Circumstances<'a>,
    pub(super) found: &'a Found,
}

/// Runs the operation of a signed request.
pub(super) fn signed(asked: &mut Asked<'_>, action: &str, key: &AccessKey) -> ApiResult<Xml> {
    match action {
        "GetCallerIdentity" => Ok(caller_identity(&key.user)),
        "GetSessionToken" => session_token(asked, key),
        "AssumeRole" => assume_role(asked, &key.user),
        _ => Err(unknown(asked.form, action)),
    }
}

/// The error for an unsupported operation.
pub(super) fn unknown(form: &Form, action: &str) -> error::ApiError {
    match NOT_BUILT.contains(&action) {
        true => error::not_implemented(format!("LiteIO does not implement {action}.")),
        false => error::invalid_action(action, form.text("Version").unwrap_or_default()),
    }
}

fn caller_identity(user: &User) -> Xml {
    let mut xml = Xml::default();
    xml.text("Arn", &user.caller.arn);
    xml.text("UserId", &user.caller.user_id);
    xml.text("Account", &user.account.id);
    xml
}

fn session_token(asked: &Asked<'_>, key: &AccessKey) -> ApiResult<Xml> {
    let user = &key.user;
    if user.session.is_some() {
        return Err(error::access_denied("Cannot call GetSessionToken with session credentials"));
    }
    if key.is_of_service {
        return Err(error::access_denied("A service account cannot call GetSessionToken"));
    }
    refuse(asked.form, &["SerialNumber", "TokenCode"])?;
    let seconds = duration(asked.form, TOKEN_SECONDS_MAX)?;
    let mut seconds = seconds.unwrap_or(TOKEN_SECONDS_DEFAULT);
    if user.caller.kind == CallerKind::Root {
        seconds = seconds.min(CHAINED_SECONDS_MAX);
    }
    let session = Session::new(&user.caller.user_id, asked.context.now, seconds);
    let mut xml = Xml::default();
    write_credentials(&mut xml, asked, session)?;
    Ok(xml)
}

fn assume_role(asked: &mut Asked<'_>, user: &User) -> ApiResult<Xml> {
    let form = asked.form;
    let (arn, name) = (role_arn(form)?, session_name(form)?);
    refuse(form, &["SerialNumber", "TokenCode", "Tags", "TransitiveTagKeys", "ProvidedContexts"])?;
    if user.caller.kind == CallerKind::Root {
        return Err(error::access_denied("Roles may not be assumed by root accounts."));
    }
    let external_id = word(form, "ExternalId", EXTERNAL_ID_CHARACTERS_MAX, ":/")?;
    let source_identity = word(form, "SourceIdentity", NAME_CHARACTERS_MAX, "")?;
    let more = &mut asked.context.more;
    more.push(("sts:RoleSessionName".to_owned(), vec![name.to_owned()]));
    for (key, text) in [("sts:ExternalId", external_id), ("sts:SourceIdentity", source_identity)] {
        more.extend(text.map(|text| (key.to_owned(), vec![text.to_owned()])));
    }
    let directory = asked.directory.now();
    let role = directory.role(arn);
    let role = role.ok_or_else(|| {
        if arn.split(':').nth(4) == Some(user.account.id.as_str()) {
            let reason = "sts:AssumeRole: there is no such role";
            asked.found.note_denial(DenialBy::Sender, || reason.to_owned());
        }
        cannot_assume(&user.caller.arn, "sts:AssumeRole", arn)
    })?;
    add_tags(&mut asked.context, role);
    check_role(user, "sts:AssumeRole", role, &asked.context, asked.found)?;
    let is_chained = user.caller.kind == CallerKind::AssumedRole;
    let mut session = begin(asked, role, name, is_chained, &directory)?;
    let former = user.session.as_ref().and_then(|facts| facts.source_identity.as_deref());
    if let Some(identity) = source_identity {
        check_role(user, "sts:SetSourceIdentity", role, &asked.context, asked.found)?;
        // As in AWS: the source identity persists through role chaining.
        if former.is_some_and(|former| former != identity) {
            return Err(error::access_denied(
                "The source identity of a session cannot be changed.",
            ));
        }
    }
    session.source_identity = source_identity.or(former).map(str::to_owned);
    let mut xml = Xml::default();
    write_role_user(&mut xml, role, name);
    write_packed_size(&mut xml, &session);
    write_credentials(&mut xml, asked, session)?;
    Ok(xml)
}

/// AssumeRole of a server that checks no signatures: any role, by anyone, as moto and LocalStack have it. Clients that
/// can send this have all rights already, and the keys are as good as any others.
pub(super) fn assume_any_role(asked: &Asked<'_>, user: &User) -> ApiResult<Xml> {
    let form = asked.form;
    let (arn, name) = (role_arn(form)?, session_name(form)?);
    let seconds = duration(form, SESSION_SECONDS_MAX)?.unwrap_or(SESSION_SECONDS_DEFAULT);
    let mut session = Session::new(&user.caller.user_id, asked.context.now, seconds);
    session.name = Some(name.to_owned());
    let account = arn.split(':').nth(4).unwrap_or_default();
    let role = arn.rsplit('/').next().unwrap_or_default();
    let known = asked.directory.now().role(arn).map(|role| role.unique_id.clone());
    let id = known.unwrap_or_else(|| ID_OF_NO_ROLE.to_owned());
    let mut xml = Xml::default();
    xml.element("AssumedRoleUser", |xml| {
        xml.text("AssumedRoleId", &format!("{id}:{name}"));
        xml.text("Arn", &format!("arn:aws:sts::{account}:assumed-role/{role}/{name}"));
    });
    write_credentials(&mut xml, asked, session)?;
    Ok(xml)
}

/// `true` if the request names a role that exists.
pub(super) fn names_role(asked: &Asked<'_>) -> bool {
    let arn = asked.form.text("RoleArn");
    arn.is_some_and(|arn| asked.directory.now().role(arn).is_some())
}

/// AssumeRole of MinIO, which has no roles, and whose clients send no ARN or one without a meaning: keys
/// with the rights of the sender, narrowed by the policies of the request.
pub(super) fn assume_no_role(asked: &Asked<'_>, key: &AccessKey) -> ApiResult<Xml> {
    let (form, user) = (asked.form, &key.user);
    if user.session.is_some() || key.is_of_service {
        return Err(error::access_denied(
            "Only a user's own keys can call AssumeRole: not those of a session or a service account.",
        ));
    }
    refuse(form, &["SerialNumber", "TokenCode", "Tags", "TransitiveTagKeys", "ProvidedContexts"])?;
    let seconds = duration(form, MINIO_SECONDS_MAX)?.unwrap_or(SESSION_SECONDS_DEFAULT);
    let mut session = Session::new(&user.caller.user_id, asked.context.now, seconds);
    narrow(&mut session, form, &user.account.id, &asked.directory.now())?;
    let mut xml = Xml::default();
    write_packed_size(&mut xml, &session);
    write_credentials(&mut xml, asked, session)?;
    Ok(xml)
}

/// The token of an issuer authenticates the request, which is unsigned.
pub(super) async fn assume_role_with_web_identity(
    asked: &mut Asked<'_>,
    web_identities: &WebIdentities,
) -> ApiResult<Xml> {
    let form = asked.form;
    let (arn, name) = (role_arn(form)?, session_name(form)?);
    let token = form.required("WebIdentityToken")?;
    let directory = asked.directory.now();
    let account = arn.split(':').nth(4).unwrap_or_default();
    let now = asked.context.now;
    let identity = web_identities.verify(token, &directory, account, now).await?;
    let (role, provider) = trusted_role(&directory, &identity, arn, name, &mut asked.context)?;
    let mut session = begin(asked, role, name, false, &directory)?;
    session.provider = Some(provider.clone());
    let mut xml = Xml::default();
    xml.text("SubjectFromWebIdentityToken", &identity.subject);
    xml.text("Audience", &identity.audience);
    xml.text("Provider", &provider);
    write_role_user(&mut xml, role, name);
    write_packed_size(&mut xml, &session);
    write_credentials(&mut xml, asked, session)?;
    Ok(xml)
}

/// The role with this ARN, if it trusts the web identity for a session of this name, and the ARN of
/// the provider that vouches for it.
pub(super) fn trusted_role<'d>(
    directory: &'d Directory,
    identity: &WebIdentity,
    arn: &str,
    name: &str,
    context: &mut Circumstances<'_>,
) -> ApiResult<(&'d Role, String)> {
    const ACTION: &str = "sts:AssumeRoleWithWebIdentity";
    let account = arn.split(':').nth(4).unwrap_or_default();
    let issuer = identity.issuer.name();
    let provider = format!("arn:aws:iam::{account}:oidc-provider/{issuer}");
    let role = directory.role(arn).ok_or_else(|| cannot_assume(&provider, ACTION, arn))?;
    let caller = Caller {
        account: String::new(),
        canonical_id: String::new(),
        arn: provider.clone(),
        aliases: vec![issuer.to_owned()],
        user_id: identity.subject.clone(),
        name: None,
        kind: CallerKind::FederatedUser,
    };
    context.more.extend(identity.keys.iter().cloned());
    context.more.push(("sts:RoleSessionName".to_owned(), vec![name.to_owned()]));
    add_tags(context, role);
    let request = Request {
        caller: Some(&caller),
        action: ACTION,
        resource: &role.arn,
        aliases: &[],
        context,
    };
    match role.trust.evaluate(&request) {
        Verdict::Allowed(..) => Ok((role, provider)),
        _ => Err(cannot_assume(&provider, ACTION, arn)),
    }
}

/// Adds the tags of the role, which is the resource of the request.
fn add_tags(context: &mut Circumstances<'_>, role: &Role) {
    for (key, value) in &role.tags {
        for name in ["aws:ResourceTag", "iam:ResourceTag"] {
            context.more.push((format!("{name}/{key}"), vec![value.clone()]));
        }
    }
}

/// The session that a role request asks for.
fn begin(
    asked: &Asked<'_>,
    role: &Role,
    name: &str,
    is_chained: bool,
    directory: &Arc<Directory>,
) -> ApiResult<Session> {
    let form = asked.form;
    let seconds = duration(form, SESSION_SECONDS_MAX)?;
    let seconds = seconds.unwrap_or(SESSION_SECONDS_DEFAULT);
    if seconds > role.session_seconds_max {
        return Err(error::validation(
            "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
        ));
    }
    if is_chained && seconds > CHAINED_SECONDS_MAX {
        return Err(error::validation(
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role \
             chaining.",
        ));
    }
    let mut session = Session::new(&role.unique_id, asked.context.now, seconds);
    session.name = Some(name.to_owned());
    narrow(&mut session, form, &role.account.id, directory)?;
    Ok(session)
}

/// Adds the policies of the request, which narrow the session, and whose ARNs are of this account.
fn narrow(
    session: &mut Session,
    form: &Form,
    account: &str,
    directory: &Directory,
) -> ApiResult<()> {
    if let Some(text) = form.text("Policy") {
        if text.chars().count() > SESSION_POLICY_CHARACTERS_MAX {
            return Err(error::packed_policy_too_large());
        }
        Policy::parse(text.as_bytes(), Kind::Session)
            .map_err(|error| error::malformed_policy(&error))?;
        session.policies.push(text.to_owned());
    }
    let arns = form.list("PolicyArns", "arn");
    // Fail closed: an ignored session policy would leave the session with more rights than
    // requested. SDKs write an empty list as an empty field.
    let is_none = form.raw("PolicyArns") == Some("");
    if form.raw("Policy") == Some("") || (arns.is_empty() && form.has("PolicyArns") && !is_none) {
        return Err(error::validation(
            "Policy must be a document, and PolicyArns a list PolicyArns.member.1.arn, ….member.2.arn, …",
        ));
    }
    if arns.len() > POLICY_ARNS_MAX {
        return Err(error::packed_policy_too_large());
    }
    for arn in arns {
        let is_of_account = arn.split(':').nth(4).is_some_and(|it| it == account || it == "aws");
        if !is_of_account || directory.policy(arn).is_none() {
            let arn: String = arn.chars().take(256).collect();
            return Err(error::validation(format!("Policy {arn} was not found.")));
        }
        session.policy_arns.push(arn.to_owned());
    }
    Ok(())
}

/// Writes the share of the policy size limit that the session policies take, in percent. As on AWS
/// a session without them has none.
fn write_packed_size(xml: &mut Xml, session: &Session) {
    let texts = session.policies.iter().chain(&session.policy_arns);
    let characters: usize = texts.map(|text| text.len()).sum();
    if characters > 0 {
        let percent = (characters * 100).div_ceil(2 * SESSION_POLICY_CHARACTERS_MAX);
        xml.text("PackedPolicySize", &percent.to_string());
    }
}

/// The seconds that a request asks for.
fn duration(form: &Form, max: u32) -> ApiResult<Option<u32>> {
    const FIELD: &str = "DurationSeconds";
    let Some(text) = form.text(FIELD) else { return Ok(None) };
    constraint::number(text, SECONDS_MIN, max).map(Some).map_err(|rule| match rule {
        Some(rule) => rule.of_sts(FIELD, text),
        None => not_a_number(FIELD),
    })
}

/// The ARN of the role.
fn role_arn(form: &Form) -> ApiResult<&str> {
    let arn = form.required("RoleArn")?;
    if let Some(rule) = constraint::length(arn.chars().count(), ARN_MIN, ARN_MAX) {
        return Err(rule.of_sts("RoleArn", arn));
    }
    match is_arn(arn) {
        true => Ok(arn),
        false => Err(error::validation(format!("{arn} is invalid"))),
    }
}

fn session_name(form: &Form) -> ApiResult<&str> {
    word(form, "RoleSessionName", NAME_CHARACTERS_MAX, "")?;
    form.required("RoleSessionName")
}

/// The text of a field: 2 to `max` letters, digits, or characters of `_+=,.@-` and `more`.
fn word<'f>(form: &'f Form, field: &str, max: usize, more: &str) -> ApiResult<Option<&'f str>> {
    let Some(text) = form.text(field) else { return Ok(None) };
    let is_of_word =
        |it: char| it.is_ascii_alphanumeric() || "_+=,.@-".contains(it) || more.contains(it);
    if let Some(rule) = constraint::length(text.chars().count(), 2, max) {
        return Err(rule.of_sts(field, text));
    }
    match text.chars().all(is_of_word) {
        true => Ok(Some(text)),
        false => {
            let pattern = format!("[\\w+=,.@{more}-]*");
            Err(Rule::Pattern(&pattern).of_sts(field, text))
        }
    }
}

/// Refuses fields that this server cannot honor and that would change the rights.
fn refuse(form: &Form, names: &[&str]) -> ApiResult<()> {
    match names.iter().find(|name| form.has(name)) {
        Some(name) => Err(error::not_implemented(format!("LiteIO does not implement {name}."))),
        None => Ok(()),
    }
}

fn write_role_user(xml: &mut Xml, role: &Role, name: &str) {
    xml.element("AssumedRoleUser", |xml| {
        xml.text("AssumedRoleId", &format!("{}:{name}", role.unique_id));
        xml.text("Arn", &session_arn(role, name));
    });
}

/// The ARN of a session of a role.
pub(super) fn session_arn(role: &Role, name: &str) -> String {
    format!("arn:aws:sts::{}:assumed-role/{}/{name}", role.account.id, role.name)
}

fn write_credentials(xml: &mut Xml, asked: &Asked<'_>, session: Session) -> ApiResult<()> {
    let expires = session.expires;
    let issued = asked.directory.begin(session).map_err(|error| error::of_store(&error))?;
    xml.element("Credentials", |xml| {
        xml.text("AccessKeyId", &issued.access_key);
        xml.text("SecretAccessKey", &issued.secret_key);
        xml.text("SessionToken", &issued.token);
        xml.time("Expiration", expires);
    });
    Ok(())
}
