//! One text in several spellings: characters as references, elements with a namespace prefix, headers beyond ASCII.

use crate::form;
use crate::harness::{self, TestServer, base64, md5};

/// Each character beyond ASCII, and each control character, as a reference.
fn referenced(text: &str, format: fn(u32) -> String) -> String {
    let write = |character: char| match character {
        ' '..='~' => character.to_string(),
        other => format(u32::from(other)),
    };
    text.chars().map(write).collect()
}

const REFERENCES: [fn(u32) -> String; 4] = [
    |code| format!("&#{code};"),
    |code| format!("&#x{code:x};"),
    |code| format!("&#x{code:X};"),
    |code| format!("&#x0000{code:x};"),
];

/// Up to U+FFFF, the first and last beyond it, and in between.
const TEXTS: [&str; 6] =
    ["ü", "中", "\u{10000}", "smile \u{1F600}.txt", "\u{fffff}", "a\u{10ffff}b"];

async fn delete_objects(server: &TestServer, document: &str) -> u16 {
    let request = server.request("POST", "/mine?delete").body(document);
    let digest = base64(&md5(document.as_bytes()));
    request.header("content-md5", digest).send().await.status
}

#[tokio::test]
async fn a_character_may_be_a_reference_in_every_document() {
    for server in harness::both().await {
        server.bucket("mine").await;
        for (text, format) in TEXTS.iter().flat_map(|text| REFERENCES.map(|format| (text, format)))
        {
            let sent = referenced(text, format);
            let path =
                percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
            server.put(&format!("/mine/{path}"), "x").await.expect_status(200);
            let document = format!("<Delete><Object><Key>{sent}</Key></Object></Delete>");
            assert_eq!(delete_objects(&server, &document).await, 200, "{document}");
            assert!(server.get("/mine").await.elements("Key").is_empty(), "{document}");

            let tags = format!(
                "<Tagging><TagSet><Tag><Key>k</Key><Value>{sent}</Value></Tag></TagSet></Tagging>"
            );
            let put = server.put("/mine?tagging", &tags).await;
            assert!(put.status < 300 || text.contains('\u{fffff}') || text.contains('\u{10ffff}'));
            if put.status < 300 {
                assert_eq!(server.get("/mine?tagging").await.element("Value"), **text, "{sent}");
            }

            let rules = format!(
                "<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter><Prefix>{sent}</Prefix>\
                 </Filter><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>"
            );
            server.put("/mine?lifecycle", &rules).await.expect_status(200);
            assert_eq!(server.get("/mine?lifecycle").await.element("Prefix"), **text, "{sent}");

            let website = format!(
                "<WebsiteConfiguration><IndexDocument><Suffix>{sent}</Suffix></IndexDocument>\
                 </WebsiteConfiguration>"
            );
            server.put("/mine?website", &website).await.expect_status(200);
            assert_eq!(server.get("/mine?website").await.element("Suffix"), **text, "{sent}");
        }
        for wrong in ["&#55357;&#56832;", "&#x110000;", "&#;", "&#x;", "&#1F600;", "&smile;"] {
            let document = format!("<Delete><Object><Key>{wrong}</Key></Object></Delete>");
            assert_eq!(delete_objects(&server, &document).await, 400, "{document}");
        }
    }
}

/// The document with `ns2:` before the name of each element, as Java and .NET write it.
fn prefixed(document: &str) -> String {
    const NAMESPACE: &str = "xmlns:ns2=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
    let document = document.replace("</", "\u{1}").replace('<', "<ns2:").replace('\u{1}', "</ns2:");
    let (root, rest) = document.split_once('>').expect("an element");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>{root} {NAMESPACE}>{rest}"
    )
}

#[tokio::test]
async fn elements_may_have_a_namespace_prefix() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/a", "x").await.expect_status(200);
        let document = prefixed("<Delete><Object><Key>a</Key></Object></Delete>");
        assert_eq!(delete_objects(&server, &document).await, 200, "{document}");
        assert!(server.get("/mine").await.elements("Key").is_empty());

        let created = server.post("/mine/m?uploads", "").await.expect_status(200);
        let id = created.element("UploadId");
        server.put(&format!("/mine/m?partNumber=1&uploadId={id}"), "x").await.expect_status(200);
        let etag = harness::etag(b"x");
        let list = prefixed(&format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
             </CompleteMultipartUpload>"
        ));
        server.post(&format!("/mine/m?uploadId={id}"), list).await.expect_status(200);

        let rows = [
            (
                "tagging",
                "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>",
            ),
            (
                "versioning",
                "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
            ),
            (
                "cors",
                "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod>\
                 <AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>",
            ),
            (
                "ownershipControls",
                "<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule>\
                 </OwnershipControls>",
            ),
        ];
        for (subresource, document) in rows {
            let path = format!("/mine?{subresource}");
            let status = if subresource == "tagging" { 204 } else { 200 };
            server.put(&path, prefixed(document)).await.expect_status(status);
        }
        // The prefix of a type is the client's choice, too.
        let owner = server.get("/mine?acl").await.element("ID");
        let acl = format!(
            "<p:AccessControlPolicy xmlns:p=\"http://s3.amazonaws.com/doc/2006-03-01/\"><p:Owner>\
             <p:ID>{owner}</p:ID></p:Owner><p:AccessControlList><p:Grant><p:Grantee \
             xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\" i:type=\"Group\"><p:URI>\
             http://acs.amazonaws.com/groups/global/AllUsers</p:URI></p:Grantee>\
             <p:Permission>READ</p:Permission></p:Grant></p:AccessControlList></p:AccessControlPolicy>"
        );
        server.put("/mine?acl", acl).await.expect_status(200);
        assert_eq!(server.get("/mine?acl").await.elements("Permission"), ["READ"]);

        let undeclared = "<x:Delete><x:Object><x:Key>m</x:Key></x:Object></x:Delete>";
        assert_eq!(delete_objects(&server, undeclared).await, 400);
    }
}

/// System headers beyond ASCII, and words of RFC 2047.
const SYSTEM_HEADERS: [(&str, &str); 8] = [
    ("content-disposition", "attachment; filename=\"日本.txt\""),
    ("content-disposition", "attachment; filename=\"test_—_file%E2%80%94_é_2.pdf\""),
    ("content-disposition", "=?UTF-8?B?YXR0YWNobWVudDsgZmlsZW5hbWU9IuaXpSI=?="),
    ("cache-control", "ÄMÄZÕÑ S3"),
    ("content-language", "français"),
    ("content-type", "text/plain; name=\"smile 😀\""),
    ("content-encoding", "é"),
    ("expires", "môrgen"),
];

#[tokio::test]
async fn system_headers_beyond_ascii_come_back_as_they_were_sent() {
    for server in harness::both().await {
        server.bucket("mine").await;
        server.put("/mine/source", "x").await.expect_status(200);
        for (name, value) in SYSTEM_HEADERS {
            server.request("PUT", "/mine/put").header(name, value).send().await.expect_status(200);
            let copy = server.request("PUT", "/mine/replaced").headers(&[
                ("x-amz-copy-source", "/mine/source"),
                ("x-amz-metadata-directive", "REPLACE"),
                (name, value),
            ]);
            copy.send().await.expect_status(200);
            let copy =
                server.request("PUT", "/mine/copied").header("x-amz-copy-source", "/mine/put");
            copy.send().await.expect_status(200);

            let created = server.request("POST", "/mine/parts?uploads").header(name, value).send();
            let id = created.await.expect_status(200).element("UploadId");
            let path = format!("/mine/parts?partNumber=1&uploadId={id}");
            server.put(&path, "x").await.expect_status(200);
            let list = format!(
                "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>\
                 </CompleteMultipartUpload>",
                harness::etag(b"x")
            );
            let path = format!("/mine/parts?uploadId={id}");
            server.post(&path, list).await.expect_status(200);

            for key in ["put", "replaced", "copied", "parts"] {
                for method in ["GET", "HEAD"] {
                    let got = server.request(method, &format!("/mine/{key}")).send().await;
                    assert_eq!(got.header(name), Some(value), "{method} {key} {name}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_forms_headers_are_iso_8859_1_as_on_aws() {
    // Recorded on AWS: test_post_object_with_unicode_metadata of LocalStack's suite.
    let server = harness::memory().await;
    server.bucket("mine").await;
    let fields = [
        ("key", "k"),
        ("Content-Disposition", "filename='test_—_file%E2%80%94_2-.pdf'"),
        ("Cache-Control", "no-cache, 日本"),
        ("Content-Type", "text/plain"),
    ];
    form::upload(&server, &fields, b"x").await.expect_status(204);
    let got = server.head("/mine/k").await;
    let disposition = got.header("content-disposition");
    assert_eq!(disposition, Some("filename='test_ _file%E2%80%94_2-.pdf'"));
    assert_eq!(got.header("cache-control"), Some("no-cache,"));
    assert_eq!(got.header("content-type"), Some("text/plain"));
}
