//! Tests of the settings of event targets.

use super::*;

#[test]
fn a_file_gives_secrets_and_no_error_shows_one() {
    let file = "[[webhook]]\nname = 'a'\nurl = 'http://localhost/'\nsecret = 'whsec_aHVzaA=='\n\
                token = 'hush'\n";
    let targets = of_toml(file).expect("valid");
    let [Destination::Webhook(webhook)] = &*targets else { panic!("a webhook: {targets:?}") };
    assert_eq!(webhook.signing_key(), Ok(Some(b"hush".to_vec())));
    assert!(!format!("{targets:?}").contains("hush"));
    for (text, expected) in [
        ("", "there is no target: give a table [[webhook]] or [[sqs]] or [[redis]]"),
        ("[[hook]]", "unknown key \"hook\""),
        ("[[webhook]]\nname = 'a'", "url is missing"),
        ("[[webhook]]\nname = 'a\nsecret='hush'", "line 2: not valid TOML"),
        ("[[webhook]]\nname='a'\nurl='http://a'\nsecret=1", "secret must be a string"),
        ("[[webhook]]\nname='a'\nurl='http://a'\nsecret='whsec_hush!'", "base64 must follow"),
        ("[[webhook]]\nname='a'\nurl='http://a'\nusers=[]", "users must be a list"),
        ("[[webhook]]\nname='a'\nurl='http://a'\ncolour=1", "unknown key \"colour\""),
        ("[[webhook]]\nname='a'\nurl='http://a'\ntoken=''", "webhook 1: token is empty"),
    ] {
        let error = of_toml(text).expect_err(expected);
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn a_scheme_tells_the_kind_of_a_target() {
    for (text, kind, origin) in [
        ("a=http://localhost:8080/hook?key=hush", "webhook", "http://localhost:8080"),
        ("a=sqs+http://localhost:9324/000000000000/a", "sqs", "http://localhost:9324"),
        ("a=rediss://:hush@localhost?key=b", "redis", "rediss://localhost:6379"),
    ] {
        let target = Destination::parse(text).expect(text);
        assert_eq!((target.name(), target.kind(), &*target.origin()), ("a", kind, origin));
        assert!(!format!("{target:?}").contains("hush"), "{target:?}");
    }
    for text in ["hush", "a=ftp://hush/", "a=kafka://hush:9092", "a=", "=sqs+http://hush/a"] {
        let error = Destination::parse(text).expect_err(text).to_string();
        assert!(!error.contains('\n') && !error.contains("hush"), "{error}");
    }
}

#[test]
fn targets_of_all_kinds_share_their_names() {
    let webhook = Destination::parse("a=http://localhost/").expect("valid");
    let queue = Destination::parse("a=sqs+http://localhost/0/a").expect("valid");
    let settings = EventSettings { targets: vec![webhook, queue], ..EventSettings::default() };
    let error = settings.all_targets().expect_err("two of a name");
    assert!(error.starts_with("two targets of events are named \"a\": rename one"), "{error}");
}
