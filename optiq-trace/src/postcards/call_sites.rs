//! Which line of a program made a call, by the debug information of the modules on its call stack, as `addr2line` of the GNU binutils
//! reads it. Of a return address the byte before belongs to the call.

use super::call_stack::{CallStack, Frame};
use super::record::Context;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

const TOOL: &str = "addr2line";
/// Addresses of one start of the tool: far below what a command line may have.
const ADDRESSES: usize = 1000;

/// What is not part of a program that calls OPTIQ: crates, as functions are named by them.
const OWN_CRATES: [&str; 7] = ["optiq", "optiq_trace", "optiq_transport", "optiq_lower", "core", "std", "alloc"];
/// And functions of the interfaces in C and Fortran.
const OWN_NAMES: [&str; 4] = ["optiq_", "MPI_", "PMPI_", "mpi_"];

/// The lines of call stacks.
#[derive(Debug, Default)]
pub struct CallSites {
    /// Of each module that could be read: whether addresses in it count from where it is loaded, and what the code before an address is.
    modules: BTreeMap<String, (bool, HashMap<u64, Context>)>,
    /// What could not be asked, a sentence each.
    pub notes: Vec<String>,
}

impl CallSites {
    /// Asks for all functions of these call stacks.
    pub fn of<'a>(stacks: impl Iterator<Item = &'a CallStack>) -> Self {
        let mut wanted: BTreeMap<&str, BTreeSet<(u64, u64)>> = BTreeMap::new();
        for frame in stacks.flat_map(|stack| &stack.frames).filter(|frame| frame.module.starts_with('/')) {
            wanted.entry(&frame.module).or_default().insert((frame.base, frame.address));
        }
        let mut sites = Self::default();
        for (module, addresses) in wanted {
            match ask(module, &addresses) {
                Ok(known) => drop(sites.modules.insert(module.to_owned(), known)),
                Err(note) => sites.notes.push(note),
            }
        }
        sites
    }

    fn known(&self, frame: &Frame) -> Option<&Context> {
        let (is_moved, lines) = self.modules.get(&frame.module)?;
        lines.get(&in_file(*is_moved, frame.base, frame.address))
    }

    /// The line of the program that made the call: of the innermost function that is not OPTIQ's.
    pub fn line(&self, stack: &CallStack) -> Context {
        let is_library =
            Path::new(&stack.recorded_by).file_name().is_some_and(|name| name.to_string_lossy().contains("optiq."));
        let is_library = is_library || stack.recorded_by.contains("liboptiq_pmpi");
        let is_own = |frame: &Frame| {
            frame.module == stack.recorded_by
                && (is_library || self.known(frame).is_none_or(|line| is_own(&line.function)))
        };
        let Some(frame) = stack.frames.iter().find(|frame| !is_own(frame)) else { return context("??", "??:0") };
        let line = self.known(frame).cloned().unwrap_or_else(|| context("??", "??:0"));
        if line.function.is_empty() && !frame.module.is_empty() {
            let name =
                Path::new(&frame.module).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            return Context { function: format!("{name}+{:#x}", frame.address.saturating_sub(frame.base)), ..line };
        }
        line
    }
}

/// Where in its file the code before a return address is.
fn in_file(is_moved: bool, base: u64, address: u64) -> u64 {
    address.saturating_sub(1).saturating_sub(if is_moved { base } else { 0 })
}

/// Asks the tool about addresses of a module, with where it was loaded each time.
fn ask(module: &str, addresses: &BTreeSet<(u64, u64)>) -> Result<(bool, HashMap<u64, Context>), String> {
    let is_moved =
        is_moved(Path::new(module)).map_err(|e| format!("{module}: lines of programs are not known: {e}"))?;
    // Ranks that run the same program have it at different places.
    let places: BTreeSet<u64> = addresses.iter().map(|&(base, address)| in_file(is_moved, base, address)).collect();
    let places: Vec<u64> = places.into_iter().collect();
    let mut known = HashMap::new();
    for some in places.chunks(ADDRESSES) {
        let mut command = Command::new(TOOL);
        command.args(["-f", "-C", "-e", module]).args(some.iter().map(|place| format!("{place:#x}")));
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("{TOOL} of the GNU binutils, which names lines of programs: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines();
        for &place in some {
            let (Some(function), Some(line)) = (lines.next(), lines.next()) else {
                return Err(format!("{module}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            };
            known.insert(place, context(function, line));
        }
    }
    Ok((is_moved, known))
}

/// Whether a module's addresses count from where it is loaded: those of an ELF file of type `ET_EXEC` (2) do not.
fn is_moved(module: &Path) -> std::io::Result<bool> {
    let mut head = [0; 18];
    File::open(module)?.read_exact(&mut head)?;
    let kind = [head[16], head[17]];
    Ok(kind != 2u16.to_le_bytes())
}

/// `main` and `/a/b.c:17 (discriminator 2)`; `??` is what is not known.
fn context(function: &str, place: &str) -> Context {
    let place = place.split(" (").next().unwrap_or_default();
    let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
    let line = line.parse().ok().filter(|_| file != "??").unwrap_or(0);
    let known = |text: &str| if text == "??" { String::new() } else { text.to_owned() };
    Context { file: if line > 0 { known(file) } else { String::new() }, line, function: known(function) }
}

/// Whether a function is part of OPTIQ or of what it is made with; one without a name is taken to be.
fn is_own(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&', '(']);
    match path.split_once("::") {
        Some((name, _)) => OWN_CRATES.contains(&name),
        None => function.is_empty() || OWN_NAMES.iter().any(|name| function.starts_with(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tool_says_is_read() {
        let known = context("main", "/a/b.c:17 (discriminator 2)");
        assert_eq!(known, Context { file: "/a/b.c".into(), line: 17, function: "main".into() });
        assert_eq!(context("f", "??:?"), Context { file: String::new(), line: 0, function: "f".into() });
        assert_eq!(context("??", "??:0"), Context { file: String::new(), line: 0, function: String::new() });
        assert_eq!(context("f", "C:x.c:3").file, "C:x.c");
    }

    #[test]
    fn the_innermost_function_of_the_program_counts() {
        let frame = |module: &str, address| Frame { module: module.into(), base: 0, address };
        let line = |function: &str| Context { file: "f".into(), line: 1, function: function.into() };
        let names =
            ["<optiq_transport::Marked<T> as optiq_transport::Transport>::begin", "optiq_alltoallv", "solve", "main"];
        let frames: Vec<Frame> = (1..5).map(|i| frame("/bin/a", i)).collect();
        let lines = (0..).zip(names.map(line)).collect();
        let sites = CallSites { modules: [("/bin/a".to_owned(), (true, lines))].into(), notes: Vec::new() };
        // OPTIQ is part of the program.
        let stack = CallStack { frames, recorded_by: "/bin/a".into() };
        assert_eq!(sites.line(&stack).function, "solve");
        // It is a library, of which no function has a name.
        let other = vec![frame("/lib/liboptiq.so.0", 9), frame("/bin/a", 4), frame("/bin/a", 3)];
        let stack = CallStack { frames: other, recorded_by: "/lib/liboptiq.so.0".into() };
        assert_eq!(sites.line(&stack).function, "main");
        let stack = CallStack { frames: vec![frame("/gone/b", 0x20)], recorded_by: "/lib/liboptiq.so".into() };
        assert_eq!((sites.line(&stack).function.as_str(), sites.line(&stack).line), ("b+0x20", 0));
        assert_eq!(sites.line(&CallStack::default()), context("??", "??:0"));
        for (name, own) in [("optiq_studies::bench::run", false), ("optiq::session::f", true), ("mpi_alltoallv_", true)]
        {
            assert_eq!(is_own(name), own, "{name}");
        }
    }

    #[test]
    fn this_very_line_is_found() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let here = this_very_line_is_found as fn() as usize as u64;
        let stack = CallStack::new(&[here + 1], 0, &maps);
        let sites = CallSites::of([&stack].into_iter());
        if sites.notes.iter().any(|note| note.contains("binutils")) {
            println!("skipped: {:?}", sites.notes);
            return;
        }
        let line = sites.line(&stack);
        assert!(line.file.ends_with("call_sites.rs") && line.function.contains("this_very_line_is_found"), "{line:?}");
    }
}
