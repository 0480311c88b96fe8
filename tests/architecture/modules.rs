//! Which module of a crate uses which, read from the sources, and the circles among them.
//!
//! Modules are the files below `src/`. There is an edge from the module that names a path to the module that defines what the
//! path ends in: `use` declarations and paths in code count alike, relative ones (`self::`, `super::`, a child's name) too. A
//! re-export is followed to the definition, and is itself no edge: a module that only shows what its children define does not
//! depend on them. Code under `#[cfg(test)]` does not count. Circles are the strongly connected components of more than one
//! module (R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Computing 1, 1972).
//!
//! What cannot be seen: methods and fields of a value whose type is not named, and what macros expand to (arguments of macros
//! that parse as expressions separated by commas are read). Both need a type that some module names, so an edge is missed only
//! where a module gets a value from a third one and never names its type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::parse::Parser;
use syn::visit::{self, Visit};

/// A module's path in its crate; empty for the root.
pub type ModulePath = Vec<String>;

/// A module, as its file says.
#[derive(Default)]
struct Module {
    /// Names that the module defines itself.
    defines: BTreeSet<String>,
    /// Names that it brings into scope, with the path behind each; re-exports among them.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules all of whose names are in scope.
    globs: Vec<Vec<String>>,
    /// Paths that its code names, apart from re-exports.
    uses: BTreeSet<Vec<String>>,
}

/// A crate's modules and the edges among them.
pub struct Modules {
    modules: BTreeMap<ModulePath, Module>,
}

/// An item that a module reaches through the crate root, although another module defines it.
pub struct ThroughRoot {
    /// Who uses it.
    pub module: ModulePath,
    /// The path it names.
    pub path: String,
}

impl Modules {
    /// Reads all files below a crate's `src/`, apart from `bin/` and test modules in files of their own.
    pub fn read(source: &Path) -> Modules {
        let mut modules = BTreeMap::new();
        for file in files(source) {
            let relative = file.strip_prefix(source).expect("a file below its folder");
            let mut path: ModulePath =
                relative.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                path.pop();
            }
            let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            if parsed.attrs.iter().any(is_test) {
                continue;
            }
            let mut reader = Reader { module: Module::default(), depth: 0 };
            reader.visit_file(&parsed);
            modules.insert(path, reader.module);
        }
        let tests = test_modules(source);
        modules.retain(|path, _| !tests.contains(path));
        Modules { modules }
    }

    /// The absolute path behind one that a module names; `None` if it leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut base = module.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|p| p == "super") {
                    base.pop()?;
                    rest = &rest[1..];
                }
            }
            first => {
                let mut child = base.clone();
                child.push(first.to_owned());
                let own = &self.modules.get(module)?;
                // `use a::a` names the module or crate `a`, not itself.
                if let Some(import) = own.imports.get(first).filter(|import| import.first().is_none_or(|p| p != first))
                {
                    let mut target = self.absolute(module, import)?;
                    target.extend_from_slice(&path[1..]);
                    return Some(target);
                }
                if !self.modules.contains_key(&child) && !own.defines.contains(first) {
                    return None;
                }
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The module that defines what an absolute path ends in: re-exports are followed. `None` if the item comes from another
    /// crate.
    fn definer(&self, path: &[String], depth: usize) -> Option<ModulePath> {
        if depth > 20 {
            return None;
        }
        let length = (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]))?;
        let module = path[..length].to_vec();
        let Some(item) = path.get(length) else { return Some(module) };
        let content = &self.modules[&module];
        if content.defines.contains(item) {
            return Some(module);
        }
        if let Some(import) = content.imports.get(item) {
            let mut target = self.absolute(&module, import)?;
            target.extend_from_slice(&path[length + 1..]);
            return if target == path { Some(module) } else { self.definer(&target, depth + 1) };
        }
        for glob in &content.globs {
            let Some(mut target) = self.absolute(&module, glob) else { continue };
            target.push(item.clone());
            if let Some(found) =
                self.definer(&target, depth + 1).filter(|found| self.modules[found].defines.contains(item))
            {
                return Some(found);
            }
        }
        Some(module)
    }

    /// Who uses whom.
    pub fn edges(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let mut edges: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (path, module) in &self.modules {
            let found = edges.entry(path.clone()).or_default();
            for used in &module.uses {
                let target = self.absolute(path, used).and_then(|absolute| self.definer(&absolute, 0));
                found.extend(target.filter(|target| target != path));
            }
        }
        edges
    }

    /// Uses of what the root only re-exports.
    pub fn through_root(&self) -> Vec<ThroughRoot> {
        let Some(root) = self.modules.get(&Vec::new()) else { return Vec::new() };
        let mut found = Vec::new();
        for (module, content) in &self.modules {
            for used in content.uses.iter().filter(|_| !module.is_empty()) {
                if !matches!(used[0].as_str(), "crate" | "super") {
                    continue;
                }
                let Some(absolute) = self.absolute(module, used) else { continue };
                let Some(item) = absolute.first() else { continue };
                let is_module = self.modules.contains_key(&absolute[..1]);
                if !is_module && !root.defines.contains(item) && root.imports.contains_key(item) {
                    found.push(ThroughRoot { module: module.clone(), path: used.join("::") });
                }
            }
        }
        found
    }
}

/// All `.rs` files of a library or command, without `bin/`.
fn files(source: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![source.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() && path.file_name().is_some_and(|n| n != "bin") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Modules that are declared under `#[cfg(test)]`, and what is below them.
fn test_modules(source: &Path) -> BTreeSet<ModulePath> {
    let mut found = BTreeSet::new();
    for file in files(source) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let Ok(parsed) = syn::parse_file(&text) else { continue };
        let relative = file.strip_prefix(source).expect("a file below its folder").with_extension("");
        let mut parent: ModulePath = relative.iter().map(|p| p.to_string_lossy().into_owned()).collect();
        if matches!(parent.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            parent.pop();
        }
        for item in parsed.items {
            if let syn::Item::Mod(m) = item
                && m.content.is_none()
                && m.attrs.iter().any(is_test)
            {
                let mut path = parent.clone();
                path.push(m.ident.to_string());
                found.insert(path);
            }
        }
    }
    found
}

/// `#[cfg(test)]`, `#[cfg(any(test, ...))]`, `#[test]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    if path.is_ident("test") {
        return true;
    }
    path.is_ident("cfg")
        && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|w| w == "test"))
}

/// Collects a file's definitions, imports and paths.
struct Reader {
    module: Module,
    /// Blocks and inline modules around what is visited.
    depth: usize,
}

impl Reader {
    fn import(&mut self, prefix: &mut Vec<String>, tree: &syn::UseTree, shown: bool) {
        match tree {
            syn::UseTree::Path(p) => {
                prefix.push(p.ident.to_string());
                self.import(prefix, &p.tree, shown);
                prefix.pop();
            }
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.import(prefix, t, shown)),
            syn::UseTree::Glob(_) => {
                self.module.globs.push(prefix.clone());
                if !shown {
                    self.module.uses.insert(prefix.clone());
                }
            }
            syn::UseTree::Name(_) | syn::UseTree::Rename(_) => {
                let (name, seen) = match tree {
                    syn::UseTree::Name(n) => (n.ident.to_string(), n.ident.to_string()),
                    syn::UseTree::Rename(r) => (r.ident.to_string(), r.rename.to_string()),
                    _ => return,
                };
                let mut path = prefix.clone();
                let seen =
                    if name == "self" && seen == "self" { prefix.last().cloned().unwrap_or_default() } else { seen };
                if name != "self" {
                    path.push(name);
                }
                if !shown {
                    self.module.uses.insert(path.clone());
                }
                self.module.imports.insert(seen, path);
            }
        }
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item as I;
    match item {
        I::Const(i) => &i.attrs,
        I::Enum(i) => &i.attrs,
        I::Fn(i) => &i.attrs,
        I::Impl(i) => &i.attrs,
        I::Macro(i) => &i.attrs,
        I::Mod(i) => &i.attrs,
        I::Static(i) => &i.attrs,
        I::Struct(i) => &i.attrs,
        I::Trait(i) => &i.attrs,
        I::Type(i) => &i.attrs,
        I::Use(i) => &i.attrs,
        _ => &[],
    }
}

fn defined(item: &syn::Item) -> Option<String> {
    use syn::Item as I;
    match item {
        I::Const(i) => Some(i.ident.to_string()),
        I::Enum(i) => Some(i.ident.to_string()),
        I::Fn(i) => Some(i.sig.ident.to_string()),
        I::Macro(i) => i.ident.as_ref().map(ToString::to_string),
        I::Static(i) => Some(i.ident.to_string()),
        I::Struct(i) => Some(i.ident.to_string()),
        I::Trait(i) => Some(i.ident.to_string()),
        I::TraitAlias(i) => Some(i.ident.to_string()),
        I::Type(i) => Some(i.ident.to_string()),
        I::Union(i) => Some(i.ident.to_string()),
        _ => None,
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if attributes(item).iter().any(is_test) {
            return;
        }
        if self.depth == 0 {
            self.module.defines.extend(defined(item));
        }
        match item {
            syn::Item::Use(u) => {
                // What is shown to others is a facade; `pub(crate) use` and `pub(super) use` are, too.
                let shown = !matches!(u.vis, syn::Visibility::Inherited) && self.depth == 0;
                self.import(&mut Vec::new(), &u.tree, shown);
            }
            syn::Item::Mod(m) if m.content.is_some() => {
                self.depth += 1;
                visit::visit_item(self, item);
                self.depth -= 1;
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_block(&mut self, block: &'a syn::Block) {
        self.depth += 1;
        visit::visit_block(self, block);
        self.depth -= 1;
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        // Of one word are also the visibilities `pub(crate)` and `pub(super)`.
        let word = path.get_ident().map(ToString::to_string);
        let visibility = word.is_some_and(|w| ["crate", "self", "super"].contains(&w.as_str()));
        if path.leading_colon.is_none() && !visibility {
            self.module.uses.insert(path.segments.iter().map(|s| s.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'a syn::Macro) {
        let arguments = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = arguments.parse2(mac.tokens.clone()) {
            // Parsed here, so it does not live as long as the file; its paths are copied.
            let mut reader = Reader { module: Module::default(), depth: self.depth + 1 };
            arguments.iter().for_each(|e| reader.visit_expr(e));
            self.module.uses.extend(reader.module.uses);
        }
        visit::visit_macro(self, mac);
    }
}

/// The circles: strongly connected components of more than one module, each sorted.
pub fn circles(edges: &BTreeMap<ModulePath, BTreeSet<ModulePath>>) -> Vec<Vec<ModulePath>> {
    let nodes: Vec<&ModulePath> = edges.keys().collect();
    let number: BTreeMap<&ModulePath, usize> = nodes.iter().enumerate().map(|(i, n)| (*n, i)).collect();
    let next: Vec<Vec<usize>> =
        edges.values().map(|targets| targets.iter().filter_map(|t| number.get(t).copied()).collect()).collect();
    let mut tarjan =
        Tarjan { next: &next, index: vec![None; nodes.len()], low: vec![0; nodes.len()], ..Tarjan::default() };
    for node in 0..nodes.len() {
        if tarjan.index[node].is_none() {
            tarjan.visit(node);
        }
    }
    let mut found: Vec<Vec<ModulePath>> = tarjan
        .components
        .into_iter()
        .filter(|c| c.len() > 1)
        .map(|mut c| {
            c.sort_unstable();
            c.into_iter().map(|i| nodes[i].clone()).collect()
        })
        .collect();
    found.sort();
    found
}

#[derive(Default)]
struct Tarjan<'a> {
    next: &'a [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    count: usize,
    components: Vec<Vec<usize>>,
}

impl Tarjan<'_> {
    fn visit(&mut self, node: usize) {
        self.index[node] = Some(self.count);
        self.low[node] = self.count;
        self.count += 1;
        self.stack.push(node);
        for &to in &self.next[node] {
            match self.index[to] {
                None => {
                    self.visit(to);
                    self.low[node] = self.low[node].min(self.low[to]);
                }
                Some(index) if self.stack.contains(&to) => self.low[node] = self.low[node].min(index),
                Some(_) => {}
            }
        }
        if Some(self.low[node]) == self.index[node] {
            let at = self.stack.iter().position(|&n| n == node).unwrap_or(0);
            self.components.push(self.stack.split_off(at));
        }
    }
}
