//! Policies of users, groups and roles: inline ones, and attached managed ones.

use super::super::call::{Call, Named, check_name, no_such_policy};
use super::super::error::{self, ApiResult};
use super::super::limits::POLICIES_OF_ONE_MAX;
use super::super::records::{Document, GroupRecord, Policies, RoleRecord, UserRecord};
use super::super::xml::Xml;
use super::{Answer, Done};
use liteio_identity::MANAGED_ARN;
use liteio_policy::{
    GROUP_POLICY_CHARACTERS_MAX, ROLE_POLICY_CHARACTERS_MAX, USER_POLICY_CHARACTERS_MAX, characters,
};

/// An entity with policies.
pub(super) trait Holder: Named {
    /// The kind as in element names.
    const ELEMENT: &'static str;
    /// Maximum characters of its inline policies, without white space.
    const CHARACTERS_MAX: usize;
    fn policies(&self) -> &Policies;
    fn policies_mut(&mut self) -> &mut Policies;
}

macro_rules! holders {
    ($($record:ident $element:literal $max:ident;)*) => {
        $(impl Holder for $record {
            const ELEMENT: &'static str = $element;
            const CHARACTERS_MAX: usize = $max;

            fn policies(&self) -> &Policies {
                &self.policies
            }

            fn policies_mut(&mut self) -> &mut Policies {
                &mut self.policies
            }
        })*
    };
}

holders! {
    UserRecord "User" USER_POLICY_CHARACTERS_MAX;
    GroupRecord "Group" GROUP_POLICY_CHARACTERS_MAX;
    RoleRecord "Role" ROLE_POLICY_CHARACTERS_MAX;
}

/// The policy document in a request.
pub(super) fn document(call: &Call<'_>) -> ApiResult<Document> {
    let text = call.form.required("PolicyDocument")?;
    Document::of_identity(text).map_err(|error| error::malformed_policy(&error))
}

fn policy_name<'c>(call: &Call<'c>) -> ApiResult<&'c str> {
    let name = call.form.required("PolicyName")?;
    check_name(name, "PolicyName", 128)?;
    Ok(name)
}

fn no_such_inline<R: Holder>(name: &str) -> error::ApiError {
    error::no_such_entity(format!("The {} policy with name {name} cannot be found.", R::WORD))
}

pub(super) fn put_inline<R: Holder>(call: &mut Call<'_>) -> Done {
    let mut record: R = call.named()?;
    let name = policy_name(call)?.to_owned();
    let document = document(call)?;
    let inline = &mut record.policies_mut().inline;
    inline.insert(name, document);
    let sum: usize = inline.values().map(|document| characters(&document.text)).sum();
    if sum > R::CHARACTERS_MAX {
        return Err(error::limit_exceeded(format!(
            "Maximum policy size of {} bytes exceeded for {} {}",
            R::CHARACTERS_MAX,
            R::WORD,
            record.name()
        )));
    }
    call.draft.put(record);
    Ok(None)
}

pub(super) fn get_inline<R: Holder>(call: &mut Call<'_>) -> Answer {
    let record: R = call.named()?;
    let name = policy_name(call)?;
    let found = record.policies().inline.get(name);
    let document = found.ok_or_else(|| no_such_inline::<R>(name))?;
    let mut xml = Xml::default();
    xml.text(R::FIELD, record.name());
    xml.text("PolicyName", name);
    xml.document("PolicyDocument", &document.text);
    Ok(Some(xml))
}

pub(super) fn list_inline<R: Holder>(call: &mut Call<'_>) -> Answer {
    let record: R = call.named()?;
    let names = record.policies().inline.keys().map(|name| (name.clone(), name));
    let page = call.page(names)?;
    let mut xml = Xml::default();
    page.write_texts(&mut xml, "PolicyNames");
    Ok(Some(xml))
}

pub(super) fn delete_inline<R: Holder>(call: &mut Call<'_>) -> Done {
    let mut record: R = call.named()?;
    let name = policy_name(call)?;
    if record.policies_mut().inline.remove(name).is_none() {
        return Err(no_such_inline::<R>(name));
    }
    call.draft.put(record);
    Ok(None)
}

pub(super) fn attach<R: Holder>(call: &mut Call<'_>) -> Done {
    let mut record: R = call.named()?;
    let arn = call.policy_arn()?;
    let is_known = match arn.starts_with(MANAGED_ARN) {
        true => call.directory.policy(arn).is_some(),
        false => call.policy_of_arn(arn).is_ok(),
    };
    if !is_known {
        return Err(not_attachable(arn));
    }
    let attached = &mut record.policies_mut().attached;
    attached.insert(arn.to_owned());
    if attached.len() > POLICIES_OF_ONE_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for PoliciesPer{}: {POLICIES_OF_ONE_MAX}",
            R::ELEMENT
        )));
    }
    call.draft.put(record);
    Ok(None)
}

fn not_attachable(arn: &str) -> error::ApiError {
    error::no_such_entity(format!("Policy {arn} does not exist or is not attachable."))
}

pub(super) fn detach<R: Holder>(call: &mut Call<'_>) -> Done {
    let mut record: R = call.named()?;
    let arn = call.policy_arn()?;
    if !record.policies_mut().attached.remove(arn) {
        return Err(no_such_policy(arn));
    }
    call.draft.put(record);
    Ok(None)
}

pub(super) fn list_attached<R: Holder>(call: &mut Call<'_>) -> Answer {
    let record: R = call.named()?;
    let prefix = call.form.text("PathPrefix").unwrap_or("/");
    let is_below =
        |arn: &&String| arn.split_once(":policy").is_some_and(|(_, path)| path.starts_with(prefix));
    let arns = record.policies().attached.iter().filter(is_below);
    let page = call.page(arns.map(|arn| (arn.clone(), arn)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "AttachedPolicies", |xml, arn| {
        xml.text("PolicyName", arn.rsplit('/').next().unwrap_or_default());
        xml.text("PolicyArn", arn);
    });
    Ok(Some(xml))
}
