//! The codes of an index in a file beside its vectors, saved as they come.
//!
//! Little-endian. `0..4096` the header ([`Header`]), then the centre as `f32`, zeros up to a multiple of 4,096,
//! then pages of one size. A page has a centroid or the codes of a segment, and a CRC of its own: what has
//! changed is written in place, the rest stays. A page that is no longer used loses its first 64 bytes.
//!
//! | Bytes of a page | |
//! |---|---|
//! | 0..8 | CRC-64 of all that follows and is used |
//! | 8..12 | 1 a centroid, 2 a segment |
//! | 12..16 | entries of a segment; 1 for a centroid whose partition is being drained |
//! | 16..24 | id of the partition |
//! | 24..32 | of a centroid, the entries at which its partition is split |
//! | 64.. | the centroid as `f32`; or signs, factors, second bits, their factors, slots, marks |
//!
//! The file is never synced, and may be cut off between any two writes. So it is taken as a whole only if the
//! sum over all pages is that of the header, and no slot was written again since (*current*). Otherwise every
//! code is compared with its vector by its mark before it counts, which takes a hundredth of making it; codes
//! in pages that are damaged, or of partitions without a centroid, are made again.

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
/// 1 and 2 had no partitions, 3 had larger ones, and limits of another kind.
const VERSION: u32 = 4;
const BLOCK_BYTES: usize = 4096;
const CRC_AT: usize = BLOCK_BYTES - 8;
const PAGE_HEADER: usize = 64;
const CENTROID: u32 = 1;
const CODES: u32 = 2;

/// Numbers that the file keeps for its owner.
pub(crate) type Notes = [f64; 5];

/// Says that there are none.
pub(super) const NO_NOTES: Notes = [0.0; 5];

/// The file as this process has written it.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The CRC of each page; 0 for one that is not used.
    crcs: Vec<u64>,
    /// The CRC of the header that was read or written last; `None` if the file is to be written anew.
    header: Option<u64>,
}

/// The codes that were in a file.
pub(super) struct Loaded {
    pub(super) table: Table,
    pub(super) pages: Pages,
    pub(super) trained_at: usize,
    pub(super) grain: Grain,
    pub(super) notes: Notes,
    /// `true` if the codes are those of the vectors without being compared.
    pub(super) is_current: bool,
}

/// The state that is saved.
pub(super) struct Saved<'saved> {
    pub(super) table: &'saved Table,
    /// The commit up to which all changes are in the codes, with its number of slots; `None` if there is none.
    pub(super) stamp: Option<(Stamp, u32)>,
    pub(super) file_id: u64,
    pub(super) trained_at: usize,
    pub(super) grain: Grain,
    pub(super) notes: Notes,
}

impl Pages {
    /// Writes what has changed to the file at `path`.
    ///
    /// # Errors
    /// The error of the disk. The next call writes what is missing.
    pub(super) fn save(
        &mut self,
        disk: &dyn Disk,
        path: &str,
        saved: &Saved<'_>,
    ) -> io::Result<()> {
        let encoder = &saved.table.encoder;
        let layout = Layout::of(encoder.shape());
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        let is_ours = self.header.is_some() && header_crc(&*file)? == self.header;
        // Without a header there is no file, should this end before the last write.
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
        for page in free {
            if self.crcs[page as usize] != 0 {
                file.write_at(&[0; PAGE_HEADER], layout.offset(page))?;
                self.crcs[page as usize] = 0;
            }
        }
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

    /// Writes a page, whose CRC is still missing.
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

/// Reads the codes at `path`, if they are those of the slot file that `opened` describes. `None` when they are
/// missing, of another file or version, or nothing of them is whole: then they have to be made.
pub(super) fn load(disk: &dyn Disk, path: &str, shape: Shape, opened: &Opened) -> Option<Loaded> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let block = read(&*file, 0, BLOCK_BYTES)?;
    let header = Header::decode(&block, shape)?;
    if header.file_id != opened.stamp.file_id {
        return None;
    }
    let layout = Layout::of(shape);
    let length = file.len().ok()?;
    // Before anything is allocated for them.
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
    let (sequence, slots) = header.stamp;
    let is_current = check_of(&crcs) == header.check
        && (opened.codes_valid_from.max(1)..=opened.stamp.sequence).contains(&sequence)
        && slots <= opened.slots;
    let pages = Pages { crcs, header: Some(header_crc_of(&block)) };
    let (trained_at, notes) = (usize::try_from(header.trained_at).ok()?, header.notes);
    let grain = header.grain;
    // Entries have nowhere to go if the pages of new centroids are lost.
    let is_usable = table.centroids.has_takers();
    is_usable.then_some(Loaded { table, pages, trained_at, grain, notes, is_current })
}

/// The places in a file for vectors of one shape.
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
    // Blocks without entries have a place in the page, too.
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

/// A page that is whole.
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

    /// `None` if it is none that was ever written.
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

/// The header: `0..8` magic, `8..12` version, `12..16` dimension, `16..20` metric, `20..24` pages, `24..32` id of
/// the slot file, `32..40` sequence of the commit up to which all changes are in the codes, or 0, `40..48` its
/// slots, `48..56` vectors when centroids were trained, `56..64` sum over the pages, `64..72` CRC-64 of the
/// centre, `72..80` unit as `f32`, `80..120` limits of excesses as `f64` and the vectors that they are for, `120..128`
/// 1 for coarse partitions, zeros, `4088..4096` CRC-64 of all before.
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
    /// Its bytes and their CRC.
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

    /// `None` unless it is whole, of this version, and for vectors of this shape.
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

/// The CRC of the header in the file, to see whether it is still the one that was written.
fn header_crc(file: &dyn DiskFile) -> io::Result<Option<u64>> {
    let mut bytes = [0; 8];
    let read = file.read_at(&mut bytes, CRC_AT as u64)?;
    Ok((read == bytes.len()).then(|| u64::from_le_bytes(bytes)))
}

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
