//! Parses `xl.meta`: the versions of an object, their metadata, and the data of small ones.
//!
//! ```text
//! "XL2 " | major u16 | minor u16 | bin: the versions | u32: XXH64 of that, lower half | 1 | map: inline bytes
//!                                    └ 1.3: number, number, count, then for each version
//!                                          bin: header (a tuple), bin: version (a map)
//!                                      1.0 to 1.2: a map with "Versions", without a header each;
//!                                          1.0 and 1.1 have no checksum, 1.0 has no bytes behind it
//! ```
//! Everything except the first eight bytes is MessagePack. Inline data is keyed by version ID, or
//! `null`, and has block checksums like part files.

use std::collections::BTreeMap;

use twox_hash::XxHash64;

use super::msgpack::{Malformed, Reader};

/// The ID of the `null` version.
const NULL: [u8; 16] = [0; 16];
/// Limit of parts, above S3's limit.
const PARTS_MAX: u32 = 100_000;

/// The versions of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XlMeta<'b> {
    /// Versions, the newest first.
    pub versions: Vec<Version>,
    inline: &'b [u8],
}

/// A version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub id: [u8; 16],
    /// Modification time in nanoseconds since 1970.
    pub(crate) modified_ns: u64,
    /// `None` for a delete marker.
    pub object: Option<Object>,
}

/// The object of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Object {
    pub(crate) data_directory: [u8; 16],
    /// Number of data and parity drives of the erasure code.
    pub drives: (u64, u64),
    pub(crate) block_bytes: u64,
    pub(crate) checksum_algorithm: u64,
    pub(crate) part_numbers: Vec<u64>,
    /// Stored sizes of the parts.
    pub part_bytes: Vec<u64>,
    /// Sizes of the parts before they were compressed or encrypted; empty in old versions.
    pub(crate) part_actual_bytes: Vec<u64>,
    /// Stored size of the object.
    pub bytes: u64,
    /// MinIO's internal metadata; names in lower case.
    pub system: BTreeMap<String, Vec<u8>>,
    /// Client metadata; names in lower case.
    pub user: BTreeMap<String, String>,
    /// The version's data is in the format before 2020, which is not supported.
    pub(crate) is_legacy: bool,
}

impl Version {
    pub(super) fn is_null(&self) -> bool {
        self.id == NULL
    }

    /// The ID as MinIO shows it.
    pub(super) fn name(&self) -> String {
        if self.is_null() { "null".to_owned() } else { uuid(&self.id) }
    }
}

/// The UUID form of an ID, which names directories and versions.
pub(crate) fn uuid(id: &[u8; 16]) -> String {
    let digits = hex_simd::encode_to_string(id, hex_simd::AsciiCase::Lower);
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
    parts.join("-")
}

impl<'b> XlMeta<'b> {
    /// # Errors
    /// [`Malformed`] if it is damaged or of an unknown format.
    pub(super) fn parse(bytes: &'b [u8]) -> Result<XlMeta<'b>, Malformed> {
        let (head, body) = bytes.split_at_checked(8).ok_or(Malformed("it is cut off"))?;
        if head[..4] != *b"XL2 " {
            return Err(Malformed("it does not begin as xl.meta does"));
        }
        let (major, minor) = match &head[4..] {
            b"1   " => (1, 0),
            rest => {
                (u16::from_le_bytes([rest[0], rest[1]]), u16::from_le_bytes([rest[2], rest[3]]))
            }
        };
        if major != 1 {
            return Err(Malformed("its format is not known"));
        }
        if minor == 0 {
            return Ok(XlMeta { versions: unindexed(body)?, inline: &[] });
        }
        let mut reader = Reader::new(body);
        let versions = reader.bytes()?;
        if minor >= 2 {
            let sum = reader.unsigned()?;
            if sum != XxHash64::oneshot(0, versions) & u64::from(u32::MAX) {
                return Err(Malformed("the checksum of its versions does not match"));
            }
        }
        let versions = if minor >= 3 { indexed(versions)? } else { unindexed(versions)? };
        Ok(XlMeta { versions, inline: reader.rest() })
    }

    /// The inline data of a version, with its checksums, if it is stored inline.
    ///
    /// # Errors
    /// [`Malformed`].
    pub(super) fn inline(&self, version: &Version) -> Result<Option<&'b [u8]>, Malformed> {
        let Some((format, map)) = self.inline.split_first() else { return Ok(None) };
        if *format != 1 {
            return Err(Malformed("the format of its inline bytes is not known"));
        }
        let name = version.name();
        let directory = version.object.as_ref().map(|object| uuid(&object.data_directory));
        let mut reader = Reader::new(map);
        let mut by_directory = None;
        for _ in 0..reader.map()? {
            let (key, bytes) = (reader.bytes()?, reader.bytes()?);
            if key == name.as_bytes() {
                return Ok(Some(bytes));
            }
            if directory.as_ref().is_some_and(|directory| key == directory.as_bytes()) {
                by_directory = Some(bytes);
            }
        }
        Ok(by_directory)
    }
}

/// Parses versions that have a header each, in stored order.
fn indexed(bytes: &[u8]) -> Result<Vec<Version>, Malformed> {
    let mut reader = Reader::new(bytes);
    // Format versions of headers and metadata; newer ones may have another meaning.
    if reader.unsigned()? > 3 || reader.unsigned()? > 3 {
        return Err(Malformed("the format of its versions is not known"));
    }
    let mut versions = Vec::new();
    for _ in 0..reader.unsigned()? {
        reader.skip()?;
        versions.extend(version(&mut Reader::new(reader.bytes()?))?);
    }
    Ok(versions)
}

/// Parses the versions of formats before 1.3, and sorts them by time.
fn unindexed(bytes: &[u8]) -> Result<Vec<Version>, Malformed> {
    let mut reader = Reader::new(bytes);
    let mut versions = Vec::new();
    for _ in 0..reader.map()? {
        match reader.text()? {
            "Versions" => {
                for _ in 0..reader.array()? {
                    versions.extend(version(&mut reader)?);
                }
            }
            _ => reader.skip()?,
        }
    }
    versions.sort_by_key(|version: &Version| std::cmp::Reverse(version.modified_ns));
    Ok(versions)
}

/// Parses a version; `None` for entries that only record data to delete in another tier.
fn version(reader: &mut Reader<'_>) -> Result<Option<Version>, Malformed> {
    let mut kind = 0;
    let (mut object, mut marker, mut has_legacy) = (None, None, false);
    for _ in 0..reader.map()? {
        match reader.text()? {
            "Type" => kind = reader.unsigned()?,
            "V2Obj" => object = Some(object_version(reader)?),
            "DelObj" => marker = Some(delete_marker(reader)?),
            name => {
                has_legacy |= name == "V1Obj";
                reader.skip()?;
            }
        }
    }
    match (kind, object, marker) {
        (1, Some(version), _) => Ok(Some(version)),
        (2, _, Some(marker)) => Ok(marker),
        (3, ..) if has_legacy => {
            let object = Some(Object { is_legacy: true, ..Object::default() });
            Ok(Some(Version { id: NULL, modified_ns: 0, object }))
        }
        _ => Err(Malformed("a version is of no known type")),
    }
}

fn object_version(reader: &mut Reader<'_>) -> Result<Version, Malformed> {
    let mut version = Version { id: NULL, modified_ns: 0, object: None };
    let mut object = Object::default();
    for _ in 0..reader.map()? {
        match reader.text()? {
            "ID" => version.id = reader.id()?,
            "DDir" => object.data_directory = reader.id()?,
            "EcM" => object.drives.0 = reader.unsigned()?,
            "EcN" => object.drives.1 = reader.unsigned()?,
            "EcBSize" => object.block_bytes = reader.unsigned()?,
            "CSumAlgo" => object.checksum_algorithm = reader.unsigned()?,
            "PartNums" => object.part_numbers = numbers(reader)?,
            "PartASizes" => object.part_actual_bytes = numbers(reader)?,
            "PartSizes" => object.part_bytes = numbers(reader)?,
            "Size" => object.bytes = reader.unsigned()?,
            "MTime" => version.modified_ns = reader.unsigned()?,
            "MetaSys" => {
                for _ in 0..reader.map()? {
                    let name = reader.text()?.to_ascii_lowercase();
                    object.system.insert(name, reader.bytes()?.to_vec());
                }
            }
            "MetaUsr" => {
                for _ in 0..reader.map()? {
                    let name = reader.text()?.to_ascii_lowercase();
                    object.user.insert(name, reader.text()?.to_owned());
                }
            }
            _ => reader.skip()?,
        }
    }
    version.object = Some(object);
    Ok(version)
}

fn delete_marker(reader: &mut Reader<'_>) -> Result<Option<Version>, Malformed> {
    let mut version = Version { id: NULL, modified_ns: 0, object: None };
    let mut is_free = false;
    for _ in 0..reader.map()? {
        match reader.text()? {
            "ID" => version.id = reader.id()?,
            "MTime" => version.modified_ns = reader.unsigned()?,
            "MetaSys" => {
                for _ in 0..reader.map()? {
                    is_free |= reader.text()? == "x-minio-internal-free-version";
                    reader.skip()?;
                }
            }
            _ => reader.skip()?,
        }
    }
    Ok((!is_free).then_some(version))
}

fn numbers(reader: &mut Reader<'_>) -> Result<Vec<u64>, Malformed> {
    let count = reader.array()?;
    if count > PARTS_MAX {
        return Err(Malformed("it has too many parts"));
    }
    (0..count).map(|_| reader.unsigned()).collect()
}
