//! The table of S3's operations, read from the code, so that tests of every operation forget none.

const DISPATCH: &str = include_str!("../../../s3/src/dispatch.rs");

/// A line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// The action in policies, with its service.
    pub(crate) action: &'static str,
    pub(crate) method: &'static str,
    /// `service`, `bucket`, `keys` or `key`.
    pub(crate) level: &'static str,
    /// The parameters of the query that make a request one for it.
    pub(crate) required: Vec<&'static str>,
    /// The other parameters that it knows.
    pub(crate) known: Vec<&'static str>,
    /// Something answers it, be it under the name of another.
    pub(crate) is_answered: bool,
}

/// The whole table.
pub(crate) fn operations() -> Vec<Operation> {
    let (_, table) = DISPATCH.split_once("operations! {\n").expect("the table");
    let table = table.trim_end().strip_suffix('}').expect("the end of the table");
    let entries = table.split(';').map(str::trim).filter(|entry| !entry.is_empty());
    let mut operations: Vec<Operation> = entries.clone().map(operation).collect();
    let others: Vec<Option<&str>> =
        entries.map(|entry| entry.split_once(" as ").map(|(_, other)| other.trim())).collect();
    for (index, other) in others.into_iter().enumerate() {
        if let Some(other) = other {
            let other = operations.iter().find(|it| it.name == other).expect("another");
            operations[index].is_answered = other.is_answered;
        }
    }
    operations
}

/// `Operation [service:Action] METHOD level {"required"…} {"known"…} …`
fn operation(entry: &'static str) -> Operation {
    let (name, rest) = entry.split_once(" [").expect("a name");
    let (action, rest) = rest.split_once(']').expect("an action");
    let rest = rest.trim_start();
    let (method, rest) = rest.split_once(' ').expect("a method");
    let level_bytes = rest.find(|it: char| !it.is_ascii_lowercase()).unwrap_or(rest.len());
    let (level, rest) = rest.split_at(level_bytes);
    let mut lists = rest.split('{').skip(1).map(|list| {
        let list = list.split('}').next().expect("the end of the list");
        list.split('"').skip(1).step_by(2).collect()
    });
    let (required, known) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
    let is_answered = rest.contains(" = ") || rest.contains("=> ");
    Operation { name, action, method, level, required, known, is_answered }
}

#[test]
fn the_table_is_read_as_it_stands() {
    let operations = operations();
    let find = |name| operations.iter().find(|it| it.name == name).expect(name);
    let get = find("GetObjectTagging");
    assert_eq!((get.action, get.method, get.level), ("s3:GetObjectTagging", "GET", "key"));
    assert_eq!((&*get.required, &*get.known), (&["tagging"][..], &["versionId"][..]));
    assert!(get.is_answered && find("PostObject").is_answered && find("GetObject").is_answered);
    assert!(!find("GetObjectTorrent").is_answered);
    assert_eq!(find("DeleteObjects").level, "keys");
    assert!(operations.iter().all(|it| it.action.starts_with("s3:")));
}
