//! The end hosts: one network namespace for all senders and one for all receivers, an address for each
//! flow in both, set as the plan says.

use crate::netns::NetNs;
use crate::tun::{Tun, TunPair, NAME};
use crate::EmuError;
use path::plan::{Flow, Host, HostQdisc, Plan, Transport};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;

/// Local port of the connections that are measured; others between the hosts (iperf3's control
/// connection) bypass the path.
pub const DATA_PORT: u16 = 50_000;
/// Port of probes, at both ends.
pub const PROBE_PORT: u16 = 50_001;
/// First addresses of senders and receivers: 10.1.0.1 and 10.2.0.1.
pub const SENDERS: u32 = 0x0a01_0001;
pub const RECEIVERS: u32 = 0x0a02_0001;

const ECN: &str = "net.ipv4.tcp_ecn";

/// This kernel does not know the number of accurate ECN (3).
fn no_accurate_ecn() -> EmuError {
    EmuError::Unsupported {
        key: "host.ecn".into(),
        got: "accurate".into(),
        wanted: "classic or false: this kernel's TCP has no accurate ECN".into(),
    }
}

/// Where a flow begins or ends.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    pub netns: &'a NetNs,
    pub address: Ipv4Addr,
}

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
        hosts.set_device(plan)?;
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
                if is_optional {
                    continue;
                }
                match netns.set(name, &value) {
                    Err(EmuError::System { source, .. })
                        if name == ECN && source.kind() == io::ErrorKind::InvalidInput =>
                    {
                        return Err(no_accurate_ecn())
                    }
                    done => done?,
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

    /// The devices of those that send data: queue discipline and size of bursts.
    fn set_device(&mut self, plan: &Plan) -> Result<(), EmuError> {
        let (host, is_two_way) = (&plan.host, plan.flows.iter().any(Flow::is_up));
        let has_tcp = plan.flows.iter().any(|flow| matches!(flow.transport, Transport::Tcp));
        let mut senders = vec![&self.senders];
        senders.extend(is_two_way.then_some(&self.receivers));
        let warnings = &mut self.warnings;
        let replace = |kind: &str, more: &[&str]| {
            let all = [&["qdisc", "replace", "dev", NAME, "root", kind], more].concat();
            senders.iter().try_for_each(|netns| netns.run("tc", &all).map(|_| ()))
        };
        let is_fq = host.qdisc == HostQdisc::Fq;
        let fq = ["limit", "1000000", "flow_limit", "100000"];
        // Ends of quinn pace by themselves.
        if is_fq && replace("fq", &fq).is_err() && has_tcp {
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
            let one = ["link", "set", NAME, "gso_max_segs", "1"];
            senders.iter().try_for_each(|netns| netns.run("ip", &one).map(|_| ()))?;
        }
        if !host.shared_processor {
            warnings.push(
                "host.processors: the hosts have those of this machine, whichever is free".into(),
            );
        }
        Ok(())
    }

    /// The ends of flow `i`, its sender first.
    pub fn ends(&self, plan: &Plan, i: usize) -> [End<'_>; 2] {
        let at = |netns, first| End { netns, address: Ipv4Addr::from(first + i as u32) };
        let (down, up) = (at(&self.senders, SENDERS), at(&self.receivers, RECEIVERS));
        match plan.flows[i].is_up() {
            false => [down, up],
            true => [up, down],
        }
    }

    /// Controllers that sockets of the senders may ask for.
    pub fn controllers(&self) -> Vec<String> {
        let names = self.senders.read("net.ipv4.tcp_available_congestion_control");
        names.unwrap_or_default().split_whitespace().map(String::from).collect()
    }
}
