//! The imports between files: enough of Rust's paths to find circles between the files of a crate.

mod use_trees;

use std::collections::{BTreeMap, BTreeSet};

use use_trees::{is_name, path_at, tokens, tree};

use crate::sources::code_of;

/// A path as it is written, its segments.
type Path = Vec<String>;

/// A source file as a module.
#[derive(Debug, Default)]
struct Module {
    /// Items that the file itself defines.
    defined: BTreeSet<String>,
    /// Names that a `use` brings into it, with their paths.
    imported: BTreeMap<String, Path>,
    /// Names that are only handed on: a `pub use` of something that the file does not mention again.
    handed_on: BTreeSet<String>,
    /// Paths that its code names outside of `use`.
    named: BTreeSet<Path>,
    /// Modules whose every name it imports.
    globs: Vec<Path>,
}

/// The modules of one crate by their paths; the root is empty.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    modules: BTreeMap<Path, Module>,
}

impl Crate {
    /// Reads files whose names are relative to the crate's `src/`.
    pub(crate) fn of<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let modules = files.into_iter().map(|(name, text)| (module_path(name), Module::of(text)));
        Self { modules: modules.collect() }
    }

    /// Sets of files that import each other, directly or through others; each file by its module path.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<String>> {
        let edges: BTreeMap<&Path, BTreeSet<&Path>> =
            self.modules.keys().map(|from| (from, self.imports(from))).collect();
        let reach: BTreeMap<&Path, BTreeSet<&Path>> =
            edges.keys().map(|from| (*from, reachable(from, &edges))).collect();
        let mut circles = BTreeSet::new();
        for (from, reached) in &reach {
            let circle: BTreeSet<_> = reached
                .iter()
                .filter(|other| reach[**other].contains(*from))
                .map(|path| name_of(path))
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// Returns the files that a file imports from.
    fn imports(&self, from: &Path) -> BTreeSet<&Path> {
        let module = &self.modules[from];
        let imported = module.imported.iter().filter(|(name, _)| !module.handed_on.contains(*name));
        let paths = imported.map(|(_, path)| path).chain(&module.named).chain(&module.globs);
        // A module that is imported as such is used through the paths that begin with it.
        let files = paths.filter_map(|path| self.resolve(from, path, 0)).filter(|(_, is_item)| *is_item);
        files.map(|(file, _)| file).filter(|file| *file != from).collect()
    }

    /// Returns the file that defines what a path names; `true` if it names an item and not the module itself.
    fn resolve(&self, from: &Path, path: &[String], depth: usize) -> Option<(&Path, bool)> {
        if depth > 16 {
            return None;
        }
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => {
                let mut at = from.clone();
                let supers = path.iter().take_while(|segment| *segment == "super").count();
                (0..supers).for_each(|_| drop(at.pop()));
                (at, &path[supers..])
            }
            _ => (from.clone(), path),
        };
        loop {
            let (here, module) = self.modules.get_key_value(&at)?;
            let Some(name) = rest.first() else { return Some((here, false)) };
            let child: Path = at.iter().chain([name]).cloned().collect();
            if name == "*" || module.defined.contains(name) {
                return Some((here, true));
            }
            if self.modules.contains_key(&child) {
                (at, rest) = (child, &rest[1..]);
            } else if let Some(path) = module.imported.get(name) {
                let path: Path = path.iter().chain(&rest[1..]).cloned().collect();
                // Imports from another crate are not resolved here.
                return if path.first() == Some(name) { None } else { self.resolve(here, &path, depth + 1) };
            } else if let Some(found) = module.globs.iter().find_map(|glob| {
                let path: Path = glob[..glob.len() - 1].iter().chain(rest).cloned().collect();
                self.resolve(here, &path, depth + 1)
            }) {
                return Some(found);
            } else {
                return (at != *from
                    || path.first().is_some_and(|first| first == "crate" || first == "super"))
                .then_some((here, true));
            }
        }
    }
}

fn reachable<'p>(from: &'p Path, edges: &BTreeMap<&'p Path, BTreeSet<&'p Path>>) -> BTreeSet<&'p Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for to in &edges[next] {
            if reached.insert(*to) {
                open.push(to);
            }
        }
    }
    reached
}

/// Returns the path of the module in a file: `serve/hub.rs` is `serve::hub`; `lib.rs` and `main.rs` are the root.
fn module_path(name: &str) -> Path {
    let name = name.trim_end_matches(".rs");
    if matches!(name, "lib" | "main") { Vec::new() } else { name.split('/').map(str::to_owned).collect() }
}

/// Returns a module's path as text; the root is `lib`.
fn name_of(path: &Path) -> String {
    if path.is_empty() { "lib".to_owned() } else { path.join("::") }
}

impl Module {
    fn of(text: &str) -> Self {
        let code = code_of(text);
        let tokens = tokens(&code);
        let mut module = Self::default();
        let mut public = BTreeSet::new();
        let mut mentioned = BTreeSet::new();
        let (mut at, mut depth) = (0, 0_usize);
        while at < tokens.len() {
            match tokens[at] {
                "use" => {
                    let end = tokens[at..]
                        .iter()
                        .position(|token| *token == ";")
                        .map_or(tokens.len(), |end| at + end);
                    let is_public = at > 0 && matches!(tokens[at - 1], "pub" | ")");
                    for (path, name) in tree(&tokens[at + 1..end], &[]) {
                        if path.last().is_some_and(|last| last == "*") {
                            module.globs.push(path);
                        } else {
                            public.extend(is_public.then(|| name.clone()));
                            module.imported.insert(name, path);
                        }
                    }
                    at = end;
                }
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "struct" | "enum" | "trait" | "type" | "const" | "static" | "fn" | "union" if depth == 0 => {
                    module.defined.extend(tokens.get(at + 1).map(|name| (*name).to_owned()));
                }
                "macro_rules" => module.defined.extend(tokens.get(at + 2).map(|name| (*name).to_owned())),
                token if is_name(token) => {
                    let path = path_at(&tokens[at..]);
                    mentioned.insert(token.to_owned());
                    if path.len() > 1 {
                        at += 2 * (path.len() - 1);
                        module.named.insert(path);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        module.handed_on = public.difference(&mentioned).cloned().collect();
        module
    }
}

#[test]
fn circles_are_found_through_imports_paths_and_names_that_are_handed_on() {
    let circles = |files: &[(&'static str, &'static str)]| {
        Crate::of(files.iter().copied())
            .circles()
            .into_iter()
            .map(|set| set.into_iter().collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let none: Vec<Vec<String>> = Vec::new();
    let root = ("lib.rs", "mod a; mod b; pub use a::One;");
    assert_eq!(
        circles(&[root, ("a.rs", "use crate::b::Two; pub struct One;"), ("b.rs", "pub struct Two;")]),
        none
    );
    let both = [["a", "b"]];
    for b in [
        "use crate::a::One; pub struct Two;",
        "use super::{a::One}; pub struct Two;",
        "use super::One; pub struct Two;",
        "pub struct Two; fn f() -> crate::a::One {}",
        "use crate::a; pub struct Two; fn f() -> a::One {}",
        "use super::a::*; pub struct Two;",
    ] {
        assert_eq!(
            circles(&[root, ("a.rs", "use crate::b::Two; pub struct One;"), ("b.rs", b)]),
            both,
            "{b}"
        );
    }
    // A parent that only hands on what its child defines does not import it; one that uses it does.
    let child = ("a/c.rs", "use super::One; pub struct Three;");
    assert_eq!(
        circles(&[("lib.rs", "mod a;"), ("a.rs", "mod c; pub use c::Three; pub struct One;"), child]),
        none
    );
    let uses = ("a.rs", "mod c; pub use c::Three; pub struct One; fn f(_: Three) {}");
    assert_eq!(circles(&[("lib.rs", "mod a;"), uses, child]), [["a", "a::c"]]);
}
