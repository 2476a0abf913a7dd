//! What the machine must offer, and facts of the running kernel.

use std::fs::{self, File};
use std::path::Path;

use libbpf_rs::btf::types::{Enum, FuncProto, Ptr, Struct};
use libbpf_rs::btf::Btf;
use libbpf_rs::ReferencesType;
use rustix::fs::{flock, statfs, FlockOperation};
use rustix::mount::{mount, MountFlags};
use rustix::time::{clock_getres, ClockId};

use crate::{netns, Error};

/// Where the kernel's BPF file system is mounted by convention.
const BPFFS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` (include/uapi/linux/magic.h).
const BPFFS_MAGIC: u64 = 0xcafe_4a11;
/// Type information of the running kernel.
const VMLINUX_BTF: &str = "/sys/kernel/btf/vmlinux";
/// Bits of capability sets (include/uapi/linux/capability.h): CAP_NET_ADMIN and CAP_SYS_ADMIN.
const CAPABILITIES: u64 = 1 << 12 | 1 << 21;

/// `uname -r`.
pub(crate) fn release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

fn lacks(what: &str) -> Error {
    Error::Kernel { release: release(), lacks: what.to_owned() }
}

/// May this process load, pin and read controllers?
pub(crate) fn check_permission() -> Result<(), Error> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    if held & CAPABILITIES == CAPABILITIES {
        Ok(())
    } else {
        Err(Error::NotPermitted)
    }
}

/// What of the kernel a program must be fitted to before it is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    /// Jiffies per second.
    pub(crate) hz: u32,
    /// `cong_control(sk, rs)`, as before Linux 6.10.
    pub(crate) has_old_cong_control: bool,
}

impl Kernel {
    /// Asks the running kernel, by its own type information.
    pub(crate) fn probe() -> Result<Self, Error> {
        if !Path::new(VMLINUX_BTF).exists() {
            return Err(lacks(
                "it has no type information (CONFIG_DEBUG_INFO_BTF; /sys/kernel/btf/vmlinux)",
            ));
        }
        let btf = Btf::from_vmlinux().map_err(|e| lacks(&format!("{VMLINUX_BTF}: {e}")))?;
        if btf.type_by_name::<Struct<'_>>("bpf_struct_ops_tcp_congestion_ops").is_none() {
            return Err(lacks(
                "it has no struct_ops for tcp_congestion_ops (CONFIG_BPF_JIT; Linux 5.6)",
            ));
        }
        let attach = btf.type_by_name::<Enum<'_>>("bpf_attach_type");
        let has_link = attach.is_some_and(|attach| {
            attach.iter().any(|member| member.name.is_some_and(|name| name == "BPF_STRUCT_OPS"))
        });
        if !has_link {
            return Err(lacks("it has no links for struct_ops; wanted Linux 6.4 or newer"));
        }
        let has_old_cong_control = match cong_control_arguments(&btf) {
            Some(2) => true,
            Some(4) => false,
            Some(n) => {
                return Err(lacks(&format!(
                    "its cong_control() takes {n} arguments, wanted 2 or 4"
                )))
            }
            None => return Err(lacks("its tcp_congestion_ops has no cong_control()")),
        };
        Ok(Self { hz: ticks_per_second(), has_old_cong_control })
    }
}

/// Arguments of `tcp_congestion_ops.cong_control`.
fn cong_control_arguments(btf: &Btf<'_>) -> Option<usize> {
    let ops = btf.type_by_name::<Struct<'_>>("tcp_congestion_ops")?;
    let hook = ops.iter().find(|member| member.name.is_some_and(|name| name == "cong_control"))?;
    let pointer = btf.type_by_id::<Ptr<'_>>(hook.ty)?;
    FuncProto::try_from(pointer.referenced_type()).ok().map(|function| function.iter().len())
}

/// Jiffies per second: the coarse clock advances with them, and says by how much.
fn ticks_per_second() -> u32 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let tick_ns = u32::try_from(tick.tv_nsec).unwrap_or(u32::MAX).max(1);
    (1_000_000_000 + tick_ns / 2) / tick_ns
}

/// Makes sure that there is a place for pins.
///
/// Where nobody has mounted the BPF file system, this does, as `bpftool` does and systemd would have. `ip netns exec`
/// hides what is mounted there, and a mount of our own would vanish with the process, so there it is an error.
pub(crate) fn ensure_bpffs() -> Result<(), Error> {
    if has_bpffs()? {
        return Ok(());
    }
    let mounted = mount("bpf", BPFFS, "bpf", MountFlags::empty(), None);
    mounted.map_err(|error| {
        let error = std::io::Error::from(error);
        Error::Bpffs(format!("cannot mount the BPF file system at {BPFFS}: {error}"))
    })
}

/// Is the BPF file system mounted? `ip netns exec` hides it, so that whether there are pins cannot be known there: an
/// error.
pub(crate) fn has_bpffs() -> Result<bool, Error> {
    if is_bpffs() {
        return Ok(true);
    }
    match netns::own_name() {
        None => Ok(false),
        Some(netns) => Err(Error::Bpffs(format!(
            "no BPF file system is at {BPFFS} inside `ip netns exec {netns}`: run this outside of it; \
             a controller is there for all network namespaces"
        ))),
    }
}

/// Is the BPF file system mounted here?
pub(crate) fn is_bpffs() -> bool {
    statfs(BPFFS).is_ok_and(|found| found.f_type as u64 & 0xffff_ffff == BPFFS_MAGIC)
}

/// Held while controllers are loaded, set or unloaded, so that two processes do not do so at once.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for its turn.
    pub(crate) fn take() -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::Bpffs(format!("cannot lock {BPFFS}: {e}"));
        let file = File::open(BPFFS).map_err(failed)?;
        // Closing the file gives the lock back.
        flock(&file, FlockOperation::LockExclusive).map_err(|e| failed(e.into()))?;
        Ok(Self { _file: file })
    }
}

/// Is a congestion controller of this name registered?
pub(crate) fn is_registered(kernel_name: &str) -> bool {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    list.unwrap_or_default().split_whitespace().any(|name| name == kernel_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_one_that_linux_has() {
        let hz = ticks_per_second();
        assert!([100, 250, 300, 1000].contains(&hz), "{hz}");
    }
}
