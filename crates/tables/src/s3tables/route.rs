//! Routes of S3 Tables.

use http::Method;
use liteio_access::Action;
use percent_encoding::percent_decode_str;

use super::error::{method_not_allowed, not_implemented, unknown_operation};
use super::resource::{Arn, id_of, namespace_of, table_of};
use super::{
    class, encryption, maintenance, metadata_location, namespace, policy, table, table_bucket, tags,
};
use crate::error::{ApiResult, Exception};
use crate::route::{Route, Subject, fits};
use crate::{Handler, Operation};

/// The operations: method, path, name, action, handler. `{b}` is the ARN of a table bucket, `{n}` a namespace, `{t}` a
/// table in it.
type Row = (Method, &'static str, &'static str, Action, Handler);

const ROWS: [Row; 39] = [
    (Method::PUT, "buckets", "CreateTableBucket", Action::CreateTableBucket, table_bucket::create),
    (Method::GET, "buckets", "ListTableBuckets", Action::ListTableBuckets, table_bucket::list),
    (Method::GET, "buckets/{b}", "GetTableBucket", Action::GetTableBucket, table_bucket::get),
    (
        Method::DELETE,
        "buckets/{b}",
        "DeleteTableBucket",
        Action::DeleteTableBucket,
        table_bucket::delete,
    ),
    (
        Method::GET,
        "buckets/{b}/encryption",
        "GetTableBucketEncryption",
        Action::GetTableBucketEncryption,
        encryption::of_bucket,
    ),
    (
        Method::PUT,
        "buckets/{b}/encryption",
        "PutTableBucketEncryption",
        Action::PutTableBucketEncryption,
        encryption::put,
    ),
    (
        Method::DELETE,
        "buckets/{b}/encryption",
        "DeleteTableBucketEncryption",
        // AWS's action, too.
        Action::PutTableBucketEncryption,
        encryption::delete,
    ),
    (Method::PUT, "namespaces/{b}", "CreateNamespace", Action::CreateNamespace, namespace::create),
    (Method::GET, "namespaces/{b}", "ListNamespaces", Action::ListNamespaces, namespace::list),
    (Method::GET, "namespaces/{b}/{n}", "GetNamespace", Action::GetNamespace, namespace::get),
    (
        Method::DELETE,
        "namespaces/{b}/{n}",
        "DeleteNamespace",
        Action::DeleteNamespace,
        namespace::delete,
    ),
    (Method::GET, "tables/{b}", "ListTables", Action::ListTables, table::list),
    (Method::PUT, "tables/{b}/{n}", "CreateTable", Action::CreateTable, table::create),
    (Method::GET, "get-table", "GetTable", Action::GetTable, table::get),
    (Method::DELETE, "tables/{b}/{n}/{t}", "DeleteTable", Action::DeleteTable, table::delete),
    (Method::PUT, "tables/{b}/{n}/{t}/rename", "RenameTable", Action::RenameTable, table::rename),
    (
        Method::GET,
        "tables/{b}/{n}/{t}/metadata-location",
        "GetTableMetadataLocation",
        Action::GetTableMetadataLocation,
        metadata_location::get,
    ),
    (
        Method::PUT,
        "tables/{b}/{n}/{t}/metadata-location",
        "UpdateTableMetadataLocation",
        Action::UpdateTableMetadataLocation,
        metadata_location::update,
    ),
    (
        Method::GET,
        "tables/{b}/{n}/{t}/encryption",
        "GetTableEncryption",
        Action::GetTableEncryption,
        encryption::of_table,
    ),
    (
        Method::DELETE,
        "buckets/{b}/metrics",
        "DeleteTableBucketMetricsConfiguration",
        Action::DeleteTableBucketMetricsConfiguration,
        class::delete_metrics,
    ),
    (
        Method::DELETE,
        "buckets/{b}/policy",
        "DeleteTableBucketPolicy",
        Action::DeleteTableBucketPolicy,
        policy::delete_of_bucket,
    ),
    (
        Method::DELETE,
        "tables/{b}/{n}/{t}/policy",
        "DeleteTablePolicy",
        Action::DeleteTablePolicy,
        policy::delete_of_table,
    ),
    (
        Method::GET,
        "buckets/{b}/maintenance",
        "GetTableBucketMaintenanceConfiguration",
        Action::GetTableBucketMaintenanceConfiguration,
        maintenance::of_bucket,
    ),
    (
        Method::GET,
        "buckets/{b}/metrics",
        "GetTableBucketMetricsConfiguration",
        Action::GetTableBucketMetricsConfiguration,
        class::metrics,
    ),
    (
        Method::GET,
        "buckets/{b}/policy",
        "GetTableBucketPolicy",
        Action::GetTableBucketPolicy,
        policy::of_bucket,
    ),
    (
        Method::GET,
        "buckets/{b}/storage-class",
        "GetTableBucketStorageClass",
        Action::GetTableBucketStorageClass,
        class::of_bucket,
    ),
    (
        Method::GET,
        "tables/{b}/{n}/{t}/maintenance",
        "GetTableMaintenanceConfiguration",
        Action::GetTableMaintenanceConfiguration,
        maintenance::of_table,
    ),
    (
        Method::GET,
        "tables/{b}/{n}/{t}/maintenance-job-status",
        "GetTableMaintenanceJobStatus",
        Action::GetTableMaintenanceJobStatus,
        maintenance::status,
    ),
    (
        Method::GET,
        "tables/{b}/{n}/{t}/policy",
        "GetTablePolicy",
        Action::GetTablePolicy,
        policy::of_table,
    ),
    (
        Method::GET,
        "tables/{b}/{n}/{t}/storage-class",
        "GetTableStorageClass",
        Action::GetTableStorageClass,
        class::of_table,
    ),
    (Method::GET, "tag/{b}", "ListTagsForResource", Action::ListTagsForTables, tags::list),
    (
        Method::PUT,
        "buckets/{b}/maintenance/{x}",
        "PutTableBucketMaintenanceConfiguration",
        Action::PutTableBucketMaintenanceConfiguration,
        maintenance::put_of_bucket,
    ),
    (
        Method::PUT,
        "buckets/{b}/metrics",
        "PutTableBucketMetricsConfiguration",
        Action::PutTableBucketMetricsConfiguration,
        class::put_metrics,
    ),
    (
        Method::PUT,
        "buckets/{b}/policy",
        "PutTableBucketPolicy",
        Action::PutTableBucketPolicy,
        policy::put_of_bucket,
    ),
    (
        Method::PUT,
        "buckets/{b}/storage-class",
        "PutTableBucketStorageClass",
        Action::PutTableBucketStorageClass,
        class::put,
    ),
    (
        Method::PUT,
        "tables/{b}/{n}/{t}/maintenance/{x}",
        "PutTableMaintenanceConfiguration",
        Action::PutTableMaintenanceConfiguration,
        maintenance::put_of_table,
    ),
    (
        Method::PUT,
        "tables/{b}/{n}/{t}/policy",
        "PutTablePolicy",
        Action::PutTablePolicy,
        policy::put_of_table,
    ),
    (Method::POST, "tag/{b}", "TagResource", Action::TagTables, tags::add),
    (Method::DELETE, "tag/{b}", "UntagResource", Action::UntagTables, tags::remove),
];

/// Operations of AWS's model that are not served: method, path, name. `{x}` is anything.
const UNSERVED: [(Method, &str, &str); 19] = [
    (Method::POST, "complete-table-migration", "CompleteTableMigration"),
    (Method::DELETE, "table-bucket-replication", "DeleteTableBucketReplication"),
    (Method::DELETE, "table-replication", "DeleteTableReplication"),
    (Method::PUT, "table-replication/disassociate", "DisassociateTableReplication"),
    (Method::GET, "buckets/{b}/logging", "GetTableBucketLogging"),
    (Method::GET, "table-bucket-replication", "GetTableBucketReplication"),
    (Method::GET, "get-table-migration", "GetTableMigration"),
    (Method::GET, "table-record-expiration", "GetTableRecordExpirationConfiguration"),
    (Method::GET, "table-record-expiration-job-status", "GetTableRecordExpirationJobStatus"),
    (Method::GET, "table-replication", "GetTableReplication"),
    (Method::GET, "replication-status", "GetTableReplicationStatus"),
    (Method::GET, "list-table-migrations", "ListTableMigrations"),
    (Method::PUT, "buckets/{b}/logging", "PutTableBucketLogging"),
    (Method::PUT, "table-bucket-replication", "PutTableBucketReplication"),
    (Method::PUT, "table-record-expiration", "PutTableRecordExpirationConfiguration"),
    (Method::PUT, "table-replication", "PutTableReplication"),
    (Method::POST, "start-table-migration", "StartTableMigration"),
    (Method::POST, "sync-table-migration", "SyncTableMigration"),
    (Method::POST, "update-table-migration", "UpdateTableMigration"),
];

/// The names of all operations that are served.
pub fn operation_names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|(_, _, name, ..)| *name)
}

/// The route of a method, a path and a query.
pub(super) fn of(method: &Method, path: &str, query: &str) -> ApiResult<Route> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let segments = path.split('/').map(decoded).collect::<ApiResult<Vec<_>>>()?;
    let at_path: Vec<_> = ROWS.iter().filter(|row| fits(row.1, &segments)).collect();
    if let Some((_, _, name, action, handler)) = at_path.iter().find(|row| row.0 == *method) {
        let (prefix, subject) = subject_of(&segments, query)?;
        let operation = Operation { name, action: *action, handler: *handler };
        let last = segments.last().cloned().unwrap_or_default();
        return Ok(Route { prefix, subject, last, operation });
    }
    let mut unserved = UNSERVED.iter().filter(|(_, path, _)| fits(path, &segments)).peekable();
    let has_path = !at_path.is_empty() || unserved.peek().is_some();
    match unserved.find(|(other, ..)| other == method) {
        Some((_, _, name)) => Err(not_implemented(format!(
            "LiteIO does not serve the operation {name} of S3 Tables. docs/compatibility.md lists those that it serves."
        ))),
        None if has_path => Err(method_not_allowed()),
        None => Err(unknown_operation()),
    }
}

/// The ARN of the table bucket that a request is about, and what in it.
fn subject_of(segments: &[String], query: &str) -> ApiResult<(Option<String>, Subject)> {
    match segments {
        [path] if path == "get-table" => of_query(query),
        [] | [_] => Ok((None, Subject::Server)),
        [first, arn] if first == "tag" => {
            let parsed = Arn::parse(arn)?;
            let subject = match parsed.table {
                None => Subject::Warehouse,
                Some(id) => Subject::Id(id_of(id)),
            };
            Ok((Some(parsed.of_its_bucket(arn).to_owned()), subject))
        }
        [_, arn] => Ok((Some(whole(arn)?), Subject::Warehouse)),
        // Settings of the bucket.
        [first, arn, ..] if first == "buckets" => Ok((Some(whole(arn)?), Subject::Warehouse)),
        [_, arn, namespace] => {
            Ok((Some(whole(arn)?), Subject::Namespace(namespace_of(namespace)?)))
        }
        [_, arn, namespace, table, ..] => {
            Ok((Some(whole(arn)?), Subject::Named(table_of(namespace, table)?)))
        }
    }
}

/// The table of GetTable: by its names, or by its ARN.
fn of_query(query: &str) -> ApiResult<(Option<String>, Subject)> {
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    let value = |name: &str| {
        let found = pairs.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| &**value)
    };
    match (value("tableArn"), value("tableBucketARN"), value("namespace"), value("name")) {
        (Some(arn), None, None, None) => {
            let parsed = Arn::parse(arn)?;
            let id =
                parsed.table.ok_or_else(|| Exception::bad_request("tableArn is of no table."))?;
            Ok((Some(parsed.of_its_bucket(arn).to_owned()), Subject::Id(id_of(id))))
        }
        (None, Some(arn), Some(namespace), Some(name)) => {
            Ok((Some(whole(arn)?), Subject::Named(table_of(namespace, name)?)))
        }
        _ => Err(Exception::bad_request(
            "A table is named by tableArn, or by tableBucketARN, namespace and name.",
        )),
    }
}

/// The ARN of a whole table bucket.
fn whole(arn: &str) -> ApiResult<String> {
    Arn::of_bucket(arn).map(|_| arn.to_owned())
}

fn decoded(segment: &str) -> ApiResult<String> {
    let decoded = percent_decode_str(segment).decode_utf8();
    let decoded = decoded.map_err(|_| Exception::bad_request("The path is not UTF-8."))?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use liteio_wire::reply::ApiError;

    use super::*;

    const ARN: &str = "arn%3Aaws%3As3tables%3Aus-east-1%3A123456789012%3Abucket%2Flake";

    const ID: &str = "1c1c1c1c-1c1c-1c1c-1c1c-1c1c1c1c1c1c";

    fn found(method: Method, path: &str) -> Result<(&'static str, Subject), (u16, String)> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        match of(&method, path, query) {
            Ok(route) => Ok((route.operation.name, route.subject)),
            Err(error) => {
                let error = ApiError::from(error);
                Err((error.status().as_u16(), error.code().to_owned()))
            }
        }
    }

    #[test]
    fn arns_in_paths_are_one_segment() {
        let of_bucket = |path: &str| format!("/{path}/{ARN}");
        let named = Subject::Named(table_of("sales", "orders").expect("a name"));
        let namespace = Subject::Namespace(namespace_of("sales").expect("a name"));
        let rows = [
            (Method::PUT, "/buckets".to_owned(), "CreateTableBucket", Subject::Server),
            (Method::GET, of_bucket("buckets"), "GetTableBucket", Subject::Warehouse),
            (
                Method::GET,
                of_bucket("buckets") + "/encryption",
                "GetTableBucketEncryption",
                Subject::Warehouse,
            ),
            (Method::GET, of_bucket("namespaces"), "ListNamespaces", Subject::Warehouse),
            (Method::POST, of_bucket("tag"), "TagResource", Subject::Warehouse),
            (
                Method::DELETE,
                format!("/tag/{ARN}%2Ftable%2F{ID}"),
                "UntagResource",
                Subject::Id([0x1C; 16]),
            ),
            (
                Method::PUT,
                of_bucket("buckets") + "/maintenance/icebergUnreferencedFileRemoval",
                "PutTableBucketMaintenanceConfiguration",
                Subject::Warehouse,
            ),
            (
                Method::PUT,
                of_bucket("tables") + "/sales/orders/maintenance/icebergCompaction",
                "PutTableMaintenanceConfiguration",
                named.clone(),
            ),
            (Method::PUT, of_bucket("tables") + "/sales", "CreateTable", namespace),
            (Method::DELETE, of_bucket("tables") + "/sales/orders", "DeleteTable", named.clone()),
            (
                Method::GET,
                format!("/get-table?tableBucketARN={ARN}&namespace=sales&name=orders"),
                "GetTable",
                named,
            ),
            (
                Method::GET,
                format!("/get-table?tableArn={ARN}%2Ftable%2F{ID}"),
                "GetTable",
                Subject::Id([0x1C; 16]),
            ),
        ];
        for (method, path, name, subject) in rows {
            assert_eq!(found(method, &path), Ok((name, subject)), "{path}");
        }
    }

    #[test]
    fn what_is_not_served_is_refused_by_name() {
        let refused = |status, code: &str| Err((status, code.to_owned()));
        let logging = format!("/buckets/{ARN}/logging");
        assert_eq!(found(Method::PUT, &logging), refused(501, "NotImplemented"));
        assert_eq!(found(Method::POST, &logging), refused(405, "MethodNotAllowedException"));
        assert_eq!(found(Method::GET, "/lake"), refused(501, "UnknownOperationException"));
        assert_eq!(found(Method::GET, "/"), refused(501, "UnknownOperationException"));
        assert_eq!(found(Method::GET, "/buckets/lake"), refused(400, "BadRequestException"));
        let by_both = format!("/get-table?tableBucketARN={ARN}&tableArn={ARN}%2Ftable%2Fid");
        for path in ["/get-table", &by_both, &format!("/get-table?tableArn={ARN}")] {
            assert_eq!(found(Method::GET, path), refused(400, "BadRequestException"), "{path}");
        }
    }

    /// The model of AWS in botocore 1.44.8.
    #[test]
    fn every_operation_of_the_model_is_there_once() {
        let all = operation_names().chain(UNSERVED.iter().map(|(_, _, name)| *name));
        assert_eq!(all.collect::<BTreeSet<_>>().len(), 58);
        assert_eq!(ROWS.len() + UNSERVED.len(), 58);
    }
}
