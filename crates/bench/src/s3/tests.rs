//! What the parts of the client do, without a target.

use std::time::{Duration, SystemTime};

use super::options::Planned;
use super::sign::{EMPTY_SHA256, Signer, ToSign};

/// The GET with a range of Amazon's documentation of Signature Version 4, but for the header `range`,
/// which is not signed here.
#[test]
fn a_signature_covers_host_and_amz_headers_in_order() {
    let mut signer = Signer::new("AKIDEXAMPLE", "secret", "us-east-1", "example.com:80");
    let headers = [("x-amz-acl".to_owned(), "private".to_owned())];
    let request = ToSign { method: "PUT", path: "/b/k", query: "", headers: &headers };
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
    let signed = signer.sign_at(request, EMPTY_SHA256, time);
    assert_eq!(signed.date, "20150830T123600Z");
    assert!(
        signed.authorization.starts_with(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request, \
             SignedHeaders=host;x-amz-acl;x-amz-content-sha256;x-amz-date, Signature="
        ),
        "{}",
        signed.authorization
    );
}

#[test]
fn a_running_target_has_a_plain_address() {
    let planned = Planned::running("aws=http://127.0.0.1:9000/,key,secret").expect("it is fine");
    let Planned::Running { name, endpoint } = planned else { panic!("it runs already") };
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
