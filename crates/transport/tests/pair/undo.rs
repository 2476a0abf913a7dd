//! What turns out not to have been lost is taken back.

use crate::pair::{Pair, Sent, Setup, Verdict};
use cca::INFINITE_SSTHRESH;
use units::Span;

#[test]
fn eifel_undoes_a_timeout_after_a_delay_spike() {
    let spike = |sent: Sent| match sent.at.as_us() {
        0..=500_000 => Verdict::Delay(Span::from_ms(1000)),
        _ => Verdict::Delay(Span::from_ms(600)),
    };
    let setup = Setup { segments: 40, ..Setup::default() };
    let pair = Pair::new(setup, spike).drive(20);
    let stats = pair.sender.stats();
    assert!(stats.rtos >= 1 && stats.undos >= 1, "{stats:?}");
    assert_eq!(pair.sender.sk.snd_ssthresh, INFINITE_SSTHRESH);
    assert!(pair.sender.sk.snd_cwnd >= 10);
}

#[test]
fn eifel_undoes_a_recovery_that_reordering_caused() {
    // Segment 20 is overtaken by a few ms, more than the three segments that RACK tolerates at first.
    let late = |sent: Sent| match (sent.seq, sent.copy) {
        (20, 0) => Verdict::Delay(Span::from_ms(20)),
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, late).drive_for(Span::from_ms(1500));
    let stats = pair.sender.stats();
    assert_eq!((stats.recoveries, stats.undos, stats.rtos), (1, 1, 0));
    assert_eq!(pair.sender.sk.snd_ssthresh, INFINITE_SSTHRESH);
    assert!(pair.sender.sk.reordering > 3);
}

#[test]
fn dsack_undoes_a_recovery_when_the_original_arrives_after_all() {
    // The original comes after its retransmission, so that the echoed timestamp tells nothing.
    let late = |sent: Sent| match (sent.seq, sent.copy) {
        (20, 0) => Verdict::Delay(Span::from_ms(180)),
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, late).drive_for(Span::from_ms(1500));
    let stats = pair.sender.stats();
    assert_eq!((stats.recoveries, stats.undos, stats.retrans_segs), (1, 1, 1));
    assert!(pair.acks.iter().any(|(_, ack)| ack.is_dsack));
    assert_eq!(pair.sender.sk.snd_ssthresh, INFINITE_SSTHRESH);
}

#[test]
fn frto_undoes_a_timeout_when_an_original_is_sacked_after_it() {
    // The first window is late, and its first segment lost: the SACKs of the others come after the timeout
    // at 608 ms and before the ACK of its retransmission. They do not move snd_una, so no timestamp helps.
    let late = |sent: Sent| match (sent.seq, sent.copy) {
        (0, 0) => Verdict::Drop,
        (1..=9, 0) => Verdict::Delay(Span::from_ms(470)),
        (10, 0) => Verdict::Delay(Span::from_ms(286)),
        _ => Verdict::Deliver,
    };
    let setup = Setup { segments: u32::MAX, ..Setup::default() };
    let pair = Pair::new(setup, late).drive_for(Span::from_ms(1200));
    let stats = pair.sender.stats();
    assert_eq!((stats.rtos, stats.undos), (1, 1), "{stats:?}");
    assert_eq!(pair.sent_ms(1).len(), 1, "nothing but the first segment was sent again");
    assert_eq!(pair.sender.sk.snd_ssthresh, INFINITE_SSTHRESH);
}

#[test]
fn a_real_loss_is_never_undone() {
    for seq in 1..40 {
        let lost = |sent: Sent| match (sent.seq == seq, sent.copy) {
            (true, 0) => Verdict::Drop,
            _ => Verdict::Deliver,
        };
        let pair = Pair::new(Setup { segments: 60, ..Setup::default() }, lost).drive(10);
        let stats = pair.sender.stats();
        assert_eq!((stats.undos, stats.retrans_segs), (0, 1), "segment {seq}");
    }
}
