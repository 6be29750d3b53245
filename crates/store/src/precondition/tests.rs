use liteio_disk::ManualClock;

use super::*;

const TAG: ETag = ETag::Md5([0xab; 16]);
const MODIFIED_MS: u64 = 1_700_000_000_999;
const MODIFIED_S: i64 = 1_700_000_000;

fn good() -> Option<EtagCondition> {
    EtagCondition::parse(&format!("\"{TAG}\""))
}

fn bad() -> Option<EtagCondition> {
    EtagCondition::parse("\"other\"")
}

/// The second after the modification.
fn now() -> ManualClock {
    ManualClock::new(MODIFIED_MS + 1)
}

fn check_read(conditions: &ReadConditions, expected: ConditionResult) {
    assert_eq!(conditions.check(&TAG, MODIFIED_MS, &now()), expected, "{conditions:?}");
}

#[test]
fn reads_follow_the_precedence_of_rfc_9110() {
    use ConditionResult::{NotModified, PreconditionFailed, Proceed};
    let (before, after) = (Some(MODIFIED_S - 1), Some(MODIFIED_S));
    // If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since.
    let cases = [
        (None, None, None, None, Proceed),
        (good(), None, None, None, Proceed),
        (bad(), None, None, None, PreconditionFailed),
        (None, after, None, None, Proceed),
        (None, before, None, None, PreconditionFailed),
        // If-Match decides alone.
        (good(), before, None, None, Proceed),
        (bad(), after, None, None, PreconditionFailed),
        (None, None, bad(), None, Proceed),
        (None, None, good(), None, NotModified),
        (None, None, None, before, Proceed),
        (None, None, None, after, NotModified),
        // If-None-Match decides alone.
        (None, None, good(), before, NotModified),
        (None, None, bad(), after, Proceed),
        // The first of the two questions answers.
        (bad(), None, good(), None, PreconditionFailed),
        (good(), None, good(), None, NotModified),
        (None, before, good(), None, PreconditionFailed),
        (Some(EtagCondition::Any), None, None, None, Proceed),
        (None, None, Some(EtagCondition::Any), None, NotModified),
        (Some(EtagCondition::Matches(Vec::new())), None, None, None, PreconditionFailed),
    ];
    for (if_match, if_unmodified_since_s, if_none_match, if_modified_since_s, expected) in cases {
        let conditions = ReadConditions {
            if_match,
            if_none_match,
            if_modified_since_s,
            if_unmodified_since_s,
            authorized: None,
        };
        check_read(&conditions, expected);
        // The authorized object is one more condition, and outweighs none of the others.
        check_read(&ReadConditions { authorized: Some(TAG), ..conditions.clone() }, expected);
        let replaced = ReadConditions { authorized: Some(ETag::Md5([1; 16])), ..conditions };
        check_read(&replaced, PreconditionFailed);
    }
}

#[test]
fn a_refusal_names_its_header() {
    let both =
        ReadConditions { if_match: bad(), if_unmodified_since_s: Some(0), ..Default::default() };
    assert_eq!(both.precondition_name(), "If-Match");
    let date = ReadConditions { if_unmodified_since_s: Some(0), ..Default::default() };
    assert_eq!(date.precondition_name(), "If-Unmodified-Since");
    let tag = ReadConditions { if_none_match: good(), ..Default::default() };
    assert_eq!(tag.validator_name(), "If-None-Match");
    assert_eq!(date.validator_name(), "If-Modified-Since");
    assert!(ReadConditions::default().is_empty() && !tag.is_empty());
}

#[test]
fn dates_before_1970_are_compared_and_a_modified_since_in_the_future_is_ignored() {
    use ConditionResult::{NotModified, Proceed};
    // Recorded on AWS (LocalStack, test_s3_get_object_preconditions and
    // test_s3_copy_object_preconditions): a date in the future is no condition.
    for (since_s, expected) in [
        (-1, Proceed),
        (MODIFIED_S, NotModified),
        (MODIFIED_S + 1, NotModified),
        (MODIFIED_S + 2, Proceed),
        (i64::MAX, Proceed),
    ] {
        let since = ReadConditions { if_modified_since_s: Some(since_s), ..Default::default() };
        check_read(&since, expected);
    }
    let until = ReadConditions { if_unmodified_since_s: Some(i64::MAX), ..Default::default() };
    check_read(&until, Proceed);
}

#[test]
fn lists_quotes_and_weak_marks_are_understood() {
    let (strong, weak) = (ETagText::strong, ETagText::weak);
    let tags = |tags: &[ETagText]| Some(EtagCondition::Matches(tags.to_vec()));
    for (header, expected) in [
        ("*", Some(EtagCondition::Any)),
        (" * ", Some(EtagCondition::Any)),
        ("\"*\"", Some(EtagCondition::Any)),
        ("\"abc\"", tags(&[strong("abc")])),
        ("abc", tags(&[strong("abc")])),
        ("W/\"abc\"", tags(&[weak("abc")])),
        ("\"a\", \"b\"", tags(&[strong("a"), strong("b")])),
        ("a,W/b , \"c,d\"", tags(&[strong("a"), weak("b"), strong("c,d")])),
        ("\"a-3\",", tags(&[strong("a-3")])),
        ("\"open", tags(&[strong("open")])),
        ("", None),
        (" , ,", None),
        ("\"\"", None),
    ] {
        assert_eq!(EtagCondition::parse(header), expected, "{header:?}");
    }
}

#[test]
fn weak_tags_match_for_if_none_match_only() {
    // Header, matches for If-Match, matches for If-None-Match.
    for (header, strongly, weakly) in [
        ("*", true, true),
        ("\"a\", \"tag\"", true, true),
        ("W/\"tag\"", false, true),
        ("\"a,tag,b\"", false, false),
        ("TAG", false, false),
    ] {
        let condition = EtagCondition::parse(header).expect(header);
        assert_eq!(condition.matches_strongly("tag"), strongly, "{header:?}");
        assert_eq!(condition.matches_weakly("tag"), weakly, "{header:?}");
    }
}

#[test]
fn writes_are_decided_by_the_current_object() {
    use WriteConditionResult::{NoObject, PreconditionFailed, Proceed};
    let failed = |condition| PreconditionFailed { condition };
    let none = WriteConditions::default();
    assert!(none.is_empty());
    let if_match = WriteConditions { if_match: good(), ..none.clone() };
    let if_match_other = WriteConditions { if_match: bad(), ..none.clone() };
    let if_match_any = WriteConditions { if_match: Some(EtagCondition::Any), ..none.clone() };
    let if_absent = WriteConditions { if_none_match: Some(EtagCondition::Any), ..none.clone() };
    let size = WriteConditions { if_match_size: Some(5), ..none.clone() };
    let other_size = WriteConditions { if_match: good(), if_match_size: Some(6), ..none.clone() };
    let time = WriteConditions { if_match_modified_s: Some(MODIFIED_S), ..none.clone() };
    let other_time = WriteConditions { if_match_modified_s: Some(0), ..none.clone() };
    let current = CurrentObject { etag: &TAG, bytes: 5, modified_ms: MODIFIED_MS };
    for (conditions, with_object, without) in [
        (none, Proceed, Proceed),
        (if_match, Proceed, NoObject),
        (if_match_other, failed("If-Match"), NoObject),
        (if_match_any, Proceed, NoObject),
        (if_absent, failed("If-None-Match"), Proceed),
        (size, Proceed, NoObject),
        (other_size, failed("x-amz-if-match-size"), NoObject),
        (time, Proceed, NoObject),
        (other_time, failed("x-amz-if-match-last-modified-time"), NoObject),
    ] {
        assert_eq!(conditions.check(Some(current)), with_object, "{conditions:?}");
        assert_eq!(conditions.check(None), without, "{conditions:?}");
    }
}

#[test]
fn a_range_is_for_exactly_one_object() {
    let etag = |tag| RangeCondition::Etag(tag);
    let rows = [
        (etag(ETagText::strong(&TAG.to_string())), true),
        (etag(ETagText::weak(&TAG.to_string())), false),
        (etag(ETagText::strong("other")), false),
        (RangeCondition::ModifiedInS(MODIFIED_S), true),
        (RangeCondition::ModifiedInS(MODIFIED_S + 1), false),
        (RangeCondition::ModifiedInS(MODIFIED_S - 1), false),
        (RangeCondition::Nothing, false),
    ];
    for (condition, expected) in rows {
        assert_eq!(condition.holds(&TAG, MODIFIED_MS), expected, "{condition:?}");
    }
}
