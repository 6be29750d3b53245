//! Managed policies and their versions.

use super::super::call::{Call, new_name, no_such_policy};
use super::super::constraint::Rule;
use super::super::error::{self, ApiError, ApiResult};
use super::super::limits::{POLICIES_MAX, POLICY_VERSIONS_MAX};
use super::super::records::{
    Document, GroupRecord, PolicyRecord, Record, RoleRecord, Tags, UserRecord, VersionRecord,
};
use super::super::state::{AccountState, Table, policy_arn};
use super::super::xml::Xml;
use super::attached::Holder;
use super::tags::{new_tags, write_all_tags, write_tags};
use super::{Answer, Done};
use liteio_identity::{MANAGED_ARN, MANAGED_POLICIES, ManagedPolicy, managed};
use liteio_policy::{MANAGED_POLICY_CHARACTERS_MAX, characters};

/// Creation date of AWS's policies: the date of the policy language version (2012-10-17).
const MANAGED_SINCE: i64 = 1_350_432_000;

/// The number of users, groups and roles to which a policy is attached.
fn attachments(state: &AccountState, arn: &str) -> usize {
    fn count<R: Holder>(table: &Table<R>, arn: &str) -> usize {
        table.values().filter(|record| record.policies().attached.contains(arn)).count()
    }
    count(&state.users, arn) + count(&state.groups, arn) + count(&state.roles, arn)
}

/// Writes the elements of a policy. As on AWS, only GetPolicy has the description.
fn write_policy(xml: &mut Xml, call: &Call<'_>, policy: &PolicyRecord) {
    let arn = policy_arn(call.account(), policy);
    xml.text("PolicyName", &policy.name);
    xml.text("PolicyId", &policy.id);
    xml.text("Arn", &arn);
    xml.text("Path", &policy.path);
    xml.text("DefaultVersionId", &format!("v{}", policy.default));
    xml.text("AttachmentCount", &attachments(&call.draft.state, &arn).to_string());
    xml.text("PermissionsBoundaryUsageCount", "0");
    xml.text("IsAttachable", "true");
    xml.time("CreateDate", policy.created);
    xml.time("UpdateDate", policy.updated);
}

fn write_managed(xml: &mut Xml, call: &Call<'_>, policy: &ManagedPolicy) {
    let arn = format!("{MANAGED_ARN}{}", policy.name);
    xml.text("PolicyName", policy.name);
    let id: String =
        policy.name.chars().map(|it| it.to_ascii_uppercase()).cycle().take(17).collect();
    xml.text("PolicyId", &format!("ANPA{id}"));
    xml.text("Arn", &arn);
    xml.text("Path", "/");
    xml.text("DefaultVersionId", "v1");
    xml.text("AttachmentCount", &attachments(&call.draft.state, &arn).to_string());
    xml.text("PermissionsBoundaryUsageCount", "0");
    xml.text("IsAttachable", "true");
    xml.time("CreateDate", MANAGED_SINCE);
    xml.time("UpdateDate", MANAGED_SINCE);
}

fn write_version(xml: &mut Xml, version: &VersionRecord, policy: &PolicyRecord, with_text: bool) {
    if with_text {
        xml.document("Document", &version.document.text);
    }
    xml.text("VersionId", &format!("v{}", version.number));
    let is_default = version.number == policy.default;
    xml.text("IsDefaultVersion", if is_default { "true" } else { "false" });
    xml.time("CreateDate", version.created);
}

fn write_managed_version(xml: &mut Xml, policy: &ManagedPolicy, with_text: bool) {
    if with_text {
        xml.document("Document", policy.document);
    }
    xml.text("VersionId", "v1");
    xml.text("IsDefaultVersion", "true");
    xml.time("CreateDate", MANAGED_SINCE);
}

/// The AWS policy named by the request.
fn named_managed(call: &Call<'_>) -> ApiResult<&'static ManagedPolicy> {
    let arn = call.policy_arn()?;
    managed(arn).map(|(policy, _)| policy).ok_or_else(|| no_such_policy(arn))
}

/// The policy of the account that a change concerns.
fn changeable(call: &Call<'_>) -> ApiResult<PolicyRecord> {
    call.own_policy()?.ok_or_else(|| {
        error::access_denied(
            "Policy arn:aws:iam::aws:policy/… is managed by AWS: it cannot be changed.",
        )
    })
}

fn check_length(text: &str) -> ApiResult<()> {
    match characters(text) <= MANAGED_POLICY_CHARACTERS_MAX {
        true => Ok(()),
        false => Err(error::limit_exceeded(format!(
            "Cannot exceed quota for PolicySize: {MANAGED_POLICY_CHARACTERS_MAX}"
        ))),
    }
}

/// The document of a managed policy in a request.
fn new_document(call: &Call<'_>) -> ApiResult<Document> {
    let text = call.form.required("PolicyDocument")?;
    Document::of_managed(text).map_err(|error| error::malformed_policy(&error))
}

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let name = new_name::<PolicyRecord>(call.form, "PolicyName")?;
    let (path, tags, document) = (call.path()?, new_tags(call.form)?, new_document(call)?);
    check_length(&document.text)?;
    if call.draft.state.get::<PolicyRecord>(&name).is_some() {
        return Err(error::already_exists(format!(
            "A policy called {name} already exists. Duplicate names are not allowed."
        )));
    }
    if call.draft.state.policies.len() >= POLICIES_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for PoliciesPerAccount: {POLICIES_MAX}"
        )));
    }
    let description = call.form.text("Description").map(str::to_owned);
    if description.as_ref().is_some_and(|text| text.chars().count() > 1000) {
        return Err(Rule::LongerThan(1000).of_iam("Description"));
    }
    let policy = PolicyRecord {
        name,
        path,
        id: call.new_id("ANPA")?,
        created: call.now,
        updated: call.now,
        description,
        versions: vec![VersionRecord { number: 1, created: call.now, document }],
        default: 1,
        next: 2,
        tags,
    };
    let mut xml = Xml::default();
    xml.element("Policy", |xml| {
        write_policy(xml, call, &policy);
        write_tags(xml, &policy.tags);
    });
    call.draft.put(policy);
    Ok(Some(xml))
}

pub(super) fn get(call: &mut Call<'_>) -> Answer {
    let mut xml = Xml::default();
    match call.own_policy()? {
        Some(policy) => xml.element("Policy", |xml| {
            write_policy(xml, call, &policy);
            xml.optional("Description", policy.description.as_deref());
            write_all_tags(xml, &policy.tags);
        }),
        None => {
            let policy = named_managed(call)?;
            xml.element("Policy", |xml| {
                write_managed(xml, call, policy);
                xml.text("Description", policy.description);
                write_all_tags(xml, &Tags::default());
            });
        }
    }
    Ok(Some(xml))
}

/// A policy in a list.
enum Listed<'l> {
    Own(&'l PolicyRecord),
    Managed(&'static ManagedPolicy),
}

pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let prefix = call.form.text("PathPrefix").unwrap_or("/");
    let (own, managed) = match call.form.text("Scope") {
        None | Some("All") => (true, true),
        Some("AWS") => (false, true),
        Some("Local") => (true, false),
        Some(_) => return Err(Rule::Words.of_iam("Scope")),
    };
    let only_attached = call.form.flag("OnlyAttached")?;
    if call.form.text("PolicyUsageFilter") == Some("PermissionsBoundary") {
        let mut xml = Xml::default();
        let none = call.page(std::iter::empty::<(String, &str)>())?;
        none.write_texts(&mut xml, "Policies");
        return Ok(Some(xml));
    }
    let is_listed = |arn: &str, path: &str| {
        path.starts_with(prefix) && (!only_attached || attachments(&call.draft.state, arn) > 0)
    };
    let all_managed = MANAGED_POLICIES.iter().filter(|_| managed).map(|policy| {
        let arn = format!("{MANAGED_ARN}{}", policy.name);
        let is_listed = is_listed(&arn, "/");
        (format!("0{}", policy.name), Listed::Managed(policy), is_listed)
    });
    let all_own = call.draft.state.policies.iter().filter(|_| own).map(|(key, policy)| {
        let is_listed = is_listed(&policy_arn(call.account(), policy), &policy.path);
        (format!("1{key}"), Listed::Own(policy), is_listed)
    });
    let listed = all_managed.chain(all_own).filter(|(_, _, is_listed)| *is_listed);
    let page = call.page(listed.map(|(key, policy, _)| (key, policy)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "Policies", |xml, policy| match policy {
        Listed::Own(policy) => write_policy(xml, call, policy),
        Listed::Managed(policy) => write_managed(xml, call, policy),
    });
    Ok(Some(xml))
}

pub(super) fn delete(call: &mut Call<'_>) -> Done {
    let policy = changeable(call)?;
    let attached = attachments(&call.draft.state, &policy_arn(call.account(), &policy));
    if attached > 0 {
        return Err(error::delete_conflict("Cannot delete a policy attached to entities."));
    }
    if policy.versions.len() > 1 {
        return Err(error::delete_conflict(
            "This policy has more than one version. Before you delete a policy, you must delete the \
             policy's versions. The default version is deleted with the policy.",
        ));
    }
    call.draft.delete::<PolicyRecord>(&policy.name);
    Ok(None)
}

pub(super) fn create_version(call: &mut Call<'_>) -> Answer {
    let mut policy = changeable(call)?;
    let document = new_document(call)?;
    check_length(&document.text)?;
    if policy.versions.len() >= POLICY_VERSIONS_MAX {
        return Err(error::limit_exceeded(format!(
            "A managed policy can have up to {POLICY_VERSIONS_MAX} versions. Before you create a new version, \
             you must delete an existing version."
        )));
    }
    let version = VersionRecord { number: policy.next, created: call.now, document };
    policy.next += 1;
    policy.updated = call.now;
    if call.form.flag("SetAsDefault")? {
        policy.default = version.number;
    }
    let mut xml = Xml::default();
    xml.element("PolicyVersion", |xml| write_version(xml, &version, &policy, false));
    policy.versions.push(version);
    call.draft.put(policy);
    Ok(Some(xml))
}

/// The index of the version named by the request.
fn version_of(call: &Call<'_>, policy: &PolicyRecord) -> ApiResult<usize> {
    let id = version_id(call)?;
    let number = id.strip_prefix('v').and_then(|number| number.parse::<u32>().ok());
    let place = policy.versions.iter().position(|version| Some(version.number) == number);
    place.ok_or_else(|| no_such_version(call, id))
}

/// The id of a version in the request, such as `v2`.
fn version_id<'c>(call: &Call<'c>) -> ApiResult<&'c str> {
    let id = call.form.required("VersionId")?;
    let parts = id.strip_prefix('v').map(|rest| rest.split_once('.').unwrap_or((rest, "")));
    let is_id = parts.is_some_and(|(number, rest)| {
        !number.starts_with('0')
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    match is_id {
        true => Ok(id),
        false => Err(Rule::Pattern(r"v[1-9][0-9]*(\.[A-Za-z0-9-]*)?").of_iam("VersionId")),
    }
}

fn no_such_version(call: &Call<'_>, id: &str) -> ApiError {
    let arn = call.form.text("PolicyArn").unwrap_or_default();
    let id: String = id.chars().take(32).collect();
    error::no_such_entity(format!("Policy {arn} version {id} does not exist or is not attachable."))
}

pub(super) fn get_version(call: &mut Call<'_>) -> Answer {
    let mut xml = Xml::default();
    match call.own_policy()? {
        Some(policy) => {
            let version = &policy.versions[version_of(call, &policy)?];
            xml.element("PolicyVersion", |xml| write_version(xml, version, &policy, true));
        }
        None => {
            let (policy, id) = (named_managed(call)?, version_id(call)?);
            if id != "v1" {
                return Err(no_such_version(call, id));
            }
            xml.element("PolicyVersion", |xml| write_managed_version(xml, policy, true));
        }
    }
    Ok(Some(xml))
}

pub(super) fn list_versions(call: &mut Call<'_>) -> Answer {
    let mut xml = Xml::default();
    match call.own_policy()? {
        Some(policy) => {
            let newest_first = policy.versions.iter().rev();
            let keyed = |version: &VersionRecord| format!("{:010}", u32::MAX - version.number);
            let page = call.page(newest_first.map(|version| (keyed(version), version)))?;
            page.write(&mut xml, "Versions", |xml, version| {
                write_version(xml, version, &policy, false);
            });
        }
        None => {
            let policy = named_managed(call)?;
            let page = call.page([("1".to_owned(), policy)].into_iter())?;
            page.write(&mut xml, "Versions", |xml, it| write_managed_version(xml, it, false));
        }
    }
    Ok(Some(xml))
}

pub(super) fn delete_version(call: &mut Call<'_>) -> Done {
    let mut policy = changeable(call)?;
    let place = version_of(call, &policy)?;
    if policy.versions[place].number == policy.default {
        return Err(error::delete_conflict("Cannot delete the default version of a policy."));
    }
    policy.versions.remove(place);
    policy.updated = call.now;
    call.draft.put(policy);
    Ok(None)
}

pub(super) fn set_default_version(call: &mut Call<'_>) -> Done {
    let mut policy = changeable(call)?;
    policy.default = policy.versions[version_of(call, &policy)?].number;
    policy.updated = call.now;
    call.draft.put(policy);
    Ok(None)
}

pub(super) fn list_entities(call: &mut Call<'_>) -> Answer {
    let arn = call.policy_arn()?;
    if call.own_policy()?.is_none() {
        named_managed(call)?;
    }
    let filter = call.form.text("EntityFilter");
    let known = ["User", "Role", "Group", "LocalManagedPolicy", "AWSManagedPolicy"];
    if filter.is_some_and(|filter| !known.contains(&filter)) {
        return Err(Rule::Words.of_iam("EntityFilter"));
    }
    let mut found = Vec::new();
    fn collect<R: Holder>(
        table: &Table<R>,
        arn: &str,
        filter: Option<&str>,
        found: &mut Vec<(String, (&'static str, String))>,
    ) {
        if filter.is_some_and(|filter| filter != R::ELEMENT) {
            return;
        }
        for (key, record) in table {
            if record.policies().attached.contains(arn) {
                let name = Record::name(&**record).to_owned();
                found.push((format!("{}{key}", R::ELEMENT), (R::ELEMENT, name)));
            }
        }
    }
    let state = &call.draft.state;
    collect(&state.groups, arn, filter, &mut found);
    collect(&state.roles, arn, filter, &mut found);
    collect(&state.users, arn, filter, &mut found);
    let ids = |element: &str, name: &str| match element {
        "Group" => state.get::<GroupRecord>(name).map(|it| it.id.clone()),
        "Role" => state.get::<RoleRecord>(name).map(|it| it.id.clone()),
        _ => state.get::<UserRecord>(name).map(|it| it.id.clone()),
    };
    let page = call.page(found.into_iter())?;
    let mut xml = Xml::default();
    for element in ["Group", "Role", "User"] {
        let of_kind = page.items.iter().filter(|(kind, _)| *kind == element);
        xml.list(&format!("Policy{element}s"), of_kind, |xml, (_, name)| {
            xml.text(&format!("{element}Name"), name);
            xml.optional(&format!("{element}Id"), ids(element, name).as_deref());
        });
    }
    page.write_end(&mut xml);
    Ok(Some(xml))
}
