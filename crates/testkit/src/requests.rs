//! Finished requests, without their secrets.

use std::collections::BTreeMap;

use http::header::USER_AGENT;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::glob::Glob;
use super::history::{Happened, History};
use super::operation::bucket_and_key;
use liteio_observe::trace::{HIDDEN, headers_without_secrets, query_without_secrets};
use liteio_wire::front::{Finished, Observer};

/// The latest service requests.
pub(super) type Requests = History<Request>;

/// A finished request.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Request {
    pub(super) id: String,
    pub(super) time: String,
    pub(super) space: String,
    pub(super) method: String,
    pub(super) operation: Option<&'static str>,
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) query: String,
    pub(super) status: u16,
    pub(super) code: Option<String>,
    pub(super) user: Option<String>,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) duration_ms: f64,
    pub(super) user_agent: Option<String>,
    pub(super) headers: Map<String, Value>,
}

impl Happened for Request {
    fn space(&self) -> &str {
        &self.space
    }

    fn bytes(&self) -> usize {
        let header = |(name, value): (&String, &Value)| {
            name.len() + value.as_str().unwrap_or_default().len() + 128
        };
        self.key.len() + self.query.len() + self.headers.iter().map(header).sum::<usize>() + 512
    }
}

impl Observer for Requests {
    fn wants_heads(&self) -> bool {
        true
    }

    fn finished(&self, finished: &Finished<'_>) {
        let origin = finished.origin;
        // Other requests were not for a service.
        let (Some(locale), Some(heads)) = (origin.found.locale(), finished.heads) else { return };
        let mut headers = BTreeMap::<String, String>::new();
        for (name, value) in headers_without_secrets(&heads.request) {
            if value == HIDDEN {
                continue;
            }
            match headers.get_mut(&name) {
                Some(before) => *before = format!("{before}, {value}"),
                None => drop(headers.insert(name, value)),
            }
        }
        let user_agent = heads.request.get(USER_AGENT).and_then(|it| it.to_str().ok());
        let begun = Timestamp::try_from(finished.begun()).unwrap_or_default();
        let (bucket, key) = bucket_and_key(origin);
        let request = Request {
            id: origin.ids.request_id().to_string(),
            time: format!("{begun:.3}"),
            space: locale.space.clone(),
            method: finished.method.to_string(),
            operation: origin.found.operation(),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            query: query_without_secrets(&heads.uri),
            status: finished.status,
            code: finished.code.map(str::to_owned),
            user: origin.found.user().map(str::to_owned),
            bytes_in: finished.bytes_in,
            bytes_out: finished.bytes_out,
            duration_ms: finished.duration.as_micros() as f64 / 1000.0,
            user_agent: user_agent.map(str::to_owned),
            headers: headers.into_iter().map(|(name, value)| (name, value.into())).collect(),
        };
        self.add(request, &locale.is_closed);
    }
}

/// A filter of requests: all given patterns must match.
#[derive(Debug, Default)]
pub(super) struct RequestFilter {
    pub(super) operation: Option<Glob>,
    pub(super) bucket: Option<Glob>,
    pub(super) key: Option<Glob>,
    pub(super) method: Option<Glob>,
    pub(super) status: Option<Glob>,
    pub(super) user: Option<Glob>,
    pub(super) space: String,
}

impl RequestFilter {
    pub(super) fn accepts(&self, request: &Request) -> bool {
        let fits = |glob: &Option<Glob>, text: Option<&str>| match glob {
            Some(glob) => text.is_some_and(|text| glob.matches(text)),
            None => true,
        };
        request.space == self.space
            && fits(&self.operation, request.operation)
            && fits(&self.bucket, Some(&request.bucket))
            && fits(&self.key, Some(&request.key))
            && fits(&self.method, Some(&request.method))
            && fits(&self.status, Some(&request.status.to_string()))
            && fits(&self.user, request.user.as_deref())
    }
}
