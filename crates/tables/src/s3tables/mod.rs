//! The API of S3 Tables: JSON over HTTP, on the catalogs of buckets.
//!
//! Every bucket is a table bucket of the same name. Requests that are signed for `s3tables` arrive here, authenticated,
//! unless their path is that of the REST catalog. An operation is one of the catalog with another route; its errors are
//! translated at the end.
//!
//! ```text
//! request ──► route (ARN, namespace, table) ──► operation ──► access, Store::commit_tables, … ──► JSON
//!                                                    └──► Exception ──► error: exceptions of S3 Tables
//! ```
//!
//! A table has a metadata file from its creation if the request has a schema. Otherwise its location in the catalog is the
//! place for its files, with a slash at the end, until the client has written the first metadata file itself.
//!
//! | Module | Content |
//! |---|---|
//! | `route` | The table of operations, served and not served |
//! | `table_bucket`, `encryption`, `namespace`, `table`, `metadata_location`, `policy`, `tags`, `maintenance`, `class` | The operations |
//! | `schema` | The metadata of CreateTable, as a request of the REST catalog |
//! | `resource` | ARNs, permission, fields of bodies |
//! | `token` | Version tokens, positions in listings |
//! | `error` | The exceptions, and the only map to them |

mod class;
mod encryption;
mod error;
mod maintenance;
mod metadata_location;
mod namespace;
mod policy;
mod resource;
mod route;
mod schema;
mod table;
mod table_bucket;
mod tags;
mod token;

use http::Request;
use liteio_access::Principal;
use liteio_auth::{AuthBody, Identity};
use liteio_wire::reply::Reply;

pub use self::error::refusal;
pub use self::route::operation_names;
use super::limits::BODY_BYTES_MAX;
use super::{Answer, TablesService, response};

impl TablesService {
    /// Answers one request of S3 Tables. Its extensions hold the sender's `Identity`.
    pub async fn call_s3tables(&self, request: Request<AuthBody>) -> Reply {
        let answer = self.answer_s3tables(request).await;
        answer.map(response).map_err(error::translated)
    }

    async fn answer_s3tables(&self, request: Request<AuthBody>) -> Answer {
        let principal = Principal::new(request.extensions().get::<Identity>());
        if matches!(principal, Principal::Anonymous) {
            return Err(error::access_denied("Access Denied"));
        }
        let uri = request.uri();
        let route = route::of(request.method(), uri.path(), uri.query().unwrap_or_default())?;
        // Its clients have tokens of their own for that.
        self.run(request, route, BODY_BYTES_MAX, |_, _, _| Ok(None)).await
    }
}
