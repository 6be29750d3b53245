//! Every member of every input shape of S3's API model has a decision: it is handled, refused, or harmless.
//!
//! A member that this server does not know would otherwise be ignored: a lock that does not lock.

use std::collections::BTreeSet;

use super::S3Api;
use super::document_rules::Rules;
use super::request_headers::tests::is_decided;
use super::route::{Answerer, Route};

const MODEL: &str = include_str!("model.txt");

/// Operations that the model keeps for old clients; they arrive as the operation with the longer name.
const OLD_NAMES: [&str; 4] =
    ["GetBucketLifecycle", "GetBucketNotification", "PutBucketLifecycle", "PutBucketNotification"];

/// Elements that no document may have here: they are `MalformedXML`, as every unknown element.
const REFUSED_ELEMENTS: [(&str, &str); 6] = [
    // Filters that exclude, and what is inside of them.
    ("PutBucketReplication", "Not"),
    ("PutBucketReplication", "Or"),
    ("PutBucketReplication", "Prefix"),
    ("PutBucketReplication", "Status"),
    ("PutBucketReplication", "Tag"),
    ("PutBucketReplication", "UseSourceMultiRegionKey"),
];

/// One operation of the model.
struct Modelled {
    route: &'static Route,
    headers: Vec<&'static str>,
    parameters: Vec<&'static str>,
    elements: Vec<(&'static str, &'static str)>,
}

/// The operations that this server implements.
fn implemented() -> Vec<Modelled> {
    let lines = MODEL.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next().filter(|name| !OLD_NAMES.contains(name))?;
            let route = S3Api::ROUTES.iter().find(|route| route.operation == name);
            let route = route.unwrap_or_else(|| panic!("{name} is not in the table of operations"));
            let (mut headers, mut parameters, mut elements) = (Vec::new(), Vec::new(), Vec::new());
            for word in words {
                match (word.strip_prefix('?'), word.split_once('/')) {
                    (Some(parameter), _) => parameters.push(parameter),
                    (None, Some(element)) => elements.push(element),
                    (None, None) => headers.push(word),
                }
            }
            Some(Modelled { route, headers, parameters, elements })
        })
        // Other operations are 501 by name, whatever they carry.
        .filter(|it| !matches!(it.route.answerer, Answerer::Nobody | Answerer::Other(_)))
        .collect()
}

#[test]
fn every_header_is_handled_refused_or_harmless() {
    let operations = implemented();
    assert!(operations.len() > 90, "{}", operations.len());
    for Modelled { route, headers, .. } in &operations {
        for name in headers {
            assert!(is_decided(name), "{} of {}", name, route.operation);
        }
    }
}

#[test]
fn every_query_parameter_is_known_to_its_operation() {
    for Modelled { route, parameters, .. } in implemented() {
        for name in parameters {
            let is_known = route.required.contains(&name) || route.known.contains(&name);
            assert!(
                is_known || name.starts_with("response-"),
                "?{name} of {}: it would be ignored by a read and refused by a write",
                route.operation
            );
        }
    }
}

#[test]
fn every_element_is_read_or_refused() {
    let mut refused = BTreeSet::new();
    for Modelled { route, elements, .. } in implemented() {
        if elements.is_empty() {
            continue;
        }
        let rules = Rules::of(route.operation);
        let rules = rules.unwrap_or_else(|| panic!("{} has no rules", route.operation));
        for (parent, child) in elements {
            if !rules.knows(parent, child) {
                refused.insert((route.operation, child));
            }
        }
    }
    assert_eq!(refused, BTreeSet::from(REFUSED_ELEMENTS));
}
