//! What the sources of the workspace name: a reader of paths, just good enough for the rules of
//! [`crate::dependencies`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The directory of all crates.
pub(crate) fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' directory").to_owned()
}

/// A source file.
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// Its path below the crate's root.
    name: Vec<String>,
    /// Without comments, literals and its own tests.
    code: String,
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

    /// Whether `word` stands anywhere in its code.
    pub(crate) fn names(&self, word: &str) -> bool {
        tokens(&self.code).contains(&Token::Name(word))
    }

    /// Every path that the module names, those of its own crate beginning with `crate::`.
    pub(crate) fn paths(&self, modules: &[Module]) -> BTreeSet<String> {
        raw_paths(&self.code).into_iter().map(|path| self.resolve(path, modules)).collect()
    }

    fn resolve(&self, path: Vec<&str>, modules: &[Module]) -> String {
        let parents = path.iter().take_while(|segment| **segment == "super").count();
        let (base, rest) = match path[0] {
            "crate" => (&[][..], &path[1..]),
            "self" => (&self.name[..], &path[1..]),
            "super" => (&self.name[..self.name.len().saturating_sub(parents)], &path[parents..]),
            first => {
                let child: Vec<&str> =
                    self.name.iter().map(String::as_str).chain([first]).collect();
                match modules.iter().any(|module| module.name == child) {
                    true => (&self.name[..], &path[..]),
                    false => return path.join("::"),
                }
            }
        };
        let segments = base.iter().map(String::as_str).chain(rest.iter().copied());
        ["crate"].into_iter().chain(segments).collect::<Vec<_>>().join("::")
    }
}

/// Whether `path` is `banned` or leads on from it.
pub(crate) fn is_below(path: &str, banned: &str) -> bool {
    path.strip_prefix(banned).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// All source files of a crate but those that are tests.
pub(crate) fn modules(package: &str) -> Vec<Module> {
    let root = crates().join(package).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let modules: Vec<Module> = files
        .into_iter()
        .filter_map(|file| {
            let below = file.strip_prefix(&root).expect("below its root").with_extension("");
            let mut name: Vec<String> =
                below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if name.iter().any(|part| matches!(part.as_str(), "tests" | "contract")) {
                return None;
            }
            if matches!(name.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                name.pop();
            }
            let text = fs::read_to_string(&file).expect("sources are readable");
            Some(Module { file, name, code: code_of(without_tests(&text)) })
        })
        .collect();
    assert!(modules.len() > 5, "{package} has sources");
    modules
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The text up to its own tests, which stand at the end.
fn without_tests(text: &str) -> &str {
    let is_inline = |at: &usize| {
        let line = text[*at..].lines().nth(1).unwrap_or_default();
        line.starts_with("mod ") && line.ends_with('{')
    };
    let end = text.match_indices("#[cfg(test)]").map(|(at, _)| at).find(is_inline);
    &text[..end.unwrap_or(text.len())]
}

/// The text without comments and literals.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_after_name = code.chars().next_back().is_some_and(is_name_character);
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => end_of_string(rest),
            '\'' => end_of_character(rest),
            'r' | 'b' if !is_after_name => end_of_prefixed_string(rest),
            _ => 0,
        };
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// Length of the string that `text` begins with.
fn end_of_string(text: &str) -> usize {
    // The opening quote ends nothing.
    let mut is_escaped = true;
    for (at, character) in text.char_indices() {
        match character {
            '"' if !is_escaped => return at + 1,
            '\\' if !is_escaped => is_escaped = true,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// Length of the character literal that `text` begins with; 0 for a lifetime.
fn end_of_character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(text.len(), |end| end + 4),
        Some(_) => match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 0,
        },
        None => 0,
    }
}

/// Length of the raw or byte string that `text` begins with; 0 for anything else.
fn end_of_prefixed_string(text: &str) -> usize {
    let after = text.strip_prefix('b').unwrap_or(text);
    let Some(after) = after.strip_prefix('r') else {
        let prefix = text.len() - after.len();
        return if after.starts_with('"') { prefix + end_of_string(after) } else { 0 };
    };
    let hashes = after.len() - after.trim_start_matches('#').len();
    if !after[hashes..].starts_with('"') {
        return 0;
    }
    let body = text.len() - after.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    text[body..].find(&end).map_or(text.len(), |at| body + at + end.len())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    /// `::`
    Below,
    Other(char),
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_name_character(first) {
            let end = rest.find(|character| !is_name_character(character)).unwrap_or(rest.len());
            tokens.push(Token::Name(&rest[..end]));
            end
        } else if rest.starts_with("::") {
            tokens.push(Token::Below);
            2
        } else {
            tokens.push(Token::Other(first));
            first.len_utf8()
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Every path in `code` as it is written, with the groups of `use` taken apart.
fn raw_paths(code: &str) -> Vec<Vec<&str>> {
    let tokens = tokens(code);
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            Token::Name("use") => {
                at += 1;
                use_tree(&tokens, &mut at, &[], &mut paths);
            }
            Token::Name(first) => {
                let mut path = vec![first];
                at += 1;
                while let [Token::Below, Token::Name(next), ..] = tokens[at..] {
                    path.push(next);
                    at += 2;
                }
                if path.len() > 1 {
                    paths.push(path);
                }
            }
            _ => at += 1,
        }
    }
    paths
}

/// Reads one tree of a `use`, up to what ends it.
fn use_tree<'a>(
    tokens: &[Token<'a>],
    at: &mut usize,
    prefix: &[&'a str],
    paths: &mut Vec<Vec<&'a str>>,
) {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        match token {
            // What follows is a name of the importer's own.
            Token::Name("as") => *at += 1,
            Token::Name(name) => path.push(name),
            Token::Below | Token::Other('*') => {}
            Token::Other('{') => {
                while !matches!(tokens.get(*at), Some(Token::Other('}')) | None) {
                    use_tree(tokens, at, &path, paths);
                    if tokens.get(*at) == Some(&Token::Other(',')) {
                        *at += 1;
                    }
                }
                *at += 1;
                return;
            }
            Token::Other(_) => {
                *at -= 1;
                break;
            }
        }
    }
    if !path.is_empty() {
        paths.push(path);
    }
}

#[test]
fn paths_are_found_and_nothing_else() {
    let code = code_of(without_tests(
        r##"
        // use commented::out;
        /* and::this */ use std::{fs as files, io::{self, Read}, net::*};
        pub(crate) use super::{engine::Engine, log};
        const A: &str = "in::text \" still::text";
        const B: &str = r#"raw " text::too"#;
        const C: (char, &[u8]) = ('"', b"bytes::too");
        fn f<'a>(it: &'a crate::kv::Kv) -> std::fmt::Result { child::g::<redb::Error>(it) }
#[cfg(test)]
mod tests {
        use tests::only;
        "##,
    ));
    let found: Vec<String> = raw_paths(&code).iter().map(|path| path.join("::")).collect();
    let expected = [
        "std::fs",
        "std::io::self",
        "std::io::Read",
        "std::net",
        "super::engine::Engine",
        "super::log",
        "crate::kv::Kv",
        "std::fmt::Result",
        "child::g",
        "redb::Error",
    ];
    assert_eq!(found, expected);

    let module = |name: &[&str]| Module {
        file: PathBuf::new(),
        name: name.iter().map(|part| (*part).to_owned()).collect(),
        code: code.clone(),
    };
    let modules = [module(&["a", "b"]), module(&["a", "b", "child"])];
    let resolved = modules[0].paths(&modules);
    for path in ["crate::a::engine::Engine", "crate::a::log", "crate::a::b::child::g"] {
        assert!(resolved.contains(path), "{path} in {resolved:?}");
    }
    assert!(is_below("std::fs::read", "std::fs") && !is_below("std::fs_extra", "std::fs"));
}
