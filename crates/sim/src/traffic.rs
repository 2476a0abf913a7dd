//! What the two ways of a path carry. Where all data go down, each way has packets of its own form; where data go
//! both ways, or there are probes, both carry [`Crossing`]s, which are larger.

use net::crossing::Probe;
use net::{Ack, Crossing, Packet};
use path::route::PathPacket;

/// A packet on the way that it takes.
pub enum Way<D, U> {
    Down(D),
    Up(U),
}

/// What has come to a host.
pub enum Came<'a> {
    Data(&'a Packet),
    Ack(&'a Ack),
    Probe(&'a Probe),
}

impl<'a> From<&'a Crossing> for Came<'a> {
    #[inline]
    fn from(crossing: &'a Crossing) -> Came<'a> {
        match crossing {
            Crossing::Data(packet) => Came::Data(packet),
            Crossing::Ack(ack) => Came::Ack(ack),
            Crossing::Probe(probe) => Came::Probe(probe),
        }
    }
}

/// See the module documentation.
pub trait Traffic {
    /// What goes down.
    type Down: PathPacket;
    /// What goes up.
    type Up: PathPacket;
    /// The links of the way up are recorded.
    const RECORDS_UP: bool;
    /// Data that go down.
    fn data_down(packet: Packet) -> Self::Down;
    /// Data that go up.
    fn data_up(packet: Packet) -> Self::Up;
    /// An acknowledgement of data that go down.
    fn ack_up(ack: Ack) -> Self::Up;
    /// An acknowledgement of data that go up.
    fn ack_down(ack: Ack) -> Self::Down;
    /// A probe that goes up or down.
    fn probe(probe: Probe, goes_up: bool) -> Way<Self::Down, Self::Up>;
    /// What has come down.
    fn came_down(packet: &Self::Down) -> Came<'_>;
    /// What has come up.
    fn came_up(packet: &Self::Up) -> Came<'_>;
}

/// All data go down.
pub struct OneWay;

impl Traffic for OneWay {
    type Down = Packet;
    type Up = Ack;
    const RECORDS_UP: bool = false;

    #[inline(always)]
    fn data_down(packet: Packet) -> Packet {
        packet
    }

    fn data_up(packet: Packet) -> Ack {
        unreachable!("{packet:?} goes up where all data go down")
    }

    #[inline(always)]
    fn ack_up(ack: Ack) -> Ack {
        ack
    }

    fn ack_down(ack: Ack) -> Packet {
        unreachable!("{ack:?} goes down where all data go down")
    }

    fn probe(probe: Probe, _goes_up: bool) -> Way<Packet, Ack> {
        unreachable!("{probe:?} where all that goes down are data")
    }

    #[inline(always)]
    fn came_down(packet: &Packet) -> Came<'_> {
        Came::Data(packet)
    }

    #[inline(always)]
    fn came_up(ack: &Ack) -> Came<'_> {
        Came::Ack(ack)
    }
}

/// Data go both ways.
pub struct TwoWay;

impl Traffic for TwoWay {
    type Down = Crossing;
    type Up = Crossing;
    const RECORDS_UP: bool = true;

    #[inline]
    fn data_down(packet: Packet) -> Crossing {
        Crossing::Data(packet)
    }

    #[inline]
    fn data_up(packet: Packet) -> Crossing {
        Crossing::Data(packet)
    }

    #[inline]
    fn ack_up(ack: Ack) -> Crossing {
        Crossing::Ack(ack)
    }

    #[inline]
    fn ack_down(ack: Ack) -> Crossing {
        Crossing::Ack(ack)
    }

    fn probe(probe: Probe, goes_up: bool) -> Way<Crossing, Crossing> {
        on_way(Crossing::Probe(probe), goes_up)
    }

    #[inline]
    fn came_down(packet: &Crossing) -> Came<'_> {
        packet.into()
    }

    #[inline]
    fn came_up(packet: &Crossing) -> Came<'_> {
        packet.into()
    }
}

#[inline]
fn on_way(packet: Crossing, goes_up: bool) -> Way<Crossing, Crossing> {
    if goes_up {
        Way::Up(packet)
    } else {
        Way::Down(packet)
    }
}
