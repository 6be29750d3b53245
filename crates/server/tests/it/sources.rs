//! The modules of a crate and what their code names, without what is compiled for tests only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// The directory of all crates.
pub(crate) fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' directory").to_owned()
}

/// A module and the code in it.
#[derive(Clone)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// Names of the modules from below the crate's root to this one.
    name: Vec<String>,
    /// Its words and signs, without white space.
    pub(crate) code: String,
    /// Every path of more than one segment that it names, and all that it imports; those of its own
    /// crate begin with `crate::`.
    pub(crate) paths: BTreeSet<String>,
}

impl Module {
    /// Its path below the crate's root.
    pub(crate) fn path(&self) -> String {
        self.name.join("::")
    }

    /// True for each of these modules, named by their paths from the crate's root, and all below them.
    pub(crate) fn is_within(&self, names: &[&str]) -> bool {
        names.iter().any(|name| is_below(&self.path(), name))
    }
}

/// True when `path` is `banned` or leads on from it.
pub(crate) fn is_below(path: &str, banned: &str) -> bool {
    path.strip_prefix(banned).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// A file with the name of the module in it, and its words and signs.
type Source = (PathBuf, Vec<String>, Vec<String>);

/// All modules of a crate that are compiled without tests, the library's and the program's.
pub(crate) fn modules(package: &str) -> Vec<Module> {
    let source = crates().join(package).join("src");
    let roots = ["lib.rs", "main.rs"].map(|name| (source.join(name), Vec::new())).into_iter();
    let mut left: Vec<_> = roots.filter(|(root, _)| root.exists()).collect();
    let mut sources = Vec::new();
    while let Some((file, name)) = left.pop() {
        let words = words(&fs::read_to_string(&file).expect("sources are readable"));
        for child in words.windows(3).filter(|words| words[0] == "mod") {
            assert_eq!(child[2], ";", "{file:?}: a module that is not a test stands in a file");
            let child = &child[1];
            let places = [format!("{child}.rs"), format!("{child}/mod.rs")];
            let place =
                places.iter().map(|place| file.with_file_name(place)).find(|it| it.exists());
            let place = place.unwrap_or_else(|| panic!("{file:?}: no file of {child}"));
            left.push((place, [&name[..], slice::from_ref(child)].concat()));
        }
        sources.push((file, name, words));
    }
    assert!(sources.len() > 1, "{package} has sources");
    resolved(sources)
}

/// The modules that stand at these paths below a crate's root.
pub(crate) fn modules_of(pieces: &[(&str, &str)]) -> Vec<Module> {
    let name =
        |path: &str| path.split("::").filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let source = |(path, code): &(&str, &str)| (PathBuf::from(path), name(path), words(code));
    resolved(pieces.iter().map(source).collect())
}

/// Finds out what the paths in the modules lead to.
fn resolved(sources: Vec<Source>) -> Vec<Module> {
    let names: BTreeSet<_> = sources.iter().map(|(_, name, _)| name.clone()).collect();
    let module = |(file, name, words): Source| {
        let paths = paths(&words).iter().map(|path| resolve(path, &name, &names)).collect();
        Module { file, name, code: words.concat(), paths }
    };
    sources.into_iter().map(module).collect()
}

fn resolve(path: &[String], module: &[String], names: &BTreeSet<Vec<String>>) -> String {
    let parents = path.iter().take_while(|segment| *segment == "super").count();
    let (base, rest) = match &*path[0] {
        "crate" => (&[][..], &path[1..]),
        "self" => (module, &path[1..]),
        "super" => (&module[..module.len().saturating_sub(parents)], &path[parents..]),
        _ if names.contains(&[module, &path[..1]].concat()) => (module, path),
        _ => return path.join("::"),
    };
    [&["crate".to_owned()], base, rest].concat().join("::")
}

/// The words and signs of code that is not for tests only, one after the other; `::` is one.
fn words(code: &str) -> Vec<String> {
    let mut words = Vec::new();
    flatten(code.parse().unwrap_or_else(|error| panic!("{error}: {code}")), &mut words);
    words
}

fn flatten(tokens: TokenStream, words: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(sign)
                if sign.as_char() == '#' && tokens.peek().is_some_and(is_test) =>
            {
                skip_item(&mut tokens);
            }
            TokenTree::Punct(sign) if sign.as_char() == ':' && sign.spacing() == Spacing::Joint => {
                tokens.next();
                words.push("::".to_owned());
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis | Delimiter::None => ("(", ")"),
                };
                words.push(open.to_owned());
                flatten(group.stream(), words);
                words.push(close.to_owned());
            }
            TokenTree::Literal(_) => words.push("\"\"".to_owned()),
            TokenTree::Ident(_) | TokenTree::Punct(_) => words.push(token.to_string()),
        }
    }
}

/// True for the brackets of `#[cfg(test)]`, and of conditions that tests and something else fulfil.
fn is_test(attribute: &TokenTree) -> bool {
    let words = words(&attribute.to_string());
    let has = |word: &str| words.iter().any(|it| it == word);
    words.starts_with(&["[", "cfg", "("].map(str::to_owned)) && has("test") && !has("not")
}

/// Passes over attributes and the item, field or statement behind them.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) {
    let (mut angles, mut last) = (0_usize, ' ');
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
            TokenTree::Punct(sign) => {
                match sign.as_char() {
                    ';' => return,
                    // Not one between the parameters of a type.
                    ',' if angles == 0 => return,
                    '<' => angles += 1,
                    '>' if last != '-' => angles = angles.saturating_sub(1),
                    _ => {}
                }
                last = sign.as_char();
            }
            _ => {}
        }
    }
}

/// The paths of more than one segment, and all that are imported, as they are written.
fn paths(mut words: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    while let [word, rest @ ..] = words {
        words = match &**word {
            "use" => tree(rest, &[], true, &mut paths),
            word if is_word(word) => tree(words, &[], false, &mut paths),
            _ => rest,
        };
    }
    paths
}

/// Reads a path, or a tree of imported ones, behind `prefix`. What is left of the words.
fn tree<'a>(
    mut words: &'a [String],
    prefix: &[String],
    is_import: bool,
    paths: &mut Vec<Vec<String>>,
) -> &'a [String] {
    let mut path = prefix.to_vec();
    while let [word, rest @ ..] = words {
        words = rest;
        match &**word {
            "::" if path.is_empty() => continue,
            "{" if is_import => {
                while let [word, rest @ ..] = words {
                    words = match &**word {
                        "}" => return rest,
                        "," => rest,
                        "as" => &rest[1..],
                        _ => tree(words, &path, true, paths),
                    };
                }
            }
            word if is_word(word) => path.push(word.to_owned()),
            // The end of the path: `*`, or `<` after `::`.
            _ => break,
        }
        match words {
            [word, rest @ ..] if word == "::" => words = rest,
            _ => break,
        }
    }
    // Nothing is read of `impl Trait + use<'_>`.
    if path.len() > 1 || is_import && !path.is_empty() {
        paths.push(path);
    }
    words
}

fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The uses between the modules of a crate's root, with the files of each. A name that the root
/// re-exports counts as one of the module that it comes from; the re-export itself is not a use.
pub(crate) fn uses(modules: &[Module]) -> BTreeMap<(String, String), BTreeSet<PathBuf>> {
    let mut uses: BTreeMap<(String, String), BTreeSet<PathBuf>> = BTreeMap::new();
    let is_module =
        |name: &str| modules.iter().any(|it| it.name.first().is_some_and(|it| it == name));
    // From the crate's root on.
    let paths = |module: &'_ Module| -> Vec<Vec<String>> {
        let paths = module.paths.iter().filter_map(|path| path.strip_prefix("crate::"));
        paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
    };
    let root = modules.iter().filter(|module| module.name.is_empty());
    let handed_on: Vec<Vec<String>> = root.flat_map(paths).filter(|it| it.len() > 1).collect();
    for module in modules {
        let Some(from) = module.name.first() else { continue };
        for path in paths(module) {
            let name = &path[0];
            // A module of that name comes first.
            let mut origins = handed_on.iter().filter(|it| it.last() == Some(name));
            let to = if is_module(name) { name } else { origins.next().map_or(name, |it| &it[0]) };
            if is_module(to) && to != from {
                uses.entry((from.clone(), to.clone())).or_default().insert(module.file.clone());
            }
        }
    }
    uses
}

/// The uses that lead back to where they come from.
pub(crate) fn circles(modules: &[Module]) -> Vec<String> {
    let uses = uses(modules);
    let leads_back = |(from, to): &(String, String)| {
        let mut reached = BTreeSet::from([to]);
        while uses.keys().any(|(a, b)| reached.contains(a) && reached.insert(b)) {}
        reached.contains(from)
    };
    let circles = uses.iter().filter(|(edge, _)| leads_back(edge));
    circles.map(|((from, to), files)| format!("{from} uses {to}: {files:?}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_and_nothing_else() {
        let modules = modules_of(&[
            (
                "a::b",
                r##"
            // use commented::out;
            /* and::this */ use std::{fs as files, io::{self, Read}, net::*};
            pub(crate) use super::{engine::Engine, log};
            use alone;
            const A: &str = "in::text \" still::text";
            const B: &str = r#"raw " text::too"#;
            const C: (char, &[u8]) = ('"', b"bytes::too");
            #[derive(serde::Serialize)]
            struct S { #[cfg(test)] only: tests::Only<A, B>, kept: kept::Field }
            fn f<'a>(it: &'a crate::kv::Kv) -> std::fmt::Result { child::g::<redb::Error>(it) }
            fn g(it: bool) { assert!(matches!(it, self::Some::A { b: super::C }), "{}", D::E) }
            mod child;
            impl S { #[cfg(test)] fn only(&self) -> Result<tests::Only, ()> { tests::only() } }
            #[cfg(any(test, feature = "fuzzing"))]
            pub mod fuzzing;
            #[cfg(test)]
            mod tests { use tests::only; }
            #[cfg(not(test))]
            use without::tests;
            "##,
            ),
            ("a::b::child", "use super::super::log::Other;"),
        ]);
        let expected = [
            "D::E",
            "alone",
            "crate::a::C",
            "crate::a::b::Some::A",
            "crate::a::b::child::g",
            "crate::a::engine::Engine",
            "crate::a::log",
            "crate::kv::Kv",
            "kept::Field",
            "redb::Error",
            "serde::Serialize",
            "std::fmt::Result",
            "std::fs",
            "std::io::Read",
            "std::io::self",
            "std::net",
            "without::tests",
        ];
        assert_eq!(Vec::from_iter(&modules[0].paths), expected);
        assert_eq!(Vec::from_iter(&modules[1].paths), ["crate::a::log::Other"]);
        let code = &modules[0].code;
        assert!(code.contains("assert!(matches!(it,self::Some::A{"), "{code}");
        assert!(!code.contains("only") && !code.contains("text"), "{code}");
        assert!(is_below("std::fs::read", "std::fs") && !is_below("std::fs_extra", "std::fs"));
    }

    #[test]
    fn names_that_the_root_hands_on_are_uses_of_their_modules() {
        let modules = modules_of(&[
            ("", "pub use store::{Store, limits}; fn f() { store::name(name::Key) }"),
            ("name", "use crate::Store; use std::name::Key;"),
            ("other", "use crate::name::Key;"),
            ("store", "use crate::store::limits; fn f() { super::name::g() }"),
        ]);
        let uses: Vec<_> = uses(&modules).into_keys().collect();
        let expected = [("name", "store"), ("other", "name"), ("store", "name")];
        assert_eq!(uses, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
        let circles = circles(&modules);
        assert_eq!(circles.len(), 2, "{circles:?}");
        assert!(circles[0].starts_with("name uses store") && circles[1].starts_with("store uses"));
    }
}
