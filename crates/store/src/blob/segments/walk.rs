//! The frames of a segment, found by their marks.

use std::io;

use liteio_disk::DiskFile;

use super::BLOCK;
use super::mark::{self, MARK_BYTES};
use super::place::{Place, SegmentName};

/// Blocks that are read at once where there is no frame.
const WINDOW_BLOCKS: u32 = 64;

/// Calls `found` with every frame, the last first.
///
/// A frame ends with a mark, which tells where it begins: the next mark is before that. Where there
/// is none (space that was not written or given back, a damaged mark) the walk goes back block by
/// block. A body cannot pretend to be a frame, since its client does not know the nonce.
pub(super) fn walk(
    file: &dyn DiskFile,
    name: SegmentName,
    found: &mut dyn FnMut(Place),
) -> io::Result<()> {
    let is_frame = |mark: Option<&[u8; MARK_BYTES]>, end: u32| {
        let (place, _) = mark::decode(mark?)?;
        (place.segment == name && place.end() == end).then_some(place)
    };
    let mut end = u32::try_from(file.len()? / BLOCK as u64).unwrap_or(u32::MAX).min(1 << 16);
    let mut window = Vec::new();
    while end > 0 {
        let mut last = [0; MARK_BYTES];
        read(file, &mut last, u64::from(end) * BLOCK as u64 - MARK_BYTES as u64)?;
        if let Some(place) = is_frame(Some(&last), end) {
            found(place);
            end = u32::from(place.start);
            continue;
        }
        let first = end.saturating_sub(WINDOW_BLOCKS);
        window.resize((end - first) as usize * BLOCK, 0);
        read(file, &mut window, u64::from(first) * BLOCK as u64)?;
        for block in window.chunks_exact(BLOCK).rev() {
            if is_frame(block.last_chunk(), end).is_some() {
                break;
            }
            end -= 1;
        }
    }
    Ok(())
}

/// Fills `buf`; zeros behind the end of the file, which may be cut meanwhile.
fn read(file: &dyn DiskFile, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let count = file.read_at(buf, offset)?;
    buf[count..].fill(0);
    Ok(())
}
