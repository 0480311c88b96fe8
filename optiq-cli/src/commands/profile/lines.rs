//! What each line of a program has moved, for `optiq profile show`.

use optiq_trace::profile::call_lines::{CallLines, words};
use optiq_trace::profile::job::{JobProfile, Moved};
use optiq_trace::profile::rank_file::Region;
use optiq_view::table;
use serde::Serialize;

/// Lines of call sites in the text.
const MOST_LINES: usize = 24;

/// A line of the program that called MPI, in whatever region.
#[derive(Clone, Default, Serialize)]
pub struct CallLine {
    file: String,
    line: u32,
    function: String,
    #[serde(skip)]
    words: String,
    /// Of all ranks.
    calls: u64,
    /// In these calls, of the rank that was in them for longest.
    seconds_max: f64,
    messages: u64,
    bytes: u64,
    put_bytes: u64,
    got_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
}

/// The lines of a job, those with the most bytes first, and what is not known of them.
pub fn call_lines(profile: &JobProfile) -> (Vec<CallLine>, Vec<String>) {
    let found = profile.call_lines();
    let line = |line: &optiq_trace::postcards::Context| CallLine {
        file: line.file.clone(),
        line: line.line,
        function: line.function.clone(),
        words: words(line),
        ..CallLine::default()
    };
    let mut lines: Vec<CallLine> = found.lines.iter().map(line).collect();
    for (index, file) in profile.files.iter().enumerate() {
        let mut seconds = vec![0.0; lines.len()];
        for region in &file.regions {
            let Some(number) = number(&found, index, region) else { continue };
            let line = &mut lines[number];
            line.calls += region.entries;
            line.read_bytes = line.read_bytes.saturating_add(region.files.read_bytes);
            line.written_bytes = line.written_bytes.saturating_add(region.files.written_bytes);
            seconds[number] += region.seconds;
        }
        for (line, seconds) in lines.iter_mut().zip(seconds) {
            line.seconds_max = line.seconds_max.max(seconds);
        }
    }
    for moved in [Moved::Sent, Moved::Put, Moved::Got] {
        profile.for_each_record(moved, |file, region, _, _, t| {
            let Some(number) = number(&found, file, region) else { return };
            let line = &mut lines[number];
            let sum = match moved {
                Moved::Sent => &mut line.bytes,
                Moved::Put => &mut line.put_bytes,
                Moved::Got => &mut line.got_bytes,
            };
            *sum = sum.saturating_add(t.bytes);
            if moved == Moved::Sent {
                line.messages = line.messages.saturating_add(t.messages);
            }
        });
    }
    // Lines of regions that are not shown.
    lines.retain(|line| line.calls > 0 || line.messages > 0);
    lines.sort_by_key(|line| std::cmp::Reverse(line.bytes));
    (lines, found.notes)
}

fn number(lines: &CallLines, file: usize, region: &Region) -> Option<usize> {
    Some(lines.number(file, region.call_site?)? as usize)
}

/// For people; nothing if there are no call sites.
pub fn call_table(lines: &[CallLine]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let head = ["called from", "calls", "seconds", "messages", "bytes"].map(str::to_owned).to_vec();
    let line = |c: &CallLine| {
        let seconds = table::seconds(c.seconds_max);
        vec![c.words.clone(), c.calls.to_string(), seconds, c.messages.to_string(), table::bytes(c.bytes as f64)]
    };
    let rows = lines.iter().take(MOST_LINES).map(line);
    let mut text = table::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    if lines.len() > MOST_LINES {
        text.push_str(&format!("and {} more; --json has all\n", lines.len() - MOST_LINES));
    }
    text.push('\n');
    text
}
