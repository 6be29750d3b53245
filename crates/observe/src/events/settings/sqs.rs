//! Settings of queues of SQS.

use std::fmt;

use http::Uri;
use liteio_client::ServiceKeys;

use super::{check_name, check_secrets, checked};
use liteio_identity::tables::Fields;
use liteio_wire::settings::{ConfigError, error};

/// The region of a signature if neither the settings nor the URL name one.
const REGION: &str = "us-east-1";
/// The domains of AWS itself, which takes signed requests only.
const AWS: [&str; 2] = [".amazonaws.com", ".amazonaws.com.cn"];

/// A queue of SQS, or of a service that speaks its protocol (ElasticMQ, LocalStack, moto, GoAWS).
#[derive(Clone, PartialEq, Eq)]
pub struct SqsQueue {
    /// The name that notifications refer to.
    pub name: String,
    /// The URL of the queue, `http` or `https`.
    pub url: String,
    /// The region that requests are signed for; that of the URL if there is none here.
    pub region: Option<String>,
    /// The access key that signs requests, with a secret key.
    pub access_key: Option<String>,
    /// The secret key.
    pub secret_key: Option<String>,
    /// The session token of temporary keys.
    pub session_token: Option<String>,
    /// The names of the users whose buckets may refer to it; empty for all users.
    pub users: Vec<String>,
}

// Written by hand, so that no secret is logged.
impl fmt::Debug for SqsQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqsQueue").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SqsQueue {
    /// Creates a queue without keys, whose URL may have the prefix `sqs+`.
    ///
    /// # Errors
    /// [`ConfigError`] if the name or the URL is invalid.
    pub fn new(name: impl Into<String>, url: &str) -> Result<SqsQueue, ConfigError> {
        let queue = SqsQueue::of(name.into(), url);
        queue.check()?;
        Ok(queue)
    }

    fn of(name: String, url: &str) -> SqsQueue {
        let url = url.strip_prefix("sqs+").unwrap_or(url).to_owned();
        SqsQueue {
            name,
            url,
            region: None,
            access_key: None,
            secret_key: None,
            session_token: None,
            users: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let SqsQueue { name, url, region, access_key, secret_key, session_token, users: _ } = self;
        check_name("queue", name)?;
        let advice = |what: &str| error(format!("the URL of the queue {name:?} {what}"));
        let form = "is not valid: give sqs+http://HOST/ACCOUNT/QUEUE or \
                    sqs+https://HOST/ACCOUNT/QUEUE, as GetQueueUrl names it, without a user, a query \
                    or a fragment";
        let Ok(parsed) = url.parse::<Uri>() else { return advice(form) };
        let has_scheme = matches!(parsed.scheme_str(), Some("http" | "https"));
        let has_host = parsed.authority().is_some_and(|it| !it.as_str().contains('@'));
        // Signatures of others would need another encoding of the path.
        let is_of_path = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/')
        };
        let has_queue = parsed.path().len() > 1 && parsed.path().bytes().all(is_of_path);
        if !has_scheme || !has_host || !has_queue || parsed.query().is_some() || url.contains('#') {
            return advice(form);
        }
        if parsed.path().ends_with(".fifo") {
            return advice(
                "is of a FIFO queue, which S3 does not send to: give the URL of a standard queue",
            );
        }
        let of = format!("the queue {name:?}");
        let secrets = [
            ("access_key", access_key),
            ("secret_key", secret_key),
            ("session_token", session_token),
        ];
        check_secrets(&of, &secrets)?;
        check_secrets(&of, &[("region", region)])?;
        if access_key.is_some() != secret_key.is_some()
            || (session_token.is_some() && access_key.is_none())
        {
            return error(format!("{of} needs both access_key and secret_key, or neither"));
        }
        let host = parsed.host().unwrap_or_default();
        if access_key.is_none() && AWS.iter().any(|domain| host.ends_with(domain)) {
            return error(format!(
                "{of} is at AWS, which takes signed requests only: give it as [[sqs]] with access_key \
                 and secret_key in the file of --event-target-file"
            ));
        }
        Ok(())
    }

    /// The keys that sign requests, if they are signed.
    pub(crate) fn keys(&self) -> Option<ServiceKeys> {
        Some(ServiceKeys {
            access_key: self.access_key.clone()?,
            secret_key: self.secret_key.clone()?,
            session_token: self.session_token.clone(),
        })
    }

    /// The region that requests are signed for: that of the settings, or of a host such as
    /// `sqs.eu-west-1.amazonaws.com` or `eu-west-1.queue.amazonaws.com`.
    pub(crate) fn signing_region(&self) -> String {
        if let Some(region) = &self.region {
            return region.clone();
        }
        let uri = self.url.parse::<Uri>().unwrap_or_default();
        let labels: Vec<&str> = uri.host().unwrap_or_default().split('.').collect();
        let is_region = |label: &&str| {
            label.contains('-') && label.ends_with(|last: char| last.is_ascii_digit())
        };
        let found = match labels.as_slice() {
            ["sqs" | "sqs-fips", region, ..] | [region, "queue", ..] => Some(*region),
            _ => None,
        };
        found.filter(is_region).unwrap_or(REGION).to_owned()
    }
}

pub(super) const KNOWN: [&str; 7] =
    ["name", "url", "region", "access_key", "secret_key", "session_token", "users"];

/// The queue of a table.
pub(super) fn of_table(fields: &Fields<'_>) -> Result<SqsQueue, String> {
    let queue = SqsQueue {
        region: fields.text("region")?,
        access_key: fields.text("access_key")?,
        secret_key: fields.text("secret_key")?,
        session_token: fields.text("session_token")?,
        users: fields.texts("users")?.unwrap_or_default(),
        ..SqsQueue::of(fields.required("name")?, &fields.required("url")?)
    };
    checked(fields, queue, SqsQueue::check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::settings::of_toml;

    #[test]
    fn the_region_is_that_of_the_settings_or_of_the_url() {
        let of = |url: &str| SqsQueue::of("a".to_owned(), url);
        for (url, region) in [
            ("https://sqs.eu-west-1.amazonaws.com/123456789012/a", "eu-west-1"),
            ("https://eu-central-1.queue.amazonaws.com/123456789012/a", "eu-central-1"),
            (
                "sqs+http://sqs.eu-west-2.localhost.localstack.cloud:4566/000000000000/a",
                "eu-west-2",
            ),
            ("sqs+http://localhost:9324/000000000000/a", "us-east-1"),
            ("http://sqs.example.com/a", "us-east-1"),
        ] {
            assert_eq!(of(url).signing_region(), region, "{url}");
            let given = SqsQueue { region: Some("here".to_owned()), ..of(url) };
            assert_eq!(given.signing_region(), "here");
        }
    }

    #[test]
    fn a_queue_that_cannot_be_sent_to_is_refused_without_its_secrets() {
        let table = |fields: &str| of_toml(&format!("[[sqs]]\nname = 'a'\n{fields}")).map(drop);
        let at_aws = "url = 'https://sqs.eu-west-1.amazonaws.com/123456789012/a'\n";
        let with_keys = format!("{at_aws}access_key = 'AK'\nsecret_key = 'hush'\n");
        assert_eq!(table(&with_keys), Ok(()));
        assert_eq!(table("url = 'http://localhost/0/a'"), Ok(()));
        for (fields, expected) in [
            (at_aws.to_owned(), "access_key and secret_key in the file"),
            (format!("{at_aws}access_key = 'AK'\n"), "needs both"),
            (format!("{at_aws}session_token = 'hush'\n"), "needs both"),
            (with_keys.replace("/a'", "/a.fifo'"), "FIFO"),
            (with_keys.replace("/a'", "/a?hush=1'"), "without a user"),
            ("url = 'http://u:hush@localhost/0/a'".to_owned(), "without a user"),
            ("url = 'http://localhost'".to_owned(), "sqs+http://HOST/ACCOUNT/QUEUE"),
            ("url = 'redis://localhost/a'".to_owned(), "sqs+http://HOST/ACCOUNT/QUEUE"),
            ("url = 'http://localhost/0/a'\nsecret = 'hush'".to_owned(), "unknown key"),
        ] {
            let error = table(&fields).expect_err(expected);
            assert!(error.contains(expected), "{error:?} lacks {expected:?}");
            assert!(!error.contains("hush") && !error.contains('\n'), "{error}");
        }
    }
}
