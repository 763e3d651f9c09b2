//! What the files of a package import from each other.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// The path of a module in its package, without `crate`; that of `lib.rs` is empty.
pub(crate) type Module = Vec<String>;

/// One path from a file to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: Module,
    pub(crate) to: Module,
    pub(crate) line: usize,
}

/// A package's files and the imports between them.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) modules: Vec<Module>,
    pub(crate) imports: BTreeSet<Import>,
}

impl Package {
    /// Reads all that `lib.rs` or `main.rs` leads to, without tests.
    ///
    /// # Panics
    /// If a file cannot be parsed.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut files = Vec::new();
        for root in ["lib.rs", "main.rs"].map(|name| folder.join(name)) {
            if root.exists() {
                read(&root, folder, Vec::new(), &mut files);
            }
        }
        let modules: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
        let passed_on = passed_on(&files);
        let mut imports = BTreeSet::new();
        for (module, file) in &files {
            let mut paths = Paths { inside: module.clone(), found: Vec::new() };
            paths.visit_file(file);
            let resolved = paths.found.into_iter().map(|(path, line)| {
                let defined = path.first().and_then(|name| passed_on.get(name)).unwrap_or(&path);
                (
                    deepest(
                        if modules.contains(&path[..path.len().min(1)]) { &path } else { defined },
                        &modules,
                    ),
                    line,
                )
            });
            let others = resolved.filter(|(to, _)| to != module);
            imports.extend(others.map(|(to, line)| Import { from: module.clone(), to, line }));
        }
        Self { modules: modules.into_iter().collect(), imports }
    }
}

/// What `lib.rs` imports, and from where: who names it there means the module that defines it.
fn passed_on(files: &[(Module, syn::File)]) -> HashMap<String, Module> {
    let mut names = HashMap::new();
    for item in files.iter().filter(|(module, _)| module.is_empty()).flat_map(|(_, file)| &file.items) {
        if let Item::Use(item) = item {
            names_of(&item.tree, &mut Vec::new(), &mut names);
        }
    }
    names
}

fn names_of(tree: &UseTree, before: &mut Module, names: &mut HashMap<String, Module>) {
    let full = |last: &syn::Ident| {
        let is_name = |name: &String| !matches!(name.as_str(), "crate" | "self");
        before.iter().chain([&last.to_string()]).filter(|name| is_name(name)).cloned().collect()
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            names_of(&path.tree, before, names);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| names_of(tree, before, names)),
        UseTree::Name(name) => drop(names.insert(name.ident.to_string(), full(&name.ident))),
        UseTree::Rename(name) => drop(names.insert(name.rename.to_string(), full(&name.ident))),
        UseTree::Glob(_) => {}
    }
}

/// Reads a file and those of its modules that are no tests.
fn read(path: &Path, folder: &Path, module: Module, files: &mut Vec<(Module, syn::File)>) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for item in &file.items {
        let Item::Mod(child) = item else { continue };
        if child.content.is_some() || is_test(&child.attrs) {
            continue;
        }
        let mut name = module.clone();
        name.push(child.ident.to_string());
        let base = folder.join(name.iter().collect::<std::path::PathBuf>());
        let candidates = [base.with_extension("rs"), base.join("mod.rs")];
        // A file with another name, by an attribute, is not looked for: there are none.
        if let Some(path) = candidates.iter().find(|path| path.exists()) {
            read(path, folder, name, files);
        }
    }
    files.push((module, file));
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition =
            attribute.path().is_ident("cfg").then(|| attribute.meta.require_list().ok()).flatten();
        let tokens = condition.map(|list| list.tokens.to_string()).unwrap_or_default();
        tokens.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "test")
            && !tokens.contains("not (test)")
    })
}

/// The longest part of a path that is a module.
fn deepest(path: &[String], modules: &BTreeSet<Module>) -> Module {
    let lengths = (0..=path.len()).rev();
    let known = lengths.map(|length| path[..length].to_vec()).find(|module| modules.contains(module));
    known.unwrap_or_default()
}

/// Collects the paths of one file that lead to its package, each with its line.
struct Paths {
    inside: Module,
    found: Vec<(Vec<String>, usize)>,
}

impl Paths {
    /// Notes a path, unless it begins elsewhere; a single word is a visibility.
    fn note(&mut self, path: &[String], line: usize) {
        if path.len() < 2 {
            return;
        }
        let mut at = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.inside.clone(),
            _ => return,
        };
        for name in path {
            match name.as_str() {
                "crate" | "self" => {}
                "super" => drop(at.pop()),
                name => at.push(name.to_owned()),
            }
        }
        self.found.push((at, line));
    }

    fn use_tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.use_tree(&path.tree, before);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.use_tree(tree, before)),
            UseTree::Name(syn::UseName { ident }) | UseTree::Rename(syn::UseRename { ident, .. }) => {
                before.push(ident.to_string());
                self.note(before, ident.span().start().line);
                before.pop();
            }
            UseTree::Glob(glob) => self.note(before, glob.star_token.spans[0].start().line),
        }
    }

    /// The paths among the arguments of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Ident(name) => {
                    self.note(&std::mem::replace(&mut path, vec![name.to_string()]), line);
                    (line, colons) = (name.span().start().line, 0);
                }
                other => {
                    self.note(&std::mem::take(&mut path), line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.note(&path, line);
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if item.content.is_some() {
            self.inside.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.inside.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.use_tree(&item.tree, &mut Vec::new());
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let (None, Some(first)) = (&path.leading_colon, path.segments.first()) {
            self.note(&names, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'a syn::Macro) {
        self.visit_path(&invoked.path);
        self.tokens(invoked.tokens.clone());
    }
}
