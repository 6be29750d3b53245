//! The contract of targets as a suite: every implementation passes it.

use std::ops::ControlFlow;

use bytes::Bytes;

use super::{Listed, PutMode, Target, TargetError};

/// Runs the suite on an empty target, and leaves it empty.
///
/// # Panics
/// The target breaks the contract.
pub fn target_contract(target: &dyn Target) {
    assert_eq!(names(target, "", None), [""; 0], "the suite needs an empty target");
    objects_are_stored_whole(target);
    listings_are_in_the_order_of_names(target);
    a_listing_may_be_ended_and_may_change_the_target(target);
    one_of_many_writers_wins(target);
    objects_are_swapped_by_one(target);
    no_name_leaves_the_target(target);
    assert!(!target.shown().is_empty());
    assert_eq!(names(target, "", None), [""; 0], "the suite has removed its objects");
}

/// Names of the objects of a listing.
///
/// # Panics
/// The target fails.
pub fn names(target: &dyn Target, prefix: &str, after: Option<&str>) -> Vec<String> {
    listed(target, prefix, after).into_iter().map(|it| it.name).collect()
}

fn listed(target: &dyn Target, prefix: &str, after: Option<&str>) -> Vec<Listed> {
    let mut all = Vec::new();
    let result = target.list(prefix, after, &mut |it| {
        all.push(it);
        ControlFlow::Continue(())
    });
    result.expect("the target lists");
    all
}

fn put(target: &dyn Target, name: &str, bytes: &Bytes) {
    target.put(name, bytes.clone(), PutMode::New).expect("the target stores");
}

fn delete_all(target: &dyn Target) {
    for name in names(target, "", None) {
        target.delete(&name).expect("the target deletes");
    }
}

fn objects_are_swapped_by_one(target: &dyn Target) {
    let [one, two, three] = ["one", "two", "three"].map(|it| Bytes::from_static(it.as_bytes()));
    let missing = target.swap("lease", Some(&one), two.clone());
    assert_eq!(missing, Err(TargetError::not_found("lease")));
    target.swap("lease", None, one.clone()).expect("there is none");
    target.swap("lease", None, one.clone()).expect("as after a lost answer");
    let exists = Err(TargetError::exists("lease"));
    assert_eq!(target.swap("lease", None, two.clone()), exists);
    target.swap("lease", Some(&one), two.clone()).expect("unchanged");
    target.swap("lease", Some(&one), two.clone()).expect("as after a lost answer");
    assert_eq!(target.swap("lease", Some(&one), three), exists);
    assert_eq!(target.get("lease"), Ok(two.clone()));
    let winners: usize = std::thread::scope(|scope| {
        let swap = |number: usize| {
            let (old, new) = (&two, Bytes::from(format!("of thread {number}")));
            move || usize::from(target.swap("lease", Some(old), new).is_ok())
        };
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(swap(number))).collect();
        threads.into_iter().map(|it| it.join().expect("no panic")).sum()
    });
    assert_eq!(winners, 1);
    delete_all(target);
}

fn objects_are_stored_whole(target: &dyn Target) {
    let (one, two) = (Bytes::from_static(b"one"), Bytes::from_static(b"two and more"));
    let missing = Err(TargetError::not_found("dir/a"));
    assert_eq!(target.get("dir/a"), missing);
    target.delete("dir/a").expect("a missing object is no error");
    put(target, "dir/a", &one);
    assert_eq!(target.get("dir/a"), Ok(one.clone()));

    let second = target.put("dir/a", two.clone(), PutMode::New);
    assert_eq!(second, Err(TargetError::exists("dir/a")));
    // The same bytes are another object, too.
    let second = target.put("dir/a", one.clone(), PutMode::New);
    assert_eq!(second, Err(TargetError::exists("dir/a")));
    assert_eq!(target.get("dir/a"), Ok(one.clone()), "what was there stays");

    for bytes in [&two, &one] {
        target.put("dir/a", bytes.clone(), PutMode::Replace).expect("replaced");
        assert_eq!(target.get("dir/a").as_ref(), Ok(bytes));
    }
    target.put("dir/b", two.clone(), PutMode::Replace).expect("there need not be one");
    for name in ["dir", "dir/a/b", "di"] {
        assert_eq!(target.get(name), Err(TargetError::not_found(name)), "{name} is no object");
    }
    target.delete("dir").expect("it is no object");

    let large: Bytes = (0..5_000_011_u32).map(|it| (it % 251) as u8).collect();
    for (name, bytes) in [("empty", Bytes::new()), ("large", large)] {
        put(target, name, &bytes);
        assert_eq!(target.get(name), Ok(bytes), "{name}");
    }
    let sizes: Vec<u64> = listed(target, "", None).iter().map(|it| it.bytes).collect();
    assert_eq!(sizes, [3, 12, 0, 5_000_011]);

    target.delete("dir/a").expect("deleted");
    assert_eq!(target.get("dir/a"), missing);
    put(target, "dir/a", &two);
    delete_all(target);
}

fn listings_are_in_the_order_of_names(target: &dyn Target) {
    // A dash and a point come before a slash, digits and letters behind it.
    let ordered = ["A", "a-", "a--/x", "a.b", "a/b", "a/b0", "a/c/d", "a/c0", "a0", "b", "b_"];
    for name in ordered.iter().rev() {
        put(target, name, &Bytes::from_static(b"x"));
    }
    let rows: [(&str, Option<&str>, &[&str]); 14] = [
        ("", None, &ordered),
        ("", Some(""), &ordered),
        ("a/", None, &ordered[4..8]),
        ("a/b", None, &ordered[4..6]),
        ("a/c", None, &ordered[6..8]),
        ("a", Some("a."), &ordered[3..9]),
        ("", Some("a/b"), &ordered[5..]),
        ("", Some("a/b/"), &ordered[5..]),
        ("", Some("a/c"), &ordered[6..]),
        ("a/", Some("a/c/d"), &ordered[7..8]),
        ("a/", Some("A"), &ordered[4..8]),
        ("a/", Some("b"), &[]),
        ("c", None, &[]),
        ("", Some("b_"), &[]),
    ];
    for (prefix, after, expected) in rows {
        assert_eq!(names(target, prefix, after), expected, "{prefix:?} after {after:?}");
    }
    delete_all(target);
}

fn a_listing_may_be_ended_and_may_change_the_target(target: &dyn Target) {
    for name in ["k", "l", "m"] {
        put(target, name, &Bytes::new());
    }
    let mut seen = Vec::new();
    let ended = target.list("", None, &mut |it| {
        seen.push(it.name.clone());
        target.delete(&it.name).expect("deleted");
        if it.name == "l" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    ended.expect("to end it is no failure");
    assert_eq!(seen, ["k", "l"]);
    assert_eq!(names(target, "", None), ["m"]);
    delete_all(target);
}

fn one_of_many_writers_wins(target: &dyn Target) {
    let results: Vec<(Bytes, Result<(), TargetError>)> = std::thread::scope(|scope| {
        let write = |writer: u8| {
            let bytes = Bytes::from(vec![writer; 100_000]);
            (bytes.clone(), target.put("dir/race", bytes, PutMode::New))
        };
        let writers: Vec<_> = (0..4).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().map(|it| it.join().expect("no panic")).collect()
    });
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, it)| it.is_ok());
    assert_eq!(won.len(), 1, "one writer wins: {won:?}");
    for (_, result) in lost {
        assert_eq!(result, Err(TargetError::exists("dir/race")));
    }
    assert_eq!(target.get("dir/race").as_ref(), Ok(&won[0].0));
    delete_all(target);
}

fn no_name_leaves_the_target(target: &dyn Target) {
    let refused = |result: Result<(), TargetError>| matches!(result, Err(TargetError::Refused(_)));
    for name in ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a b", "tmp/a", "a?b"] {
        for mode in [PutMode::New, PutMode::Replace] {
            assert!(refused(target.put(name, Bytes::new(), mode)), "{name:?}");
        }
        assert!(refused(target.get(name).map(drop)), "{name:?}");
        assert!(refused(target.delete(name)), "{name:?}");
    }
}
