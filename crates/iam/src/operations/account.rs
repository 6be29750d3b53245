//! The account, and lists that are always empty here: clients request them before they delete a
//! user.

use super::super::call::Call;
use super::super::error;
use super::super::records::UserRecord;
use super::super::xml::Xml;
use super::Answer;

/// A list without items.
pub(super) fn empty(call: &Call<'_>, name: &str) -> Answer {
    let mut xml = Xml::default();
    call.page(std::iter::empty::<(String, &str)>())?.write_texts(&mut xml, name);
    Ok(Some(xml))
}

pub(super) fn aliases(call: &mut Call<'_>) -> Answer {
    empty(call, "AccountAliases")
}

pub(super) fn mfa_devices(call: &mut Call<'_>) -> Answer {
    empty(call, "MFADevices")
}

pub(super) fn virtual_mfa_devices(call: &mut Call<'_>) -> Answer {
    empty(call, "VirtualMFADevices")
}

pub(super) fn ssh_keys(call: &mut Call<'_>) -> Answer {
    empty(call, "SSHPublicKeys")
}

pub(super) fn certificates(call: &mut Call<'_>) -> Answer {
    empty(call, "Certificates")
}

pub(super) fn service_credentials(call: &mut Call<'_>) -> Answer {
    empty(call, "ServiceSpecificCredentials")
}

/// `NoSuchEntity`: users have no passwords.
pub(super) fn login_profile(call: &mut Call<'_>) -> Answer {
    let user: UserRecord = call.named()?;
    Err(error::no_such_entity(format!("Login Profile for User {} cannot be found.", user.name)))
}

pub(super) fn summary(call: &mut Call<'_>) -> Answer {
    let state = &call.draft.state;
    let versions = state.policies.values().map(|policy| policy.versions.len()).sum();
    let counts = [
        ("AccessKeysPerUserQuota", 2),
        ("AccountMFAEnabled", 0),
        ("Groups", state.groups.len()),
        ("GroupsPerUserQuota", 10),
        ("GroupsQuota", 300),
        ("MFADevices", 0),
        ("Policies", state.policies.len()),
        ("PoliciesQuota", 1500),
        ("PolicySizeQuota", 6144),
        ("PolicyVersionsInUse", versions),
        ("Providers", state.providers.len()),
        ("Roles", state.roles.len()),
        ("RolesQuota", 1000),
        ("Users", state.users.len()),
        ("UsersQuota", 5000),
        ("VersionsPerPolicyQuota", 5),
    ];
    let mut xml = Xml::default();
    xml.element("SummaryMap", |xml| {
        for (name, count) in counts {
            xml.element("entry", |xml| {
                xml.text("key", name);
                xml.text("value", &count.to_string());
            });
        }
    });
    Ok(Some(xml))
}
