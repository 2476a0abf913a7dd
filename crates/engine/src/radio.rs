//! Synthetic radio links: `net::generate` with words and plain numbers.

use net::generate::path::{self, Kind};
use net::generate::{self, Config, Mobility, Radio};
use units::{Rate, Span, Time};

/// Mean capacity that the generator takes, bit/s.
const MEAN_BPS: std::ops::RangeInclusive<u64> = 100_000..=10_000_000_000;
/// Length that it takes, ms.
const LENGTH_MS: std::ops::RangeInclusive<u64> = 1_000..=86_400_000;

fn config(
    radio: &str,
    mobility: &str,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
) -> Result<Config, String> {
    let radio = match radio {
        "lte" => Radio::Lte,
        "wifi" => Radio::Wifi,
        other => return Err(format!("radio must be lte or wifi, got {other}")),
    };
    let mobility = mobility_of(mobility)?;
    check_size(mean_bps, length_ms)?;
    let (mean, length) = (Rate::from_bps(mean_bps), Span::from_ms(length_ms));
    Ok(Config { radio, mobility, mean, length, seed })
}

fn mobility_of(word: &str) -> Result<Mobility, String> {
    match word {
        "stationary" => Ok(Mobility::Stationary),
        "mobile" => Ok(Mobility::High),
        other => {
            let text = format!("mobility must be stationary or mobile, got {other}");
            Err(text)
        }
    }
}

fn check_size(mean_bps: u64, length_ms: u64) -> Result<(), String> {
    if !MEAN_BPS.contains(&mean_bps) || !LENGTH_MS.contains(&length_ms) {
        let text = format!(
            "mean must be 100 kbit/s to 10 Gbit/s and length 1 s to 24 h, got {mean_bps} bit/s and {length_ms} ms"
        );
        return Err(text);
    }
    Ok(())
}

/// Rate, RTT and loss in steps of 20 ms.
///
/// # Errors
/// For other words and sizes.
pub fn path_course(
    kind: &str,
    mobility: &str,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
) -> Result<Vec<(u64, u64, u64)>, String> {
    let mobility = mobility_of(mobility)?;
    let kind = match kind {
        "leo" => Kind::Leo,
        "5g" => Kind::FiveG(mobility),
        other => return Err(format!("kind must be leo or 5g, got {other}")),
    };
    check_size(mean_bps, length_ms)?;
    let (mean, length) = (Rate::from_bps(mean_bps), Span::from_ms(length_ms));
    let points = path::course(&path::Config { kind, mean, length, seed });
    Ok(points.iter().map(|p| (p.rate_bps, p.rtt.as_ns(), p.loss_ppb)).collect())
}

/// Capacity in steps of 20 ms.
///
/// # Errors
/// For other words and sizes.
pub fn radio_course(
    radio: &str,
    mobility: &str,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
) -> Result<Vec<(u64, u64)>, String> {
    let config = config(radio, mobility, mean_bps, length_ms, seed)?;
    let course = generate::course(&config);
    let (mut steps, mut at) = (Vec::new(), Time::ZERO);
    let end = Time::ZERO + config.length;
    while at < end {
        let (rate, until) = course.at(at);
        steps.push(((at.since(Time::ZERO)).as_ns(), rate.as_bps()));
        at = until;
    }
    Ok(steps)
}

/// The text of a Mahimahi trace.
///
/// # Errors
/// For other words and sizes.
pub fn radio_trace(
    radio: &str,
    mobility: &str,
    mean_bps: u64,
    length_ms: u64,
    seed: u64,
) -> Result<String, String> {
    let trace = generate::trace(&config(radio, mobility, mean_bps, length_ms, seed)?);
    let mut text = Vec::new();
    trace.write(&mut text).map_err(|e| e.to_string())?;
    String::from_utf8(text).map_err(|e| e.to_string())
}
