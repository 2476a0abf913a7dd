//! Which controllers run inside quinn, and why the others do not.
//!
//! `cargo run -p dumbbell-quinn-cca --example controllers`

use quinn_cca::Factory;
use quinn_proto::TransportConfig;
use std::collections::BTreeMap;
use std::sync::Arc;

fn main() {
    for module in cca::Module::all() {
        match Factory::find(module.name(), BTreeMap::new()) {
            Ok(factory) => {
                let mut transport = TransportConfig::default();
                transport.congestion_controller_factory(Arc::new(factory));
                println!("{:16} {}", module.name(), module.summary());
            }
            Err(error) => println!("{:16} refused: {error}", module.name()),
        }
    }
}
