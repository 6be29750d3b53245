use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn value_of(algorithm: ChecksumAlgorithm, body: &[u8]) -> ChecksumValue {
    let mut set = ChecksumSet::new(&[algorithm]);
    set.update(body);
    set.finish()[0]
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|position| (position * 31 + position / 251) as u8).collect()
}

/// Check values from the CRC catalogue and the standards, and for XXH from `awscrt` 0.38.
#[test]
fn every_algorithm_gives_its_published_value() {
    let mut set = DigestSet::new(&ChecksumAlgorithm::ALL);
    set.update(b"1234");
    set.update(b"");
    set.update(b"56789");
    assert_eq!(set.bytes(), 9);
    let digests = set.finish();
    assert_eq!(digests.bytes, 9);
    assert_eq!(hex(&digests.md5), "25f9e794323b453885f5181f1b624d0b");
    let expected = [
        (ChecksumAlgorithm::Crc32, "cbf43926"),
        (ChecksumAlgorithm::Crc32c, "e3069283"),
        (ChecksumAlgorithm::Crc64Nvme, "ae8b14860a799888"),
        (ChecksumAlgorithm::Sha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"),
        (
            ChecksumAlgorithm::Sha256,
            "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
        ),
        (ChecksumAlgorithm::Md5, "25f9e794323b453885f5181f1b624d0b"),
        (
            ChecksumAlgorithm::Sha512,
            "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274a\
             d27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85",
        ),
        (ChecksumAlgorithm::Xxhash64, "8cb841db40e6ae83"),
        (ChecksumAlgorithm::Xxhash3, "72dcb18b67a17dff"),
        (ChecksumAlgorithm::Xxhash128, "33119477ede5dcd5e9716427681d5860"),
    ];
    assert_eq!(digests.checksums.len(), expected.len());
    for (algorithm, text) in expected {
        let value = digests.checksum(algorithm).expect("asked for");
        assert_eq!(hex(value.bytes()), text, "{algorithm:?}");
        assert_eq!(value.bytes().len(), algorithm.value_bytes());
    }
}

/// Values of the tests of aws-checksums (`tests/xxhash_test.c`), whose hashes AWS's SDKs send.
#[test]
fn xxhs_are_those_of_aws_checksums() {
    let rows = [
        (ChecksumAlgorithm::Xxhash64, "Hello world", "c500b0c912b376d8"),
        (ChecksumAlgorithm::Xxhash64, "abcdefghijklmnopqrstuvwxyz", "cfe1f278fa89835c"),
        (ChecksumAlgorithm::Xxhash3, "Hello world", "b6acb9d84a38ff74"),
        (ChecksumAlgorithm::Xxhash3, "abcdefghijklmnopqrstuvwxyz", "810f9ca067fbb90c"),
        (ChecksumAlgorithm::Xxhash64, "", "ef46db3751d8e999"),
        (ChecksumAlgorithm::Xxhash3, "", "2d06800538d394c2"),
        (ChecksumAlgorithm::Xxhash128, "", "99aa06d3014798d86001c324468d497f"),
    ];
    for (algorithm, text, expected) in rows {
        assert_eq!(hex(value_of(algorithm, text.as_bytes()).bytes()), expected, "{text:?}");
    }
}

/// Every length has a formula of its own up to 240, and blocks of 1,024 bytes from then on.
#[test]
fn xxhs_of_every_length_agree_with_awscrt_in_any_pieces() {
    let rows = [
        (1, "e934a84adb052768", "c44bdff4074eecdb", "a6cd5e9392000f6ac44bdff4074eecdb"),
        (17, "d9a4e9e8ef334438", "c56f339d36cc73d7", "340f6f9202ad1131a378e80882221151"),
        (129, "75911b69fc5da9a0", "c72af4c6ac4dea94", "4f3f783d604d0184c83022477e6bf25a"),
        (241, "93f9ecda8aa61e97", "18773c512b008a63", "8e7e1f2fe4156df918773c512b008a63"),
        (256, "c0f77a6a3fd69f28", "7ec3de3415e4eb12", "08407c40ef94f0ee7ec3de3415e4eb12"),
        (1025, "13fd97e7e29fcfd2", "9e49547ac2266535", "0126d21fc878deda9e49547ac2266535"),
        (65_536, "16f27af7f056bf5e", "aca0a4b0a6855cea", "8be91e802e4c6d7eaca0a4b0a6855cea"),
        (100_000, "c43fcc044320e3e1", "6472d1b70e882fab", "71e94dda9c9832346472d1b70e882fab"),
    ];
    let algorithms =
        [ChecksumAlgorithm::Xxhash64, ChecksumAlgorithm::Xxhash3, ChecksumAlgorithm::Xxhash128];
    for (length, xxh64, xxh3, xxh128) in rows {
        for piece in [1, 7, 64, 1000, length] {
            let mut set = ChecksumSet::new(&algorithms);
            body(length).chunks(piece).for_each(|piece| set.update(piece));
            let found: Vec<_> = set.finish().iter().map(|value| hex(value.bytes())).collect();
            assert_eq!(found, [xxh64, xxh3, xxh128], "{length} bytes in pieces of {piece}");
        }
    }
}

#[test]
fn md5_is_computed_once_and_in_its_place() {
    let asked = [ChecksumAlgorithm::Sha1, ChecksumAlgorithm::Md5, ChecksumAlgorithm::Crc32];
    let mut digests = DigestSet::new(&asked);
    assert_eq!(digests.checksums.hashers.len(), 2);
    digests.update(b"body");
    let digests = digests.finish();
    let algorithms: Vec<_> = digests.checksums.iter().map(|value| value.algorithm).collect();
    assert_eq!(algorithms, asked);
    let md5 = digests.checksum(ChecksumAlgorithm::Md5).expect("asked for");
    assert_eq!((md5.bytes(), *md5), (&digests.md5[..], value_of(ChecksumAlgorithm::Md5, b"body")));
}

#[test]
fn only_what_was_asked_for_is_computed_and_each_once() {
    let digests = DigestSet::new(&[
        ChecksumAlgorithm::Sha1,
        ChecksumAlgorithm::Crc32,
        ChecksumAlgorithm::Sha1,
    ])
    .finish();
    let algorithms: Vec<_> = digests.checksums.iter().map(|value| value.algorithm).collect();
    assert_eq!(algorithms, [ChecksumAlgorithm::Sha1, ChecksumAlgorithm::Crc32]);
    assert_eq!(digests.checksum(ChecksumAlgorithm::Sha256), None);
    assert_eq!(hex(&digests.md5), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(hex(digests.checksums[1].bytes()), "00000000");
}

#[test]
fn a_value_of_the_wrong_length_is_refused() {
    for algorithm in ChecksumAlgorithm::ALL {
        for length in 0..80 {
            let value = ChecksumValue::new(algorithm, &body(length));
            assert_eq!(
                value.is_some(),
                length == algorithm.value_bytes(),
                "{algorithm:?} {length}"
            );
            if let Some(value) = value {
                assert_eq!(value.bytes(), body(length));
            }
        }
    }
}

#[test]
fn combined_parts_have_the_crc_of_the_whole() {
    let whole = body(3_000_000);
    for algorithm in ChecksumAlgorithm::ALL {
        let Some(mut combiner) = CrcCombiner::new(algorithm) else {
            assert!(!algorithm.supports(ChecksumType::FullObject));
            continue;
        };
        assert_eq!(combiner.finish(), value_of(algorithm, b""));
        let mut rest = &whole[..];
        for length in [0, 1, 5, 65_536, 1_000_001, 0, 7] {
            let (part, after) = rest.split_at(length);
            assert!(combiner.add(&value_of(algorithm, part), length as u64));
            rest = after;
        }
        assert!(combiner.add(&value_of(algorithm, rest), rest.len() as u64));
        assert_eq!(combiner.finish(), value_of(algorithm, &whole), "{algorithm:?}");
        let foreign = ChecksumValue::new(ChecksumAlgorithm::Sha1, &[0; 20]).expect("fits");
        assert!(!combiner.add(&foreign, 1));
        assert_eq!(combiner.finish(), value_of(algorithm, &whole), "nothing was added");
    }
}

#[test]
fn combining_knows_lengths_beyond_memory() {
    // A run of zeros twice as long is two runs: the CRC of 2^40 zero bytes from the CRC of one.
    for algorithm in [ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Crc64Nvme] {
        let mut doubled = value_of(algorithm, &[0]);
        for power in 0..40 {
            let mut combiner = CrcCombiner::new(algorithm).expect("a CRC");
            assert!(combiner.add(&doubled, 1 << power) && combiner.add(&doubled, 1 << power));
            doubled = combiner.finish();
            if power < 20 {
                assert_eq!(doubled, value_of(algorithm, &vec![0; 2 << power]), "{power}");
            }
        }
        // The same in other steps: 2^40 = 1 + (2^40 - 1), the latter from shorter runs.
        let mut combiner = CrcCombiner::new(algorithm).expect("a CRC");
        let mut run = value_of(algorithm, &[0]);
        assert!(combiner.add(&run, 1));
        for power in 0..40_u64 {
            assert!(combiner.add(&run, 1 << power));
            let mut twice = CrcCombiner::new(algorithm).expect("a CRC");
            assert!(twice.add(&run, 1 << power) && twice.add(&run, 1 << power));
            run = twice.finish();
        }
        assert_eq!(combiner.finish(), doubled, "{algorithm:?}");
    }
}

#[test]
fn a_composite_is_the_checksum_of_the_checksums() {
    for algorithm in ChecksumAlgorithm::ALL {
        let parts = [value_of(algorithm, b"a"), value_of(algorithm, b"bc")];
        let joined = [parts[0].bytes(), parts[1].bytes()].concat();
        let composite = ObjectChecksum::composite(&parts).expect("parts");
        assert_eq!(composite.value, value_of(algorithm, &joined));
        assert_eq!((composite.kind, composite.parts), (ChecksumType::Composite, Some(2)));
    }
    assert_eq!(ObjectChecksum::composite(&[]), None);
    let mixed =
        [value_of(ChecksumAlgorithm::Crc32, b"a"), value_of(ChecksumAlgorithm::Crc32c, b"a")];
    assert_eq!(ObjectChecksum::composite(&mixed), None);
}

#[test]
fn types_follow_the_rules_of_s3() {
    for algorithm in ChecksumAlgorithm::ALL {
        assert!(algorithm.supports(algorithm.default_type()), "{algorithm:?}");
        let combines = CrcCombiner::new(algorithm).is_some();
        assert_eq!(algorithm.supports(ChecksumType::FullObject), combines, "{algorithm:?}");
    }
    assert!(!ChecksumAlgorithm::Crc64Nvme.supports(ChecksumType::Composite));
    for algorithm in [ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Md5, ChecksumAlgorithm::Xxhash3]
    {
        assert_eq!(algorithm.default_type(), ChecksumType::Composite);
    }
}

#[test]
fn values_survive_a_record_and_one_of_the_wrong_length_does_not() {
    for algorithm in ChecksumAlgorithm::ALL {
        let value = value_of(algorithm, b"body");
        let stored = postcard::to_stdvec(&value).expect("encoded");
        assert_eq!(postcard::from_bytes::<ChecksumValue>(&stored).expect("decoded"), value);
        let wrong = postcard::to_stdvec(&(algorithm, vec![0_u8; 5])).expect("encoded");
        postcard::from_bytes::<ChecksumValue>(&wrong).expect_err("five bytes fit no algorithm");
    }
}

/// Records hold the number of the algorithm: it never changes. A program that knows fewer refuses
/// it.
#[test]
fn algorithms_keep_their_numbers() {
    for (number, algorithm) in ChecksumAlgorithm::ALL.into_iter().enumerate() {
        assert_eq!(postcard::to_stdvec(&algorithm).expect("encoded"), [number as u8]);
    }
    postcard::from_bytes::<ChecksumAlgorithm>(&[10]).expect_err("of a later version");
}
