//! The statements of a session, for the schema of a cluster.

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The row of one key: [`FETCH_KEY`].
    FetchKey,
    /// Rows of keys: [`FETCH_KEYS`].
    FetchKeys,
    /// Wants of all kinds: [`FETCH`].
    Fetch,
    Commit,
    Settle,
    TakeNumbers,
}

impl Kind {
    pub(crate) const COUNT: usize = 6;
}

/// As [`FETCH_KEYS`], for one key: a third less to do.
const FETCH_KEY: &str = "
SELECT e.n0, e.n1, clock_timestamp(), 1, x.ver, x.v
FROM {schema}.epoch e LEFT JOIN {schema}.kv x ON x.k = $1 WHERE e.one";

/// The epochs and the time of the statement's snapshot in each row, and a row for each key. There is always a
/// row.
const FETCH_KEYS: &str = "
SELECT e.n0, e.n1, clock_timestamp(), c.want::int, x.ver, x.v
FROM {schema}.epoch e
LEFT JOIN unnest($1::bytea[]) WITH ORDINALITY AS c(k, want) ON true
LEFT JOIN LATERAL (SELECT kv.ver, kv.v FROM {schema}.kv WHERE kv.k = c.k) x ON true
WHERE e.one";

/// Rows of four columns: the number of the want that they answer, a key, a version, and a value. Negative
/// numbers stand for the epochs and the time. A row of a range without a value is not of the answer, and tells that
/// it is not whole; so does one without a key.
///
/// `$1` and `$2`: keys. `$3` and `$4`: counters. `$5` to `$9`: ranges, with the bytes that each may have. `$10` to `$14`: those
/// backward. `$15` to `$22`: grouped ranges.
const FETCH: &str = "
SELECT -1 AS want, NULL::bytea AS k, e.n0 AS ver, NULL::bytea AS v FROM {schema}.epoch e WHERE e.one
UNION ALL SELECT -2, NULL, e.n1, NULL FROM {schema}.epoch e WHERE e.one
UNION ALL SELECT -3, NULL, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, NULL
UNION ALL SELECT c.want, NULL, x.ver, x.v
    FROM unnest($1::int[], $2::bytea[]) AS c(want, k),
    LATERAL (SELECT kv.ver, kv.v FROM {schema}.kv WHERE kv.k = c.k) x
UNION ALL SELECT c.want, NULL, NULL, int8send(s.n0) || int8send(s.n1) || int8send(s.n2) || int8send(s.n3)
    FROM unnest($3::int[], $4::bytea[]) AS c(want, k),
    LATERAL (SELECT {sums} FROM {schema}.counter t WHERE t.k = c.k) s
UNION ALL SELECT r.want, x.k, x.ver, CASE WHEN x.at <= r.most AND x.before < r.bytes THEN x.v END
    FROM unnest($5::int[], $6::bytea[], $7::bytea[], $8::bigint[], $9::bigint[]) AS r(want, lower, upper, most, bytes),
    LATERAL (SELECT y.k, y.ver, y.v, row_number() OVER w AS at, sum(octet_length(y.v)) OVER w - octet_length(y.v) AS before
        FROM (SELECT kv.k, kv.ver, kv.v FROM {schema}.kv WHERE kv.k >= r.lower AND kv.k < r.upper
            ORDER BY kv.k LIMIT r.most + 1) y
        WINDOW w AS (ORDER BY y.k ROWS UNBOUNDED PRECEDING)) x
UNION ALL SELECT r.want, x.k, x.ver, CASE WHEN x.at <= r.most AND x.before < r.bytes THEN x.v END
    FROM unnest($10::int[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bigint[]) AS r(want, lower, upper, most, bytes),
    LATERAL (SELECT y.k, y.ver, y.v, row_number() OVER w AS at, sum(octet_length(y.v)) OVER w - octet_length(y.v) AS before
        FROM (SELECT kv.k, kv.ver, kv.v FROM {schema}.kv WHERE kv.k >= r.lower AND kv.k < r.upper
            ORDER BY kv.k DESC LIMIT r.most + 1) y
        WINDOW w AS (ORDER BY y.k DESC ROWS UNBOUNDED PRECEDING)) x
UNION ALL SELECT r.want, x.k, x.ver, x.v
    FROM unnest($15::int[], $16::bytea[], $17::bytea[], $18::bytea[], $19::int[], $20::bytea[], $21::int[], $22::bigint[])
        AS r(want, lower, upper, delimiter, skip, text_end, most, bytes),
    LATERAL {schema}.grouped(r.lower, r.upper, r.delimiter, r.skip, r.text_end, r.most, r.bytes) x";

const COMMIT: &str = "
SELECT what, k, ver, v FROM {schema}.commit_group(
    $1::int, $2::int, $3::text::uuid, $4::bigint, $5::bool, $6::bigint, $7::bigint[], $8::bool[],
    $9::bytea[], $10::bigint[], $11::bytea[], $12::bytea[], $13::bigint[], $14::text[], $15::bigint[],
    $16::bytea[], $17::bigint[], $18::bytea[], $19::bytea[], $20::bytea[], $21::bytea[], $22::bytea[], $23::bytea[],
    $24::bytea[], $25::int, $26::bigint[], $27::bigint[], $28::bigint[], $29::bigint[], $30::int, $31::int)";

const SETTLE: &str = "
SELECT last, is_committed, is_ours FROM {schema}.settle($1::int, $2::int, $3::text::uuid, $4::bigint, $5::bool)";

const TAKE_NUMBERS: &str =
    "SELECT {schema}.take_numbers($1::int, $2::bigint, $3::bigint, $4::bool)";

/// The texts of all statements.
pub(crate) struct Texts([String; Kind::COUNT]);

impl Texts {
    /// For a schema, given as its quoted name.
    pub(crate) fn new(schema: &str) -> Self {
        // A sum beyond the range of a number is the greatest or least one.
        let sum = |index: usize| {
            format!(
                "greatest(least(coalesce(sum(t.n{index}), 0), 9223372036854775807), -9223372036854775808)::bigint AS n{index}"
            )
        };
        let sums = [0, 1, 2, 3].map(sum).join(", ");
        Self(
            [FETCH_KEY, FETCH_KEYS, FETCH, COMMIT, SETTLE, TAKE_NUMBERS]
                .map(|text| text.replace("{schema}", schema).replace("{sums}", &sums)),
        )
    }

    pub(crate) fn of(&self, kind: Kind) -> &str {
        &self.0[kind as usize]
    }
}
