//! `cors`: the CORS rules of a bucket.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::note::tell;
use super::text_input;
use crate::cli::CorsVerb;
use crate::error::Error;
use crate::s3::Shape;
use crate::session::Session;
use crate::target::Target;

const CORS: Shape = Shape {
    root: "CORSConfiguration",
    lists: &[
        ("CORSRule", "CORSRules"),
        ("AllowedHeader", "AllowedHeader"),
        ("AllowedMethod", "AllowedMethod"),
        ("AllowedOrigin", "AllowedOrigin"),
        ("ExposeHeader", "ExposeHeader"),
    ],
    numbers: &["MaxAgeSeconds"],
    flags: &[],
    parents: &["CORSRule"],
};

/// The code for a bucket without rules.
const NONE: &str = "NoSuchCORSConfiguration";

pub(super) async fn run(session: &Arc<Session>, verb: CorsVerb) -> Result<(), Error> {
    match verb {
        CorsVerb::Set { target, file } => {
            let remote = Target::bucket(session, &target)?;
            let file = (file != Path::new("-")).then_some(file);
            let document = text_input::read(file.as_deref()).await?;
            remote.s3.put_setting(&remote.bucket, "cors", document).await?;
            tell(session, "Set bucket CORS config successfully.", json!({}))
        }
        CorsVerb::Remove { target } => {
            let remote = Target::bucket(session, &target)?;
            remote.s3.delete_setting(&remote.bucket, "cors").await?;
            tell(session, "Removed bucket CORS config successfully.", json!({}))
        }
        CorsVerb::Get { target } => {
            let remote = Target::bucket(session, &target)?;
            match remote.s3.setting_json(&remote.bucket, "cors", (CORS, NONE)).await? {
                None => {
                    let json = json!({ "status": "not found" });
                    tell(session, "No bucket CORS configuration found.", json)
                }
                Some(rules) => {
                    let text = remote.s3.raw_setting(&remote.bucket, "cors").await?;
                    let text = String::from_utf8_lossy(&text).trim().to_owned();
                    tell(session, text, json!({ "cors": rules }))
                }
            }
        }
    }
}
