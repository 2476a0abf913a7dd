//! How real hosts are set and iperf3 is called, for Python's back ends.

use crate::errors::PlanError;
use ::hosts::Ends;
use path::plan::Traffic;
use path::Plan;
use pyo3::prelude::*;

fn parse(plan_json: &str) -> PyResult<Plan> {
    Plan::parse(plan_json).map_err(|e| PlanError::new_err(e.to_string()))
}

/// Kernel parameters of both hosts, as a plan wants them.
#[pyfunction]
pub fn host_sysctls(plan_json: &str) -> PyResult<Vec<(&'static str, String)>> {
    Ok(::hosts::sysctls(&parse(plan_json)?).into())
}

/// Arguments of iperf3 at the sender, for each flow; see the stub.
#[pyfunction]
pub fn iperf3_clients(
    plan_json: &str,
    ends: Vec<(String, String, u16, u16)>,
    ccas: Vec<String>,
) -> PyResult<Vec<Vec<String>>> {
    let plan = parse(plan_json)?;
    let flows = ends.into_iter().zip(&ccas).enumerate().take(plan.flows.len());
    let client = |(i, ((source, target, server_port, data_port), cca)): (usize, (_, &String))| {
        ::hosts::iperf3_client(&plan, i, &Ends { source, target, server_port, data_port }, cca)
    };
    Ok(flows.map(client).collect())
}

/// Payload of a finite flow of iperf3's as its connection carries it, bytes.
#[pyfunction]
pub fn iperf3_bytes(size: u64) -> u64 {
    Traffic::Iperf3.connection_bytes(size)
}

/// Bytes that the sender of a flow writes at a time; see the stub.
#[pyfunction]
#[pyo3(signature = (traffic, size=None))]
pub fn write_bytes(traffic: &str, size: Option<u64>) -> PyResult<u64> {
    let traffic: Traffic = serde_json::from_value(traffic.into())
        .map_err(|e| PlanError::new_err(format!("host.traffic: {e}")))?;
    Ok(traffic.write_bytes(size))
}
