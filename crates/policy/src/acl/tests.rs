use std::mem;

use proptest::prelude::*;

use super::grant::{GRANTS_MAX, PublicGrants, TooManyGrants};
use super::stored::Unreadable;
use super::*;

const ALICE: Party<'_> = Party { id: "alice-id", display_name: "alice" };
const BOB: Party<'_> = Party { id: "bob-id", display_name: "bob" };

fn grant(grantee: Grantee, permission: Permission) -> Grant {
    Grant { grantee, permission }
}

/// `GRANTEE PERMISSION`, by comma.
fn text(acl: &Acl) -> String {
    let grants = acl.grants().iter().map(|grant| {
        let grantee = match &grant.grantee {
            Grantee::Account { id, .. } => id.chars().take(8).collect(),
            Grantee::Group(group) => group.uri().rsplit('/').next().unwrap_or_default().to_owned(),
        };
        format!("{grantee} {}", grant.permission.name())
    });
    grants.collect::<Vec<_>>().join(", ")
}

#[test]
fn canned_acls_are_lists_of_grants() {
    for (name, of_own, of_others, of_bucket) in [
        ("private", "", "", ""),
        ("public-read", "AllUsers READ", "AllUsers READ", "AllUsers READ"),
        (
            "public-read-write",
            "AllUsers READ, AllUsers WRITE",
            "AllUsers READ, AllUsers WRITE",
            "AllUsers READ, AllUsers WRITE",
        ),
        (
            "authenticated-read",
            "AuthenticatedUsers READ",
            "AuthenticatedUsers READ",
            "AuthenticatedUsers READ",
        ),
        ("aws-exec-read", "6aa5a366 READ", "6aa5a366 READ", "6aa5a366 READ"),
        ("bucket-owner-read", "", "alice-id READ", ""),
        ("bucket-owner-full-control", "", "alice-id FULL_CONTROL", ""),
        (
            "log-delivery-write",
            "LogDelivery WRITE, LogDelivery READ_ACP",
            "LogDelivery WRITE, LogDelivery READ_ACP",
            "LogDelivery WRITE, LogDelivery READ_ACP",
        ),
    ] {
        let canned = CannedAcl::of_name(name).expect(name);
        for (acl, owner, added) in [
            (canned.of_object(ALICE, ALICE), "alice-id", of_own),
            (canned.of_object(BOB, ALICE), "bob-id", of_others),
            (canned.of_bucket(ALICE), "alice-id", of_bucket),
        ] {
            let owner = format!("{owner} FULL_CONTROL");
            let is_account = added.contains("-id") || added.starts_with("6aa");
            let expected = match (added, is_account) {
                ("", _) => owner,
                (_, false) => format!("{added}, {owner}"),
                (_, true) => format!("{owner}, {added}"),
            };
            assert_eq!(text(&acl), expected, "{name}");
        }
    }
    assert_eq!(CannedAcl::of_name("public-ready"), None);
    assert_eq!(CannedAcl::of_name("Private"), None);
}

#[test]
fn a_grant_allows_its_grantees_and_nobody_else() {
    use Permission::{FullControl, Read, ReadAcp, Write, WriteAcp};
    let of = |grantee: &Grantee, permission| {
        Acl::new(vec![grant(grantee.clone(), permission)]).expect("few")
    };
    let everybody = Grantee::Group(Group::AllUsers);
    let authenticated = Grantee::Group(Group::AuthenticatedUsers);
    let logs = Grantee::Group(Group::LogDelivery);
    for (grantee, anonymous, alice, bob) in [
        (&everybody, true, true, true),
        (&authenticated, false, true, true),
        (&logs, false, false, false),
        (&ALICE.grantee(), false, true, false),
    ] {
        for (sender, expected) in
            [(None, anonymous), (Some("alice-id"), alice), (Some("bob-id"), bob)]
        {
            for granted in Permission::ALL {
                for asked in [Read, Write, ReadAcp, WriteAcp] {
                    let acl = of(grantee, granted);
                    let right = granted == asked || granted == FullControl;
                    let found = acl.allows(sender, asked, PublicGrants::Count);
                    assert_eq!(found.is_some(), expected && right, "{acl:?} {sender:?} {asked:?}");
                    let found = acl.allows(sender, asked, PublicGrants::Ignored);
                    let is_private = *grantee == ALICE.grantee();
                    assert_eq!(found.is_some(), expected && right && is_private, "{acl:?}");
                }
            }
        }
    }
    assert_eq!(Acl::default().allows(Some("alice-id"), Read, PublicGrants::Count), None);
}

#[test]
fn public_is_what_strangers_have_a_grant_in() {
    for (name, is_public, is_own) in [
        ("private", false, true),
        ("public-read", true, false),
        ("public-read-write", true, false),
        ("authenticated-read", true, false),
        ("log-delivery-write", false, false),
        ("aws-exec-read", false, false),
        ("bucket-owner-read", false, true),
    ] {
        let acl = CannedAcl::of_name(name).expect(name).of_bucket(ALICE);
        assert_eq!(acl.is_public(), is_public, "{name}");
        assert_eq!(acl.is_only_for("alice-id"), is_own, "{name}");
        assert!(!acl.is_only_for("bob-id"), "{name}");
    }
}

#[test]
fn a_list_has_a_hundred_grants_groups_first_and_none_twice() {
    let accounts = |count: usize| {
        let ids = (0..count).map(|number| format!("id-{number}"));
        let grantees = ids.map(|id| Grantee::Account { id, display_name: String::new() });
        grantees.map(|grantee| grant(grantee, Permission::Read)).collect::<Vec<_>>()
    };
    assert_eq!(Acl::new(accounts(GRANTS_MAX)).expect("as many").grants().len(), GRANTS_MAX);
    assert_eq!(Acl::new(accounts(GRANTS_MAX + 1)), Err(TooManyGrants));
    let everybody = grant(Grantee::Group(Group::AllUsers), Permission::Read);
    let mut given = accounts(2);
    given.extend([everybody.clone(), everybody]);
    assert_eq!(text(&Acl::new(given).expect("few")), "AllUsers READ, id-0 READ, id-1 READ");
}

#[test]
fn grant_headers_are_lists_of_grantees() {
    use NamedGrantee::{Email, Id, Uri};
    let id = || Id("a1".into());
    let uri = || Uri("http://acs.amazonaws.com/groups/global/AllUsers".into());
    for (value, expected) in [
        ("id=\"a1\"", Some(vec![id()])),
        ("id=a1", Some(vec![id()])),
        ("  ID = a1 ", Some(vec![id()])),
        ("id=\"a1\",id=a1 , id=\"a1\"", Some(vec![id(), id(), id()])),
        ("uri=\"http://acs.amazonaws.com/groups/global/AllUsers\", id=a1", Some(vec![uri(), id()])),
        ("uri=http://acs.amazonaws.com/groups/global/AllUsers", Some(vec![uri()])),
        ("emailAddress=\"a@b.c\"", Some(vec![Email("a@b.c".into())])),
        ("id=\"a,1\"", Some(vec![Id("a,1".into())])),
        ("", None),
        (",", None),
        ("a1", None),
        ("id=", None),
        ("id=\"\"", None),
        ("id=\"a1", None),
        ("id=a1,", None),
        ("id=\"a1\" id=\"b2\"", None),
        ("id=a1\"", None),
        ("id=a=b", None),
        ("name=a1", None),
        ("id=\"a1\";uri=\"x\"", None),
    ] {
        assert_eq!(parse_grants(value).ok(), expected, "{value}");
    }
}

#[test]
fn names_are_those_of_documents() {
    for permission in Permission::ALL {
        assert_eq!(Permission::of_name(permission.name()), Some(permission));
        let header = permission.name().to_lowercase().replace('_', "-");
        assert_eq!(permission.header(), format!("x-amz-grant-{header}"));
    }
    assert_eq!(Permission::of_name("read"), None);
    for group in [Group::AllUsers, Group::AuthenticatedUsers, Group::LogDelivery] {
        assert_eq!(Group::of_uri(group.uri()), Some(group));
    }
    assert_eq!(Group::of_uri("http://acs.amazonaws.com/groups/global/Nobody"), None);
    for (name, counts) in
        [("BucketOwnerEnforced", false), ("BucketOwnerPreferred", true), ("ObjectWriter", true)]
    {
        let ownership = Ownership::of_name(name).expect(name);
        assert_eq!((ownership.name(), ownership.acls_count()), (Some(name), counts));
    }
    assert_eq!(Ownership::of_name("Deleted"), None);
    assert!(Ownership::Deleted.acls_count() && !Ownership::default().acls_count());
}

#[test]
fn an_action_needs_the_permission_of_the_table() {
    use Granting::{Bucket, Object};
    use Permission::{Read, ReadAcp, Write, WriteAcp};
    for (action, expected) in [
        ("s3:ListBucket", Some(Bucket(Read))),
        ("s3:ListBucketVersions", Some(Bucket(Read))),
        ("s3:ListBucketMultipartUploads", Some(Bucket(Read))),
        ("s3:PutObject", Some(Bucket(Write))),
        ("s3:DeleteObject", Some(Bucket(Write))),
        ("s3:DeleteObjectVersion", None),
        ("s3:GetBucketAcl", Some(Bucket(ReadAcp))),
        ("s3:PutBucketAcl", Some(Bucket(WriteAcp))),
        ("s3:GetObject", Some(Object(Read))),
        ("s3:GetObjectVersion", Some(Object(Read))),
        ("s3:GetObjectAttributes", Some(Object(Read))),
        ("s3:GetObjectVersionAttributes", Some(Object(Read))),
        ("s3:GetObjectAcl", Some(Object(ReadAcp))),
        ("s3:GetObjectVersionAcl", Some(Object(ReadAcp))),
        ("s3:PutObjectAcl", Some(Object(WriteAcp))),
        ("s3:PutObjectVersionAcl", Some(Object(WriteAcp))),
        ("s3:GetObjectTagging", None),
        ("s3:PutObjectTagging", None),
        ("s3:DeleteBucket", None),
        ("s3:PutBucketPolicy", None),
        ("s3:BypassGovernanceRetention", None),
        ("s3vectors:GetObject", None),
        ("GetObject", None),
    ] {
        assert_eq!(permission_for(action), expected, "{action}");
    }
}

#[test]
fn stored_values_come_back_and_others_are_refused() {
    let acl = CannedAcl::PublicReadWrite.of_object(BOB, ALICE);
    let block = PublicAccessBlock { ignore_public_acls: true, ..PublicAccessBlock::default() };
    assert_eq!(block.public_grants(), PublicGrants::Ignored);
    let bytes = encode(&acl);
    assert_eq!(decode(&bytes), Ok(acl));
    assert_eq!(decode(&encode(&block)), Ok(block));
    assert_eq!(decode(&encode(&Ownership::Deleted)), Ok(Ownership::Deleted));
    // As they are on disks.
    assert_eq!(encode(&block), [1, 0, 1, 0, 0]);
    assert_eq!(encode(&Ownership::Deleted), [1, 3]);
    let small = CannedAcl::PublicRead.of_bucket(Party { id: "a", display_name: "b" });
    assert_eq!(encode(&small), [1, 2, 1, 0, 0, 0, 1, b'a', 1, b'b', 4]);
    for length in 0..bytes.len() {
        assert_eq!(decode::<Acl>(&bytes[..length]), Err(Unreadable::Damaged), "{length}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(decode::<Acl>(&longer), Err(Unreadable::Damaged));
    let mut newer = bytes;
    assert_eq!(mem::replace(&mut newer[0], 2), 1);
    assert_eq!(decode::<Acl>(&newer), Err(Unreadable::TooNew(2)));
}

proptest! {
    #[test]
    fn nothing_that_is_sent_or_stored_panics(
        value in "(id|uri|emailAddress)?[= \",a-z]{0,12}(id|uri)?[= \",a-z]{0,8}|.{0,20}",
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let named = parse_grants(&value).unwrap_or_default();
        prop_assert!(named.len() <= value.len());
        if let Ok(acl) = decode::<Acl>(&bytes) {
            let _ = (acl.is_public(), acl.allows(Some("a"), Permission::Read, PublicGrants::Count));
        }
        let _ = (decode::<Ownership>(&bytes), decode::<PublicAccessBlock>(&bytes));
    }
}
