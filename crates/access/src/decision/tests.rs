//! The order of evaluation, as a table. Policies and ACLs themselves are tested in their own crate.

use std::sync::Arc;

use super::*;
use crate::granted::bucket_list;
use crate::principal::Principal;
use liteio_identity::{Account, SessionFacts};
use liteio_policy::acl::{CannedAcl, Grant, Grantee as AclGrantee, Party, Permission};
use liteio_policy::{Kind, NoContext};
use liteio_store::{BucketName, NewBucket, Owner, Store, StoreConfig};

const ALICE: &str = "alice-id";
const BOB: &str = "bob-id";
const ACCOUNTS: [(&str, &str); 2] = [(ALICE, "111111111111"), (BOB, "222222222222")];

/// A statement of a policy without a principal.
fn statement(text: &str) -> String {
    let (effect, actions) = text.split_once(' ').expect("an effect and actions");
    let actions: Vec<String> =
        actions.split(' ').map(|action| format!("\"s3:{action}\"")).collect();
    format!(r#"{{"Effect": "{effect}", "Action": [{}], "Resource": "*"}}"#, actions.join(", "))
}

/// A policy of a user: statements such as `Allow GetObject PutObject`, separated by semicolons.
fn identity_policy(text: &str) -> Arc<Policy> {
    let statements: Vec<String> = text.split("; ").map(statement).collect();
    let text = format!(r#"{{"Version": "2012-10-17", "Statement": [{}]}}"#, statements.join(", "));
    Arc::new(Policy::parse(text.as_bytes(), Kind::Identity).expect(&text))
}

/// A bucket policy: statements such as `Allow * GetObject`, with a principal before the actions.
fn bucket_policy(text: &str) -> Policy {
    let statements = text.split("; ").map(|text| {
        let mut words = text.splitn(3, ' ');
        let (effect, principal) = (words.next().expect("an effect"), words.next().expect("one"));
        let actions = words.next().expect("actions");
        let actions: Vec<String> =
            actions.split(' ').map(|action| format!("\"s3:{action}\"")).collect();
        let principal = match principal {
            "*" => "\"*\"".to_owned(),
            arn => format!(r#"{{"AWS": "{arn}"}}"#),
        };
        format!(
            r#"{{"Effect": "{effect}", "Principal": {principal}, "Action": [{}],
                "Resource": ["arn:aws:s3:::bucket", "arn:aws:s3:::bucket/*"]}}"#,
            actions.join(", ")
        )
    });
    let statements: Vec<String> = statements.collect();
    let text = format!(r#"{{"Version": "2012-10-17", "Statement": [{}]}}"#, statements.join(", "));
    Policy::parse(text.as_bytes(), Kind::Bucket("bucket")).expect(&text)
}

fn account(canonical_id: &str) -> Arc<Account> {
    let (_, id) = ACCOUNTS.iter().find(|(known, _)| *known == canonical_id).expect("an account");
    let name = canonical_id.trim_end_matches("-id").to_owned();
    Arc::new(Account::new((*id).to_owned(), canonical_id.to_owned(), name).expect("valid"))
}

/// The sender of a row.
#[derive(Clone, Copy, Debug)]
enum Who {
    Nobody,
    /// The root user of an account.
    Root(&'static str),
    /// A user "carol" of an account, with this policy.
    User(&'static str, &'static str),
    /// The same in a session with this policy.
    Session(&'static str, &'static str, &'static str),
}

impl Who {
    fn user(self) -> Option<User> {
        let member = |account_id, policy: &str| {
            let policies: Vec<AttachedPolicy> = match policy {
                "" => Vec::new(),
                text => {
                    vec![AttachedPolicy { name: "own".to_owned(), policy: identity_policy(text) }]
                }
            };
            User::member("carol", account(account_id), policies.into()).expect("a user")
        };
        Some(match self {
            Who::Nobody => return None,
            Who::Root(id) => User::root("root", account(id)).expect("a user"),
            Who::User(id, policy) => member(id, policy),
            Who::Session(id, policy, session) => {
                let narrow = identity_policy(session);
                let session = vec![AttachedPolicy { name: "session".to_owned(), policy: narrow }];
                User { session_policies: Some(session.into()), ..member(id, policy) }
            }
        })
    }
}

/// The documents of a bucket of Alice's, and of the object in it.
#[derive(Clone, Copy, Debug, Default)]
struct Has {
    policy: Option<&'static str>,
    /// The canned ACL of the bucket, where ACLs count.
    acl: Option<CannedAcl>,
    /// Owner and canned ACL of the object, where ACLs count.
    object: Option<(&'static str, CannedAcl)>,
    block: PublicAccessBlock,
}

const NOTHING: Has = Has {
    policy: None,
    acl: None,
    object: None,
    block: PublicAccessBlock {
        block_public_acls: false,
        ignore_public_acls: false,
        block_public_policy: false,
        restrict_public_buckets: false,
    },
};
const IGNORE: PublicAccessBlock = PublicAccessBlock { ignore_public_acls: true, ..NOTHING.block };
const RESTRICT: PublicAccessBlock =
    PublicAccessBlock { restrict_public_buckets: true, ..NOTHING.block };

const fn policy(text: &'static str) -> Has {
    Has { policy: Some(text), ..NOTHING }
}

fn decided(who: Who, action: Action, has: Has) -> Result<(), Reason> {
    let user = who.user();
    let policy = has.policy.map(bucket_policy);
    let party = |id| Party { id, display_name: "" };
    let bucket_acl = has.acl.map(|acl| acl.of_bucket(party(ALICE)));
    let object_acl = has.object.map(|(owner, acl)| acl.of_object(party(owner), party(ALICE)));
    let object = has.object.map(|(owner_id, _)| ObjectAcl { owner_id, acl: object_acl.as_ref() });
    let counts = has.acl.is_some() || has.object.is_some();
    let acls = counts.then_some(Acls { bucket: bucket_acl.as_ref(), object });
    let documents =
        Documents { owner_id: ALICE, policy: policy.as_ref(), outer: None, acls, block: has.block };
    let resource = match action.name() {
        name if name.contains("Bucket") => Resource::Bucket("bucket"),
        _ => Resource::Object { bucket: "bucket", key: "key" },
    };
    let request = Request { user: user.as_ref(), action, resource, context: &NoContext };
    decide(Some(documents), &request).map(drop).map_err(|denial| denial.reason)
}

use Action::{
    DeleteBucketPolicy, DeleteObject, GetBucketPolicy, GetObject, GetObjectAcl, ListBucket,
    PutBucketPolicy, PutObject, PutObjectAcl,
};
use CannedAcl::{AuthenticatedRead, Private, PublicRead, PublicReadWrite};
use Who::{Nobody, Root, Session, User as Member};

fn explicit(source: Source) -> Result<(), Reason> {
    Err(Reason::Explicit { source, statement: "statement 1".to_owned() })
}

#[test]
fn evaluation_is_in_the_order_of_aws() {
    let denied = |reason: Reason| Err(reason);
    let own = || explicit(Source::Identity("own".to_owned()));
    let rows: Vec<(Who, Action, Has, Result<(), Reason>)> = vec![
        // The root user of the account needs nobody's leave, but the bucket's policy binds it,
        (Root(ALICE), GetObject, NOTHING, Ok(())),
        (Root(ALICE), GetObject, policy("Deny * *"), explicit(Source::Resource)),
        (Root(ALICE), ListBucket, policy("Deny * *"), explicit(Source::Resource)),
        // except that it can always correct it.
        (Root(ALICE), PutBucketPolicy, policy("Deny * *"), Ok(())),
        (Root(ALICE), GetBucketPolicy, policy("Deny * *"), Ok(())),
        (Root(ALICE), DeleteBucketPolicy, policy("Deny * *"), Ok(())),
        (Member(ALICE, "Allow *"), PutBucketPolicy, policy("Deny * *"), explicit(Source::Resource)),
        // A user of the account needs one allow.
        (Member(ALICE, ""), GetObject, NOTHING, denied(Reason::NoIdentityPolicy)),
        (Member(ALICE, "Allow GetObject"), GetObject, NOTHING, Ok(())),
        (Member(ALICE, "Allow GetObject"), PutObject, NOTHING, denied(Reason::NoIdentityPolicy)),
        (Member(ALICE, "Deny GetObject; Allow *"), GetObject, NOTHING, own()),
        (Member(ALICE, ""), GetObject, policy("Allow * GetObject"), Ok(())),
        (
            Member(ALICE, ""),
            GetObject,
            policy("Allow arn:aws:iam::111111111111:user/carol GetObject"),
            Ok(()),
        ),
        // An allow for the account lets the account decide.
        (
            Member(ALICE, ""),
            GetObject,
            policy("Allow 111111111111 GetObject"),
            denied(Reason::NoIdentityPolicy),
        ),
        (Member(ALICE, "Deny GetObject"), GetObject, policy("Allow * GetObject"), own()),
        (
            Member(ALICE, "Allow *"),
            GetObject,
            policy("Deny arn:aws:iam::111111111111:user/carol GetObject"),
            explicit(Source::Resource),
        ),
        // Another account needs both.
        (Root(BOB), GetObject, NOTHING, denied(Reason::NoResourcePolicy)),
        (Root(BOB), GetObject, policy("Allow 222222222222 GetObject"), Ok(())),
        (Root(BOB), GetObject, policy("Allow * GetObject"), Ok(())),
        (
            Root(BOB),
            PutObject,
            policy("Allow 222222222222 GetObject"),
            denied(Reason::NoResourcePolicy),
        ),
        (Member(BOB, ""), GetObject, policy("Allow * GetObject"), denied(Reason::NoIdentityPolicy)),
        (Member(BOB, "Allow *"), GetObject, NOTHING, denied(Reason::NoResourcePolicy)),
        (Member(BOB, "Allow *"), GetObject, policy("Allow 222222222222 GetObject"), Ok(())),
        (
            Member(BOB, "Allow *"),
            GetObject,
            policy("Allow 222222222222 *; Deny arn:aws:iam::222222222222:user/carol GetObject"),
            Err(Reason::Explicit { source: Source::Resource, statement: "statement 2".to_owned() }),
        ),
        // The root of another account is bound by the policy's policy rules, too.
        (Root(BOB), GetBucketPolicy, policy("Deny 222222222222 *"), explicit(Source::Resource)),
        // A session may what its user may and its policy says.
        (Session(ALICE, "Allow *", "Allow GetObject"), GetObject, NOTHING, Ok(())),
        (
            Session(ALICE, "Allow *", "Allow GetObject"),
            PutObject,
            NOTHING,
            denied(Reason::NoSessionPolicy),
        ),
        (
            Session(ALICE, "Allow PutObject", "Allow GetObject"),
            GetObject,
            NOTHING,
            denied(Reason::NoIdentityPolicy),
        ),
        (
            Session(ALICE, "Allow *", "Deny GetObject; Allow *"),
            GetObject,
            NOTHING,
            explicit(Source::Session),
        ),
        (
            Session(ALICE, "", "Allow PutObject"),
            GetObject,
            policy("Allow * GetObject"),
            denied(Reason::NoSessionPolicy),
        ),
        // Nobody.
        (Nobody, GetObject, NOTHING, denied(Reason::Anonymous)),
        (Nobody, GetObject, policy("Allow * GetObject"), Ok(())),
        (Nobody, PutObject, policy("Allow * GetObject"), denied(Reason::Anonymous)),
        (Nobody, GetObject, policy("Allow 111111111111 GetObject"), denied(Reason::Anonymous)),
        (Nobody, GetObject, policy("Deny * GetObject; Allow * *"), explicit(Source::Resource)),
    ];
    for (who, action, has, expected) in rows {
        assert_eq!(decided(who, action, has), expected, "{who:?} {} {has:?}", action.name());
    }
}

#[test]
fn the_public_access_block_keeps_the_public_out() {
    let public = Has { block: RESTRICT, ..policy("Allow * GetObject") };
    let named = Has { block: RESTRICT, ..policy("Allow 222222222222 GetObject") };
    let both =
        Has { block: RESTRICT, ..policy("Allow 222222222222 GetObject; Allow * ListBucket") };
    let kept = || Err(Reason::PublicAccessBlock);
    let acl = |object, block| Has { object: Some((ALICE, object)), block, ..NOTHING };
    let rows: Vec<(Who, Action, Has, Result<(), Reason>)> = vec![
        (Nobody, GetObject, public, kept()),
        (Root(BOB), GetObject, public, kept()),
        (Member(ALICE, ""), GetObject, public, Ok(())),
        (Root(BOB), GetObject, named, Ok(())),
        // A policy is public as a whole.
        (Root(BOB), GetObject, both, kept()),
        (Nobody, GetObject, acl(PublicRead, NOTHING.block), Ok(())),
        (Nobody, GetObject, acl(PublicRead, IGNORE), Err(Reason::Anonymous)),
        (Root(BOB), GetObject, acl(AuthenticatedRead, NOTHING.block), Ok(())),
        (Root(BOB), GetObject, acl(AuthenticatedRead, IGNORE), Err(Reason::NoResourcePolicy)),
        (Nobody, GetObject, acl(PublicRead, RESTRICT), Ok(())),
    ];
    for (who, action, has, expected) in rows {
        assert_eq!(decided(who, action, has), expected, "{who:?} {} {has:?}", action.name());
    }
}

#[test]
fn acls_grant_what_they_say_where_they_count() {
    let bucket = |acl| Has { acl: Some(acl), ..NOTHING };
    let object = |owner, acl| Has { object: Some((owner, acl)), ..NOTHING };
    let with = |has: Has, text| Has { policy: Some(text), ..has };
    let nobody = || Err(Reason::Anonymous);
    let other = || Err(Reason::NoResourcePolicy);
    let rows: Vec<(Who, Action, Has, Result<(), Reason>)> = vec![
        (Nobody, ListBucket, bucket(PublicRead), Ok(())),
        (Nobody, PutObject, bucket(PublicRead), nobody()),
        (Nobody, PutObject, bucket(PublicReadWrite), Ok(())),
        (Nobody, DeleteObject, bucket(PublicReadWrite), Ok(())),
        (Nobody, GetObject, bucket(PublicRead), nobody()),
        (Nobody, ListBucket, bucket(AuthenticatedRead), nobody()),
        (Root(BOB), ListBucket, bucket(AuthenticatedRead), Ok(())),
        // An explicit deny of the policy wins over ACLs.
        (
            Nobody,
            ListBucket,
            with(bucket(PublicRead), "Deny * ListBucket"),
            explicit(Source::Resource),
        ),
        // A user of another account needs its own account's leave as well.
        (Member(BOB, ""), ListBucket, bucket(PublicRead), Err(Reason::NoIdentityPolicy)),
        (Member(BOB, "Allow *"), ListBucket, bucket(PublicRead), Ok(())),
        // An object of another account is not the bucket owner's,
        (Root(BOB), GetObject, object(BOB, Private), Ok(())),
        (Root(BOB), GetObjectAcl, object(BOB, Private), Ok(())),
        (Root(BOB), PutObjectAcl, object(BOB, Private), Ok(())),
        (Root(ALICE), GetObject, object(BOB, Private), other()),
        (Root(ALICE), GetObject, object(BOB, CannedAcl::BucketOwnerFullControl), Ok(())),
        (Root(ALICE), GetObjectAcl, object(BOB, CannedAcl::BucketOwnerRead), other()),
        (Root(ALICE), GetObject, object(BOB, CannedAcl::BucketOwnerRead), Ok(())),
        // whose policy denies access to it, but allows none.
        (Nobody, GetObject, with(object(BOB, Private), "Allow * GetObject"), nobody()),
        (
            Root(BOB),
            GetObject,
            with(object(BOB, Private), "Deny 222222222222 GetObject"),
            explicit(Source::Resource),
        ),
        (Nobody, GetObject, with(object(ALICE, Private), "Allow * GetObject"), Ok(())),
        (Nobody, GetObject, object(ALICE, Private), nobody()),
        (Nobody, GetObject, object(BOB, PublicRead), Ok(())),
        (Nobody, GetObjectAcl, object(BOB, PublicRead), nobody()),
    ];
    for (who, action, has, expected) in rows {
        assert_eq!(decided(who, action, has), expected, "{who:?} {} {has:?}", action.name());
    }
}

#[test]
fn a_grant_to_an_account_is_for_that_account() {
    let grantee = AclGrantee::Account { id: BOB.to_owned(), display_name: String::new() };
    let acl = Acl::new(vec![Grant { grantee, permission: Permission::Read }]).expect("few");
    let acls = Acls { bucket: Some(&acl), object: None };
    let block = PublicAccessBlock::default();
    let documents =
        Documents { owner_id: ALICE, policy: None, outer: None, acls: Some(acls), block };
    let may = |who: Who| {
        let (user, resource) = (who.user(), Resource::Bucket("bucket"));
        let request =
            Request { user: user.as_ref(), action: ListBucket, resource, context: &NoContext };
        decide(Some(documents), &request).is_ok()
    };
    assert!(may(Root(BOB)) && may(Member(BOB, "Allow ListBucket")) && may(Root(ALICE)));
    assert!(!may(Nobody) && !may(Member(BOB, "")) && !may(Member(ALICE, "")));
}

#[test]
fn actions_on_the_account_need_a_user_with_the_right() {
    let may = |who: Who, action| {
        let (user, resource) = (who.user(), Resource::Bucket("new"));
        decide(None, &Request { user: user.as_ref(), action, resource, context: &NoContext })
            .is_ok()
    };
    for action in [Action::CreateBucket, Action::ListAllMyBuckets, Action::CreateVectorBucket] {
        assert!(may(Root(BOB), action));
        assert!(!may(Nobody, action));
        assert!(!may(Member(BOB, ""), action));
    }
    assert!(may(Member(BOB, "Allow CreateBucket"), Action::CreateBucket));
    assert!(!may(Member(BOB, "Allow CreateBucket"), Action::ListAllMyBuckets));
    assert!(!may(Session(BOB, "Allow *", "Allow GetObject"), Action::CreateBucket));
}

#[test]
fn a_refusal_tells_its_own_account_the_reason_and_others_nothing() {
    let message = |who: Who| {
        let (user, policy) = (who.user(), bucket_policy("Deny 222222222222 *"));
        let block = PublicAccessBlock::default();
        let documents =
            Documents { owner_id: ALICE, policy: Some(&policy), outer: None, acls: None, block };
        let resource = Resource::Object { bucket: "bucket", key: "a/b" };
        let request =
            Request { user: user.as_ref(), action: GetObject, resource, context: &NoContext };
        let denial = decide(Some(documents), &request).expect_err("denied");
        (denial.message(), denial.to_string())
    };
    assert_eq!(
        message(Member(ALICE, "")),
        (
            "User: arn:aws:iam::111111111111:user/carol is not authorized to perform: s3:GetObject on \
             resource: \"arn:aws:s3:::bucket/a/b\" because no identity-based policy allows the \
             s3:GetObject action"
                .to_owned(),
            "s3:GetObject: no policy of the user allows it".to_owned()
        )
    );
    let (told, logged) = message(Root(BOB));
    assert_eq!(told, "Access Denied");
    assert_eq!(logged, "s3:GetObject: denied by the policy of the bucket, statement 1");
    assert_eq!(message(Nobody).0, "Access Denied");
}

/// Policies of a former MinIO mean what they meant there.
#[test]
fn by_the_rules_of_minio_the_action_for_the_current_version_is_for_all_versions() {
    use Action::{
        DeleteObjectVersion, GetObjectVersion, GetObjectVersionAttributes, ListBucketVersions,
        PutObjectVersionTagging,
    };
    let may = |rules, who: Who, policy: Option<&str>, action| {
        let (user, policy) = (who.user(), policy.map(bucket_policy));
        let (acls, block) = (None, NOTHING.block);
        let documents =
            Documents { owner_id: ALICE, policy: policy.as_ref(), outer: None, acls, block };
        let resource = match action {
            ListBucketVersions => Resource::Bucket("bucket"),
            _ => Resource::Object { bucket: "bucket", key: "key" },
        };
        let request = Request { user: user.as_ref(), action, resource, context: &NoContext };
        decide_by(rules, Some(documents), &request).is_ok()
    };
    for (own, action, on_aws, on_minio) in [
        ("Allow GetObject", GetObjectVersion, false, true),
        ("Allow GetObjectVersion", GetObjectVersion, true, true),
        ("Allow DeleteObject", DeleteObjectVersion, false, true),
        ("Allow PutObjectTagging", PutObjectVersionTagging, false, true),
        ("Allow ListBucket", ListBucketVersions, false, true),
        ("Allow ListBucket", GetObjectVersion, false, false),
        // The one action that MinIO has for versions alone.
        ("Allow GetObjectAttributes", GetObjectVersionAttributes, false, false),
        // A deny of either wins.
        ("Allow DeleteObject; Deny DeleteObjectVersion", DeleteObjectVersion, false, false),
        ("Allow *; Deny GetObject", GetObjectVersion, true, false),
    ] {
        let who = Who::User(ALICE, own);
        assert_eq!(may(Rules::Aws, who, None, action), on_aws, "AWS: {own}, {action:?}");
        assert_eq!(may(Rules::Minio, who, None, action), on_minio, "MinIO: {own}, {action:?}");
    }
    // So do the policies of buckets and of sessions.
    let open = Some("Allow * GetObject");
    assert!(may(Rules::Minio, Who::Nobody, open, GetObjectVersion));
    assert!(!may(Rules::Aws, Who::Nobody, open, GetObjectVersion));
    let narrow = Who::Session(ALICE, "Allow *", "Allow GetObject");
    assert!(may(Rules::Minio, narrow, None, GetObjectVersion));
    assert!(!may(Rules::Minio, narrow, None, DeleteObjectVersion));
}

#[test]
fn by_the_rules_of_minio_a_list_has_the_buckets_that_may_be_used() {
    let store = Store::open(StoreConfig::memory()).expect("opens");
    for name in ["mine", "other"] {
        let owner = Owner { id: ALICE.to_owned(), display_name: String::new() };
        let name = BucketName::new(name).expect("a name");
        let new = NewBucket::new(name, owner, "us-east-1".to_owned());
        store.create_bucket(new).wait().expect("made");
    }
    let sender = |actions: &str, condition: &str| {
        let text = format!(
            r#"{{"Version": "2012-10-17", "Statement": [{{"Effect": "Allow", "Action": [{actions}],
                "Resource": ["arn:aws:s3:::mine", "arn:aws:s3:::mine/*"]{condition}}}]}}"#
        );
        let policy = Arc::new(Policy::parse(text.as_bytes(), Kind::Identity).expect(&text));
        let policies = vec![AttachedPolicy { name: "own".to_owned(), policy }];
        let user = User::member("carol", account(ALICE), policies.into()).expect("a user");
        Principal::User(Arc::new(user))
    };
    let top =
        r#", "Condition": {"StringEquals": {"s3:prefix": ["", "a/"], "s3:delimiter": ["/"]}}"#;
    for (actions, condition, has_mine) in [
        (r#""s3:ListBucket""#, "", true),
        (r#""s3:ListBucket""#, top, true),
        (r#""s3:GetBucketLocation""#, "", true),
        (r#""s3:GetObject""#, "", false),
    ] {
        let sender = sender(actions, condition);
        assert!(bucket_list(&sender, Rules::Aws, &NoContext).is_err(), "{actions}");
        let granted =
            bucket_list(&sender, Rules::Minio, &NoContext).expect("those that it may use");
        assert!(granted.refusal().is_some(), "the reason for an empty list");
        assert_eq!(granted.lists(&store, "mine", &NoContext), has_mine, "{actions}");
        assert!(!granted.lists(&store, "other", &NoContext), "{actions}");
    }
    let all = Who::User(ALICE, "Allow ListAllMyBuckets").user().expect("a user");
    let all = bucket_list(&Principal::User(Arc::new(all)), Rules::Minio, &NoContext).expect("all");
    assert!(all.lists(&store, "other", &NoContext) && all.refusal().is_none());
    assert!(bucket_list(&Principal::Anonymous, Rules::Minio, &NoContext).is_err());
    store.close();
}

#[test]
fn actions_have_the_names_of_policies() {
    assert_eq!(Action::GetObject.name(), "s3:GetObject");
    assert_eq!(Action::QueryVectors.name(), "s3vectors:QueryVectors");
    assert_eq!(Action::GetObject.on_version(), Action::GetObjectVersion);
    assert_eq!(Action::PutObject.on_version(), Action::PutObject);
}

#[test]
fn conditions_see_the_tags_and_the_session_of_the_sender() {
    let decided = |condition: &str| {
        let text = format!(
            r#"{{"Version": "2012-10-17", "Statement": {{"Effect": "Allow", "Principal": "*",
                "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bucket/*",
                "Condition": {condition}}}}}"#
        );
        let policy = Policy::parse(text.as_bytes(), Kind::Bucket("bucket")).expect(&text);
        let user = User {
            tags: vec![("team".to_owned(), "red".to_owned())],
            session: Some(SessionFacts {
                issued: 1_800_000_000,
                provider: None,
                source_identity: Some("carol".to_owned()),
                is_of_console: false,
                expires: 0,
            }),
            ..Who::User(ALICE, "").user().expect("a user")
        };
        let documents = Documents {
            owner_id: ALICE,
            policy: Some(&policy),
            outer: None,
            acls: None,
            block: NOTHING.block,
        };
        let resource = Resource::Object { bucket: "bucket", key: "key" };
        let action = GetObject;
        let request = Request { user: Some(&user), action, resource, context: &NoContext };
        decide(Some(documents), &request).is_ok()
    };
    for (condition, is_allowed) in [
        (r#"{"StringEquals": {"aws:PrincipalTag/team": "red"}}"#, true),
        (r#"{"StringEquals": {"aws:PrincipalTag/Team": "red"}}"#, true),
        (r#"{"StringEquals": {"aws:PrincipalTag/team": "blue"}}"#, false),
        (r#"{"Null": {"aws:PrincipalTag/other": "true"}}"#, true),
        (r#"{"DateLessThan": {"aws:TokenIssueTime": "2030-01-01"}}"#, true),
        (r#"{"DateLessThan": {"aws:TokenIssueTime": "2020-01-01"}}"#, false),
        (r#"{"StringEquals": {"aws:SourceIdentity": "carol"}}"#, true),
        (r#"{"Null": {"aws:FederatedProvider": "true"}}"#, true),
    ] {
        assert_eq!(decided(condition), is_allowed, "{condition}");
    }
}
