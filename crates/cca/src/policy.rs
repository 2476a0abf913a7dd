//! Policies as data: the network of `cca/orca/network.h` with tables that a caller brings, for training.

use crate::agent::STATE;

/// Widest layer (`ORCA_WIDTH`).
const WIDTH: usize = 256;
/// Values of a table of tanh.
const TANH: usize = 1026;

/// What follows the sums of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Multiplies what is below zero by this, 1/65536.
    Leaky(i32),
    /// This table: tanh from 0 to 8 in 1024 steps, and one behind, 1/65536.
    Tanh(Box<[i32]>),
}

/// A dense layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Row by row, one for each output, 1/2^shift.
    pub weights: Box<[i32]>,
    /// One for each output, 1/2^(16 + shift).
    pub bias: Box<[i64]>,
    /// Bits after the point of a weight.
    pub shift: u32,
    /// What follows; of the last layer nothing.
    pub activation: Activation,
}

/// A network whose one output a table of ascending thresholds turns into a percentage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    layers: Vec<Layer>,
    thresholds: Box<[i64]>,
    first: u32,
}

/// `struct net_layer`.
#[repr(C)]
struct RawLayer {
    weights: *const i32,
    bias: *const i64,
    tanh: *const i32,
    inputs: u32,
    outputs: u32,
    shift: u32,
    kind: u32,
    slope: i32,
}

/// `struct cca_policy`.
#[repr(C)]
struct RawPolicy {
    layers: *const RawLayer,
    thresholds: *const i64,
    n_layers: u32,
    n_thresholds: u32,
    first: u32,
}

extern "C" {
    fn cca_policy_answer(policy: *const RawPolicy, state: *const i32) -> u32;
}

impl Policy {
    /// A policy of these layers, which answers `first` below the first threshold.
    ///
    /// # Errors
    /// When the shapes do not fit each other or a monitor's state.
    pub fn new(layers: Vec<Layer>, thresholds: Box<[i64]>, first: u32) -> Result<Self, String> {
        let mut inputs = STATE;
        for (number, layer) in layers.iter().enumerate() {
            let outputs = layer.bias.len();
            if !(1..=WIDTH).contains(&outputs) || layer.weights.len() != outputs * inputs {
                let got = layer.weights.len();
                return Err(format!("layer {number}: got {got} weights for {outputs} outputs, wanted {inputs} for each"));
            }
            if matches!(&layer.activation, Activation::Tanh(table) if table.len() != TANH) {
                return Err(format!("layer {number}: wanted a table of {TANH} values of tanh"));
            }
            if layer.shift > 32 {
                return Err(format!(
                    "layer {number}: got a shift of {}, wanted at most 32",
                    layer.shift
                ));
            }
            inputs = outputs;
        }
        if layers.is_empty() || inputs != 1 {
            return Err(format!("got {inputs} outputs, wanted 1"));
        }
        Ok(Self { layers, thresholds, first })
    }

    /// The percentage for a state.
    #[must_use]
    pub fn answer(&self, state: &[i32; STATE]) -> u32 {
        let mut inputs = STATE as u32;
        let raw = |layer: &Layer| {
            let outputs = layer.bias.len() as u32;
            let (kind, slope, tanh) = match &layer.activation {
                Activation::Leaky(slope) => (0, *slope, std::ptr::null()),
                Activation::Tanh(table) => (1, 0, table.as_ptr()),
            };
            RawLayer {
                weights: layer.weights.as_ptr(),
                bias: layer.bias.as_ptr(),
                tanh,
                inputs: std::mem::replace(&mut inputs, outputs),
                outputs,
                shift: layer.shift,
                kind,
                slope,
            }
        };
        let layers: Vec<RawLayer> = self.layers.iter().map(raw).collect();
        let policy = RawPolicy {
            layers: layers.as_ptr(),
            thresholds: self.thresholds.as_ptr(),
            n_layers: layers.len() as u32,
            n_thresholds: self.thresholds.len() as u32,
            first: self.first,
        };
        // SAFETY: the tables have the sizes that the layers say (`new`) and live during the call; C keeps none.
        unsafe { cca_policy_answer(&policy, state.as_ptr()) }
    }
}
