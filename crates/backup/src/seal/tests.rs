//! Tests of the encoding.

use liteio_disk::SeededRandom;

use super::*;

const NAME: &str = "log/0001";

/// The sealers, by name.
fn sealers() -> [(&'static str, Sealer); 2] {
    let random = Arc::new(SeededRandom::new(1));
    [("plain", Sealer::plain()), ("encrypted", keyed(1, 1).with_random(random))]
}

fn keyed(key: u8, backup: u8) -> Sealer {
    Sealer::with_key(&[key; 32], &[backup; 16])
}

fn compressible(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index / 97 % 7) as u8).collect()
}

fn random(bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    SeededRandom::new(7).fill(&mut random).expect("it has no end");
    random
}

fn is_deflated(sealed: &[u8]) -> bool {
    sealed[FLAGS_AT] & DEFLATED != 0
}

#[test]
fn content_of_any_length_survives() {
    for (kind, sealer) in sealers() {
        for content in [vec![], vec![1], compressible(100), compressible(3 << 20), random(1 << 20)]
        {
            for compress in [false, true] {
                let sealed = sealer.seal(NAME, &content, compress).expect("sealed");
                let opened = sealer.open(NAME, &sealed).expect("opened");
                assert!(opened == content, "{kind} {} {compress}", content.len());
                assert!(sealed.len() <= content.len() + OVERHEAD_BYTES);
            }
        }
    }
}

#[test]
fn bytes_are_compressed_only_where_it_saves_something() {
    for (kind, sealer) in sealers() {
        let seal = |content: &[u8], compress| sealer.seal(NAME, content, compress).expect("sealed");
        let text = compressible(10_000);
        assert!(is_deflated(&seal(&text, true)) && !is_deflated(&seal(&text, false)), "{kind}");
        assert!(seal(&text, true).len() < 1_000);
        assert!(!is_deflated(&seal(&random(100_000), true)) && !is_deflated(&seal(b"", true)));
        // Nine tenths are random: saved is too little, and then enough.
        for (zeros, expected) in [(400, false), (1_000, true)] {
            let content = [random(10_000), vec![0; zeros]].concat();
            assert_eq!(is_deflated(&seal(&content, true)), expected, "{zeros}");
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    for (kind, sealer) in sealers() {
        for content in [compressible(300), b"short".to_vec(), vec![]] {
            let sealed = sealer.seal(NAME, &content, true).expect("sealed");
            for bit in 0..sealed.len() * 8 {
                let mut flipped = sealed.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                for (_, opener) in sealers() {
                    assert!(opener.open(NAME, &flipped).is_err(), "{kind}: bit {bit}");
                }
            }
            for length in 0..sealed.len() {
                assert!(sealer.open(NAME, &sealed[..length]).is_err(), "{kind}: cut at {length}");
            }
            for tail in [&b"\0"[..], b"more", &sealed] {
                assert!(sealer.open(NAME, &[&sealed, tail].concat()).is_err(), "{kind}: longer");
            }
        }
    }
}

#[test]
fn another_name_is_refused() {
    for (kind, sealer) in sealers() {
        let sealed = sealer.seal(NAME, b"content", false).expect("sealed");
        for name in ["", "log/0002", "log/00011", "log/000"] {
            let opened = sealer.open(name, &sealed);
            assert!(matches!(opened, Err(SealError::Damaged { .. })), "{kind} {name}: {opened:?}");
        }
    }
}

#[test]
fn a_missing_a_wrong_and_an_unexpected_key_are_told_apart() {
    let name = || NAME.to_owned();
    let sealed = keyed(1, 1).seal(NAME, b"content", false).expect("sealed");
    let open = |sealer: Sealer| sealer.open(NAME, &sealed);
    assert_eq!(open(Sealer::plain()), Err(SealError::NeedsKey { name: name() }));
    for other in [keyed(2, 1), keyed(1, 2)] {
        assert_ne!(other.fingerprint(), keyed(1, 1).fingerprint());
        assert_eq!(open(other), Err(SealError::WrongKey { name: name() }));
    }
    assert_eq!(open(keyed(1, 1)), Ok(Bytes::from_static(b"content")));
    // An attacker without the key cannot put a plain object in the place of an encrypted one.
    let plain = Sealer::plain().seal(NAME, b"other", false).expect("sealed");
    let opened = keyed(1, 1).open(NAME, &plain);
    assert!(matches!(opened, Err(SealError::Damaged { .. })), "{opened:?}");
    assert_eq!(Sealer::plain().fingerprint(), None);
}

#[test]
fn nothing_of_the_content_or_the_key_is_seen() {
    let sealer = keyed(65, 1);
    let content = random(64);
    let sealed = sealer.seal(NAME, &content, false).expect("sealed");
    assert!(!sealed.windows(8).any(|window| content.windows(8).any(|it| it == window)));
    assert_ne!(sealed, sealer.seal(NAME, &content, false).expect("sealed"), "nonces are random");
    let shown = format!("{sealer:?}");
    assert!(shown.contains("[hidden]") && !shown.contains("65"), "{shown}");
}

/// A plain object with this head and payload, and the right checksum.
fn forged(version: u8, flags: u8, content_bytes: u64, payload: &[u8]) -> Vec<u8> {
    let head = [&MAGIC[..], &[version, flags], &content_bytes.to_le_bytes()].concat();
    let crc = crc(NAME, &head, payload).to_le_bytes();
    [&head, &crc[..], payload].concat()
}

#[test]
fn later_versions_are_named() {
    for (version, flags, expected) in [(b'2', 0, 2), (b'9', 255, 9), (b'1', 4, 1), (b'1', 128, 1)] {
        let opened = Sealer::plain().open(NAME, &forged(version, flags, 1, b"x"));
        let too_new = SealError::TooNew { name: NAME.to_owned(), version: expected, flags };
        assert_eq!(opened, Err(too_new));
    }
}

#[test]
fn announced_lengths_are_limits() {
    let sealer = Sealer::plain();
    let zeros = deflate::smaller(&[0; 10_000]).expect("smaller");
    assert!(sealer.open(NAME, &forged(b'1', DEFLATED, 10_000, &zeros)).is_ok());
    // Also one that the checksum vouches for.
    let rows = [
        (0, u64::MAX, &b"x"[..]),
        (0, CONTENT_BYTES_MAX + 1, b"x"),
        (0, 0, b"x"),
        (0, 2, b"x"),
        (DEFLATED, 9_999, &zeros),
        (DEFLATED, 10_001, &zeros),
        (DEFLATED, u64::MAX, &zeros),
        (DEFLATED, 10_000, &zeros[..zeros.len() - 1]),
        (DEFLATED, 10_000, &[&zeros[..], b"x"].concat()),
    ];
    for (flags, bytes, payload) in rows {
        let opened = sealer.open(NAME, &forged(b'1', flags, bytes, payload));
        assert!(matches!(opened, Err(SealError::Damaged { .. })), "{flags} {bytes}");
    }
    let large = vec![0; CONTENT_BYTES_MAX as usize + 1];
    let error = sealer.seal(NAME, &large, true).expect_err("too large");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

/// The layout is a promise: objects of today open tomorrow.
#[test]
fn the_layout_stays() {
    let plain = Sealer::plain().seal(NAME, b"content", false).expect("sealed");
    assert_eq!(&plain[..17], b"LiteIOb1\0\x07\0\0\0\0\0\0\0");
    assert_eq!(&plain[25..], b"content");
    let (kind, sealer) = &sealers()[1];
    let encrypted = sealer.seal(NAME, b"content", false).expect("sealed");
    assert_eq!(&encrypted[..17], b"LiteIOb1\x02\x07\0\0\0\0\0\0\0", "{kind}");
    assert_eq!(encrypted.len(), 17 + 8 + 12 + 7 + 16);
    assert_eq!(encrypted[17..25], sealer.fingerprint().expect("a key"));
    let hex: String = encrypted[17..].iter().map(|byte| format!("{byte:02x}")).collect();
    let expected =
        "93a2102b1167c0b7c15c0289ec2d0a9167ec8e6515e51f25cee92924c53dfe3d54ee4fdc9a5e3768f291bf";
    assert_eq!(hex, expected);
}
