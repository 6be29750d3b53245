//! Routes: the path of a request, taken apart.

use http::Method;
use liteio_iceberg::{Identifier, Namespace};
use percent_encoding::percent_decode_str;

use super::error::{ApiResult, Exception};
use super::warehouse::OF_WAREHOUSE;
use super::{Handler, Operation};
use super::{config, namespace, table, token, transaction, vend, view};
use liteio_access::Action;

/// The thing that a route is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The server.
    Server,
    /// The warehouse.
    Warehouse,
    /// A namespace.
    Namespace(Namespace),
    /// A table or view.
    Named(Identifier),
    /// A table by its id, in the API of S3 Tables.
    Id([u8; 16]),
}

/// A request that is routed.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The prefix of the path: the warehouse; `None` for the default one.
    pub(crate) prefix: Option<String>,
    pub(crate) subject: Subject,
    /// The last segment of the path.
    pub(crate) last: String,
    pub(crate) operation: Operation,
}

/// The operations: method, path, name, action, handler. `{n}` is a namespace, `{t}` a table or view in it.
type Row = (Method, &'static str, &'static str, Action, Handler);

const ROWS: [Row; 29] = [
    (Method::GET, "config", "GetConfig", Action::GetTableBucket, config::get),
    (Method::POST, "oauth/tokens", "GetToken", Action::GetTableBucket, token::issue),
    (Method::GET, "namespaces", "ListNamespaces", Action::ListNamespaces, namespace::list),
    (Method::POST, "namespaces", "CreateNamespace", Action::CreateNamespace, namespace::create),
    (Method::GET, "namespaces/{n}", "LoadNamespace", Action::GetNamespace, namespace::load),
    (Method::HEAD, "namespaces/{n}", "NamespaceExists", Action::GetNamespace, namespace::exists),
    (Method::DELETE, "namespaces/{n}", "DropNamespace", Action::DeleteNamespace, namespace::drop),
    (
        Method::POST,
        "namespaces/{n}/properties",
        "UpdateNamespaceProperties",
        Action::UpdateNamespaceProperties,
        namespace::update,
    ),
    (Method::GET, "namespaces/{n}/tables", "ListTables", Action::ListTables, table::list),
    (Method::POST, "namespaces/{n}/tables", "CreateTable", Action::CreateTable, table::create),
    (
        Method::POST,
        "namespaces/{n}/register",
        "RegisterTable",
        Action::CreateTable,
        table::register,
    ),
    (
        Method::GET,
        "namespaces/{n}/tables/{t}",
        "LoadTable",
        Action::GetTableMetadataLocation,
        table::load,
    ),
    (Method::HEAD, "namespaces/{n}/tables/{t}", "TableExists", Action::GetTable, table::exists),
    (
        Method::POST,
        "namespaces/{n}/tables/{t}",
        "CommitTable",
        Action::UpdateTableMetadataLocation,
        table::commit,
    ),
    (Method::DELETE, "namespaces/{n}/tables/{t}", "DropTable", Action::DeleteTable, table::drop),
    (
        Method::POST,
        "namespaces/{n}/tables/{t}/metrics",
        "ReportMetrics",
        Action::GetTable,
        table::metrics,
    ),
    (
        Method::GET,
        "namespaces/{n}/tables/{t}/credentials",
        "LoadCredentials",
        Action::GetTableData,
        vend::load,
    ),
    (Method::POST, "tables/rename", "RenameTable", Action::RenameTable, table::rename),
    (
        Method::POST,
        "transactions/commit",
        "CommitTransaction",
        Action::UpdateTableMetadataLocation,
        transaction::commit,
    ),
    (Method::GET, "namespaces/{n}/views", "ListViews", Action::ListTables, view::list),
    (Method::POST, "namespaces/{n}/views", "CreateView", Action::CreateTable, view::create),
    (
        Method::POST,
        "namespaces/{n}/register-view",
        "RegisterView",
        Action::CreateTable,
        view::register,
    ),
    (
        Method::GET,
        "namespaces/{n}/views/{t}",
        "LoadView",
        Action::GetTableMetadataLocation,
        view::load,
    ),
    (Method::HEAD, "namespaces/{n}/views/{t}", "ViewExists", Action::GetTable, view::exists),
    (
        Method::POST,
        "namespaces/{n}/views/{t}",
        "ReplaceView",
        Action::UpdateTableMetadataLocation,
        view::commit,
    ),
    (Method::DELETE, "namespaces/{n}/views/{t}", "DropView", Action::DeleteTable, view::drop),
    (Method::POST, "views/rename", "RenameView", Action::RenameTable, view::rename),
    (Method::POST, "namespaces/{n}/tables/{t}/plan", "PlanTableScan", Action::GetTableData, plan),
    (Method::POST, "namespaces/{n}/tables/{t}/tasks", "FetchScanTasks", Action::GetTableData, plan),
];

/// Routes of the specification that the server does not have.
fn plan(_: &super::Call<'_>) -> super::Answer {
    Err(Exception::unsupported("LiteIO does not plan scans: clients plan them by the metadata."))
}

/// The names of all operations of the REST catalog.
pub(crate) fn operation_names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|(_, _, name, ..)| *name)
}

/// The routes that are served, as the answer to a request for the configuration lists them.
pub(crate) fn endpoints() -> impl Iterator<Item = String> {
    let is_served = |row: &&Row| {
        let first = row.1.split('/').next().unwrap_or_default();
        OF_WAREHOUSE.contains(&first) && !matches!(row.2, "PlanTableScan" | "FetchScanTasks")
    };
    ROWS.iter().filter(is_served).map(|(method, path, name, ..)| {
        let what = if name.contains("View") { "{view}" } else { "{table}" };
        let path = path.replace("{n}", "{namespace}").replace("{t}", what);
        format!("{method} /v1/{{prefix}}/{path}")
    })
}

impl Route {
    /// The route of a method and a path below `/v1/`.
    pub(crate) fn of(method: &Method, path: &str) -> ApiResult<Route> {
        let path = path.strip_prefix("v1/").ok_or_else(Exception::no_such_route)?;
        let segments = path.split('/').map(decoded).collect::<ApiResult<Vec<_>>>()?;
        let first = segments.first().map(String::as_str).unwrap_or_default();
        let is_of_server = matches!(first, "config" | "oauth");
        let (prefix, segments) = match is_of_server || OF_WAREHOUSE.contains(&first) {
            true => (None, &segments[..]),
            false => (Some(first.to_owned()), &segments[1..]),
        };
        let fits: Vec<_> = ROWS.iter().filter(|row| fits(row.1, segments)).collect();
        if fits.is_empty() {
            return Err(Exception::no_such_route());
        }
        let Some(row) = fits.iter().find(|row| row.0 == *method) else {
            return Err(Exception::unsupported(format!("The route does not take {method}.")));
        };
        let (_, _, name, action, handler) = **row;
        let subject = match segments {
            _ if is_of_server => Subject::Server,
            [first, namespace, rest @ ..] if first == "namespaces" => {
                let namespace = Namespace::from_path(namespace)
                    .map_err(|error| Exception::bad_request(error.to_string()))?;
                match rest {
                    [_, name, ..] => Subject::Named(
                        Identifier::new(namespace, name.as_str())
                            .map_err(|error| Exception::bad_request(error.to_string()))?,
                    ),
                    _ => Subject::Namespace(namespace),
                }
            }
            _ => Subject::Warehouse,
        };
        let last = segments.last().cloned().unwrap_or_default();
        Ok(Route { prefix, subject, last, operation: Operation { name, action, handler } })
    }
}

/// `true` if segments of a path are those of a pattern, whose parts in braces fit all.
pub(crate) fn fits(pattern: &str, segments: &[String]) -> bool {
    let mut pattern = pattern.split('/');
    let all = segments.iter().all(|segment| {
        pattern.next().is_some_and(|expected| expected.starts_with('{') || expected == segment)
    });
    all && pattern.next().is_none()
}

/// A segment of a path. Clients of the specification write it as the value of a form, so a plus is a space.
fn decoded(segment: &str) -> ApiResult<String> {
    let plain = segment.replace('+', " ");
    let decoded = percent_decode_str(&plain).decode_utf8();
    let decoded = decoded.map_err(|_| Exception::bad_request("The path is not UTF-8."))?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: Method, path: &str) -> Result<(Option<String>, &'static str, Subject), u16> {
        let route = Route::of(&method, path);
        let route =
            route.map_err(|error| liteio_wire::reply::ApiError::from(error).status().as_u16())?;
        Ok((route.prefix, route.operation.name, route.subject))
    }

    fn namespace(levels: &[&str]) -> Namespace {
        Namespace::new(levels.iter().map(|level| (*level).to_owned()).collect()).expect("a name")
    }

    #[test]
    fn a_path_has_a_prefix_or_none_and_encoded_names() {
        let lake = || Some("lake".to_owned());
        assert_eq!(of(Method::GET, "v1/config"), Ok((None, "GetConfig", Subject::Server)));
        assert_eq!(
            of(Method::GET, "v1/namespaces"),
            Ok((None, "ListNamespaces", Subject::Warehouse))
        );
        let subject = Subject::Namespace(namespace(&["a b", "c"]));
        assert_eq!(
            of(Method::GET, "v1/lake/namespaces/a+b%1Fc"),
            Ok((lake(), "LoadNamespace", subject))
        );
        let named = Identifier::new(namespace(&["n"]), "t/1+2").expect("a name");
        assert_eq!(
            of(Method::HEAD, "v1/lake/namespaces/n/tables/t%2F1%2B2"),
            Ok((lake(), "TableExists", Subject::Named(named)))
        );
        assert_eq!(
            of(Method::POST, "v1/lake/tables/rename"),
            Ok((lake(), "RenameTable", Subject::Warehouse))
        );
    }

    #[test]
    fn paths_and_methods_that_are_no_route_are_refused() {
        assert_eq!(of(Method::GET, "v2/config"), Err(404));
        assert_eq!(of(Method::GET, "v1"), Err(404));
        assert_eq!(of(Method::GET, "v1/lake"), Err(404));
        assert_eq!(of(Method::GET, "v1/lake/namespaces/n/other"), Err(404));
        assert_eq!(of(Method::PUT, "v1/lake/namespaces"), Err(406));
        assert_eq!(of(Method::GET, "v1/lake/namespaces/"), Err(400));
        assert_eq!(of(Method::GET, "v1/lake/namespaces/%0A"), Err(400));
        assert_eq!(of(Method::GET, "v1/lake/namespaces/%FF"), Err(400));
    }

    #[test]
    fn every_served_route_is_listed() {
        let endpoints: Vec<_> = endpoints().collect();
        assert!(endpoints.contains(&"POST /v1/{prefix}/transactions/commit".to_owned()));
        assert!(
            endpoints
                .contains(&"DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}".to_owned())
        );
        assert_eq!(endpoints.len(), 25);
    }
}
