//! Container files, and files that are damaged.

use std::io::Write;

use super::{Codec, Container, Input, Scalar, Schema};

/// An encoder, as small as the tests need.
pub(crate) fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    bytes.push(rest.to_le_bytes()[0]);
    bytes
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [long(text.len().try_into().expect("short")), text.as_bytes().to_vec()].concat()
}

/// A container file with one block for each of `blocks`: a number of objects, and their bytes.
pub(crate) fn file(schema: &str, codec: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let sync = [7; 16];
    let mut bytes = b"Obj\x01".to_vec();
    let entries = [text("avro.codec"), text(codec), text("avro.schema"), text(schema)];
    bytes.extend([long(2), entries.concat(), long(0)].concat());
    bytes.extend(sync);
    for (objects, data) in blocks {
        let data = match codec {
            "deflate" => deflated(data),
            _ => data.clone(),
        };
        bytes.extend(long(*objects));
        bytes.extend(long(data.len().try_into().expect("short")));
        bytes.extend([&data[..], &sync].concat());
    }
    bytes
}

fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).expect("memory is writable");
    encoder.finish().expect("memory is writable")
}

/// Numbers and texts of the fields `n` and `t` of all objects.
fn read(file: &[u8]) -> Result<Vec<(Option<i64>, Option<String>)>, String> {
    let mut found = Vec::new();
    let container = Container::open(file).map_err(|error| error.to_string())?;
    let result = container.for_each(|schema, input| {
        let mut object = (None, None);
        input.record(schema, schema.root, &mut |field, input| {
            if field.is(1, "n") {
                object.0 = input.scalar(schema, field.node)?.long();
            } else if field.is(2, "t") {
                object.1 = input.scalar(schema, field.node)?.text().map(str::to_owned);
            } else {
                input.skip(schema, field.node)?;
            }
            Ok(())
        })?;
        found.push(object);
        Ok(())
    });
    result.map(|()| found).map_err(|error| error.to_string())
}

const TWO: &str = r#"{"type": "record", "name": "r", "fields": [
    {"name": "n", "type": "long"}, {"name": "t", "type": ["null", "string"]}]}"#;

fn object(number: i64, it: Option<&str>) -> Vec<u8> {
    let tail = it.map_or(long(0), |it| [long(1), text(it)].concat());
    [long(number), tail].concat()
}

#[test]
fn objects_are_read_from_blocks() {
    let first = [object(i64::MIN, Some("a")), object(i64::MAX, None)].concat();
    let blocks = [(2, first), (0, Vec::new()), (1, object(-1, Some("é")))];
    let expected = vec![
        (Some(i64::MIN), Some("a".to_owned())),
        (Some(i64::MAX), None),
        (Some(-1), Some("é".to_owned())),
    ];
    for codec in ["null", "deflate"] {
        assert_eq!(read(&file(TWO, codec, &blocks)), Ok(expected.clone()), "{codec}");
    }
    assert_eq!(read(&file(TWO, "null", &[])), Ok(Vec::new()));
}

#[test]
fn fields_of_all_types_are_skipped() {
    let schema = r#"{"type": "record", "name": "r", "namespace": "a.b", "fields": [
        {"name": "x", "type": "boolean"}, {"name": "x", "type": "float"}, {"name": "x", "type": "double"},
        {"name": "x", "type": "bytes"}, {"name": "x", "type": {"type": "fixed", "name": "f", "size": 3}},
        {"name": "x", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
        {"name": "x", "type": {"type": "array", "items": "f"}},
        {"name": "x", "type": {"type": "map", "values": ["null", "a.b.e"]}},
        {"name": "x", "type": ["null", "r"]},
        {"name": "x", "type": {"type": "int", "logicalType": "date"}},
        {"name": "n", "field-id": 9, "type": "long"},
        {"name": "other", "field-id": 1, "type": "int"},
        {"name": "t", "type": "string"}]}"#;
    let parts = |inner: Vec<u8>| {
        // An array in two blocks, the second with its length; a map.
        let array =
            [long(1), b"abc".to_vec(), long(-2), long(6), b"defghi".to_vec(), long(0)].concat();
        let map = [long(2), text("k"), long(0), text("l"), long(1), long(1), long(0)].concat();
        [
            vec![1],
            vec![0; 4],
            vec![0; 8],
            text("bytes"),
            b"xyz".to_vec(),
            long(1),
            array,
            map,
            inner,
            long(70),
            long(5),
            long(42),
            text("end"),
        ]
        .concat()
    };
    // A record within itself.
    let object = parts([long(1), parts(long(0))].concat());
    let expected = Ok(vec![(Some(42), Some("end".to_owned()))]);
    assert_eq!(read(&file(schema, "deflate", &[(1, object)])), expected);
}

#[test]
fn unknown_codecs_are_named() {
    for codec in ["zstandard", "snappy", "xz", "bzip2"] {
        let error = read(&file(TWO, codec, &[])).unwrap_err();
        assert!(error.contains(&format!("codec \"{codec}\" is not supported")), "{error}");
    }
}

#[test]
fn bad_files_are_refused() {
    let one = || vec![(1, object(1, Some("a")))];
    let with_schema = |schema: &str| file(schema, "null", &[]);
    let mut wrong_mark = file(TWO, "null", &one());
    *wrong_mark.last_mut().expect("it is not empty") ^= 1;
    let record = |kind: &str| {
        format!(r#"{{"type": "record", "name": "r", "fields": [{{"name": "n", "type": {kind}}}]}}"#)
    };
    let nulls = file(
        &record(r#"{"type": "array", "items": "null"}"#),
        "null",
        &[(1, [long(1 << 60), long(0)].concat())],
    );
    let empty =
        file(r#"{"type": "record", "name": "r", "fields": []}"#, "null", &[(1 << 60, Vec::new())]);
    let itself = file(&record(r#""r""#), "null", &[(1, Vec::new())]);
    let no_deflate = {
        let mut bytes = file(TWO, "deflate", &[]);
        bytes.extend([long(1), text("\u{7f}\u{7f}\u{7f}"), vec![7; 16]].concat());
        bytes
    };
    for (name, file, words) in [
        ("another file", b"PAR1".to_vec(), "begins with other bytes"),
        ("no bytes", Vec::new(), "begins with other bytes"),
        (
            "no schema",
            [b"Obj\x01".to_vec(), long(0), vec![0; 16]].concat(),
            "avro.schema is missing",
        ),
        ("a wrong mark", wrong_mark, "mark behind a block"),
        ("too many objects", file(TWO, "null", &[(2, object(1, None))]), "ends within a value"),
        (
            "too few objects",
            file(TWO, "null", &[(1, [object(1, None), object(2, None)].concat())]),
            "bytes behind its last object",
        ),
        ("a negative number of objects", file(TWO, "null", &[(-1, Vec::new())]), "negative number"),
        (
            "no branch of the union",
            file(TWO, "null", &[(1, [long(1), long(2)].concat())]),
            "no such branch",
        ),
        (
            "a negative branch",
            file(TWO, "null", &[(1, [long(1), long(-1)].concat())]),
            "no such branch",
        ),
        (
            "no UTF-8",
            file(TWO, "null", &[(1, [long(1), long(1), long(1), vec![0xff]].concat())]),
            "not UTF-8",
        ),
        (
            "a negative length",
            file(TWO, "null", &[(1, [long(1), long(1), long(-5)].concat())]),
            "length is negative",
        ),
        (
            "a length of exabytes",
            file(TWO, "null", &[(1, [long(1), long(1), long(1 << 60)].concat())]),
            "ends within a value",
        ),
        ("an endless integer", file(TWO, "null", &[(1, vec![0xff; 11])]), "more than 64 bits"),
        (
            "an integer of 65 bits",
            file(TWO, "null", &[(1, [vec![0xff; 9], vec![2]].concat())]),
            "more than 64 bits",
        ),
        ("a billion nulls", nulls, "too many values"),
        ("a billion empty records", empty, "too many values"),
        ("a record that is itself", itself, "nested more than 64 deep"),
        ("not compressed", no_deflate, "not compressed by deflate"),
        ("a schema that is no JSON", with_schema("{"), "not JSON"),
        ("a schema that is a number", with_schema("1"), "must be a string"),
        ("an unknown type", with_schema("\"money\""), "unknown type \"money\""),
        ("no fields", with_schema(r#"{"type": "record", "name": "r"}"#), "fields must be an array"),
        (
            "a field without a type",
            with_schema(r#"{"type": "record", "name": "r", "fields": [{"name": "n"}]}"#),
            "a name and a type",
        ),
        ("no items", with_schema(r#"{"type": "array"}"#), "items is missing"),
        (
            "a negative size",
            with_schema(r#"{"type": "fixed", "name": "f", "size": -1}"#),
            "size must be a number",
        ),
    ] {
        let error = read(&file).expect_err(name);
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn no_damage_panics() {
    let blocks =
        [(2, [object(300, Some("text")), object(-1, None)].concat()), (1, object(1, Some("b")))];
    for codec in ["null", "deflate"] {
        let whole = file(TWO, codec, &blocks);
        for at in 0..whole.len() {
            drop(read(&whole[..at]));
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                drop(read(&damaged));
            }
        }
    }
}

#[test]
fn values_of_other_types_are_no_numbers() {
    let schema = Schema::parse(br#"["double", "string"]"#).expect("it is one");
    let bytes = [long(0), vec![0; 8], long(1), text("a")].concat();
    let mut input = Input::new(&bytes);
    assert_eq!(input.scalar(&schema, schema.root), Ok(Scalar::Other));
    assert_eq!(input.scalar(&schema, schema.root), Ok(Scalar::Text("a")));
    assert!(input.rest().is_empty());
}

#[test]
fn a_block_has_a_limit() {
    let data = deflated(&[0; 1000]);
    assert_eq!(Codec::Deflate.decompressed(&data, 1000).map(|it| it.len()), Ok(1000));
    let error = Codec::Deflate.decompressed(&data, 999).unwrap_err().to_string();
    assert!(error.contains("a block has more than 999 bytes"), "{error}");
}
