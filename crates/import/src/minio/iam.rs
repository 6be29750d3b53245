//! The users of a MinIO: the documents below `.minio.sys/config/iam`.
//!
//! ```text
//! policies/NAME/policy.json              a canned policy
//! users/KEY/identity.json                a user with its secret
//! groups/NAME/members.json               the members of a group
//! service-accounts/KEY/identity.json     a service account; its token holds its policy
//! sts/KEY/identity.json                  a session
//! policydb/{users,groups,sts-users}/NAME.json    the policies of a user, a group, a user of LDAP or OpenID
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use jiff::Timestamp;
use liteio_iam::minio::{FormerGroup, FormerServiceAccount, FormerUser, FormerUsers};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Failed;
use super::drive::SYSTEM;
use super::kms::Secrets;
use super::object::read_small;

/// Place of the documents in MinIO's own directory.
const PLACE: &str = "config/iam";
/// Limit of a document. MinIO's policies have at most 20 KiB.
const DOCUMENT_BYTES_MAX: u64 = 1 << 20;
/// Limit of nested directories, which follow from slashes in names.
const DEPTH_MAX: usize = 32;

/// The users of a drive.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) users: FormerUsers,
    /// Documents that cannot be read, with the reason.
    pub(super) unread: Vec<(String, String)>,
    /// Lines about users that have no counterpart here.
    pub(super) notes: Vec<String>,
}

impl Found {
    /// True if there are no users to bring over.
    pub(super) fn is_empty(&self) -> bool {
        let FormerUsers { root: _, policies, users, groups, service_accounts } = &self.users;
        policies.is_empty() && users.is_empty() && groups.is_empty() && service_accounts.is_empty()
    }
}

#[derive(Default, Deserialize)]
struct Identity {
    #[serde(default)]
    credentials: Credentials,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Credentials {
    secret_key: String,
    session_token: String,
    expiration: String,
    status: String,
    parent_user: String,
    name: String,
    description: String,
    comment: String,
    claims: Option<Value>,
}

#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    status: String,
    #[serde(default)]
    members: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Mapped {
    #[serde(default)]
    policy: String,
}

/// True if there may be users to bring over.
pub(super) fn has_users(root: &Path) -> bool {
    let place = root.join(SYSTEM).join(PLACE);
    ["policies", "users", "groups", "service-accounts"].iter().any(|kind| {
        fs::read_dir(place.join(kind)).is_ok_and(|mut entries| entries.next().is_some())
    })
}

/// Reads all documents. A drive without any has none.
pub(super) fn read(root: &Path, secrets: &Secrets) -> Found {
    let mut found = Found::default();
    if let Some((access_key, _)) = &secrets.root {
        found.users.root.clone_from(access_key);
    }
    let place = root.join(SYSTEM).join(PLACE);
    let reader = Reader { place: &place, secrets };
    let policies_of = |kind: &str, found: &mut Found| -> BTreeMap<String, Vec<String>> {
        let mapped = reader.all::<Mapped>(&format!("policydb/{kind}"), ".json", found).into_iter();
        mapped.map(|(name, mapped)| (name, words(&mapped.policy))).collect()
    };
    for (name, document) in reader.all::<Value>("policies", "/policy.json", &mut found) {
        // Before 2022 the document was stored alone.
        let policy = document.get("Policy").unwrap_or(&document).to_string();
        found.users.policies.push((name, policy));
    }
    // One that cannot be read may deny something: without it, its holders would have more rights.
    for name in reader.names("policies", "/policy.json", &mut Found::default()) {
        if !found.users.policies.iter().any(|(known, _)| *known == name) {
            found.users.policies.push((name, String::new()));
        }
    }
    let mut of_users = policies_of("users", &mut found);
    for (access_key, identity) in reader.all::<Identity>("users", "/identity.json", &mut found) {
        let Credentials { secret_key, status, .. } = identity.credentials;
        let policies = of_users.remove(&access_key).unwrap_or_default();
        let is_enabled = !is_off(&status);
        found.users.users.push(FormerUser { access_key, secret_key, is_enabled, policies });
    }
    let mut of_groups = policies_of("groups", &mut found);
    for (name, group) in reader.all::<Members>("groups", "/members.json", &mut found) {
        found.users.groups.push(FormerGroup {
            policies: of_groups.remove(&name).unwrap_or_default(),
            members: group.members.unwrap_or_default(),
            is_enabled: !is_off(&group.status),
            name,
        });
    }
    let keys = reader.all::<Identity>("service-accounts", "/identity.json", &mut found);
    for (access_key, identity) in keys {
        match service_account(&access_key, identity.credentials) {
            Ok(key) => found.users.service_accounts.push(key),
            Err(reason) => found.unread.push((format!("the service account {access_key}"), reason)),
        }
    }
    let external = policies_of("sts-users", &mut found);
    // Policies of names that are no users and no groups: those of LDAP.
    let names = external.into_keys().chain(of_users.into_keys()).chain(of_groups.into_keys());
    for name in names {
        found.notes.push(format!(
            "the policies of {name}, a user or group of LDAP or OpenID, are not brought over"
        ));
    }
    let sessions = reader.names("sts", "/identity.json", &mut found).len();
    if sessions > 0 {
        found.notes.push(format!(
            "{sessions} sessions of STS end: their clients have to ask for new ones"
        ));
    }
    found
}

fn words(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn is_off(status: &str) -> bool {
    matches!(status, "off" | "disabled")
}

fn service_account(access_key: &str, stored: Credentials) -> Result<FormerServiceAccount, String> {
    let claims = match claims_of(&stored.session_token).or(stored.claims) {
        Some(claims) => claims,
        None if stored.session_token.is_empty() => Value::Null,
        None => return Err("its token, which holds its policy, cannot be read".to_owned()),
    };
    let policy = match (claims["sa-policy"].as_str(), claims["sessionPolicy"].as_str()) {
        (Some("embedded-policy"), Some(policy)) => {
            let policy = base64_simd::STANDARD.decode_to_vec(policy).ok();
            let policy = policy.and_then(|policy| serde_json::from_slice(&policy).ok());
            Some(policy.ok_or("its policy cannot be read")?)
        }
        (Some("embedded-policy"), None) => return Err("its policy is missing".to_owned()),
        _ => None,
    };
    let expires: Option<Timestamp> = stored.expiration.parse().ok();
    Ok(FormerServiceAccount {
        access_key: access_key.to_owned(),
        secret_key: stored.secret_key,
        parent: stored.parent_user,
        is_enabled: !is_off(&stored.status),
        name: stored.name,
        description: match stored.description.is_empty() {
            true => stored.comment,
            false => stored.description,
        },
        // The years 1 and 1970 mean none.
        expires: expires.map(Timestamp::as_second).filter(|seconds| *seconds > 0),
        policy,
    })
}

/// The claims of a JSON web token. Its signature is that of the root user of the time, and the file is trusted like any other of
/// the drive.
fn claims_of(token: &str) -> Option<Value> {
    let claims = token.split('.').nth(1)?;
    let claims = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(claims).ok()?;
    serde_json::from_slice(&claims).ok()
}

struct Reader<'r> {
    place: &'r Path,
    secrets: &'r Secrets,
}

impl Reader<'_> {
    /// All documents of a kind, by name.
    fn all<D: DeserializeOwned>(
        &self,
        kind: &str,
        suffix: &str,
        found: &mut Found,
    ) -> Vec<(String, D)> {
        let mut documents = Vec::new();
        for name in self.names(kind, suffix, found) {
            let path = format!("{kind}/{name}{suffix}");
            match self.document(&path) {
                Ok(document) => documents.push((name, document)),
                Err(error) => found.unread.push((format!("{PLACE}/{path}"), error.to_string())),
            }
        }
        documents
    }

    fn document<D: DeserializeOwned>(&self, path: &str) -> Result<D, Failed> {
        let stored = read_small(&self.place.join(path), DOCUMENT_BYTES_MAX)?;
        let plain = self.secrets.settings(&format!("{PLACE}/{path}"), &stored);
        let plain = plain.ok_or_else(|| {
            Failed::new(
                "it is encrypted by other credentials: give the root user and password, and \
                 MINIO_KMS_SECRET_KEY, of MinIO",
            )
        })?;
        serde_json::from_slice(&plain).map_err(|error| Failed::new(error.to_string()))
    }

    /// The names of all documents of a kind.
    fn names(&self, kind: &str, suffix: &str, found: &mut Found) -> Vec<String> {
        let mut names = Vec::new();
        let mut directories = vec![(self.place.join(kind), String::new(), 0)];
        while let Some((directory, name, depth)) = directories.pop() {
            let entries = match fs::read_dir(&directory).and_then(Iterator::collect) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => {
                    found.unread.push((directory.display().to_string(), error.to_string()));
                    continue;
                }
            };
            let entries: Vec<fs::DirEntry> = entries;
            if entries.iter().any(|entry| entry.file_name() == "xl.meta") {
                names.extend(name.strip_suffix(suffix).map(str::to_owned));
                continue;
            }
            for entry in entries {
                let Ok(part) = entry.file_name().into_string() else { continue };
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < DEPTH_MAX {
                    let name = if name.is_empty() { part } else { format!("{name}/{part}") };
                    directories.push((entry.path(), name, depth + 1));
                }
            }
        }
        names.sort_unstable();
        names
    }
}
