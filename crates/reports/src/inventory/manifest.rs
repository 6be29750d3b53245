//! Names of the objects of an inventory, and its manifest.

use liteio_s3::bucket_inventory::{Format, Inventory};
use liteio_wire::origin::timestamp;
use md5::{Digest as _, Md5};
use serde_json::json;

use super::column::{Column, Kind};

/// The names of the objects of one inventory. A run that is repeated after a restart has the same ones, so it replaces
/// what the first attempt has written.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// `PREFIX/SOURCE/ID`
    base: String,
    started_ms: u64,
    extension: &'static str,
    seed: String,
}

/// A data file of an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DataFile {
    pub(super) key: String,
    pub(super) bytes: u64,
    pub(super) md5: [u8; 16],
}

impl Names {
    /// The names of an inventory of the bucket `source`, which was made at `created_ms`, that started at `started_ms`.
    pub(super) fn new(
        inventory: &Inventory,
        source: &str,
        created_ms: u64,
        started_ms: u64,
    ) -> Names {
        let id = &inventory.id;
        let base = match inventory.target_prefix.as_deref() {
            None | Some("") => format!("{source}/{id}"),
            Some(prefix) => format!("{prefix}/{source}/{id}"),
        };
        let seed = format!("{source}/{created_ms}/{id}/{started_ms}");
        Names { base, started_ms, extension: extension(inventory.format), seed }
    }

    fn at(&self, format: &str) -> String {
        timestamp(self.started_ms).strftime(format).to_string()
    }

    /// The key of the data file with this number.
    pub(super) fn data(&self, number: usize) -> String {
        let digest: [u8; 16] = Md5::digest(format!("{}/{number}", self.seed)).into();
        let text = hex(&digest);
        let mut parts = [0, 8, 12, 16, 20, 32].windows(2).map(|it| &text[it[0]..it[1]]);
        let mut part = || parts.next().unwrap_or_default();
        let (a, b, c, d, e) = (part(), part(), part(), part(), part());
        format!("{}/data/{a}-{b}-{c}-{d}-{e}.{}", self.base, self.extension)
    }

    /// The key of `manifest.json`.
    pub(super) fn manifest(&self) -> String {
        format!("{}/{}/manifest.json", self.base, self.at("%Y-%m-%dT%H-%MZ"))
    }

    /// The key of `manifest.checksum`, which is written last.
    pub(super) fn checksum(&self) -> String {
        format!("{}/{}/manifest.checksum", self.base, self.at("%Y-%m-%dT%H-%MZ"))
    }

    /// The key of the list of data files for Apache Hive.
    pub(super) fn symlink(&self) -> String {
        format!("{}/hive/dt={}/symlink.txt", self.base, self.at("%Y-%m-%d-%H-%M"))
    }
}

fn extension(format: Format) -> &'static str {
    match format {
        Format::Csv => "csv.gz",
        Format::Parquet => "parquet",
    }
}

/// The text of `manifest.json`.
pub(super) fn manifest(
    inventory: &Inventory,
    source: &str,
    started_ms: u64,
    columns: &[Column],
    files: &[DataFile],
) -> String {
    let files: Vec<_> = files
        .iter()
        .map(|file| json!({ "key": file.key, "size": file.bytes, "MD5checksum": hex(&file.md5) }))
        .collect();
    let (format, schema) = match inventory.format {
        Format::Csv => {
            let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
            ("CSV", names.join(", "))
        }
        Format::Parquet => ("Parquet", parquet_schema(columns)),
    };
    let manifest = json!({
        "sourceBucket": source,
        "destinationBucket": inventory.target_arn,
        "version": "2016-11-30",
        "creationTimestamp": started_ms.to_string(),
        "fileFormat": format,
        "fileSchema": schema,
        "files": files,
    });
    // Pretty, as on AWS; a value of JSON always has a text.
    serde_json::to_string_pretty(&manifest).unwrap_or_default()
}

/// The schema as AWS writes it.
fn parquet_schema(columns: &[Column]) -> String {
    let fields = columns.iter().map(|column| {
        let repetition = if column.is_required() { "required" } else { "optional" };
        let name = column.parquet_name();
        match column.kind() {
            Kind::Text => format!("{repetition} binary {name} (STRING);"),
            Kind::Flag => format!("{repetition} boolean {name};"),
            Kind::Number => format!("{repetition} int64 {name};"),
            Kind::Time => format!("{repetition} int64 {name} (TIMESTAMP(MILLIS,true));"),
        }
    });
    let fields: Vec<_> = fields.collect();
    format!("message s3.inventory {{ {} }}", fields.join(" "))
}

/// The text of `symlink.txt`.
pub(super) fn symlink(target: &str, files: &[DataFile]) -> String {
    files.iter().map(|file| format!("s3://{target}/{}\n", file.key)).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
