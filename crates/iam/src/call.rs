//! [`Call`]: an IAM request for its operation.

use std::sync::Arc;

use liteio_store::{SecretKeys, StoreError};

use super::constraint::{self, lower_first};
use super::error::{self, ApiResult};
use super::form::Form;
use super::permission::{Circumstances, check};
use super::records::{GroupRecord, PolicyRecord, ProviderRecord, RoleRecord, Tags, UserRecord};
use super::state::{Draft, Tabled, group_arn, policy_arn, provider_arn, role_arn, user_arn};
use super::xml::Xml;
use liteio_identity::{AccessKey, Directory, MANAGED_ARN, User};
use liteio_policy::CallerKind;

/// Default number of items in a list.
const ITEMS_DEFAULT: u32 = 100;
/// Maximum number of items in a list.
const ITEMS_MAX: u32 = 1000;
/// Maximum bytes of a path.
const PATH_BYTES_MAX: usize = 512;
/// Fewest and most characters of an ARN.
pub(super) const ARN_MIN: usize = 20;
pub(super) const ARN_MAX: usize = 2048;

/// A request of a user. It concerns the account of the user.
pub(super) struct Call<'c> {
    pub(super) form: &'c Form,
    pub(super) sender: &'c User,
    /// The key that signed it.
    pub(super) key: &'c AccessKey,
    /// The context for decisions beyond the named resource.
    pub(super) context: Circumstances<'c>,
    pub(super) draft: Draft,
    pub(super) directory: Arc<Directory>,
    pub(super) keys: &'c SecretKeys,
    /// The time in seconds since 1970.
    pub(super) now: i64,
}

/// The resource of an operation, for the decision.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
    User,
    Group,
    Role,
    /// The policy with the ARN in `PolicyArn`.
    Policy,
    /// The policy that `PolicyName` and `Path` will name.
    NewPolicy,
    Provider,
    NewProvider,
    /// The owner of the access key in `AccessKeyId`.
    KeyOwner,
    /// No particular resource.
    All,
}

impl Call<'_> {
    /// The account, 12 digits.
    pub(super) fn account(&self) -> &str {
        &self.sender.account.id
    }

    /// The ARN of the resource.
    pub(super) fn resource(&self, on: On) -> ApiResult<String> {
        let account = self.account();
        let path = || self.form.text("Path").unwrap_or("/");
        let of_kind =
            |kind: &str, name: &str| format!("arn:aws:iam::{account}:{kind}{}{name}", path());
        Ok(match on {
            On::All => "*".to_owned(),
            On::KeyOwner => {
                let id = self.form.required("AccessKeyId")?;
                let user = self.draft.state.owner_of_key(id);
                user.map_or_else(|| "*".to_owned(), |it| user_arn(account, &it.path, &it.name))
            }
            On::User => {
                // Without a name the operation concerns its sender, or will report the missing
                // name.
                let Ok(name) = self.user_name() else { return Ok(self.sender.caller.arn.clone()) };
                match self.draft.state.get::<UserRecord>(name) {
                    Some(user) => user_arn(account, &user.path, &user.name),
                    None => of_kind("user", name),
                }
            }
            On::Group => {
                let name = self.form.required("GroupName")?;
                match self.draft.state.get::<GroupRecord>(name) {
                    Some(group) => group_arn(account, group),
                    None => of_kind("group", name),
                }
            }
            On::Role => {
                let name = self.form.required("RoleName")?;
                match self.draft.state.get::<RoleRecord>(name) {
                    Some(role) => role_arn(account, role),
                    None => of_kind("role", name),
                }
            }
            On::Policy => self.policy_arn()?.to_owned(),
            On::NewPolicy => of_kind("policy", self.form.required("PolicyName")?),
            On::Provider => self.form.required("OpenIDConnectProviderArn")?.to_owned(),
            On::NewProvider => {
                let url = self.form.required("Url")?;
                provider_arn(account, url.strip_prefix("https://").unwrap_or(url))
            }
        })
    }

    /// Adds condition keys about the operation and its resource.
    pub(super) fn add_condition_keys(&mut self, action: &str, on: On) {
        let one = |text: &str| vec![text.to_owned()];
        let form = self.form;
        let mut more = Vec::new();
        if action.starts_with("Attach") || action.starts_with("Detach") {
            let arn = form.text("PolicyArn");
            more.extend(arn.map(|arn| ("iam:PolicyARN".to_owned(), one(arn))));
        }
        let gives_tags = action.starts_with("Tag")
            || matches!(
                action,
                "CreateUser" | "CreateRole" | "CreatePolicy" | "CreateOpenIDConnectProvider"
            );
        let tags = match () {
            () if gives_tags => form.list("Tags", "Key"),
            () if action.starts_with("Untag") => form.list("TagKeys", ""),
            () => Vec::new(),
        };
        if gives_tags {
            for (key, value) in tags.iter().zip(form.list("Tags", "Value")) {
                more.push((format!("aws:RequestTag/{key}"), one(value)));
            }
        }
        if !tags.is_empty() {
            more.push(("aws:TagKeys".to_owned(), tags.into_iter().map(str::to_owned).collect()));
        }
        for (key, value) in self.tags(on).unwrap_or_default() {
            more.push((format!("aws:ResourceTag/{key}"), one(&value)));
            more.push((format!("iam:ResourceTag/{key}"), one(&value)));
        }
        self.context.more.extend(more);
    }

    /// The tags of the resource, if it exists.
    fn tags(&self, on: On) -> Option<Tags> {
        let state = &self.draft.state;
        Some(match on {
            On::User => state.get::<UserRecord>(self.user_name().ok()?)?.tags.clone(),
            On::Role => state.get::<RoleRecord>(self.form.text("RoleName")?)?.tags.clone(),
            On::Policy => self.policy_of_arn(self.form.text("PolicyArn")?).ok()?.tags,
            On::Provider => {
                let arn = self.form.text("OpenIDConnectProviderArn")?;
                let mut providers = state.providers.values();
                providers.find(|it| provider_arn(self.account(), &it.url) == arn)?.tags.clone()
            }
            On::Group | On::NewPolicy | On::NewProvider | On::KeyOwner | On::All => return None,
        })
    }

    /// Checks the right to perform `action` (without the service prefix) on one more resource.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub(super) fn check(&self, action: &str, resource: &str) -> ApiResult<()> {
        check(self.sender, &format!("iam:{action}"), resource, &self.context)
    }

    /// The name in the request, otherwise the sender's name.
    pub(super) fn user_name(&self) -> ApiResult<&str> {
        let caller = &self.sender.caller;
        match (self.form.text("UserName"), &caller.name) {
            (Some(name), _) => Ok(name),
            (None, Some(name)) if caller.kind == CallerKind::User => Ok(name),
            (None, _) => self.form.required("UserName"),
        }
    }

    /// The record with this name.
    ///
    /// # Errors
    /// `NoSuchEntity`.
    pub(super) fn get<R: Named>(&self, name: &str) -> ApiResult<R> {
        let found = self.draft.state.get::<R>(name).map(|record| R::clone(record));
        found.ok_or_else(|| {
            let name: String = name.chars().take(128).collect();
            error::no_such_entity(format!("The {} with name {name} cannot be found.", R::WORD))
        })
    }

    /// The record named by the request.
    pub(super) fn named<R: Named>(&self) -> ApiResult<R> {
        let name = match R::WORD {
            "user" => self.user_name()?,
            _ => self.form.required(R::FIELD)?,
        };
        self.get(name)
    }

    /// The ARN of a policy in the request.
    pub(super) fn policy_arn(&self) -> ApiResult<&str> {
        let arn = self.form.required("PolicyArn")?;
        if let Some(rule) = constraint::length(arn.chars().count(), ARN_MIN, ARN_MAX) {
            return Err(rule.of_iam("PolicyArn"));
        }
        match is_arn(arn) {
            true => Ok(arn),
            false => Err(error::validation("Invalid ARN:  Could not be parsed!")),
        }
    }

    /// The policy of the account that the request names; `None` for a policy of AWS.
    pub(super) fn own_policy(&self) -> ApiResult<Option<PolicyRecord>> {
        let arn = self.policy_arn()?;
        if arn.starts_with(MANAGED_ARN) {
            return Ok(None);
        }
        self.policy_of_arn(arn).map(Some)
    }

    /// The policy of the account with this ARN.
    pub(super) fn policy_of_arn(&self, arn: &str) -> ApiResult<PolicyRecord> {
        let name = arn.rsplit('/').next().unwrap_or_default();
        let found = self.draft.state.get::<PolicyRecord>(name);
        let found = found.filter(|policy| policy_arn(self.account(), policy) == arn);
        found.map(|policy| PolicyRecord::clone(policy)).ok_or_else(|| no_such_policy(arn))
    }

    /// The path in the request, by default `/`.
    pub(super) fn path(&self) -> ApiResult<String> {
        checked_path(self.form.text("Path").unwrap_or("/"))
    }

    /// One page of a list: the items after the request's marker, as many as it asks for, in the
    /// order of their keys.
    pub(super) fn page<T>(&self, items: impl Iterator<Item = (String, T)>) -> ApiResult<Page<T>> {
        let max = self.form.number("MaxItems", 1, ITEMS_MAX)?.unwrap_or(ITEMS_DEFAULT) as usize;
        let after = match self.form.text("Marker") {
            None => None,
            Some(marker) => {
                let bytes = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(marker).ok();
                let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
                Some(text.ok_or_else(|| error::validation("Invalid Marker."))?)
            }
        };
        let is_after = |key: &String| after.as_ref().is_none_or(|after| key > after);
        let mut items: Vec<(String, T)> = items.filter(|(key, _)| is_after(key)).collect();
        // The marker is a position in this order.
        items.sort_by(|(a, _), (b, _)| a.cmp(b));
        let more = items.len() > max;
        items.truncate(max);
        let last = items.last().map(|(key, _)| key.clone());
        let taken = items.into_iter().map(|(_, item)| item).collect();
        let next = last.filter(|_| more);
        let next = next.map(|key| base64_simd::URL_SAFE_NO_PAD.encode_to_string(key));
        Ok(Page { items: taken, next })
    }

    /// A new unique id.
    pub(super) fn new_id(&self, prefix: &str) -> ApiResult<String> {
        liteio_identity::random_id(prefix).map_err(|error: StoreError| error::of_store(&error))
    }
}

pub(super) fn no_such_policy(arn: &str) -> super::error::ApiError {
    let arn: String = arn.chars().take(256).collect();
    error::no_such_entity(format!("Policy {arn} was not found."))
}

/// One page of a list.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    next: Option<String>,
}

impl<T> Page<T> {
    /// Writes the items as a list, followed by the marker of the next page.
    pub(super) fn write(self, xml: &mut Xml, name: &str, write: impl FnMut(&mut Xml, T)) {
        let Page { items, next } = self;
        xml.list(name, items, write);
        write_next(xml, next.as_deref());
    }

    /// Writes the marker of the next page, after items that are written already.
    pub(super) fn write_end(self, xml: &mut Xml) {
        write_next(xml, self.next.as_deref());
    }
}

impl<T: AsRef<str>> Page<T> {
    /// Like [`Page::write`], for texts.
    pub(super) fn write_texts(self, xml: &mut Xml, name: &str) {
        xml.texts(name, self.items.iter().map(AsRef::as_ref));
        self.write_end(xml);
    }
}

fn write_next(xml: &mut Xml, next: Option<&str>) {
    xml.text("IsTruncated", if next.is_some() { "true" } else { "false" });
    xml.optional("Marker", next);
}

/// Records that requests can name.
pub(super) trait Named: Tabled {
    /// The kind as in messages.
    const WORD: &'static str;
    /// The field that contains the name.
    const FIELD: &'static str;
    /// Maximum characters of a name.
    const NAME_MAX: usize;
}

impl Named for UserRecord {
    const WORD: &'static str = "user";
    const FIELD: &'static str = "UserName";
    const NAME_MAX: usize = 64;
}

impl Named for GroupRecord {
    const WORD: &'static str = "group";
    const FIELD: &'static str = "GroupName";
    const NAME_MAX: usize = 128;
}

impl Named for RoleRecord {
    const WORD: &'static str = "role";
    const FIELD: &'static str = "RoleName";
    const NAME_MAX: usize = 64;
}

impl Named for PolicyRecord {
    const WORD: &'static str = "policy";
    const FIELD: &'static str = "PolicyName";
    const NAME_MAX: usize = 128;
}

impl Named for ProviderRecord {
    const WORD: &'static str = "OpenIDConnect provider";
    const FIELD: &'static str = "OpenIDConnectProviderArn";
    const NAME_MAX: usize = 255;
}

/// The name for a new record.
pub(super) fn new_name<R: Named>(form: &Form, field: &str) -> ApiResult<String> {
    let name = form.required(field)?;
    check_name(name, R::FIELD, R::NAME_MAX)?;
    Ok(name.to_owned())
}

/// `true` for a text of the six parts of an ARN, of which region and account may be empty.
pub(super) fn is_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    match parts[..] {
        ["arn", partition, service, _, _, resource] => {
            !partition.is_empty() && !service.is_empty() && !resource.is_empty()
        }
        _ => false,
    }
}

/// Checks a path.
pub(super) fn checked_path(path: &str) -> ApiResult<String> {
    if let Some(rule) = constraint::length(path.chars().count(), 1, PATH_BYTES_MAX) {
        return Err(rule.of_iam("path"));
    }
    let is_path = path.starts_with('/')
        && path.ends_with('/')
        && path.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    match is_path {
        true => Ok(path.to_owned()),
        false => Err(error::validation(
            "The specified value for path is invalid. It must begin and end with / and contain \
             only alphanumeric characters and/or / characters.",
        )),
    }
}

pub(super) fn check_name(name: &str, field: &str, max: usize) -> ApiResult<()> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@-_".contains(&byte);
    if let Some(rule) = constraint::length(name.chars().count(), 1, max) {
        return Err(rule.of_iam(field));
    }
    match name.bytes().all(is_of_name) {
        true => Ok(()),
        false => Err(error::validation(format!(
            "The specified value for {} is invalid. It must contain only alphanumeric characters \
             and/or the following: +=,.@_-",
            lower_first(field)
        ))),
    }
}
