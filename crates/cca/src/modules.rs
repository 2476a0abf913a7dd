//! The controllers that one run may use: those built in, and a user's own, which take precedence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::controller::{table, values, Controller, ModuleRef, ParamError};
use crate::custom::{self, CustomMaker};
use crate::job::Built;
use crate::library::{self, LoadError};
use crate::module::Module;
use crate::names::shown;

/// A flow's controller that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// No controller has that name.
    #[error("no controller \"{}\"; there are {known}", shown(.got))]
    Unknown {
        /// What was given.
        got: String,
        /// What exists.
        known: String,
    },
    /// A parameter that the controller does not take.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The user's own controller does not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The user's own controller in a host language could not be made.
    #[error("{cca}: {reason}")]
    Custom {
        /// The controller.
        cca: String,
        /// What its maker says.
        reason: String,
    },
}

/// A user's own controller.
enum Own {
    Library {
        path: PathBuf,
        symbol: Option<String>,
    },
    Custom {
        module: Arc<Module>,
        make: CustomMaker,
    },
    /// Readings are answered by the caller of the simulator.
    Agent,
}

/// A name and the parameters that differ from the defaults.
type Instance = (String, BTreeMap<String, i64>);

/// Built-in controllers and a user's own ones of one run. Flows that name one with the same parameters
/// share a copy of its shared object; no two of these share anything.
#[derive(Default)]
pub struct Modules {
    own: BTreeMap<String, Own>,
    seed: u64,
    open: Mutex<BTreeMap<Instance, Arc<Module>>>,
    /// Values of parameters; flows with the same ones read the same memory.
    tables: Mutex<BTreeSet<Arc<[u32]>>>,
}

impl Modules {
    /// The built-in ones only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, whose modules draw random numbers from this seed while they start.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Adds a compiled controller under its own name, instead of a built-in one of that name.
    pub fn add_library(&mut self, name: &str, path: PathBuf, symbol: Option<String>) {
        self.own.insert(name.to_owned(), Own::Library { path, symbol });
    }

    /// Adds what [`crate::compile()`] made.
    ///
    /// # Errors
    /// When it does not load.
    pub fn add(&mut self, built: &Built) -> Result<String, LoadError> {
        let name = built.open()?.name().to_owned();
        self.add_library(&name, built.library.clone(), built.symbol.clone());
        Ok(name)
    }

    /// Adds a controller of which `make` makes an instance for each flow.
    pub fn add_custom(&mut self, name: &str, make: CustomMaker) {
        let module = Arc::new(custom::module(name));
        self.own.insert(name.to_owned(), Own::Custom { module, make });
    }

    /// Flows with this controller ask the caller of the simulator ([`crate::Agent`]).
    pub fn add_agent(&mut self, name: &str) {
        self.own.insert(name.to_owned(), Own::Agent);
    }

    /// A controller for one flow.
    ///
    /// # Errors
    /// When there is none of that name, a parameter is wrong, or a user's own one fails.
    pub fn controller(
        &self,
        name: &str,
        params: &BTreeMap<String, i64>,
    ) -> Result<Controller, SelectError> {
        match self.own.get(name) {
            None => self.with_shared(ModuleRef::BuiltIn(self.built_in(name)?), params),
            Some(Own::Agent) => self.with_shared(ModuleRef::BuiltIn(Module::agent()), params),
            Some(Own::Library { path, symbol }) => {
                let module = self.instance(name, path, symbol.as_deref(), params)?;
                self.with_shared(ModuleRef::Loaded(module), params)
            }
            Some(Own::Custom { module, make }) => {
                let custom = make(params)
                    .map_err(|reason| SelectError::Custom { cca: name.to_owned(), reason })?;
                Ok(Controller::custom(Arc::clone(module), custom))
            }
        }
    }

    /// Checks name and parameters; `None` for a controller in a host language, which is not made.
    ///
    /// # Errors
    /// As [`Modules::controller`].
    pub fn check(
        &self,
        name: &str,
        params: &BTreeMap<String, i64>,
    ) -> Result<Option<Controller>, SelectError> {
        match self.own.get(name) {
            Some(Own::Custom { .. }) => Ok(None),
            _ => self.controller(name, params).map(Some),
        }
    }

    /// A controller of a module, whose table of parameters is that of the flows with the same values.
    fn with_shared(
        &self,
        module: ModuleRef,
        params: &BTreeMap<String, i64>,
    ) -> Result<Controller, SelectError> {
        let made = table(&values(&module, params)?);
        let mut tables = self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let table = tables.get(&*made).cloned().unwrap_or_else(|| made.into());
        tables.insert(Arc::clone(&table));
        Ok(Controller::with(module, table))
    }

    fn built_in(&self, name: &str) -> Result<&'static Module, SelectError> {
        Module::find(name).ok_or_else(|| {
            let mut known: Vec<&str> = Module::all().iter().map(Module::name).collect();
            known.extend(self.own.keys().map(String::as_str));
            known.sort_unstable();
            known.dedup();
            SelectError::Unknown { got: name.to_owned(), known: known.join(", ") }
        })
    }

    /// The open copy for these parameters. A controller in our style keeps parameters per flow, so
    /// one copy serves all.
    fn instance(
        &self,
        name: &str,
        path: &std::path::Path,
        symbol: Option<&str>,
        params: &BTreeMap<String, i64>,
    ) -> Result<Arc<Module>, SelectError> {
        let own = if symbol.is_some() { BTreeMap::new() } else { params.clone() };
        let key = (name.to_owned(), own);
        let mut open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(module) = open.get(&key) {
            return Ok(Arc::clone(module));
        }
        let wrong = std::cell::RefCell::new(None);
        let set = |module: &Module| {
            let all = values_named(name, module, params);
            all.map_err(|e| {
                let text = e.to_string();
                wrong.replace(Some(e));
                text
            })
        };
        let opened = library::open(path, symbol, String::new(), self.seed, &set);
        if let Some(error) = wrong.take() {
            return Err(error.into());
        }
        let module = Arc::new(opened?);
        open.insert(key, Arc::clone(&module));
        Ok(module)
    }
}

/// Positions and values of the parameters given, checked. The module has no name before it starts.
fn values_named(
    name: &str,
    module: &Module,
    params: &BTreeMap<String, i64>,
) -> Result<Vec<(u32, i64)>, ParamError> {
    let all = crate::controller::values_as(name, module, params)?;
    let declared = module.params();
    let given = |i: &usize| params.contains_key(declared[*i].name);
    Ok((0..all.len()).filter(given).map(|i| (i as u32, all[i])).collect())
}
