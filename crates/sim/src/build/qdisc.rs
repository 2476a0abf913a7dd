//! Queue disciplines of a plan.

use super::link::{wrong, Context};
use crate::plan::{self, PlanError, Qdisc};
use net::qdisc::any::AnyQdisc;
use net::qdisc::fifo::Limit;
use net::qdisc::{cake, codel, dualpi2, fq, fq_codel, pie, red};
use net::rng::Rng;
use net::Frame;
use units::{Bytes, Rate, Span};

/// Share of everything, parts of 10^9.
const CERTAIN: u64 = 1_000_000_000;

/// The limit of a plain queue.
pub fn limit(bytes: Option<u64>, packets: Option<u64>) -> Limit {
    match (bytes, packets) {
        (Some(bytes), _) => Limit::Bytes(Bytes::new(bytes)),
        (None, Some(packets)) => Limit::Packets(packets),
        (None, None) => unreachable!("Plan::check accepts exactly one limit"),
    }
}

/// The queue discipline of a link.
pub fn qdisc<P: Frame>(plan: &plan::Link, context: &Context) -> Result<AnyQdisc<P>, PlanError> {
    let rng = || Rng::stream(context.seed, &format!("{}.qdisc", context.at));
    Ok(match plan.qdisc {
        Qdisc::Fifo { limit_bytes, limit_packets, head_drop } => {
            let limit = limit(limit_bytes, limit_packets);
            let config = net::qdisc::fifo::Config { limit, head_drop };
            AnyQdisc::Fifo(net::qdisc::fifo::Fifo::new(config))
        }
        Qdisc::Codel { .. } => AnyQdisc::Codel(codel::Codel::new(codel_config(&plan.qdisc))),
        Qdisc::FqCodel { .. } => {
            let perturbation = (rng().next_u64() >> 32) as u32;
            let config = fq_codel_config(&plan.qdisc, perturbation);
            AnyQdisc::FqCodel(Box::new(fq_codel::FqCodel::new(config)))
        }
        Qdisc::Red { .. } => {
            let config = red_config(&plan.qdisc, context.hz);
            let made = red::Red::new(config, rng())
                .map_err(|e| wrong(context, "qdisc", format!("{e:?}"), "thresholds that fit"))?;
            AnyQdisc::Red(Box::new(made))
        }
        Qdisc::Pie { .. } => {
            let config = pie_config(&plan.qdisc, context.hz);
            AnyQdisc::Pie(Box::new(pie::Pie::new(config, rng())))
        }
        Qdisc::Cake { .. } => {
            AnyQdisc::Cake(Box::new(cake::Cake::new(cake_config(&plan.qdisc), rng())))
        }
        Qdisc::DualPi2 { .. } => {
            let config = dualpi2_config(&plan.qdisc);
            AnyQdisc::Dualpi2(Box::new(dualpi2::Dualpi2::new(config, rng())))
        }
        Qdisc::Fq { .. } => {
            AnyQdisc::Fq(Box::new(fq::Fq::new(fq_config(&plan.qdisc, context.hz), rng())))
        }
    })
}

fn codel_config(plan: &Qdisc) -> codel::Config {
    let Qdisc::Codel { limit_packets, target_ns, interval_ns, ecn, ce_threshold_ns } = *plan else {
        unreachable!("matched by the caller")
    };
    codel::Config {
        limit: limit_packets,
        target: Span::from_ns(target_ns),
        interval: Span::from_ns(interval_ns),
        ecn,
        ce_threshold: ce_threshold_ns.map(Span::from_ns),
        ..codel::Config::default()
    }
}

fn fq_codel_config(plan: &Qdisc, perturbation: u32) -> fq_codel::Config {
    let Qdisc::FqCodel {
        limit_packets,
        flows,
        quantum_bytes,
        memory_limit_bytes,
        drop_batch,
        target_ns,
        interval_ns,
        ecn,
        ce_threshold_ns,
        ce_threshold_selector,
        ce_threshold_mask,
    } = *plan
    else {
        unreachable!("matched by the caller")
    };
    fq_codel::Config {
        limit: limit_packets,
        flows,
        quantum: Bytes::new(quantum_bytes),
        memory_limit: Bytes::new(memory_limit_bytes),
        drop_batch,
        target: Span::from_ns(target_ns),
        interval: Span::from_ns(interval_ns),
        ecn,
        ce_threshold: ce_threshold_ns.map(Span::from_ns),
        ce_threshold_selector,
        ce_threshold_mask,
        perturbation,
        ..fq_codel::Config::default()
    }
}

fn red_config(plan: &Qdisc, hz: u32) -> red::Config {
    let Qdisc::Red {
        limit_bytes,
        min_bytes,
        max_bytes,
        avpkt_bytes,
        burst_packets,
        probability_ppb,
        bandwidth_bps,
        ecn,
        harddrop,
        nodrop,
        adaptive,
        gentle,
    } = *plan
    else {
        unreachable!("matched by the caller")
    };
    red::Config {
        min: min_bytes.map(Bytes::new),
        max: max_bytes.map(Bytes::new),
        avpkt: Bytes::new(avpkt_bytes),
        burst: burst_packets,
        probability: (u128::from(probability_ppb) * u128::from(u32::MAX) / u128::from(CERTAIN))
            as u32,
        bandwidth: Rate::from_bps(bandwidth_bps),
        ecn,
        harddrop,
        nodrop,
        adaptive,
        gentle,
        hz,
        ..red::Config::new(Bytes::new(limit_bytes))
    }
}

fn pie_config(plan: &Qdisc, hz: u32) -> pie::Config {
    let Qdisc::Pie {
        limit_packets,
        target_ns,
        tupdate_ns,
        alpha,
        beta,
        ecn,
        ecn_limit_percent,
        bytemode,
        dq_rate_estimator,
    } = *plan
    else {
        unreachable!("matched by the caller")
    };
    pie::Config {
        limit: limit_packets,
        target: Span::from_ns(target_ns),
        tupdate: Span::from_ns(tupdate_ns),
        alpha,
        beta,
        ecn,
        ecn_limit: ecn_limit_percent,
        bytemode,
        dq_rate_estimator,
        hz,
        ..pie::Config::default()
    }
}

fn dualpi2_config(plan: &Qdisc) -> dualpi2::Config {
    let Qdisc::DualPi2 {
        limit_packets,
        target_ns,
        tupdate_ns,
        alpha,
        beta,
        coupling,
        step_ns,
        c_protection_percent,
        drop_overload,
        drop_early,
    } = *plan
    else {
        unreachable!("matched by the caller")
    };
    dualpi2::Config {
        limit: limit_packets,
        target: Span::from_ns(target_ns),
        tupdate: Span::from_ns(tupdate_ns),
        alpha,
        beta,
        coupling,
        step: dualpi2::Step::Sojourn(Span::from_ns(step_ns)),
        c_protection: c_protection_percent,
        drop_overload,
        drop_early,
        ..dualpi2::Config::default()
    }
}

fn fq_config(plan: &Qdisc, hz: u32) -> fq::Config {
    let Qdisc::Fq {
        limit_packets,
        flow_limit_packets,
        quantum_bytes,
        initial_quantum_bytes,
        maxrate_bps,
        low_rate_threshold_bps,
        ce_threshold_ns,
    } = *plan
    else {
        unreachable!("matched by the caller")
    };
    let default = fq::Config::default();
    fq::Config {
        limit: limit_packets,
        flow_limit: flow_limit_packets,
        quantum: quantum_bytes,
        initial_quantum: initial_quantum_bytes,
        maxrate: maxrate_bps.map(Rate::from_bps),
        low_rate_threshold: Rate::from_bps(low_rate_threshold_bps),
        ce_threshold: ce_threshold_ns.map_or(default.ce_threshold, Span::from_ns),
        hz: u64::from(hz),
        ..default
    }
}

fn cake_config(plan: &Qdisc) -> cake::Config {
    let Qdisc::Cake {
        bandwidth_bps,
        rtt_ns,
        diffserv,
        isolation,
        overhead_bytes,
        mpu_bytes,
        framing,
        ack_filter,
        ingress,
        wash,
        memory_limit_bytes,
    } = *plan
    else {
        unreachable!("matched by the caller")
    };
    cake::Config {
        bandwidth: bandwidth_bps.map(Rate::from_bps),
        rtt: Span::from_ns(rtt_ns),
        diffserv: match diffserv {
            plan::Diffserv::Besteffort => cake::Diffserv::BestEffort,
            plan::Diffserv::Precedence => cake::Diffserv::Precedence,
            plan::Diffserv::Diffserv3 => cake::Diffserv::Diffserv3,
            plan::Diffserv::Diffserv4 => cake::Diffserv::Diffserv4,
            plan::Diffserv::Diffserv8 => cake::Diffserv::Diffserv8,
        },
        isolation: match isolation {
            plan::Isolation::Flowblind => cake::Isolation::Flowblind,
            plan::Isolation::Srchost => cake::Isolation::SrcHost,
            plan::Isolation::Dsthost => cake::Isolation::DstHost,
            plan::Isolation::Hosts => cake::Isolation::Hosts,
            plan::Isolation::Flows => cake::Isolation::Flows,
            plan::Isolation::DualSrchost => cake::Isolation::DualSrcHost,
            plan::Isolation::DualDsthost => cake::Isolation::DualDstHost,
            plan::Isolation::TripleIsolate => cake::Isolation::Triple,
        },
        overhead: cake::Overhead {
            from_network_header: overhead_bytes.is_some(),
            bytes: overhead_bytes.unwrap_or(0),
            mpu: mpu_bytes,
            framing: match framing {
                plan::Framing::None => cake::Framing::None,
                plan::Framing::Atm => cake::Framing::Atm,
                plan::Framing::Ptm => cake::Framing::Ptm,
            },
        },
        ack_filter: match ack_filter {
            plan::AckFilter::Off => cake::AckFilter::Off,
            plan::AckFilter::On => cake::AckFilter::Normal,
            plan::AckFilter::Aggressive => cake::AckFilter::Aggressive,
        },
        ingress,
        wash,
        memory_limit: memory_limit_bytes.map(Bytes::new),
        ..cake::Config::default()
    }
}
