//! What `tc` derives from RED's settings (tc/tc_red.c of iproute2), and the moving average of the
//! queue (include/net/red.h). `tc` computes logarithms and powers in floating point; here they are
//! integers, so that every machine derives the same.

use super::{Config, Invalid};
use units::{Rate, Span};

/// How the queue is averaged. Averages and thresholds are bytes times 2^`log`.
#[derive(Clone, Debug)]
pub(super) struct Average {
    /// The newest queue length has the weight 2^-`log` (`Wlog`).
    pub log: u32,
    /// Idle time is counted in cells of 2^`cell_log` us (`Scell_log`).
    cell_log: u32,
    /// By how many bits this many idle cells shift the average (`Stab`).
    decay: [u8; 256],
}

impl Average {
    /// From `burst` packets of `avpkt` bytes that are let through above `min`.
    pub fn derive(config: &Config, min: u64, burst: u64) -> Result<Average, Invalid> {
        let avpkt = config.avpkt.get();
        let log = weight_log(min, burst, avpkt)?;
        let (cell_log, decay) = idle_decay(log, avpkt, config.bandwidth)?;
        Ok(Average { log, cell_log, decay })
    }

    /// A packet came while the link was busy.
    pub fn blend(&self, average: u64, backlog: u64) -> u64 {
        average + backlog - (average >> self.log)
    }

    /// A packet came after the link had been idle (`red_calc_qavg_from_idle_time`): a table for many
    /// cells, a straight line for few, by half at most.
    pub fn decay(&self, average: u64, idle: Span) -> u64 {
        let us = idle.as_us().min(255 << self.cell_log);
        let shift = self.decay[(us >> self.cell_log) as usize];
        if shift > 0 {
            return average >> shift;
        }
        let (lost, half) = ((average * us) >> self.cell_log, average >> 1);
        if lost < half {
            average - lost
        } else {
            half
        }
    }
}

/// 2^63 is 1.
const ONE: u128 = 1 << 63;

/// The minimum w at which a burst is let through: burst + 1 - min/avpkt is at most
/// (1 - (1 - W)^burst) / W with W = 2^-w (`tc_red_eval_ewma`). All are below 2^32, so products stay
/// below 2^127.
fn weight_log(min: u64, burst: u64, avpkt: u64) -> Result<u32, Invalid> {
    let wanted = (burst + 1) * avpkt;
    if wanted < min + avpkt {
        return Err(Invalid::BurstTooSmall { burst, minimum: 1 + min / avpkt });
    }
    let wanted = u128::from(wanted - min) * ONE;
    (1..32)
        .find(|&w| wanted <= (u128::from(avpkt) * (ONE - power(ONE - (ONE >> w), burst))) << w)
        .ok_or(Invalid::BurstTooLarge { burst })
}

/// `base` to the `exponent`, by squaring.
fn power(mut base: u128, mut exponent: u64) -> u128 {
    let mut product = ONE;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = (product * base) >> 63;
        }
        base = (base * base) >> 63;
        exponent >>= 1;
    }
    product
}

/// Cells and the table for idle time (`tc_red_eval_idle_damping`): i cells shift by
/// -ln(1 - W) i 2^cell_log / t, where t is the time that an average packet takes. `tc` counts t in
/// ticks of 64 ns, but the kernel its cells in microseconds, so idle queues are forgotten 15.6 times
/// slower than that formula says; so they are here.
fn idle_decay(log: u32, avpkt: u64, bandwidth: Rate) -> Result<(u32, [u8; 256]), Invalid> {
    let us = avpkt * 1_000_000 / (bandwidth.as_bps() / 8).max(1);
    let ticks = u128::from(us * 125 / 8).max(1);
    // -ln(1 - 2^-log) = sum of 2^(-log k) / k.
    let ln: u128 = (1..=63 / log).map(|k| (ONE >> (log * k)) / u128::from(k)).sum();
    let cell_log = (0..32)
        .find(|&cell_log| 31 * ticks * ONE < (512 << cell_log) * ln)
        .ok_or(Invalid::BandwidthTooSmall)?;
    let mut decay = [31; 256];
    for (i, shift) in decay.iter_mut().enumerate().take(255) {
        *shift = (((i as u128) << cell_log) * ln / ticks / ONE).min(31) as u8;
    }
    Ok((cell_log, decay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    /// 5000 and 15000 bytes, bursts of 8 packets of 1000 bytes, 10 Mbit/s.
    fn average() -> Average {
        Average::derive(&Config::new(Bytes::new(60_000)), 5000, 8).expect("tc accepts it")
    }

    #[test]
    fn weight_and_decay_are_those_of_tc() {
        let average = average();
        // 8 + 1 - 5 = 4 is above (1 - 0.75^8) / 0.25 = 3.60, not above (1 - 0.875^8) 8 = 5.25.
        assert_eq!(average.log, 3);
        // 800 us are 12500 ticks; 0.1335314 / 12500 = 1.06825e-5 a tick; 31 of these inverses are
        // 2.902e6, below 512 cells of 2^13 at first.
        assert_eq!(average.cell_log, 13);
        // 0.0875111 bits a cell.
        assert_eq!(average.decay[..12], [0; 12]);
        assert_eq!((average.decay[12], average.decay[22], average.decay[23]), (1, 1, 2));
        assert_eq!((average.decay[254], average.decay[255]), (22, 31));
    }

    #[test]
    fn the_manuals_example_averages_over_32_packets() {
        // limit 400000 min 30000 max 90000 avpkt 1000 burst 55: 55 + 1 - 30 = 26 is above
        // 16 (1 - (15/16)^55) = 15.54, not above 32 (1 - (31/32)^55) = 26.42.
        assert_eq!(weight_log(30_000, 55, 1000), Ok(5));
        assert_eq!(
            weight_log(30_000, 29, 1000),
            Err(Invalid::BurstTooSmall { burst: 29, minimum: 31 })
        );
        assert!(weight_log(30_000, 30, 1000).is_ok());
    }

    #[test]
    fn idle_time_decays_by_a_line_at_first_and_by_shifts_then() {
        let average = average();
        let after = |us| average.decay(80_000, Span::from_us(us));
        assert_eq!(after(0), 80_000);
        // 80000 * 2048 / 8192 are lost in a quarter cell; from half a cell on, half.
        assert_eq!(after(2048), 60_000);
        assert_eq!(after(4096), 40_000);
        assert_eq!(after(11 * 8192 + 8191), 40_000);
        assert_eq!(after(23 * 8192), 20_000);
        assert_eq!(after(u64::MAX / 1000), 0);
    }
}
