//! Finding parts of completed uploads.

use liteio_kv::Read;

use crate::error::StoreError;
use crate::meta::space;
use crate::meta::upload::{PartFacts, PartRecord};
use crate::name::UploadId;

/// The facts of part `number` of a completed list, which must exist.
pub(crate) fn read_facts(
    from: &impl Read,
    list: &UploadId,
    number: u16,
) -> Result<PartFacts, StoreError> {
    let place = space::part(list, number);
    match from.get(&place)? {
        Some(bytes) => PartFacts::decode(&place, &bytes),
        None => Err(missing(list, number)),
    }
}

/// Part `number` of a completed list, which must contain the byte at `position` of the object.
pub(crate) fn read_part(
    from: &impl Read,
    list: &UploadId,
    number: u16,
    position: u64,
) -> Result<PartRecord, StoreError> {
    let part = PartRecord::read(from, list, number)?.ok_or_else(|| missing(list, number))?;
    let start = part.facts.start;
    if !(start..start + part.facts.bytes).contains(&position) {
        return Err(StoreError::corrupt(format!("part {number} of {list} is out of place")));
    }
    Ok(part)
}

/// The number of the part with the byte at `position`: the last part that does not start after it.
/// A binary search: 14 look-ups among 10,000 parts.
pub(crate) fn find_part(
    from: &impl Read,
    list: &UploadId,
    count: u32,
    position: u64,
) -> Result<u16, StoreError> {
    let count = u16::try_from(count).map_err(|_| StoreError::corrupt("too many parts"))?;
    let (mut first, mut last) = (1, count);
    while first < last {
        let middle = first + (last - first).div_ceil(2);
        if read_facts(from, list, middle)?.start <= position {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    Ok(first)
}

fn missing(list: &UploadId, number: u16) -> StoreError {
    StoreError::corrupt(format!("part {number} of {list} is missing"))
}
