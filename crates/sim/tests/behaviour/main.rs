//! Behaviours that the papers, the IETF draft's appendix and Google's own tests name, over whole paths.
//!
//! Each test says where its bounds come from. What a controller does not do is in
//! `docs/cca/findings.md`; what needs a sender of its own (application-limited, idle) is in
//! `crates/cca/tests/claims.rs`.

#[allow(dead_code, reason = "shared with the tests of the engine, which use all of it")]
#[path = "../engine/plans.rs"]
mod plans;
#[allow(dead_code, reason = "shared with the tests of the engine, which use all of it")]
#[path = "../engine/run.rs"]
mod run;

mod bbr2plus;
mod capacity;
mod cycle;
mod families;
mod loss;
mod path;
mod policer;
mod probe_rtt;
mod startup;
