//! The parts of a response beside the output of s3s.

use bytes::Bytes;
use http::StatusCode;
use s3s::S3Response;

/// The parts of a response that the outputs of s3s cannot express.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// Replaces the status of the output.
    pub(super) status: Option<StatusCode>,
    /// The response document, replacing the one made from the output.
    pub(super) xml: Option<Bytes>,
}

/// A response with our own XML document instead of the one s3s would write.
pub(super) fn xml_response<T: Default>(xml: Bytes) -> S3Response<T> {
    let mut response = S3Response::new(T::default());
    response.extensions.insert(Answer { status: None, xml: Some(xml) });
    response
}

/// A response with status 204, which AWS sends for some settings that are put.
pub(super) fn no_content<T>(output: T) -> S3Response<T> {
    let mut response = S3Response::new(output);
    response.extensions.insert(Answer { status: Some(StatusCode::NO_CONTENT), xml: None });
    response
}
