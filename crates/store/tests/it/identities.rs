//! Entries about users, through restarts and damage.

use liteio_store::{Identities, IdentityEntry, Store, StoreConfig};

fn entry(key: &str, value: Option<&str>) -> IdentityEntry {
    let value = value.map(|value| value.as_bytes().to_vec());
    IdentityEntry { key: key.as_bytes().to_vec(), value }
}

#[test]
fn entries_come_back_after_a_restart_and_change_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Store::open(StoreConfig::directory(folder.path())).expect("opens");
    let (alice, bob) = (entry("u/alice", Some("1")), entry("u/bob", Some("2")));
    let store = open();
    store.change_identities(vec![bob.clone(), alice.clone()], None).wait().expect("written");
    store.close();
    let store = open();
    let Identities { entries, damaged, .. } = store.identities().expect("read");
    assert_eq!((entries, damaged.len()), (vec![alice.clone(), bob.clone()], 0));
    let too_long = entry(&"k".repeat(513), Some(""));
    let changes = vec![entry("u/alice", None), too_long];
    assert!(store.change_identities(changes, None).wait().is_err());
    assert_eq!(store.identities().expect("read").entries.len(), 2, "nothing was changed");
    store.change_identities(vec![entry("u/alice", None)], None).wait().expect("written");
    let report = store.verify(&mut |_| {}).expect("read");
    assert!(report.damaged.is_empty());
    store.close();
    assert_eq!(open().identities().expect("read").entries, [bob]);
}
