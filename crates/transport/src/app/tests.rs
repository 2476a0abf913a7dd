//! Applications woken by hand, without a transport.

use super::*;

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// What it tells in its first `count` wake-ups.
fn writes(app: &mut App, count: usize) -> Vec<(u64, Option<Write>)> {
    (0..count)
        .map(|_| {
            let at = app.next_write().unwrap_or(Time::NEVER);
            (at.as_us(), app.on_wakeup(at))
        })
        .collect()
}

fn started(workload: Workload) -> App {
    let mut app = App::new(workload, Rng::stream(1, "app"));
    app.start(at_ms(100));
    app
}

#[test]
fn a_paced_source_writes_a_message_each_message_over_rate() {
    let rate = Rate::from_bps(3_000_000);
    let mut app = started(Workload::Paced { rate, message: 1000 });
    let times: Vec<u64> = writes(&mut app, 4).iter().map(|w| w.0).collect();
    // 8000 bits at 3 Mbit/s: 2666.67 us.
    assert_eq!(times, [100_000, 102_666, 105_333, 108_000]);
}

#[test]
fn after_a_greeting_it_waits_for_the_answer() {
    let app = App::new(Workload::Greedy, Rng::stream(1, "app"));
    let mut app = app.with_greeting(37, Span::from_ms(5));
    app.start(at_ms(100));
    assert_eq!(writes(&mut app, 1), [(100_000, Some(Write::Bytes(37)))]);
    app.on_delivered(at_ms(104), 36);
    assert_eq!(app.next_write(), None);
    app.on_delivered(at_ms(105), 37);
    assert_eq!(writes(&mut app, 1), [(110_000, Some(Write::Endless))]);
    assert!(app.messages().is_empty());
}

#[test]
fn an_on_off_source_alternates() {
    let (on, off) = (Length::Fixed(Span::from_ms(30)), Length::Fixed(Span::from_ms(20)));
    let mut app = started(Workload::OnOff { on, off, burst: Burst::Greedy });
    let expected = [
        (100_000, Some(Write::Greedy)),
        (130_000, Some(Write::Pause)),
        (150_000, Some(Write::Greedy)),
        (180_000, Some(Write::Pause)),
    ];
    assert_eq!(writes(&mut app, 4), expected);
}

#[test]
fn an_on_off_source_with_a_rate_writes_during_the_on_times_only() {
    let (on, off) = (Length::Fixed(Span::from_ms(25)), Length::Fixed(Span::from_ms(20)));
    let burst = Burst::Paced { rate: Rate::from_bps(800_000), message: 1000 };
    let mut app = started(Workload::OnOff { on, off, burst });
    let times: Vec<u64> =
        writes(&mut app, 9).iter().filter(|w| w.1.is_some()).map(|w| w.0).collect();
    assert_eq!(times, [100_000, 110_000, 120_000, 145_000, 155_000, 165_000]);
}

#[test]
fn requests_follow_a_think_time_after_the_whole_answer() {
    let think = Length::Fixed(Span::from_ms(5));
    let mut app = started(Workload::RequestResponse { response: 3000, think, count: 2 });
    assert_eq!((app.next_write(), app.next_request()), (None, Some(at_ms(100))));
    app.on_request_sent(at_ms(100));
    app.on_request(at_ms(110));
    assert_eq!(writes(&mut app, 1), [(110_000, Some(Write::Bytes(3000)))]);
    app.on_delivered(at_ms(121), 2999);
    assert_eq!(app.next_request(), None);
    app.on_delivered(at_ms(122), 3000);
    assert_eq!(app.next_request(), Some(at_ms(127)));
    app.on_request_sent(at_ms(127));
    app.on_request(at_ms(137));
    let last = [(137_000, Some(Write::Bytes(3000))), (137_000, Some(Write::Close))];
    assert_eq!(writes(&mut app, 2), last);
    app.on_delivered(at_ms(150), 6000);
    let times: Vec<_> = app.messages().iter().map(Message::completion_time).collect();
    assert_eq!(times, [Some(Span::from_ms(22)), Some(Span::from_ms(23))]);
    assert!(app.is_closed() && app.next_request().is_none());
}
