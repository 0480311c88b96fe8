//! All results of a sweep, from the documents of its runs.

use super::document::{ListDocument, ResultDocument, RunDocument, SweepDocument};
use super::execute::Execution;
use crate::failure::Failure;
use optiq_files::input;
use optiq_sim::jobs::sweep::file::Sweep;
use std::path::Path;

/// The lists of a sweep.
pub fn lists(sweep: &Sweep) -> Vec<ListDocument> {
    let list = |axis: &optiq_sim::jobs::sweep::axis::Axis| ListDocument {
        name: axis.name.clone(),
        values: axis.values.clone(),
    };
    sweep.axes().iter().map(list).collect()
}

/// Reads the documents of all runs that are finished. What is wrong with a run that has none was told when it was to be made.
///
/// # Errors
/// A document that cannot be read, or is none.
pub fn of(execution: &Execution<'_>, path: &Path) -> Result<SweepDocument, Failure> {
    let (sweep, store) = (execution.sweep, execution.store);
    let mut found = SweepDocument {
        title: String::new(),
        file: input::name(path),
        output: store.folder().display().to_string(),
        lists: lists(sweep),
        runs: sweep.runs(),
        finished: 0,
        packets: 0,
        results: Vec::new(),
    };
    let mut at_hand = None;
    for run in 0..sweep.runs() {
        let Ok((file, _, name)) = execution.identify(run, &mut at_hand) else { continue };
        if found.title.is_empty() {
            found.title = file.title;
        }
        let Some(bytes) = store.read(&name)? else { continue };
        let document: RunDocument = serde_json::from_slice(&bytes).map_err(|e| {
            let path = store.folder().join(&name);
            Failure::Input(format!(
                "{} is no document of a run: {e}; remove it to have the run made again",
                path.display()
            ))
        })?;
        let chosen = sweep.axes().iter().zip(sweep.choices(run));
        let values = chosen.map(|(axis, choice)| (axis.name.clone(), axis.values[choice].clone())).collect();
        found.finished += 1;
        found.packets += document.packets;
        found.results.push(ResultDocument { run, values, document: name, jobs: document.jobs });
    }
    Ok(found)
}
