//! Which flow or series of probes a frame belongs to, and whether it goes the way of that one's data.

use crate::header::{Ip, Ports};
use crate::hosts::{DATA_PORT, PROBE_PORT, RECEIVERS, SENDERS};
use crate::quinn;
use crate::tun::Direction;
use path::plan::{self, Plan};

/// How frames are assigned to flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// Connections from [`DATA_PORT`] and probes, by the addresses of their hosts; other frames bypass the path.
    ByAddress(Ways),
    /// All frames are one flow.
    OneFlow,
}

/// Which way the data of each flow, and the requests of each series of probes after them, go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Of flows first.
    all: Vec<Direction>,
    flows: u32,
    /// Of each, whether UDP carries it.
    are_udp: Vec<bool>,
    own_receivers: bool,
}

/// What a frame is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Number of the flow, or of the series after all flows.
    pub number: u32,
    /// It goes the way of the flow's data, or of the requests.
    pub goes_there: bool,
}

impl Classifier {
    /// The classifier of a plan's hosts.
    pub fn by_address(plan: &Plan) -> Classifier {
        let flows = plan.flows.iter().map(|flow| flow.direction);
        let all = flows.chain(plan.probes.iter().map(|probe| probe.direction));
        let all = all.map(Direction::from).collect();
        let are_udp = plan.flows.iter().map(quinn::carries);
        let are_udp = are_udp.chain(plan.probes.iter().map(|_| true)).collect();
        let (flows, own_receivers) = (plan.flows.len() as u32, !plan.host.shared_receiver);
        Classifier::ByAddress(Ways { all, flows, are_udp, own_receivers })
    }

    /// What a frame that takes the path is part of; `None` for one that bypasses it.
    #[inline]
    pub fn member(&self, direction: Direction, ip: &Ip, ports: Option<Ports>) -> Option<Member> {
        let Classifier::ByAddress(ways) = self else {
            return Some(Member { number: 0, goes_there: direction == Direction::Forward });
        };
        let ports = ports?;
        let number = addressed(direction, ip);
        let goes_there = *ways.all.get(number as usize)? == direction;
        // The end that sends the data, or the requests, has the known port.
        let port = if goes_there { ports.source } else { ports.destination };
        let wanted = if number < ways.flows { DATA_PORT } else { PROBE_PORT };
        (port == wanted && ports.is_udp == ways.are_udp[number as usize])
            .then_some(Member { number, goes_there })
    }

    /// The flow to one of whose hosts a frame goes that bypasses the path, and whether it comes from the client.
    pub fn bypassing(&self, direction: Direction, ip: &Ip) -> Option<Member> {
        let Classifier::ByAddress(ways) = self else { return None };
        let number = addressed(direction, ip);
        let goes_there = *ways.all.get(number as usize)? == direction;
        (number < ways.flows).then_some(Member { number, goes_there })
    }

    /// Source and destination by which queue disciplines distinguish hosts; numbered as in the simulator.
    #[inline]
    pub fn hosts(&self, ip: &Ip, member: Member) -> (u32, u32) {
        let Classifier::ByAddress(ways) = self else {
            return (ip.source, ip.destination);
        };
        let number = member.number;
        let is_own = ways.own_receivers || number >= ways.flows;
        let (sender, receiver) = (2 * number + 1, if is_own { 2 * number + 2 } else { 0 });
        match member.goes_there {
            true => (sender, receiver),
            false => (receiver, sender),
        }
    }
}

impl From<plan::Direction> for Direction {
    fn from(way: plan::Direction) -> Direction {
        match way {
            plan::Direction::Down => Direction::Forward,
            plan::Direction::Up => Direction::Back,
        }
    }
}

/// The number of the host to which a frame goes; larger than any for other addresses.
#[inline]
fn addressed(direction: Direction, ip: &Ip) -> u32 {
    let first = match direction {
        Direction::Forward => RECEIVERS,
        Direction::Back => SENDERS,
    };
    ip.destination.wrapping_sub(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{answer_up, plan, plan_up, sent, sent_up, CONTROL_PORT};

    const THERE: Member = Member { number: 0, goes_there: true };
    const BACK: Member = Member { number: 0, goes_there: false };

    fn member(classifier: &Classifier, direction: Direction, packet: &[u8]) -> Option<Member> {
        let ip = Ip::parse(packet).expect("an IP packet");
        let ports = ip.tcp(packet).map(|tcp| tcp.ports());
        classifier.member(direction, &ip, ports)
    }

    #[test]
    fn data_of_a_flow_that_goes_up_come_from_the_receivers_hosts() {
        let up = Classifier::by_address(&plan_up(false));
        let down = Classifier::by_address(&plan(""));
        let (forward, back) = (Direction::Forward, Direction::Back);
        let cases = [
            (&down, forward, sent(DATA_PORT, 0, 1, 10), Some(THERE)),
            (&down, back, sent_up(DATA_PORT, 0, 1, 10), None),
            (&up, back, sent_up(DATA_PORT, 0, 1, 10), Some(THERE)),
            (&up, forward, answer_up(DATA_PORT, 0, 1, 0), Some(BACK)),
            (&up, forward, sent(DATA_PORT, 0, 1, 10), None),
            (&up, back, sent_up(CONTROL_PORT, 0, 1, 10), None),
        ];
        for (i, (classifier, direction, packet, wanted)) in cases.into_iter().enumerate() {
            assert_eq!(member(classifier, direction, &packet), wanted, "case {i}");
        }
    }

    #[test]
    fn hosts_have_the_numbers_of_the_simulator() {
        let mut plan = plan("");
        let packet = sent(DATA_PORT, 0, 1, 10);
        let ip = Ip::parse(&packet).expect("an IP packet");
        for (is_shared, receiver) in [(true, 0), (false, 2)] {
            plan.host.shared_receiver = is_shared;
            let classifier = Classifier::by_address(&plan);
            assert_eq!(classifier.hosts(&ip, THERE), (1, receiver));
            assert_eq!(classifier.hosts(&ip, BACK), (receiver, 1));
            // A series of probes has two hosts of its own.
            let probe = Member { number: 1, goes_there: true };
            assert_eq!(classifier.hosts(&ip, probe), (3, 4));
        }
    }
}
