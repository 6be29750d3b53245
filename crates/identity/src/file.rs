//! The users of a credentials file, and the user of the command line.
//!
//! ```toml
//! [[user]]                                # a root user: an account of its own
//! name = "alice"
//! access_key = "…"
//! secret_key = "…"
//! # id = "…", display_name = "…", account = "123456789012"
//!
//! [[user]]                                # a user of alice's account
//! name = "backup"
//! parent = "alice"
//! access_key = "…"
//! secret_key = "…"
//! policies = ['''{"Version": "2012-10-17", "Statement": …}''']
//! policies = ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]
//! policy_files = ["backup.json"]
//!
//! [[user]]                                # keys in files beside this one, as mounted secrets are
//! name = "app"
//! parent = "alice"
//! access_key_file = "app.key"
//! secret_key_file = "app.secret"
//!
//! [[role]]                                # what bob and others may do for a time
//! name = "reader"
//! parent = "alice"
//! trust_file = "reader.trust.json"        # or trust = '''{…}'''
//! policy_files = ["reader.json"]
//! # max_session_seconds = 3600
//!
//! [[oidc]]                                # whose tokens prove web identities
//! issuer = "https://login.example.com"
//! audiences = ["storage"]
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::account::{Account, canonical_id_of_key, id_of_canonical_id};
use super::directory::{Directory, DirectoryBuilder};
use super::issuer::Issuer;
use super::key::{AccessKey, LOCALSTACK_SECRET_KEY, SecretKey};
use super::managed::managed;
use super::role::Role;
use super::user::{AttachedPolicy, User};
use super::{IdentityError, fail};
use crate::tables::{self, Fields};
use liteio_policy::{Kind, Policy};

/// The account id of the command-line user.
const ONLY_ACCOUNT: &str = "000000000000";

const USER_KEYS: [&str; 11] = [
    "name",
    "access_key",
    "access_key_file",
    "secret_key",
    "secret_key_file",
    "id",
    "display_name",
    "account",
    "parent",
    "policies",
    "policy_files",
];

const ROLE_KEYS: [&str; 7] =
    ["name", "parent", "trust", "trust_file", "policies", "policy_files", "max_session_seconds"];

/// The fields that only a user without `parent` may have.
const ROOT_KEYS: [&str; 3] = ["id", "display_name", "account"];

/// A directory with one user, who is the root user of the only account. Without a canonical id, the
/// default of the key is used.
///
/// # Errors
/// [`IdentityError`] if a key is invalid.
pub fn only_user(
    access_key: &str,
    secret_key: &str,
    canonical_id: Option<&str>,
) -> Result<Directory, IdentityError> {
    let mut directory = DirectoryBuilder::default();
    let canonical_id = canonical_id.map_or_else(|| canonical_id_of_key(access_key), str::to_owned);
    let account = Account::new(ONLY_ACCOUNT.to_owned(), canonical_id, access_key.to_owned())?;
    let user = Arc::new(User::root(access_key, directory.account(account)?)?);
    let secret_key = match secret_key {
        LOCALSTACK_SECRET_KEY => SecretKey::of_localstack(),
        other => SecretKey::new(other)?,
    };
    directory.key(AccessKey::new(access_key, secret_key, user)?)?;
    Ok(directory.build())
}

/// Parses a credentials file. `read` returns the text of a file that it names, with a policy or a key.
///
/// # Errors
/// [`IdentityError`] with one line that names the user or the line of the file, without secrets.
pub fn read_credentials(
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Directory, IdentityError> {
    let document = tables::document(text, &["user", "role", "oidc"])?;
    let tables = tables::tables(&document, "user", &USER_KEYS)?;
    if tables.is_empty() {
        return fail("there is no [[user]] table");
    }
    let entries = tables.iter().map(Entry::new).collect::<Result<Vec<_>, _>>()?;
    let mut names = HashSet::new();
    if let Some(twice) = entries.iter().find(|entry| !names.insert(entry.name.as_str())) {
        return fail(format!("two users are named {:?}", twice.name));
    }
    let mut directory = DirectoryBuilder::default();
    let mut accounts = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.parent.is_none()) {
        let account = entry.add_root(read, &mut directory).map_err(|error| entry.error(&error))?;
        accounts.insert(entry.name.as_str(), account);
    }
    for entry in &entries {
        let Some(parent) = &entry.parent else { continue };
        let added = match accounts.get(parent.as_str()) {
            Some(account) => entry.add_member(Arc::clone(account), read, &mut directory),
            None => fail(format!("there is no user {parent:?} without a parent of its own")),
        };
        added.map_err(|error| entry.error(&error))?;
    }
    for fields in &tables::tables(&document, "role", &ROLE_KEYS)? {
        let name = fields.required("name")?;
        let role = role_of(&name, fields, &accounts, read);
        let added = role.and_then(|role| directory.role(role));
        added.map_err(|error| IdentityError(format!("role {name:?}: {error}")))?;
    }
    for fields in &tables::tables(&document, "oidc", &["issuer", "audiences"])? {
        let audiences = fields.texts("audiences")?.unwrap_or_default();
        directory.issuer(Issuer::new(&fields.required("issuer")?, audiences)?);
    }
    Ok(directory.build())
}

/// One `[[user]]` table.
struct Entry<'t> {
    name: String,
    parent: Option<String>,
    fields: &'t Fields<'t>,
}

impl<'t> Entry<'t> {
    fn new(fields: &'t Fields<'t>) -> Result<Entry<'t>, IdentityError> {
        let (name, parent) = (fields.required("name")?, fields.text("parent")?);
        Ok(Entry { name, parent, fields })
    }

    fn error(&self, error: &IdentityError) -> IdentityError {
        IdentityError(format!("user {:?}: {error}", self.name))
    }

    /// Adds a root user and its account.
    fn add_root(
        &self,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
        directory: &mut DirectoryBuilder,
    ) -> Result<Arc<Account>, IdentityError> {
        for key in ["policies", "policy_files"] {
            if self.fields.has(key) {
                return fail(format!(
                    "{key} has no effect on the root user of an account; give parent = \"NAME\", the \
                     user whose account this one belongs to"
                ));
            }
        }
        let access_key = self.text_or_file("access_key", "access_key_file", read)?;
        let canonical_id = self.fields.text("id")?;
        let canonical_id = canonical_id.unwrap_or_else(|| canonical_id_of_key(&access_key));
        let id = self.fields.text("account")?;
        let id = id.unwrap_or_else(|| id_of_canonical_id(&canonical_id));
        let display_name = self.fields.text("display_name")?;
        let display_name = display_name.unwrap_or_else(|| self.name.clone());
        let account = directory.account(Account::new(id, canonical_id, display_name)?)?;
        let user = User::root(&self.name, Arc::clone(&account))?;
        directory.key(self.key(access_key, user, read)?)?;
        Ok(account)
    }

    /// Adds a user of an account.
    fn add_member(
        &self,
        account: Arc<Account>,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
        directory: &mut DirectoryBuilder,
    ) -> Result<(), IdentityError> {
        if let Some(key) = ROOT_KEYS.into_iter().find(|key| self.fields.has(key)) {
            return fail(format!("{key} is the parent's; remove it, or remove parent"));
        }
        let user = User::member(&self.name, account, policies_of(self.fields, read)?)?;
        let access_key = self.text_or_file("access_key", "access_key_file", read)?;
        directory.key(self.key(access_key, user, read)?)
    }

    fn key(
        &self,
        access_key: String,
        user: User,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<AccessKey, IdentityError> {
        let secret = SecretKey::new(self.text_or_file("secret_key", "secret_key_file", read)?)?;
        AccessKey::new(access_key, secret, Arc::new(user))
    }

    /// The text of a field, or of the file that its sibling names, without white space around it: files end with a
    /// line break.
    fn text_or_file(
        &self,
        field: &str,
        file_field: &str,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<String, IdentityError> {
        match (self.fields.text(field)?, self.fields.text(file_field)?) {
            (Some(_), Some(_)) => fail(format!("give {field} or {file_field}, not both")),
            (Some(text), None) => Ok(text),
            (None, None) => Ok(self.fields.required(field)?),
            (None, Some(path)) => match read(&path)?.trim() {
                "" => fail(format!("{file_field}: {path} is empty")),
                text => Ok(text.to_owned()),
            },
        }
    }
}

/// The policies named in a table.
fn policies_of(
    fields: &Fields<'_>,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Arc<[AttachedPolicy]>, IdentityError> {
    let mut policies = Vec::new();
    for (index, text) in fields.texts("policies")?.unwrap_or_default().into_iter().enumerate() {
        policies.push(match managed(&text) {
            Some((_, policy)) => AttachedPolicy { name: text, policy: Arc::clone(policy) },
            None if text.starts_with("arn:") => {
                return fail(format!("there is no managed policy {text:?}"));
            }
            None => attached(format!("policy {}", index + 1), &text)?,
        });
    }
    for path in fields.texts("policy_files")?.unwrap_or_default() {
        let text = read(&path)?;
        policies.push(attached(path, &text)?);
    }
    Ok(policies.into())
}

fn role_of(
    name: &str,
    fields: &Fields<'_>,
    accounts: &HashMap<&str, Arc<Account>>,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Role, IdentityError> {
    let parent = fields.required("parent")?;
    let Some(account) = accounts.get(parent.as_str()) else {
        return fail(format!("there is no user {parent:?} without a parent of its own"));
    };
    let trust = match (fields.text("trust")?, fields.text("trust_file")?) {
        (Some(text), None) => text,
        (None, Some(path)) => read(&path)?,
        _ => return fail("give trust or trust_file: the policy that says who may assume the role"),
    };
    let trust = Policy::parse(trust.as_bytes(), Kind::Trust)
        .map_err(|error| IdentityError(format!("trust: {}", error.explained())))?;
    let seconds = fields.number("max_session_seconds")?;
    Role::of_file(name, Arc::clone(account), trust, policies_of(fields, read)?, seconds)
}

fn attached(name: String, text: &str) -> Result<AttachedPolicy, IdentityError> {
    match Policy::parse(text.as_bytes(), Kind::Identity) {
        Ok(policy) => Ok(AttachedPolicy { name, policy: Arc::new(policy) }),
        Err(error) => fail(format!("{name}: {}", error.explained())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use liteio_policy::CallerKind;

    const POLICY: &str = r#"{"Version": "2012-10-17", "Statement":
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}}"#;

    fn read(text: &str) -> Result<Directory, IdentityError> {
        read_credentials(text, &mut |path| match path {
            "good.json" => Ok(POLICY.to_owned()),
            "app.key" => Ok("app-key\n".to_owned()),
            "app.secret" => Ok("app-secret\n".to_owned()),
            "empty" => Ok("\n".to_owned()),
            path => Err(format!("cannot read {path}")),
        })
    }

    const USERS: &str = r#"
        [[user]]
        name = "backup"
        parent = "alice"
        access_key = "backup-key"
        secret_key = "backup-secret"
        policy_files = ["good.json"]

        [[user]]
        name = "alice"
        access_key = "alice-key"
        secret_key = "alice-secret"

        [[user]]
        name = "bob"
        access_key = "bob-key"
        secret_key = "bob-secret"
        id = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"
        display_name = "Bob B."
        account = "123456789012"
    "#;

    #[test]
    fn a_file_gives_its_users() {
        let directory = read(USERS).expect("valid file");
        let alice = &directory.find("alice-key").expect("alice is known").user;
        assert_eq!((&*alice.name, &*alice.account.display_name), ("alice", "alice"));
        let canonical_id = &alice.account.canonical_id;
        assert_eq!(canonical_id.len(), 64);
        assert!(canonical_id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(alice.caller.kind, CallerKind::Root);
        let bob = &directory.find("bob-key").expect("bob is known").user.account;
        assert_eq!((&*bob.display_name, &*bob.id), ("Bob B.", "123456789012"));
        assert!(bob.canonical_id.starts_with("79a59df9"));
        let backup = &directory.find("backup-key").expect("backup is known").user;
        assert_eq!(backup.account, alice.account);
        assert_eq!((backup.caller.kind, backup.policies.len()), (CallerKind::User, 1));
        assert!(directory.find("alice").is_none());
    }

    #[test]
    fn keys_come_from_files() {
        let alice =
            "[[user]]\nname = 'alice'\naccess_key = 'alice-key'\nsecret_key_file = 'app.secret'\n";
        let app = "[[user]]\nname = 'app'\nparent = 'alice'\naccess_key_file = 'app.key'\nsecret_key_file = 'app.secret'";
        let directory = read(&(alice.to_owned() + app)).expect("valid file");
        for (key, name) in [("alice-key", "alice"), ("app-key", "app")] {
            let found = directory.find(key).expect(key);
            assert_eq!((&*found.user.name, found.secret.expose()), (name, "app-secret"));
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let printed = format!("{:?}", read(USERS).expect("valid file"));
        assert!(printed.contains("alice-key") && printed.contains("[hidden]"));
        assert!(!printed.contains("alice-secret") && !printed.contains("bob-secret"));
    }

    #[test]
    fn errors_say_in_one_line_what_to_change_and_show_no_secret() {
        let user = |name: &str, access_key: &str, secret_key: &str| {
            format!(
                "[[user]]\nname={name:?}\naccess_key={access_key:?}\nsecret_key={secret_key:?}\n"
            )
        };
        let a = user("a", "abc", "hush-hush");
        let b = user("b", "abd", "hush-hush");
        let rows = [
            (String::new(), "there is no [[user]] table"),
            ("user = 1".into(), "there is no [[user]] table"),
            (
                "[[users]]\nname = 'a'".into(),
                "unknown key \"users\"; only [[user]] and [[role]] and [[oidc]]",
            ),
            ("[[user]]\nname = 'a\nsecret_key = 'hush-hush'".into(), "line 2: not valid TOML"),
            ("[[user]]\nname = 'a'\naccess_key = 'abc'".into(), "secret_key is missing"),
            ("[[user]]\nname = 'a'\nsecret_key = 987654321".into(), "access_key is missing"),
            (
                "[[user]]\nname = 'a'\naccess_key = 'abc'\nsecret_key = 987654321".into(),
                "secret_key must be a string",
            ),
            (a.clone() + "access_key_file = 'app.key'", "give access_key or access_key_file"),
            (a.clone() + "secret_key_file = 'app.secret'", "give secret_key or secret_key_file"),
            (
                "[[user]]\nname = 'a'\naccess_key = 'abc'\nsecret_key_file = 'empty'".into(),
                "user \"a\": secret_key_file: empty is empty",
            ),
            (
                "[[user]]\nname = 'a'\naccess_key = 'abc'\nsecret_key_file = 'none'".into(),
                "user \"a\": cannot read none",
            ),
            (user("", "abc", "hush-hush"), "name is empty"),
            (user("a", "ab", "hush-hush"), "user \"a\": access_key has 2 characters"),
            (user("a", "a/b/c", "hush-hush"), "visible ASCII"),
            (user("a", "abc", "hush"), "user \"a\": secret_key is shorter than 8"),
            (a.clone() + &user("a", "abd", "hush-hush"), "are named \"a\""),
            (
                a.clone() + &user("b", "abc", "hush-hush"),
                "user \"b\": another user has this access key",
            ),
            (
                a.clone() + &user("b", "abc", "hush-hush") + "id = 'b'",
                "another user has the access_key \"abc\"",
            ),
            (a.clone() + "colour = 'red'", "unknown key \"colour\""),
            (a.clone() + "id = ''", "id is empty"),
            (a.clone() + "account = '1'", "user \"a\": account needs 12 digits"),
            (
                a.clone() + "account = '123456789012'\n" + &b + "account = '123456789012'",
                "user \"b\": the account 123456789012 belongs to another user",
            ),
            (a.clone() + "policies = ['hush']", "user \"a\": policies has no effect on the root"),
            (a.clone() + "parent = 'a'", "user \"a\": there is no user \"a\" without a parent"),
            (a.clone() + &b + "parent = 'c'", "user \"b\": there is no user \"c\""),
            (a.clone() + &b + "parent = 'a'\nid = 'b'", "user \"b\": id is the parent's"),
            (
                a.clone() + &b + "parent = 'a'\npolicy_files = ['none.json']",
                "user \"b\": cannot read none.json",
            ),
            (
                a.clone() + &user("b c", "abd", "hush-hush") + "parent = 'a'",
                "user \"b c\": the name needs 1 to 64",
            ),
        ];
        for (text, expected) in rows {
            let error = read(&text).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error:?} lacks {expected:?}");
            assert!(!error.contains('\n') && !error.contains("hush") && !error.contains("98765"));
        }
    }

    #[test]
    fn the_user_of_the_command_line_is_the_root_of_the_only_account() {
        let directory = only_user("liteio", "liteio123", None).expect("valid");
        let user = &directory.find("liteio").expect("known").user;
        assert_eq!(user.caller.arn, "arn:aws:iam::000000000000:root");
        assert_eq!(user.account.canonical_id, canonical_id_of_key("liteio"));
        assert!(only_user("ab", "liteio123", None).is_err());
    }
}
