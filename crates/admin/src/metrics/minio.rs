//! Metrics with the names of MinIO's version 2, for existing dashboards and alerts.
//!
//! The server appears as a cluster of one node with one drive. MinIO's metrics of features that do
//! not exist here (healing, replication, tiers, KMS, traffic between nodes) are left out.

use liteio_store::Usage;

use super::figures::Figures;
use super::page::{Column, Format, Kind, Label, Page};
use super::requests::Figures as RequestFigures;

/// The node's label.
const SERVER: Label<'static> = ("server", "liteio");

/// The pages of MinIO's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Cluster,
    Node,
    Bucket,
    /// All metrics.
    All,
}

impl Part {
    /// The page with this name.
    pub(super) fn named(name: &str) -> Option<Part> {
        match name {
            "cluster" => Some(Part::Cluster),
            "node" => Some(Part::Node),
            "bucket" => Some(Part::Bucket),
            _ => None,
        }
    }
}

/// The metrics of a page.
pub(super) fn page(figures: &Figures, part: Part) -> String {
    let mut page = Page::new(Format::Text);
    if matches!(part, Part::Cluster | Part::All) {
        write_cluster(&mut page, figures);
    }
    if matches!(part, Part::Bucket | Part::All) {
        write_buckets(&mut page, figures);
    }
    if matches!(part, Part::Node | Part::All) {
        write_node(&mut page, figures);
    }
    // MinIO reports requests both for the cluster and for each node.
    if part != Part::Bucket {
        write_requests(&mut page, figures);
        let mut version = page.metric("minio_software_version_info", Kind::Gauge, "The version.");
        version.sample(&[SERVER, ("version", env!("CARGO_PKG_VERSION"))], 1);
    }
    page.finish()
}

fn gauge(page: &mut Page, name: &'static str, help: &str, value: impl std::fmt::Display) {
    page.metric(name, Kind::Gauge, help).sample(&[SERVER], value);
}

fn write_cluster(page: &mut Page, figures: &Figures) {
    let store = &figures.store;
    if let Some((free, total)) = store.space {
        gauge(page, "minio_cluster_capacity_raw_free_bytes", "Free bytes of the device.", free);
        gauge(page, "minio_cluster_capacity_raw_total_bytes", "Bytes of the device.", total);
        gauge(page, "minio_cluster_capacity_usable_free_bytes", "Free bytes of the device.", free);
        gauge(page, "minio_cluster_capacity_usable_total_bytes", "Bytes of the device.", total);
    }
    let Usage { objects, versions, delete_markers, bytes } = store.buckets.total;
    gauge(page, "minio_cluster_usage_object_total", "Objects.", objects);
    gauge(page, "minio_cluster_usage_version_total", "Versions, with delete markers.", versions);
    gauge(page, "minio_cluster_usage_deletemarker_total", "Delete markers.", delete_markers);
    gauge(page, "minio_cluster_usage_total_bytes", "Bytes of all versions.", bytes);
    gauge(page, "minio_cluster_bucket_total", "Buckets.", store.buckets.count);
    let (online, offline) = (u8::from(store.is_ready), u8::from(!store.is_ready));
    gauge(page, "minio_cluster_drive_online_total", "Drives that can be written to.", online);
    gauge(page, "minio_cluster_drive_offline_total", "Drives that cannot.", offline);
    gauge(page, "minio_cluster_drive_total", "Drives.", 1);
    gauge(page, "minio_cluster_nodes_online_total", "Nodes that answer.", 1);
    gauge(page, "minio_cluster_nodes_offline_total", "Nodes that do not.", 0);
    gauge(page, "minio_cluster_write_quorum", "Drives that a write needs.", 1);
    gauge(page, "minio_cluster_health_status", "1 while everything can be written.", online);
}

fn write_buckets(page: &mut Page, figures: &Figures) {
    let metrics: [Column<Usage>; 4] = [
        ("minio_bucket_usage_object_total", "Objects of a bucket.", |it| it.objects),
        ("minio_bucket_usage_version_total", "Versions of a bucket.", |it| it.versions),
        ("minio_bucket_usage_deletemarker_total", "Delete markers of a bucket.", |it| {
            it.delete_markers
        }),
        ("minio_bucket_usage_total_bytes", "Bytes of all versions of a bucket.", |it| it.bytes),
    ];
    for (name, help, of) in metrics {
        let mut metric = page.metric(name, Kind::Gauge, help);
        for (bucket, usage) in figures.store.buckets.labelled() {
            metric.sample(&[("bucket", bucket), SERVER], of(usage));
        }
    }
    let buckets = &figures.store.buckets;
    let mut metric =
        page.metric("minio_bucket_quota_total_bytes", Kind::Gauge, "Quota of a bucket.");
    for (bucket, bytes) in &buckets.quotas {
        metric.sample(&[("bucket", bucket), SERVER], *bytes);
    }
    let help = "Bytes of bodies of requests to a bucket.";
    let mut metric = page.metric("minio_bucket_traffic_received_bytes", Kind::Gauge, help);
    for (bucket, moved) in &buckets.traffic {
        metric.sample(&[("bucket", bucket), SERVER], moved.received);
    }
    let help = "Bytes of bodies of answers about a bucket.";
    let mut metric = page.metric("minio_bucket_traffic_sent_bytes", Kind::Gauge, help);
    for (bucket, moved) in &buckets.traffic {
        metric.sample(&[("bucket", bucket), SERVER], moved.sent);
    }
}

fn write_node(page: &mut Page, figures: &Figures) {
    let process = &figures.process;
    let mut cpu = page.metric(
        "minio_node_process_cpu_total_seconds",
        Kind::Counter,
        "Time of processors that the process took.",
    );
    cpu.sample(&[SERVER], process.cpu_seconds);
    for (name, help, value) in [
        ("minio_node_process_resident_memory_bytes", "Memory.", process.resident_bytes),
        ("minio_node_process_virtual_memory_bytes", "Addresses.", process.virtual_bytes),
        ("minio_node_file_descriptor_open_total", "Open files.", process.open_files),
        ("minio_node_file_descriptor_limit_total", "The most of them.", process.open_files_max),
    ] {
        value.iter().for_each(|value| gauge(page, name, help, value));
    }
    let started = process.started_seconds;
    gauge(page, "minio_node_process_starttime_seconds", "Start, in seconds since 1970.", started);
    let uptime = (jiff::Timestamp::now().as_second() as f64 - started).max(0.0);
    gauge(page, "minio_node_process_uptime_seconds", "Time since the start.", uptime);
    if let Some((free, total)) = figures.store.space {
        let drive: [Label<'_>; 2] = [("drive", "data"), SERVER];
        for (name, help, value) in [
            ("minio_node_drive_free_bytes", "Free bytes of the device.", free),
            ("minio_node_drive_total_bytes", "Bytes of the device.", total),
            ("minio_node_drive_used_bytes", "Bytes in use.", total.saturating_sub(free)),
        ] {
            page.metric(name, Kind::Gauge, help).sample(&drive, value);
        }
    }
}

fn write_requests(page: &mut Page, figures: &Figures) {
    let s3 = || figures.requests.iter().filter(|it| it.is_s3);
    let metrics: [Column<RequestFigures>; 5] = [
        ("minio_s3_requests_total", "Requests.", |it| it.classes.iter().sum()),
        ("minio_s3_requests_errors_total", "Requests with errors.", |it| {
            it.classes[4] + it.classes[5]
        }),
        ("minio_s3_requests_4xx_errors_total", "Requests with a status of 4xx.", |it| {
            it.classes[4]
        }),
        ("minio_s3_requests_5xx_errors_total", "Requests with a status of 5xx.", |it| {
            it.classes[5]
        }),
        ("minio_s3_requests_canceled_total", "Requests whose client went away.", |it| {
            it.classes[0]
        }),
    ];
    for (name, help, of) in metrics {
        let mut metric = page.metric(name, Kind::Counter, help);
        for figures in s3().filter(|it| of(it) > 0) {
            metric.sample(&[("api", &api(figures.operation)), SERVER], of(figures));
        }
    }
    let in_flight = figures.budget.iter().find(|(name, ..)| *name == "requests");
    let in_flight = in_flight.map_or(0, |(_, used, _)| *used);
    let help = "Requests that are being answered.";
    gauge(page, "minio_s3_requests_inflight_total", help, in_flight);
    let received: u64 = s3().map(|it| it.bytes_in).sum();
    let sent: u64 = s3().map(|it| it.bytes_out).sum();
    let mut traffic = |name, help, value| {
        page.metric(name, Kind::Counter, help).sample(&[SERVER], value);
    };
    traffic("minio_s3_traffic_received_bytes", "Bytes of bodies of requests.", received);
    traffic("minio_s3_traffic_sent_bytes", "Bytes of bodies of answers.", sent);
}

/// Operations whose handlers have other names in MinIO (`cmd/api-router.go`).
const APIS: [(&str, &str); 18] = [
    ("CreateBucket", "putbucket"),
    ("CreateMultipartUpload", "newmultipartupload"),
    ("DeleteBucketReplication", "deletebucketreplicationconfig"),
    ("DeleteObjects", "deletemultipleobjects"),
    ("GetBucketAccelerateConfiguration", "getbucketaccelerate"),
    ("GetBucketLifecycleConfiguration", "getbucketlifecycle"),
    ("GetBucketNotificationConfiguration", "getbucketnotification"),
    ("GetBucketReplication", "getbucketreplicationconfig"),
    ("GetObjectLockConfiguration", "getbucketobjectlockconfig"),
    ("ListObjects", "listobjectsv1"),
    ("ListParts", "listobjectparts"),
    ("PostObject", "postpolicybucket"),
    ("PutBucketLifecycleConfiguration", "putbucketlifecycle"),
    ("PutBucketNotificationConfiguration", "putbucketnotification"),
    ("PutBucketReplication", "putbucketreplicationconfig"),
    ("PutObjectLockConfiguration", "putbucketobjectlockconfig"),
    ("UploadPart", "putobjectpart"),
    ("UploadPartCopy", "copyobjectpart"),
];

/// MinIO's name of an operation: its handler's name in lower case.
fn api(operation: &str) -> String {
    let other = APIS.iter().find(|(name, _)| *name == operation);
    other.map_or_else(|| operation.to_ascii_lowercase(), |(_, api)| (*api).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_names_of_minios_handlers() {
        for (operation, expected) in [
            ("GetObject", "getobject"),
            ("CreateBucket", "putbucket"),
            ("GetBucketNotificationConfiguration", "getbucketnotification"),
            ("PutObjectLockConfiguration", "putbucketobjectlockconfig"),
        ] {
            assert_eq!(api(operation), expected);
        }
    }
}
