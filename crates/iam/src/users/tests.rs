use std::fs;

use liteio_store::StoreConfig;

use super::*;
use crate::records::{Document, ProviderRecord, ServiceKeyRecord};
use crate::settings::IdentitySettings;
use crate::state::{Draft, seal_secret};

fn users_of(credentials: CredentialsSource, store: &Store) -> Arc<Users> {
    let configured = ConfiguredUsers::read(&IdentitySettings::new(credentials));
    let users = Users::open(configured.expect("valid"), store, &KeyRing::default());
    Arc::new(users.expect("opens"))
}

#[test]
fn a_damaged_key_of_the_data_directory_is_not_replaced() {
    let store = Store::open(StoreConfig::memory()).expect("opens");
    let entry = IdentityEntry { key: OWN_KEY.to_vec(), value: Some(vec![7; 31]) };
    store.change_identities(vec![entry.clone()], None).wait().expect("written");
    let credentials =
        CredentialsSource::Pair { access_key: "alice".into(), secret_key: "a secret".into() };
    let configured = || {
        let config = IdentitySettings::new(credentials.clone());
        ConfiguredUsers::read(&config).expect("valid")
    };
    assert!(Users::open(configured(), &store, &KeyRing::default()).is_err());
    assert_eq!(store.identities().expect("read").entries, [entry]);
    let ring = KeyRing::new(vec![EncryptionKey::new([1; 32])], Vec::new());
    assert!(Users::open(configured(), &store, &ring).is_ok());
}

#[tokio::test]
async fn a_change_that_is_broken_off_is_in_effect_once_it_is_durable() {
    let store = Store::open(StoreConfig::memory()).expect("opens");
    let credentials =
        CredentialsSource::Pair { access_key: "alice".into(), secret_key: "a secret".into() };
    let users = users_of(credentials, &store);
    let account = "000000000000";
    let mut draft = Draft::new(account, &users.state().account(account));
    draft.put(ProviderRecord {
        url: "login.example.com".to_owned(),
        created: 0,
        client_ids: vec!["storage".to_owned()],
        thumbprints: Vec::new(),
        tags: Default::default(),
    });
    let (changes, changed) = draft.finish();
    let state = users.state().with(account.to_owned(), changed);
    let change = users.change(&store, users.changing().await, changes, state);
    tokio::select! {
        biased;
        _ = change => {}
        () = std::future::ready(()) => {}
    }
    let _next = users.changing().await;
    let entries = store.identities().expect("read").entries;
    assert!(entries.iter().any(|entry| entry.key.starts_with(b"provider/")), "it is durable");
    assert!(users.current().now().issuer("https://login.example.com", account).is_some());
}

#[test]
fn a_service_account_is_there_after_a_start_with_another_master_key() {
    let store = Store::open(StoreConfig::memory()).expect("opens");
    let key = |byte: u8| EncryptionKey::new([byte; 32]);
    let (former, both) =
        (KeyRing::new(vec![key(1)], Vec::new()), KeyRing::new(vec![key(2), key(1)], Vec::new()));
    let account = "000000000000";
    let policy = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject",
        "Resource":"*"}}"#;
    let secret = seal_secret(b"a service secret", &SecretKeys::new(&former, None));
    let mut draft = Draft::new(account, &Default::default());
    draft.put(ServiceKeyRecord {
        id: "Service".to_owned(),
        secret: secret.expect("random bytes"),
        active: true,
        created: 0,
        owner: account.to_owned(),
        name: None,
        description: None,
        expires: Some(100),
        policy: Some(Document::of_identity(policy).expect("a policy")),
    });
    store.change_identities(draft.finish().0, None).wait().expect("written");
    let credentials =
        CredentialsSource::Pair { access_key: "alice".into(), secret_key: "a secret".into() };
    let open = |ring: &KeyRing| {
        let config = IdentitySettings::new(credentials.clone());
        let configured = ConfiguredUsers::read(&config).expect("valid");
        Users::open(configured, &store, ring).expect("opens")
    };
    for ring in [&former, &both, &KeyRing::new(vec![key(2)], Vec::new())] {
        let users = open(ring);
        let found = users.current().key("Service", None, 99).expect("known");
        assert_eq!(found.secret.expose(), "a service secret");
        assert!(found.user.is_root() && found.user.session_policies.is_some());
        assert!(users.current().key("Service", None, 100).is_err(), "it has ended");
        let root = users.current().now().user_of_id(account).cloned().expect("the root user");
        assert!(root.session_policies.is_none(), "its own rights are not narrowed");
    }
}

const ALICE: &str = "[[user]]\nname = 'alice'\naccess_key = 'alice-key'\nsecret_key = 'a secret'\n";

#[test]
fn a_changed_file_is_read_again_and_a_bad_one_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("users.toml");
    let write = |text: &str| fs::write(&path, text).expect("written");
    write(ALICE);
    let credentials = CredentialsSource::File(path.clone());
    let store = Store::open(StoreConfig::memory()).expect("opens");
    let users = users_of(credentials, &store);
    let knows = |key: &str| {
        users.read_again_if_changed();
        users.current().key(key, None, 0).is_ok()
    };
    assert!(knows("alice-key"));

    let member = "[[user]]\nname = 'bob'\nparent = 'alice'\naccess_key = 'bob-key'\n\
                  secret_key = 'b secret'\npolicy_files = ['bob.json']\n";
    write(&format!("{ALICE}{member}"));
    assert!(!knows("bob-key"), "its policy is missing");
    let policy = r#"{"Version": "2012-10-17", "Statement":
        {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}"#;
    fs::write(folder.path().join("bob.json"), policy).expect("written");
    assert!(knows("bob-key"), "the missing file was looked for");

    write("[[user]]\nname = 'eve'");
    assert!(knows("alice-key") && knows("bob-key"), "a file that is not valid is ignored");
    assert!(users.current().is_file_refused());
    write(&ALICE.replace("alice-key", "other-key"));
    assert!(!knows("alice-key") && !knows("bob-key") && knows("other-key"));
    assert!(!users.current().is_file_refused());
    fs::remove_file(&path).expect("removed");
    assert!(knows("other-key"));
}
