//! What can be set of each part of a path: the scenario's keys are generated from it, and tests compare it with them.

use net::delay::{Jitter, SlotConfig};
use net::impair::{FourStateConfig, GilbertElliottConfig, ReorderingConfig, Share, ThinningConfig};
use net::qdisc::{cake, codel, dualpi2, fifo, fq, fq_codel, pie, policer, red};
use net::settings::{Field, Settings, Unit};
use serde::Serialize;
use serde_json::{json, Value};

/// The settings of each part, as a JSON list.
#[must_use]
pub fn parts() -> String {
    let all = [
        described::<fifo::Written>(),
        described::<codel::Config>(),
        described::<fq_codel::Config>(),
        described::<red::Config>(),
        described::<pie::Config>(),
        described::<cake::Config>(),
        described::<dualpi2::Config>(),
        described::<fq::Config>(),
        described::<policer::Config>(),
        described::<Jitter>(),
        described::<SlotConfig>(),
        described::<Share>(),
        described::<GilbertElliottConfig>(),
        described::<FourStateConfig>(),
        described::<ReorderingConfig>(),
        described::<ThinningConfig>(),
    ];
    Value::from(all.to_vec()).to_string()
}

fn described<S: Settings + Serialize>() -> Value {
    let defaults = serde_json::to_value(S::default()).unwrap_or_default();
    let fields: Vec<Value> =
        S::FIELDS.iter().map(|field| described_field(field, &defaults[field.key])).collect();
    json!({"kind": S::KIND, "text": S::TEXT, "fields": fields})
}

fn described_field(field: &Field, default: &Value) -> Value {
    let words = if let Unit::Word(words) = field.unit { words } else { &[] };
    let (low, high) = field.range.unzip();
    json!({"name": field.name, "key": field.key, "text": field.text, "unit": unit(field.unit),
        "words": words, "min": low.map(|n| n as i64), "max": high.map(|n| n as i64),
        "default": default, "is_required": field.is_required})
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "number",
        Unit::Switch => "switch",
        Unit::Word(_) => "word",
        Unit::Time => "time",
        Unit::Rate => "rate",
        Unit::Size => "size",
        Unit::Share => "share",
        Unit::Packets => "packets",
        Unit::Queue => "queue",
        Unit::Memory => "memory",
        Unit::Link => "link",
    }
}
