//! From the stage to the prefix: all files or none, and a list of them by which they are removed again.

use crate::failure::{Failure, Outcome};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process;

/// The list of what was installed, below the prefix: a path below the prefix in each line.
pub const MANIFEST: &str = "share/optiq/install-manifest.txt";

/// Checks that something can be written at or above `root`, before minutes are spent on building it.
pub fn check_writable(root: &Path) -> Outcome {
    // What is not there yet is made in the first directory above that is.
    let folder = root.ancestors().find(|f| f.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    let probe = folder.join(format!(".optiq-install-{}", process::id()));
    let written = fs::write(&probe, "").and_then(|()| fs::remove_file(&probe));
    written.map_err(|e| {
        Failure::Usage(format!(
            "nothing can be installed below {}, as {} cannot be written to: {e}",
            root.display(),
            folder.display()
        ))
    })
}

/// Copies all files below `from` to `to`, with the manifest, and removes what an earlier installation had and this one has
/// not. Every file is first written beside its place; only when all are there do they take their places.
pub fn copy(from: &Path, to: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    list(from, Path::new(""), &mut files).map_err(|e| Failure::Failed(format!("{}: {e}", from.display())))?;
    files.push(MANIFEST.into());
    files.sort();
    files.dedup();
    let lines: String = files.iter().map(|f| format!("{}\n", f.display())).collect();
    let manifest = from.join(MANIFEST);
    let before = read_manifest(to).unwrap_or_default();
    let mut copied = Copied::default();
    if let Err(e) = fs::write(&manifest, lines).and_then(|()| copied.beside(from, to, &files)) {
        copied.take_back();
        return Err(Failure::Failed(format!("nothing was installed below {}: {e}", to.display())));
    }
    // Within a directory in which a file could be made; only a failing disk is left to fear.
    copied.settle().map_err(|e| Failure::Failed(format!("not all is installed below {}: {e}", to.display())))?;
    for file in before.iter().filter(|f| !files.contains(f)) {
        remove_file(to, file);
    }
    Ok(files)
}

/// Removes what was installed below `root`.
pub fn remove(root: &Path) -> Outcome<usize> {
    let files = read_manifest(root)?;
    let mut removed = 0;
    for file in &files {
        removed += usize::from(remove_file(root, file));
    }
    Ok(removed)
}

/// Files that are on their way.
#[derive(Default)]
struct Copied {
    /// (beside its place, its place)
    files: Vec<(PathBuf, PathBuf)>,
    /// Directories that were not there.
    folders: Vec<PathBuf>,
}

impl Copied {
    fn beside(&mut self, from: &Path, to: &Path, files: &[PathBuf]) -> io::Result<()> {
        let named = |e: io::Error, path: &Path| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        for file in files {
            let (source, place) = (from.join(file), to.join(file));
            let folder = place.parent().unwrap_or(to);
            self.make(folder).map_err(|e| named(e, folder))?;
            if place.symlink_metadata().is_ok_and(|m| m.is_dir()) {
                return Err(named(io::Error::other("a directory is in the file's place"), &place));
            }
            let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let beside = folder.join(format!(".{name}.{}", process::id()));
            self.files.push((beside.clone(), place));
            match fs::read_link(&source) {
                Ok(target) => symlink(target, &beside),
                Err(_) => fs::copy(&source, &beside).map(drop),
            }
            .map_err(|e| named(e, &beside))?;
        }
        Ok(())
    }

    /// Makes a directory and those above it, and remembers which were not there.
    fn make(&mut self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.make(above)?;
        }
        fs::create_dir(folder)?;
        self.folders.push(folder.into());
        Ok(())
    }

    fn settle(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|(beside, place)| fs::rename(beside, place))
    }

    /// Removes what has not taken its place, and directories that were made for it.
    fn take_back(&self) {
        for (beside, _) in &self.files {
            let _ = fs::remove_file(beside);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Files and links below `root/folder`, as paths below `root`.
fn list(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            list(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn read_manifest(root: &Path) -> Outcome<Vec<PathBuf>> {
    let manifest = root.join(MANIFEST);
    let text = fs::read_to_string(&manifest).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            Failure::Usage(format!("there is no {}, so nothing was installed there", manifest.display()))
        }
        _ => Failure::Failed(format!("{} cannot be read: {e}", manifest.display())),
    })?;
    let files: Vec<PathBuf> = text.lines().map(PathBuf::from).collect();
    // Whoever edited it: nothing outside the prefix is touched.
    for (index, file) in files.iter().enumerate() {
        if file.as_os_str().is_empty() || !file.components().all(|c| matches!(c, Component::Normal(_))) {
            return Err(Failure::Failed(format!(
                "{}, line {}: \"{}\" is found and a path below the prefix is expected",
                manifest.display(),
                index + 1,
                file.display()
            )));
        }
    }
    Ok(files)
}

/// Removes a file below `root`, and the directories below `root` that are empty then. Tells whether it was there.
fn remove_file(root: &Path, file: &Path) -> bool {
    let removed = fs::remove_file(root.join(file)).is_ok();
    for folder in file.ancestors().skip(1).filter(|f| !f.as_os_str().is_empty()) {
        if fs::remove_dir(root.join(folder)).is_err() {
            break;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn new() -> Self {
            Scratch(tempfile::tempdir().unwrap())
        }

        fn path(&self, below: &str) -> PathBuf {
            self.0.path().join(below)
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.path(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn names(&self, folder: &str) -> Vec<String> {
            let mut files = Vec::new();
            if self.path(folder).is_dir() {
                list(&self.path(folder), Path::new(""), &mut files).unwrap();
            }
            files.sort();
            files.iter().map(|f| f.display().to_string()).collect()
        }
    }

    fn stage(scratch: &Scratch) {
        for file in ["s/lib/libx.so.1", "s/bin/x", "s/share/optiq/y"] {
            scratch.write(file, file);
        }
        symlink("libx.so.1", scratch.path("s/lib/libx.so")).unwrap();
    }

    #[test]
    fn a_second_installation_replaces_the_first_and_removal_leaves_what_is_not_its_own() {
        let scratch = Scratch::new();
        stage(&scratch);
        scratch.write("p/bin/other", "not ours");
        let (from, to) = (scratch.path("s"), scratch.path("p"));
        copy(&from, &to).unwrap();
        let first = ["bin/other", "bin/x", "lib/libx.so", "lib/libx.so.1", MANIFEST, "share/optiq/y"];
        assert_eq!(scratch.names("p"), first);
        assert_eq!(fs::read_link(to.join("lib/libx.so")).unwrap(), Path::new("libx.so.1"));
        // The next one has a file less and another one more.
        fs::remove_file(from.join("share/optiq/y")).unwrap();
        scratch.write("s/share/man/z", "");
        copy(&from, &to).unwrap();
        assert_eq!(scratch.names("p"), ["bin/other", "bin/x", "lib/libx.so", "lib/libx.so.1", "share/man/z", MANIFEST]);
        assert_eq!(remove(&to).unwrap(), 5);
        assert_eq!(scratch.names("p"), ["bin/other"]);
        assert!(!to.join("lib").exists() && to.join("bin").exists());
        assert!(remove(&to).is_err());
    }

    #[test]
    fn what_cannot_be_copied_whole_is_not_copied_at_all() {
        let scratch = Scratch::new();
        stage(&scratch);
        // A file where a directory must be, and a directory where a file must be.
        for (obstacle, name) in [("p/share", "share"), ("p/share/optiq/y/z", "share/optiq/y/z")] {
            scratch.write(obstacle, "in the way");
            let result = copy(&scratch.path("s"), &scratch.path("p"));
            assert!(matches!(&result, Err(Failure::Failed(text)) if text.starts_with("nothing was installed")));
            assert_eq!(scratch.names("p"), [name]);
            assert!(!scratch.path("p/bin").exists());
            fs::remove_dir_all(scratch.path("p")).unwrap();
        }
    }

    #[test]
    fn a_manifest_that_names_what_is_elsewhere_removes_nothing() {
        let scratch = Scratch::new();
        scratch.write("kept", "");
        for line in ["../kept", "/etc/hostname", ""] {
            scratch.write(&format!("p/{MANIFEST}"), &format!("bin/x\n{line}\n"));
            let refused = remove(&scratch.path("p"));
            assert!(matches!(&refused, Err(Failure::Failed(text)) if text.contains("line 2")), "{refused:?}");
        }
        assert!(scratch.path("kept").exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_refused_in_a_sentence() {
        let scratch = Scratch::new();
        scratch.write("file", "");
        let refused = check_writable(&scratch.path("file/below"));
        assert!(matches!(&refused, Err(Failure::Usage(text)) if text.contains("cannot be written to")), "{refused:?}");
        check_writable(&scratch.path("not/yet/there")).unwrap();
        assert_eq!(scratch.names("."), ["file"]);
    }
}
