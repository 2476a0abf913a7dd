//! What happens to a connection in one scenario: writes, the path, and the peer's window. Drawn by set and seed.

use net::rng::Rng;

/// The sets, each with another stress.
pub const SETS: [&str; 9] =
    ["plain", "loss", "blackout", "reorder", "ecn", "odd", "nagle", "window", "zero"];

/// See the module documentation. Times in microseconds since the SYN, sizes in bytes; segments count every transmission.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub rtt: u64,
    pub writes: Vec<(u64, u64)>,
    /// Segments that are lost.
    pub losses: Vec<u32>,
    /// Segments that are late, and by how much.
    pub late: Vec<(u32, u64)>,
    /// Segments that are marked.
    pub marks: Vec<u32>,
    /// Times in which everything is lost.
    pub dark: Vec<(u64, u64)>,
    /// Times in which the peer's window is zero.
    pub closed: Vec<(u64, u64)>,
    /// Segments in order for each acknowledgement.
    pub ack_every: u32,
    pub window: u64,
    pub ecn: bool,
    pub nodelay: bool,
}

impl Scenario {
    /// The scenario of a set and seed.
    pub fn draw(set: &str, seed: u64) -> Scenario {
        let mut rng = Rng::stream(seed, &format!("differential.{set}"));
        let rtt = (20 + rng.below(100)) * 1000 + 500;
        let mut s = Scenario {
            rtt,
            ack_every: 1 + rng.below(2) as u32,
            window: 1 << 20,
            ecn: set == "ecn",
            nodelay: set != "nagle",
            ..Scenario::default()
        };
        s.draw_writes(set, &mut rng);
        let percent = match set {
            "loss" => 30,
            "plain" | "odd" | "nagle" | "reorder" | "ecn" => rng.below(8),
            _ => rng.below(3),
        };
        for segment in 0..200 {
            if rng.below(100) < percent {
                s.losses.push(segment);
            } else if set == "reorder" && rng.below(10) == 0 {
                s.late.push((segment, 2_000 + rng.below(rtt)));
            } else if set == "ecn" && rng.below(12) == 0 {
                s.marks.push(segment);
            }
        }
        match set {
            "blackout" => {
                let from = 2 * rtt + rng.below(3 * rtt);
                s.dark.push((from, from + 200_000 + rng.below(800_000)));
            }
            "window" => s.window = 4_000 + rng.below(26_000),
            "zero" => {
                s.window = 8_000 + rng.below(20_000);
                let from = 2 * rtt + rng.below(3 * rtt);
                s.closed.push((from, from + 100_000 + rng.below(1_500_000)));
            }
            _ => {}
        }
        s
    }

    fn draw_writes(&mut self, set: &str, rng: &mut Rng) {
        let is_odd = matches!(set, "odd" | "nagle" | "window");
        let mut at = self.rtt + 1_000;
        for _ in 0..1 + rng.below(if is_odd { 8 } else { 3 }) {
            let bytes = match is_odd {
                true => 1 + rng.below(9_000),
                false => 1_000 * (1 + rng.below(30)),
            };
            self.writes.push((at, bytes));
            at += rng.below(3) * rng.below(self.rtt);
        }
    }

    /// The same with one thing less, each in turn.
    pub fn simpler(&self) -> Vec<Scenario> {
        let mut out = Vec::new();
        let mut less = |change: &dyn Fn(&mut Scenario)| {
            let mut s = self.clone();
            change(&mut s);
            out.push(s);
        };
        less(&|s| s.losses.truncate(s.losses.len() / 2));
        for i in 0..self.writes.len().saturating_sub(1) {
            less(&|s| {
                s.writes.remove(i + 1);
            });
        }
        for i in 0..self.losses.len().min(12) {
            less(&|s| {
                s.losses.remove(i);
            });
        }
        for i in 0..self.late.len().min(6) {
            less(&|s| {
                s.late.remove(i);
            });
        }
        for i in 0..self.marks.len().min(6) {
            less(&|s| {
                s.marks.remove(i);
            });
        }
        out
    }
}
