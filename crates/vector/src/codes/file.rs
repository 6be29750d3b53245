//! The codes of an index in a file beside its vectors, saved incrementally.
//!
//! Little-endian. `0..4096` the header ([`Header`]), then the centre as `f32`, zeros up to a
//! multiple of 4,096, then pages of one size. A page has a centroid or the codes of a segment, and
//! its own CRC. Saving overwrites changed pages in place and leaves the others. A page that is no
//! longer used loses its first 64 bytes.
//!
//! | Bytes of a page | Content |
//! |---|---|
//! | 0..8 | CRC-64 of the used bytes that follow |
//! | 8..12 | kind: 1 centroid, 2 segment |
//! | 12..16 | segment: number of entries; centroid: 1 while its partition is being drained |
//! | 16..24 | id of the partition |
//! | 24..32 | centroid: number of entries at which its partition is split |
//! | 64.. | the centroid as `f32`; or signs, factors, second bits, their factors, slots, marks |
//!
//! The file is never synced, and a crash may cut it off between any two writes. It is therefore
//! trusted as a whole (*current*) only if the checksum over all pages equals the one in the header,
//! and no slot was written again since. Otherwise each code is compared with its vector by its mark
//! before it counts, which takes a hundredth of the time of encoding. Codes in damaged pages, or of
//! partitions without a centroid, are made again.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crc_fast::CrcAlgorithm::Crc64Nvme;
use liteio_disk::{Disk, DiskFile, OpenMode};

use super::encode::Encoder;
use super::maker::Grain;
use super::segment::{BLOCK, NO_PAGE, NO_SLOT, SEGMENT, Segment};
use super::table::{Partition, Table};
use crate::config::Shape;
use crate::slots::{Opened, Stamp, metric_number};

const MAGIC: [u8; 8] = *b"liteioVC";
/// Format version. 1 and 2 had no partitions; 3 had larger ones, and limits of another kind.
const VERSION: u32 = 4;
const BLOCK_BYTES: usize = 4096;
const CRC_AT: usize = BLOCK_BYTES - 8;
const PAGE_HEADER: usize = 64;
const CENTROID: u32 = 1;
const CODES: u32 = 2;

/// Numbers that the file keeps for its owner: the limits of probing, and the vectors that they are
/// for.
pub(crate) type Notes = [f64; 5];

/// The notes of a file without any.
pub(super) const NO_NOTES: Notes = [0.0; 5];

/// The state of the file as this process last wrote or read it.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The CRC of each page; 0 for an unused page.
    crcs: Vec<u64>,
    /// The CRC of the header that was read or written last; `None` if the file must be rewritten.
    header: Option<u64>,
}

/// Codes read from a file.
pub(super) struct Loaded {
    pub(super) table: Table,
    pub(super) pages: Pages,
    pub(super) trained_at: usize,
    pub(super) grain: Grain,
    pub(super) notes: Notes,
    /// `true` if the codes belong to the current vectors and need no comparison.
    pub(super) is_current: bool,
}

/// The state to be saved.
pub(super) struct Saved<'saved> {
    pub(super) table: &'saved Table,
    /// The commit whose changes are all in the codes, and its number of slots; `None` if changes
    /// are missing.
    pub(super) stamp: Option<(Stamp, u32)>,
    pub(super) file_id: u64,
    pub(super) trained_at: usize,
    pub(super) grain: Grain,
    pub(super) notes: Notes,
}

impl Pages {
    /// Writes the changes since the last call to the file at `path`.
    ///
    /// # Errors
    /// The error of the disk. The next call writes everything that is missing.
    pub(super) fn save(
        &mut self,
        disk: &dyn Disk,
        path: &str,
        saved: &Saved<'_>,
    ) -> io::Result<()> {
        let encoder = &saved.table.encoder;
        let layout = Layout::of(encoder.shape());
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        // The file may have been deleted or replaced since. Pages may be overwritten only in the
        // file that this process knows.
        let is_ours = self.header.is_some() && header_crc(&*file)? == self.header;
        // Cleared until the new header is written. If a write fails in between, the next call
        // starts a new file.
        self.header = None;
        if !is_ours {
            file.set_len(0)?;
            self.crcs.clear();
            for (_, partition) in saved.table.all() {
                partition.page.store(NO_PAGE, Ordering::Relaxed);
                for segment in &partition.segments {
                    segment.page.store(NO_PAGE, Ordering::Relaxed);
                    segment.is_dirty.store(true, Ordering::Relaxed);
                }
            }
            let mut centre = bytemuck::cast_slice(encoder.centre()).to_vec();
            centre.resize(layout.pages_at - BLOCK_BYTES, 0);
            file.write_at(&centre, BLOCK_BYTES as u64)?;
        }
        // Pages that no partition or segment refers to any more are reused first.
        let mut is_used = vec![false; self.crcs.len()];
        for (_, partition) in saved.table.all() {
            let segments = partition.segments.iter().map(|segment| &segment.page);
            for page in std::iter::once(&partition.page).chain(segments) {
                if let Some(is_used) = is_used.get_mut(page.load(Ordering::Relaxed) as usize) {
                    *is_used = true;
                }
            }
        }
        let unused = |page: &u32| !is_used[*page as usize];
        let mut free: Vec<u32> = (0..is_used.len() as u32).filter(unused).collect();
        let mut bytes = Vec::with_capacity(layout.page_bytes);
        for (_, partition) in saved.table.all() {
            if partition.page.load(Ordering::Relaxed) == NO_PAGE {
                write_centroid(partition, &mut bytes);
                let page = free.pop().unwrap_or(self.crcs.len() as u32);
                self.write(&*file, &layout, page, &mut bytes)?;
                partition.page.store(page, Ordering::Relaxed);
            }
            for segment in &partition.segments {
                if !segment.is_dirty.load(Ordering::Relaxed) {
                    continue;
                }
                write_segment(segment, partition.id, &mut bytes);
                let page = match segment.page.load(Ordering::Relaxed) {
                    NO_PAGE => free.pop().unwrap_or(self.crcs.len() as u32),
                    page => page,
                };
                self.write(&*file, &layout, page, &mut bytes)?;
                segment.page.store(page, Ordering::Relaxed);
                segment.is_dirty.store(false, Ordering::Relaxed);
            }
        }
        // Zero the header of the pages that stay unused, or loading would find their old entries.
        for page in free {
            if self.crcs[page as usize] != 0 {
                file.write_at(&[0; PAGE_HEADER], layout.offset(page))?;
                self.crcs[page as usize] = 0;
            }
        }
        // The header is written last: its checksum covers the pages above.
        let header = Header {
            shape: encoder.shape(),
            pages: self.crcs.len() as u32,
            file_id: saved.file_id,
            stamp: saved.stamp.map_or((0, 0), |(stamp, slots)| (stamp.sequence, slots)),
            trained_at: saved.trained_at as u64,
            grain: saved.grain,
            check: check_of(&self.crcs),
            centre_crc: crc_fast::checksum(Crc64Nvme, bytemuck::cast_slice(encoder.centre())),
            unit: encoder.unit(),
            notes: saved.notes,
        };
        let (header, crc) = header.encode();
        file.write_at(&header, 0)?;
        self.header = Some(crc);
        Ok(())
    }

    /// Writes a page after filling in its CRC.
    fn write(
        &mut self,
        file: &dyn DiskFile,
        layout: &Layout,
        page: u32,
        bytes: &mut [u8],
    ) -> io::Result<()> {
        let crc = crc_fast::checksum(Crc64Nvme, &bytes[8..]);
        bytes[..8].copy_from_slice(&crc.to_le_bytes());
        file.write_at(bytes, layout.offset(page))?;
        if self.crcs.len() <= page as usize {
            self.crcs.resize(page as usize + 1, 0);
        }
        self.crcs[page as usize] = crc;
        Ok(())
    }
}

/// Reads the codes at `path`, if they belong to the slot file described by `opened`. `None` if they
/// are missing, belong to another file or version, or are damaged as a whole: then they are made
/// again.
pub(super) fn load(disk: &dyn Disk, path: &str, shape: Shape, opened: &Opened) -> Option<Loaded> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let block = read(&*file, 0, BLOCK_BYTES)?;
    let header = Header::decode(&block, shape)?;
    if header.file_id != opened.stamp.file_id {
        return None;
    }
    let layout = Layout::of(shape);
    let length = file.len().ok()?;
    // Checked before allocating: a damaged header must not cause a huge allocation. One page per
    // four slots is far more than an index needs.
    let pages_max = u64::from(opened.slots) / 4 + 4_096;
    if u64::from(header.pages) > pages_max {
        return None;
    }
    let centre = read(&*file, BLOCK_BYTES, shape.dimension() * 4)?;
    if crc_fast::checksum(Crc64Nvme, &centre) != header.centre_crc {
        return None;
    }
    let centre = floats(&centre).collect();
    let encoder = Arc::new(Encoder::new(shape, centre, header.unit));
    let mut crcs = Vec::new();
    let mut segments: HashMap<u64, Vec<Arc<Segment>>> = HashMap::new();
    let mut centroids = Vec::new();
    let mut bytes = vec![0; layout.page_bytes];
    for page in 0..header.pages {
        crcs.push(0);
        let wanted = length.saturating_sub(layout.offset(page)).min(layout.page_bytes as u64);
        let bytes = &mut bytes[..wanted as usize];
        // A page that cannot be read or decoded keeps the CRC 0, as an unused page: its entries are
        // made again.
        if file.read_at(bytes, layout.offset(page)).ok()? < bytes.len() {
            continue;
        }
        let Some(found) = Page::decode(bytes, &layout) else { continue };
        crcs[page as usize] = found.crc;
        if found.kind == CENTROID {
            centroids.push(found.centroid(page));
        } else {
            let segment = found.segment(page, encoder.words(), opened.slots);
            segments.entry(found.partition).or_default().push(Arc::new(segment));
        }
    }
    let mut table = Table::new(encoder);
    for centroid in centroids {
        let mut partition = centroid?;
        for segment in segments.remove(&partition.id).unwrap_or_default() {
            partition.push_segment(segment);
        }
        table.place(partition);
    }
    // Current: every page is the one that the header was written with, and every change of vectors
    // since is a change of a later commit that the slot file still reports.
    let (sequence, slots) = header.stamp;
    let is_current = check_of(&crcs) == header.check
        && (opened.codes_valid_from.max(1)..=opened.stamp.sequence).contains(&sequence)
        && slots <= opened.slots;
    let pages = Pages { crcs, header: Some(header_crc_of(&block)) };
    let (trained_at, notes) = (usize::try_from(header.trained_at).ok()?, header.notes);
    let grain = header.grain;
    // Without a centroid that accepts vectors (their pages may be lost) entries would have no
    // place.
    let is_usable = table.centroids.has_takers();
    is_usable.then_some(Loaded { table, pages, trained_at, grain, notes, is_current })
}

/// Byte positions in a file for vectors of one shape.
struct Layout {
    pages_at: usize,
    page_bytes: usize,
    width: usize,
}

impl Layout {
    fn of(shape: Shape) -> Self {
        let width = shape.dimension().next_multiple_of(64);
        let pages_at = BLOCK_BYTES + (shape.dimension() * 4).next_multiple_of(BLOCK_BYTES);
        let page_bytes = PAGE_HEADER + segment_bytes(width / 64).max(width * 4);
        Self { pages_at, page_bytes, width }
    }

    fn offset(&self, page: u32) -> u64 {
        self.pages_at as u64 + u64::from(page) * self.page_bytes as u64
    }
}

fn segment_bytes(words: usize) -> usize {
    // Per entry: signs and second bits (8 + 8 bytes a word); square, scale, ones, second scale,
    // slot and mark (4 bytes each).
    SEGMENT * (words * 16 + 6 * 4)
}

fn page_header(kind: u32, count: u32, id: u64, split_at: u64, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&split_at.to_le_bytes());
    bytes.resize(PAGE_HEADER, 0);
}

fn write_centroid(partition: &Partition, bytes: &mut Vec<u8>) {
    let is_draining = u32::from(partition.is_draining);
    page_header(CENTROID, is_draining, partition.id, partition.split_at as u64, bytes);
    bytes.extend_from_slice(bytemuck::cast_slice(&partition.centroid));
}

fn write_segment(segment: &Segment, id: u64, bytes: &mut Vec<u8>) {
    page_header(CODES, segment.count as u32, id, 0, bytes);
    let at = bytes.len();
    for words in &segment.signs {
        bytes.extend_from_slice(bytemuck::cast_slice(&words.0));
    }
    // A page has room for all blocks, also for those without entries.
    bytes.resize(at + SEGMENT * segment.words * 8, 0);
    for factors in &segment.factors {
        for factor in [&factors.square, &factors.scale, &factors.ones.map(f32::from)] {
            bytes.extend_from_slice(bytemuck::cast_slice(factor));
        }
    }
    let at = bytes.len();
    bytes.extend_from_slice(bytemuck::cast_slice(&segment.second));
    bytes.resize(at + SEGMENT * segment.words * 8, 0);
    for index in 0..SEGMENT {
        bytes.extend_from_slice(&segment.second_scale(index).to_le_bytes());
    }
    for index in 0..SEGMENT {
        bytes.extend_from_slice(&segment.slot(index).to_le_bytes());
    }
    bytes.extend_from_slice(bytemuck::cast_slice(&segment.marks));
}

/// A page whose CRC is right.
struct Page<'page> {
    crc: u64,
    kind: u32,
    count: u32,
    partition: u64,
    split_at: u64,
    content: &'page [u8],
}

impl<'page> Page<'page> {
    fn decode(bytes: &'page [u8], layout: &Layout) -> Option<Self> {
        let (header, content) = bytes.split_at_checked(PAGE_HEADER)?;
        let (numbers, _) = header.as_chunks::<8>();
        let [crc, kind, partition, split_at] =
            [0, 1, 2, 3].map(|index: usize| u64::from_le_bytes(numbers[index]));
        let (kind, count) = (kind as u32, (kind >> 32) as u32);
        let used = match kind {
            CENTROID => layout.width * 4,
            CODES if count as usize <= SEGMENT => segment_bytes(layout.width / 64),
            _ => return None,
        };
        let content = content.get(..used)?;
        if crc_fast::checksum(Crc64Nvme, &bytes[8..PAGE_HEADER + used]) != crc {
            return None;
        }
        Some(Self { crc, kind, count, partition, split_at, content })
    }

    /// The partition of a centroid page; `None` if an element is not finite. The CRC is right, so
    /// only a foreign writer could have stored such an element.
    fn centroid(&self, page: u32) -> Option<Partition> {
        let centroid: Arc<[f32]> = floats(self.content).collect();
        let split_at = usize::try_from(self.split_at).unwrap_or(usize::MAX);
        let mut partition = Partition::new(self.partition, centroid, split_at);
        partition.is_draining = self.count != 0;
        *partition.page.get_mut() = page;
        partition.centroid.iter().all(|element| element.is_finite()).then_some(partition)
    }

    fn segment(&self, page: u32, words: usize, slots: u32) -> Segment {
        let mut segment = Segment::new(words);
        segment.grow_to(self.count as usize);
        segment.count = self.count as usize;
        let (signs, rest) = self.content.split_at(SEGMENT * words * 8);
        let (numbers, _) = signs.as_chunks::<8>();
        let places = segment.signs.iter_mut().flat_map(|words| &mut words.0);
        places.zip(numbers).for_each(|(place, bytes)| *place = u64::from_le_bytes(*bytes));
        let (factors, rest) = rest.split_at(SEGMENT * 12);
        let blocks = factors.chunks_exact(BLOCK * 12);
        for (place, factors) in segment.factors.iter_mut().zip(blocks) {
            let mut factors = floats(factors);
            let mut next = || std::array::from_fn(|_| factors.next().unwrap_or_default());
            (place.square, place.scale) = (next(), next());
            place.ones = next().map(|ones| ones as u16);
        }
        let (second, rest) = rest.split_at(SEGMENT * words * 8);
        let (numbers, _) = second.as_chunks::<8>();
        let pairs = segment.second.iter_mut().zip(numbers);
        pairs.for_each(|(place, bytes)| *place = u64::from_le_bytes(*bytes));
        let (scales, rest) = rest.split_at(SEGMENT * 4);
        floats(scales).enumerate().for_each(|(index, it)| segment.set_second_scale(index, it));
        let (numbers, _) = rest.as_chunks::<4>();
        let (found, marks) = numbers.split_at(SEGMENT);
        for (place, slot) in segment.slots.iter_mut().zip(found) {
            let slot = u32::from_le_bytes(*slot);
            *place.get_mut() = if slot < slots { slot } else { NO_SLOT };
        }
        let marks = segment.marks.iter_mut().zip(marks);
        marks.for_each(|(place, mark)| *place = u32::from_le_bytes(*mark));
        *segment.page.get_mut() = page;
        *segment.is_dirty.get_mut() = false;
        segment
    }
}

/// The header of the file.
///
/// | Bytes | Content |
/// |---|---|
/// | 0..8 | magic |
/// | 8..12 | version |
/// | 12..16 | dimension |
/// | 16..20 | metric |
/// | 20..24 | number of pages |
/// | 24..32 | id of the slot file |
/// | 32..40 | sequence of the commit whose changes are all in the codes, or 0 |
/// | 40..48 | number of slots at that commit |
/// | 48..56 | number of vectors when centroids were trained |
/// | 56..64 | checksum over the pages |
/// | 64..72 | CRC-64 of the centre |
/// | 72..80 | unit as `f32` |
/// | 80..120 | notes: limits of excesses as `f64`, and the vectors that they are for |
/// | 120..128 | 1 for coarse partitions |
/// | 4088..4096 | CRC-64 of everything before; zeros in between |
struct Header {
    shape: Shape,
    pages: u32,
    file_id: u64,
    stamp: (u64, u32),
    trained_at: u64,
    check: u64,
    centre_crc: u64,
    unit: f32,
    notes: Notes,
    grain: Grain,
}

impl Header {
    /// The bytes of the header and their CRC.
    fn encode(&self) -> (Vec<u8>, u64) {
        let mut bytes = Vec::with_capacity(BLOCK_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.shape.dimension() as u32).to_le_bytes());
        bytes.extend_from_slice(&metric_number(self.shape.metric()).to_le_bytes());
        bytes.extend_from_slice(&self.pages.to_le_bytes());
        bytes.extend_from_slice(&self.file_id.to_le_bytes());
        bytes.extend_from_slice(&self.stamp.0.to_le_bytes());
        bytes.extend_from_slice(&u64::from(self.stamp.1).to_le_bytes());
        bytes.extend_from_slice(&self.trained_at.to_le_bytes());
        bytes.extend_from_slice(&self.check.to_le_bytes());
        bytes.extend_from_slice(&self.centre_crc.to_le_bytes());
        bytes.extend_from_slice(&u64::from(self.unit.to_bits()).to_le_bytes());
        self.notes.iter().for_each(|note| bytes.extend_from_slice(&note.to_le_bytes()));
        bytes.extend_from_slice(&u64::from(self.grain == Grain::Coarse).to_le_bytes());
        bytes.resize(CRC_AT, 0);
        let crc = crc_fast::checksum(Crc64Nvme, &bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        (bytes, crc)
    }

    /// The header; `None` unless it is undamaged, of this version, and for vectors of this shape.
    fn decode(bytes: &[u8], shape: Shape) -> Option<Self> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |index: usize| u64::from_le_bytes(numbers[index]);
        let is_whole = bytes[..8] == MAGIC
            && header_crc_of(bytes) == crc_fast::checksum(Crc64Nvme, &bytes[..CRC_AT]);
        let halves = |index: usize| (number(index) as u32, (number(index) >> 32) as u32);
        let ((version, dimension), (metric, pages)) = (halves(1), halves(2));
        let unit = f32::from_bits(number(9) as u32);
        let is_ours = is_whole
            && version == VERSION
            && dimension as usize == shape.dimension()
            && metric == metric_number(shape.metric())
            && unit.is_normal();
        is_ours.then(|| {
            Some(Self {
                shape,
                pages,
                file_id: number(3),
                stamp: (number(4), u32::try_from(number(5)).ok()?),
                trained_at: number(6),
                check: number(7),
                centre_crc: number(8),
                unit,
                notes: [10, 11, 12, 13, 14].map(|index| f64::from_bits(number(index))),
                grain: if number(15) == 0 { Grain::Fine } else { Grain::Coarse },
            })
        })?
    }
}

fn header_crc_of(bytes: &[u8]) -> u64 {
    let (numbers, _) = bytes.as_chunks::<8>();
    numbers.get(CRC_AT / 8).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The CRC in the file's header, which tells whether it is still the header that this process
/// wrote.
fn header_crc(file: &dyn DiskFile) -> io::Result<Option<u64>> {
    let mut bytes = [0; 8];
    let read = file.read_at(&mut bytes, CRC_AT as u64)?;
    Ok((read == bytes.len()).then(|| u64::from_le_bytes(bytes)))
}

/// Checksum over the pages: a sum of mixed CRCs, each with its page number, so that it does not
/// depend on the order of computation but does depend on the place of each page.
fn check_of(crcs: &[u64]) -> u64 {
    let mixed = |(number, crc): (u64, &u64)| {
        let mixed =
            (crc ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ (mixed >> 29)
    };
    let used = (1..).zip(crcs).filter(|(_, crc)| **crc != 0);
    used.map(mixed).fold(0, u64::wrapping_add)
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

fn read(file: &dyn DiskFile, offset: usize, bytes: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![0; bytes];
    let read = file.read_at(&mut buffer, offset as u64).ok()?;
    (read == bytes).then_some(buffer)
}
