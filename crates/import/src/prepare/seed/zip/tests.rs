use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use proptest::prelude::*;

use super::*;

const END: &[u8] = b"PK\x05\x06";
const LOCATOR: &[u8] = b"PK\x06\x07";
const END64: &[u8] = b"PK\x06\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

const ENCRYPTED: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The system number in the upper byte of «version made by» that marks Unix modes.
const UNIX: u8 = 3;

/// An entry to write.
struct Written {
    name: &'static str,
    body: Vec<u8>,
    method: u16,
    flags: u16,
    mode: u32,
    is_64: bool,
}

fn file(name: &'static str, body: &[u8], method: u16) -> Written {
    Written { name, body: body.to_vec(), method, flags: 0, mode: 0o100_644, is_64: false }
}

fn archive(entries: &[Written], is_64: bool) -> Vec<u8> {
    let (mut archive, mut central) = (Vec::new(), Vec::new());
    for entry in entries {
        let packed = match entry.method {
            DEFLATED => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&entry.body).and_then(|()| encoder.finish()).expect("deflated")
            }
            _ => entry.body.clone(),
        };
        let mut sum = Crc::new();
        sum.update(&entry.body);
        let (at, name) = (archive.len() as u32, entry.name.as_bytes());
        let sizes = [packed.len() as u32, entry.body.len() as u32];
        let extra = match entry.is_64 {
            true => [
                &[1, 0, 16, 0][..],
                &u64::from(sizes[1]).to_le_bytes(),
                &u64::from(sizes[0]).to_le_bytes(),
            ]
            .concat(),
            false => Vec::new(),
        };
        let told = if entry.is_64 { [u32::MAX; 2] } else { sizes };
        archive.extend_from_slice(LOCAL);
        archive.extend_from_slice(&[0; 22]);
        archive.extend_from_slice(&[name.len() as u8, 0, 3, 0]);
        archive.extend_from_slice(name);
        archive.extend_from_slice(b"abc");
        archive.extend_from_slice(&packed);
        central.extend_from_slice(CENTRAL);
        central.extend_from_slice(&[20, UNIX, 20, 0]);
        central.extend_from_slice(&entry.flags.to_le_bytes());
        central.extend_from_slice(&entry.method.to_le_bytes());
        central.extend_from_slice(&[0; 4]);
        central.extend_from_slice(&sum.sum().to_le_bytes());
        told.iter().for_each(|size| central.extend_from_slice(&size.to_le_bytes()));
        central.extend_from_slice(&[name.len() as u8, 0, extra.len() as u8, 0, 0, 0, 0, 0, 0, 0]);
        central.extend_from_slice(&(entry.mode << 16).to_le_bytes());
        central.extend_from_slice(&at.to_le_bytes());
        central.extend_from_slice(name);
        central.extend_from_slice(&extra);
    }
    let (at, bytes, count) = (archive.len() as u64, central.len() as u64, entries.len() as u64);
    archive.extend_from_slice(&central);
    if is_64 {
        let end_at = archive.len() as u64;
        archive.extend_from_slice(END64);
        archive.extend_from_slice(&44_u64.to_le_bytes());
        archive.extend_from_slice(&[0; 12]);
        [count, count, bytes, at]
            .iter()
            .for_each(|it| archive.extend_from_slice(&it.to_le_bytes()));
        archive.extend_from_slice(LOCATOR);
        archive.extend_from_slice(&[0; 4]);
        archive.extend_from_slice(&end_at.to_le_bytes());
        archive.extend_from_slice(&[1, 0, 0, 0]);
    }
    let (at, count) = if is_64 { (u32::MAX, u16::MAX) } else { (at as u32, count as u16) };
    archive.extend_from_slice(END);
    archive.extend_from_slice(&[0; 4]);
    archive.extend_from_slice(&count.to_le_bytes());
    archive.extend_from_slice(&count.to_le_bytes());
    archive.extend_from_slice(&(bytes as u32).to_le_bytes());
    archive.extend_from_slice(&at.to_le_bytes());
    archive.extend_from_slice(&[7, 0]);
    archive.extend_from_slice(b"comment");
    archive
}

fn list(bytes: &[u8]) -> Result<Vec<(String, Kind, Vec<u8>)>, String> {
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), bytes).expect("written");
    let mut listed = Vec::new();
    read(path.path(), |entry, body| {
        let mut bytes = Vec::new();
        body.take(1 << 20).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        listed.push((entry.name.clone(), entry.kind, bytes));
        Ok(())
    })?;
    Ok(listed)
}

fn photos() -> [Written; 4] {
    let folder = Written { mode: 0o040_755, ..file("photos/", b"", STORED) };
    let long = Written { is_64: true, ..file("photos/long", &[7; 90_000], DEFLATED) };
    [folder, file("photos/a", b"stored", STORED), long, file("photos/ü", b"", DEFLATED)]
}

#[test]
fn entries_are_read_in_both_formats() {
    let expected = [
        ("photos/".to_owned(), Kind::Directory, Vec::new()),
        ("photos/a".to_owned(), Kind::File, b"stored".to_vec()),
        ("photos/long".to_owned(), Kind::File, vec![7; 90_000]),
        ("photos/ü".to_owned(), Kind::File, Vec::new()),
    ];
    for is_64 in [false, true] {
        assert_eq!(list(&archive(&photos(), is_64)).expect("read"), expected);
    }
    assert_eq!(list(&archive(&[], false)), Ok(Vec::new()));
}

#[test]
fn what_is_no_file_or_directory_is_refused_by_name() {
    let odd = || file("photos/odd", b"x", STORED);
    for (entry, told) in [
        (Written { mode: 0o120_777, ..odd() }, "a link"),
        (Written { mode: 0o020_600, ..odd() }, "neither"),
        (Written { mode: 0o010_600, ..odd() }, "neither"),
        (Written { flags: ENCRYPTED, ..odd() }, "encrypted"),
        (Written { method: 93, ..odd() }, "another method"),
    ] {
        let refused = list(&archive(&[entry], false)).expect_err(told);
        assert!(refused.contains(told) && refused.contains("photos/odd"), "{refused}");
    }
}

#[test]
fn archives_that_are_cut_off_or_damaged_are_refused() {
    let whole = archive(&photos(), false);
    for length in [0, 21, 100, whole.len() - 1] {
        let refused = list(&whole[..length]).expect_err("cut off");
        assert!(refused.contains("cut off"), "{refused}");
    }
    let at = whole.windows(6).position(|bytes| bytes == b"stored").expect("a body");
    let mut changed = whole.clone();
    changed[at] ^= 1;
    assert!(list(&changed).expect_err("changed").contains("checksum"));
    // A body that is longer than the directory says: a zip bomb.
    let mut bomb = archive(&[file("photos/a", &[0; 90_000], DEFLATED)], false);
    let central = bomb.windows(4).position(|bytes| bytes == CENTRAL).expect("a directory");
    bomb[central + 24..central + 28].copy_from_slice(&9_u32.to_le_bytes());
    assert!(list(&bomb).expect_err("a bomb").contains("size: expected 9"));
    bomb[central + 24..central + 28].copy_from_slice(&90_001_u32.to_le_bytes());
    assert!(list(&bomb).expect_err("too short").contains("size: expected 90001"));
}

#[test]
fn entries_that_share_bytes_are_refused() {
    // Each row: the entries whose header is where that of another entry is, and the compressed size
    // of the first entry, if it is changed so that its data hold the second entry.
    type Row<'a> = (&'a [(usize, usize)], Option<u32>);
    let rows: [Row<'_>; 5] = [
        (&[(1, 0)], None),
        (&[(0, 1)], None),
        (&[(2, 0)], None),
        (&[(1, 0), (2, 0)], None),
        (&[], Some(60)),
    ];
    for (moved, size) in rows {
        let entries = ["b/a", "b/b", "b/c"].map(|name| file(name, b"twelve bytes", STORED));
        let mut archive = archive(&entries, false);
        let central: Vec<_> =
            (0..archive.len() - 4).filter(|at| archive[*at..at + 4] == *CENTRAL).collect();
        for (entry, of) in moved {
            let offset = archive[central[*of] + 42..central[*of] + 46].to_vec();
            archive[central[*entry] + 42..central[*entry] + 46].copy_from_slice(&offset);
        }
        if let Some(size) = size {
            for at in [20, 24] {
                let at = central[0] + at;
                archive[at..at + 4].copy_from_slice(&u32::to_le_bytes(size));
            }
        }
        let refused = list(&archive).expect_err("they share bytes");
        let is_told = refused.contains("another entry") || refused.contains("checksum");
        assert!(is_told, "{moved:?} {size:?}: {refused}");
    }
    // One body with 300 names.
    let names: Vec<_> = (0..300).map(|_| file("b/a", &[0; 90_000], DEFLATED)).collect();
    let mut bomb = archive(&names[..1], false);
    let central = bomb.windows(4).position(|bytes| bytes == CENTRAL).expect("a directory");
    let end = bomb.windows(4).rposition(|bytes| bytes == END).expect("an end");
    let record = bomb[central..end].to_vec();
    let tail = bomb.split_off(end);
    (1..300).for_each(|_| bomb.extend_from_slice(&record));
    bomb.extend_from_slice(&tail);
    let end = bomb.len() - tail.len();
    for at in [8, 10] {
        bomb[end + at..end + at + 2].copy_from_slice(&300_u16.to_le_bytes());
    }
    let bytes = (record.len() * 300) as u32;
    bomb[end + 12..end + 16].copy_from_slice(&bytes.to_le_bytes());
    assert!(list(&bomb).expect_err("a bomb").contains("another entry"));
}

#[test]
fn spans_in_order_are_one_and_others_do_not_overlap() {
    let mut spans = Spans::default();
    for start in (0..1000).map(|it| it * 100) {
        assert!(spans.add(start, start + 88), "{start}");
    }
    assert_eq!(spans.0.len(), 1);
    let rows: [(u64, u64, bool); 7] = [
        (200_000, 200_100, true),
        (150_000, 150_100, true),
        (150_099, 150_200, false),
        (149_000, 150_001, false),
        (149_000, 160_000, false),
        (150_100, 150_200, true),
        (300_000, 300_000, false),
    ];
    for (start, end, expected) in rows {
        assert_eq!(spans.add(start, end), expected, "{start}..{end}");
    }
}

#[test]
fn the_number_of_entries_is_compared() {
    let mut whole = archive(&photos(), false);
    let end = whole.windows(4).rposition(|bytes| bytes == END).expect("an end");
    whole[end + 10] -= 1;
    let refused = list(&whole).expect_err("one less");
    assert!(refused.contains("another number of entries"), "{refused}");
}

#[test]
fn entries_of_one_name_are_all_read_and_in_order() {
    let twice = [file("photos/a", b"first", STORED), file("photos/a", b"second", DEFLATED)];
    let named = |body: &[u8]| ("photos/a".to_owned(), Kind::File, body.to_vec());
    assert_eq!(list(&archive(&twice, false)), Ok(vec![named(b"first"), named(b"second")]));
}

#[test]
fn names_are_utf_8_and_directories_may_be_told_by_their_mode() {
    let mut whole = archive(&[file("photos/a", b"x", STORED)], false);
    let central = whole.windows(4).position(|bytes| bytes == CENTRAL).expect("a directory");
    whole[central + 46] = 0xff;
    let refused = list(&whole).expect_err("no UTF-8");
    assert!(refused.contains("not UTF-8"), "{refused}");
    let directory = Written { mode: 0o040_755, ..file("photos", b"", STORED) };
    let expected = vec![("photos".to_owned(), Kind::Directory, Vec::new())];
    assert_eq!(list(&archive(&[directory], false)), Ok(expected));
}

#[test]
fn an_entry_that_is_not_where_the_directory_says_is_refused() {
    let whole = archive(&[file("photos/a", b"x", STORED)], false);
    let central = whole.windows(4).position(|bytes| bytes == CENTRAL).expect("a directory");
    // The compressed size, and the offset.
    for (at, value, told) in
        [(20, 1_u32 << 30, "size"), (42, 1 << 30, "cut off"), (42, 4, "damaged")]
    {
        let mut changed = whole.clone();
        changed[central + at..central + at + 4].copy_from_slice(&value.to_le_bytes());
        let refused = list(&changed).expect_err(told);
        assert!(refused.contains(told) && refused.contains("photos/a"), "{refused}");
    }
}

proptest! {
    /// Arbitrary bytes give entries or one error line, never a panic.
    #[test]
    fn any_bytes_are_read(
        at in 0_usize..1200,
        with in prop::collection::vec(any::<u8>(), 1..20),
        is_64 in any::<bool>(),
    ) {
        let mut archive = archive(&photos(), is_64);
        let end = (at + with.len()).min(archive.len());
        if at < end {
            archive[at..end].copy_from_slice(&with[..end - at]);
        }
        if let Err(reason) = list(&archive) {
            prop_assert!(!reason.contains('\n'), "{}", reason);
        }
    }
}
