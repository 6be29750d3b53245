//! The operations of IAM: one table for all, one file for each family.

mod account;
mod attached;
mod groups;
mod keys;
mod policies;
mod providers;
mod roles;
mod tags;
mod users;

use super::call::{Call, On};
use super::error::{self, ApiResult};
use super::records::{GroupRecord, PolicyRecord, ProviderRecord, RoleRecord, UserRecord};
use super::xml::Xml;

/// The elements of an answer; `None` if the operation returns nothing.
pub(super) type Answer = ApiResult<Option<Xml>>;
/// The answer of an operation that returns nothing.
type Done = Answer;

/// An operation.
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// The resource for the permission check.
    pub(super) on: On,
    /// `true` if it changes something.
    pub(super) writes: bool,
    pub(super) run: fn(&mut Call<'_>) -> Answer,
}

const fn read(name: &'static str, on: On, run: fn(&mut Call<'_>) -> Answer) -> Operation {
    Operation { name, on, writes: false, run }
}

const fn write(name: &'static str, on: On, run: fn(&mut Call<'_>) -> Answer) -> Operation {
    Operation { name, on, writes: true, run }
}

/// All implemented operations, sorted by name.
pub(super) const OPERATIONS: &[Operation] = &[
    write("AddClientIDToOpenIDConnectProvider", On::Provider, providers::add_client_id),
    write("AddUserToGroup", On::Group, groups::add_user),
    write("AttachGroupPolicy", On::Group, attached::attach::<GroupRecord>),
    write("AttachRolePolicy", On::Role, attached::attach::<RoleRecord>),
    write("AttachUserPolicy", On::User, attached::attach::<UserRecord>),
    write("CreateAccessKey", On::User, keys::create),
    write("CreateGroup", On::Group, groups::create),
    write("CreateOpenIDConnectProvider", On::NewProvider, providers::create),
    write("CreatePolicy", On::NewPolicy, policies::create),
    write("CreatePolicyVersion", On::Policy, policies::create_version),
    write("CreateRole", On::Role, roles::create),
    write("CreateUser", On::User, users::create),
    write("DeleteAccessKey", On::User, keys::delete),
    write("DeleteGroup", On::Group, groups::delete),
    write("DeleteGroupPolicy", On::Group, attached::delete_inline::<GroupRecord>),
    write("DeleteLoginProfile", On::User, account::login_profile),
    write("DeleteOpenIDConnectProvider", On::Provider, providers::delete),
    write("DeletePolicy", On::Policy, policies::delete),
    write("DeletePolicyVersion", On::Policy, policies::delete_version),
    write("DeleteRole", On::Role, roles::delete),
    write("DeleteRolePolicy", On::Role, attached::delete_inline::<RoleRecord>),
    write("DeleteUser", On::User, users::delete),
    write("DeleteUserPolicy", On::User, attached::delete_inline::<UserRecord>),
    write("DetachGroupPolicy", On::Group, attached::detach::<GroupRecord>),
    write("DetachRolePolicy", On::Role, attached::detach::<RoleRecord>),
    write("DetachUserPolicy", On::User, attached::detach::<UserRecord>),
    read("GetAccessKeyLastUsed", On::KeyOwner, keys::last_used),
    read("GetAccountSummary", On::All, account::summary),
    read("GetGroup", On::Group, groups::get),
    read("GetGroupPolicy", On::Group, attached::get_inline::<GroupRecord>),
    read("GetLoginProfile", On::User, account::login_profile),
    read("GetOpenIDConnectProvider", On::Provider, providers::get),
    read("GetPolicy", On::Policy, policies::get),
    read("GetPolicyVersion", On::Policy, policies::get_version),
    read("GetRole", On::Role, roles::get),
    read("GetRolePolicy", On::Role, attached::get_inline::<RoleRecord>),
    read("GetUser", On::User, users::get),
    read("GetUserPolicy", On::User, attached::get_inline::<UserRecord>),
    read("ListAccessKeys", On::User, keys::list),
    read("ListAccountAliases", On::All, account::aliases),
    read("ListAttachedGroupPolicies", On::Group, attached::list_attached::<GroupRecord>),
    read("ListAttachedRolePolicies", On::Role, attached::list_attached::<RoleRecord>),
    read("ListAttachedUserPolicies", On::User, attached::list_attached::<UserRecord>),
    read("ListEntitiesForPolicy", On::Policy, policies::list_entities),
    read("ListGroupPolicies", On::Group, attached::list_inline::<GroupRecord>),
    read("ListGroups", On::All, groups::list),
    read("ListGroupsForUser", On::User, users::list_groups),
    read("ListInstanceProfilesForRole", On::Role, roles::list_profiles),
    read("ListMFADevices", On::All, account::mfa_devices),
    read("ListOpenIDConnectProviderTags", On::Provider, tags::list::<ProviderRecord>),
    read("ListOpenIDConnectProviders", On::All, providers::list),
    read("ListPolicies", On::All, policies::list),
    read("ListPolicyTags", On::Policy, tags::list::<PolicyRecord>),
    read("ListPolicyVersions", On::Policy, policies::list_versions),
    read("ListRolePolicies", On::Role, attached::list_inline::<RoleRecord>),
    read("ListRoleTags", On::Role, tags::list::<RoleRecord>),
    read("ListRoles", On::All, roles::list),
    read("ListSSHPublicKeys", On::All, account::ssh_keys),
    read("ListServiceSpecificCredentials", On::All, account::service_credentials),
    read("ListSigningCertificates", On::All, account::certificates),
    read("ListUserPolicies", On::User, attached::list_inline::<UserRecord>),
    read("ListUserTags", On::User, tags::list::<UserRecord>),
    read("ListUsers", On::All, users::list),
    read("ListVirtualMFADevices", On::All, account::virtual_mfa_devices),
    write("PutGroupPolicy", On::Group, attached::put_inline::<GroupRecord>),
    write("PutRolePolicy", On::Role, attached::put_inline::<RoleRecord>),
    write("PutUserPolicy", On::User, attached::put_inline::<UserRecord>),
    write("RemoveClientIDFromOpenIDConnectProvider", On::Provider, providers::remove_client_id),
    write("RemoveUserFromGroup", On::Group, groups::remove_user),
    write("SetDefaultPolicyVersion", On::Policy, policies::set_default_version),
    write("TagOpenIDConnectProvider", On::Provider, tags::tag::<ProviderRecord>),
    write("TagPolicy", On::Policy, tags::tag::<PolicyRecord>),
    write("TagRole", On::Role, tags::tag::<RoleRecord>),
    write("TagUser", On::User, tags::tag::<UserRecord>),
    write("UntagOpenIDConnectProvider", On::Provider, tags::untag::<ProviderRecord>),
    write("UntagPolicy", On::Policy, tags::untag::<PolicyRecord>),
    write("UntagRole", On::Role, tags::untag::<RoleRecord>),
    write("UntagUser", On::User, tags::untag::<UserRecord>),
    write("UpdateAccessKey", On::User, keys::update),
    write("UpdateAssumeRolePolicy", On::Role, roles::update_trust),
    write("UpdateGroup", On::Group, groups::update),
    write("UpdateOpenIDConnectProviderThumbprint", On::Provider, providers::update_thumbprint),
    write("UpdateRole", On::Role, roles::update),
    write("UpdateRoleDescription", On::Role, roles::update_description),
    write("UpdateUser", On::User, users::update),
];

/// The names of all operations.
pub fn operation_names() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|operation| operation.name)
}

/// Known AWS operations that are not implemented.
const NOT_BUILT: &str = "AddRoleToInstanceProfile ChangePassword CreateAccountAlias CreateInstanceProfile \
    CreateLoginProfile CreateSAMLProvider CreateServiceLinkedRole CreateServiceSpecificCredential \
    CreateVirtualMFADevice DeactivateMFADevice DeleteAccountAlias DeleteAccountPasswordPolicy \
    DeleteInstanceProfile DeleteRolePermissionsBoundary DeleteSAMLProvider DeleteSSHPublicKey \
    DeleteServerCertificate DeleteServiceLinkedRole DeleteServiceSpecificCredential \
    DeleteSigningCertificate DeleteUserPermissionsBoundary DeleteVirtualMFADevice EnableMFADevice \
    GenerateCredentialReport GenerateOrganizationsAccessReport GenerateServiceLastAccessedDetails \
    GetAccountAuthorizationDetails GetAccountPasswordPolicy GetContextKeysForCustomPolicy \
    GetContextKeysForPrincipalPolicy GetCredentialReport GetInstanceProfile GetMFADevice \
    GetOrganizationsAccessReport GetSAMLProvider GetSSHPublicKey GetServerCertificate \
    GetServiceLastAccessedDetails GetServiceLastAccessedDetailsWithEntities \
    GetServiceLinkedRoleDeletionStatus ListInstanceProfileTags ListInstanceProfiles \
    ListMFADeviceTags ListPoliciesGrantingServiceAccess ListSAMLProviderTags ListSAMLProviders \
    ListServerCertificateTags ListServerCertificates PutRolePermissionsBoundary \
    PutUserPermissionsBoundary RemoveRoleFromInstanceProfile ResetServiceSpecificCredential \
    ResyncMFADevice SetSecurityTokenServicePreferences SimulateCustomPolicy SimulatePrincipalPolicy \
    TagInstanceProfile TagMFADevice TagSAMLProvider TagServerCertificate UntagInstanceProfile \
    UntagMFADevice UntagSAMLProvider UntagServerCertificate UpdateAccountPasswordPolicy \
    UpdateLoginProfile UpdateSAMLProvider UpdateSSHPublicKey UpdateServerCertificate \
    UpdateServiceSpecificCredential UpdateSigningCertificate UploadSSHPublicKey \
    UploadServerCertificate UploadSigningCertificate";

/// The operation with this name.
///
/// # Errors
/// `NotImplemented` for a known AWS operation, `InvalidAction` for all others.
pub(super) fn find(name: &str, version: &str) -> ApiResult<&'static Operation> {
    if let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == name) {
        return Ok(operation);
    }
    match NOT_BUILT.split_whitespace().any(|other| other == name) {
        true => Err(error::not_implemented(format!("LiteIO does not implement {name}."))),
        false => Err(error::invalid_action(name, version)),
    }
}

/// Refuses permissions boundaries: they are not implemented, and ignoring one would grant more
/// rights than intended.
fn refuse_boundary(call: &Call<'_>) -> ApiResult<()> {
    match call.form.has("PermissionsBoundary") {
        true => Err(error::not_implemented("LiteIO does not implement permissions boundaries.")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_and_others_told_apart() {
        assert!(OPERATIONS.is_sorted_by_key(|operation| operation.name));
        assert!(find("CreateUser", "2010-05-08").is_ok());
        let code = |name| find(name, "2010-05-08").err().map(|error| error.code().to_owned());
        assert_eq!(code("CreateLoginProfile").as_deref(), Some("NotImplemented"));
        assert_eq!(code("MakeTea").as_deref(), Some("InvalidAction"));
        let built = |name: &&str| OPERATIONS.iter().any(|operation| operation.name == *name);
        assert_eq!(NOT_BUILT.split_whitespace().find(built), None);
    }
}
