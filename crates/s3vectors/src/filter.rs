//! Parses metadata filters from JSON.
//!
//! `{"genre": "drama"}` means `{"genre": {"$eq": "drama"}}`. Several keys, and several operators of
//! one key, are combined with AND.

use liteio_store::StoreError;
use liteio_store::invalid_field::pointer;
use liteio_store::limits::{FILTER_CONDITIONS_MAX, FILTER_DEPTH_MAX};
use liteio_store::vectors::{Condition, Filter, Relation, Scalar};
use serde_json::{Map, Value};

use super::document;
use super::error::{ApiResult, Exception};

/// The operators that combine filters.
const OF_FILTERS: [&str; 2] = ["$and", "$or"];

/// Negations of other databases.
const NEGATIONS: [&str; 2] = ["$not", "$nor"];

/// The operators of a metadata key.
const OF_KEYS: [&str; 10] =
    ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$startsWith", "$exists"];

/// Parses the field `filter` of a query.
pub(super) fn parse(value: &Value) -> ApiResult<Filter> {
    Parser { conditions: 0 }.filter(value, "/filter", 0)
}

/// Refuses the first non-filterable key in a filter, with its place, which the filter of the store does not have. The filter was
/// parsed, so its depth is limited.
pub(super) fn check_keys(filter: &Value, path: &str, non_filterable: &[String]) -> ApiResult<()> {
    let Value::Object(map) = filter else { return Ok(()) };
    map.iter().try_for_each(|(key, value)| {
        let path = pointer(path, key);
        match value {
            Value::Array(filters) if OF_FILTERS.contains(&key.as_str()) => {
                filters.iter().enumerate().try_for_each(|(position, filter)| {
                    check_keys(filter, &pointer(&path, position), non_filterable)
                })
            }
            _ if non_filterable.contains(key) => Err(StoreError::non_filterable(path, key).into()),
            _ => Ok(()),
        }
    })
}

struct Parser {
    conditions: usize,
}

impl Parser {
    fn filter(&mut self, value: &Value, path: &str, depth: usize) -> ApiResult<Filter> {
        if depth > FILTER_DEPTH_MAX {
            let message = format!("filters are nested at most {FILTER_DEPTH_MAX} deep");
            return Err(Exception::filter(path, message));
        }
        let Value::Object(map) = value else {
            return Err(Exception::filter(path, "a filter is an object"));
        };
        if map.is_empty() {
            return Err(Exception::filter(path, "a filter must not be empty"));
        }
        let part = |(key, value): (&String, &Value)| {
            let path = pointer(path, key);
            match key.as_str() {
                "$and" => self.filters(value, &path, depth).map(Filter::All),
                "$or" => self.filters(value, &path, depth).map(Filter::Any),
                key if key.starts_with('$') => Err(unknown(&path, key, &OF_FILTERS)),
                key => {
                    let meant = OF_FILTERS.iter().find(|name| name[1..].eq_ignore_ascii_case(key));
                    if let (Some(meant), Value::Array(_)) = (meant, value) {
                        let message = format!("it is a list: did you mean {meant}?");
                        return Err(Exception::filter(&path, message));
                    }
                    self.key(key, value, &path)
                }
            }
        };
        all(map.iter().map(part))
    }

    fn filters(&mut self, value: &Value, path: &str, depth: usize) -> ApiResult<Vec<Filter>> {
        let filters = list(value, path)?;
        let filter = |(position, filter): (usize, &Value)| {
            self.filter(filter, &pointer(path, position), depth + 1)
        };
        filters.iter().enumerate().map(filter).collect()
    }

    /// Parses the condition on a metadata key: an object of operators, or a value, which means
    /// `$eq`.
    fn key(&mut self, key: &str, value: &Value, path: &str) -> ApiResult<Filter> {
        let Value::Object(operators) = value else {
            return self.condition(key, "$eq", value, path);
        };
        if operators.is_empty() {
            return Err(Exception::filter(path, "an operator is required"));
        }
        self.operators(key, operators, path)
    }

    fn operators(
        &mut self,
        key: &str,
        operators: &Map<String, Value>,
        path: &str,
    ) -> ApiResult<Filter> {
        let condition = |(operator, value): (&String, &Value)| {
            self.condition(key, operator, value, &pointer(path, operator))
        };
        all(operators.iter().map(condition))
    }

    fn condition(
        &mut self,
        key: &str,
        operator: &str,
        value: &Value,
        path: &str,
    ) -> ApiResult<Filter> {
        let relation = |relation| match value {
            Value::Number(number) => match document::number_of(number) {
                Some(number) => Ok(Condition::Number(relation, number)),
                None => Err(Exception::filter(path, "the number is out of range")),
            },
            Value::String(_) => {
                let message =
                    format!("{operator} needs a number, not a string: store dates as numbers");
                Err(Exception::filter(path, message))
            }
            _ => Err(Exception::filter(path, format!("{operator} needs a number"))),
        };
        let condition = match operator {
            "$eq" => Condition::Equal(one(value, "$in", path)?),
            "$ne" => Condition::NotEqual(one(value, "$nin", path)?),
            "$gt" => relation(Relation::Greater)?,
            "$gte" => relation(Relation::GreaterOrEqual)?,
            "$lt" => relation(Relation::Less)?,
            "$lte" => relation(Relation::LessOrEqual)?,
            "$in" => Condition::In(scalars(value, path)?),
            "$nin" => Condition::NotIn(scalars(value, path)?),
            "$startsWith" => match value {
                Value::String(prefix) => Condition::StartsWith(prefix.clone()),
                _ => return Err(Exception::filter(path, "$startsWith needs a string")),
            },
            "$exists" => match value {
                Value::Bool(wanted) => Condition::Exists(*wanted),
                _ => return Err(Exception::filter(path, "$exists needs true or false")),
            },
            _ => return Err(unknown(path, operator, &OF_KEYS)),
        };
        self.conditions += match &condition {
            Condition::In(wanted) | Condition::NotIn(wanted) => wanted.len(),
            _ => 1,
        };
        if self.conditions > FILTER_CONDITIONS_MAX {
            let message = format!(
                "a filter has at most {FILTER_CONDITIONS_MAX} conditions, and each value of $in and $nin is one"
            );
            return Err(Exception::filter("/filter", message));
        }
        Ok(Filter::Key { key: key.to_owned(), condition })
    }
}

/// Combines several filters with AND.
fn all(filters: impl Iterator<Item = ApiResult<Filter>>) -> ApiResult<Filter> {
    let mut filters = filters.collect::<ApiResult<Vec<Filter>>>()?;
    match (filters.len(), filters.pop()) {
        (1, Some(only)) => Ok(only),
        (_, last) => {
            filters.extend(last);
            Ok(Filter::All(filters))
        }
    }
}

/// The error for an operator that is none of `known`, with the one that differs in its sign or in case only.
fn unknown(path: &str, operator: &str, known: &[&str]) -> Exception {
    let hint = match known.iter().find(|name| is_alike(name, operator)) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None if NEGATIONS.iter().any(|name| is_alike(name, operator)) => {
            "use the opposite of each condition, such as $ne for $eq and $nin for $in".to_owned()
        }
        None => format!("use one of {}", known.join(", ")),
    };
    Exception::filter(path, format!("the operator {operator:?} is unknown here: {hint}"))
}

fn is_alike(name: &str, operator: &str) -> bool {
    name.trim_start_matches('$').eq_ignore_ascii_case(operator.trim_start_matches('$'))
}

fn list<'a>(value: &'a Value, path: &str) -> ApiResult<&'a [Value]> {
    match value {
        Value::Array(values) if values.is_empty() => {
            Err(Exception::filter(path, "the list is empty: leave the condition out"))
        }
        Value::Array(values) => Ok(values),
        _ => Err(Exception::filter(path, "it is not a list")),
    }
}

/// The value of an operator for one value. `of_lists` is the same operator for lists.
fn one(value: &Value, of_lists: &str, path: &str) -> ApiResult<Scalar> {
    match value {
        Value::Array(_) => {
            Err(Exception::filter(path, format!("it is a list: did you mean {of_lists}?")))
        }
        Value::Null => Err(Exception::filter(path, "it is null: did you mean $exists?")),
        _ => scalar(value, path),
    }
}

fn scalar(value: &Value, path: &str) -> ApiResult<Scalar> {
    document::scalar(value)
        .ok_or_else(|| Exception::filter(path, "it is not a string, a number or a boolean"))
}

fn scalars(value: &Value, path: &str) -> ApiResult<Vec<Scalar>> {
    let element = |(position, value)| scalar(value, &pointer(path, position));
    list(value, path)?.iter().enumerate().map(element).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn filters_allow_what_they_say() {
        let Value::Object(map) = json!({
            "genre": ["drama", "war"], "year": 1999, "score": 7.5, "seen": true,
        }) else {
            panic!("an object")
        };
        let metadata = document::metadata(map);
        let rows = [
            (json!({"genre": "war"}), true),
            (json!({"genre": {"$eq": "comedy"}}), false),
            (json!({"genre": "war", "year": 1998}), false),
            (json!({"year": {"$gte": 1990, "$lt": 2000}}), true),
            (json!({"year": {"$gt": 1999}}), false),
            (json!({"score": {"$lte": 7.5}}), true),
            (json!({"year": 1999.0}), true),
            (json!({"seen": {"$ne": true}}), false),
            (json!({"missing": {"$ne": 1}}), true),
            (json!({"year": {"$in": [1, 1999]}}), true),
            (json!({"genre": {"$nin": ["war", "x"]}}), false),
            (json!({"missing": {"$exists": false}}), true),
            (json!({"genre": {"$startsWith": "dra"}}), true),
            (json!({"genre": {"$startsWith": "wa"}}), true),
            (json!({"genre": {"$startsWith": "ama"}}), false),
            (json!({"year": {"$startsWith": "19"}}), false),
            (json!({"missing": {"$startsWith": ""}}), false),
            (json!({"genre": {"$startsWith": "w", "$ne": "comedy"}, "year": 1999}), true),
            (json!({"genre": {"$startsWith": "w", "$ne": "drama"}}), false),
            (
                json!({"$or": [{"year": 1}, {"$and": [{"genre": {"$startsWith": "w"}}, {"seen": true}]}]}),
                true,
            ),
            (json!({"$and": [{"genre": {"$startsWith": "x"}}, {"seen": true}]}), false),
            (json!({"$and": [{"seen": true}, {"$or": [{"year": 1}, {"score": 7.5}]}]}), true),
            (json!({"$or": [{"year": 1}, {"year": 2}]}), false),
        ];
        for (filter, expected) in rows {
            let parsed = parse(&filter).expect("valid");
            assert_eq!(parsed.matches(&metadata), expected, "{filter}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_with_its_place() {
        let mut deep = json!({"a": 1});
        for _ in 0..20 {
            deep = json!({"$and": [deep]});
        }
        let many: Vec<u32> = (0..2000).collect();
        let rows = [
            (json!([]), "'/filter'"),
            (json!({}), "'/filter'"),
            (json!({"$xor": []}), "'/filter/$xor'"),
            (json!({"a": {"$regex": "x"}}), "'/filter/a/$regex'"),
            (json!({"a": {"$not": {"$eq": 1}}}), "unknown here: use the opposite of each"),
            (json!({"$nor": [{"a": 1}]}), "such as $ne for $eq and $nin for $in"),
            (json!({"a": {}}), "'/filter/a'"),
            (json!({"a": [1]}), "'/filter/a', it is a list: did you mean $in?"),
            (json!({"a": {"$eq": [1]}}), "'/filter/a/$eq', it is a list: did you mean $in?"),
            (json!({"a": {"$ne": [1]}}), "'/filter/a/$ne', it is a list: did you mean $nin?"),
            (json!({"a": null}), "'/filter/a', it is null: did you mean $exists?"),
            (json!({"a": {"$gt": "x"}}), "'/filter/a/$gt'"),
            (json!({"a": {"$gte": "2024-01-01"}}), "not a string: store dates as numbers"),
            (json!({"a": {"$lt": [1]}}), "$lt needs a number"),
            (json!({"a": {"$in": []}}), "the list is empty: leave the condition out"),
            (json!({"a": {"$in": 1}}), "'/filter/a/$in', it is not a list"),
            (json!({"$and": []}), "'/filter/$and', the list is empty"),
            (json!({"AND": [{"a": 1}]}), "'/filter/AND', it is a list: did you mean $and?"),
            (json!({"a": {"$in": [1, {}]}}), "'/filter/a/$in/1'"),
            (json!({"a": {"$exists": 1}}), "'/filter/a/$exists'"),
            (json!({"a": {"$startsWith": 1}}), "'/filter/a/$startsWith'"),
            (json!({"$or": [{"a": {"$startsWith": ["x"]}}]}), "'/filter/$or/0/a/$startsWith'"),
            (json!({"a": {"$startswith": "x"}}), "'/filter/a/$startswith'"),
            (json!({"$and": {}}), "'/filter/$and'"),
            (json!({"$or": [{"a": 1}, 2]}), "'/filter/$or/1'"),
            (deep, "nested"),
            (json!({"a": {"$in": many}}), "at most"),
        ];
        for (filter, expected) in rows {
            let error = parse(&filter).expect_err("not valid");
            assert!(format!("{error:?}").contains(expected), "{filter}: {error:?}");
        }
    }
}
