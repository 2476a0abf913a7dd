//! The end hosts: one network namespace for all senders and one for all receivers, an address for each
//! flow in both, set as the plan says.

use crate::netns::NetNs;
use crate::tun::{Tun, TunPair, NAME};
use crate::EmuError;
use path::plan::{Host, HostQdisc, Plan};
use std::collections::BTreeMap;

/// Local port of the connections that are measured; others between the hosts (iperf3's control
/// connection) bypass the path.
pub const DATA_PORT: u16 = 50_000;
/// First addresses of senders and receivers: 10.1.0.1 and 10.2.0.1.
pub const SENDERS: u32 = 0x0a01_0001;
pub const RECEIVERS: u32 = 0x0a02_0001;

/// Two hosts with nothing between them yet.
#[derive(Debug)]
pub struct Hosts {
    pub senders: NetNs,
    pub receivers: NetNs,
    /// Kernel parameters that were set, and their values.
    pub sysctls: BTreeMap<String, String>,
    /// Where these hosts differ from the plan.
    pub warnings: Vec<String>,
}

impl Hosts {
    /// The hosts of a plan, and their devices.
    ///
    /// # Errors
    /// When the process may not make them.
    pub fn new(plan: &Plan) -> Result<(Hosts, TunPair), EmuError> {
        let (senders, receivers) = (NetNs::new()?, NetNs::new()?);
        let devices = TunPair { senders: Tun::new(&senders)?, receivers: Tun::new(&receivers)? };
        let mut hosts =
            Hosts { senders, receivers, sysctls: BTreeMap::new(), warnings: Vec::new() };
        hosts.set_sysctls(plan)?;
        hosts.set_routes(&plan.host)?;
        hosts.set_device(&plan.host)?;
        Ok((hosts, devices))
    }

    fn set_sysctls(&mut self, plan: &Plan) -> Result<(), EmuError> {
        let own = [
            ("net.ipv4.conf.all.rp_filter", "0".into()),
            // The kernel drops what a socket holds after its process has ended at the second timeout instead of the
            // ninth, minutes later: until then it keeps its namespace, and its memory from other runs (tcp_mem).
            ("net.ipv4.tcp_orphan_retries", "1".into()),
            ("net.ipv6.conf.all.disable_ipv6", "1".into()),
        ];
        let values = ::hosts::sysctls(plan).into_iter().chain(own);
        for (name, value) in values {
            for netns in [&self.senders, &self.receivers] {
                let is_optional = name.starts_with("net.ipv6") && netns.read(name).is_none();
                if !is_optional {
                    netns.set(name, &value)?;
                }
            }
            self.sysctls.insert(name.into(), value);
        }
        Ok(())
    }

    /// Each host owns every address of its network.
    fn set_routes(&self, host: &Host) -> Result<(), EmuError> {
        let routes = [
            (&self.senders, "10.1.0.0/16", "10.1.0.1", "10.2.0.0/16"),
            (&self.receivers, "10.2.0.0/16", "10.2.0.1", "10.1.0.0/16"),
        ];
        for (netns, own, first, others) in routes {
            netns.run("ip", &["address", "add", &format!("{first}/32"), "dev", NAME])?;
            netns.run("ip", &["route", "add", "local", own, "dev", "lo"])?;
            let mut route = vec!["route", "add", others, "dev", NAME, "src", first];
            if !host.delayed_ack {
                route.extend(["quickack", "1"]);
            }
            netns.run("ip", &route)?;
        }
        Ok(())
    }

    /// The senders' device: queue discipline and size of bursts.
    fn set_device(&mut self, host: &Host) -> Result<(), EmuError> {
        let (senders, warnings) = (&self.senders, &mut self.warnings);
        let replace = |kind: &str, more: &[&str]| {
            let all = [&["qdisc", "replace", "dev", NAME, "root", kind], more].concat();
            senders.run("tc", &all)
        };
        let is_fq = host.qdisc == HostQdisc::Fq;
        if is_fq && replace("fq", &["limit", "1000000", "flow_limit", "100000"]).is_err() {
            warnings.push(
                "host.qdisc: this kernel has no fq, senders are paced by TCP's own timer (pfifo)"
                    .into(),
            );
        }
        if !is_fq && replace("pfifo", &["limit", "100000"]).is_err() {
            warnings
                .push("host.qdisc: this kernel has no pfifo, its default is used instead".into());
        }
        if !host.tso {
            senders.run("ip", &["link", "set", NAME, "gso_max_segs", "1"])?;
        }
        if !host.shared_processor {
            warnings.push(
                "host.processors: the hosts have those of this machine, whichever is free".into(),
            );
        }
        if host.gro {
            warnings
                .push("host.gro: receivers of the emulated path see segments one by one".into());
        }
        Ok(())
    }

    /// Controllers that sockets of the senders may ask for.
    pub fn controllers(&self) -> Vec<String> {
        let names = self.senders.read("net.ipv4.tcp_available_congestion_control");
        names.unwrap_or_default().split_whitespace().map(String::from).collect()
    }
}
