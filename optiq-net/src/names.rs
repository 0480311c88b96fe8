//! Names of vertices, searchable.

use crate::error::NetError;
use crate::ids::NodeId;
use std::cmp::Ordering;
use std::net::IpAddr;

/// The names of all vertices, searchable.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    names: Vec<String>,
    /// Vertices in the order of their names.
    by_name: Vec<NodeId>,
    /// Further names, sorted.
    aliases: Vec<(String, NodeId)>,
    /// Names without their domain where that is unambiguous, sorted.
    short: Vec<(String, NodeId)>,
}

/// How a name was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameMatch {
    /// As it is, or as a further name.
    Exact(NodeId),
    /// As the one name without a domain, or with one where `name` has none.
    Short(NodeId),
}

impl Names {
    /// `names[v]` is the name of vertex `v`; `aliases` are further ones.
    pub fn new(names: Vec<String>, mut aliases: Vec<(String, NodeId)>) -> Result<Self, NetError> {
        if let Some(v) = names.iter().position(|n| n.trim().is_empty() || n.trim() != n) {
            return Err(NetError::Invalid(format!(
                "vertex {v} has the name \"{}\"; a name without spaces around it is needed",
                names[v]
            )));
        }
        let twice = |name: &str| NetError::Invalid(format!("the name \"{name}\" is given to two vertices"));
        let mut by_name: Vec<NodeId> = (0..names.len() as u32).map(NodeId).collect();
        by_name.sort_unstable_by(|a, b| names[a.index()].cmp(&names[b.index()]));
        if let Some(w) = by_name.windows(2).find(|w| names[w[0].index()] == names[w[1].index()]) {
            return Err(twice(&names[w[0].index()]));
        }
        aliases.sort();
        aliases.dedup();
        if let Some(w) = aliases.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(twice(&w[0].0));
        }
        let mut all = Names { names, by_name, aliases, short: Vec::new() };
        if let Some((name, _)) = all.aliases.iter().find(|(name, v)| all.exact_name(name).is_some_and(|w| w != *v)) {
            return Err(twice(name));
        }
        all.add_short_names();
        Ok(all)
    }

    /// `nid7.site.gov` is also found as `nid7`, unless two vertices share that short name or one has it as its own.
    fn add_short_names(&mut self) {
        let vertices = (0u32..).map(NodeId).zip(&self.names);
        let mut short: Vec<(String, NodeId)> =
            vertices.filter_map(|(v, name)| Some((without_domain(name)?.to_string(), v))).collect();
        short.sort();
        let unique = |i: usize| {
            let differs = |j: Option<usize>| j.and_then(|j| short.get(j)).is_none_or(|other| other.0 != short[i].0);
            differs(i.checked_sub(1)) && differs(Some(i + 1)) && self.exact(&short[i].0).is_none()
        };
        self.short = (0..short.len()).filter(|&i| unique(i)).map(|i| short[i].clone()).collect();
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of `node`.
    pub fn of(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }

    fn exact_name(&self, name: &str) -> Option<NodeId> {
        let order = |v: &NodeId| -> Ordering { self.names[v.index()].as_str().cmp(name) };
        self.by_name.binary_search_by(order).ok().map(|i| self.by_name[i])
    }

    fn exact(&self, name: &str) -> Option<NodeId> {
        self.exact_name(name).or_else(|| look_up(&self.aliases, name))
    }

    /// The vertex called `name`, with or without a domain where only one of the two has one: names in two domains are
    /// those of two vertices.
    pub fn look_up(&self, name: &str) -> Option<NameMatch> {
        if let Some(found) = self.exact(name) {
            return Some(NameMatch::Exact(found));
        }
        let found = match without_domain(name) {
            Some(short) => self.exact(short),
            None => look_up(&self.short, name),
        };
        found.map(NameMatch::Short)
    }

    /// As [`Names::look_up`], however it was found.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        match self.look_up(name)? {
            NameMatch::Exact(found) | NameMatch::Short(found) => Some(found),
        }
    }
}

fn look_up(sorted: &[(String, NodeId)], name: &str) -> Option<NodeId> {
    sorted.binary_search_by(|(n, _)| n.as_str().cmp(name)).ok().map(|i| sorted[i].1)
}

/// `nid7` of `nid7.site.gov`; nothing if there is no domain (an IP address has none).
fn without_domain(name: &str) -> Option<&str> {
    let (short, _) = name.split_once('.')?;
    (!short.is_empty() && name.parse::<IpAddr>().is_err()).then_some(short)
}
