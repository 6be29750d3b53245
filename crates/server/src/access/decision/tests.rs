use super::*;

/// Principal, owner of the resource, expected owner, overrides.
type Row = (Option<&'static str>, Option<&'static str>, Option<&'static str>, bool);

fn check_decision(
    action: Action,
    (principal_id, owner, expected_owner, overrides): Row,
) -> Result<(), Denial> {
    let context = Context { expected_owner, overrides_response: overrides };
    let documents = owner.map(|owner_id| Documents { owner_id });
    decide(documents, &Request { principal_id, action, context })
}

#[test]
fn a_bucket_and_everything_in_it_is_its_owners() {
    const ALICE: Option<&str> = Some("alice");
    const BOB: Option<&str> = Some("bob");
    let rows: [(Row, Result<(), Denial>); 10] = [
        ((ALICE, ALICE, None, false), Ok(())),
        ((ALICE, ALICE, None, true), Ok(())),
        ((ALICE, ALICE, ALICE, false), Ok(())),
        ((ALICE, ALICE, BOB, false), Err(Denial::Denied)),
        ((BOB, ALICE, None, false), Err(Denial::Denied)),
        ((BOB, ALICE, BOB, false), Err(Denial::Denied)),
        ((BOB, ALICE, ALICE, false), Err(Denial::Denied)),
        ((None, ALICE, None, false), Err(Denial::Denied)),
        ((None, ALICE, None, true), Err(Denial::AnonymousOverride)),
        // An action on a resource whose documents nobody has read.
        ((ALICE, None, None, false), Err(Denial::Denied)),
    ];
    for action in [
        Action::GetObject,
        Action::PutObject,
        Action::DeleteObject,
        Action::ListBucket,
        Action::DeleteBucket,
        Action::PutBucketPolicy,
        Action::QueryVectors,
        Action::DeleteVectorBucket,
    ] {
        for (row, expected) in rows {
            assert_eq!(check_decision(action, row), expected, "{} {row:?}", action.name());
        }
    }
}

#[test]
fn users_create_and_list_buckets() {
    for action in [
        Action::CreateBucket,
        Action::ListAllMyBuckets,
        Action::CreateVectorBucket,
        Action::ListVectorBuckets,
    ] {
        let rows: [(Row, Result<(), Denial>); 3] = [
            ((Some("alice"), None, None, false), Ok(())),
            ((None, None, None, false), Err(Denial::Denied)),
            ((None, None, None, true), Err(Denial::AnonymousOverride)),
        ];
        for (row, expected) in rows {
            assert_eq!(check_decision(action, row), expected, "{} {row:?}", action.name());
        }
    }
}

#[test]
fn actions_have_the_names_of_policies() {
    assert_eq!(Action::GetObject.name(), "s3:GetObject");
    assert_eq!(Action::QueryVectors.name(), "s3vectors:QueryVectors");
}
