//! GetBucketVersioning and PutBucketVersioning.

use liteio_store::Versioning;
use s3s::dto::{
    BucketVersioningStatus, GetBucketVersioningInput, GetBucketVersioningOutput, MFADelete,
    PutBucketVersioningInput, PutBucketVersioningOutput,
};
use s3s::xml::{DeError, Deserializer};
use s3s::{S3Response, S3Result, s3_error};

use super::{Req, Resp, error};
use liteio_access::Granted;
use liteio_access::state::App;

/// The operation whose document may have MinIO's exclusions.
pub(super) const OPERATION: &str = "PutBucketVersioning";

/// Refuses MinIO's `ExcludedPrefixes` and `ExcludeFolders`: here, a bucket has versions of all its
/// keys, or of none. Ignoring them would keep what the sender wants gone. `false` excludes nothing.
///
/// # Errors
/// `NotImplemented`, with the name; `MalformedXML`.
pub(super) fn refuse_exclusions(document: &[u8]) -> S3Result<()> {
    if !document.windows(7).any(|window| window == b"Exclude") {
        return Ok(());
    }
    let mut refused = None;
    let mut parser = Deserializer::new(document);
    let parsed = parser.named_element("VersioningConfiguration", |parser| {
        parser.for_each_element(|parser, name| match name {
            b"ExcludedPrefixes" => {
                refused = Some("ExcludedPrefixes");
                Err(DeError::UnexpectedTagName)
            }
            b"ExcludeFolders" => {
                if parser.content::<String>()?.trim() != "false" {
                    refused = Some("ExcludeFolders");
                }
                Ok(())
            }
            b"Status" | b"MfaDelete" => parser.content::<String>().map(drop),
            _ => Err(DeError::UnexpectedTagName),
        })
    });
    match refused {
        Some(name) => Err(s3_error!(
            NotImplemented,
            "{name} of MinIO's versioning is not implemented by LiteIO: a bucket has versions of all keys, or of none. \
             Use two buckets, or a lifecycle rule that expires noncurrent versions below the prefix."
        )),
        None => parsed.map_err(|_| error::malformed_xml()),
    }
}

pub(super) async fn get_bucket_versioning(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketVersioningInput>,
) -> Resp<GetBucketVersioningOutput> {
    let status = match granted.bucket().versioning {
        Versioning::Never => None,
        Versioning::Enabled => Some(BucketVersioningStatus::ENABLED),
        Versioning::Suspended => Some(BucketVersioningStatus::SUSPENDED),
    };
    let status = status.map(BucketVersioningStatus::from_static);
    Ok(S3Response::new(GetBucketVersioningOutput { status, mfa_delete: None }))
}

pub(super) async fn put_bucket_versioning(
    app: &App,
    granted: Granted,
    request: Req<PutBucketVersioningInput>,
) -> Resp<PutBucketVersioningOutput> {
    let sent = request.input.versioning_configuration;
    match sent.mfa_delete.as_ref().map(MFADelete::as_str) {
        None | Some(MFADelete::DISABLED) => {}
        Some(MFADelete::ENABLED) => {
            return Err(s3_error!(
                NotImplemented,
                "MFA delete is not implemented by LiteIO: there are no MFA devices. Use object lock."
            ));
        }
        Some(_) => return Err(error::malformed_xml()),
    }
    let versioning = match sent.status.as_ref().map(BucketVersioningStatus::as_str) {
        Some(BucketVersioningStatus::ENABLED) => Versioning::Enabled,
        Some(BucketVersioningStatus::SUSPENDED) => Versioning::Suspended,
        None => {
            return Err(s3_error!(
                IllegalVersioningConfigurationException,
                "The Versioning element must be specified"
            ));
        }
        Some(_) => return Err(error::malformed_xml()),
    };
    let set = app.store.set_versioning(granted.bucket(), versioning).await;
    set.map_err(error::from_store)?;
    Ok(S3Response::new(PutBucketVersioningOutput::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusions_are_refused_by_name_unless_they_exclude_nothing() {
        let prefixes = "<ExcludedPrefixes><Prefix>a/</Prefix></ExcludedPrefixes>";
        for (inner, code) in [
            ("", None),
            ("<MfaDelete>Disabled</MfaDelete>", None),
            ("<ExcludeFolders>false</ExcludeFolders>", None),
            ("<ExcludeFolders>true</ExcludeFolders>", Some("NotImplemented")),
            ("<ExcludeFolders/>", Some("NotImplemented")),
            ("<ExcludeFolders>0</ExcludeFolders>", Some("NotImplemented")),
            (prefixes, Some("NotImplemented")),
            ("<ExcludedPrefixes/>", Some("NotImplemented")),
        ] {
            let document = format!(
                "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Status>Enabled</Status>\
                 {inner}</VersioningConfiguration>"
            );
            let refused = refuse_exclusions(document.as_bytes()).err();
            let found = refused.as_ref().map(|error| error.code().as_str());
            assert_eq!(found, code, "{inner}");
            let message = refused.as_ref().and_then(|error| error.message());
            assert!(message.is_none_or(|message| message.contains("Exclude")), "{inner}");
        }
    }
}
