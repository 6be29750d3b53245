//! Lists in pages.

use super::iam;
use crate::harness::memory;

#[tokio::test]
async fn lists_come_in_pages() {
    let server = memory().await;
    for name in ["dave", "Carol", "erin", "bert"] {
        iam(&server, &format!("Action=CreateUser&UserName={name}")).await.expect_status(200);
    }
    let (mut names, mut marker) = (Vec::new(), String::new());
    loop {
        let page = iam(&server, &format!("Action=ListUsers&MaxItems=1&Marker={marker}")).await;
        names.extend(page.elements("UserName"));
        marker = page.element("Marker");
        assert_eq!(page.element("IsTruncated") == "true", !marker.is_empty());
        if marker.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["bert", "Carol", "dave", "erin"]);
}

/// Ids of keys are random: some user has a first key with a later id than its second.
#[tokio::test]
async fn every_key_is_on_some_page() {
    let server = memory().await;
    for number in 0..8 {
        let user = format!("user-{number}");
        iam(&server, &format!("Action=CreateUser&UserName={user}")).await.expect_status(200);
        for _ in 0..2 {
            let made = iam(&server, &format!("Action=CreateAccessKey&UserName={user}")).await;
            made.expect_status(200);
        }
        let list = format!("Action=ListAccessKeys&UserName={user}");
        let all = iam(&server, &list).await.expect_status(200).elements("AccessKeyId");
        let first = iam(&server, &format!("{list}&MaxItems=1")).await.expect_status(200);
        let marker = first.element("Marker");
        let second = iam(&server, &format!("{list}&MaxItems=1&Marker={marker}")).await;
        let paged = [first.elements("AccessKeyId"), second.elements("AccessKeyId")].concat();
        assert_eq!(paged, all);
        assert_eq!(paged.len(), 2);
    }
}
