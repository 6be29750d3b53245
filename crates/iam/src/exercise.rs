//! Runs forms against an account in memory, for tests with arbitrary requests.

use std::sync::{Arc, LazyLock};

use liteio_store::{EncryptionKey, Identities, KeyRing, SecretKeys};

use super::call::Call;
use super::error::ApiError;
use super::form::Form;
use super::operations;
use super::permission::Circumstances;
use super::state::{Draft, State};
use liteio_identity::Directory;
use liteio_wire::origin::Peer;

const ROOT: &str = "liteio";

static KEYS: LazyLock<SecretKeys> = LazyLock::new(|| {
    let ring = KeyRing::new(vec![EncryptionKey::new([7; 32])], Vec::new());
    SecretKeys::new(&ring, None)
});

static CONFIGURED: LazyLock<Directory> =
    LazyLock::new(|| Directory::of_roots(&[(ROOT, ROOT, "liteio123")]).expect("valid users"));

/// The initial users, group, role and policies.
const BEFORE: [&str; 6] = [
    "Action=CreateUser&UserName=a&Path=/x/",
    "Action=CreateAccessKey&UserName=a",
    "Action=CreateGroup&GroupName=g",
    "Action=AddUserToGroup&GroupName=g&UserName=a",
    "Action=CreateRole&RoleName=r&AssumeRolePolicyDocument={\"Version\":\"2012-10-17\",\"Statement\":\
     {\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":\"sts:AssumeRole\"}}",
    "Action=PutUserPolicy&UserName=a&PolicyName=p&PolicyDocument={\"Version\":\"2012-10-17\",\"Statement\":\
     {\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"*\"}}",
];

/// Answers an IAM form of the root user. Checks that the records it would write can be read back
/// and build a directory.
pub(crate) fn exercise(form: &[u8]) -> Result<(), ApiError> {
    let mut state = State::default();
    for form in BEFORE {
        state = answer(&state, form.as_bytes()).expect("valid requests");
    }
    let after = answer(&state, form)?;
    let directory = after.directory(&CONFIGURED, &KEYS);
    assert!(directory.find(ROOT).is_some(), "the root user stays");
    Ok(())
}

fn answer(state: &State, bytes: &[u8]) -> Result<State, ApiError> {
    let form = Form::parse(bytes)?;
    let operation = operations::find(form.text("Action").unwrap_or_default(), "2010-05-08")?;
    let root = CONFIGURED.find(ROOT).expect("the root user");
    let account = root.user.account.id.clone();
    let context = Circumstances {
        sender: Some(&root.user),
        peer: Peer { address: ([127, 0, 0, 1], 1).into(), secure: false, tls: None },
        user_agent: None,
        now: 1_800_000_000,
        more: Vec::new(),
    };
    let mut call = Call {
        form: &form,
        sender: &root.user,
        key: root,
        context,
        draft: Draft::new(&account, &state.account(&account)),
        directory: Arc::new(state.directory(&CONFIGURED, &KEYS)),
        keys: &KEYS,
        now: 1_800_000_000,
    };
    call.add_condition_keys(operation.name, operation.on);
    call.resource(operation.on)?;
    (operation.run)(&mut call)?;
    let (changes, changed) = call.draft.finish();
    assert!(operation.writes || changes.is_empty(), "{} writes", operation.name);
    for change in &changes {
        assert!(change.key.len() <= 512, "the key of a record is short");
    }
    // As after a restart.
    let written = changes.iter().filter(|change| change.value.is_some()).count();
    let read = State::read(&Identities { entries: changes, ..Identities::default() });
    let again = read.account(&account);
    for (name, user) in &again.users {
        assert_eq!(Some(&user.id), changed.users.get(name).map(|user| &user.id));
    }
    assert_eq!(again.len(), written, "what is written can be read");
    Ok(state.with(account, changed))
}
