//! What a Python controller is told: the socket and the delivery-rate sample, under plain names and units.

use cca::{RateSample, TcpSock};
use pyo3::prelude::*;
use record::CA_STATES;

/// One ACK (or loss, or timeout) as a controller sees it; see the stub for each field.
#[pyclass(frozen, module = "dumbbell._native")]
pub struct Sample {
    #[pyo3(get)]
    now_us: u64,
    #[pyo3(get)]
    cwnd: u32,
    #[pyo3(get)]
    in_flight: u32,
    #[pyo3(get)]
    prior_in_flight: u32,
    #[pyo3(get)]
    acked: u32,
    #[pyo3(get)]
    lost: u32,
    #[pyo3(get)]
    rtt_us: Option<u64>,
    #[pyo3(get)]
    min_rtt_us: Option<u32>,
    #[pyo3(get)]
    srtt_us: Option<u32>,
    #[pyo3(get)]
    delivered: Option<u32>,
    #[pyo3(get)]
    interval_us: Option<u64>,
    #[pyo3(get)]
    delivered_total: u32,
    #[pyo3(get)]
    delivered_at_send: u32,
    #[pyo3(get)]
    lost_total: u32,
    #[pyo3(get)]
    ce_total: u32,
    #[pyo3(get)]
    sent_in_flight: u32,
    #[pyo3(get)]
    lost_since_sent: u32,
    #[pyo3(get)]
    is_app_limited: bool,
    #[pyo3(get)]
    is_ece: bool,
    #[pyo3(get)]
    mss: u32,
    pacing_rate: u64,
    state: u8,
}

#[pymethods]
impl Sample {
    /// Payload bits per second; None when the ACK gives no valid sample.
    #[getter]
    fn delivery_rate(&self) -> Option<u64> {
        let (segments, time) = (self.delivered?, self.interval_us?);
        Some(u64::from(segments) * u64::from(self.mss) * 8_000_000 / time)
    }

    /// Payload bits per second in force; None when not paced.
    #[getter]
    fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate != cca::UNLIMITED_RATE).then(|| self.pacing_rate.saturating_mul(8))
    }

    /// State of loss recovery.
    #[getter]
    fn state(&self) -> &'static str {
        CA_STATES.get(usize::from(self.state)).copied().unwrap_or("?")
    }

    fn __repr__(&self) -> String {
        format!(
            "Sample(now_us={}, cwnd={}, in_flight={}, acked={}, lost={}, state={:?})",
            self.now_us,
            self.cwnd,
            self.in_flight,
            self.acked,
            self.lost,
            self.state()
        )
    }
}

impl Sample {
    /// The socket when the connection opens, with the RTT of the handshake.
    pub fn of_handshake(sk: &TcpSock) -> Self {
        let sample = Self::new(sk, None);
        Self { rtt_us: sample.srtt_us.map(u64::from), ..sample }
    }

    /// The socket now, with the sample of an ACK if there is one.
    pub fn new(sk: &TcpSock, rs: Option<&RateSample>) -> Self {
        let none =
            RateSample { delivered: -1, interval_us: -1, rtt_us: -1, ..RateSample::default() };
        let rs = rs.unwrap_or(&none);
        let is_valid = rs.delivered >= 0 && rs.interval_us > 0;
        Self {
            now_us: sk.tcp_mstamp,
            cwnd: sk.snd_cwnd,
            in_flight: sk.packets_in_flight(),
            prior_in_flight: rs.prior_in_flight,
            acked: rs.acked_sacked,
            lost: u32::try_from(rs.losses).unwrap_or(0),
            rtt_us: u64::try_from(rs.rtt_us).ok(),
            min_rtt_us: Some(sk.rtt_min.value()).filter(|&rtt| rtt != u32::MAX),
            srtt_us: Some(sk.srtt_us >> 3).filter(|&rtt| rtt > 0),
            delivered: is_valid.then_some(rs.delivered as u32),
            interval_us: is_valid.then_some(rs.interval_us as u64),
            delivered_total: sk.delivered,
            delivered_at_send: rs.prior_delivered,
            lost_total: sk.lost,
            ce_total: sk.delivered_ce,
            sent_in_flight: rs.tx_in_flight,
            lost_since_sent: rs.lost,
            is_app_limited: rs.is_app_limited,
            is_ece: rs.is_ece,
            mss: sk.mss_cache,
            pacing_rate: sk.sk_pacing_rate,
            state: sk.icsk_ca_state,
        }
    }
}
