//! Targets as the command line names them.

use super::options::{Planned, Source};

#[test]
fn a_running_target_has_a_plain_address() {
    let planned = Planned::running("aws=http://127.0.0.1:9000/,key,secret").expect("it is fine");
    let Source::Running { name, endpoint } = planned.0 else { panic!("it runs already") };
    assert_eq!((name.as_str(), endpoint.host.as_str()), ("aws", "127.0.0.1:9000"));
    assert_eq!(endpoint.region, "us-east-1");
    for wrong in ["a", "a=http://h", "a=https://h,k,s", "a=http://h/path,k,s", "=http://h,k,s"] {
        let error = Planned::running(wrong).expect_err(wrong).to_string();
        assert!(error.contains(wrong), "{error}");
    }
}

#[test]
fn rivals_are_found_by_name_family_and_all_together() {
    let names = |name: &str| -> Vec<String> {
        let found = Planned::started(name).expect("there is one");
        found.iter().map(|planned| planned.name().to_owned()).collect()
    };
    assert_eq!(names("seaweedfs"), ["seaweedfs", "seaweedfs-fsync"]);
    assert_eq!(names("liteio"), ["liteio-fsync", "liteio-os", "liteio-memory"]);
    assert_eq!(names("minio"), ["minio"]);
    assert_eq!(names("all").len(), super::rival::RIVALS.len());
    let error = Planned::started("ceph").expect_err("it is not known").to_string();
    assert!(error.contains("minio"), "{error}");
}
