//! What only scripts of the kernel's packetdrill have: shell commands that set the host up, and socket calls. What has no
//! counterpart in the model is an error that says so.

use crate::script::{Kernel, Options, Script, What};

type Parsed<T> = Result<T, String>;

/// What begins the socket calls that scripts make.
const CALLS: [&str; 15] = [
    "socket",
    "setsockopt",
    "bind",
    "listen",
    "accept",
    "connect",
    "write",
    "send",
    "close",
    "fcntl",
    "read",
    "recv",
    "shutdown",
    "getsockopt",
    "poll",
];
/// Settings that the model has as they are here, and no others.
const FIXED: [(&str, &str); 14] = [
    ("net.ipv4.tcp_recovery", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_fack", "0"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_reordering", "3"),
    ("net.ipv4.tcp_pacing_ss_ratio", "200"),
    ("net.ipv4.tcp_pacing_ca_ratio", "120"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_ecn_option", "0"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_autocorking", "1"),
];
/// Socket options that change nothing here.
const IDLE: [&str; 7] = [
    "SO_REUSEADDR",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "IP_MTU_DISCOVER",
    "IP_TOS",
    "O_NONBLOCK",
    "TCP_QUICKACK",
];

/// Whether a statement is one that only the kernel's scripts have.
pub fn is_kernel(statement: &str) -> bool {
    statement.starts_with('`') || statement.contains("socket(")
}

/// From here on the script counts as one of the kernel's.
pub fn begin(options: &mut Options) {
    if options.kernel.is_none() {
        options.kernel = Some(Kernel::default());
        options.tso = true;
        options.cca = "cubic".to_string();
    }
}

/// The settings of a script for which [`begin`] was called.
pub fn of(options: &mut Options) -> &mut Kernel {
    options.kernel.as_mut().expect("begun")
}

/// A shell command.
pub fn command(text: &str, options: &mut Options) -> Parsed<()> {
    let joined = text.replace("\\\n", " ");
    for line in joined.split(['\n', ';']) {
        let line = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            [first, ..] if first.ends_with("defaults.sh") => defaults(options),
            [first, ..] if first.contains("sysctl_restore") => {}
            ["sysctl", ref rest @ ..] => settings(rest, options)?,
            [first, ref rest @ ..] if first.ends_with("set_sysctls.py") => settings(rest, options)?,
            ["tc", "qdisc", _, "dev", "tun0", "root", "fq"] => options.fq = true,
            ["tc", "qdisc", _, "dev", "tun0", "root", "pfifo"] => options.fq = false,
            ["echo", value, ">", path] => parameter(path, value, options)?,
            _ => return Err(format!("no counterpart of the command `{line}`")),
        }
    }
    Ok(())
}

/// What google's and the kernel's `defaults.sh` set, as far as the model has it.
fn defaults(options: &mut Options) {
    options.fq = false;
    let kernel = of(options);
    (kernel.slow_start_after_idle, kernel.ecn) = (false, 0);
}

fn settings(words: &[&str], options: &mut Options) -> Parsed<()> {
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        let (key, value) =
            word.split_once('=').ok_or_else(|| format!("no counterpart of `{word}`"))?;
        let key = key.trim_start_matches("/proc/sys/").replace('/', ".");
        setting(&key, value.trim_matches(['"', '\'']), options)?;
    }
    Ok(())
}

fn setting(key: &str, value: &str, options: &mut Options) -> Parsed<()> {
    if FIXED.contains(&(key, value)) {
        return Ok(());
    }
    let wrong = || format!("no counterpart of {key}={value}");
    let number: u32 = value.parse().unwrap_or(u32::MAX);
    let kernel = of(options);
    match (key, number) {
        ("net.ipv4.tcp_slow_start_after_idle", 0 | 1) => kernel.slow_start_after_idle = number == 1,
        ("net.ipv4.tcp_early_retrans", 0 | 3 | 4) => kernel.loss_probes = number != 0,
        ("net.ipv4.tcp_min_tso_segs", 1..=64) => kernel.min_tso_segs = number,
        ("net.ipv4.tcp_tso_win_divisor", 1..=1000) => kernel.tso_win_divisor = number,
        ("net.ipv4.tcp_ecn", 0..=3) => kernel.ecn = number.into(),
        ("net.ipv4.tcp_congestion_control", _) if cca::Module::find(value).is_some() => {
            options.cca = value.to_string();
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

/// A parameter of a module.
fn parameter(path: &str, value: &str, options: &mut Options) -> Parsed<()> {
    let name = path.strip_prefix("/sys/module/tcp_cubic/parameters/");
    match (name, value.parse()) {
        (Some(name), Ok(value)) => {
            of(options).params.insert(name.to_string(), value);
            Ok(())
        }
        _ => Err(format!("no counterpart of {path}")),
    }
}

/// `name(arguments) = result`; `None` for a call that does nothing here.
pub fn call(text: &str, options: &mut Options) -> Parsed<Option<What>> {
    let wrong = || format!("no counterpart of `{text}`");
    let (name, rest) = text.split_once('(').ok_or_else(wrong)?;
    if !CALLS.contains(&name) {
        return Err(wrong());
    }
    let (arguments, result) = rest.rsplit_once(") =").ok_or_else(wrong)?;
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    match (name, &arguments[..]) {
        ("socket" | "bind" | "listen" | "accept", _) => Ok(None),
        ("fcntl", [_, "F_GETFL" | "F_SETFL", ..]) => Ok(None),
        ("connect", _) => Ok(Some(What::Connect)),
        ("close", _) => Ok(Some(What::Close)),
        ("write", [_, _, bytes]) | ("send", [_, _, bytes, "0"]) if *bytes == result.trim() => {
            let bytes = bytes.parse().map_err(|_| wrong())?;
            Ok(Some(What::Write(bytes)))
        }
        ("setsockopt", [_, _, "TCP_NODELAY", "[1]", _]) => {
            of(options).nodelay = true;
            Ok(None)
        }
        ("setsockopt", [_, _, option, ..]) if IDLE.contains(option) => Ok(None),
        _ => Err(wrong()),
    }
}

/// Reads the segment size and the window scale off the first SYN that arrives.
pub fn finish(script: &mut Script) -> Result<(), (usize, String)> {
    if script.options.kernel.is_none() {
        return Ok(());
    }
    let syn = script.events.iter().find_map(|event| match &event.what {
        What::Inject(packet) if packet.flags.syn => Some((event.line, packet.clone())),
        _ => None,
    });
    let (line, syn) = syn.ok_or((1, "no SYN arrives".to_string()))?;
    if !syn.has_sack_ok {
        return Err((line, "no counterpart of a connection without SACK".to_string()));
    }
    let timestamps = if syn.ts.is_some() { 12 } else { 0 };
    let kernel = of(&mut script.options);
    kernel.mss = syn.mss.unwrap_or(536).min(1460) - timestamps;
    kernel.scale = syn.scale.unwrap_or(0).min(14);
    Ok(())
}
