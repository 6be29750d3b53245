use proptest::prelude::*;

use super::*;

/// A ustar header.
fn header(name: &str, kind: u8, bytes: u64) -> Vec<u8> {
    let mut header = vec![0; BLOCK];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{bytes:011o}\0").as_bytes());
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    sealed(header)
}

fn sealed(mut header: Vec<u8>) -> Vec<u8> {
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn entry(name: &str, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut entry = header(name, kind, body.len() as u64);
    entry.extend_from_slice(body);
    entry.resize(entry.len().next_multiple_of(BLOCK), 0);
    entry
}

fn ended(entries: &[Vec<u8>]) -> Vec<u8> {
    [&entries.concat()[..], &[0; 2 * BLOCK]].concat()
}

type Listed = Vec<(String, Kind, Vec<u8>)>;

fn list(archive: &[u8]) -> Result<Listed, String> {
    let mut tar = Tar::new(archive);
    let mut listed = Vec::new();
    while let Some(entry) = tar.next_entry()? {
        let mut body = Vec::new();
        tar.body().read_to_end(&mut body).map_err(|error| error.to_string())?;
        assert_eq!(body.len() as u64, entry.bytes);
        if let Kind::Other(reason) = entry.kind {
            return Err(format!("{:?}: {reason}", entry.name));
        }
        listed.push((entry.name, entry.kind, body));
    }
    Ok(listed)
}

fn pax(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length);
    entry("PaxHeaders/x", b'x', format!("{}{rest}", length.expect("a length")).as_bytes())
}

#[test]
fn entries_have_names_of_all_formats() {
    let long = format!("photos/{}", "x".repeat(300));
    let mut split = header("second", b'0', 0);
    split[345..351].copy_from_slice(b"photos");
    let mut binary = header("photos/binary", b'0', 0);
    binary[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let archive = ended(&[
        entry("photos/", b'5', b""),
        entry("photos/a", b'0', b"body"),
        entry("old/", 0, b""),
        entry("@LongLink", b'L', format!("{long}\0").as_bytes()),
        entry("photos/xxx", b'0', &[7; 600]),
        entry("pax_global_header", b'g', b"19 comment=whatever\n"),
        pax("path", "photos/ü"),
        entry("photos/u", b'0', b"1"),
        pax("size", "2"),
        {
            let mut entry = entry("photos/sized", b'0', b"12");
            entry[124..136].copy_from_slice(b"00000000000\0");
            [sealed(entry[..BLOCK].to_vec()), entry[BLOCK..].to_vec()].concat()
        },
        sealed(split),
        sealed(binary),
    ]);
    let file = |name: &str, body: &[u8]| (name.to_owned(), Kind::File, body.to_vec());
    let directory = |name: &str| (name.to_owned(), Kind::Directory, Vec::new());
    let expected = vec![
        directory("photos/"),
        file("photos/a", b"body"),
        directory("old/"),
        file(&long, &[7; 600]),
        file("photos/ü", b"1"),
        file("photos/sized", b"12"),
        file("photos/second", b""),
        file("photos/binary", b""),
    ];
    assert_eq!(list(&archive), Ok(expected));
}

#[test]
fn records_of_extended_headers_end_where_their_lengths_say() {
    let archive = ended(&[
        pax("path", "photos/a\nb"),
        entry("photos/ab", b'0', b"1"),
        // The value of an attribute, which must not be taken for the entry's name.
        pax("SCHILY.xattr.user.note", "x\n21 path=photos/other\n"),
        entry("photos/c", b'0', b"2"),
    ]);
    let file = |name: &str, body: &[u8]| (name.to_owned(), Kind::File, body.to_vec());
    assert_eq!(list(&archive), Ok(vec![file("photos/a\nb", b"1"), file("photos/c", b"2")]));
    let unending = entry("PaxHeaders/x", b'x', b"30 path=photos/a\n");
    let refused = list(&ended(&[unending, entry("photos/a", b'0', b"")])).expect_err("too short");
    assert!(refused.contains("not valid"), "{refused}");
}

#[test]
fn extended_headers_are_for_the_next_entry_behind_a_global_header() {
    let archive = ended(&[
        entry("@LongLink", b'L', b"photos/long\0"),
        entry("pax_global_header", b'g', b"19 comment=whatever\n"),
        entry("photos/cut", b'0', b"1"),
        entry("photos/next", b'0', b"2"),
    ]);
    let file = |name: &str, body: &[u8]| (name.to_owned(), Kind::File, body.to_vec());
    assert_eq!(list(&archive), Ok(vec![file("photos/long", b"1"), file("photos/next", b"2")]));
}

#[test]
fn what_is_no_file_or_directory_is_refused_by_name() {
    for (kind, told) in [
        (b'1', "a link"),
        (b'2', "a link"),
        (b'3', "a device"),
        (b'4', "a device"),
        (b'6', "pipe"),
        (b'S', "sparse"),
        (b'M', "neither"),
    ] {
        let refused = list(&ended(&[entry("photos/odd", kind, b"")])).expect_err(told);
        assert!(refused.contains(told) && refused.contains("photos/odd"), "{refused}");
    }
    let sparse = pax("GNU.sparse.realsize", "1000000");
    let refused = list(&ended(&[sparse, entry("photos/a", b'0', b"")])).expect_err("sparse");
    assert!(refused.contains("sparse"), "{refused}");
}

#[test]
fn archives_that_are_cut_off_or_damaged_are_refused() {
    let whole = ended(&[entry("photos/a", b'0', &[1; 700]), entry("photos/b", b'0', b"b")]);
    assert!(list(&whole).is_ok());
    for length in [0, 1, 511, 512, 600, 1535, 1536, 2048, 2560] {
        let refused = list(&whole[..length]).expect_err("cut off");
        assert!(refused.contains("cut off"), "{length}: {refused}");
    }
    let mut damaged = whole.clone();
    damaged[3] ^= 1;
    assert!(list(&damaged).expect_err("damaged").contains("damaged"));
    let followed = [&whole[..], &vec![0; 2 << 20]].concat();
    assert!(list(&followed).expect_err("a tail").contains("behind the end"));
    assert!(list(&[&whole[..], &[0; 10_240]].concat()).is_ok());
}

#[test]
fn lengths_that_no_memory_would_hold_are_refused() {
    let mut long_name = header("@LongLink", b'L', 0);
    long_name[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
    assert!(list(&sealed(long_name)).expect_err("too long").contains("too long"));
    let mut endless = header("photos/a", b'0', 0);
    endless[124..136].copy_from_slice(&[0xff; 12]);
    assert!(list(&sealed(endless)).expect_err("no number").contains("no number"));
    let refused = list(&ended(&[pax("size", "18446744073709551615"), entry("p/a", b'0', b"")]));
    assert!(refused.expect_err("no number").contains("no number"));
}

proptest! {
    /// Arbitrary bytes give entries or one error line, never a panic.
    #[test]
    fn any_bytes_are_read(
        at in 0_usize..4096,
        with in prop::collection::vec(any::<u8>(), 1..40),
        seal in any::<bool>(),
    ) {
        let mut archive = ended(&[
            pax("path", "photos/name"),
            entry("photos/a", b'0', &[1; 700]),
            entry("@LongLink", b'L', b"photos/long\0"),
            entry("photos/b", b'0', b"b"),
        ]);
        let end = (at + with.len()).min(archive.len());
        archive[at..end].copy_from_slice(&with[..end - at]);
        if seal {
            let block = at / BLOCK * BLOCK;
            let mended = sealed(archive[block..block + BLOCK].to_vec());
            archive[block..block + BLOCK].copy_from_slice(&mended);
        }
        if let Err(reason) = list(&archive) {
            prop_assert!(!reason.contains('\n'), "{}", reason);
        }
    }
}
