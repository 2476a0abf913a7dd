//! Compilers, run so that neither they nor what they start outlives this process, takes more than its share, or keeps
//! a caller from being interrupted.
//!
//! A guardian, forked before the compiler, has a process group of its own, which the compiler joins. It waits for the
//! end of a pipe that this process alone holds open: when that closes, however this process ended, the group is killed.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Largest source of a controller, bytes; `SOURCE_MAX` of the Python package.
const SOURCE_MAX: u64 = 4 << 20;
/// Processor time that one program of a compiler may take, s; the largest controllers take one.
const COMPILE_MAX_S: u64 = 60;
/// Memory that one program of a compiler may ask for, bytes.
const MEMORY_MAX: u64 = 2 << 30;
/// Largest file that a compiler may write, bytes.
const FILE_MAX: u64 = 256 << 20;
/// What is kept of what a compiler says, bytes.
const SAID_MAX: usize = 256 << 10;
/// The caller is asked whether to go on at this distance.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// How long a compiler may take that waits for something.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// Whether to go on; asked every 50 ms while a compiler runs.
pub type GoesOn<'a> = &'a mut dyn FnMut() -> bool;

/// How a compiler ended.
#[derive(Debug)]
pub struct Said {
    /// It has done what it was asked for.
    pub is_good: bool,
    /// What it printed as errors, or why it was ended.
    pub text: String,
}

/// The text of a source: a regular file of at most 4 MB.
///
/// # Errors
/// When it is something else, too large, or cannot be read; nothing that has no end is read.
pub fn read_source(path: &Path) -> io::Result<String> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // A pipe without a writer would be waited for.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let state = file.metadata()?;
    if !state.is_file() {
        return Err(io::Error::other("it is not a regular file, wanted a C source"));
    }
    let mut bytes = Vec::new();
    file.take(SOURCE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SOURCE_MAX {
        return Err(io::Error::other("it has more than 4 MB, wanted a C source"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs a compiler or a linker.
///
/// # Errors
/// When it cannot be started, or the caller does not go on (`Interrupted`).
pub fn run(mut command: Command, goes_on: GoesOn<'_>) -> io::Result<Said> {
    let guardian = Guardian::new()?;
    let (mut from, to) = io::pipe()?;
    let (reader, writer) = (from.as_raw_fd(), to.try_clone()?);
    command.stdin(Stdio::null()).stdout(to).stderr(writer);
    command.env("LC_ALL", "C").process_group(guardian.pid);
    // What is loaded into this process, a sanitizer for one, is not for compilers: it may need more than the bound.
    command.env_remove("LD_PRELOAD");
    // SAFETY: the closure calls only what may be called between fork and exec.
    unsafe { command.pre_exec(bound) };
    // SAFETY: a descriptor of this process.
    unsafe { libc::fcntl(reader, libc::F_SETFL, libc::O_NONBLOCK) };
    let mut child = command.spawn()?;
    drop(command); // with its ends of the pipe
    let mut said = Vec::new();
    let ended = wait(&mut child, &mut from, &mut said, goes_on);
    drop(guardian);
    let status = child.wait()?;
    ended?.map_or_else(
        || {
            let mut text = String::from_utf8_lossy(&said).into_owned();
            if !status.success() && text.trim().is_empty() {
                text = format!("the compiler ended with {status} and did not say why");
            }
            Ok(Said { is_good: status.success(), text })
        },
        |why| Ok(Said { is_good: false, text: why.to_owned() }),
    )
}

/// Waits for the end of what a compiler says, and of itself; gives why it is to be ended, if it is.
#[allow(clippy::disallowed_methods, reason = "a compiler takes real time")]
fn wait(
    child: &mut Child,
    from: &mut io::PipeReader,
    said: &mut Vec<u8>,
    goes_on: GoesOn<'_>,
) -> io::Result<Option<&'static str>> {
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX {
        let is_over = read_some(from, said)?;
        if is_over && child.try_wait()?.is_some() {
            return Ok(None);
        }
        if !goes_on() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if is_over {
            // It is about to end, and tells no more.
            wait_a_while(None);
        } else {
            wait_a_while(Some(from));
        }
    }
    Ok(Some("the compiler has not ended within two minutes: does the source include a pipe, or a device?"))
}

/// Takes what is there; says whether that was the end.
fn read_some(from: &mut io::PipeReader, said: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 1 << 14];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(n) => said.extend_from_slice(&buffer[..n.min(SAID_MAX - said.len().min(SAID_MAX))]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits until something is said, or for 50 ms; for a millisecond where nothing more is said.
fn wait_a_while(from: Option<&io::PipeReader>) {
    let (fd, ms) = from.map_or((-1, 1), |from| (from.as_raw_fd(), ASK_EVERY.as_millis() as i32));
    let mut look = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid struct. A signal that comes meanwhile only ends the wait.
    unsafe { libc::poll(&mut look, 1, ms) };
}

/// Bounds what the compiler, and each program that it starts, may take. Called between fork and exec.
fn bound() -> io::Result<()> {
    for (what, most) in [
        (libc::RLIMIT_CPU, COMPILE_MAX_S),
        (libc::RLIMIT_AS, MEMORY_MAX),
        (libc::RLIMIT_FSIZE, FILE_MAX),
        (libc::RLIMIT_CORE, 0),
    ] {
        // SAFETY: all zero is a value of this struct, and both calls get a complete one.
        unsafe {
            let mut limit: libc::rlimit = std::mem::zeroed();
            if libc::getrlimit(what, &mut limit) == 0 {
                limit.rlim_cur = limit.rlim_max.min(most);
                libc::setrlimit(what, &limit);
            }
        }
    }
    Ok(())
}

/// A process that kills its group when the pipe of this closes.
struct Guardian {
    pid: libc::pid_t,
    /// Closed at the end of this, or of the process.
    lifeline: Option<io::PipeWriter>,
}

impl Guardian {
    fn new() -> io::Result<Guardian> {
        let (watched, lifeline) = io::pipe()?;
        let (mut ready, told) = io::pipe()?;
        // SAFETY: the child calls only what may be called after fork in a process with threads.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => guard(watched.as_raw_fd(), told.as_raw_fd()),
            pid => {
                drop(told);
                // The group is there once this returns.
                let _ = ready.read(&mut [0]);
                Ok(Guardian { pid, lifeline: Some(lifeline) })
            }
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.lifeline = None;
        // SAFETY: a child of this process that is waited for here only. It ends at once.
        unsafe {
            while libc::waitpid(self.pid, std::ptr::null_mut(), 0) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}

/// The whole life of the guardian. Only what may be called after fork.
fn guard(watched: libc::c_int, ready: libc::c_int) -> ! {
    // SAFETY: calls of the system on what is this process's own.
    unsafe {
        libc::setpgid(0, 0);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Nothing of the parent's stays open here: others wait for the ends of its pipes.
        let (watched, ready) =
            (libc::fcntl(watched, libc::F_DUPFD, 10), libc::fcntl(ready, libc::F_DUPFD, 10));
        libc::dup2(watched, 3);
        libc::dup2(ready, 4);
        close_from(5);
        for fd in 0..3 {
            libc::close(fd);
        }
        libc::write(4, c"".as_ptr().cast(), 1);
        libc::close(4);
        let mut byte = 0_u8;
        while libc::read(3, (&raw mut byte).cast(), 1) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        libc::kill(0, libc::SIGKILL);
        libc::_exit(0)
    }
}

/// Closes all descriptors from this one on.
///
/// # Safety
/// Nobody in this process uses one of them after it.
unsafe fn close_from(first: libc::c_int) {
    #[cfg(target_os = "linux")]
    // SAFETY: the caller's.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, u32::MAX, 0_u32);
    }
    #[cfg(not(target_os = "linux"))]
    // SAFETY: the caller's.
    unsafe {
        for fd in first..libc::getdtablesize() {
            libc::close(fd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_says_and_how_it_ends_is_told() {
        let said = run(sh("echo one >&2; echo two; exit 3"), &mut || true).unwrap();
        assert_eq!((said.is_good, said.text.as_str()), (false, "one\ntwo\n"));
        assert!(run(sh("exit 0"), &mut || true).unwrap().is_good);
        let silent = run(sh("exit 1"), &mut || true).unwrap();
        assert_eq!(silent.text, "the compiler ended with exit status: 1 and did not say why");
    }

    #[test]
    fn what_it_started_ends_with_it_when_the_caller_does_not_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        let mut goes_on = || fs_text(&pid).is_empty();
        let error = run(sh(&script), &mut goes_on).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        let state = format!("/proc/{}/stat", fs_text(&pid).trim());
        // It is gone, or dead and not yet waited for.
        let is_there = |_| fs_text(Path::new(&state)).split(' ').nth(2).is_some_and(|s| s != "Z");
        assert!(!(0..200).all(|n| {
            wait_a_while(None);
            is_there(n)
        }));
    }

    fn fs_text(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_flood_of_words_is_cut() {
        let said = run(sh("yes | head -c 3000000"), &mut || true).unwrap();
        assert!(said.is_good);
        assert_eq!(said.text.len(), SAID_MAX);
    }

    #[test]
    fn only_regular_files_are_read() {
        for (path, why) in [
            ("/dev/zero", "not a regular file"),
            ("/dev", "not a regular file"),
            ("/nothing", "No such file"),
        ] {
            let error = read_source(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains(why), "{path}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let big = folder.path().join("big.c");
        File::create(&big).unwrap().set_len(SOURCE_MAX + 1).unwrap();
        assert!(read_source(&big).unwrap_err().to_string().contains("more than 4 MB"));
    }
}
