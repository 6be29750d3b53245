//! The frames of a segment, found by their marks.

use std::io;

use liteio_disk::DiskFile;

use super::BLOCK;
use super::mark::{self, MARK_BYTES};
use super::place::{Place, SegmentName};

/// Blocks that are read at once where there is no frame.
const WINDOW_BLOCKS: u32 = 64;

/// A part of a segment as the walk sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Frame(Place),
    /// The number of a block that is in no frame although it has bytes: an append was cut, or a mark
    /// is damaged and the frame before it is whole.
    Stray(u32),
}

/// Calls `found` with every frame and every stray block, the last first.
///
/// A frame ends with a mark, which tells where it begins: the next mark is before that. Where there
/// is none (space that was not written or given back, frames of an earlier life, a damaged mark) the
/// walk goes back block by block. A body cannot pretend to be a frame, since its client does not
/// know the nonce.
pub(super) fn walk(
    file: &dyn DiskFile,
    name: SegmentName,
    found: &mut dyn FnMut(Found),
) -> io::Result<()> {
    let frame = |mark: Option<&[u8; MARK_BYTES]>, end: u32| {
        mark::decode(mark?).map(|(place, _)| place).filter(|place| place.end() == end)
    };
    let mut end = u32::try_from(file.len()? / BLOCK as u64).unwrap_or(u32::MAX).min(1 << 16);
    // Where the last frame of an earlier life begins; this life may have overwritten its beginning.
    let mut earlier_from = u32::MAX;
    let mut window = Vec::new();
    while end > 0 {
        let mut last = [0; MARK_BYTES];
        read(file, &mut last, u64::from(end) * BLOCK as u64 - MARK_BYTES as u64)?;
        if let Some(place) = frame(Some(&last), end).filter(|place| place.segment == name) {
            found(Found::Frame(place));
            end = u32::from(place.start);
            continue;
        }
        let first = end.saturating_sub(WINDOW_BLOCKS);
        window.resize((end - first) as usize * BLOCK, 0);
        read(file, &mut window, u64::from(first) * BLOCK as u64)?;
        for block in window.chunks_exact(BLOCK).rev() {
            match frame(block.last_chunk(), end) {
                Some(place) if place.segment == name => break,
                Some(place) => earlier_from = earlier_from.min(u32::from(place.start)),
                None => {}
            }
            end -= 1;
            if end < earlier_from && block.iter().any(|byte| *byte != 0) {
                found(Found::Stray(end));
            }
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
