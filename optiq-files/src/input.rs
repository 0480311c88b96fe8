//! Inputs: regular files, and standard input where the program says so. Everything else would block (pipes), never end
//! (`/dev/zero`) or do something when it is opened (devices), and is refused before it is opened.

use nix::fcntl::OFlag;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What stands for standard input and standard output in place of a file's name.
pub const STANDARD: &str = "-";

/// What `-` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardInput {
    /// A file of that name. The default: a library in somebody else's program must never read what that program is given.
    Unknown = 0,
    /// Standard input, once.
    Allowed = 1,
    /// Standard input, which is refused, as this process is not the only one that reads the input.
    Shared = 2,
}

static MEANING: AtomicU8 = AtomicU8::new(StandardInput::Unknown as u8);
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Says what `-` stands for from now on, which only a program's `main` can know.
pub fn set_standard_input(meaning: StandardInput) {
    MEANING.store(meaning as u8, Ordering::Relaxed);
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD && MEANING.load(Ordering::Relaxed) != StandardInput::Unknown as u8
}

/// How messages call an input.
pub fn name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".into() } else { path.display().to_string() }
}

/// An input that is open, of which nothing has been read.
#[derive(Debug)]
pub struct Input {
    file: File,
    length: Option<u64>,
}

impl Input {
    /// Opens the regular file at `path`, or standard input.
    ///
    /// # Errors
    /// What the operating system says; something else than a regular file; standard input for a second time.
    pub fn open(path: &Path) -> io::Result<Self> {
        if is_standard_input(path) {
            return Self::standard();
        }
        // Before it is opened, as opening a device may do something; and again afterwards, as the name may by then stand for another file.
        regular(&fs::metadata(path)?)?;
        // Without O_NONBLOCK a pipe that took the place of the file meanwhile would keep us waiting for its writer.
        let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
        let metadata = file.metadata()?;
        regular(&metadata)?;
        Ok(Self { file, length: Some(metadata.len()) })
    }

    fn standard() -> io::Result<Self> {
        if MEANING.load(Ordering::Relaxed) == StandardInput::Shared as u8 {
            return Err(invalid(
                "several processes read this input, so that it cannot be standard input; a file is expected",
            ));
        }
        if TAKEN.swap(true, Ordering::Relaxed) {
            return Err(invalid("standard input can be read only once, and another argument has read it"));
        }
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        if file.metadata()?.is_dir() {
            return Err(invalid("found a directory"));
        }
        Ok(Self { file, length: None })
    }

    /// Its size in bytes; `None` for standard input.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The input, if it is not known to be larger than `most` bytes. No more than that is ever read.
    ///
    /// # Errors
    /// A size above `most`.
    pub fn at_most(self, most: u64) -> io::Result<Limited> {
        match self.length {
            Some(length) if length > most => Err(too_large(most)),
            _ => Ok(Limited { file: self.file, left: most, most }),
        }
    }
}

/// An input of which no more than a number of bytes is read.
#[derive(Debug)]
pub struct Limited {
    file: File,
    left: u64,
    most: u64,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // Whether it ends here.
            return match self.file.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(too_large(self.most)),
            };
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.file.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// The bytes of an input, if there are at most `most`.
///
/// # Errors
/// As [`Input::open`]; more bytes than that.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Input::open(path)?.at_most(most)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of an input that begins with a header. `check` is given the first `header` bytes (fewer if the input is shorter) and
/// the input's size, if that is known, before anything else is read; it says how many bytes may be read in all.
///
/// # Errors
/// `unread` of what [`read`] refuses; what `check` refuses.
pub fn read_checked<E>(
    path: &Path,
    header: usize,
    unread: impl Fn(io::Error) -> E,
    check: impl FnOnce(&[u8], Option<u64>) -> Result<u64, E>,
) -> Result<Vec<u8>, E> {
    let Input { mut file, length } = Input::open(path).map_err(&unread)?;
    let mut bytes = Vec::new();
    (&mut file).take(header as u64).read_to_end(&mut bytes).map_err(&unread)?;
    let most = check(&bytes, length)?;
    if length.unwrap_or(0).max(bytes.len() as u64) > most {
        return Err(unread(too_large(most)));
    }
    Limited { file, left: most - bytes.len() as u64, most }.read_to_end(&mut bytes).map_err(&unread)?;
    Ok(bytes)
}

fn regular(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(invalid("found something else than a regular file")) }
}

fn too_large(most: u64) -> io::Error {
    match most {
        0..0x10_0000 => invalid(&format!("it is larger than {most} bytes")),
        0x10_0000..0x4000_0000 => invalid(&format!("it is larger than {} MiB", most >> 20)),
        _ => invalid(&format!("it is larger than {} GiB", most >> 30)),
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use nix::sys::stat::Mode;

    fn refusal(path: &Path, most: u64) -> String {
        read(path, most).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_of_the_right_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, pipe, link) = (folder.path().join("file"), folder.path().join("pipe"), folder.path().join("link"));
        fs::write(&file, "12345").unwrap();
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(refusal(&file, 4), "it is larger than 4 bytes");
        for other in [pipe.as_path(), link.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert_eq!(refusal(other, 5), "found something else than a regular file");
        }
        // Until a program says otherwise.
        assert_eq!(Input::open(Path::new(STANDARD)).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(name(Path::new(STANDARD)), "-");
    }

    #[test]
    fn what_grows_while_it_is_read_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "1234").unwrap();
        let input = Input::open(&path).unwrap().at_most(4).unwrap();
        fs::write(&path, "123456").unwrap();
        let mut bytes = Vec::new();
        assert!({ input }.read_to_end(&mut bytes).is_err());
        assert_eq!(bytes, b"1234");
    }

    #[test]
    fn a_header_is_looked_at_before_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "MAGIC and more").unwrap();
        let checked = |most, wanted: &'static [u8]| {
            read_checked(
                &path,
                5,
                |e| e.to_string(),
                |header, length| {
                    assert_eq!(length, Some(14));
                    if header == wanted { Ok(most) } else { Err("another header".into()) }
                },
            )
        };
        assert_eq!(checked(14, b"MAGIC").unwrap(), b"MAGIC and more");
        assert_eq!(checked(14, b"OTHER").unwrap_err(), "another header");
        assert_eq!(checked(13, b"OTHER").unwrap_err(), "another header");
        assert_eq!(checked(13, b"MAGIC").unwrap_err(), "it is larger than 13 bytes");
    }
}
