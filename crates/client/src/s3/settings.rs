//! Settings of buckets as JSON, and the locks of objects.

use http::Method;
use serde_json::Value;

use super::document::escaped;
use super::exchange::S3;
use super::request::Request;
use super::tree::Shape;
use crate::error::Error;

/// The object or version that a lock is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Locked<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    pub(crate) version: Option<&'a str>,
}

/// A retention: a mode, and the time when it ends as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retention {
    /// `GOVERNANCE`, `COMPLIANCE`, or empty for none.
    pub(crate) mode: String,
    pub(crate) until: String,
}

/// The event hold of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventHold {
    /// `GOVERNANCE` or `COMPLIANCE`.
    pub(crate) mode: String,
    pub(crate) is_on: bool,
    /// `Days` or `Years` after the release; empty unless it is on.
    pub(crate) unit: &'static str,
    pub(crate) number: u64,
}

impl S3 {
    /// A setting of a bucket; `None` if the service answers with the code `missing`.
    pub(crate) async fn setting_json(
        &self,
        bucket: &str,
        name: &str,
        (shape, missing): (Shape, &str),
    ) -> Result<Option<Value>, Error> {
        match self.send(&Request::new(Method::GET, bucket, "").query(name, "")).await {
            Ok(response) => Ok(Some(shape.to_json(&response.document().await?))),
            Err(error) if error.code() == missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets a setting of a bucket to a document in XML.
    pub(crate) async fn put_setting(
        &self,
        bucket: &str,
        name: &str,
        document: String,
    ) -> Result<(), Error> {
        let request = Request::new(Method::PUT, bucket, "").query(name, "").document(document);
        self.send(&request).await.map(drop)
    }

    pub(crate) async fn delete_setting(&self, bucket: &str, name: &str) -> Result<(), Error> {
        self.send(&Request::new(Method::DELETE, bucket, "").query(name, "")).await.map(drop)
    }

    /// The retention of a version; without mode if it has none.
    pub(crate) async fn retention(&self, of: Locked<'_>) -> Result<Retention, Error> {
        let document = match self.send(&of.request(Method::GET, "retention")).await {
            Ok(response) => response.document().await?,
            Err(error) if error.code() == "NoSuchObjectLockConfiguration" => {
                return Ok(Retention::default());
            }
            Err(error) => return Err(error),
        };
        let text = |name: &str| document.text(name).unwrap_or_default().to_owned();
        Ok(Retention { mode: text("Mode"), until: text("RetainUntilDate") })
    }

    /// Sets the retention of a version; without mode it is removed.
    pub(crate) async fn set_retention(
        &self,
        of: Locked<'_>,
        retention: &Retention,
        bypass: bool,
    ) -> Result<(), Error> {
        let Retention { mode, until } = retention;
        let fields = match mode.as_str() {
            "" => String::new(),
            mode => {
                let until = escaped(until);
                format!("<Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate>")
            }
        };
        let document = format!(
            "<Retention xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{fields}</Retention>"
        );
        let mut request = of.request(Method::PUT, "retention").document(document);
        if bypass {
            request = request.header("x-amz-bypass-governance-retention", "true");
        }
        self.send(&request).await.map(drop)
    }

    /// The event hold of a version; `None` if it was never set.
    pub(crate) async fn event_hold(&self, of: Locked<'_>) -> Result<Option<EventHold>, Error> {
        let document = match self.send(&of.request(Method::GET, "retention")).await {
            Ok(response) => response.document().await?,
            Err(error) if error.code() == "NoSuchObjectLockConfiguration" => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(status) = document.text("EventHold") else { return Ok(None) };
        let mut hold = EventHold {
            mode: document.text("Mode").unwrap_or_default().to_owned(),
            is_on: status == "ON",
            ..EventHold::default()
        };
        let duration = document.children().iter().find(|child| child.name == "EventHoldDuration");
        for unit in ["Days", "Years"] {
            let number = duration.and_then(|duration| duration.text(unit)?.parse().ok());
            if let Some(number) = number {
                (hold.unit, hold.number) = (unit, number);
            }
        }
        Ok(Some(hold))
    }

    /// Sets or releases the event hold of a version.
    pub(crate) async fn set_event_hold(
        &self,
        of: Locked<'_>,
        hold: &EventHold,
    ) -> Result<(), Error> {
        let EventHold { mode, is_on, unit, number } = hold;
        let status = match is_on {
            true => format!(
                "<EventHold>ON</EventHold><EventHoldDuration><{unit}>{number}</{unit}></EventHoldDuration>"
            ),
            false => "<EventHold>OFF</EventHold>".to_owned(),
        };
        let document = format!(
            "<Retention xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Mode>{}</Mode>{status}</Retention>",
            escaped(mode)
        );
        let request = of.request(Method::PUT, "retention").document(document);
        self.send(&request).await.map(drop)
    }

    /// `ON`, `OFF`, or empty if it was never set.
    pub(crate) async fn legal_hold(&self, of: Locked<'_>) -> Result<String, Error> {
        match self.send(&of.request(Method::GET, "legal-hold")).await {
            Ok(response) => {
                Ok(response.document().await?.text("Status").unwrap_or_default().to_owned())
            }
            Err(error) if error.code() == "NoSuchObjectLockConfiguration" => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn set_legal_hold(&self, of: Locked<'_>, status: &str) -> Result<(), Error> {
        let document = format!(
            "<LegalHold xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Status>{status}</Status>\
             </LegalHold>"
        );
        let request = of.request(Method::PUT, "legal-hold").document(document);
        self.send(&request).await.map(drop)
    }
}

impl Locked<'_> {
    fn request(self, method: Method, name: &str) -> Request {
        Request::new(method, self.bucket, self.key)
            .query(name, "")
            .query_if("versionId", self.version)
    }
}
