//! The modules of a crate and the paths that they name, read with `syn`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItemFn, Item, ItemMod, ItemUse, Macro, Meta, MetaList, UseTree};

/// The directory of all crates.
pub(crate) fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' directory").to_owned()
}

/// A module and its source, without what is compiled for tests only.
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// Names of the modules from below the crate's root to this one.
    name: Vec<String>,
    found: Found,
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

    /// True when `word` stands anywhere in its code.
    pub(crate) fn names(&self, word: &str) -> bool {
        self.found.words.contains(word)
    }

    /// Every path that the module names, those of its own crate beginning with `crate::`.
    pub(crate) fn paths(&self, modules: &[Module]) -> BTreeSet<String> {
        self.found.paths.iter().map(|path| self.resolve(path, modules).join("::")).collect()
    }

    fn resolve(&self, path: &[String], modules: &[Module]) -> Vec<String> {
        let parents = path.iter().take_while(|segment| *segment == "super").count();
        let (base, rest) = match &*path[0] {
            "crate" => (&[][..], &path[1..]),
            "self" => (&self.name[..], &path[1..]),
            "super" => (&self.name[..self.name.len().saturating_sub(parents)], &path[parents..]),
            first => {
                let is_child = |module: &Module| {
                    module.name.split_last().is_some_and(|(last, parent)| {
                        last == first && parent == self.name.as_slice()
                    })
                };
                match modules.iter().any(is_child) {
                    true => (&self.name[..], path),
                    false => return path.to_vec(),
                }
            }
        };
        let root = ["crate".to_owned()];
        root.iter().chain(base).chain(rest).cloned().collect()
    }
}

/// True when `path` is `banned` or leads on from it.
pub(crate) fn is_below(path: &str, banned: &str) -> bool {
    path.strip_prefix(banned).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// All modules of a crate that are compiled without tests, the library's and the program's.
pub(crate) fn modules(package: &str) -> Vec<Module> {
    let source = crates().join(package).join("src");
    let mut modules = Vec::new();
    for root in ["lib.rs", "main.rs"].map(|name| source.join(name)) {
        if root.exists() {
            load(&root, Vec::new(), &mut modules);
        }
    }
    assert!(modules.len() > 5, "{package} has sources");
    modules
}

/// Reads the module in `file` and those in files below it.
fn load(file: &Path, name: Vec<String>, modules: &mut Vec<Module>) {
    let text = fs::read_to_string(file).expect("sources are readable");
    let code = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let directory = file.parent().expect("a file is in a directory");
    for module in modules_in(file, name, Found::of(&code.items)) {
        for child in &module.found.files {
            let places = [format!("{child}.rs"), format!("{child}/mod.rs")];
            let mut places = places.iter().map(|place| directory.join(place));
            let place = places.find(|place| place.exists());
            let place = place.unwrap_or_else(|| panic!("{file:?}: no file of {child}"));
            load(&place, [&module.name[..], std::slice::from_ref(child)].concat(), modules);
        }
        modules.push(module);
    }
}

/// The module with what was found in it, and those within braces in it.
fn modules_in(file: &Path, name: Vec<String>, mut found: Found) -> Vec<Module> {
    let inner = std::mem::take(&mut found.inner).into_iter();
    let inner =
        inner.flat_map(|(child, found)| modules_in(file, [&name[..], &[child]].concat(), found));
    let inner: Vec<Module> = inner.collect();
    [Module { file: file.to_owned(), name, found }].into_iter().chain(inner).collect()
}

/// Names in the code of one module.
#[derive(Default)]
struct Found {
    words: BTreeSet<String>,
    /// Paths of more than one segment, and all that are imported, as they are written.
    paths: Vec<Vec<String>>,
    /// Modules that stand in files of their own.
    files: Vec<String>,
    /// Modules that stand within braces.
    inner: Vec<(String, Found)>,
}

impl Found {
    fn of(items: &[Item]) -> Self {
        let mut found = Self::default();
        items.iter().for_each(|item| found.visit_item(item));
        found
    }

    fn path(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.paths.push(std::mem::take(path));
        }
        path.clear();
    }

    /// The paths in the tokens of a macro or an attribute, which nobody but the macro can parse.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    self.words.insert(ident.to_string());
                    if colons != 2 {
                        self.path(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(point) if point.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.path(&mut path),
            }
        }
        self.path(&mut path);
    }

    fn tree(&mut self, mut prefix: Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.tree(prefix, &path.tree);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(prefix.clone(), tree));
            }
            UseTree::Name(name) => {
                prefix.push(name.ident.to_string());
                self.paths.push(prefix);
            }
            UseTree::Rename(rename) => {
                prefix.push(rename.ident.to_string());
                self.paths.push(prefix);
            }
            UseTree::Glob(_) => self.paths.push(prefix),
        }
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Const(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !attributes.iter().any(is_test_only) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !function.attrs.iter().any(is_test_only) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        match &module.content {
            Some((_, items)) => self.inner.push((name, Found::of(items))),
            None => self.files.push(name),
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(Vec::new(), &item.tree);
        visit::visit_item_use(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter().map(|it| it.ident.to_string()).collect();
        self.path(&mut segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_meta_list(&mut self, list: &'ast MetaList) {
        self.visit_path(&list.path);
        self.tokens(list.tokens.clone());
    }

    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.words.insert(ident.to_string());
    }
}

/// True for `#[cfg(test)]`, and for conditions that tests and something else fulfil.
fn is_test_only(attribute: &Attribute) -> bool {
    fn is_test(condition: &Meta) -> bool {
        let conditions = Punctuated::<Meta, syn::Token![,]>::parse_terminated;
        match condition {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("any") || list.path.is_ident("all") => {
                list.parse_args_with(conditions).is_ok_and(|all| all.iter().any(is_test))
            }
            _ => false,
        }
    }
    attribute.path().is_ident("cfg") && attribute.parse_args().is_ok_and(|it| is_test(&it))
}

/// The uses between the modules of a crate's root, with the files of each. A name that the root
/// re-exports counts as one of the module that it comes from; the re-export itself is not a use.
pub(crate) fn uses(modules: &[Module]) -> BTreeMap<(String, String), BTreeSet<PathBuf>> {
    let mut uses: BTreeMap<(String, String), BTreeSet<PathBuf>> = BTreeMap::new();
    let root = modules.iter().filter(|module| module.name.is_empty());
    let handed_on: Vec<Vec<String>> = root
        .flat_map(|root| root.found.paths.iter().map(|path| root.resolve(path, modules)))
        .collect();
    for module in modules {
        let Some(from) = module.name.first() else { continue };
        for path in module.found.paths.iter().map(|path| module.resolve(path, modules)) {
            let [first, name, ..] = &path[..] else { continue };
            let is_module = |name: &String| modules.iter().any(|it| it.name.first() == Some(name));
            // A module of that name comes first.
            let mut names = handed_on.iter().filter(|it| it.len() > 2 && it.last() == Some(name));
            let to = if is_module(name) { name } else { names.next().map_or(name, |it| &it[1]) };
            if first == "crate" && is_module(to) && to != from {
                uses.entry((from.clone(), to.clone())).or_default().insert(module.file.clone());
            }
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &[&str], text: &str) -> Vec<Module> {
        let code = syn::parse_file(text).expect("code");
        let name = name.iter().map(|part| (*part).to_owned()).collect();
        modules_in(Path::new("f"), name, Found::of(&code.items))
    }

    #[test]
    fn paths_are_found_and_nothing_else() {
        let modules = module(
            &["a", "b"],
            r##"
            // use commented::out;
            /* and::this */ use std::{fs as files, io::{self, Read}, net::*};
            pub(crate) use super::{engine::Engine, log};
            const A: &str = "in::text \" still::text";
            const B: &str = r#"raw " text::too"#;
            const C: (char, &[u8]) = ('"', b"bytes::too");
            #[derive(serde::Serialize)]
            struct S(u8);
            fn f<'a>(it: &'a crate::kv::Kv) -> std::fmt::Result { child::g::<redb::Error>(it) }
            fn g(it: bool) { assert!(matches!(it, self::Some::A { b: super::C }), "{}", D::E) }
            mod child { use super::super::log::Other; }
            impl S { #[cfg(test)] fn only(&self) -> tests::Only {} }
            #[cfg(any(test, feature = "fuzzing"))]
            pub mod fuzzing;
            #[cfg(test)]
            mod tests { use tests::only; }
            "##,
        );
        assert_eq!(modules.len(), 2);
        let expected = [
            "D::E",
            "crate::a::C",
            "crate::a::b::Some::A",
            "crate::a::b::child::g",
            "crate::a::engine::Engine",
            "crate::a::log",
            "crate::kv::Kv",
            "redb::Error",
            "serde::Serialize",
            "std::fmt::Result",
            "std::fs",
            "std::io::Read",
            "std::io::self",
            "std::net",
        ];
        assert_eq!(Vec::from_iter(modules[0].paths(&modules)), expected);
        assert_eq!(Vec::from_iter(modules[1].paths(&modules)), ["crate::a::log::Other"]);
        assert!(modules[0].names("matches") && !modules[0].names("only"));
        assert!(is_below("std::fs::read", "std::fs") && !is_below("std::fs_extra", "std::fs"));
    }

    #[test]
    fn names_that_the_root_hands_on_are_uses_of_their_modules() {
        let modules: Vec<Module> = [
            module(&[], "pub use store::{Store, limits}; fn f() { store::name(name::Key) }"),
            module(&["name"], "use crate::Store; use std::name::Key;"),
            module(&["store"], "use crate::store::limits; fn f() { super::name::g() }"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let uses: Vec<_> = uses(&modules).into_keys().collect();
        let expected = [("name", "store"), ("store", "name")];
        assert_eq!(uses, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
    }
}
