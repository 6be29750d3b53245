//! Names of namespaces, tables and views.

use std::fmt;

use super::CatalogError;
use crate::error::StoreError;
use crate::limits::{CATALOG_NAME_BYTES_MAX, NAMESPACE_BYTES_MAX, NAMESPACE_LEVELS_MAX};

/// The character between the levels of a namespace in a path, as in the routes of Iceberg's REST catalog. No
/// name contains it.
const SEPARATOR: char = '\u{1F}';

/// The name of a namespace: its levels, the outermost first. At least one; no level is empty, or has control
/// characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceName {
    /// The levels, joined by [`SEPARATOR`].
    path: String,
}

/// The name of a table or a view in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    namespace: NamespaceName,
    name: String,
}

impl NamespaceName {
    /// The namespace with these levels.
    ///
    /// # Errors
    /// [`CatalogError::InvalidName`].
    pub fn new(levels: Vec<String>) -> Result<Self, StoreError> {
        let refused = |rule| CatalogError::InvalidName { name: levels.join("."), rule };
        if levels.is_empty() {
            return Err(refused("a namespace has at least one level").into());
        }
        if levels.len() > NAMESPACE_LEVELS_MAX {
            return Err(refused("a namespace has at most 16 levels").into());
        }
        levels.iter().try_for_each(|level| check(level))?;
        let path = levels.join("\u{1F}");
        match path.len() <= NAMESPACE_BYTES_MAX {
            true => Ok(Self { path }),
            false => Err(refused("all levels together have at most 1024 bytes").into()),
        }
    }

    /// The namespace with this path: its levels with U+001F between them.
    ///
    /// # Errors
    /// [`CatalogError::InvalidName`].
    pub fn of_path(path: &str) -> Result<Self, StoreError> {
        Self::new(path.split(SEPARATOR).map(str::to_owned).collect())
    }

    /// The levels, the outermost first.
    pub fn levels(&self) -> impl Iterator<Item = &str> {
        self.path.split(SEPARATOR)
    }

    /// The levels with U+001F between them.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path of the parent (empty for the root), and the innermost level.
    pub(crate) fn split(&self) -> (&str, &str) {
        self.path.rsplit_once(SEPARATOR).unwrap_or(("", &self.path))
    }

    /// The namespace around it, if there is one.
    pub(crate) fn parent(&self) -> Option<Self> {
        let (path, _) = self.path.rsplit_once(SEPARATOR)?;
        Some(Self { path: path.to_owned() })
    }

    /// The namespace `name` in it, or in the root.
    pub(crate) fn child(parent: Option<&Self>, name: &str) -> Result<Self, StoreError> {
        let levels = parent.into_iter().flat_map(Self::levels).chain([name]);
        Self::new(levels.map(str::to_owned).collect())
    }

    pub(crate) fn missing(&self) -> StoreError {
        CatalogError::NoSuchNamespace { namespace: self.to_string() }.into()
    }
}

impl TableName {
    /// The table or view `name` in `namespace`.
    ///
    /// # Errors
    /// [`CatalogError::InvalidName`].
    pub fn new(namespace: NamespaceName, name: String) -> Result<Self, StoreError> {
        check(&name)?;
        Ok(Self { namespace, name })
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &NamespaceName {
        &self.namespace
    }

    /// Its name in the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for NamespaceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path.replace(SEPARATOR, "."))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.namespace, self.name)
    }
}

fn check(name: &str) -> Result<(), CatalogError> {
    let refused = |rule| Err(CatalogError::InvalidName { name: name.to_owned(), rule });
    match name {
        "" => refused("it is empty"),
        _ if name.len() > CATALOG_NAME_BYTES_MAX => refused("it is longer than 255 bytes"),
        _ if name.chars().any(char::is_control) => refused("it has control characters"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(levels: &[&str]) -> Result<NamespaceName, StoreError> {
        NamespaceName::new(levels.iter().map(|level| (*level).to_owned()).collect())
    }

    #[test]
    fn a_name_is_any_text_without_control_characters() {
        let long = "x".repeat(CATALOG_NAME_BYTES_MAX + 1);
        for levels in [&["a"][..], &["a.b", "c/d"], &["ä", " "], &[&long[1..]]] {
            let name = namespace(levels).expect("a name");
            assert_eq!(name.levels().collect::<Vec<_>>(), levels);
            assert_eq!(NamespaceName::of_path(name.path()).expect("its path"), name);
            TableName::new(name, levels[0].to_owned()).expect("a name");
        }
        for levels in [&[][..], &[""], &["a", ""], &["a\u{1F}b"], &["a\nb"], &[&long]] {
            let error = namespace(levels).expect_err("no name");
            assert!(matches!(error, StoreError::Catalog(CatalogError::InvalidName { .. })));
        }
        namespace(&["a"; NAMESPACE_LEVELS_MAX + 1]).expect_err("too deep");
        TableName::new(namespace(&["a"]).expect("a name"), String::new()).expect_err("no name");
    }

    #[test]
    fn a_namespace_is_split_into_its_parent_and_its_last_level() {
        let nested = namespace(&["a", "b", "c"]).expect("a name");
        assert_eq!(nested.split(), ("a\u{1F}b", "c"));
        let parent = nested.parent().expect("a parent");
        assert_eq!(NamespaceName::child(Some(&parent), "c").expect("a name"), nested);
        assert_eq!(nested.to_string(), "a.b.c");
        let outer = namespace(&["a"]).expect("a name");
        assert_eq!((outer.split(), outer.parent()), (("", "a"), None));
    }
}
