//! `admin prometheus generate`: a configuration for a scraper, with a token that the secret key of the
//! alias signs. Nothing is sent.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::service;
use crate::cli::PrometheusVerb;
use crate::error::Error;
use crate::scraper;
use crate::session::Session;
use crate::verbs::note::tell;

/// Validity of a token, as in `mc`: 100 years.
const TOKEN_SECONDS: u64 = 100 * 365 * 86_400;

pub(super) fn run(session: &Arc<Session>, verb: PrometheusVerb) -> Result<(), Error> {
    let PrometheusVerb::Generate { target, kind, public, api_version } = verb;
    if api_version != "v2" {
        return Err(Error::refused("only --api-version v2 is supported"));
    }
    let job = match kind.as_str() {
        "cluster" => "minio-job".to_owned(),
        "node" | "bucket" | "resource" => format!("minio-job-{kind}"),
        _ => {
            return Err(Error::refused(format!(
                "'{kind}' is no kind of metrics; write cluster, node, bucket or resource"
            )));
        }
    };
    let s3 = service(session, &target)?;
    let (scheme, host) = (s3.endpoint().scheme(), s3.endpoint().authority());
    let path = format!("/minio/v2/metrics/{kind}");
    let mut lines = vec!["scrape_configs:".to_owned(), format!("- job_name: {job}")];
    let mut json = json!({
        "jobName": job, "metricsPath": path, "scheme": scheme,
        "staticConfigs": [{ "targets": [host] }],
    });
    if !public {
        let (access_key, secret_key) = s3.keys()?;
        let now = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
        let token = scraper::token(access_key, secret_key, now + TOKEN_SECONDS);
        lines.push(format!("  bearer_token: {token}"));
        json["bearerToken"] = token.into();
    }
    lines.push(format!("  metrics_path: {path}"));
    lines.push(format!("  scheme: {scheme}"));
    lines.push("  static_configs:".to_owned());
    lines.push(format!("  - targets: ['{host}']"));
    tell(session, lines.join("\n"), json)
}
