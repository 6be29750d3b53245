//! [`names_in`]: names in a request that nothing has checked yet.

use http::Method;
use serde::Deserialize;

use super::{Route, arn};

/// The fields by which requests name a vector bucket or an index.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    vector_bucket_name: Option<String>,
    vector_bucket_arn: Option<String>,
    index_name: Option<String>,
    index_arn: Option<String>,
}

/// The vector bucket and the index that a request names, before anything else of it is read; `None` if it names none, or is
/// not a request that the service understands.
pub fn names_in(method: &Method, path: &str, body: &[u8]) -> Option<(String, Option<String>)> {
    let (route, _) = Route::of(method, path).ok()?;
    // Beside the ARN of its vector bucket, a new index has its name in a field of its own.
    let (arn, index_name) = match route {
        Route::Tags(_, arn) => (arn, None),
        Route::Operation(..) => {
            let names: Names = serde_json::from_slice(body).ok()?;
            match names.index_arn.or(names.vector_bucket_arn) {
                Some(arn) => (arn, names.index_name),
                None => return Some((names.vector_bucket_name?, names.index_name)),
            }
        }
    };
    let names = arn::resource(&arn).ok()?;
    let index = names.index.map(|index| index.as_str().to_owned()).or(index_name);
    Some((names.bucket.as_str().to_owned(), index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_fields_and_arns() {
        let media = |index: Option<&str>| Some(("media".to_owned(), index.map(str::to_owned)));
        let arn = "arn:aws:s3vectors:us-east-1:000000000000:bucket/media";
        for (path, body, names) in [
            ("/CreateVectorBucket", r#"{"vectorBucketName":"media"}"#.to_owned(), media(None)),
            ("/GetVectorBucket", format!(r#"{{"vectorBucketArn":"{arn}"}}"#), media(None)),
            (
                "/PutVectors",
                r#"{"vectors":[{"data":{"float32":[1e2]}}],"indexName":"films","vectorBucketName":"media"}"#
                    .to_owned(),
                media(Some("films")),
            ),
            (
                "/CreateIndex",
                format!(r#"{{"indexName":"films","vectorBucketArn":"{arn}"}}"#),
                media(Some("films")),
            ),
            ("/QueryVectors", format!(r#"{{"indexArn":"{arn}/index/films"}}"#), media(Some("films"))),
            ("/ListVectorBuckets", "{}".to_owned(), None),
            ("/PutVectors", r#"{"vectorBucketName":7}"#.to_owned(), None),
            ("/PutVectors", r#"{"vectorBucketName":"media""#.to_owned(), None),
            ("/Nothing", r#"{"vectorBucketName":"media"}"#.to_owned(), None),
        ] {
            assert_eq!(names_in(&Method::POST, path, body.as_bytes()), names, "{path} {body}");
        }
        let path = format!("/tags/{}", arn.replace(':', "%3A").replace('/', "%2F"));
        assert_eq!(names_in(&Method::GET, &path, b""), media(None));
    }
}
