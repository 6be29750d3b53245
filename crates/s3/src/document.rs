//! Reads and verifies XML documents in requests, before s3s parses them.

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request};
use liteio_store::DigestSet;
use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::name::{Prefix, PrefixDeclaration};
use quick_xml::{Reader, Writer};
use s3s::dto::{BucketInfo, LocationInfo, TagSet};
use s3s::xml::{DeError, Deserializer};
use s3s::{Body, S3Result, s3_error};

use super::acl_request::{self, AclDocument};
use super::bucket_encryption::BlockedEncryption;
use super::checksum::BodyChecks;
use super::completed_parts::{AnnouncedBytes, CompletedParts};
use super::document_rules::{Digest, Elements, Rules};
use super::event_hold::SentDefaultHold;
use super::limits::{XML_DEPTH_MAX, XML_ELEMENTS_MAX};
use super::route::Route;
use super::{body_in, bucket_versioning, context, error, query};
use liteio_auth::{CollectError, collect};

/// A request whose body is a document that s3s parses. Handlers get parsed values only, so digests
/// must be verified here, over the raw bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document(&'static Rules);

/// The tags in the document of CreateBucket, which s3s has no field for.
#[derive(Clone, Debug)]
pub(super) struct NewBucketTags(pub(super) TagSet);

impl Document {
    /// The document rules for a request, if it carries a document.
    pub(super) fn of(request: &Request<Body>) -> Option<Document> {
        Rules::of(request.extensions().get::<&'static Route>()?.operation).map(Document)
    }

    /// Reads the whole body, verifies it, and normalizes it for s3s.
    pub(super) async fn read(self, request: Request<Body>) -> S3Result<Request<Body>> {
        let (mut parts, body) = request.into_parts();
        let checks = self.checks(&parts)?;
        let bytes = collect(body, self.0.bytes_max).await.map_err(|error| match error {
            CollectError::TooLarge => error::message_too_long(self.0.bytes_max),
            CollectError::Body(error) => body_in::from_body(&error),
        })?;
        if !checks.is_empty() {
            let algorithms: Vec<_> = checks.algorithm().into_iter().collect();
            let mut digests = DigestSet::new(&algorithms);
            digests.update(&bytes);
            checks.verify(&digests.finish())?;
        }
        if !self.0.is_xml() {
            return Ok(Request::from_parts(parts, Body::from(bytes)));
        }
        if bytes.is_empty() && !WITHOUT_DOCUMENT.contains(&self.0.operation) {
            return Err(s3_error!(MissingRequestBodyError, "Request Body is empty"));
        }
        let is_acl = AclDocument::OPERATIONS.contains(&self.0.operation);
        let spelling = check_shape(&bytes, self.0.elements).map_err(|error| match is_acl {
            true => acl_request::malformed(),
            false => error,
        })?;
        let mut text = match spelling {
            Spelling::Plain => bytes,
            Spelling::Other => plain_text(&bytes)?,
        };
        if self.0.operation == CompletedParts::OPERATION {
            // Without a document the handler tells whether the upload exists.
            if !text.is_empty() {
                parts.extensions.insert(CompletedParts::of(&text)?);
            }
            if let Some(announced) = AnnouncedBytes::take(&mut parts.headers)? {
                parts.extensions.insert(announced);
            }
            text = CompletedParts::EMPTY;
        }
        if is_acl && !text.is_empty() {
            parts.extensions.insert(AclDocument::of(&text)?);
            text = Bytes::new();
        }
        if TAGGING.contains(&self.0.operation) {
            text = whole_tagging(text);
        }
        if self.0.operation == bucket_versioning::OPERATION {
            bucket_versioning::refuse_exclusions(&text)?;
        }
        match self.0.operation {
            "PutObjectLockConfiguration" => {
                let (hold, rest) = SentDefaultHold::take(&text)?;
                parts.extensions.insert(hold);
                text = rest;
            }
            "PutBucketEncryption" => {
                let (blocked, rest) = BlockedEncryption::take(&text)?;
                parts.extensions.insert(blocked);
                text = rest;
            }
            _ => {}
        }
        context::note_document(self.0.operation, &text, &mut parts.extensions)?;
        if self.0.operation == "CreateBucket"
            && let Some(tags) = new_bucket_tags(&text)?
        {
            parts.extensions.insert(NewBucketTags(tags));
        }
        Ok(Request::from_parts(parts, Body::from(text)))
    }

    fn checks(self, parts: &Parts) -> S3Result<BodyChecks> {
        if self.0.digest == Digest::OnlyMd5 {
            return BodyChecks::content_md5_only(&parts.headers);
        }
        let checks = BodyChecks::from_request(&parts.headers, &parts.extensions)?;
        if self.0.digest == Digest::Required && checks.is_empty() {
            return Err(s3_error!(
                InvalidRequest,
                "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"
            ));
        }
        Ok(checks)
    }
}

/// The operations for which no document is no `MissingRequestBodyError`: the headers say the rest, or
/// the error is another one. (AWS calls a missing legal hold or retention malformed.)
const WITHOUT_DOCUMENT: [&str; 7] = [
    "CompleteMultipartUpload",
    "CreateBucket",
    "PutBucketAcl",
    "PutObjectAcl",
    "PutObjectLegalHold",
    "PutObjectRetention",
    "RestoreObject",
];

/// The operations whose document is a `Tagging`.
const TAGGING: [&str; 2] = ["PutBucketTagging", "PutObjectTagging"];

/// The document with a `TagSet`, which S3 does not require: without one there are no tags.
fn whole_tagging(document: Bytes) -> Bytes {
    let text = document.trim_ascii();
    let declaration = text.starts_with(b"<?").then(|| text.windows(2).position(|it| it == b"?>"));
    let text = declaration.flatten().map_or(text, |end| text[end + 2..].trim_ascii());
    // Whole, and nothing in it: anything else would remove tags by an error.
    let tags = text.iter().filter(|byte| **byte == b'<').count();
    let is_empty = tags == 1 && text.ends_with(b"/>") || tags == 2 && text.ends_with(b"</Tagging>");
    match text.starts_with(b"<Tagging") && is_empty {
        true => Bytes::from_static(b"<Tagging><TagSet></TagSet></Tagging>"),
        false => document,
    }
}

/// The tags in a CreateBucket document; `None` without tags.
fn new_bucket_tags(document: &[u8]) -> S3Result<Option<TagSet>> {
    if !document.windows(4).any(|window| window == b"Tags") {
        return Ok(None);
    }
    let mut tags = None;
    let mut parser = Deserializer::new(document);
    let parsed = parser.named_element("CreateBucketConfiguration", |parser| {
        parser.for_each_element(|parser, name| match name {
            b"Tags" => {
                tags = Some(parser.list_content("Tag")?);
                Ok(())
            }
            b"LocationConstraint" => parser.content::<String>().map(drop),
            b"Location" => parser.content::<LocationInfo>().map(drop),
            b"Bucket" => parser.content::<BucketInfo>().map(drop),
            _ => Err(DeError::UnexpectedTagName),
        })
    });
    parsed.map_err(|_| error::malformed_xml())?;
    Ok(tags)
}

/// True if the request body is read into memory, as documents are, rather than streamed, as
/// objects, parts and forms are. The caller must recognize form uploads itself.
pub fn holds_body(head: &Parts, names_key: bool) -> bool {
    match head.method {
        Method::POST => true,
        Method::PUT => !names_key || query::names_any(&head.uri, &KEY_DOCUMENTS),
        _ => false,
    }
}

/// Subresources of a key that a PUT replaces, instead of the object.
const KEY_DOCUMENTS: [&str; 5] = ["acl", "annotation", "legal-hold", "retention", "tagging"];

/// The way a document is written, of several that mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// s3s reads it.
    Plain,
    /// It has CDATA sections, references to characters, or namespace prefixes: [`plain_text`] writes
    /// it in the way that s3s reads.
    Other,
}

/// Rejects documents that cost the parser far more than their size (deep nesting, huge element
/// counts), document types, which define entities, and elements that the document type does not
/// have. Returns how the document is written.
fn check_shape(document: &[u8], known: Elements) -> S3Result<Spelling> {
    let mut reader = Reader::from_reader(document);
    let mut spelling = Spelling::Plain;
    let mut prefixes = Prefixes::default();
    // The stack of open elements. `known_name` rejects all names that the rules do not list.
    let mut open: Vec<&'static str> = Vec::new();
    let mut elements = 0_usize;
    loop {
        let event = reader.read_event().map_err(|_| error::malformed_xml())?;
        let name = match &event {
            Event::Eof => return Ok(spelling),
            Event::DocType(_) => return Err(error::malformed_xml()),
            Event::Start(start) | Event::Empty(start) => {
                if prefixes.note(start)? {
                    spelling = Spelling::Other;
                }
                let name = start.local_name();
                Some(known_name(name.as_ref(), open.last().copied().unwrap_or_default(), known)?)
            }
            Event::End(_) => {
                open.pop();
                None
            }
            Event::CData(_) => {
                spelling = Spelling::Other;
                None
            }
            Event::GeneralRef(reference) => {
                if reference.is_char_ref() {
                    spelling = Spelling::Other;
                }
                None
            }
            _ => None,
        };
        elements += usize::from(name.is_some());
        if matches!(event, Event::Start(_)) {
            open.extend(name);
        }
        if open.len() > XML_DEPTH_MAX || elements > XML_ELEMENTS_MAX {
            return Err(error::malformed_xml());
        }
    }
}

/// The name of an element, if the rules allow it in `parent`.
fn known_name(name: &[u8], parent: &str, known: Elements) -> S3Result<&'static str> {
    let children = known.iter().find(|(element, _)| *element == parent);
    let mut children = children.map_or("", |(_, children)| children).split(' ');
    children.find(|child| child.as_bytes() == name).ok_or_else(error::malformed_xml)
}

/// The namespace prefixes that a document has declared.
#[derive(Default)]
struct Prefixes(Vec<Vec<u8>>);

/// Namespace prefixes in a document. Ours: documents of S3 have two namespaces.
const PREFIXES_MAX: usize = 16;

impl Prefixes {
    /// Notes the declarations of an element. Returns true if the element or an attribute has a prefix
    /// other than `xsi`, the one that s3s knows.
    ///
    /// # Errors
    /// `MalformedXML` for a prefix that was not declared, as in any parser that knows namespaces.
    fn note(&mut self, start: &BytesStart<'_>) -> S3Result<bool> {
        let mut used = Vec::from_iter(start.name().prefix());
        for attribute in start.attributes() {
            let key = attribute.map_err(|_| error::malformed_xml())?.key;
            match key.as_namespace_binding() {
                Some(PrefixDeclaration::Named(prefix)) => self.0.push(prefix.to_vec()),
                Some(PrefixDeclaration::Default) => {}
                None => used.extend(key.prefix().filter(|prefix| !prefix.is_xml())),
            }
        }
        // Clients that write XML by hand forget to declare `xsi`.
        let is_declared = |prefix: &Prefix<'_>| {
            let declared = self.0.iter().map(Vec::as_slice);
            declared.chain([&b"xsi"[..]]).any(|declared| declared == prefix.as_ref())
        };
        if self.0.len() > PREFIXES_MAX || !used.iter().all(is_declared) {
            return Err(error::malformed_xml());
        }
        Ok(used.iter().any(|prefix| prefix.as_ref() != b"xsi"))
    }
}

/// An element without the prefix of its name; the prefix of its type is `xsi`.
fn plain_start(start: &BytesStart<'_>) -> S3Result<BytesStart<'static>> {
    let local = start.local_name();
    let name = str::from_utf8(local.as_ref()).map_err(|_| error::malformed_xml())?;
    let mut plain = BytesStart::new(name.to_owned());
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| error::malformed_xml())?;
        let (key, value) = (attribute.key, &*attribute.value);
        if key.as_namespace_binding().is_some() {
            continue;
        }
        match key.prefix().is_some() && key.local_name().as_ref() == b"type" {
            true => plain.push_attribute((&b"xsi:type"[..], value)),
            false => plain.push_attribute((key.as_ref(), value)),
        }
    }
    Ok(plain)
}

/// Expands CDATA sections and references to characters, and removes namespace prefixes. s3s skips
/// CDATA, so that `<![CDATA[a]]>b` would name `b`; rejects references to control characters, which
/// keys may contain, and to characters from U+10000 to U+FFFFF; and knows no prefixes.
fn plain_text(document: &[u8]) -> S3Result<Bytes> {
    let malformed = |_| error::malformed_xml();
    let mut reader = Reader::from_reader(document);
    let mut writer = Writer::new(Vec::with_capacity(document.len()));
    loop {
        let event = match reader.read_event().map_err(malformed)? {
            Event::Eof => return Ok(writer.into_inner().into()),
            Event::CData(section) => {
                let text = section.decode().map_err(|_| error::malformed_xml())?;
                Event::Text(BytesText::from_escaped(quick_xml::escape::escape(text).into_owned()))
            }
            Event::GeneralRef(reference) => {
                match reference.resolve_char_ref().map_err(|_| error::malformed_xml())? {
                    Some(character) => {
                        Event::Text(BytesText::new(&character.to_string()).into_owned())
                    }
                    None => Event::GeneralRef(reference),
                }
            }
            Event::Start(start) => Event::Start(plain_start(&start)?),
            Event::Empty(start) => Event::Empty(plain_start(&start)?),
            Event::End(end) => {
                let local = end.local_name();
                let name = str::from_utf8(local.as_ref()).map_err(|_| error::malformed_xml())?;
                Event::End(BytesEnd::new(name.to_owned()))
            }
            event => event,
        };
        writer.write_event(event).map_err(|_| error::malformed_xml())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_its_elements_where_they_belong_and_no_type() {
        let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        let wide = |elements: usize| format!("<a>{}</a>", "<b/>".repeat(elements - 1));
        for (document, accepted) in [
            ("<x:a xmlns:x=\"y\"><b></b></x:a>".to_owned(), true),
            ("<a><c/></a>".to_owned(), false),
            ("<b/>".to_owned(), false),
            ("<a><b><b/></b></a>".to_owned(), false),
            ("<a><B></B></a>".to_owned(), false),
            (nested(XML_DEPTH_MAX), true),
            (nested(XML_DEPTH_MAX + 1), false),
            (wide(XML_ELEMENTS_MAX), true),
            (wide(XML_ELEMENTS_MAX + 1), false),
            ("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>".to_owned(), false),
            ("<a></b>".to_owned(), false),
            ("<x:a><b></b></x:a>".to_owned(), false),
            ("<x:a xmlns:x=\"y\"><z:b/></x:a>".to_owned(), false),
            ("<a z:c=\"d\"/>".to_owned(), false),
            ("<a xml:lang=\"de\"/>".to_owned(), true),
        ] {
            assert_eq!(
                check_shape(document.as_bytes(), &[("", "a"), ("a", "a b")]).is_ok(),
                accepted,
                "{document:.80}"
            );
        }
    }

    #[test]
    fn the_tags_of_a_new_bucket_are_read() {
        let of = |inner: &str| {
            let document =
                format!("<CreateBucketConfiguration>{inner}</CreateBucketConfiguration>");
            new_bucket_tags(document.as_bytes())
        };
        let place = "<LocationConstraint>EU</LocationConstraint>";
        assert_eq!(of(place).expect("well-formed"), None);
        let tags = of(&format!("{place}<Tags><Tag><Key>k</Key><Value>v</Value></Tag></Tags>"));
        let tags = tags.expect("well-formed").expect("tags");
        assert_eq!((tags.len(), tags[0].key.as_deref()), (1, Some("k")));
    }

    #[test]
    fn text_is_written_out() {
        let rows = [
            ("<Key>a&amp;b</Key>", "<Key>a&amp;b</Key>"),
            ("<Key><![CDATA[a<b>]]>c</Key>", "<Key>a&lt;b&gt;c</Key>"),
            ("<Key>a&#1;&#x2;&#65;&amp;</Key>", "<Key>a\u{1}\u{2}A&amp;</Key>"),
            ("<Key>&#60;&#x3E;&#38;&#13;</Key>", "<Key>&lt;&gt;&amp;\r</Key>"),
            ("<Key>&#252;&#x4e2D;</Key>", "<Key>ü中</Key>"),
            ("<Key>&#128512;&#x1F600;&#x1f600;</Key>", "<Key>😀😀😀</Key>"),
            ("<Key>&#65536;&#x10FFFF;</Key>", "<Key>\u{10000}\u{10ffff}</Key>"),
            ("<!-- <![CDATA[ --><Key>a</Key>", "<!-- <![CDATA[ --><Key>a</Key>"),
            ("<n:Key xmlns:n=\"s3\">a</n:Key>", "<Key>a</Key>"),
            ("<n:Key xmlns:n=\"s3\"/>", "<Key/>"),
            ("<a:G xmlns:a=\"s3\" xmlns:i=\"x\" i:type=\"Group\"/>", "<G xsi:type=\"Group\"/>"),
        ];
        for (document, expected) in rows {
            let text = plain_text(document.as_bytes()).expect("well-formed");
            assert_eq!(text, expected, "{document}");
        }
        for document in [
            "<Key><![CDATA[a</Key>",
            "<a>&#1;</b>",
            "<Key>&#x110000;</Key>",
            "<Key>&#xD83D;&#xDE00;</Key>",
            "<Key>&#;</Key>",
            "<Key>&#x;</Key>",
            "<Key>&#12a;</Key>",
        ] {
            assert!(plain_text(document.as_bytes()).is_err(), "{document}");
        }
    }

    #[test]
    fn only_other_spellings_are_written_again() {
        let known: Elements = &[("", "a"), ("a", "b")];
        for (document, expected) in [
            ("<a><b>x&amp;y</b></a>", Spelling::Plain),
            ("<a xmlns=\"s3\"><b>\u{1F600}</b></a>", Spelling::Plain),
            ("<a xmlns:xsi=\"s3\"><b xsi:type=\"c\"/></a>", Spelling::Plain),
            ("<a><b>&#65;</b></a>", Spelling::Other),
            ("<a><b><![CDATA[x]]></b></a>", Spelling::Other),
            ("<s:a xmlns:s=\"s3\"><s:b/></s:a>", Spelling::Other),
            ("<a xmlns:i=\"x\"><b i:type=\"c\"/></a>", Spelling::Other),
        ] {
            let spelling = check_shape(document.as_bytes(), known).expect("well-formed");
            assert_eq!(spelling, expected, "{document}");
        }
    }
}
