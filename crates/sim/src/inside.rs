//! What goes on inside a sender, written down when it changes: the variables of its controller, and what limits it.

use crate::flow::Flow;
use cca::Variable;
use path::plan::Plan;
use record::{LimitRow, RecordError, TableWriter, VariableRow, LIMITS};
use std::path::Path;
use transport::common::LimitedBy;
use units::Time;

/// What was written of a flow last.
struct Seen {
    variables: Vec<Variable>,
    /// Values of its variables; none before the first.
    values: Vec<i64>,
    /// State of its controller.
    state: Option<u32>,
    limit: Option<LimitedBy>,
}

/// See the module documentation.
pub struct Inside {
    variables: Option<TableWriter<VariableRow>>,
    limits: Option<TableWriter<LimitRow>>,
    flows: Vec<Seen>,
    /// Values of the flow at hand.
    values: Vec<i64>,
}

impl Inside {
    /// Creates the tables that the plan asks for, in `out`; none: no such table.
    pub fn create(plan: &Plan, flows: &[Flow], out: &Path) -> Result<Option<Inside>, RecordError> {
        let record = &plan.record;
        if !record.variables && !record.limits {
            return Ok(None);
        }
        let seen = |flow: &Flow| Seen {
            variables: flow.ends.variables(),
            values: Vec::new(),
            state: None,
            limit: None,
        };
        Ok(Some(Inside {
            variables: record.variables.then(|| TableWriter::create(out, true)).transpose()?,
            limits: record.limits.then(|| TableWriter::create(out, true)).transpose()?,
            flows: flows.iter().map(seen).collect(),
            values: Vec::new(),
        }))
    }

    /// The sender has dealt with what came, and has sent what it may.
    pub fn note(&mut self, now: Time, i: usize, flow: &mut Flow) {
        if flow.is_running() && flow.ends.is_established() {
            self.note_variables(now, i, flow);
            self.note_limit(now, i, flow);
        }
    }

    fn note_limit(&mut self, now: Time, i: usize, flow: &mut Flow) {
        let (Some(table), seen) = (&mut self.limits, &mut self.flows[i]) else { return };
        let Some(limit) = flow.ends.limited_by() else { return };
        if seen.limit.replace(limit) != Some(limit) {
            let (limit, _) = LIMITS[limit as usize];
            table.push(&LimitRow { t_ns: now.as_ns() as i64, flow: i as i32, limit });
        }
    }

    /// A new state of the controller is a reason to write all of them.
    fn note_variables(&mut self, now: Time, i: usize, flow: &mut Flow) {
        let (Some(table), seen) = (&mut self.variables, &mut self.flows[i]) else { return };
        self.values.resize(seen.variables.len(), cca::UNSET);
        if seen.variables.is_empty() || !flow.ends.read_variables(&mut self.values) {
            return;
        }
        let state = flow.ends.controller_state();
        let are_all = seen.state != state || seen.values.is_empty();
        if !are_all && seen.values == self.values {
            return;
        }
        seen.state = state;
        for (k, (variable, &value)) in seen.variables.iter().zip(&self.values).enumerate() {
            if are_all || seen.values[k] != value {
                table.push(&row(now, i, variable, value));
            }
        }
        seen.values.clone_from(&self.values);
    }

    /// Closes the tables.
    pub fn finish(self) -> Result<(), RecordError> {
        self.variables.map_or(Ok(()), TableWriter::finish)?;
        self.limits.map_or(Ok(()), TableWriter::finish)
    }
}

fn row(now: Time, i: usize, variable: &Variable, value: i64) -> VariableRow {
    VariableRow {
        t_ns: now.as_ns() as i64,
        flow: i as i32,
        name: variable.name,
        value: (value != cca::UNSET).then_some(value),
        unit: variable.unit,
        word: variable.word(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::LIMITS;

    #[test]
    fn every_limit_has_its_name() {
        let all = [
            (LimitedBy::Recovery, "recovery"),
            (LimitedBy::Application, "application"),
            (LimitedBy::Cwnd, "cwnd"),
            (LimitedBy::SendBuffer, "send_buffer"),
            (LimitedBy::ReceiveWindow, "receive_window"),
            (LimitedBy::Pacing, "pacing"),
            (LimitedBy::HostQueue, "host_queue"),
        ];
        assert_eq!(all.map(|(limit, _)| LIMITS[limit as usize].0), all.map(|(_, name)| name));
    }
}
