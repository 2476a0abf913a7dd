//! A policy for vectors of the controller around a network (`cca/orca`): its network has one weight, so that the answer
//! follows from the newest `thr / max` alone: 25 % at 0, 400 % at 1, and one percent more for each 375th between them.

use std::fs;
use std::sync::OnceLock;

use cca::{compile, Built};
use tempfile::TempDir;

/// Where the newest `thr / max` stands among the inputs.
const THR: usize = 63;

/// The policy's controller, compiled once.
pub fn built() -> &'static Built {
    static BUILT: OnceLock<(TempDir, Built)> = OnceLock::new();
    let (_, built) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("orca.c");
        fs::write(&source, text()).unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let built = compile(&source, &out, 1000).unwrap_or_else(|e| panic!("{e}"));
        (folder, built)
    });
    built
}

fn text() -> String {
    let weights: Vec<String> = (0..70).map(|i| u32::from(i == THR).to_string()).collect();
    let thresholds: Vec<String> =
        (1..=375_u64).map(|i| (65536 * i).div_ceil(375).to_string()).collect();
    format!(
        "/* A policy of one weight. */\n#include \"cca.h\"\n#include \"cubic/core.h\"\n#include \"orca/network.h\"\n\
         static const s32 policy_weights0[] = {{ {} }};\nstatic const s64 policy_bias0[] = {{ 0 }};\n\
         static const s64 policy_thresholds[] = {{ {} }};\n\
         static const struct net_layer policy_layer0 = {{ policy_weights0, policy_bias0, NULL, 70, 1, 0, 0, 65536 }};\n\
         #define POLICY_HIDDEN(LAYER)\n#define POLICY_LAST policy_layer0\n\
         #define POLICY_THRESHOLDS 375U\n#define POLICY_FIRST 25U\n\
         #define POLICY_PERIOD_US 31000\n#define POLICY_AGE_US 10000\n\
         #define POLICY_GROW_PERCENT 110\n\
         #include \"orca/controller.h\"\nORCA_MODULE(orca, \"orca\");\n",
        weights.join(", "),
        thresholds.join(", ")
    )
}
