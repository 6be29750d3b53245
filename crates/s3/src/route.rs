//! Routing: finds the operation of a request by method, path and query.
//!
//! A query parameter that the operation does not know is rejected before the body is read.
//! Otherwise an unknown subresource would turn one write into another: `PUT /bucket/key?encryption`
//! would replace the object with a document about it.

use std::sync::LazyLock;

use http::request::Parts;
use http::{Method, Uri};
use percent_encoding::percent_decode_str;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::S3Api;
use super::details::Details;
use super::error::{self, METHOD_NOT_ALLOWED};
use super::query::Query;
use super::request_headers::{COPY_SOURCE, no_copy};
use liteio_access::Action;
use liteio_auth::{Service, SignedAs};

/// One operation, and the requests that it matches.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) operation: &'static str,
    pub(super) action: Action,
    pub(super) method: &'static str,
    pub(super) level: Level,
    pub(super) scope: Scope,
    /// The query parameters that select this operation.
    pub(super) required: &'static [&'static str],
    /// The other query parameters that it knows.
    pub(super) known: &'static [&'static str],
    pub(super) answerer: Answerer,
}

/// The kind of resource in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No bucket.
    Service,
    /// A bucket.
    Bucket,
    /// A bucket and a key.
    Key,
}

/// The resources that the operation's action applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The resource in the path.
    Path,
    /// Each object that the request document names.
    EachKey,
}

/// The implementation of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answerer {
    /// A handler called by s3s.
    Typed,
    /// Implemented without s3s.
    Own,
    /// A plain handler, for an operation that s3s has no types for.
    Plain,
    /// The handler of another operation: the request is rewritten before it arrives here.
    Other(&'static str),
    /// Not implemented.
    Nobody,
}

/// The decoded path of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) bucket: String,
    pub(super) key: String,
}

impl Target {
    /// Bucket and key of a path-style path; empty where missing.
    ///
    /// # Errors
    /// `InvalidURI` when the path is not UTF-8.
    pub(super) fn of(uri: &Uri) -> S3Result<Target> {
        let path = percent_decode_str(uri.path()).decode_utf8();
        let path = path.map_err(|_| s3_error!(InvalidURI, "Couldn't parse the specified URI."))?;
        let path = path.strip_prefix('/').unwrap_or(&path);
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        Ok(Target { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    pub(super) fn level(&self) -> Level {
        match (self.bucket.is_empty(), self.key.is_empty()) {
            (true, _) => Level::Service,
            (false, true) => Level::Bucket,
            (false, false) => Level::Key,
        }
    }
}

/// The list of directory buckets.
pub(super) const LIST_OF_DIRECTORIES: &str = "ListDirectoryBuckets";
/// The parameter of the listening operations that names an event, one of several.
const REPEATED: &str = "events";
/// The parameter of ListObjectsV2, with the version as its value.
const LIST_TYPE: &str = "list-type";
/// The parameter in which SDKs name the operation. s3s tells the lists of buckets by it.
pub(super) const OPERATION: &str = "x-id";

/// The name of the operation that a request resembles, even if it is invalid. For logs and metrics.
pub fn operation_of(head: &Parts, target: &liteio_wire::origin::Target) -> Option<&'static str> {
    let (bucket, key) = (target.bucket().to_owned(), target.key().to_owned());
    let query = Query::of(&head.uri);
    let names: Vec<&str> = query.names().collect();
    let is_copy = head.method == Method::PUT && head.headers.contains_key(COPY_SOURCE);
    let level = Target { bucket, key }.level();
    Route::find(&head.method, level, &names, is_copy).map(|route| route.operation)
}

/// The static name of an operation, if it exists.
pub fn known_operation(name: &str) -> Option<&'static str> {
    S3Api::ROUTES.iter().map(|route| route.operation).find(|known| *known == name)
}

/// The kind of resource that requests of an operation have in their path; `None` if S3 has no such operation.
pub fn level_of(operation: &str) -> Option<Level> {
    let routes = S3Api::ROUTES.iter().filter(|route| route.operation == operation);
    routes.map(|route| route.level).max()
}

impl Route {
    /// The route of a request; `None` if S3 has no operation with this method at this level.
    ///
    /// # Errors
    /// A query parameter that the operation does not know.
    pub(super) fn of(
        head: &Parts,
        target: &Target,
        query: &Query,
    ) -> S3Result<Option<&'static Route>> {
        let names: Vec<&str> = query.names().collect();
        let is_copy = head.method == Method::PUT && head.headers.contains_key(COPY_SOURCE);
        let Some(route) = Route::find(&head.method, target.level(), &names, is_copy) else {
            return Ok(None);
        };
        let route = route.of_directories(head, query);
        // The signer meant a parameter that the signature covers: it is the application's, and no
        // slip that changes the meaning of a write.
        let is_signed = head.extensions.get().is_some_and(SignedAs::covers_query);
        let passes = |name: &str| route.knows(name) || (is_signed && !is_of_model(name));
        if let Some(name) = names.iter().find(|name| !passes(name)) {
            return Err(match head.headers.get(COPY_SOURCE) {
                Some(source) if !route.copies() => no_copy(source),
                _ => route.refusal(name),
            });
        }
        // s3s knows the operation by this value, and would take the request for another one.
        if let Some(value) = query.get(LIST_TYPE).filter(|value| *value != "2")
            && route.required.contains(&LIST_TYPE)
        {
            return Err(s3_error!(
                Details::argument(LIST_TYPE, value),
                InvalidArgument,
                "Invalid List Type specified in Request"
            ));
        }
        // A repeated parameter is ambiguous: authorization could use one value and the operation
        // the other.
        let is_of_route = |name: &&str| {
            *name != REPEATED && (route.required.contains(name) || route.known.contains(name))
        };
        let mut of_route = names.iter().copied().filter(is_of_route);
        while let Some(name) = of_route.next() {
            if of_route.clone().any(|other| other == name) {
                let message = format!("The query parameter {name:?} is given more than once");
                return Err(S3Error::with_message(S3ErrorCode::InvalidArgument, message));
            }
        }
        Ok(Some(route))
    }

    /// The most specific route: it requires the most parameters, then knows the most others; the
    /// first of equals wins.
    fn find(
        method: &Method,
        level: Level,
        names: &[&str],
        is_copy: bool,
    ) -> Option<&'static Route> {
        let fits = |route: &&&Route| route.required.iter().all(|required| names.contains(required));
        lines(method, level).iter().rev().filter(fits).copied().max_by_key(|route| {
            let known = names.iter().filter(|name| route.knows(name)).count();
            (route.required.len(), known, route.copies() == is_copy)
        })
    }

    /// The route of a list of buckets: of directory buckets for a request that is signed for their
    /// service, or says so. The path and the method are those of ListBuckets.
    fn of_directories(&'static self, head: &Parts, query: &Query) -> &'static Route {
        let is_asked = || {
            let says_so = query.get(OPERATION) == Some(LIST_OF_DIRECTORIES);
            says_so || head.extensions.get().and_then(SignedAs::service) == Some(Service::S3Express)
        };
        if self.operation != "ListBuckets" || !is_asked() {
            return self;
        }
        let mut routes = S3Api::ROUTES.iter();
        routes.find(|route| route.operation == LIST_OF_DIRECTORIES).unwrap_or(self)
    }

    /// True for a parameter that the operation knows or that does not matter. As on AWS, reads
    /// ignore parameters that are not in the S3 model; writes do so only if the signature covers
    /// them, because a parameter may change their meaning.
    fn knows(&self, name: &str) -> bool {
        self.required.contains(&name)
            || self.known.contains(&name)
            || is_of_any(name)
            || (self.is_read() && !is_of_model(name))
    }

    /// True for an operation with a copy source.
    pub(super) fn copies(&self) -> bool {
        matches!(self.operation, "CopyObject" | "UploadPartCopy")
    }

    /// True for an operation that changes nothing.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }

    /// The error for a parameter that the operation does not know.
    fn refusal(&self, name: &str) -> S3Error {
        let method = self.method;
        // The words are AWS's, and so is the name in the place of the value.
        let special = match (self.level, method, name) {
            (Level::Key, "GET", "uploads") => Some(s3_error!(
                InvalidRequest,
                "Key is not expected for the GET method ?uploads subresource"
            )),
            (Level::Key, "GET" | "HEAD", "versions") => Some(s3_error!(
                InvalidRequest,
                "There is no such thing as the ?versions sub-resource for a key"
            )),
            (Level::Key, "PUT", "partNumber") => Some(s3_error!(
                Details::argument(name, name),
                InvalidArgument,
                "This operation does not accept partNumber without uploadId"
            )),
            (Level::Key, _, "uploadId") => Some(s3_error!(
                Details::of("ResourceType", "UPLOAD"),
                MethodNotAllowed,
                "{METHOD_NOT_ALLOWED}"
            )),
            _ => None,
        };
        if let Some(special) = special {
            return special;
        }
        let mut at_level = S3Api::ROUTES.iter().filter(|route| route.level == self.level);
        if at_level.any(|route| route.required.contains(&name) && route.method != method) {
            return error::method_not_allowed();
        }
        let is_subresource = S3Api::ROUTES.iter().any(|route| route.required.contains(&name));
        let (code, message) = match (is_subresource, self.level) {
            // The bucket, which the endpoint has as its path, and the bucket once more.
            (true, Level::Key) if matches!(name, "list-type" | "location") => (
                S3ErrorCode::InvalidRequest,
                format!(
                    "Key is not expected for the {method} method ?{name} subresource. Does the endpoint of the \
                     client have a path, such as the bucket? Leave it out."
                ),
            ),
            (true, Level::Key) => (
                S3ErrorCode::InvalidRequest,
                format!("Key is not expected for the {method} method ?{name} subresource"),
            ),
            (true, _) => (
                S3ErrorCode::InvalidRequest,
                format!("The {method} method ?{name} subresource is not for this resource"),
            ),
            (false, _) => (
                S3ErrorCode::InvalidArgument,
                format!(
                    "{} does not accept the query parameter {name:?}. Leave it out; nothing was done.",
                    self.operation
                ),
            ),
        };
        S3Error::with_message(code, message)
    }

    /// The error for an operation that is not implemented.
    pub(super) fn not_implemented(&self) -> S3Error {
        let name = self.operation;
        let message = match self.answerer {
            Answerer::Other(other) => {
                format!("{name} arrives as {other}; this is no form upload.")
            }
            _ if name == "SelectObjectContent" => format!(
                "{name} is not implemented by LiteIO: read the object, or query it with a program that reads S3, such as DuckDB."
            ),
            _ => format!("{name} is not implemented by LiteIO yet."),
        };
        S3Error::with_message(S3ErrorCode::NotImplemented, message)
    }
}

/// The lines of the table with this method and level, in the order of the table. A tenth of the lines is left, so a
/// request does not compare all of them.
fn lines(method: &Method, level: Level) -> &'static [&'static Route] {
    type Lines = Vec<((&'static str, Level), Vec<&'static Route>)>;
    static LINES: LazyLock<Lines> = LazyLock::new(|| {
        let mut lines = Lines::new();
        for route in S3Api::ROUTES {
            let kind = (route.method, route.level);
            match lines.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, alike)) => alike.push(route),
                None => lines.push((kind, vec![route])),
            }
        }
        lines
    });
    let kind = (method.as_str(), level);
    LINES.iter().find(|(other, _)| *other == kind).map_or(&[], |(_, alike)| alike)
}

/// True for parameters that any request may carry: signatures, SDK markers, and response header
/// overrides.
fn is_of_any(name: &str) -> bool {
    let starts_with =
        |start: &str| name.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start));
    name.is_empty() || starts_with("x-") || starts_with("response-")
}

fn is_of_model(name: &str) -> bool {
    S3Api::ROUTES.iter().any(|route| route.required.contains(&name) || route.known.contains(&name))
}

/// The names of all operations.
pub fn operation_names() -> impl Iterator<Item = &'static str> {
    S3Api::ROUTES.iter().map(|route| route.operation)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Request;

    use super::*;

    fn route(method: &str, uri: &str) -> Result<Option<&'static str>, String> {
        let (head, ()) =
            Request::builder().method(method).uri(uri).body(()).expect("valid").into_parts();
        let target = Target::of(&head.uri).expect("text");
        match Route::of(&head, &target, &Query::of(&head.uri)) {
            Ok(route) => Ok(route.map(|route| route.operation)),
            Err(error) => Err(error.code().as_str().to_owned()),
        }
    }

    fn path(level: Level) -> &'static str {
        match level {
            Level::Service => "/",
            Level::Bucket => "/bucket",
            Level::Key => "/bucket/key",
        }
    }

    #[test]
    fn every_operation_is_found_by_its_own_parameters() {
        for expected in S3Api::ROUTES {
            // The only parameter that has one value.
            let with_value = |name: &&'static str| match *name {
                LIST_TYPE => "list-type=2",
                name => name,
            };
            let mut names: Vec<_> = expected.required.iter().map(with_value).collect();
            let uri = format!("{}?{}", path(expected.level), names.join("&"));
            names.extend(expected.known);
            let all = format!("{}?{}", path(expected.level), names.join("&"));
            let head = Request::builder().method(expected.method);
            let head = match expected.operation {
                "CopyObject" | "UploadPartCopy" => head.header("x-amz-copy-source", "a/b"),
                _ => head,
            };
            let (mut head, ()) = head.uri(uri).body(()).expect("valid").into_parts();
            for uri in [head.uri.clone(), all.parse().expect("a URI")] {
                head.uri = uri;
                let target = Target::of(&head.uri).expect("text");
                let found = Route::of(&head, &target, &Query::of(&head.uri));
                let found = found.expect("known").expect("found");
                // These two differ from others by more than parameters.
                let same = ["ListDirectoryBuckets", "WriteGetObjectResponse"];
                assert!(
                    found.operation == expected.operation || same.contains(&expected.operation),
                    "{} for {}",
                    found.operation,
                    head.uri
                );
            }
        }
    }

    #[test]
    fn no_operation_takes_a_parameter_that_it_does_not_know() {
        let names: BTreeSet<&str> = S3Api::ROUTES
            .iter()
            .flat_map(|route| route.required.iter().chain(route.known).copied())
            .collect();
        let mut refused = 0;
        for route in S3Api::ROUTES {
            for name in names.iter().copied().chain(["foo", "v"]) {
                let mut given = route.required.to_vec();
                given.push(name);
                let uri = format!("{}?{}", path(route.level), given.join("&"));
                let result = self::route(route.method, &uri);
                let Ok(Some(found)) = result else {
                    refused += 1;
                    continue;
                };
                let found =
                    S3Api::ROUTES.iter().find(|other| other.operation == found).expect("there");
                assert!(given.iter().all(|name| found.knows(name)), "{found:?} for {uri}");
            }
        }
        assert!(refused > 5_000, "{refused}");
    }

    #[test]
    fn writes_are_never_taken_for_others() {
        let rows = [
            ("PUT", "/b/k?encryption", Ok(Some("UpdateObjectEncryption"))),
            ("PUT", "/b/k?renameObject", Ok(Some("RenameObject"))),
            ("PUT", "/b/k?annotation&annotationName=a", Ok(Some("PutObjectAnnotation"))),
            ("DELETE", "/b/k?annotation", Ok(Some("DeleteObjectAnnotation"))),
            ("DELETE", "/b?abac", Err("MethodNotAllowed")),
            ("DELETE", "/b?metadataConfiguration", Ok(Some("DeleteBucketMetadataConfiguration"))),
            ("DELETE", "/b/k?acl", Err("MethodNotAllowed")),
            ("DELETE", "/b/k?retention", Err("MethodNotAllowed")),
            ("DELETE", "/b/k?legal-hold", Err("MethodNotAllowed")),
            ("DELETE", "/b/k?foo", Err("InvalidArgument")),
            ("PUT", "/b/k?partNumber=1", Err("InvalidArgument")),
            ("PUT", "/b/k?uploadId=x", Err("MethodNotAllowed")),
            ("PUT", "/b/k?versionId=x", Err("InvalidArgument")),
            ("PUT", "/b/k?restore", Err("MethodNotAllowed")),
            ("PUT", "/b/k?lifecycle", Err("InvalidRequest")),
            ("PUT", "/b/k?foo", Err("InvalidArgument")),
            ("PUT", "/b?foo", Err("InvalidArgument")),
            ("GET", "/b/k?uploads", Err("InvalidRequest")),
            ("GET", "/b/k?versions", Err("InvalidRequest")),
            ("GET", "/b/k?v=2", Ok(Some("GetObject"))),
            ("GET", "/b/k?%61cl", Ok(Some("GetObjectAcl"))),
            ("PUT", "/b/k?x-id=PutObject&X-Amz-Date=1&response-expires=a&&", Ok(Some("PutObject"))),
            ("GET", "/b?list-type=2&prefix=a", Ok(Some("ListObjectsV2"))),
            ("GET", "/b/?versions&prefix=", Ok(Some("ListObjectVersions"))),
            ("OPTIONS", "/b/k", Ok(None)),
            ("PATCH", "/b", Ok(None)),
        ];
        for (method, uri, expected) in rows {
            assert_eq!(route(method, uri), expected.map_err(str::to_owned), "{method} {uri}");
        }
    }

    #[test]
    fn targets() {
        for (uri, bucket, key) in [
            ("/", "", ""),
            ("/b", "b", ""),
            ("/b/", "b", ""),
            ("/b//", "b", "/"),
            ("/b/a%20b%2Fc", "b", "a b/c"),
            ("/b%2Fk", "b", "k"),
        ] {
            let target = Target::of(&Uri::from_static(uri)).expect("text");
            assert_eq!((&*target.bucket, &*target.key), (bucket, key), "{uri}");
        }
        assert!(Target::of(&Uri::from_static("/b/%ff")).is_err());
    }
}
