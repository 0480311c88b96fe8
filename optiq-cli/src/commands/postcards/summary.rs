//! What paths say together: by component, by line of a program, and which took longest.

use optiq_trace::postcards::{Clocks, Collection, Component, ComponentKind, Joined, Leg, Operation, Path, legs};
use std::collections::BTreeMap;

/// Of all paths in one file.
pub struct Summary<'a> {
    pub collection: &'a Collection,
    pub clocks: &'a Clocks,
    pub joined: &'a Joined,
    /// By the time that packets spent there in all, the longest first.
    pub components: Vec<(Component, Stay)>,
    /// By context: paths that it began, and how long they took.
    pub lines: Vec<(u32, Stay)>,
    /// Places of the slowest paths with a program's bytes.
    pub slowest: Vec<usize>,
    /// By path: what was between the hosts of ranks, where taps tell.
    pub legs: Vec<Vec<Leg>>,
    /// What is missing in the files, a sentence each.
    pub notes: Vec<String>,
}

/// How long packets were somewhere, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stay {
    pub packets: usize,
    pub total_ns: f64,
    pub most_ns: f64,
    pub most_waiting_bytes: u32,
}

impl Stay {
    fn add(&mut self, ns: f64, waiting_bytes: u32) {
        self.packets += 1;
        self.total_ns += ns;
        self.most_ns = self.most_ns.max(ns);
        self.most_waiting_bytes = self.most_waiting_bytes.max(waiting_bytes);
    }

    pub fn mean_ns(&self) -> f64 {
        self.total_ns / self.packets.max(1) as f64
    }
}

impl<'a> Summary<'a> {
    pub fn new(
        collection: &'a Collection,
        clocks: &'a Clocks,
        joined: &'a Joined,
        most: usize,
        notes: Vec<String>,
    ) -> Self {
        let mut components: BTreeMap<Component, Stay> = BTreeMap::new();
        let mut lines: BTreeMap<u32, Stay> = BTreeMap::new();
        for path in &joined.paths {
            for hop in &path.hops {
                let stay = components.entry(hop.component).or_default();
                stay.add(hop.left_ns - hop.arrived_ns, hop.waiting_bytes.unwrap_or(0));
            }
            if let Some(issued) = path.issued
                && path.operation == Some(Operation::Data)
            {
                lines.entry(issued.context).or_default().add(path.duration_ns(), 0);
            }
        }
        let longest_first = |a: &Stay, b: &Stay| b.total_ns.total_cmp(&a.total_ns);
        let mut components: Vec<_> = components.into_iter().collect();
        components.sort_by(|a, b| longest_first(&a.1, &b.1));
        components.truncate(most);
        let mut lines: Vec<_> = lines.into_iter().collect();
        lines.sort_by(|a, b| longest_first(&a.1, &b.1));
        lines.truncate(most);
        let data = |path: &Path| path.operation == Some(Operation::Data);
        let mut slowest: Vec<usize> = (0..joined.paths.len()).filter(|&i| data(&joined.paths[i])).collect();
        slowest.sort_by(|&a, &b| joined.paths[b].duration_ns().total_cmp(&joined.paths[a].duration_ns()));
        slowest.truncate(most);
        Self { collection, clocks, joined, components, lines, slowest, legs: legs(collection, joined), notes }
    }

    pub fn intact(&self) -> usize {
        self.joined.paths.iter().filter(|path| path.is_intact()).count()
    }

    pub fn with_gaps(&self) -> usize {
        self.joined.paths.iter().filter(|path| !path.gaps.is_empty()).count()
    }

    pub fn ambiguous(&self) -> usize {
        self.joined.paths.iter().filter(|path| path.is_ambiguous).count()
    }

    /// How many parts of the system have clocks that can be compared.
    pub fn parts(&self) -> usize {
        self.clocks.estimates.iter().flatten().map(|e| e.part + 1).max().unwrap_or(0) as usize
    }

    /// The largest difference between two clocks of the first part, in nanoseconds.
    pub fn skew_ns(&self) -> f64 {
        let offsets = || self.clocks.estimates.iter().flatten().filter(|e| e.part == 0).map(|e| e.offset_ns);
        let (least, most) = (offsets().fold(f64::INFINITY, f64::min), offsets().fold(f64::NEG_INFINITY, f64::max));
        if most > least { most - least } else { 0.0 }
    }

    /// `src/main.rs:12`, or that it is not known.
    pub fn line(&self, context: u32) -> String {
        match self.collection.contexts.get(context as usize) {
            Some(line) if line.line > 0 && line.function.is_empty() => format!("{}:{}", line.file, line.line),
            Some(line) if line.line > 0 => format!("{} ({}:{})", line.function, line.file, line.line),
            Some(line) if !line.function.is_empty() => line.function.clone(),
            _ => "not known".into(),
        }
    }

    pub fn kind(&self, component: Component) -> &'static str {
        match self.collection.components.get(component.index()).map(|log| log.kind) {
            Some(ComponentKind::Processor { .. }) => "processor",
            Some(ComponentKind::Adapter) => "adapter",
            Some(ComponentKind::Rank { .. }) => "rank",
            Some(ComponentKind::Tap) => "tap",
            _ => "switch",
        }
    }
}

pub fn operation(path: &Path) -> &'static str {
    match path.operation {
        Some(Operation::Data) => "data",
        Some(Operation::Request) => "request",
        Some(Operation::Grant) => "grant",
        None => "not known",
    }
}
