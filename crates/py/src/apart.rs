//! Work in a process of its own: what runs a user's C code, so that a crash or an endless loop in it ends that work and
//! nothing else.
//!
//! The process is forked from this one, whose threads it does not have; it does one thing, writes to a pipe and ends
//! without returning. On the pipe are frames: a kind, the length as four bytes (the lowest first), the content.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use cca::Report;
use pyo3::ffi::{PyOS_AfterFork_Child, PyOS_AfterFork_Parent, PyOS_BeforeFork};
use pyo3::prelude::*;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{kill_process, waitpid, Pid, Signal, WaitOptions, WaitStatus};

/// How far the work is: simulated ns and packets delivered, as two numbers of eight bytes.
const PROGRESS: u8 = b'P';
/// What the work gives; the last frame.
const RESULT: u8 = b'R';
/// The caller is asked whether to go on at this distance at most.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// A process is looked at once a second while it tells nothing.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks at which it has done nothing before it is asked what it is in (`cca::watch` says "10 s").
const IDLE_LOOKS: u32 = 10;
/// ... before it is ended: a controller in Python may wait for a program elsewhere.
const IDLE_LOOKS_MAX: u32 = 70;
/// What is said of such a one.
const DID_NOTHING: &str = "its process has done nothing for 70 s, and was ended";

/// How the work ended.
pub enum Ended {
    /// It gave this.
    Well(Vec<u8>),
    /// The process ended before, for this reason.
    Badly(String),
}

/// Where the forked process tells how far it is.
pub struct Teller(io::PipeWriter);

impl Teller {
    /// Writes one frame; false when nobody reads any more.
    fn frame(&mut self, kind: u8, content: &[u8]) -> bool {
        let mut frame = Vec::with_capacity(content.len() + 5);
        frame.push(kind);
        frame.extend_from_slice(&(content.len() as u32).to_le_bytes());
        frame.extend_from_slice(content);
        self.0.write_all(&frame).is_ok()
    }

    /// Tells how far the work is; false when it is to stop.
    pub fn progress(&mut self, sim_ns: u64, packets: u64) -> bool {
        let mut content = [0; 16];
        content[..8].copy_from_slice(&sim_ns.to_le_bytes());
        content[8..].copy_from_slice(&packets.to_le_bytes());
        self.frame(PROGRESS, &content)
    }
}

/// Does `work` in a process of its own; `tell` is called about every 50 ms with how far it is, and its error ends the
/// work. `libraries` are the shared objects of the user's code, of which a report names the line.
///
/// # Errors
/// Those of `tell`, and of the system.
pub fn apart(
    py: Python<'_>,
    libraries: &[PathBuf],
    tell: &mut dyn FnMut(Python<'_>, u64, u64) -> PyResult<()>,
    work: impl FnOnce(Python<'_>, &mut Teller) -> Vec<u8>,
) -> PyResult<Ended> {
    let (reader, mut child) = fork(py, work)?;
    let mut frames = Frames { reader, bytes: Vec::new(), is_closed: false };
    let (mut at, mut idle) = ((0, 0), Idle::new());
    loop {
        let frame = py.detach(|| frames.next())?;
        if idle.look(frame.is_some(), child.pid) {
            return Ok(Ended::Badly(DID_NOTHING.to_owned()));
        }
        match frame {
            Some(Frame { kind: RESULT, content }) => return Ok(Ended::Well(content)),
            Some(Frame { kind: cca::REPORT_MARK, content }) => {
                let report = Report::parse(&content);
                return Ok(Ended::Badly(report.map_or_else(String::new, |r| said(&r, libraries))));
            }
            Some(Frame { content, .. }) => at = read_progress(&content),
            None => {
                if frames.is_closed {
                    return Ok(Ended::Badly(how(child.wait()?)));
                }
            }
        }
        tell(py, at.0, at.1)?;
    }
}

/// Whether a process does nothing: it has told nothing for a while, and at each look it sleeps or is stopped.
struct Idle {
    looked: Instant,
    /// Looks in a row at which it did nothing.
    looks: u32,
}

impl Idle {
    #[allow(clippy::disallowed_methods, reason = "what the process waits for takes real time")]
    fn new() -> Idle {
        Idle { looked: Instant::now(), looks: 0 }
    }

    /// Looks once a second. When it has done nothing for a while, it is asked what it is in; when it does not answer,
    /// this says that it is to be ended.
    #[allow(clippy::disallowed_methods, reason = "what the process waits for takes real time")]
    fn look(&mut self, has_told: bool, pid: Option<Pid>) -> bool {
        if has_told {
            *self = Idle::new();
        }
        let Some(pid) = pid.filter(|_| self.looked.elapsed() >= LOOK_EVERY) else { return false };
        let is_idle = state(pid).is_some_and(|state| matches!(state, 'S' | 'T' | 't'));
        *self = Idle { looked: Instant::now(), looks: if is_idle { self.looks + 1 } else { 0 } };
        if self.looks == IDLE_LOOKS {
            // It may have ended meanwhile.
            kill_process(pid, Signal::ALARM).ok();
            kill_process(pid, Signal::CONT).ok();
        }
        self.looks >= IDLE_LOOKS_MAX
    }
}

/// The letter of a process's state, where the system shows it.
fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// A forked process, which does not outlive this.
struct Child {
    /// None once it was waited for.
    pid: Option<Pid>,
}

impl Child {
    /// How it ended.
    fn wait(&mut self) -> io::Result<Option<WaitStatus>> {
        let Some(pid) = self.pid.take() else { return Ok(None) };
        Ok(waitpid(Some(pid), WaitOptions::empty())?.map(|(_, status)| status))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            // It may have ended by itself.
            kill_process(pid, Signal::KILL).ok();
            self.wait().ok();
        }
    }
}

/// Forks; the child does `work` and ends. The pipe's end for writing is in no other process that this one forks.
fn fork(
    py: Python<'_>,
    work: impl FnOnce(Python<'_>, &mut Teller) -> Vec<u8>,
) -> PyResult<(io::PipeReader, Child)> {
    // SAFETY: the GIL is held; the two calls below end what this begins.
    unsafe { PyOS_BeforeFork() };
    let forked = io::pipe().and_then(|(reader, writer)| {
        // SAFETY: the child goes on in this thread alone; it takes no lock that another thread may hold.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(reader);
                // SAFETY: called in the child, with the GIL, which this thread holds.
                unsafe { PyOS_AfterFork_Child() };
                do_and_end(py, writer, work)
            }
            pid => Ok((reader, Child { pid: Pid::from_raw(pid) })),
        }
    });
    // SAFETY: called in the parent, with the GIL, which this thread holds.
    unsafe { PyOS_AfterFork_Parent() };
    Ok(forked?)
}

/// The system ends this process, a worker's, when the one that forked it is gone; see the stub.
#[pyfunction]
pub fn end_with_parent() {
    // SAFETY: a flag of this process.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// The whole life of the child.
fn do_and_end(
    py: Python<'_>,
    writer: io::PipeWriter,
    work: impl FnOnce(Python<'_>, &mut Teller) -> Vec<u8>,
) -> ! {
    // SAFETY: dispositions and a flag of this process. The parent ends it, where a terminal would end both, and the
    // system does so if the parent is gone.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let is_watched = cca::watch(writer.as_raw_fd()).is_ok();
    let mut teller = Teller(writer);
    let done = is_watched && {
        let result = work(py, &mut teller);
        teller.frame(RESULT, &result)
    };
    // SAFETY: ends the process at once, without what the parent has to do at its end.
    unsafe { libc::_exit(i32::from(!done)) }
}

struct Frame {
    kind: u8,
    content: Vec<u8>,
}

/// Frames from a pipe, as they come.
struct Frames {
    reader: io::PipeReader,
    bytes: Vec<u8>,
    /// The process writes no more: it is about to be gone.
    is_closed: bool,
}

impl Frames {
    /// The next frame, waited for a while; none when none is whole by then.
    fn next(&mut self) -> io::Result<Option<Frame>> {
        let whole = self.whole();
        if whole.is_some() || !self.is_readable(TELL_EVERY)? {
            return Ok(whole);
        }
        let mut buffer = [0; 4096];
        let n = self.reader.read(&mut buffer)?;
        self.is_closed = n == 0;
        self.bytes.extend_from_slice(&buffer[..n]);
        Ok(self.whole())
    }

    fn is_readable(&self, wait: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.reader, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(&mut fds, Some(&wait)) {
            Ok(n) => Ok(n > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Length of the first frame, where it is whole.
    fn length(&self) -> Option<usize> {
        let head: [u8; 4] = self.bytes.get(1..5)?.try_into().ok()?;
        let length = u32::from_le_bytes(head) as usize;
        (self.bytes.len() >= 5 + length).then_some(length)
    }

    fn whole(&mut self) -> Option<Frame> {
        let length = self.length()?;
        let kind = self.bytes[0];
        let content = self.bytes[5..5 + length].to_vec();
        self.bytes.drain(..5 + length);
        Some(Frame { kind, content })
    }
}

fn read_progress(content: &[u8]) -> (u64, u64) {
    let number = |at: usize| content.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    (number(0).unwrap_or(0), number(8).unwrap_or(0))
}

/// What a process is said to have ended with that has reported nothing.
fn how(status: Option<WaitStatus>) -> String {
    match (
        status.and_then(WaitStatus::terminating_signal),
        status.and_then(WaitStatus::exit_status),
    ) {
        (Some(libc::SIGKILL), _) => {
            "its process was killed, as the system does when memory runs out".to_owned()
        }
        // C libraries start programs with signals blocked.
        (Some(libc::SIGSYS), _) => {
            "a controller starts another process or program, which it may not".to_owned()
        }
        (Some(signal), _) => format!("its process was ended by signal {signal}"),
        (None, code) => format!("its process ended with status {}", code.unwrap_or(-1)),
    }
}

/// The report, with the line where it happened in front, as far as that is known.
fn said(report: &Report, libraries: &[PathBuf]) -> String {
    let place = report.offset.and_then(|offset| libraries.iter().find_map(|l| line_of(l, offset)));
    let (file, function) = place.unwrap_or_default();
    let front = if file.is_empty() { file } else { format!("{file}: ") };
    let back = if function.is_empty() || function == report.hook {
        String::new()
    } else {
        format!(", in {function}()")
    };
    format!("{front}{report}{back}")
}

/// "FILE:LINE" and function of a place in a shared object, by the debugger's table, where binutils are there to read it.
fn line_of(library: &PathBuf, offset: u64) -> Option<(String, String)> {
    let mut command = Command::new("addr2line");
    let output = command.arg("-fe").arg(library).arg(format!("{offset:#x}")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut lines = text.lines();
    let (function, place) = (lines.next()?, lines.next()?.split(' ').next()?);
    (!place.starts_with('?')).then(|| (place.to_owned(), function.replace("??", "")))
}
